/* read.c - see read.h. bytes.c brings the bytes; this file finds the ends of records, drops or
 * rejects those that are too long, and completes the last one. */
#include "pipe/read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/inputs.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "pipe/scan.h"

#define DOUBLED ((size_t)16 << 20) /* bytes up to which the buffer is doubled */

/* The name of the open file, for messages. */
static const char *name_of(const struct reader *r)
{
    return input_name(r->name);
}

static bool is_csv(const struct reader *r)
{
    return r->records->format == FORMAT_CSV;
}

/* Fail the batch with "cannot WHAT NAME: ERROR". Returns false. */
static bool fail_batch(struct batch *b, const char *what, const char *name, int error)
{
    b->failed = true;
    snprintf(b->failure, sizeof b->failure, "cannot %s %.300s: %s", what, name, strerror(error));
    return false;
}

static bool fail_unpacked(const struct reader *r, struct batch *b)
{
    b->failed = true;
    snprintf(b->failure, sizeof b->failure, "%.300s %s; no record after line %llu was processed",
             name_of(r), unpack_failure(r->bytes.unpack), (unsigned long long)r->line - 1);
    return false;
}

static bool fail_foreign(const struct reader *r, struct batch *b)
{
    bool packed = magic_is_packed(r->bytes.kind);
    enum file_kind kind = packed ? r->bytes.within : r->bytes.kind;

    b->failed = true;
    snprintf(b->failure, sizeof b->failure, "%.300s: %s%s%s, not records; %s%s", name_of(r),
             magic_name(kind), packed ? " inside " : "", packed ? magic_name(r->bytes.kind) : "",
             magic_fix(kind), packed ? "" : ", or use --plain to read it as lines");
    return false;
}

/* ---- records that must wait for those after them: the last ones that came, as long as
 * there may be a leap in time among them (clock.c). What is held stays with the reader and
 * comes first in the next batch, so that it makes no difference how the bytes came. Nothing
 * waits for longer than a pause of the input, nor past the end of a file ---- */

#define PAUSE 1000 /* milliseconds after which an input pauses; a guess */

/* Must all records of the batch wait for more? */
static bool hold_all(struct reader *r, struct batch *b)
{
    return r->hold.wait && !r->heads && b->n <= LOOK_AHEAD && r->hold.wait(r->hold.context, b);
}

/* Set how long to wait for them, in milliseconds. Returns the previous value. */
static int hold_patience(struct reader *r, const struct batch *b)
{
    int patience = r->bytes.patience;

    if (b->n > 0)
        r->bytes.patience = r->hold.at_once ? 0 : PAUSE;
    return patience;
}

/* Leave the records from this one on to the next batch. */
static void cut(struct reader *r, struct batch *b, uint32_t n)
{
    size_t end = record_begin(b, n);

    for (uint32_t i = n; b->bads && i < b->n; i++) {
        b->bads -= b->bad[i] != 0;
        b->bad[i] = 0;
    }
    b->n = n;
    r->scanned = end;
    r->csv = (struct csv_scan){.at = end, .start = end, .field = end};
}

/* Is the whole rest of the file in the batch? */
static bool is_all(const struct reader *r, const struct batch *b, size_t filled)
{
    return r->bytes.ended && record_begin(b, b->n) >= filled && bytes_left(&r->bytes) == 0;
}

/* Remove the records that must wait for others from a batch of `filled` bytes, unless the input
 * has ended or pauses. */
static void hold_back(struct reader *r, struct batch *b, size_t filled, bool came)
{
    bool more = (came || signals_caught()) && !is_all(r, b, filled) && b->n > 0 && !b->failed;

    b->event.aheads = 0;
    if (more && r->hold.wait && r->hold.wait(r->hold.context, b)) {
        uint32_t some = b->n - b->headless, held = some < LOOK_AHEAD ? some : LOOK_AHEAD;

        for (uint32_t i = 0; i < held; i++)
            b->event.ahead[i] = r->hold.time(r->hold.context, b, b->n - held + i);
        b->event.aheads = held;
        cut(r, b, b->n - held);
    }
}

/* ---- records ---- */

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

/* A file that is being written may end in the middle of a line. */
static bool leaves_last(const struct reader *r)
{
    return r->follows && r->bytes.regular && r->next == r->count;
}

/* Bytes after the last complete record. */
static bool has_rest(const struct batch *b, size_t filled)
{
    return record_begin(b, b->n) < filled && b->n < RECORDS_MAX && !b->failed;
}

/* At the end of the file, add the missing delimiter to an incomplete last record. A quote that is
 * still open is a stray one. */
