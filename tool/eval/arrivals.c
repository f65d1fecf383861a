/* arrivals.c - see arrivals.h. */
#include "eval/arrivals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/signals.h"
#include "cli/units.h"

/* ---- opening ---- */

static bool open_stream(struct arrivals *a)
{
    const struct request *o = a->request;

    if (o->inputs.count)
        return reject("--synthetic does not go with files: '%s' would not be read",
                      o->inputs.file[0]);
    if (o->records.key || o->records.importance || o->records.format != FORMAT_LINES ||
        o->records.nul || o->records.header || o->records.ignore_case)
        return reject(
            "--synthetic does not go with options on records: its keys are what they are, "
            "and importance= is of the stream");
    if (!stream_open(&a->stream, o->measures.synthetic))
        return false;
    if (a->stream.spec.n == 0)
        return reject("--synthetic endless would never end: give it n=, as in endless:n=10M");
    a->weighed = a->stream.spec.important;
    a->left = a->kept.expected = a->stream.spec.n;
    a->id = malloc(RECORDS_MAX * sizeof *a->id);
    return a->id || reject("memory is short");
}

static bool open_files(struct arrivals *a)
{
    const struct request *o = a->request;

    a->weighed = o->records.importance != NULL;
    if (!source_open(&a->files, &o->records, o->inputs, "eval", o->verbosity.quiet))
        return false;
    source_hurry(&a->files); /* so that the bar moves */
    return true;
}

bool arrivals_open(struct arrivals *a, const struct request *o)
{
    *a = (struct arrivals){.request = o,
                           .synthetic = o->measures.synthetic,
                           .keeping = o->measures.permutations || o->measures.report};
    a->kept.because = o->measures.report ? "--report" : "--permutations";
    return a->synthetic ? open_stream(a) : open_files(a);
}

bool arrivals_start(struct arrivals *a, const struct shards *hasher)
{
    uint64_t limit = a->request->measures.truth_memory;
    char *end;

    a->hasher = hasher;
    a->kept.rng = strtoull(config_value(hasher->config, "seed").text, &end, 10);
    return a->synthetic && !a->keeping
               ? truth_open_bitmap(&a->truth, a->stream.spec.universe, limit)
               : truth_open_set(&a->truth, limit);
}

void arrivals_close(struct arrivals *a)
{
    if (!a->synthetic)
        source_close(&a->files);
    free(a->id);
    kept_close(&a->kept);
    truth_close(&a->truth);
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

static void find_truth(struct arrivals *a, struct batch *b)
{
    if (!a->keeping && !truth_observe_keys(&a->truth, arrivals_keys(b), arrivals_in_batch(b),
                                           b->answer, b->failure))
        give_up(b);
}

static enum read_result read_files(struct arrivals *a, struct batch *b)
{
    struct source files = source_of_files(&a->files);
    enum read_result result = files.read(files.context, b);

    if (result != READ_BATCH)
        return result;
    files.prepare(files.context, b);
    shards_deal(a->hasher, b);
    find_truth(a, b);
    return READ_BATCH;
}

/* Draws only; their texts are made by whoever prepares the batch. */
static enum read_result read_stream(struct arrivals *a, struct batch *b)
{
    uint64_t most = BLOCK / a->stream.spec.length;

    if (a->left == 0 || signals_caught())
        return READ_END;
    most = most < 1 ? 1 : most > RECORDS_MAX ? RECORDS_MAX : most;
    b->n = (uint32_t)(a->left < most ? a->left : most);
    a->left -= b->n;
    for (uint32_t i = 0; i < b->n; i++) {
        struct arrival next = stream_next(&a->stream);

        a->id[i] = b->raw[i].lo = next.id;
        b->importance[i] = next.importance;
    }
    if (!a->keeping)
        truth_observe_ids(&a->truth, a->id, b->n, b->answer);
    return READ_BATCH;
}

static void make_keys(const struct arrivals *a, struct batch *b)
{
    size_t length = a->stream.spec.length;

    for (uint32_t i = 0; i < b->n; i++) {
        stream_key(&a->stream, b->raw[i].lo, b->data + i * length);
        b->key[i] = (struct weir_bytes){b->data + i * length, length};
    }
    b->used = b->n * length;
    b->important = a->weighed;
    shards_deal(a->hasher, b);
}

static enum read_result read_kept(struct arrivals *a, struct batch *b)
{
    b->n = b->first[1] = kept_next(&a->kept, b->raw, RECORDS_MAX);
    if (b->n == 0 || signals_caught())
        return READ_END;
    b->used = b->n * sizeof *b->raw;
    find_truth(a, b);
    return READ_BATCH;
}

static enum read_result read_arrivals(void *context, struct batch *b)
{
    struct arrivals *a = context;

    if (!a->keeping && a->kept.key)
        return read_kept(a, b);
    return a->synthetic ? read_stream(a, b) : read_files(a, b);
}

static void prepare(void *context, struct batch *b)
{
    const struct arrivals *a = context;

    if (a->synthetic && (a->keeping || !a->kept.key))
        make_keys(a, b);
}

struct source arrivals_source(struct arrivals *a)
{
    return (struct source){.context = a, .read = read_arrivals, .prepare = prepare};
}

struct weir_stream arrivals_stream(const struct arrivals *a)
{
    struct weir_stream stream = a->stream.spec;

    if (a->kept.key) {
        stream.n = a->kept.count;
        stream.universe >>= a->kept.halvings;
    }
    return stream;
}

uint64_t arrivals_count(const struct arrivals *a)
{
    return a->kept.key ? a->kept.count : a->synthetic ? a->stream.spec.n : 0;
}

uint32_t arrivals_showings(const struct arrivals *a)
{
    return a->kept.showings ? a->kept.showings : 1;
}

uint64_t arrivals_total(const struct arrivals *a)
{
    uint64_t orders = a->request->measures.permutations ? a->request->measures.permutations : 1;

    return a->kept.key    ? a->kept.count * sizeof *a->kept.key * orders * arrivals_showings(a)
           : a->synthetic ? a->stream.spec.n * a->stream.spec.length
                          : a->files.reader.total;
}

/* ---- keeping ---- */

bool arrivals_keep(struct arrivals *a, struct batch *b)
{
    return kept_add(&a->kept, arrivals_keys(b), arrivals_in_batch(b), &a->truth, b->failure);
}

void arrivals_end_keeping(struct arrivals *a)
{
    a->keeping = false;
    a->truth.limit -= kept_bytes(&a->kept);
}

void arrivals_rewind(struct arrivals *a, uint32_t showing)
{
    a->kept.next = 0;
    a->kept.showing = showing;
    if (showing == 0)
        truth_clear(&a->truth);
}
