/* write.c - see write.h.
 *
 * Short records are copied one by one without a branch: 32 bytes always, and
 * the output moves on by the length or by nothing. A branch per record would be
 * mispredicted wherever new and seen mix. Longer ones are taken as stretches of
 * neighbours that pass; a long stretch is written from where it lies. */
#include "pipe/write.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/json_text.h"
#include "cli/messages.h"
#include "cli/signals.h"
#include "pipe/csv.h"

#define ROOM ((size_t)256 << 10)
#define DIRECT ((size_t)32 << 10) /* stretches from here on are not copied */
#define SHORT 48                  /* mean length up to which records are copied singly */
#define STEP 32
#define READER_EVERY 50 /* milliseconds between looks for who reads a pipe; a guess */

bool write_answers_all(const struct output *o)
{
    return !o->count_only && (o->emit == EMIT_ALL || o->answers);
}

uint8_t write_passes(const struct output *o, enum weir_verdict verdict, bool unanswered)
{
    unsigned some = o->emit == EMIT_ALL ? 1u << WEIR_NEW | 1u << WEIR_SEEN : 1u << verdict;

    return (uint8_t)(some | (unanswered ? 1u << VERDICT_UNKNOWN : 0));
}

/* A pipe with a name is opened when somebody reads it, and the wait for that ends
 * with a signal. */
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
        return reject("cannot cut %s to %llu bytes: %s", w->name, (unsigned long long)length,
                      strerror(errno));
    w->bytes = length;
    return true;
}

bool write_open(struct writer *w, const struct output *o, uint8_t passes, uint64_t length)
{
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (o->append ? O_APPEND : 0);

    *w = (struct writer){.name = "standard output", .fd = 1, .passes = passes};
    w->mute = o->mute || o->count_only;
    w->tags = write_answers_all(o);
    w->answers = o->answers;
    w->objects = o->format == RECORDS_JSON;
    w->buffer = malloc(ROOM + MARGIN);
    if (!w->buffer)
        return reject("memory is short");
    if (!o->path || (o->mute && !o->count_only))
        return true;
    w->name = o->path;
    w->fd = open_output(o->path, flags);
    if (w->fd < 0 && signals_caught())
        return false; /* it ends as the signal says */
    return w->fd >= 0 ? cut(w, length) : reject("cannot write %s: %s", w->name, strerror(errno));
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
    if (w->mute || w->objects)
        return true;
    if (!w->tags)
        return write_text(w, header, size);
    if (!write_text(w, "verdict", 7))
        return false;
    if (w->answers)
        return write_text(w, header + size - 1, 1); /* how the line ends */
    return write_text(w, &w->joint, 1) && write_text(w, header, size);
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

static const char *word_of(const struct writer *w, uint8_t verdict)
{
    if (!w->answers)
        return verdict == VERDICT_KEYLESS ? "keyless" : w->words[verdict];
    return w->answers->word[verdict == WEIR_NEW ? 0 : verdict == WEIR_SEEN ? 1 : 2];
}

/* A line for each, whatever its verdict: whoever waits for the answer to a line gets one. */
static bool write_tagged(struct writer *w, const struct batch *b)
{
    const char *next = b->tags;
    bool ok = true;

    for (uint32_t i = 0; i < b->n && ok; i++) {
        size_t begin = record_begin(b, i), size = record_end(b, i) + 1 - begin;
        bool named = next && !w->answers && b->verdict[i] != VERDICT_NONE &&
                     b->verdict[i] != VERDICT_KEYLESS;
        const char *word = named ? next : word_of(w, b->verdict[i]);

        next = next ? next + strlen(next) + 1 : NULL;
        ok = write_text(w, word, strlen(word));
        if (ok && !w->answers)
            ok = write_text(w, &w->joint, 1) && write_text(w, b->data + begin, size);
        if (ok && w->answers)
            ok = write_text(w, b->data + begin + size - 1, 1);
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

/* A record that is JSON already, on one line: its line breaks are outside of strings. Of a blank
 * one null. */
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
    if (!w->fields)
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

static bool write_object(struct writer *w, const struct batch *b, uint32_t i, const char *names)
{
    const char *record = b->data + record_begin(b, i), *end = b->data + record_end(b, i);
    uint8_t verdict = b->verdict[i];

    if (end > record && end[-1] == '\r' && records_strip_cr(w->records))
        end--;
    return write_word(w, "{\"record\":") &&
           (w->records->format == FORMAT_JSONL ? write_json(w, record, (size_t)(end - record))
                                               : write_string(w, record, (size_t)(end - record))) &&
           write_word(w, ",\"key\":") &&
           (verdict == VERDICT_KEYLESS ? write_word(w, "null")
                                       : write_key(w, b->key[i].data, b->key[i].size)) &&
           write_word(w, ",\"verdict\":\"") &&
           write_word(w, verdict == VERDICT_KEYLESS ? "keyless" : w->words[verdict]) &&
           (!names || (write_word(w, "\",\"filters\":[") && write_word(w, names))) &&
           write_word(w, names ? "]}\n" : "\"}\n");
}

/* Of all that pass, but malformed ones. */
static bool write_objects(struct writer *w, const struct batch *b)
{
    const char *next = b->tags;
    bool ok = true;

    for (uint32_t i = 0; i < b->n && ok; i++) {
        const char *names = next;

        next = next ? next + strlen(next) + 1 : NULL;
        if (b->verdict[i] == VERDICT_NONE || !(w->tags || passes(w, b->verdict[i])))
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
    if (w->mute)
        return count(w, b);
    if (w->objects)
        return write_objects(w, b);
    if (w->tags)
        return write_tagged(w, b);
    return b->used < (size_t)b->n * SHORT && b->used <= ROOM ? write_short(w, b)
                                                             : write_stretches(w, b);
}

bool write_sync(struct writer *w)
{
    if (!write_flush(w))
        return false;
    if (!w->mute && fsync(w->fd) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
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
