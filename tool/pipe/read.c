/* read.c - see read.h.
 *
 * read() into a block that stays in the cache beats mmap(), whose page faults
 * cost more than the copy saves (docs/command.md has the figures). A batch
 * owns its bytes, so that several can be under way; the piece of a record at
 * its end is copied to the next one. */
#include "pipe/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipe/inputs.h"
#include "cli/progress.h"
#include "pipe/scan.h"
#include "cli/signals.h"

void read_open(struct reader *r, const struct records *records, struct inputs inputs)
{
    static char *const standard[] = {"-", NULL};

    *r = (struct reader){.records = records, .patience = -1, .fd = -1};
    r->files = inputs.count ? inputs.file : standard;
    r->count = inputs.count ? inputs.count : 1;
    r->delimiter = records->nul ? '\0' : '\n';
    r->total = inputs_size(r->files, r->count);
}

static void close_file(struct reader *r)
{
    if (r->fd > 0)
        close(r->fd);
    r->fd = -1;
}

void read_close(struct reader *r)
{
    close_file(r);
    free(r->rest);
    free(r->header);
}

static bool fail_batch(struct batch *b, const char *what, const char *name, int error)
{
    b->failed = true;
    snprintf(b->failure, sizeof b->failure, "cannot %s %.300s: %s", what, name, strerror(error));
    return false;
}

