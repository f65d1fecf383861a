/* times.c - records get the same event times however their bytes are split: in any pieces, by the
 * reader that holds some back (gather.c), and all at once.
 *
 * Input: one byte each for the record format, the time format, the span and lateness, and the seed
 * of the pieces; then the bytes to read. */
#include "fuzz.h"
#include "../tests/support/records_model.h"
#include "cli/messages.h"
#include "pipe/source.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTIONS 4
#define INPUT_MAX 1500 /* each may be a record, which takes nine bytes of a result */
#define PIECES_MAX 12  /* the capacity of a pipe is 16 */

/* The result of a run: each record with its event time, and the rejected records. */
struct run_result {
    struct text judged;
    uint64_t skipped, late, most_late;
    bool failed; /* the run ended at an error */
};

/* ---- a run ---- */

/* Each piece is the result of one read(). */
static void write_pieces(int to, const struct text *in, unsigned pieces, unsigned seed)
{
    for (size_t at = 0, size; at < in->size; at += size) {
        size = pieces > 1 ? 1 + (size_t)rand_r(&seed) % (in->size - at) : in->size - at;
        pieces--;
        require(write(to, in->data + at, size) == (ssize_t)size);
    }
}

static void take_batch(const struct batch *b, struct run_result *out)
{
    uint64_t before = 0;

    for (uint32_t i = 0; i < b->n; i++) {
        if (b->bads && b->bad[i]) {
            out->skipped++;
            continue;
        }
        require(b->event.time[i] >= before); /* the clock never runs backwards */
        before = b->event.time[i];
        text_append(&out->judged, b->data + record_begin(b, i),
                    record_end(b, i) - record_begin(b, i));
        text_append(&out->judged, (const char *)&b->event.time[i], sizeof b->event.time[i]);
    }
    out->late += b->event.late;
    out->most_late = b->event.most_late > out->most_late ? b->event.most_late : out->most_late;
    out->failed = b->failed;
}

static void run(const struct text *in, const struct records *o, unsigned pieces, unsigned seed,
                struct run_result *out)
{
    static struct batch *b;
    static struct file_source source;
    int ends[2];

    *out = (struct run_result){0};
    if (!b)
        b = batch_open();
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

/* ---- comparison ---- */

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
    o.max_record = INPUT_MAX;
    o.time.field = format == 2 ? "/t" : "2";
    o.time.format = forms[options[1] % 6];
    o.time.span = spans[options[2] % 4];
    o.time.limited = options[2] / 4 % 2;
    o.time.lateness = options[2] / 8;
    return o;
}

/* A run that stops at an error may or may not have the times after it, and may stop at a leap
 * before it. */
static bool begins_alike(const struct text *a, const struct text *b)
{
    return memcmp(a->data, b->data, a->size < b->size ? a->size : b->size) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct text in;
    static struct run_result whole, cut;

    if (size < OPTIONS || size > INPUT_MAX)
        return 0;
    struct records o = choose(data);
    in.size = 0;
    text_append(&in, (const char *)data + OPTIONS, size - OPTIONS);
    run(&in, &o, 1, 0, &whole);
    run(&in, &o, 2 + data[3] % (PIECES_MAX - 1), data[3], &cut);
    require(whole.failed == cut.failed && begins_alike(&whole.judged, &cut.judged));
    require(whole.failed || (whole.judged.size == cut.judged.size && whole.skipped == cut.skipped &&
                             whole.late == cut.late && whole.most_late == cut.most_late));
    return 0;
}
