/* times.c - records that have a time are judged at the same times, however their bytes come: in
 * any pieces, by the reader that holds some back (gather.c), as when all is there at once.
 *
 * Input: a byte each for the format of the records, the form of the times, the span and what is
 * late, and the seed of the cuts; then the bytes to be read. */
#include "../tests/support/records_model.h"
#include "cli/messages.h"
#include "pipe/source.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTIONS 4
#define SIZE_MOST 1500 /* each may be a record, which takes nine bytes of an outcome */
#define PIECES_MOST 12 /* a pipe has room for 16 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is said to a person is not shown here. */
int fail(const char *format, ...)
{
    (void)format;
    return EXIT_ERROR;
}

bool reject(const char *format, ...)
{
    (void)format;
    return false;
}

void note(const char *format, ...)
{
    (void)format;
}

const char *nearest(const char *word, const char *const *words)
{
    (void)word;
    (void)words;
    return NULL;
}

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* What a run gives: each record with the time at which it is judged, and those left out. */
struct outcome {
    struct text judged;
    uint64_t skipped, late, most_late;
    bool failed; /* it ended at a fault */
};

/* ---- a run ---- */

/* Each piece is what one read() brings. */
static void write_pieces(int to, const struct text *in, unsigned pieces, unsigned seed)
{
    for (size_t at = 0, size; at < in->size; at += size) {
        size = pieces > 1 ? 1 + (size_t)rand_r(&seed) % (in->size - at) : in->size - at;
        pieces--;
        require(write(to, in->data + at, size) == (ssize_t)size);
    }
}

static void take_batch(const struct batch *b, struct outcome *out)
{
    uint64_t before = 0;

    for (uint32_t i = 0; i < b->n; i++) {
        if (b->bads && b->bad[i]) {
            out->skipped++;
            continue;
        }
        require(b->time[i] >= before); /* the clock never goes back */
        before = b->time[i];
        text_append(&out->judged, b->data + record_begin(b, i),
                    record_end(b, i) - record_begin(b, i));
        text_append(&out->judged, (const char *)&b->time[i], sizeof b->time[i]);
    }
    out->late += b->late;
    out->most_late = b->most_late > out->most_late ? b->most_late : out->most_late;
    out->failed = b->failed;
}

static void run(const struct text *in, const struct records *o, unsigned pieces, unsigned seed,
                struct outcome *out)
{
    static struct batch *b;
    static struct file_source source;
    int ends[2];

    *out = (struct outcome){0};
    if (!b)
        b = batch_open(1);
    require(b && pipe2(ends, O_DIRECT) == 0 && dup2(ends[0], 0) == 0);
    close(ends[0]);
    write_pieces(ends[1], in, pieces, seed);
    close(ends[1]);
    require(source_open(&source, o, (struct inputs){0}, "fuzz", true));
    struct source s = source_of_files(&source);
    enum read_result result = READ_BATCH;
    while (result == READ_BATCH && !out->failed) {
        batch_reset(b);
        result = s.read(s.context, b);
        if (result != READ_BATCH)
            break;
        s.prepare(s.context, b);
        clock_batch(source_clock(&source), b);
        take_batch(b, out);
    }
    require(out->failed || result == READ_END);
    source_close(&source);
}

/* ---- the two side by side ---- */

static struct records choose(const uint8_t *options)
{
    static const enum format formats[] = {FORMAT_LINES, FORMAT_CSV, FORMAT_JSONL, FORMAT_DELIMITED};
    static const char delimiters[] = {0, ',', 0, ';'};
    static const char *const forms[] = {NULL, "s", "ms", "rfc3339", "clf", "%d.%m.%Y %H:%M"};
    static const uint64_t spans[] = {1, 1000, 60 * 1000, 3600 * 1000};
    unsigned format = options[0] % 4;
    struct records o = {.format = formats[format], .delimiter = delimiters[format], .plain = true};

    o.skip = options[0] / 4 % 4 != 0;
    o.header = options[0] / 16 % 2 && format != 2;
    o.key = format == 2 ? "/k" : "1";
    o.max_record = SIZE_MOST;
    o.time.field = format == 2 ? "/t" : "2";
    o.time.format = forms[options[1] % 6];
    o.time.span = spans[options[2] % 4];
    o.time.limited = options[2] / 4 % 2;
    o.time.lateness = options[2] / 8;
    return o;
}

/* A run that stops at a fault may know the times behind it or not, and stop at a leap before it. */
static bool begins_alike(const struct text *a, const struct text *b)
{
    return memcmp(a->data, b->data, a->size < b->size ? a->size : b->size) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct text in;
    static struct outcome whole, cut;

    if (size < OPTIONS || size > SIZE_MOST)
        return 0;
    struct records o = choose(data);
    in.size = 0;
    text_append(&in, (const char *)data + OPTIONS, size - OPTIONS);
    run(&in, &o, 1, 0, &whole);
    run(&in, &o, 2 + data[3] % (PIECES_MOST - 1), data[3], &cut);
    require(whole.failed == cut.failed && begins_alike(&whole.judged, &cut.judged));
    require(whole.failed || (whole.judged.size == cut.judged.size && whole.skipped == cut.skipped &&
                             whole.late == cut.late && whole.most_late == cut.most_late));
    return 0;
}
