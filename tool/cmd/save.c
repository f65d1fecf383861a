/* save.c - weir save: a filter that lives in servers, to a file. */
#include <stdio.h>
#include <stdlib.h>
#include <weir/saved.h>

#include "cli/messages.h"
#include "cmd/at.h"
#include "state/replace.h"

/* One shard, of which the servers give a whole file. */
static enum weir_status write_shard(const struct at *a, uint32_t shard, struct remote_kept *image,
                                    weir_sink sink, void *into)
{
    struct weir_error error;
    enum weir_status status;
    weir_filter *w;

    if (!remote_fetch(a->remote, shard, image)) {
        fail("%s", remote_failure(a->remote));
        return WEIR_BAD_DATA;
    }
    if (weir_load_buffer(&w, image->data, image->size, NULL, NULL, &error) != WEIR_OK) {
        fail("%s, shard %u: %s", remote_name(a->remote), shard, error.text);
        return WEIR_BAD_DATA;
    }
    status = weir_save_shard(w, shard, a->filter.shards, sink, into, NULL);
    weir_close(w);
    return status;
}

static enum weir_status write_shards(const void *what, weir_sink sink, void *into)
{
    const struct at *a = what;
    struct remote_kept image = {.data = NULL};
    char note[WEIR_SPEC_MAX + WEIR_KEY_DESCRIPTION_MAX + 32];
    const char *keys = a->filter.keys;
    int n = snprintf(note, sizeof note, *keys ? AT_NOTE_HEAD "%s\nkeys=%s" : AT_NOTE_HEAD "%s",
                     a->filter.spec, keys);
    enum weir_status status = weir_part_write(WEIR_PART_NOTE, note, (size_t)n, sink, into, NULL);

    for (uint32_t i = 0; i < a->filter.shards && status == WEIR_OK; i++)
        status = write_shard(a, i, &image, sink, into);
    free(image.data);
    return status;
}

int cmd_save(const struct options *o)
{
    struct at at = {.remote = NULL};
    bool good;

    if (!o->at.url || !o->output.path || o->operands > 0)
        return fail("'weir save' needs --at URL, the filter, and -o FILE, the file to make");
    good = replace_spares(o->output.path, REPLACES_FILTER) && replace_possible(o->output.path) &&
           at_open(&at, o, false) && replace_file(o->output.path, write_shards, &at);
    at_close(&at);
    return good ? EXIT_FINE : EXIT_ERROR;
}
