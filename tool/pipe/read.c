/* read.c - see read.h. bytes.c brings the bytes, gather.c finds the records. */
#include "pipe/read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/inputs.h"
#include "cli/signals.h"
#include "pipe/scan.h"

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
           gather_fail(b, "read", gather_name(r), errno);
}

/* Open the next file, or first the rotated file that had its name. */
static bool open_file(struct reader *r, struct batch *b)
{
    off_t at;

    r->file = r->next;
    r->name = r->older ? r->older : r->files[r->next];
    if (!bytes_open(&r->bytes, r->name))
        return gather_fail(b, "open", r->name, errno);
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
        snprintf(b->failure, sizeof b->failure, "%.200s has %s", gather_name(r), wrong);
        return;
    }
    gather_drop_first(b);
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
    if (b->n && !gather_is_csv(r) && r->records->max_record < b->used)
        check_lengths(r, b);
    r->line += gather_is_csv(r) ? count_lines(r, b, record_begin(b, 0), b->used) : b->n;
    if (!bytes_give_back(&r->bytes, b, b->used, filled))
        gather_fail(b, "read", b->input.name, ENOMEM);
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
    b->input.name = gather_name(r);
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
        bool came = gather_records(r, b, &filled);
        bool headed = r->heads && b->n > 0;
        if (headed)
            take_header(r, b);
        gather_hold_back(r, b, filled, came);
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
    gather_records(r, b, &filled);
    if (b->n > 0)
        take_header(r, b);
    return !b->failed;
}

static bool fail_seek(const struct reader *r, struct batch *b, ssize_t why)
{
    if (why == BYTES_DAMAGED)
        return gather_fail_unpacked(r, b);
    return gather_fail(b, "seek in", gather_name(r), why == 0 ? ESPIPE : errno);
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
                 "%.300s is not a regular file: it cannot be resumed", gather_name(r));
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