static void finish(struct reader *r, struct batch *b, size_t *filled)
{
    bool whole = *filled > 0 && b->data[*filled - 1] == r->delimiter;

    if (*filled == 0 && !r->dropping)
        return;
    if (!whole && leaves_last(r)) {
        r->left = true;
        *filled = record_begin(b, b->n);
        return;
    }
    if (!whole) {
        bytes_add(&r->bytes, b, filled, r->delimiter);
        r->padded = true;
    }
    split(r, b, *filled);
    while (is_csv(r) && has_rest(b, *filled)) {
        csv_give_up(&r->csv, "not CSV: a quote is opened and never closed");
        split(r, b, *filled);
    }
}

/* A line is longer than --max-record: drop its bytes so far, and mark the record as bad when its
 * end is found; or stop. */
static void refuse_long(struct reader *r, struct batch *b, size_t *filled)
{
    if (r->records->skip && !r->heads) {
        r->offset += *filled;
        r->dropped += *filled;
        trace_gap(&r->trace);
        r->dropping = true;
        r->csv = (struct csv_scan){.given_up = true, .fault = "too long"};
        *filled = r->scanned = 0;
        return;
    }
    b->failed = true;
    snprintf(b->failure, sizeof b->failure,
             "%.200s, line %llu: the record is longer than %llu bytes; --max-record allows more, "
             "--on-error skip leaves it out",
             name_of(r), (unsigned long long)r->line, (unsigned long long)r->records->max_record);
}

/* Enlarge the buffer for more of a record: doubled while that is cheap, then by an eighth, because
 * memory is exhausted by the longest records. */
static bool make_room(const struct reader *r, struct batch *b, size_t filled)
{
    size_t more = b->room < DOUBLED ? b->room : b->room / 8;
    size_t most = (size_t)r->records->max_record + BLOCK;

    if (filled < b->room)
        return true;
    return batch_grow(b, b->room + more < most || most <= b->room ? b->room + more : most) ||
           fail_batch(b, "hold a record of", name_of(r), ENOMEM);
}

/* Remove the first record of a batch. */
static void drop_first(struct batch *b)
{
    memmove(b->ends, b->ends + 1, b->n * sizeof *b->ends);
    memmove(b->bad, b->bad + 1, RECORDS_MAX - 1);
    for (uint32_t i = 0; b->faults && i + 1 < NOTES_MAX; i++)
        b->faults->note[i] = b->faults->note[i + 1];
    b->n--;
}

/* The rest of a dropped record ends where the first record ends. That record represents it: a bad
 * record, which --emit all answers like any other. */
static void end_drop(struct reader *r, struct batch *b)
{
    if (!r->dropping || b->n == 0)
        return;
    r->dropping = false;
    b->headless = true;
    if (!is_csv(r)) /* else it is marked already */
        batch_fault(b, 0, true, "too long");
}

/* Read more of the file into the batch; returns the result of bytes_more(). At the end of the file,
 * the last record is completed. */
static ssize_t get_more(struct reader *r, struct batch *b, size_t *filled)
{
    ssize_t n = make_room(r, b, *filled) ? bytes_more(&r->bytes, b, *filled) : BYTES_FAILED;

    if (n > 0) {
        *filled += (size_t)n;
        split(r, b, *filled);
    } else if (n == BYTES_CHANGED) {
        b->failed = true;
        snprintf(b->failure, sizeof b->failure,
                 "%.300s was truncated or overwritten while it was being read; nothing after byte "
                 "%llu was processed",
                 name_of(r), (unsigned long long)r->offset);
    } else if (n == BYTES_DAMAGED) {
        fail_unpacked(r, b);
    } else if (n == BYTES_FOREIGN) {
        fail_foreign(r, b);
    } else if (n == BYTES_FAILED && !b->failed) {
        fail_batch(b, "read", name_of(r), errno);
    } else if (n == BYTES_END) {
        finish(r, b, filled);
    }
    return n;
}

/* More records may follow: read them until the time is over. */
static void linger(struct reader *r, struct batch *b, size_t *filled)
{
    double until = now() + r->linger, left;

    while (!r->bytes.regular && !r->bytes.ended && !b->failed && b->n < RECORDS_MAX &&
           *filled < b->room && (left = until - now()) > 0) {
        int patience = r->bytes.patience;

        r->bytes.patience = 1 + (int)(left * 1000);
        ssize_t n = bytes_more(&r->bytes, b, *filled);
        r->bytes.patience = patience;
        if (n <= 0)
            break; /* the next batch will report it again */
        *filled += (size_t)n;
        split(r, b, *filled);
    }
}

/* Read at least one record, or to the end of the file. *filled is the bytes in the batch. Returns
 * false if nothing arrived in time. */
