/* arrivals.c - see arrivals.h. */
#include "eval/arrivals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/signals.h"
#include "cli/units.h"

#define KEYS_LEAST 4096 /* of a sample */
#define ROOM_LEAST ((uint64_t)1 << 16)

/* ---- opening ---- */

static bool open_stream(struct arrivals *s)
{
    const struct request *o = s->request;

    if (o->inputs.count)
        return reject("--synthetic does not go with files: '%s' would not be read",
                      o->inputs.file[0]);
    if (o->records.key || o->records.importance || o->records.format != FORMAT_LINES ||
        o->records.nul || o->records.header || o->records.ignore_case)
        return reject(
            "--synthetic does not go with options on records: its keys are what they are, "
            "and importance= is of the stream");
    if (!stream_open(&s->stream, o->measures.synthetic))
        return false;
    if (s->stream.spec.n == 0)
        return reject("--synthetic endless would never end: give it n=, as in endless:n=10M");
    s->weighed = s->stream.spec.important;
    s->left = s->stream.spec.n;
    s->id = malloc(RECORDS_MAX * sizeof *s->id);
    return s->id || reject("memory is short");
}

static bool open_files(struct arrivals *s)
{
    const struct request *o = s->request;

    s->weighed = o->records.importance != NULL;
    if (!source_open(&s->files, &o->records, o->inputs, "eval", o->verbosity.quiet))
        return false;
    source_hurry(&s->files); /* so that the bar moves */
    return true;
}

bool arrivals_open(struct arrivals *s, const struct request *o)
{
    *s = (struct arrivals){.request = o,
                           .synthetic = o->measures.synthetic,
                           .keeping = o->measures.permutations || o->measures.report};
    return s->synthetic ? open_stream(s) : open_files(s);
}

bool arrivals_start(struct arrivals *s, const struct shards *hasher)
{
    uint64_t limit = s->request->measures.truth_memory;
    char *end;

    s->hasher = hasher;
    s->rng = strtoull(config_value(hasher->config, "seed").text, &end, 10);
    return s->synthetic && !s->keeping
               ? truth_open_bitmap(&s->truth, s->stream.spec.universe, limit)
               : truth_open_set(&s->truth, limit);
}

void arrivals_close(struct arrivals *s)
{
    if (!s->synthetic)
        source_close(&s->files);
    free(s->id);
    free(s->kept);
    truth_close(&s->truth);
}

/* ---- reading ---- */

const struct weir_key *arrivals_keys(const struct batch *b)
{
    return b->dealt ? b->hash : b->raw;
}

uint32_t arrivals_in_batch(const struct batch *b)
{
    return b->first[1];
}

static void give_up(struct batch *b)
{
    b->failed = true;
    b->n = b->first[1] = 0;
}

static void find_truth(struct arrivals *s, struct batch *b)
{
    if (!s->keeping &&
        !truth_meet_keys(&s->truth, arrivals_keys(b), arrivals_in_batch(b), b->answer, b->failure))
        give_up(b);
}

static enum read_result read_files(struct arrivals *s, struct batch *b)
{
    struct source files = source_of_files(&s->files);
    enum read_result result = files.read(files.context, b);

    if (result != READ_BATCH)
        return result;
    files.prepare(files.context, b);
    shards_deal(s->hasher, b);
    find_truth(s, b);
    return READ_BATCH;
}

/* Draws only; their texts are made by whoever prepares the batch. */
static enum read_result read_stream(struct arrivals *s, struct batch *b)
{
    uint64_t most = BLOCK / s->stream.spec.length;

    if (s->left == 0 || signals_caught())
        return READ_END;
    most = most < 1 ? 1 : most > RECORDS_MAX ? RECORDS_MAX : most;
    b->n = (uint32_t)(s->left < most ? s->left : most);
    s->left -= b->n;
    for (uint32_t i = 0; i < b->n; i++) {
        struct arrival a = stream_next(&s->stream);

        s->id[i] = b->raw[i].lo = a.id;
        b->importance[i] = a.importance;
    }
    if (!s->keeping)
        truth_meet_ids(&s->truth, s->id, b->n, b->answer);
    return READ_BATCH;
}

static void make_keys(const struct arrivals *s, struct batch *b)
{
    size_t length = s->stream.spec.length;

    for (uint32_t i = 0; i < b->n; i++) {
        stream_key(&s->stream, b->raw[i].lo, b->data + i * length);
        b->key[i] = (struct weir_bytes){b->data + i * length, length};
    }
    b->used = b->n * length;
    b->important = s->weighed;
    shards_deal(s->hasher, b);
}

static enum read_result read_kept(struct arrivals *s, struct batch *b)
{
    uint64_t left = s->count - s->at;

    if (left == 0 || signals_caught())
        return READ_END;
    b->n = b->first[1] = left < RECORDS_MAX ? (uint32_t)left : RECORDS_MAX;
    b->used = b->n * sizeof *s->kept;
    memcpy(b->raw, s->kept + s->at, b->used);
    s->at += b->n;
    find_truth(s, b);
    return READ_BATCH;
}

static enum read_result read_arrivals(void *context, struct batch *b)
{
    struct arrivals *s = context;

    if (!s->keeping && s->kept)
        return read_kept(s, b);
    return s->synthetic ? read_stream(s, b) : read_files(s, b);
}

