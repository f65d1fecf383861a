/* records.c - record boundaries, compared with a slow model (support/records_model.h): random bytes
 * in random pieces, with a record length limit, skipping invalid records.
 *
 * A record that does not end within the limit or by the end of the file loses its first line; all
 * lines after that are read. */
#include "pipe/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/progress.h"
#include "state/replace.h"
#include "../support/records_model.h"

#define MOST 80

/* Functions that the reader links but that this test does not use. */
void lock_end(void)
{
}
double now(void)
{
    return 0;
}

/* ---- the model ---- */

static uint64_t expect(struct text in, bool csv, uint64_t longest, struct text *out)
{
    const struct model m = {csv ? MODEL_CSV : MODEL_BLANKS, ',', '\n', longest, false};
    struct model_record r;
    uint64_t skipped = 0;

    out->size = 0;
    model_finish(&m, &in);
    for (size_t at = 0; at < in.size; at = r.end + 1) {
        r = model_record(&m, &in, at);
        skipped += !r.good;
        if (r.good)
            text_append(out, in.data + at, r.end + 1 - at);
    }
    return skipped;
}

/* ---- the reader ---- */

static uint64_t take(struct reader *r, struct batch *b, enum read_result until, struct text *out)
{
    uint64_t bad = 0;
    enum read_result result;

    for (;;) {
        batch_reset(b);
        result = read_batch(r, b);
        if (b->failed)
            abort();
        if (result != READ_BATCH)
            break;
        for (uint32_t i = 0; i < b->n; i++) {
            if (b->bads && b->bad[i])
                bad++;
            else
                text_append(out, b->data + record_begin(b, i),
                            record_end(b, i) + 1 - record_begin(b, i));
        }
    }
    if (result != until)
        abort();
    return bad;
}

/* The caller owns the batch: one is large, and there are many rounds. */
static uint64_t read_in_pieces(const struct text *in, const struct records *o, struct batch *b,
                               struct text *out)
{
    struct reader r;
    uint64_t skipped = 0;
    int ends[2];

    if (pipe(ends) != 0 || dup2(ends[0], 0) != 0)
        abort();
    close(ends[0]);
    read_open(&r, o, (struct inputs){0});
    r.bytes.patience = 0;
    out->size = 0;
    for (size_t at = 0, size; at < in->size; at += size) {
        size = 1 + (size_t)rand() % (in->size - at);
        if (write(ends[1], in->data + at, size) != (ssize_t)size)
            abort();
        if (rand() % 4)
            skipped += take(&r, b, READ_NOTHING, out);
    }
    close(ends[1]);
    skipped += take(&r, b, READ_END, out);
    read_close(&r);
    return skipped;
}

/* ---- comparison ---- */

static bool same(unsigned seed, struct batch *b)
{
    static struct text in, expected, got;
    static const char letters[] = "ab,\"\"\n\n\r";
    struct records o = {.delimiter = ',', .skip = true};
    uint64_t skipped[2];

    srand(seed);
    o.format = rand() % 4 ? FORMAT_CSV : FORMAT_LINES;
    o.max_record = (uint64_t)(1 + rand() % (rand() % 2 ? 12 : MOST));
    in.size = (size_t)(rand() % MOST);
    for (size_t i = 0; i < in.size; i++)
        in.data[i] = letters[(size_t)rand() % (sizeof letters - 1)];
    skipped[0] = expect(in, o.format == FORMAT_CSV, o.max_record, &expected);
    skipped[1] = read_in_pieces(&in, &o, b, &got);
    if (skipped[0] == skipped[1] && text_same(&expected, &got))
        return true;
    printf("not ok - seed %u, longest %llu, %s: '%.*s' gives '%.*s' (%llu left out), not '%.*s' "
           "(%llu)\n",
           seed, (unsigned long long)o.max_record, o.format == FORMAT_CSV ? "CSV" : "lines",
           (int)in.size, in.data, (int)got.size, got.data, (unsigned long long)skipped[1],
           (int)expected.size, expected.data, (unsigned long long)skipped[0]);
    return false;
}

/* ---- cost: bytes copied per byte of the file ---- */

static double price_of(const char *first, const char *row, size_t rows, uint64_t longest)
{
    struct records o = {.delimiter = ',', .skip = true, .format = FORMAT_CSV};
    char name[] = "/tmp/weir-records-XXXXXX";
    char *files[] = {name};
    FILE *file = fdopen(mkstemp(name), "w");
    struct batch *b = batch_open();
    struct reader r;
    uint64_t records = 0, size;

    if (!file || !b)
        abort();
    fputs(first, file);
    for (size_t i = 0; i < rows; i++)
        fputs(row, file);
    size = (uint64_t)ftell(file);
    fclose(file);
    o.max_record = longest;
    read_open(&r, &o, (struct inputs){files, 1});
    for (batch_reset(b); read_batch(&r, b) == READ_BATCH; batch_reset(b))
        records += b->n;
    unlink(name);
    double price = (double)r.bytes.moved / (double)size;
    if (records != rows + 1) /* the first line is one invalid record */
        price = -1;
    read_close(&r);
    batch_close(b);
    return price;
}

/* A stray quote, and so many bytes after it that the record is rejected again and again. If each
 * batch copied everything that was given back, the cost would be about size / BLOCK / 2: more than
 * 100. */
static bool linear(const char *what, uint64_t longest, size_t rows)
{
    double price = price_of("\"stray\n", "abcdefghijk,lmnopqrst\n", rows, longest);
    bool ok = price >= 0 && price < 4;

    printf("%s - %s: %.2f bytes copied per byte\n", ok ? "ok" : "not ok", what, price);
    return ok;
}

static bool all_are_the_same(unsigned rounds)
{
    struct batch *b = batch_open();
    bool ok = b;

    for (unsigned seed = 0; seed < rounds && ok; seed++)
        ok = same(seed, b);
    batch_close(b);
    return ok;
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 100000;
    bool ok = all_are_the_same(rounds);

    printf("%s - %u random texts\n", ok ? "ok" : "not ok", rounds);
    if (BLOCK < 128 << 10) /* the number of copied bytes depends on it */
        return ok ? 0 : 1;
    ok &= linear("a quote that is never closed within the limit", (uint64_t)32 << 20, 2000000);
    ok &= linear("a quote that is open at the end", (uint64_t)64 << 20, 1500000);
    return ok ? 0 : 1;
}
