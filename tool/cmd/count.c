/* count.c - weir count: how many times does each key occur?
 *
 * A sketch stores no keys. The keys to print are those of --query. Without it, the files are read a
 * second time, and a Bloom filter of the same memory prevents that a key is printed twice. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/messages.h"
#include "cli/print.h"
#include "cmd/run.h"
#include "cmd/sets.h"
#include "verdict/by_sketch.h"

#define AT_ONCE 512

struct asking {
    const weir_sketch *sketch;
    struct key_rows rows;
    bool either;         /* unknown: another run counted the state */
    weir_filter *listed; /* keys that were printed; NULL: print all */
};

/* The count of the key of several fields, if the fields are separated by tabs. */
static uint64_t count_joined(const struct asking *a, struct weir_bytes key)
{
    char *joined = key.size && memchr(key.data, '\t', key.size) ? malloc(key.size) : NULL;
    uint64_t count = 0;

    if (joined) {
        memcpy(joined, key.data, key.size);
        for (char *tab = joined; (tab = memchr(tab, '\t', key.size - (size_t)(tab - joined)));)
            *tab++ = KEY_JOINT;
        count = weir_sketch_ask(a->sketch, (struct weir_bytes){joined, key.size}).count;
    }
    free(joined);
    return count;
}

static uint64_t count_of(const struct asking *a, struct weir_bytes key)
{
    uint64_t count = weir_sketch_ask(a->sketch, key).count;
    uint64_t other = a->either ? count_joined(a, key) : 0;

    return count > other ? count : other; /* neither is too low */
}

static void tell(struct asking *a, struct weir_bytes key)
{
    char count[24];

    snprintf(count, sizeof count, "%llu", (unsigned long long)count_of(a, key));
    key_rows_add(&a->rows, key.data, key.size, (const char *[]){count});
}

static bool answer(void *context, struct batch *b)
{
    struct asking *a = context;

    for (uint32_t i = 0; i < b->n; i++)
        if (!b->bads || !b->bad[i])
            tell(a, b->key[i]);
    return true;
}

/* ---- all keys, each once ---- */

static void tell_new(void *context, const struct weir_bytes *keys, size_t n)
{
    struct asking *a = context;
    struct weir_key hashed[AT_ONCE];
    uint8_t seen[AT_ONCE];

    for (size_t some; n > 0; keys += some, n -= some) {
        some = n < AT_ONCE ? n : AT_ONCE;
        weir_hash_many(a->listed, keys, some, hashed);
        weir_observe_many(a->listed, hashed, some, seen);
        for (size_t i = 0; i < some; i++)
            if (!seen[i])
                tell(a, keys[i]);
    }
}

static bool can_be_read_twice(const struct options *o)
{
    struct stat file;
    int i = 0;

    while (i < o->operands && stat(o->operand[i], &file) == 0 && S_ISREG(file.st_mode))
        i++;
    return o->operands > 0 && i == o->operands;
}

/* Missing files and directories cannot be read even once. */
static bool can_be_read(const struct options *o)
{
    struct stat file;

    for (int i = 0; i < o->operands; i++) {
        if (strcmp(o->operand[i], "-") == 0)
            continue;
        if (stat(o->operand[i], &file) != 0)
            return reject("cannot open %s: %s", o->operand[i], strerror(errno));
        if (S_ISDIR(file.st_mode))
            return reject("cannot read %s: %s", o->operand[i], strerror(EISDIR));
    }
    return true;
}

/* Through all files, once. */
static int count_keys(const struct options *o, const struct counting *how)
{
    static struct counting counting; /* large */
    struct run r = run_asked(o, 0);

    counting = *how;
    if (how->sketch)
        run_tell_clock(&r, "half-life=");
    else
        r.verbosity.quiet = true; /* the second pass repeats no messages */
    counting.ngrams = o->count.ngrams;
    return run_into(&r, (struct sink){.context = &counting, .take = counting_take});
}

static int tell_all(const struct options *o, struct asking *a)
{
    struct weir_error error;
    char spec[100];
    int status;

    snprintf(spec, sizeof spec, DEFAULT_FOR_SETS " memory=%llu%s%s",
             (unsigned long long)weir_sketch_stats_of(a->sketch).memory + 64,
             o->filter.seed ? " seed=" : "", o->filter.seed ? o->filter.seed : "");
    if (weir_open(&a->listed, spec, &error) != WEIR_OK)
        return fail("%s", error.text);
    status = count_keys(o, &(struct counting){.visit = tell_new, .context = a});
    double missing = weir_stats_of(a->listed).error;
    if (!o->verbosity.quiet && missing > 1e-6)
        note("up to %.2g %% of the keys may be missing from the list; more memory (-m) finds them",
             missing * 100);
    weir_close(a->listed);
    return status;
}

/* ---- the keys of a file ---- */

/* The file of keys: one per line, independent of the format of records. */
static int answer_all(const struct options *o, struct asking *a)
{
    char *file = (char *)(uintptr_t)o->count.query;
    struct run r = run_asked(o, 0);

    r.inputs = (struct inputs){&file, 1};
    r.records = records_of_keys(&o->records);
    return run_into(&r, (struct sink){.context = a, .take = answer});
}

/* Print the keys of the query, or all keys unless a state is to be kept. */
static int print(const struct options *o, const weir_sketch *s)
{
    static const char *const names[] = {"count", NULL};
    struct asking a = {.sketch = s,
                       .rows = {.format = o->format,
                                .names = names,
                                .fields = records_have_fields(&o->records),
                                .end = o->records.nul ? '\0' : '\n'},
                       .either = o->count.query && o->state.path && !o->records.key};
    int status = EXIT_FINE;

    key_rows_open(&a.rows);
    if (o->count.query)
        status = answer_all(o, &a);
    else if (!o->state.path)
        status = tell_all(o, &a);
    if (status == EXIT_FINE)
        key_rows_close(&a.rows);
    return status;
}

static void tell_bound(const weir_sketch *s)
{
    struct weir_sketch_stats stats = weir_sketch_stats_of(s);

    note("%llu counted in all; a count is never too low, and too high by at most %llu with a "
         "probability of %.4g %%",
         (unsigned long long)stats.total, (unsigned long long)stats.error, stats.confidence * 100);
}

int cmd_count(struct options *o)
{
    weir_sketch *s;
    int status;

    if (!can_be_read(o))
        return EXIT_ERROR;
    if (!o->count.query && !o->state.path && !can_be_read_twice(o))
        return fail(
            "'weir count' stores no keys: to list them, it reads files twice, which works for "
            "regular files only; for a stream, add --query FILE with the keys to count, or --state "
            "FILE to print counts later; 'weir top' lists the frequent keys");
    s = sketch_open(o->command, o->state.path, &o->filter, WEIR_CAN_COUNT_ANY);
    if (!s)
        return EXIT_ERROR;
    if (!o->records.time.field)
        weir_sketch_advance(s, steady_time());
    status = sketch_uses_time(s, &o->records.time) ? count_keys(o, &(struct counting){.sketch = s})
                                                   : EXIT_ERROR;
    if (status == EXIT_FINE)
        status = print(o, s);
    status = run_keep_counts(o->state.path, s, status);
    if (!o->verbosity.quiet && status == EXIT_FINE)
        tell_bound(s);
    weir_sketch_close(s);
    return status;
}
