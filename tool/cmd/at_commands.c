/* at_commands.c - weir save, weir load and weir info --at: filters in servers as files and as
 * figures. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/saved.h>
#include <weir/shared.h>

#include "cli/print.h"
#include "cli/messages.h"
#include "cli/table.h"
#include "cli/units.h"
#include "cmd/at.h"
#include "state/replace.h"
#include "state/state.h"

/* ---- weir save ---- */

/* One shard, which the servers return as a whole file. */
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
    size_t size = at_note(note, sizeof note, a->filter.spec, a->filter.keys);
    enum weir_status status = weir_part_write(WEIR_PART_NOTE, note, size, sink, into, NULL);

    for (uint32_t i = 0; i < a->filter.shards && status == WEIR_OK; i++)
        status = write_shard(a, i, &image, sink, into);
    free(image.data);
    return status;
}

int cmd_save(struct options *o)
{
    struct at at = {.remote = NULL};
    bool good;

    if (!o->at.url || !o->output.path || o->operands > 0)
        return fail("'weir save' needs --at URL, the filter, and -o FILE, the file to write");
    good = replace_spares(o->output.path, REPLACES_FILTER) && replace_possible(o->output.path) &&
           at_open(&at, o, false) && replace_file(o->output.path, write_shards, &at);
    at_close(&at);
    return good ? EXIT_FINE : EXIT_ERROR;
}

/* ---- weir load ---- */

/* A file, its shards, and the spec of the whole filter. */
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

/* The spec of the whole filter; each shard has its share. */
static bool describe(struct image_loading *l, const struct weir_part *first)
{
    char shard[WEIR_SPEC_MAX], share[WEIR_SPEC_MAX];
    struct remote_filter *f = &l->filter;
    struct weir_error error;

    weir_config(l->w[0], shard, sizeof shard);
    if (first->kind != WEIR_PART_NOTE || !at_note_spec(first->body, first->body_size, f->spec)) {
        if (weir_shared_join(&l->joined, l->w, f->shards, NULL, &error) != WEIR_OK)
            return reject("%s: %s", l->path, error.text);
        weir_shared_config(l->joined, f->spec, sizeof f->spec);
    }
    return (weir_shard_spec(f->spec, f->shards, share, sizeof share, NULL) == WEIR_OK &&
            strcmp(share, shard) == 0) ||
           reject("%s: servers cannot create shards of '%s' again after a loss", l->path, shard);
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
    if (strcmp(l->filter.keys, "--cidr") == 0)
        return reject("%s is a set of networks, in which servers cannot look up addresses; use it "
                      "as a file",
                      l->path);
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
        fail("out of memory");
    free(image);
    return good;
}

/* All shards, then the register: until then, another run finds no filter. */
static bool bring(struct at *a, const struct image_loading *l)
{
    struct remote_filter there;

    if (!remote_look(a->remote, &there))
        return reject("%s", remote_failure(a->remote));
    if (there.shards > 0)
        return reject("there is a filter %s already, '%s'; use another name",
                      remote_name(a->remote), there.spec);
    remote_expect(a->remote, l->filter.shards);
    for (uint32_t i = 0; i < l->filter.shards; i++)
        if (!bring_shard(a, i, l->w[i]))
            return false;
    return (remote_register(a->remote, &l->filter) &&
            remote_attach(a->remote, &l->filter, false)) ||
           reject("%s", remote_failure(a->remote));
}

int cmd_load(struct options *o)
{
    static struct image_loading l;
    struct at at = {.remote = NULL};
    uint8_t *data;
    size_t size;

    if (!o->at.url || o->operands != 1)
        return fail("'weir load' needs --at URL, the place for the filter, and one filter file");
    l.path = o->operand[0];
    data = read_whole_file(l.path, &size);
    bool good = data && load_shards(&l, data, size);
    free(data);
    good = good && at_connect(&at, o) && bring(&at, &l);
    close_shards(&l);
    at_close(&at);
    return good ? EXIT_FINE : EXIT_ERROR;
}

/* ---- weir info --at ---- */

/* A row of the table. */
struct server_row {
    uint64_t shard;
    struct remote_shard is;
};

#define COLUMN(name, kind, member) TABLE_COLUMN(server_row, name, kind, member)

