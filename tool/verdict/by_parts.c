/* by_parts.c - see by_parts.h. prepare() finds and hashes the parts of a batch on any thread;
 * give() takes the records in order. It asks the filter for all parts of a record before it
 * observes them, so that the parts of a dropped record are not remembered: they would never be
 * written.
 *
 * Of the n-grams, those are compared whose hash is divisible by SAMPLE. */
#include "verdict/by_parts.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#include <weir/hash.h>

#include "cli/normalize.h"
#include "cli/units.h"
#include "near/text.h"
#include "state/files.h"

#define SAMPLE 8
#define FRESH 256  /* n-grams per call */
#define ROUND 1e-9 /* of a share, which may be below a threshold that it equals */

/* Those that are compared: not the short ones. */
struct batch_parts {
    struct text_parts_of {
        uint32_t first, n;
        uint64_t size; /* bytes of all parts, also short ones; or n-grams */
    } * of;            /* a record */
    struct weir_key *key;
    struct cut_range *range; /* in the record's key, with the white space that follows; or empty */
    uint32_t *size;          /* bytes; 1 of an n-gram */
    uint8_t *seen;
    uint32_t n, room;
};

/* ---- prepare: find the parts ---- */

static bool grow(struct arena *a, struct batch_parts *p)
{
    uint32_t room = p->room ? 2 * p->room : 1024;
    struct weir_key *key = arena_array(a, room, sizeof *key);
    struct cut_range *range = arena_array(a, room, sizeof *range);
    uint32_t *size = arena_array(a, room, sizeof *size);

    p->seen = arena_take(a, room);
    if (!key || !range || !size || !p->seen)
        return false;
    if (p->n) {
        memcpy(key, p->key, p->n * sizeof *key);
        memcpy(range, p->range, p->n * sizeof *range);
        memcpy(size, p->size, p->n * sizeof *size);
    }
    p->key = key;
    p->range = range;
    p->size = size;
    p->room = room;
    return true;
}

