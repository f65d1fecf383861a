/* state.c - see state.h. */
#include "state/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weir/hash.h>

#include "cli/messages.h"
#include "cli/read_at.h"
#include "cli/units.h"

#define NOTE_HEAD "weir state 1\n"

/* Column names may hold line breaks; the lines of a note may not. */
static void escape(char *out, size_t size, const char *text)
{
    size_t n = 0;

    for (; *text && n + 3 < size; text++) {
        bool special = *text == '\n' || *text == '\\';

        if (special)
            out[n++] = '\\';
        out[n++] = (char)(*text == '\n' ? 'n' : *text);
    }
    out[n] = '\0';
}

void state_write(const struct state *s, char note[NOTE_MAX])
{
    char records[2 * sizeof s->records];

    const struct position *p = &s->position;
    const struct input_mark *m = &s->mark;

    char clock[40] = "";

    escape(records, sizeof records, s->records);
    if (s->clock)
        snprintf(clock, sizeof clock, "clock=%llu\n", (unsigned long long)s->clock);
    snprintf(note, NOTE_MAX,
             NOTE_HEAD "config=%s\nrecords=%s\nkeys=%s\nknown=%d\nfile=%u\noffset=%llu\nline=%llu\n"
                       "unfinished=%llu\ndevice=%llu\ninode=%llu\nfirst=%u\nhead=%s\nlast=%u\n"
                       "tail=%s\n%scut=%d\noutput=%llu\nwritten=%s\ninput=%s",
             s->config, records, s->keys, p->known, p->file, (unsigned long long)p->offset,
             (unsigned long long)p->line, (unsigned long long)p->unfinished,
             (unsigned long long)m->device, (unsigned long long)m->inode, m->head_size, m->head,
             m->tail_size, m->tail, clock, s->cut, (unsigned long long)s->output, s->written,
             s->input);
}

/* The value behind "name=" up to the end of the line; the last goes to the end
 * of the note, since file names may hold line breaks. */
static bool note_text(const char *note, const char *name, char *out, size_t size, bool last)
{
    char mark[16];
    const char *at;
    size_t n;

    snprintf(mark, sizeof mark, "\n%s=", name);
    at = strstr(note, mark);
    if (!at)
        return false;
    at += strlen(mark);
    n = last ? strlen(at) : strcspn(at, "\n");
    if (n >= size)
        return false;
    memcpy(out, at, n);
    out[n] = '\0';
    return true;
}

static void unescape(char *text)
{
    char *out = text;

    for (; *text; text++) {
        bool special = *text == '\\' && (text[1] == 'n' || text[1] == '\\');

        text += special;
        *out++ = (char)(special && *text == 'n' ? '\n' : *text);
    }
    *out = '\0';
}

/* What was escaped may be twice as long as what it stands for. */
static bool note_records(const char *note, struct state *s)
{
    char text[2 * sizeof s->records];

    if (!note_text(note, "records", text, sizeof text, false))
        return false;
    unescape(text);
    return snprintf(s->records, sizeof s->records, "%s", text) < (int)sizeof s->records;
}

static bool note_number(const char *note, const char *name, uint64_t *out)
{
    char text[24];

    return note_text(note, name, text, sizeof text, false) && read_whole(text, out);
}

static bool read_mark(const char *note, struct state *s)
{
    struct input_mark *m = &s->mark;
    uint64_t first, last;

    if (!note_text(note, "tail", m->tail, sizeof m->tail, false) ||
        !note_text(note, "head", m->head, sizeof m->head, false) ||
        !note_number(note, "unfinished", &s->position.unfinished) ||
        !note_number(note, "device", &m->device) || !note_number(note, "inode", &m->inode) ||
        !note_number(note, "first", &first) || !note_number(note, "last", &last) ||
        first > TRACE_BYTES || last > TRACE_BYTES)
        return false;
    m->head_size = (uint32_t)first;
    m->tail_size = (uint32_t)last;
    return true;
}

