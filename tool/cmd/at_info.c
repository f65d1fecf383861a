/* at_info.c - weir info --at: what the shards of a filter in servers are like. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/json_text.h"
#include "cli/messages.h"
#include "cli/table.h"
#include "cli/units.h"
#include "cmd/at.h"

/* A row of the table. */
struct server_row {
    uint64_t shard;
    struct remote_shard is;
};

#define COLUMN(name, kind, member)                                                                 \
    {                                                                                              \
        name, COLUMN_##kind, offsetof(struct server_row, member), false                            \
    }

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
    printf("error       %s (chance that a new key is taken for seen)\n\n",
           show_chance(sum.error).text);
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

    for (uint32_t i = 0; list && i < a->filter.shards; i++) {
        json_t *one = json_with(json_of(&rows[i].is), "shard", json_integer(i));

        one = json_with(one, "node", utf8_string(rows[i].is.node));
        if (json_array_append_new(list, one) != 0) {
            json_decref(list);
            list = NULL;
        }
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
    return good || reject("%s", list ? remote_failure(a->remote) : "memory is short");
}

int at_info(const struct options *o)
{
    struct at a;
    bool good = at_open(&a, o, false);
    struct server_row *rows = good ? calloc(a.filter.shards, sizeof *rows) : NULL;

    if (good)
        good = rows ? measure(&a, rows) : reject("memory is short");
    good =
        good && (print_is_text(o->format) ? print_text(&a, rows) : print_data(&a, rows, o->format));
    free(rows);
    at_close(&a);
    return good ? EXIT_FINE : EXIT_ERROR;
}
