/* write.c - see write.h.
 *
 * Short records are copied one by one without a branch: always 32 bytes, and the output advances by
 * the length or by nothing. A branch per record would be mispredicted if new and seen records mix.
 * Longer records are written as ranges of neighbours that pass; a long range is written without a
 * copy. */
#include "pipe/write.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/print.h"
#include "cli/messages.h"
#include "cli/signals.h"
#include "pipe/csv.h"

#define ROOM ((size_t)256 << 10)
#define DIRECT ((size_t)32 << 10) /* ranges from this size on are not copied */
#define SHORT 48                  /* mean length up to which records are copied singly */
#define STEP 32
#define ALL_VERDICTS ((1u << (VERDICT_UNKNOWN + 1)) - 1)
/* A file that another program truncates continues at its new end. */
#define OUTPUT_FLAGS (O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND)
#define READER_EVERY 50 /* milliseconds between checks whether a pipe has a reader; a guess */

bool write_answers_all(const struct output *o)
{
    return !o->count_only && (o->emit == EMIT_ALL || o->answers);
}

uint8_t write_passes(const struct output *o, enum weir_verdict verdict, bool unanswered)
{
    unsigned some = o->emit == EMIT_ALL ? 1u << WEIR_NEW | 1u << WEIR_SEEN : 1u << verdict;

    return (uint8_t)(some | (unanswered ? 1u << VERDICT_UNKNOWN : 0));
}

/* Opening a named pipe waits for a reader. A signal ends the wait. */
static int open_output(const char *path, int flags)
{
    struct stat st;
    int fd;

    if (stat(path, &st) != 0 || !S_ISFIFO(st.st_mode))
        return open(path, flags, 0666);
    while ((fd = open(path, flags | O_NONBLOCK, 0666)) < 0 && errno == ENXIO && !signals_caught())
        signals_wait(-1, READER_EVERY);
    return fd;
}

