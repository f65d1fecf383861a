/* read.c - see read.h. bytes.c brings the bytes; here they become records. */
#include "pipe/read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/progress.h"
#include "cli/signals.h"
#include "pipe/inputs.h"
#include "pipe/scan.h"

#define DOUBLED ((size_t)16 << 20) /* bytes up to which room is doubled */

void read_open(struct reader *r, const struct records *records, struct inputs inputs)
{
    static char *const standard[] = {"-", NULL};

    *r = (struct reader){.records = records, .patience = -1, .bytes = {.fd = -1}};
    r->files = inputs.count ? inputs.file : standard;
    r->count = inputs.count ? inputs.count : 1;
    r->delimiter = records->nul ? '\0' : '\n';
    r->rules = (struct csv_rules){records->delimiter, records->skip, records->max_record};
    r->total = inputs_size(r->files, r->count);
}

void read_close(struct reader *r)
{
    bytes_close(&r->bytes);
    free(r->header);
}

static bool fail_batch(struct batch *b, const char *what, const char *name, int error)
{
    b->failed = true;
    snprintf(b->failure, sizeof b->failure, "cannot %s %.300s: %s", what, name, strerror(error));
    return false;
}

/* The name of the open file. */
static const char *file_name(const struct reader *r)
{
    return input_name(r->files[r->next - 1]);
}

/* At the start of a file, or wherever reading begins in it. */
static void begin_file(struct reader *r, uint64_t offset, uint64_t line)
{
    r->offset = offset;
    r->line = line;
    r->scanned = 0;
    r->padded = r->dropping = false;
    r->csv = (struct csv_scan){0};
}

static bool open_file(struct reader *r, struct batch *b)
{
    const char *name = r->files[r->next];
    off_t at;

    r->bytes.patience = r->patience;
    if (!bytes_open(&r->bytes, name))
        return fail_batch(b, "open", name, errno);
    at = r->bytes.regular ? lseek(r->bytes.fd, 0, SEEK_CUR) : 0;
    begin_file(r, at > 0 ? (uint64_t)at : 0, 1);
    r->heads = r->records->header;
    r->next++;
    return true;
}

/* ---- records ---- */

static bool is_csv(const struct reader *r)
{
    return r->records->format == FORMAT_CSV;
}

static void split(struct reader *r, struct batch *b, size_t filled)
{
    if (is_csv(r)) {
        csv_split(&r->csv, b, filled, &r->rules);
        return;
    }
    size_t n =
        scan_one(b->data, r->scanned, filled, r->delimiter, b->ends + 1 + b->n, RECORDS_MAX - b->n);
    b->n += (uint32_t)n;
    r->scanned = b->n < RECORDS_MAX ? filled : b->ends[b->n] + 1;
}

/* The file is at its end and the last record is not: give it the delimiter it
 * lacks. A quote that is still open is a stray one. */
static void finish(struct reader *r, struct batch *b, size_t *filled)
{
    if (*filled == 0) {
        r->skipped += r->dropping;
        r->dropping = false;
        return;
    }
    if (b->data[*filled - 1] != r->delimiter) {
        bytes_add(&r->bytes, b, filled, r->delimiter);
        r->padded = true;
    }
    split(r, b, *filled);
    if (b->n == 0 && is_csv(r)) {
        csv_give_up(&r->csv, "not CSV: a quote is opened and never closed");
        split(r, b, *filled);
    }
}

/* Of a line that is longer than a record may be: forget the bytes at hand, and
 * with them the record when its end comes; or refuse it. */
static void refuse_long(struct reader *r, struct batch *b, size_t *filled)
{
    if (r->records->skip && !r->heads) {
        r->offset += *filled;
        r->dropping = true;
        r->csv = (struct csv_scan){.given_up = true, .fault = "too long"};
        *filled = r->scanned = 0;
        return;
    }
    b->failed = true;
    snprintf(b->failure, sizeof b->failure,
             "%.200s, line %llu: the record is longer than %llu bytes; --max-record allows more, "
             "--on-error skip leaves it out",
             file_name(r), (unsigned long long)r->line, (unsigned long long)r->records->max_record);
}

