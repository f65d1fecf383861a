/* load.c - weir load: a filter file, into servers. */
#include <stdlib.h>
#include <string.h>
#include <weir/saved.h>
#include <weir/shared.h>

#include "cli/messages.h"
#include "cmd/at.h"
#include "state/whole_file.h"

/* A file, its shards and what they are together. */
struct image_loading {
    const char *path;
    weir_filter *w[AT_SHARDS_MAX];
    weir_shared *joined; /* that has them; or NULL */
    struct remote_filter filter;
};

static void close_shards(struct image_loading *l)
{
    for (uint32_t i = 0; !l->joined && i < l->filter.shards; i++)
        weir_close(l->w[i]);
    weir_shared_close(l->joined);
}

/* What 'weir save' says of the whole. */
static bool is_told(struct image_loading *l, const struct weir_part *note)
{
    size_t head = strlen(AT_NOTE_HEAD), size = note->body_size - head;
    const char *spec = (const char *)note->body + head, *end;

    if (note->kind != WEIR_PART_NOTE || note->body_size <= head ||
        memcmp(note->body, AT_NOTE_HEAD, head) != 0)
        return false;
    end = memchr(spec, '\n', size);
    size = end ? (size_t)(end - spec) : size;
    if (size >= WEIR_SPEC_MAX)
        return false;
    memcpy(l->filter.spec, spec, size);
    l->filter.spec[size] = '\0';
    return true;
}

/* The spec of the whole, of which each shard has its share. */
static bool describe(struct image_loading *l, const struct weir_part *first)
{
    char shard[WEIR_SPEC_MAX], share[WEIR_SPEC_MAX];
    struct remote_filter *f = &l->filter;
    struct weir_error error;

    weir_config(l->w[0], shard, sizeof shard);
    if (!is_told(l, first)) {
        if (weir_shared_join(&l->joined, l->w, f->shards, NULL, &error) != WEIR_OK)
            return reject("%s: %s", l->path, error.text);
        weir_shared_config(l->joined, f->spec, sizeof f->spec);
    }
    return (weir_shard_spec(f->spec, f->shards, share, sizeof share, NULL) == WEIR_OK &&
            strcmp(share, shard) == 0) ||
           reject("%s: shards of '%s' cannot be made anew by servers, should one be lost", l->path,
                  shard);
}

static bool load_shards(struct image_loading *l, const uint8_t *data, size_t size)
{
    struct weir_part first = {.kind = 0};
    struct weir_error error = {.text = "it is not a filter file"};
    size_t at = 0;

    if (weir_part_head(data, size, &first, sizeof first, &error) != WEIR_OK)
        return reject("%s: %s", l->path, error.text);
    if (first.kind == WEIR_PART_NOTE)
        at = first.size;
    weir_saved_key_description(data, size, l->filter.keys, sizeof l->filter.keys);
    return (weir_load_shards(l->w, AT_SHARDS_MAX, &l->filter.shards, data + at, size - at, NULL,
                             NULL, &error) == WEIR_OK ||
            reject("%s: %s", l->path, error.text)) &&
           describe(l, &first);
}

static bool bring_shard(const struct at *a, uint32_t shard, const weir_filter *w)
{
    size_t size = weir_saved_size(w);
    uint8_t *image = malloc(size);
    bool good = image && weir_save_buffer(w, image, size, NULL) == size;

    if (good)
        good =
            remote_bring(a->remote, shard, image, size) || reject("%s", remote_failure(a->remote));
    else
        fail("memory is short");
    free(image);
    return good;
}

/* All shards, then the register: a run that comes in between finds no filter. */
static bool bring(struct at *a, const struct image_loading *l)
{
    struct remote_filter there;

    if (!remote_look(a->remote, &there))
        return reject("%s", remote_failure(a->remote));
    if (there.shards > 0)
        return reject("there is a filter %s already, '%s'; take another name",
                      remote_name(a->remote), there.spec);
    remote_expect(a->remote, l->filter.shards);
    for (uint32_t i = 0; i < l->filter.shards; i++)
        if (!bring_shard(a, i, l->w[i]))
            return false;
    return (remote_register(a->remote, &l->filter) &&
            remote_attach(a->remote, &l->filter, false)) ||
           reject("%s", remote_failure(a->remote));
}

int cmd_load(const struct options *o)
{
    static struct image_loading l;
    struct at at = {.remote = NULL};
    uint8_t *data;
    size_t size;

    if (!o->at.url || o->operands != 1)
        return fail("'weir load' needs --at URL, where the filter is to be, and one filter file");
    l.path = o->operand[0];
    data = whole_file(l.path, &size);
    bool good = data && load_shards(&l, data, size);
    free(data);
    good = good && at_connect(&at, o) && bring(&at, &l);
    close_shards(&l);
    at_close(&at);
    return good ? EXIT_FINE : EXIT_ERROR;
}