bool state_read(const char *note, struct state *s)
{
    uint64_t known, file, cut;

    memset(s, 0, sizeof *s);
    bool whole = strncmp(note, NOTE_HEAD, strlen(NOTE_HEAD)) == 0 &&
                 note_text(note, "config", s->config, sizeof s->config, false) &&
                 note_records(note, s) && strstr(note, "\nkeys=") &&
                 note_number(note, "known", &known) && note_number(note, "file", &file) &&
                 file <= UINT32_MAX && note_number(note, "offset", &s->position.offset) &&
                 note_number(note, "line", &s->position.line) && read_mark(note, s) &&
                 note_number(note, "cut", &cut) && note_number(note, "output", &s->output) &&
                 note_text(note, "written", s->written, sizeof s->written, false) &&
                 note_text(note, "input", s->input, sizeof s->input, true);

    if (!whole)
        return false;
    s->position.known = known;
    s->position.file = (uint32_t)file;
    s->cut = cut;
    if (!note_number(note, "clock", &s->clock))
        s->clock = 0;
    return true;
}

void state_hash(struct trace_hash hash, const char *bytes, size_t size, char text[HASH_TEXT])
{
    struct weir_key key = weir_hash_bytes(hash.kind, hash.seed, bytes, size);

    snprintf(text, HASH_TEXT, "%016llx%016llx", (unsigned long long)key.hi,
             (unsigned long long)key.lo);
}

bool state_hash_end(struct trace_hash hash, const char *path, uint64_t length, char text[HASH_TEXT])
{
    char bytes[TRACE_BYTES];
    size_t size = length < sizeof bytes ? (size_t)length : sizeof bytes;
    struct stat st;

    *text = '\0';
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return true;   /* what went into a pipe has no end to look at */
    if (length == 0) { /* any file begins with nothing: an empty one is known by its name */
        state_hash(hash, path, strlen(path), text);
        return true;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = fd >= 0 ? read_at(fd, bytes, size, length - size) : -1;
    bool hidden = fd < 0 && (errno == EACCES || errno == ENOENT);

    if (n == (ssize_t)size)
        state_hash(hash, bytes, size, text);
    if (fd >= 0)
        close(fd);
    return n >= 0 || hidden;
}

void state_set_input(struct state *s, struct trace_hash hash, const char *name,
                     const struct position *p)
{
    const struct trace *t = &p->trace;

    s->position = *p;
    if (!p->known)
        return;
    snprintf(s->input, sizeof s->input, "%s", name);
    s->mark = (struct input_mark){t->device, t->inode, t->head_size, t->tail_size, "", ""};
    state_hash(hash, t->head, t->head_size, s->mark.head);
    state_hash(hash, t->tail, t->tail_size, s->mark.tail);
}

/* ---- does it go with what is asked for? ---- */

/* An empty file, a log: more likely a slip than a damaged state. */
bool state_looks_right(const char *path)
{
    char head[4] = "";
    struct stat st;
    FILE *file = fopen(path, "rb");

    if (file && fstat(fileno(file), &st) == 0 && S_ISDIR(st.st_mode)) {
        fclose(file);
        return reject("%s is a directory, not a state file", path);
    }
    bool ours = !file || (fread(head, 1, 4, file) == 4 && memcmp(head, "WEIR", 4) == 0);
    bool failed = file && ferror(file);
    int error = errno;

    if (file)
        fclose(file);
    if (failed)
        return reject("cannot read %s: %s", path, strerror(error));
    return ours || reject("%s is not a state file; name another, or remove it to start anew", path);
}

bool state_same_output(const char *output, struct trace_hash hash, const struct state *s,
                       bool *same)
{
    char now[HASH_TEXT];

    if (!state_hash_end(hash, output, s->output, now))
        return reject("cannot resume in %s: %s", output, strerror(errno));
    *same = !*s->written || !*now || strcmp(now, s->written) == 0;
    return true;
}

bool state_same_records(const char *path, const char *records, const struct state *s)
{
    return strcmp(records, s->records) == 0 ||
           reject("%s was saved with other keys (%s, now %s); give the same record options, or "
                  "remove the file to start anew",
                  path, s->records, records);
}
