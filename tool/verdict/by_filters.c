/* by_filters.c - verdicts of many filters: see by_filter.h. Answers are bits: a row of bytes per
 * filter. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print.h"
#include "cli/messages.h"
#include "verdict/by_filter.h"

#define ROW (RECORDS_MAX / 8) /* bytes */

/* ---- opening ---- */

bool many_open(struct many_filters *m, uint32_t most, uint32_t threads, bool whole)
{
    *m = (struct many_filters){.threads = threads, .whole = whole};
    m->filter = calloc(most, sizeof *m->filter);
    return m->filter || reject("out of memory");
}

/* The caller frees it; NULL if out of memory. */
static char *shown_name(const char *path, bool quoted)
{
    size_t size = strlen(path), room = 6 * size + JSON_ESCAPE_ROOM;
    char *name = quoted ? malloc(room + 3) : strdup(path);

    if (!name || !quoted)
        return name;
    *name = '"';
    size_t used = 1 + json_escape(&path, path + size, name + 1, room);
    strcpy(name + used, "\"");
    return name;
}

static bool can_be_one_of_many(const struct stored *s, const char *path)
{
    return strcmp(s->keys, "--cidr") != 0 ||
           reject(
               "%s is a set of networks, which can only be looked up alone: weir ask %s ADDRESSES",
               path, path);
}

bool many_add(struct many_filters *m, const char *path)
{
    static struct stored stored;
    struct one_filter *f = &m->filter[m->count];

    f->path = path;
    f->name = shown_name(path, m->quoted);
    if (!f->name)
        return reject("out of memory");
    if (!(m->whole ? file_load(&stored, path) : file_view_one(&stored, path, &f->view)) ||
        !can_be_one_of_many(&stored, path) ||
        (m->keys && !file_same_keys(&stored, path, m->keys))) {
        shards_close(&stored.shards);
        free(f->name);
        return false;
    }
    f->shards = stored.shards;
    f->hash = hash_of_spec(f->shards.config);
    m->count++;
    return true;
}

void many_close(struct many_filters *m)
{
    for (uint32_t i = 0; i < m->count; i++)
        shards_close(&m->filter[i].shards);
    for (uint32_t i = 0; i < m->count; i++)
        free(m->filter[i].name);
    free(m->filter);
    *m = (struct many_filters){0};
}

/* ---- a batch ---- */

static void ask(const struct one_filter *f, uint64_t time, struct batch *b)
{
    if (f->shards.viewed) {
        view_ask(&f->view, f->shards.shared, b->hash, b->n, b->verdict);
        return;
    }
    weir_shared_advance(f->shards.shared, time);
    weir_shared_ask_many(f->shards.shared, b->hash, b->n, b->verdict);
}

static void set_bits(uint8_t *row, const struct batch *b)
{
    memset(row, 0, ROW);
    for (uint32_t i = 0; i < b->n; i++) {
        bool has = b->verdict[i] == WEIR_SEEN && !(b->bads && b->bad[i]);

        row[i / 8] = (uint8_t)(row[i / 8] | has << (i % 8));
    }
}

/* Keys are hashed again only for a filter with another seed or hash=. */
static void give(void *context, struct batch *b)
{
    const struct many_filters *m = context;
    const struct one_filter *hashed = NULL;

    b->has = arena_take(&b->arena, (size_t)m->count * ROW);
    for (uint32_t i = 0; i < m->count && b->has; i++) {
        const struct one_filter *f = &m->filter[i];

        if (!hashed || hashed->hash.kind != f->hash.kind || hashed->hash.seed != f->hash.seed)
            keys_hash(f->hash, b);
        hashed = f;
        ask(f, b->read_at, b);
        set_bits(b->has + (size_t)i * ROW, b);
    }
}

static bool has(const struct batch *b, uint32_t filter, uint32_t i)
{
    return b->has[(size_t)filter * ROW + i / 8] >> (i % 8) & 1;
}

/* ---- the answers of all ---- */

static void join(struct many_filters *m, struct batch *b)
{
    uint8_t any[ROW] = {0};

    for (uint32_t f = 0; f < m->count; f++)
        for (uint32_t j = 0; j < (b->n + 7) / 8; j++) {
            uint8_t bits = b->has[(size_t)f * ROW + j];

            any[j] |= bits;
            m->filter[f].seen += (uint64_t)__builtin_popcount(bits);
        }
    for (uint32_t i = 0; i < b->n; i++)
        b->verdict[i] = b->bads && b->bad[i]        ? VERDICT_NONE
                        : any[i / 8] >> (i % 8) & 1 ? WEIR_SEEN
                                                    : WEIR_NEW;
}