static bool add(struct arena *a, struct batch_parts *p, struct weir_key key, struct cut_range range,
                uint32_t size)
{
    if (p->n == p->room && !grow(a, p))
        return false;
    p->key[p->n] = key;
    p->range[p->n] = range;
    p->size[p->n++] = size;
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static const char *line_end(const char *at, const char *end)
{
    const char *stop = memchr(at, '\n', (size_t)(end - at));

    return stop ? stop + 1 : end;
}

static bool is_blank(const char *at, const char *end)
{
    while (at < end && *at != '\n' && is_space(*at))
        at++;
    return at == end || *at == '\n';
}

static const char *skip_blank_lines(const char *at, const char *end)
{
    while (at < end && is_blank(at, end))
        at = line_end(at, end);
    return at;
}

/* A paragraph ends with a blank line; those that follow belong to it. */
static const char *paragraph_end(const char *at, const char *end)
{
    at = skip_blank_lines(at, end);
    while (at < end && !is_blank(at, end))
        at = line_end(at, end);
    return skip_blank_lines(at, end);
}

static struct weir_bytes trimmed(const char *at, const char *end)
{
    while (at < end && is_space(*at))
        at++;
    while (end > at && is_space(end[-1]))
        end--;
    return (struct weir_bytes){at, (size_t)(end - at)};
}

/* --ignore-space and --ignore-case. Returns false if memory is exhausted. */
static bool normalize(const struct parts_run *x, struct arena *a, struct weir_bytes *text)
{
    if (x->ignore_space) {
        char *to = arena_take(a, text->size + 1);

        if (!to)
            return false;
        *text = (struct weir_bytes){to, squeeze_space(text->data, text->size, to)};
    }
    if (x->ignore_case) {
        char *to = arena_take(a, FOLD_CASE_ROOM(text->size));

        if (!to)
            return false;
        *text = (struct weir_bytes){to, fold_case(text->data, text->size, to)};
    }
    return true;
}

static bool find_parts(const struct parts_run *x, struct arena *a, struct weir_bytes key,
                       struct batch_parts *p, struct text_parts_of *of)
{
    const char *begin = key.data, *end = begin + key.size;
    struct trace_hash hash = x->filtering.hash;

    for (const char *at = begin, *next; at < end; at = next) {
        next = x->parts == PARTS_LINE ? line_end(at, end) : paragraph_end(at, end);
        struct weir_bytes text = trimmed(at, next);
        uint32_t size = (uint32_t)text.size;

        of->size += size;
        if (size < PART_SHORT)
            continue;
        if (!normalize(x, a, &text) ||
            !add(a, p, weir_hash_bytes(hash.kind, hash.seed, text.data, text.size),
                 (struct cut_range){(uint32_t)(at - begin), (uint32_t)(next - begin)}, size))
            return false;
    }
    return true;
}

static bool add_gram(const struct parts_run *x, struct arena *a, struct batch_parts *p,
                     uint64_t gram)
{
    struct trace_hash hash = x->filtering.hash;
    uint64_t bytes = htole64(gram);

    return add(a, p, weir_hash_bytes(hash.kind, hash.seed, &bytes, sizeof bytes),
               (struct cut_range){0, 0}, 1);
}

/* If none is in the sample, the one with the smallest hash represents the text. */
static bool find_grams(const struct parts_run *x, struct arena *a, struct weir_bytes key,
                       struct batch_parts *p, struct text_parts_of *of)
{
    uint64_t fresh[FRESH], least = UINT64_MAX;
    struct shingles s;
    size_t n;

    if (key.size < PART_SHORT)
        return true;
    shingles_start(&s, key.data, key.size, x->gram, 0);
    while ((n = shingles_next(&s, fresh, FRESH)) > 0)
        for (size_t i = 0; i < n; i++) {
            if (fresh[i] < least)
                least = fresh[i];
            if (fresh[i] % SAMPLE == 0 && !add_gram(x, a, p, fresh[i]))
                return false;
        }
    if (p->n == of->first && !add_gram(x, a, p, least))
        return false;
    of->size = p->n - of->first;
    return true;
}

static void prepare(void *context, struct batch *b)
{
    const struct parts_run *x = context;
    struct arena *a = &b->arena;
    struct batch_parts *p = arena_array(a, 1, sizeof *p);

    if (!p)
        return;
    *p = (struct batch_parts){.of = arena_array(a, b->n + 1, sizeof *p->of)};
    b->share = arena_array(a, b->n + 1, sizeof *b->share);
    b->rewritten = arena_array(a, b->n + 1, sizeof *b->rewritten);
    bool fits = p->of && b->share && b->rewritten && grow(a, p);
    for (uint32_t i = 0; i < b->n && fits; i++) {
        b->rewritten[i].data = NULL;
        p->of[i] = (struct text_parts_of){.first = p->n};
        if (!b->bads || !b->bad[i])
            fits =
                (x->parts == PARTS_NGRAM ? find_grams : find_parts)(x, a, b->key[i], p, &p->of[i]);
        p->of[i].n = p->n - p->of[i].first;
    }
    b->parts = fits ? p : NULL;
}

/* ---- give: ask, drop or cut, observe ---- */

static void ask(const struct parts_run *x, struct batch_parts *p, const struct text_parts_of *of)
{
    const struct shards *s = x->filtering.shards;
    const struct weir_key *key = p->key + of->first;

    if (s->viewed)
        view_ask(NULL, s->shared, key, of->n, p->seen + of->first);
    else
        weir_shared_ask_many(s->shared, key, of->n, p->seen + of->first);
}

static uint64_t seen_size(const struct batch_parts *p, const struct text_parts_of *of)
{
    uint64_t size = 0;

    for (uint32_t i = of->first; i < of->first + of->n; i++)
        size += p->seen[i] ? p->size[i] : 0;
    return size;
}

/* The longest seen part. */
static struct representative representative_of(const struct batch *b, uint32_t record)
{
    const struct batch_parts *p = b->parts;
    const struct text_parts_of *of = &p->of[record];
    uint32_t longest = of->first;

    for (uint32_t i = of->first; i < of->first + of->n; i++)
        if (p->seen[i] && (!p->seen[longest] || p->size[i] > p->size[longest]))
            longest = i;
    struct cut_range r = p->range[longest];
    const char *key = b->key[record].data;
    if (r.begin == r.end)
        return (struct representative){.id = 0};
    return (struct representative){p->key[longest].lo | 1, trimmed(key + r.begin, key + r.end)};
}

/* Also the parts that occurred earlier in this text are cut. */
static bool cut(struct parts_run *x, struct batch *b, uint32_t record)
{
    struct batch_parts *p = b->parts;
    const struct text_parts_of *of = &p->of[record];
    uint32_t n = 0;

    for (uint32_t i = of->first; i < of->first + of->n; i++) {
        if (!p->seen[i] || x->parts == PARTS_NGRAM)
            continue;
        p->range[of->first + n++] = p->range[i];
        x->figures.cut_bytes += p->size[i];
    }
    x->figures.cut += n;
    return n == 0 ||
           record_cut(b, record, x->field, p->range + of->first, n, &b->rewritten[record]);
}

/* The keys that were observed move together, for watch_show(). */
static void observe(struct parts_run *x, struct batch *b, const struct text_parts_of *of)
{
    struct batch_parts *p = b->parts;

    if (x->filtering.operation != WEIR_SHARED_OBSERVE)
        return;
    weir_shared_observe_many(x->filtering.shards->shared, p->key + of->first, of->n,
                             p->seen + of->first);
    memmove(b->good.key + b->good.n, p->key + of->first, of->n * sizeof *p->key);
    b->good.n += of->n;
}

static bool judge(struct parts_run *x, struct batch *b, uint32_t i)
{
    struct batch_parts *p = b->parts;
    const struct text_parts_of *of = &p->of[i];

    ask(x, p, of);
    uint64_t seen = seen_size(p, of);
    double share = of->size ? (double)seen / (double)of->size : 0;
    bool drop = seen > 0 && share >= x->drop_above - ROUND;

    b->share[i] = (float)share;
    b->verdict[i] = drop ? WEIR_SEEN : WEIR_NEW;
    x->figures.parts += of->n;
    x->figures.bytes += of->size;
    x->figures.dropped += drop;
    flood_count(&x->flood, b, drop,
                drop ? representative_of(b, i) : (struct representative){.id = 0});
    if (drop)
        return true;
    observe(x, b, of);
    return cut(x, b, i);
}

static void give(void *context, struct batch *b)
{
    struct parts_run *x = context;
    bool fits = b->parts;

    if (!x->filtering.shards->viewed)
        weir_shared_advance(x->filtering.shards->shared, b->read_at);
    b->good = (struct good_keys){.n = 0, .key = fits ? b->parts->key : NULL};
    for (uint32_t i = 0; i < b->n && fits; i++) {
        b->verdict[i] = VERDICT_NONE;
        if (!b->bads || !b->bad[i])
            fits = judge(x, b, i);
    }
    if (fits)
        return;
    b->n = 0;
    b->failed = true;
    snprintf(b->failure, sizeof b->failure, "out of memory");
}

/* ---- summary ---- */

static const struct verdict_summary *filter_summary;

static void report(void *context, const struct tally *t)
{
    const struct parts_run *x = context;
    const struct parts_figures *f = &x->figures;

    filter_summary->report(context, t);
    if (x->parts == PARTS_NGRAM)
        fprintf(stderr, "weir: parts: %s n-grams compared, 1 of every %d; %s records dropped\n",
                show_count((double)f->parts).text, SAMPLE, show_count((double)f->dropped).text);
    else
        fprintf(stderr,
                "weir: parts: %s of at least %d bytes; %s records dropped, and %s parts (%s) cut "
                "from others\n",
                show_count((double)f->parts).text, PART_SHORT, show_count((double)f->dropped).text,
                show_count((double)f->cut).text, show_bytes((double)f->cut_bytes).text);
}

static json_t *describe(void *context, const struct tally *t)
{
    const struct parts_run *x = context;
    const struct parts_figures *f = &x->figures;
    json_t *out = filter_summary->describe(context, t);

    if (out)
        json_object_set_new(out, "parts",
                            json_pack("{s:f,s:I,s:I,s:I,s:I}", "drop_above", x->drop_above,
                                      "compared", (json_int_t)f->parts, "dropped",
                                      (json_int_t)f->dropped, "cut", (json_int_t)f->cut,
                                      "cut_bytes", (json_int_t)f->cut_bytes));
    return out;
}

struct verdict verdict_by_parts(struct parts_run *x, const struct filtering *filtering)
{
    static struct verdict_summary summary;

    x->filtering = *filtering;
    struct verdict v = verdict_by_filter(&x->filtering);

    if (x->parts == PARTS_NGRAM)
        text_prepare();
    filter_summary = v.summary;
    summary = *v.summary;
    summary.report = report;
    summary.describe = describe;
    v.summary = &summary;
    v.parallel = 1;
    v.ticket = NULL;
    v.prepare = prepare;
    v.give = give;
    v.error = NULL; /* of parts, not of records */
    v.evicted_from = NULL;
    return v;
}
