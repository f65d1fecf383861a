/* gather.c - fill a batch with the records of the open file: see read.h. */
#include "pipe/read.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/inputs.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "pipe/scan.h"

#define DOUBLED ((size_t)16 << 20) /* bytes up to which the buffer is doubled */

bool gather_fail(struct batch *b, const char *what, const char *name, int error)
{
    b->failed = true;
    snprintf(b->failure, sizeof b->failure, "cannot %s %.300s: %s", what, name, strerror(error));
    return false;
}

bool gather_fail_unpacked(const struct reader *r, struct batch *b)
{
    b->failed = true;
    snprintf(b->failure, sizeof b->failure, "%.300s %s; no record after line %llu was processed",
             gather_name(r), unpack_failure(r->bytes.unpack), (unsigned long long)r->line - 1);
    return false;
}

bool gather_fail_foreign(const struct reader *r, struct batch *b)
{
    bool packed = magic_is_packed(r->bytes.kind);
    enum file_kind kind = packed ? r->bytes.within : r->bytes.kind;

    b->failed = true;
    snprintf(b->failure, sizeof b->failure, "%.300s: %s%s%s, not records; %s%s", gather_name(r),
             magic_name(kind), packed ? " inside " : "", packed ? magic_name(r->bytes.kind) : "",
             magic_fix(kind), packed ? "" : ", or use --plain to read it as lines");
    return false;
}

const char *gather_name(const struct reader *r)
{
    return input_name(r->name);
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

void gather_hold_back(struct reader *r, struct batch *b, size_t filled, bool came)
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
    if (gather_is_csv(r)) {
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
    while (gather_is_csv(r) && has_rest(b, *filled)) {
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
             gather_name(r), (unsigned long long)r->line,
             (unsigned long long)r->records->max_record);
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
           gather_fail(b, "hold a record of", gather_name(r), ENOMEM);
}

void gather_drop_first(struct batch *b)
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
    if (!gather_is_csv(r)) /* else it is marked already */
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
                 gather_name(r), (unsigned long long)r->offset);
    } else if (n == BYTES_DAMAGED) {
        gather_fail_unpacked(r, b);
    } else if (n == BYTES_FOREIGN) {
        gather_fail_foreign(r, b);
    } else if (n == BYTES_FAILED && !b->failed) {
        gather_fail(b, "read", gather_name(r), errno);
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

bool gather_records(struct reader *r, struct batch *b, size_t *filled)
{
    ssize_t n = bytes_begin(&r->bytes, b, gather_is_csv(r) ? r->csv.at : r->scanned), more = 1;

    if (n < 0)
        return gather_fail(b, "read", gather_name(r), ENOMEM);
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