static bool cut(struct writer *w, uint64_t length)
{
    struct stat st;

    if (fstat(w->fd, &st) != 0)
        return reject("cannot write %s: %s", w->name, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return true;
    if (ftruncate(w->fd, (off_t)length) != 0 || lseek(w->fd, (off_t)length, SEEK_SET) < 0)
        return reject("cannot truncate %s to %llu bytes: %s", w->name, (unsigned long long)length,
                      strerror(errno));
    w->bytes = length;
    return true;
}

static enum write_form form_of(const struct output *o)
{
    if (o->mute || o->count_only)
        return WRITE_NOTHING;
    if (o->format == RECORDS_JSON)
        return WRITE_OBJECTS;
    return !write_answers_all(o) ? WRITE_RECORDS : o->answers ? WRITE_WORDS : WRITE_TAGGED;
}

static bool open_path(struct writer *w, const char *path, uint64_t length)
{
    w->name = path;
    w->fd = open_output(path, OUTPUT_FLAGS);
    if (w->fd < 0 && signals_caught())
        return false; /* the signal ends the run, without a message */
    return w->fd >= 0 ? cut(w, length) : reject("cannot write %s: %s", path, strerror(errno));
}

bool write_open(struct writer *w, const struct output *o, uint8_t passes, uint64_t length)
{
    *w = (struct writer){.name = "standard output",
                         .fd = 1,
                         .form = form_of(o),
                         .passes = passes,
                         .answers = o->answers,
                         .buffer = malloc(ROOM + MARGIN)};
    if (!w->buffer)
        return reject("out of memory");
    if (w->form == WRITE_OBJECTS && write_answers_all(o))
        w->passes = ALL_VERDICTS & ~(1u << VERDICT_NONE);
    if (!o->path || (o->mute && !o->count_only))
        return true;
    return open_path(w, o->path, length);
}

bool write_open_rejects(struct writer *w, const struct output *o, uint8_t passes, uint64_t length)
{
    *w = (struct writer){.fd = -1,
                         .rejects = true,
                         .form = o->rejects_format == RECORDS_JSON ? WRITE_OBJECTS : WRITE_RECORDS,
                         .passes = ALL_VERDICTS & ~(unsigned)passes,
                         .buffer = malloc(ROOM + MARGIN)};
    if (!w->buffer)
        return reject("out of memory");
    return open_path(w, o->rejects, length);
}

bool write_is_rotated(const struct writer *w)
{
    struct stat open, named;

    return w->fd > 1 && fstat(w->fd, &open) == 0 && S_ISREG(open.st_mode) &&
           (stat(w->name, &named) != 0 || named.st_dev != open.st_dev ||
            named.st_ino != open.st_ino);
}

bool write_reopen(struct writer *w)
{
    struct stat st;
    int fd = write_sync(w) ? open(w->name, OUTPUT_FLAGS, 0666) : -1;

    if (fd < 0 || fstat(fd, &st) != 0 || close(w->fd) != 0) {
        w->error = w->error ? w->error : errno;
        if (fd >= 0)
            close(fd);
        return false;
    }
    w->fd = fd;
    w->bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    w->headed = w->bytes > 0;
    return true;
}

static inline bool passes(const struct writer *w, uint8_t verdict)
{
    return w->passes >> verdict & 1;
}

static bool put(struct writer *w, const char *data, size_t size)
{
    while (size > 0 && !w->error) {
        ssize_t n = write(w->fd, data, size);

        if (n > 0) {
            data += n;
            size -= (size_t)n;
            w->bytes += (size_t)n;
        } else if (errno == EAGAIN) {
            (void)poll(&(struct pollfd){.fd = w->fd, .events = POLLOUT}, 1, -1);
        } else if (errno != EINTR) {
            w->error = errno;
        }
    }
    return !w->error;
}

bool write_flush(struct writer *w)
{
    size_t used = w->used;

    w->used = 0;
    return put(w, w->buffer, used);
}

bool write_text(struct writer *w, const char *text, size_t size)
{
    if (w->used + size > ROOM && !write_flush(w))
        return false;
    if (size >= DIRECT)
        return write_flush(w) && put(w, text, size);
    memcpy(w->buffer + w->used, text, size);
    w->used += size;
    return true;
}

bool write_header(struct writer *w, const char *header, size_t size)
{
    if (w->headed)
        return true;
    w->headed = true;
    if (w->form == WRITE_NOTHING || w->form == WRITE_OBJECTS)
        return true;
    if (w->form == WRITE_RECORDS)
        return write_text(w, header, size);
    if (!write_text(w, "verdict", 7))
        return false;
    if (w->form == WRITE_WORDS)
        return write_text(w, header + size - 1, 1); /* how the line ends */
    return write_text(w, &w->joint, 1) && write_text(w, header, size);
}

/* The record, or what is left of it, with its delimiter. */
static bool write_record(struct writer *w, const struct batch *b, uint32_t i)
{
    const struct weir_bytes *r = b->rewritten ? &b->rewritten[i] : NULL;
    size_t begin = record_begin(b, i), size = record_end(b, i) - begin;

    return r && r->data
               ? write_text(w, r->data, r->size) && write_text(w, b->data + record_end(b, i), 1)
               : write_text(w, b->data + begin, size + 1);
}

static bool write_short(struct writer *w, const struct batch *b)
{
    char *at;

    if (w->used + b->used > ROOM && !write_flush(w))
        return false;
    at = w->buffer + w->used;
    for (uint32_t i = 0; i < b->n; i++) {
        size_t begin = record_begin(b, i), size = record_end(b, i) + 1 - begin;
        bool pass = passes(w, b->verdict[i]);

        memcpy(at, b->data + begin, STEP);
        if (size > STEP && pass)
            memcpy(at + STEP, b->data + begin + STEP, size - STEP);
        at += pass ? size : 0;
        w->passed += pass;
    }
    w->used = (size_t)(at - w->buffer);
    return true;
}

static bool write_stretches(struct writer *w, const struct batch *b)
{
    bool ok = true;

    for (uint32_t i = 0; i < b->n && ok; i++) {
        uint32_t first = i;

        while (i < b->n && passes(w, b->verdict[i]))
            i++;
        if (i > first) {
            size_t begin = record_begin(b, first);

            ok = write_text(w, b->data + begin, record_begin(b, i) - begin);
            w->passed += i - first;
        }
    }
    return ok;
}

/* If records may be rewritten. */
static bool write_singly(struct writer *w, const struct batch *b)
{
    bool ok = true;

    for (uint32_t i = 0; i < b->n && ok; i++) {
        if (!passes(w, b->verdict[i]))
            continue;
        ok = write_record(w, b, i);
        w->passed++;
    }
    return ok;
}

static const char *word_of(const struct writer *w, uint8_t verdict)
{
    if (w->form == WRITE_WORDS)
        return w->answers->word[verdict == WEIR_NEW ? 0 : verdict == WEIR_SEEN ? 1 : 2];
    return verdict == VERDICT_KEYLESS ? "keyless" : w->words[verdict];
}

/* The filters that have a record, if the batch has names of filters; advance to the next record. */
static const char *next_names(const char **names)
{
    const char *at = *names;

    if (at)
        *names += strlen(at) + 1;
    return at;
}

static bool has_verdict(uint8_t verdict)
{
    return verdict != VERDICT_NONE && verdict != VERDICT_KEYLESS;
}

/* A line per record, whatever its verdict. */
static bool write_lines(struct writer *w, const struct batch *b)
{
    const char *next = b->tags;
    bool ok = true;

    for (uint32_t i = 0; i < b->n && ok; i++) {
        const char *names = next_names(&next);
        bool named = names && w->form == WRITE_TAGGED && has_verdict(b->verdict[i]);
        const char *word = named ? names : word_of(w, b->verdict[i]);

        ok = write_text(w, word, strlen(word));
        if (ok && w->form == WRITE_TAGGED)
            ok = write_text(w, &w->joint, 1) && write_record(w, b, i);
        else if (ok)
            ok = write_text(w, b->data + record_end(b, i), 1);
        w->passed += b->verdict[i] != VERDICT_NONE;
    }
    return ok;
}

/* ---- objects ---- */

static bool write_string(struct writer *w, const char *text, size_t size)
{
    const char *end = text + size;

    if (!write_text(w, "\"", 1))
        return false;
    for (;;) {
        if (w->used + JSON_ESCAPE_ROOM <= ROOM)
            w->used += json_escape(&text, end, w->buffer + w->used, ROOM - w->used);
        if (text == end)
            return write_text(w, "\"", 1);
        if (!write_flush(w))
            return false;
    }
}

/* A JSON record on one line: its line breaks are outside strings. A blank record becomes null. */
static bool write_json(struct writer *w, const char *text, size_t size)
{
    const char *end = text + size;

    text += csv_mark(text, size);
    while (text < end && strchr(" \t\r\n", *text))
        text++;
    while (text < end && strchr(" \t\r\n", end[-1]))
        end--;
    if (text == end)
        return write_text(w, "null", 4);
    for (const char *stop = text;; text = ++stop) {
        while (stop < end && *stop != '\n' && *stop != '\r')
            stop++;
        if (!write_text(w, text, (size_t)(stop - text)))
            return false;
        if (stop == end)
            return true;
        if (!write_text(w, " ", 1))
            return false;
    }
}

static bool write_key(struct writer *w, const char *key, size_t size)
{
    if (!records_have_fields(w->records))
        return write_string(w, key, size);
    if (!write_text(w, "[", 1))
        return false;
    for (const char *joint; (joint = memchr(key, KEY_JOINT, size));) {
        size_t n = (size_t)(joint - key);

        if (!write_string(w, key, n) || !write_text(w, ",", 1))
            return false;
        key += n + 1;
        size -= n + 1;
    }
    return write_string(w, key, size) && write_text(w, "]", 1);
}

static bool write_word(struct writer *w, const char *word)
{
    return write_text(w, word, strlen(word));
}

static const char *reason_of(const struct writer *w, const struct batch *b, uint32_t i)
{
    static const char *const words[OUTCOMES] = {[OUTCOME_MALFORMED] = "malformed",
                                                [OUTCOME_MISSING] = "missing key",
                                                [OUTCOME_LATE] = "late"};
    enum record_outcome outcome = batch_outcome(b, i);

    return words[outcome] ? words[outcome] : w->words[b->verdict[i]];
}

/* A record as a JSON value: JSON unchanged, text as a string, null if its beginning was dropped. */
static bool write_value(struct writer *w, const struct batch *b, uint32_t i)
{
    const char *record = b->data + record_begin(b, i), *end = b->data + record_end(b, i);
    bool malformed = b->verdict[i] == VERDICT_NONE && b->bad[i] == BAD_MALFORMED;

    if (b->rewritten && b->rewritten[i].data) {
        record = b->rewritten[i].data;
        end = record + b->rewritten[i].size;
    }
    if (i == 0 && b->headless)
        return write_word(w, "null");
    if (end > record && end[-1] == '\r' && records_strip_cr(w->records))
        end--;
    return w->records->format == FORMAT_JSONL && !malformed
               ? write_json(w, record, (size_t)(end - record))
               : write_string(w, record, (size_t)(end - record));
}

static bool has_key(const struct batch *b, uint32_t i)
{
    return b->verdict[i] != VERDICT_KEYLESS &&
           (b->verdict[i] != VERDICT_NONE || b->bad[i] == BAD_LATE);
}

/* Short text in the format of printf(). */
static bool __attribute__((format(printf, 2, 3)))
write_format(struct writer *w, const char *format, ...)
{
    char text[128];
    va_list args;

    va_start(args, format);
    int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return write_text(w, text, (size_t)size);
}

/* Only of near-duplicates. */
static bool write_similar(struct writer *w, const struct similar *s)
{
    return write_format(w, ",\"similar_to\":%llu,\"jaccard\":%.3f,\"error\":%.3f,\"bands\":%u",
                        (unsigned long long)s->record, s->jaccard, s->error, s->bands);
}

static bool write_object(struct writer *w, const struct batch *b, uint32_t i, const char *names)
{
    const char *word = w->rejects ? reason_of(w, b, i) : word_of(w, b->verdict[i]);

    return write_word(w, "{") &&
           (!w->rejects ||
            write_format(w, "\"number\":%llu,", (unsigned long long)(b->first + i))) &&
           write_word(w, "\"record\":") && write_value(w, b, i) && write_word(w, ",\"key\":") &&
           (has_key(b, i) ? write_key(w, b->key[i].data, b->key[i].size) : write_word(w, "null")) &&
           write_word(w, w->rejects ? ",\"reason\":\"" : ",\"verdict\":\"") &&
           write_word(w, word) && write_word(w, "\"") &&
           (!b->similar || b->verdict[i] != WEIR_SEEN || write_similar(w, &b->similar[i])) &&
           (!b->share || !has_verdict(b->verdict[i]) ||
            write_format(w, ",\"seen_share\":%.3f", (double)b->share[i])) &&
           (!names || (write_word(w, ",\"filters\":[") && write_word(w, names))) &&
           write_word(w, names ? "]}\n" : "}\n");
}

static bool write_objects(struct writer *w, const struct batch *b)
{
    const char *next = b->tags;
    bool ok = true;

    for (uint32_t i = 0; i < b->n && ok; i++) {
        const char *names = next_names(&next);

        if (!passes(w, b->verdict[i]))
            continue;
        ok = write_object(w, b, i, names);
        w->passed++;
    }
    return ok;
}

static bool count(struct writer *w, const struct batch *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        w->passed += passes(w, b->verdict[i]);
    return true;
}

bool write_batch(struct writer *w, const struct batch *b)
{
    switch (w->form) {
    case WRITE_NOTHING:
        return count(w, b);
    case WRITE_TAGGED:
    case WRITE_WORDS:
        return write_lines(w, b);
    case WRITE_OBJECTS:
        return write_objects(w, b);
    default:
        if (b->rewritten)
            return write_singly(w, b);
        return b->used < (size_t)b->n * SHORT && b->used <= ROOM ? write_short(w, b)
                                                                 : write_stretches(w, b);
    }
}

bool write_sync(struct writer *w)
{
    if (!write_flush(w))
        return false;
    if (w->form != WRITE_NOTHING && fsync(w->fd) != 0 && errno != EINVAL && errno != EROFS &&
        errno != ENOTSUP)
        w->error = errno;
    return !w->error;
}

bool write_close(struct writer *w)
{
    bool ok = !w->buffer || write_flush(w);

    if (w->fd > 1 && close(w->fd) != 0 && ok) {
        w->error = errno;
        ok = false;
    }
    free(w->buffer);
    w->buffer = NULL;
    w->fd = -1;
    return ok;
}