static void prepare(void *context, struct batch *b)
{
    const struct arrivals *s = context;

    if (s->synthetic && (s->keeping || !s->kept))
        make_keys(s, b);
}

struct source arrivals_source(struct arrivals *s)
{
    return (struct source){.context = s, .read = read_arrivals, .prepare = prepare};
}

struct weir_stream arrivals_stream(const struct arrivals *s)
{
    struct weir_stream stream = s->stream.spec;

    if (s->kept) {
        stream.n = s->count;
        stream.universe >>= s->halvings;
    }
    return stream;
}

uint64_t arrivals_count(const struct arrivals *s)
{
    return s->kept ? s->count : s->synthetic ? s->stream.spec.n : 0;
}

uint64_t arrivals_total(const struct arrivals *s)
{
    uint64_t orders = s->request->measures.permutations ? s->request->measures.permutations : 1;

    return s->kept        ? s->count * sizeof *s->kept * orders
           : s->synthetic ? s->stream.spec.n * s->stream.spec.length
                          : s->files.reader.total;
}

/* ---- keeping ---- */

static bool make_room(struct arrivals *s, uint64_t count, char failure[512])
{
    uint64_t room = s->synthetic && !s->most ? s->stream.spec.n : s->room ? s->room : ROOM_LEAST;
    struct weir_key *kept;

    if (count <= s->room)
        return true;
    while (room < count)
        room += room / 2;
    kept = room * sizeof *kept <= s->truth.limit - s->truth.bytes
               ? realloc(s->kept, room * sizeof *kept)
               : NULL;
    if (!kept) {
        snprintf(failure, 512,
                 "%s keeps the stream in memory, %zu bytes per record: %s are more than "
                 "--truth-memory or the system allows",
                 s->request->measures.report ? "--report" : "--permutations", sizeof *kept,
                 show_bytes((double)(room * sizeof *kept)).text);
        return false;
    }
    s->kept = kept;
    s->room = room;
    return true;
}

/* Keys are chosen by bits that no filter places them by. */
static bool is_sampled(const struct arrivals *s, struct weir_key key)
{
    uint64_t h = (key.lo ^ (key.hi << 29 | key.hi >> 35)) * UINT64_C(0xd6e8feb86659fd93);

    h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return s->halvings == 0 || (h ^ h >> 32) >> (64 - s->halvings) == 0;
}

/* Of those kept, different keys; false if there is no memory to count them. */
static bool count_keys(struct arrivals *s, uint64_t *distinct, char failure[512])
{
    static uint8_t seen[RECORDS_MAX];
    bool ok = true;

    truth_clear(&s->truth);
    for (uint64_t i = 0; i < s->count && ok; i += RECORDS_MAX) {
        uint64_t left = s->count - i;

        ok = truth_meet_keys(&s->truth, s->kept + i,
                             left < RECORDS_MAX ? (uint32_t)left : RECORDS_MAX, seen, failure);
    }
    *distinct = s->truth.used;
    return ok;
}

/* What is kept of a long stream is all arrivals of some keys: of half of them
 * whenever there is no more room. Filters that get as much less memory err on
 * those as they would on the whole, since only ratios count: memory to keys, and
 * keys that come between two arrivals of one. Of few keys, none can be spared:
 * the beginning of the stream is kept instead. */
static bool halve(struct arrivals *s, char failure[512])
{
    uint64_t left = 0, distinct;

    if (!count_keys(s, &distinct, failure))
        return false;
    s->cut = distinct < 2 * KEYS_LEAST;
    s->halvings += !s->cut;
    for (uint64_t i = 0; i < s->count; i++)
        if (is_sampled(s, s->kept[i]))
            s->kept[left++] = s->kept[i];
    s->count = left;
    return true;
}

static bool keep_sample(struct arrivals *s, const struct batch *b, char failure[512])
{
    const struct weir_key *key = arrivals_keys(b);

    for (uint32_t i = 0; i < arrivals_in_batch(b) && !s->cut; i++) {
        while (s->count == s->most && is_sampled(s, key[i]) && !s->cut)
            if (!halve(s, failure))
                return false;
        if (s->cut || !is_sampled(s, key[i]))
            continue;
        if (!make_room(s, s->count + 1, failure))
            return false;
        s->kept[s->count++] = key[i];
    }
    return true;
}

bool arrivals_keep(struct arrivals *s, const struct batch *b, char failure[512])
{
    uint32_t n = arrivals_in_batch(b);

    if (s->most)
        return keep_sample(s, b, failure);
    if (!make_room(s, s->count + n, failure))
        return false;
    memcpy(s->kept + s->count, arrivals_keys(b), n * sizeof *s->kept);
    s->count += n;
    return true;
}

void arrivals_kept(struct arrivals *s)
{
    s->keeping = false;
    s->truth.limit -= s->room * sizeof *s->kept;
}

void arrivals_shuffle(struct arrivals *s)
{
    for (uint64_t i = s->count; i > 1; i--) {
        uint64_t j = draw_below(&s->rng, i);
        struct weir_key key = s->kept[i - 1];

        s->kept[i - 1] = s->kept[j];
        s->kept[j] = key;
    }
    arrivals_rewind(s);
}

void arrivals_rewind(struct arrivals *s)
{
    s->at = 0;
    truth_clear(&s->truth);
}
