/* parts.c - weir dedup --parts: drop texts whose parts were seen before, or cut these parts. */
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cmd/run.h"
#include "state/files.h"
#include "verdict/by_parts.h"

#define DROP_ABOVE 0.8
#define GRAM 13 /* words; benchmarks of language models are often compared by 13 */

static bool rewrites(const struct options *o)
{
    return o->records.parts != PARTS_NGRAM;
}

/* Are the records texts with several lines, in a form that can be rewritten? */
static bool are_texts(const struct options *o)
{
    const struct records *r = &o->records;

    if (r->key && strchr(r->key, ','))
        return reject("--parts reads one text; give one field with -k, for example -k /text");
    if (!rewrites(o) || (r->format == FORMAT_JSONL && r->key) ||
        (r->format == FORMAT_LINES && r->nul && !r->key))
        return true;
    if (r->format == FORMAT_JSONL)
        return reject("--parts: which member has the text? give -k, for example -k /text");
    return reject("--parts: each record is one line; use JSON lines and -k /text, or records that "
                  "end with NUL and -z");
}

/* A set that was built from lines can be asked for lines. */
static bool same_parts(const struct options *o, const struct stored *s, const char *path)
{
    struct records records = o->records;
    char keys[1024];

    records_describe_keys(&records, keys, sizeof keys);
    if (strcmp(s->keys, keys) == 0)
        return true;
    records.parts = PARTS_NONE;
    records_describe_keys(&records, keys, sizeof keys);
    if (rewrites(o) && strcmp(s->keys, keys) == 0)
        return true;
    records_describe_keys(&o->records, keys, sizeof keys);
    return reject("%s: its keys were made with %s, now with %s; save the set with 'weir dedup %s "
                  "--state FILE'",
                  path, file_shown_keys(s->keys), keys, keys);
}

/* --against: a filter file is asked, and stays as it is. */
static int run_against(const struct options *o, struct parts_run *x)
{
    static struct stored stored;
    const char *path = o->parts.against;
    int status = EXIT_ERROR;

    if (o->state.path)
        return fail("--against: nothing is remembered; remove --state");
    if (request_anything(&o->filter))
        return fail("--against %s: the file determines the filter; remove -a, -m, -e, -S and "
                    "--seed",
                    path);
    if (file_view(&stored, path) && same_parts(o, &stored, path)) {
        struct filtering asks = {.shards = &stored.shards, .operation = WEIR_SHARED_ASK};
        struct run r = dedup_run(o, NULL, NULL);

        r.verdict = verdict_by_parts(x, &asks);
        status = run(&r, NULL);
    }
    shards_close(&stored.shards);
    return status;
}

/* A bare name is a member. */
static bool add_field(struct json_paths *paths, const char *key)
{
    char *pointer = malloc(strlen(key) + 2);
    bool added = false;

    if (pointer) {
        *pointer = '/';
        strcpy(pointer + (*key != '/'), key);
        added = json_add(paths, pointer);
    }
    free(pointer);
    return added;
}

int dedup_parts(struct options *o)
{
    struct json_paths field = {.n = 0};
    struct parts_run x = {.parts = o->records.parts,
                          .gram = o->near.shingle ? o->near.shingle : GRAM,
                          .ignore_case = o->records.ignore_case,
                          .ignore_space = o->records.ignore_space,
                          .drop_above = o->parts.drop_above > 0 ? o->parts.drop_above : DROP_ABOVE,
                          .flood = {.quiet = o->verbosity.quiet, .action = o->near.on_flood}};
    int status = EXIT_ERROR;

    o->records.gram = x.gram;
    if (!are_texts(o))
        return EXIT_ERROR;
    o->shards = 1;
    if (o->records.format == FORMAT_JSONL && o->records.key) {
        if (!add_field(&field, o->records.key))
            return fail("out of memory");
        x.field = &field;
    }
    status = o->parts.against ? run_against(o, &x) : dedup_by_filter(o, &x);
    json_close(&field);
    return status;
}