static const struct table_column columns[] = {COLUMN("shard", COUNT, shard),
                                              COLUMN("node", CHARS, is.node),
                                              COLUMN("memory_bytes", BYTES, is.memory),
                                              COLUMN("observed", COUNT, is.observed),
                                              COLUMN("seen", COUNT, is.seen),
                                              COLUMN("fill", RATE, is.fill),
                                              COLUMN("error", NUMBER, is.error),
                                              {.name = NULL}};

static struct remote_shard sum_of(const struct server_row *rows, uint32_t n)
{
    struct remote_shard sum = {.memory = 0};

    for (uint32_t i = 0; i < n; i++) {
        sum.memory += rows[i].is.memory;
        sum.bytes += rows[i].is.bytes;
        sum.observed += rows[i].is.observed;
        sum.seen += rows[i].is.seen;
        sum.new_keys += rows[i].is.new_keys;
        sum.fill += rows[i].is.fill / n;
        sum.error += rows[i].is.error / n;
    }
    return sum;
}

static bool print_text(const struct at *a, const struct server_row *rows)
{
    uint32_t n = a->filter.shards;
    struct remote_shard sum = sum_of(rows, n);
    struct table table = {columns, rows, sizeof *rows, n};

    printf("filter      %s\n", a->filter.spec);
    printf("at          %s\n", remote_name(a->remote));
    if (*a->filter.keys)
        printf("keys        %s\n", a->filter.keys);
    printf("shards      %u\n", n);
    printf("memory      %s; %s of the servers\n", show_bytes((double)sum.memory).text,
           show_bytes((double)sum.bytes).text);
    printf("observed    %llu keys: %llu new, %llu seen\n", (unsigned long long)sum.observed,
           (unsigned long long)sum.new_keys, (unsigned long long)sum.seen);
    printf("fill        %.2f %%\n", sum.fill * 100);
    printf("error       %s (false-positive rate)\n\n", show_chance(sum.error).text);
    return table_print(&table, PRINT_TEXT);
}

static json_t *json_of(const struct remote_shard *s)
{
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:f,s:f}", "memory", (json_int_t)s->memory, "bytes",
                     (json_int_t)s->bytes, "observed", (json_int_t)s->observed, "new",
                     (json_int_t)s->new_keys, "seen", (json_int_t)s->seen, "fill", s->fill, "error",
                     s->error);
}

/* TSV has a row per shard. */
static bool print_data(const struct at *a, const struct server_row *rows, enum print_format format)
{
    struct remote_shard sum = sum_of(rows, a->filter.shards);
    json_t *all = json_of(&sum), *list = json_array();

    for (uint32_t i = 0; i < a->filter.shards; i++) {
        json_t *one = json_with(json_of(&rows[i].is), "shard", json_integer(i));

        list = json_appended(list, json_with(one, "node", utf8_string(rows[i].is.node)));
    }
    if (format == PRINT_TSV) {
        json_decref(all);
        return json_print_tsv(list);
    }
    all = json_with(all, "config", json_string(a->filter.spec));
    all = json_with(all, "at", utf8_string(remote_name(a->remote)));
    all = json_with(all, "shards", list);
    if (*a->filter.keys)
        all = json_with(all, "keys", json_string(a->filter.keys));
    return json_print(all, 0);
}

static bool measure(const struct at *a, struct server_row *rows)
{
    uint32_t n = a->filter.shards;
    struct remote_shard *list = calloc(n, sizeof *list);
    bool good = list && remote_measure(a->remote, list);

    for (uint32_t i = 0; good && i < n; i++)
        rows[i] = (struct server_row){i, list[i]};
    free(list);
    return good || reject("%s", list ? remote_failure(a->remote) : "out of memory");
}

int at_info(const struct options *o)
{
    struct at a;
    bool good = at_open(&a, o, false);
    struct server_row *rows = good ? calloc(a.filter.shards, sizeof *rows) : NULL;

    if (good)
        good = rows ? measure(&a, rows) : reject("out of memory");
    good =
        good && (print_is_text(o->format) ? print_text(&a, rows) : print_data(&a, rows, o->format));
    free(rows);
    at_close(&a);
    return good ? EXIT_FINE : EXIT_ERROR;
}