/* Room for more of a record. Doubled while that is cheap, then by an eighth: the
 * longest records are what memory is short for. */
static bool make_room(const struct reader *r, struct batch *b, size_t filled)
{
    size_t more = b->room < DOUBLED ? b->room : b->room / 8;
    size_t most = (size_t)r->records->max_record + BLOCK;

    if (filled < b->room)
        return true;
    return batch_grow(b, b->room + more < most || most <= b->room ? b->room + more : most) ||
           fail_batch(b, "hold a record of", file_name(r), ENOMEM);
}

static void remove_first(struct batch *b)
{
    memmove(b->ends, b->ends + 1, b->n * sizeof *b->ends);
    memmove(b->bad, b->bad + 1, RECORDS_MAX - 1);
    b->n--;
}

/* What is left of a dropped record ends where the first one found does. */
static void end_drop(struct reader *r, struct batch *b)
{
    if (!r->dropping || b->n == 0)
        return;
    r->dropping = false;
    if (is_csv(r))
        return; /* it is marked bad */
    remove_first(b);
    r->skipped++;
    r->line++;
}

/* More of the file into the batch; as bytes_more() returns it. At the end of the
 * file the last record is finished. */
static ssize_t get_more(struct reader *r, struct batch *b, size_t *filled)
{
    ssize_t n = make_room(r, b, *filled) ? bytes_more(&r->bytes, b, *filled) : BYTES_FAILED;

    if (n > 0) {
        *filled += (size_t)n;
        split(r, b, *filled);
    } else if (n == BYTES_FAILED && !b->failed) {
        fail_batch(b, "read", file_name(r), errno);
    } else if (n == BYTES_END) {
        finish(r, b, filled);
    }
    return n;
}

/* Others may be on their way: take what comes until the time is over. */
static void linger(struct reader *r, struct batch *b, size_t *filled)
{
    double until = now() + r->linger, left;

    while (!r->bytes.regular && !r->bytes.ended && !b->failed && b->n < RECORDS_MAX &&
           *filled < b->room && (left = until - now()) > 0 &&
           signals_wait(r->bytes.fd, 1 + (int)(left * 1000)) == WAIT_READY) {
        ssize_t n = bytes_more(&r->bytes, b, *filled);

        if (n <= 0)
            break; /* the next batch will meet it again */
        *filled += (size_t)n;
        split(r, b, *filled);
    }
}

/* Get at least one record, or to the end of the file; false if none came in
 * time. */
static bool gather(struct reader *r, struct batch *b, size_t *filled)
{
    ssize_t n = bytes_begin(&r->bytes, b, is_csv(r) ? r->csv.at : r->scanned), more = 1;

    if (n < 0)
        return fail_batch(b, "read", file_name(r), ENOMEM);
    *filled = (size_t)n;
    split(r, b, *filled);
    while (b->n == 0 && !b->failed && more > 0) {
        if (r->dropping || *filled > r->records->max_record)
            refuse_long(r, b, filled);
        if (!b->failed)
            more = get_more(r, b, filled);
    }
    if (r->linger > 0 && more > 0 && bytes_left(&r->bytes) == 0)
        linger(r, b, filled);
    return more != BYTES_NONE;
}

static uint64_t count_lines(const struct reader *r, const struct batch *b, size_t from, size_t to)
{
    uint64_t lines = 0;

    for (size_t i = from; i < to; i++)
        lines += b->data[i] == r->delimiter;
    return lines;
}

/* The header is kept from the first file, and must be the same in all. */
static void take_header(struct reader *r, struct batch *b)
{
    size_t begin = record_begin(b, 0), size = record_end(b, 0) + 1 - begin;
    const char *wrong = NULL;

    r->heads = false;
    r->line += count_lines(r, b, begin, begin + size);
    if (b->bads && b->bad[0])
        wrong = "a header that is not CSV";
    else if (!r->header && (r->header = malloc(size)))
        memcpy(r->header, b->data + begin, r->header_size = size);
    else if (size != r->header_size || memcmp(b->data + begin, r->header, size) != 0)
        wrong = "another header than the first file";
    if (wrong) {
        b->failed = true;
        b->n = 0;
        snprintf(b->failure, sizeof b->failure, "%.200s has %s", file_name(r), wrong);
        return;
    }
    remove_first(b);
}