static bool gather(struct reader *r, struct batch *b, size_t *filled)
{
    ssize_t n = bytes_begin(&r->bytes, b, is_csv(r) ? r->csv.at : r->scanned), more = 1;

    if (n < 0)
        return fail_batch(b, "read", name_of(r), ENOMEM);
    *filled = (size_t)n;
    split(r, b, *filled);
    while ((b->n == 0 || hold_all(r, b)) && !b->failed && more > 0) {
        if (b->n == 0 && (r->dropping || *filled > r->records->max_record))
            refuse_long(r, b, filled);
        int patience = hold_patience(r, b);
        if (!b->failed)
            more = get_more(r, b, filled);
        r->bytes.patience = patience;
    }
    if (r->linger > 0 && more > 0 && bytes_left(&r->bytes) == 0)
        linger(r, b, filled);
    end_drop(r, b);
    return more != BYTES_NONE;
}

/* ---- files ---- */

/* The total number of bytes is then unknown. */
static bool any_is_packed(const struct reader *r)
{
    bool packed = false;

    for (uint32_t i = 0; i < r->count && !packed && !r->records->plain; i++) {
        int fd = input_inspect(r->files[i]);
        enum file_kind kind;

        packed = fd >= 0 && magic_of_file(fd, &kind) && magic_is_packed(kind);
        input_inspected(fd);
    }
    return packed;
}

void read_open(struct reader *r, const struct records *records, struct inputs inputs)
{
    static char *const standard[] = {"-", NULL};

    *r = (struct reader){.records = records, .bytes = {.patience = -1, .fd = -1}};
    r->files = inputs.count ? inputs.file : standard;
    r->count = inputs.count ? inputs.count : 1;
    r->delimiter = records->nul ? '\0' : '\n';
    r->rules = (struct csv_rules){records->delimiter, records->skip, records->max_record};
    r->bytes.plain = records->plain;
    r->total = any_is_packed(r) ? 0 : inputs_size(r->files, r->count);
}

void read_close(struct reader *r)
{
    bytes_close(&r->bytes);
    free(r->header);
}

/* Called at the start of a file, or at the position where reading begins. */
static bool begin_file(struct reader *r, struct batch *b, uint64_t offset, uint64_t line)
{
    r->offset = offset;
    r->line = line;
    r->scanned = 0;
    r->unfinished = 0;
    r->padded = r->dropping = false;
    r->csv = (struct csv_scan){0};
    if (bytes_is_unpacked(&r->bytes) && offset > 0) {
        r->trace = r->bytes.trace;
        return true;
    }
    return trace_start(&r->trace, r->bytes.fd, r->bytes.regular ? offset : 0) ||
           fail_batch(b, "read", name_of(r), errno);
}

/* Open the next file, or first the rotated file that had its name. */
static bool open_file(struct reader *r, struct batch *b)
{
    off_t at;

    r->file = r->next;
    r->name = r->older ? r->older : r->files[r->next];
    if (!bytes_open(&r->bytes, r->name))
        return fail_batch(b, "open", r->name, errno);
    at = r->bytes.regular && !bytes_is_unpacked(&r->bytes) ? lseek(r->bytes.fd, 0, SEEK_CUR) : 0;
    if (!begin_file(r, b, at > 0 ? (uint64_t)at : 0, 1))
        return false;
    r->heads = r->records->header;
    r->next += !r->older;
    r->older = NULL;
    return true;
}