static bool open_file(struct reader *r, struct batch *b)
{
    const char *name = r->files[r->next];
    struct stat st;

    r->fd = strcmp(name, "-") == 0 ? 0 : open(name, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0 || fstat(r->fd, &st) != 0)
        return fail_batch(b, "open", name, errno);
    r->regular = S_ISREG(st.st_mode);
    if (r->regular)
        (void)posix_fadvise(r->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    off_t at = r->regular ? lseek(r->fd, 0, SEEK_CUR) : 0;
    r->offset = at > 0 ? (uint64_t)at : 0;
    r->line = 1;
    r->heads = r->records->header;
    r->ended = r->padded = false;
    r->csv = (struct csv_scan){0};
    r->next++;
    return true;
}

/* ---- bytes ---- */

static bool take_rest(struct reader *r, struct batch *b)
{
    if (!batch_grow(b, r->rest_size))
        return false;
    if (r->rest_size)
        memcpy(b->data, r->rest, r->rest_size);
    return true;
}

static bool keep_rest(struct reader *r, const struct batch *b, size_t filled)
{
    size_t size = filled - b->used;

    if (size > r->rest_room) {
        char *rest = realloc(r->rest, size);

        if (!rest)
            return false;
        r->rest = rest;
        r->rest_room = size;
    }
    if (size)
        memcpy(r->rest, b->data + b->used, size);
    r->rest_size = size;
    return true;
}

/* One read(); 0 at the end of the file, -1 on error, -2 if none came in time. */
static ssize_t fill(struct reader *r, struct batch *b, size_t filled)
{
    for (;;) {
        if (!r->regular) {
            enum waited waited = signals_wait(r->fd, r->patience);

            if (waited != WAIT_READY)
                return -2;
        }
        ssize_t n = read(r->fd, b->data + filled, b->room - filled);
        if (n >= 0 || (errno != EINTR && errno != EAGAIN))
            return n;
    }
}

/* ---- records ---- */

static void split(struct reader *r, struct batch *b, size_t *scanned, size_t filled)
{
    if (r->records->format == FORMAT_CSV) {
        csv_split(&r->csv, b, filled, r->records->delimiter, r->records->skip);
        return;
    }
    size_t n =
        scan_one(b->data, *scanned, filled, r->delimiter, b->ends + 1 + b->n, RECORDS_MAX - b->n);
    b->n += (uint32_t)n;
    *scanned = b->n < RECORDS_MAX ? filled : b->ends[b->n] + 1;
}

/* The file is at its end: give the last record the delimiter it lacks. */
static void finish(struct reader *r, struct batch *b, size_t *scanned, size_t *filled)
{
    r->ended = true;
    if (*filled == 0) {
        r->skipped += r->dropping;
        r->dropping = false;
        return;
    }
    if (b->data[*filled - 1] != r->delimiter) {
        b->data[(*filled)++] = r->delimiter;
        r->padded = true;
    }
    split(r, b, scanned, *filled);
}

static bool refuse_long(struct reader *r, struct batch *b)
{
    b->failed = true;
    snprintf(b->failure, sizeof b->failure,
             "%.200s, line %llu: the record is longer than %llu bytes; --max-record allows more, "
             "--on-error skip leaves it out",
             input_name(r->files[r->next - 1]), (unsigned long long)r->line,
             (unsigned long long)r->records->max_record);
    return false;
}

/* Forget the bytes at hand, which are of a record that is too long. */
static bool drop_bytes(struct reader *r, size_t *scanned, size_t *filled)
{
    r->offset += *filled;
    r->dropping = true;
    r->csv = (struct csv_scan){.fault = "too long"};
    *filled = *scanned = 0;
    return true;
}

/* A record that fills the buffer: ask for a larger one, or refuse it. */
static bool make_room(struct reader *r, struct batch *b, size_t *scanned, size_t *filled)
{
    uint64_t most = r->records->max_record;

    if (!r->dropping && *filled <= most) {
        size_t room = b->room * 2 > most + BLOCK ? most + BLOCK : b->room * 2;

        return batch_grow(b, room) ||
               fail_batch(b, "hold a record of", input_name(r->files[r->next - 1]), ENOMEM);
    }
    if (!r->dropping && r->csv.quoted) {
        csv_give_up(&r->csv, b, "a quote is opened and not closed within --max-record bytes");
        split(r, b, scanned, *filled);
        return true;
    }
    if (!r->records->skip)
        return refuse_long(r, b);
    return drop_bytes(r, scanned, filled);
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
    if (r->records->format == FORMAT_CSV)
        return; /* it is marked bad */
    remove_first(b);
    r->skipped++;
    r->line++;
}

/* Others may be on their way: take what comes until the time is over. */
static void linger(struct reader *r, struct batch *b, size_t *scanned, size_t *filled)
{
    double until = now() + r->linger, left;

    while (!r->regular && !r->ended && !b->failed && b->n < RECORDS_MAX && *filled < b->room &&
           (left = until - now()) > 0 &&
           signals_wait(r->fd, 1 + (int)(left * 1000)) == WAIT_READY) {
        ssize_t n = read(r->fd, b->data + *filled, b->room - *filled);

        if (n < 0)
            break; /* the next gather() will meet it again */
        *filled += (size_t)n;
        if (n > 0)
            split(r, b, scanned, *filled);
        else
            finish(r, b, scanned, filled);
    }
}

/* Get at least one record, or to the end of the file; false if none came in
 * time. */
static bool gather(struct reader *r, struct batch *b, size_t *filled)
{
    size_t scanned = 0;

    *filled = r->rest_size;
    split(r, b, &scanned, *filled);
    while (b->n == 0 && !b->failed && !r->ended) {
        if (*filled >= b->room && (!make_room(r, b, &scanned, filled) || b->n > 0))
            break;
        ssize_t n = fill(r, b, *filled);
        if (n == -2) {
            r->rest_size = 0;
            return false;
        }
        if (n > 0) {
            *filled += (size_t)n;
            split(r, b, &scanned, *filled);
        } else if (n == 0) {
            finish(r, b, &scanned, filled);
        } else {
            fail_batch(b, "read", input_name(r->files[r->next - 1]), errno);
        }
    }
    if (r->linger > 0)
        linger(r, b, &scanned, filled);
    while (r->ended && r->csv.quoted && b->n < RECORDS_MAX && !b->failed) {
        csv_give_up(&r->csv, b, "a quote is opened and never closed");
        split(r, b, &scanned, *filled);
    }
    return true;
}

/* The header is kept from the first file, and must be the same in all. */
static void take_header(struct reader *r, struct batch *b)
{
    size_t begin = record_begin(b, 0), size = record_end(b, 0) + 1 - begin;

    r->heads = false;
    r->line++;
    if (!r->header && (r->header = malloc(size))) {
        memcpy(r->header, b->data + begin, size);
        r->header_size = size;
    } else if (size != r->header_size || memcmp(b->data + begin, r->header, size) != 0) {
        b->failed = true;
        b->n = 0;
        snprintf(b->failure, sizeof b->failure, "%.200s has another header than %.200s",
                 input_name(r->files[r->next - 1]), input_name(r->files[0]));
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

static uint64_t count_lines(const struct reader *r, const struct batch *b)
{
    uint64_t lines = 0;

    if (r->records->format != FORMAT_CSV)
        return b->n;
    for (size_t i = record_begin(b, 0); i < b->used; i++)
        lines += b->data[i] == '\n';
    return lines;
}

/* What the batch holds is decided: number it, and keep the rest. */
static void commit(struct reader *r, struct batch *b, size_t filled)
{
    b->used = record_begin(b, b->n);
    b->offset = r->offset; /* moved since label(), if bytes were dropped */
    if (b->n && r->records->max_record < b->used)
        check_lengths(r, b);
    if (!keep_rest(r, b, filled))
        fail_batch(b, "read", b->name, ENOMEM);
    bool padding = r->padded && b->used == filled && filled > 0;
    r->padded &= !padding;
    r->line += count_lines(r, b);
    r->offset += b->used - padding;
    b->next_line = r->line;
    b->next_offset = r->offset;
    b->seekable = r->regular;
    r->csv.at -= b->used;
    r->csv.field -= b->used;
    r->csv.close -= b->used;
}

/* Say where the bytes of the batch will come from. */
static void label(const struct reader *r, struct batch *b)
{
    b->name = input_name(r->files[r->next - 1]);
    b->file = r->next - 1;
    b->offset = r->offset;
    b->line = r->line;
}

enum read_result read_batch(struct reader *r, struct batch *b)
{
    size_t filled = 0;

    while (!signals_caught()) {
        if (r->fd < 0 && r->next == r->count)
            return READ_END;
        if (r->fd < 0 && !open_file(r, b))
            return READ_BATCH;
        if (!take_rest(r, b)) {
            fail_batch(b, "read", input_name(r->files[r->next - 1]), ENOMEM);
            return READ_BATCH;
        }
        label(r, b);
        bool came = gather(r, b, &filled);
        end_drop(r, b);
        if (r->heads && b->n > 0)
            take_header(r, b);
        if (came || filled > 0)
            commit(r, b, filled);
        if (r->ended && r->rest_size == 0)
            close_file(r);
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
    return r->next ? (struct position){r->regular, r->next - 1, r->offset, r->line}
                   : (struct position){0};
}

/* ---- going on where an earlier run stopped ---- */

static bool skip_header(struct reader *r, struct batch *b)
{
    size_t filled;

    if (!r->heads)
        return true;
    r->rest_size = 0;
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
    if (!r->regular) {
        b->failed = true;
        snprintf(b->failure, sizeof b->failure,
                 "%.300s is not a regular file: it cannot be resumed",
                 input_name(r->files[p->file]));
        return false;
    }
    if (!skip_header(r, b))
        return false;
    if (lseek(r->fd, (off_t)p->offset, SEEK_SET) < 0)
        return fail_batch(b, "seek in", input_name(r->files[p->file]), errno);
    r->rest_size = 0;
    r->ended = r->heads = r->padded = false;
    r->csv = (struct csv_scan){0};
    r->offset = p->offset;
    r->line = p->line;
    return true;
}