static void check_lengths(const struct reader *r, struct batch *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        if (record_end(b, i) - record_begin(b, i) > r->records->max_record)
            batch_fault(b, i, r->records->skip,
                        "the record is longer than %llu bytes; --max-record allows more, "
                        "--on-error skip leaves it out",
                        (unsigned long long)r->records->max_record);
}

/* What the batch holds is decided: number it, and give back the rest. */
static void commit(struct reader *r, struct batch *b, size_t filled)
{
    b->used = record_begin(b, b->n);
    b->offset = r->offset; /* moved since label(), if bytes were dropped */
    if (b->n && !is_csv(r) && r->records->max_record < b->used)
        check_lengths(r, b);
    r->line += is_csv(r) ? count_lines(r, b, record_begin(b, 0), b->used) : b->n;
    if (!bytes_give_back(&r->bytes, b, b->used, filled))
        fail_batch(b, "read", b->name, ENOMEM);
    bool padding = r->padded && b->used == filled && filled > 0 && bytes_left(&r->bytes) == 0;
    r->padded &= !padding;
    r->offset += b->used - padding;
    b->next_line = r->line;
    b->next_offset = r->offset;
    b->seekable = r->bytes.regular;
    r->scanned -= r->scanned < b->used ? r->scanned : b->used;
    csv_move(&r->csv, b->used);
}

/* Say where the bytes of the batch will come from. */
static void label(const struct reader *r, struct batch *b)
{
    b->name = file_name(r);
    b->file = r->next - 1;
    b->offset = r->offset;
    b->line = r->line;
}

enum read_result read_batch(struct reader *r, struct batch *b)
{
    size_t filled = 0;

    while (!signals_caught()) {
        if (r->bytes.fd < 0 && r->next == r->count)
            return READ_END;
        if (r->bytes.fd < 0 && !open_file(r, b))
            return READ_BATCH;
        label(r, b);
        bool came = gather(r, b, &filled);
        end_drop(r, b);
        if (r->heads && b->n > 0)
            take_header(r, b);
        if (came || filled > 0)
            commit(r, b, filled);
        if (r->bytes.ended && bytes_left(&r->bytes) == 0)
            bytes_close_file(&r->bytes);
        if (b->n > 0 || b->failed)
            return READ_BATCH;
        if (!came)
            return READ_NOTHING;
        batch_reset(b);
    }
    return READ_END;
}

struct position read_position(const struct reader *r)
{
    return r->next ? (struct position){r->bytes.regular, r->next - 1, r->offset, r->line}
                   : (struct position){0};
}

/* ---- going on where an earlier run stopped ---- */

static bool skip_header(struct reader *r, struct batch *b)
{
    size_t filled;

    if (!r->heads)
        return true;
    label(r, b);
    gather(r, b, &filled);
    if (b->n > 0)
        take_header(r, b);
    return !b->failed;
}

bool read_seek(struct reader *r, const struct position *p, struct batch *b)
{
    if (p->file >= r->count)
        return true;
    r->next = p->file;
    if (!open_file(r, b))
        return false;
    if (!r->bytes.regular) {
        b->failed = true;
        snprintf(b->failure, sizeof b->failure,
                 "%.300s is not a regular file: it cannot be resumed", file_name(r));
        return false;
    }
    if (p->offset == 0) /* not even the header was read */
        return true;
    if (!skip_header(r, b))
        return false;
    if (lseek(r->bytes.fd, (off_t)p->offset, SEEK_SET) < 0)
        return fail_batch(b, "seek in", file_name(r), errno);
    bytes_forget(&r->bytes);
    r->bytes.ended = r->heads = false;
    begin_file(r, p->offset, p->line);
    return true;
}