static uint64_t count_lines(const struct reader *r, const struct batch *b, size_t from, size_t to)
{
    return scan_count(b->data, from, to, r->delimiter);
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
    else if (size - 1 > r->records->max_record)
        wrong = "a header that is longer than --max-record allows";
    else if (!r->header && (r->header = malloc(size)))
        memcpy(r->header, b->data + begin, r->header_size = size);
    else if (size != r->header_size || memcmp(b->data + begin, r->header, size) != 0)
        wrong = "another header than the first file";
    if (wrong) {
        b->failed = true;
        b->n = 0;
        snprintf(b->failure, sizeof b->failure, "%.200s has %s", name_of(r), wrong);
        return;
    }
    drop_first(b);
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

/* The content of the batch is final: number it, and give back the rest. */
static void commit(struct reader *r, struct batch *b, size_t filled)
{
    b->used = record_begin(b, b->n);
    b->input.offset = r->offset; /* moved since label(), if bytes were dropped */
    if (b->n && !is_csv(r) && r->records->max_record < b->used)
        check_lengths(r, b);
    r->line += is_csv(r) ? count_lines(r, b, record_begin(b, 0), b->used) : b->n;
    if (!bytes_give_back(&r->bytes, b, b->used, filled))
        fail_batch(b, "read", b->input.name, ENOMEM);
    bool padding = r->padded && b->used == filled && filled > 0 && bytes_left(&r->bytes) == 0;
    r->padded &= !padding;
    r->offset += b->used - padding;
    if (b->used)
        r->unfinished = padding ? b->used - 1 - (b->n ? record_begin(b, b->n - 1) : 0) : 0;
    b->input.before = r->trace;
    b->input.unfinished = r->unfinished;
    trace_add(&r->trace, b->data, b->used - padding);
    b->input.next_line = r->line;
    b->input.next_offset = r->offset;
    b->input.seekable = r->bytes.regular;
    r->scanned -= r->scanned < b->used ? r->scanned : b->used;
    csv_move(&r->csv, b->used);
}

/* Record where the bytes of the batch come from. */
static void label(const struct reader *r, struct batch *b)
{
    b->input.name = name_of(r);
    b->input.file = r->file;
    b->input.offset = r->offset;
    b->input.line = r->line;
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
        bool headed = r->heads && b->n > 0;
        if (headed)
            take_header(r, b);
        hold_back(r, b, filled, came);
        if (came || filled > 0)
            commit(r, b, filled);
        if (r->bytes.ended && bytes_left(&r->bytes) == 0)
            bytes_close_file(&r->bytes);
        if (b->n > 0 || b->failed || headed) { /* a header is passed on before records arrive */
            b->dropped = r->dropped;
            r->dropped = 0;
            return READ_BATCH;
        }
        if (!came)
            return READ_NOTHING;
        batch_reset(b);
    }
    return READ_END;
}

struct position read_position(const struct reader *r)
{
    return r->name ? (struct position){r->bytes.regular, r->file,       r->offset,
                                       r->line,          r->unfinished, r->trace}
                   : (struct position){0};
}

struct position read_behind(const struct batch *b)
{
    struct position p = {b->input.seekable,  b->input.file,       b->input.next_offset,
                         b->input.next_line, b->input.unfinished, b->input.before};

    trace_add(&p.trace, b->data, (size_t)(b->input.next_offset - b->input.offset));
    return p;
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

static bool fail_seek(const struct reader *r, struct batch *b, ssize_t why)
{
    if (why == BYTES_DAMAGED)
        return fail_unpacked(r, b);
    return fail_batch(b, "seek in", name_of(r), why == 0 ? ESPIPE : errno);
}

/* Read the byte at an offset: 1, 0 if the file ends there, or an error of bytes_seek(). */
static ssize_t look_at(struct reader *r, uint64_t offset, char *next, struct batch *b)
{
    if (!bytes_is_unpacked(&r->bytes))
        return read_at(r->bytes.fd, next, 1, offset);
    ssize_t n = bytes_seek(&r->bytes, offset);
    if (n > 0)
        do
            n = bytes_more(&r->bytes, b, 0);
        while (n == BYTES_NONE && !signals_caught());
    *next = b->data[0];
    ssize_t again = n >= 0 ? bytes_seek(&r->bytes, 0) : 1;
    return again < 0 ? again : n;
}

/* The last record had no delimiter. Does it have one now, or was it continued? */
static bool look_again(struct reader *r, struct position *p, struct batch *b)
{
    char next = 0;
    ssize_t n = p->unfinished ? look_at(r, p->offset, &next, b) : 0;

    if (n < 0)
        return fail_seek(r, b, n);
    if (n == 0)
        return true;
    if (next == r->delimiter) {
        p->offset++;
    } else {
        p->offset -= p->unfinished;
        p->line--;
        r->again = true;
    }
    p->unfinished = 0;
    return true;
}

bool read_seek(struct reader *r, const struct position *place, const char *older, struct batch *b)
{
    struct position p = *place;

    if (place->file >= r->count)
        return true;
    r->next = place->file;
    r->older = older;
    if (!open_file(r, b))
        return false;
    if (!r->bytes.regular) {
        b->failed = true;
        snprintf(b->failure, sizeof b->failure,
                 "%.300s is not a regular file: it cannot be resumed", name_of(r));
        return false;
    }
    if (!look_again(r, &p, b))
        return false;
    if (p.offset == 0) /* not even the header was read */
        return true;
    if (!skip_header(r, b))
        return false;
    ssize_t there = bytes_seek(&r->bytes, p.offset);
    if (there <= 0)
        return fail_seek(r, b, there);
    r->heads = false;
    if (!begin_file(r, b, p.offset, p.line))
        return false;
    r->unfinished = p.unfinished;
    return true;
}