/* The names of the filters that contain record i, with an end; to is NULL: only their size. */
static size_t name(const struct many_filters *m, const struct batch *b, uint32_t i, char *to)
{
    size_t size = 0;

    for (uint32_t f = 0; f < m->count && b->verdict[i] == WEIR_SEEN; f++) {
        size_t length = strlen(m->filter[f].name);

        if (!has(b, f, i))
            continue;
        if (to && size > 0)
            to[size - 1] = m->separator;
        if (to)
            memcpy(to + size, m->filter[f].name, length + 1);
        size += length + 1;
    }
    if (size > 0)
        return size;
    const char *nobody = m->quoted ? "" : "-";
    if (to)
        strcpy(to, nobody);
    return strlen(nobody) + 1;
}

static bool name_all(const struct many_filters *m, struct batch *b)
{
    size_t size = 0;
    char *at;

    for (uint32_t i = 0; i < b->n; i++)
        size += name(m, b, i, NULL);
    b->tags = at = arena_take(&b->arena, size);
    for (uint32_t i = 0; i < b->n && at; i++)
        at += name(m, b, i, at);
    return at != NULL;
}

static void complete(void *completer, struct batch *b)
{
    struct many_filters *m = completer;

    if (b->has) {
        join(m, b);
        if (!m->named || name_all(m, b))
            return;
    }
    b->n = 0;
    b->failed = true;
    snprintf(b->failure, sizeof b->failure, "out of memory");
}

/* ---- how many answers are false ---- */

/* The expected false positives among the records that were found, at this error rate: estimated
 * from the records that were not found. At most all that were found. */
static double expect_false(uint64_t records, uint64_t found, double chance)
{
    double others = (double)(records - found) / (1 - chance);

    return chance < 1 ? fmin(others * chance, (double)found) : (double)found;
}

struct expected_hits {
    uint64_t found; /* answers that a filter has a record, or that any has */
    double wrong;
};

static double error_of(const struct one_filter *f)
{
    return shards_stats(&f->shards).error;
}

static struct expected_hits expect(const struct many_filters *m, const struct tally *t)
{
    struct expected_hits sum = {0};
    double none = 1; /* probability that no filter finds a key that is in none */

    for (uint32_t i = 0; i < m->count; i++) {
        double error = error_of(&m->filter[i]);

        none *= 1 - error;
        sum.found += m->filter[i].seen;
        sum.wrong += expect_false(t->records, m->filter[i].seen, error);
    }
    return m->named ? sum
                    : (struct expected_hits){t->seen, expect_false(t->records, t->seen, 1 - none)};
}

static void report_counts(void *context, const struct tally *t)
{
    fprintf(stderr, ", %u filters: %llu records are in one or more",
            ((const struct many_filters *)context)->count, (unsigned long long)t->seen);
}

static void report(void *context, const struct tally *t)
{
    const struct many_filters *m = context;

    if (!m->whole) /* their error would require reading the whole files */
        return;
    struct expected_hits e = expect(m, t);
    fprintf(stderr,
            "weir: %llu lookups found a record in %s; about %.3g of them are false positives\n",
            (unsigned long long)e.found, m->named ? "a filter" : "one or more", e.wrong);
}

static json_t *describe_one(const struct one_filter *f, const struct tally *t)
{
    double error = error_of(f);

    return json_pack("{s:o,s:s,s:I,s:f,s:f}", "file", utf8_string(f->path), "config",
                     f->shards.config, "seen", (json_int_t)f->seen, "error", error,
                     "expected_false", expect_false(t->records, f->seen, error));
}

static json_t *describe(void *context, const struct tally *t)
{
    const struct many_filters *m = context;
    struct expected_hits e = expect(m, t);
    json_t *filters = json_array();

    for (uint32_t i = 0; i < m->count; i++)
        if (json_array_append_new(filters, describe_one(&m->filter[i], t)) != 0) {
            json_decref(filters);
            return NULL;
        }
    return json_pack("{s:I,s:f,s:o}", "answers", (json_int_t)e.found, "expected_false", e.wrong,
                     "filters", filters);
}

static const struct verdict_summary summary = {
    .report_counts = report_counts, .report = report, .describe = describe};

struct verdict verdict_by_filters(struct many_filters *m)
{
    static const char *const words[] = {"new", "seen", [VERDICT_NONE] = "skipped"};

    return (struct verdict){.context = m,
                            .parallel = m->threads,
                            .give = give,
                            .complete = complete,
                            .completer = m,
                            .summary = &summary,
                            .words = words,
                            .seen = "seen",
                            .config = m->filter[0].shards.config};
}
