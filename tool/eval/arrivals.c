/* arrivals.c - open and read the source of an evaluation. See arrivals.h. */
#include "eval/arrivals.h"

#include "cli/messages.h"
#include "cli/signals.h"

/* ---- opening ---- */

static bool open_stream(struct arrivals *a)
{
    const struct options *o = a->request;

    if (o->operands)
        return reject("--synthetic: cannot be combined with files such as '%s'; omit one of them",
                      o->operand[0]);
    if (o->records.key || o->records.importance || o->records.format != FORMAT_LINES ||
        o->records.nul || o->records.header || o->records.key_as || o->records.ignore_case ||
        o->records.ignore_space || o->records.keep_cr)
        return reject(
            "--synthetic: options on records do not apply; its keys need none, and importance= "
            "is a parameter of the stream");
    if (!stream_open(&a->stream, o->measures.synthetic))
        return false;
    if (a->stream.spec.n == 0)
        return reject("--synthetic: the stream has no end; add n=, as in endless:n=10M");
    a->weighed = a->stream.spec.important;
    a->left = a->replay.expected = a->stream.spec.n;
    return true;
}

static bool open_files(struct arrivals *a)
{
    const struct options *o = a->request;

    a->weighed = o->records.importance != NULL;
    if (!source_open(&a->files, &o->records, options_inputs(o, 0), "eval", o->verbosity.quiet))
        return false;
    source_hurry(&a->files); /* for the progress bar */
    return true;
}

bool arrivals_open(struct arrivals *a, const struct options *o)
{
    *a = (struct arrivals){.request = o, .synthetic = o->measures.synthetic, .passes = 1};
    a->replay.because = o->measures.report ? "--report" : "--permutations";
    return a->synthetic ? open_stream(a) : open_files(a);
}

void arrivals_close(struct arrivals *a)
{
    if (!a->synthetic)
        source_close(&a->files);
    replay_close(&a->replay);
}

/* ---- a synthetic stream: a batch contains the ids, then the texts ---- */

const uint64_t *arrivals_ids(const struct batch *b)
{
    return (const uint64_t *)(const void *)b->data;
}

static enum read_result draw_arrivals(void *context, struct batch *b)
{
    struct arrivals *a = context;
    uint64_t most = BLOCK / (sizeof(uint64_t) + a->stream.spec.length);
    uint64_t *id = (uint64_t *)(void *)b->data;

    if (a->left == 0 || signals_caught())
        return READ_END;
    most = most > RECORDS_MAX ? RECORDS_MAX : most;
    b->n = (uint32_t)(a->left < most ? a->left : most);
    b->used = b->n * a->stream.spec.length;
    b->important = a->weighed;
    a->left -= b->n;
    for (uint32_t i = 0; i < b->n; i++) {
        struct synthetic_arrival next = stream_next(&a->stream);

        id[i] = next.id;
        b->importance[i] = next.importance;
    }
    return READ_BATCH;
}

static void write_keys(void *context, struct batch *b)
{
    const struct arrivals *a = context;
    size_t length = a->stream.spec.length;
    char *text = b->data + b->n * sizeof(uint64_t);

    for (uint32_t i = 0; i < b->n; i++, text += length) {
        stream_key(&a->stream, arrivals_ids(b)[i], text);
        b->key[i] = (struct weir_bytes){text, length};
    }
}

/* ---- from memory ---- */

static enum read_result read_kept(void *context, struct batch *b)
{
    struct arrivals *a = context;

    if (signals_caught())
        return READ_END;
    b->n = replay_next(&a->replay, b->hash, RECORDS_MAX);
    b->used = b->n * sizeof *b->hash;
    return b->n ? READ_BATCH : READ_END;
}

static void do_nothing(void *context, struct batch *b)
{
    (void)context;
    (void)b;
}

/* ---- all sources ---- */

struct source arrivals_source(struct arrivals *a)
{
    if (a->replayed)
        return (struct source){.context = a, .read = read_kept, .prepare = do_nothing};
    if (a->synthetic)
        return (struct source){.context = a, .read = draw_arrivals, .prepare = write_keys};
    return source_of_files(&a->files);
}

struct event_clock *arrivals_clock(struct arrivals *a)
{
    return a->replayed || a->synthetic ? NULL : source_clock(&a->files);
}

struct weir_stream arrivals_stream(const struct arrivals *a)
{
    struct weir_stream stream = a->stream.spec;

    if (a->replayed) {
        stream.n = a->replay.count;
        stream.universe >>= a->replay.halvings;
    }
    return stream;
}

uint64_t arrivals_count(const struct arrivals *a)
{
    return a->replayed ? a->replay.count : a->synthetic ? a->stream.spec.n : 0;
}

void arrivals_progress(const struct arrivals *a, struct progress *p)
{
    uint32_t permutations = a->request->measures.permutations;
    uint64_t orders = permutations ? permutations : 1;
    struct inputs inputs = options_inputs(a->request, 0);
    uint64_t total = a->replayed    ? a->replay.count * sizeof *a->replay.key * orders * a->passes
                     : a->synthetic ? a->stream.spec.n * a->stream.spec.length
                                    : a->files.reader.total;

    progress_open(p, a->request->verbosity.quiet || (!a->synthetic && inputs_are_typed(&inputs)),
                  total);
}
