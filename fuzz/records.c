/* records.c - any bytes, read in any pieces, give the records and keys that a simple model finds,
 * and the same number of rejected records.
 *
 * Input: one byte each for the format, the longest record, the key and the seed of the pieces; then
 * the bytes to read. */
#include "fuzz.h"
#include "../tests/support/records_model.h"
#include "cli/messages.h"
#include "pick/pick.h"
#include "pipe/read.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTIONS 4
#define INPUT_MAX 4096

/* The result of a run: records and their keys, each terminated by a NUL. */
struct run_result {
    struct text records, keys;
    uint64_t skipped;
    bool failed; /* the run ended at an error */
};

/* ---- the model ---- */

static uint32_t number_of(const struct model *m, const struct text *in, struct model_record head,
                          const char *name)
{
    static struct text field;
    const char *record = in->data + head.begin;
    size_t size = head.end - head.begin;

    if (size >= 3 && memcmp(record, "\xef\xbb\xbf", 3) == 0) {
        record += 3;
        size -= 3;
    }
    if (size && record[size - 1] == '\r')
        size--;
    for (uint32_t number = 1;; number++) {
        field.size = 0;
        if (!model_field(m, record, size, number, &field))
            return 0;
        if (field.size == strlen(name) && memcmp(field.data, name, field.size) == 0)
            return number;
    }
}

/* Append the key of a record. Returns false if it has none. */
static bool add_key(const struct model *m, const char *record, size_t size, uint32_t number,
                    struct text *keys)
{
    size_t before = keys->size;

    if (number == 0)
        text_append(keys, record, size - (m->strip_cr && size > 0 && record[size - 1] == '\r'));
    else if (!model_field(m, record, size, number, keys)) {
        keys->size = before;
        return false;
    }
    text_append(keys, "", 1);
    return true;
}

static void take_record(const struct model *m, const struct records *o, const struct text *in,
                        struct model_record r, uint32_t number, struct run_result *out)
{
    const char *record = in->data + r.begin;

    if (r.good && add_key(m, record, r.end - r.begin, number, &out->keys)) {
        text_append(&out->records, record, r.end - r.begin);
        text_append(&out->records, "", 1);
    } else {
        out->skipped += o->skip;
        out->failed = !o->skip;
    }
}

static void expect(const struct model *m, const struct records *o, struct text *in,
                   struct run_result *out)
{
    uint32_t number = o->key ? (uint32_t)atoi(o->key) : 0;
    struct model_record r;

    model_finish(m, in);
    for (size_t at = 0; at < in->size && !out->failed; at = r.end + 1) {
        r = model_record(m, in, at);
        if (at > 0 || !o->header) {
            take_record(m, o, in, r, number, out);
            continue;
        }
        out->failed = !r.good;
        if (r.good && o->key && number == 0)
            out->failed = (number = number_of(m, in, r, o->key)) == 0;
    }
}

/* ---- the reader ---- */

static void take_batch(const struct batch *b, struct run_result *out)
{
    for (uint32_t i = 0; i < b->n; i++) {
        if (b->bads && b->bad[i]) {
            out->skipped++;
            continue;
        }
        text_append(&out->records, b->data + record_begin(b, i),
                    record_end(b, i) - record_begin(b, i));
        text_append(&out->records, "", 1);
        text_append(&out->keys, b->key[i].data, b->key[i].size);
        text_append(&out->keys, "", 1);
    }
}

/* Everything that is available now. */
static void take(struct reader *r, struct picker *p, struct batch *b, enum read_result until,
                 struct run_result *out)
{
    enum read_result result = READ_BATCH;

    while (!out->failed && result == READ_BATCH) {
        batch_reset(b);
        result = read_batch(r, b);
        if (pick_learn(p, r->header, r->header_size, b) && result == READ_BATCH)
            pick_batch(p, b);
        take_batch(b, out);
        out->failed = b->failed;
    }
    require(out->failed || result == until);
}

static void read_in_pieces(const struct text *in, const struct records *o, unsigned cuts,
                           struct run_result *out)
{
    static struct batch *b;
    struct reader r;
    struct picker p;
    int ends[2];

    if (!b)
        b = batch_open();
    require(b && pick_open(&p, o) && pipe(ends) == 0 && dup2(ends[0], 0) == 0);
    close(ends[0]);
    read_open(&r, o, (struct inputs){0});
    r.bytes.patience = 0;
    for (size_t at = 0, size; at < in->size; at += size) {
        size = 1 + (size_t)rand_r(&cuts) % (in->size - at);
        require(write(ends[1], in->data + at, size) == (ssize_t)size);
        if (rand_r(&cuts) % 4)
            take(&r, &p, b, READ_NOTHING, out);
    }
    close(ends[1]);
    take(&r, &p, b, READ_END, out);
    read_close(&r);
    pick_close(&p);
}

/* ---- comparison ---- */

static struct records choose(const uint8_t *options)
{
    static const enum format formats[] = {FORMAT_LINES, FORMAT_CSV, FORMAT_CSV, FORMAT_TSV,
                                          FORMAT_DELIMITED};
    static const char delimiters[] = {0, ',', ';', '\t', '|'};
    static const char *const keys[] = {NULL, "1", "2", "3", "a", "b\n"};
    unsigned format = options[0] % 5;
    struct records o = {.format = formats[format], .delimiter = delimiters[format], .plain = true};

    o.skip = options[0] / 5 % 4 != 0;
    o.header = options[0] / 20 % 2;
    o.nul = options[0] / 40 % 4 == 0 && o.format != FORMAT_CSV;
    o.keep_cr = options[0] / 160;
    o.max_record = options[1] < 128 ? 1 + options[1] % 32u : INPUT_MAX;
    o.key = keys[options[2] % (o.header ? 6 : 4)];
    return o;
}

static struct model model_of(const struct records *o)
{
    enum model_fields fields = o->format == FORMAT_CSV     ? MODEL_CSV
                               : o->format == FORMAT_LINES ? MODEL_BLANKS
                                                           : MODEL_DELIMITED;

    return (struct model){fields, o->delimiter, o->nul ? '\0' : '\n', o->max_record,
                          !o->nul && !o->keep_cr};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct text in;
    static struct run_result expected, got;

    if (size < OPTIONS || size > INPUT_MAX)
        return 0;
    struct records o = choose(data);
    struct model m = model_of(&o);

    in.size = 0;
    text_append(&in, (const char *)data + OPTIONS, size - OPTIONS);
    got.records.size = got.keys.size = expected.records.size = expected.keys.size = 0;
    got.skipped = expected.skipped = 0;
    got.failed = expected.failed = false;
    read_in_pieces(&in, &o, data[3], &got);
    expect(&m, &o, &in, &expected);
    /* Records after a header may have been rejected before the header is. */
    require(got.failed == expected.failed && (got.failed || got.skipped == expected.skipped));
    require(text_same(&got.records, &expected.records) && text_same(&got.keys, &expected.keys));
    return 0;
}
