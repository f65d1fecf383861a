/* state.c - see state.h. */
#include "state/state.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weir/hash.h>

#include "cli/inputs.h"
#include "cli/messages.h"
#include "cli/units.h"
#include "state/replace.h"

#define NOTE_HEAD "weir state 1\n"

/* Column names may contain line breaks; values in a note may not. */
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

static void write_sums(const struct state_sums *s, char *text, size_t size)
{
    int n = snprintf(text, size, "sums=%llu %llu %llu %llu %d %llu %llu %.17g %.17g",
                     (unsigned long long)s->runs, (unsigned long long)s->records,
                     (unsigned long long)s->passed, (unsigned long long)s->evicted_from, s->audited,
                     (unsigned long long)s->inputs, (unsigned long long)s->next_file,
                     s->false_positives, s->most_false_positives);

    for (int i = 0; i < STATE_OUTCOMES; i++)
        n += snprintf(text + n, size - (size_t)n, " %llu", (unsigned long long)s->rejected[i]);
}

void state_write(const struct state *s, char note[NOTE_MAX])
{
    const struct position *p = &s->position;
    const struct input_mark *m = &s->mark;
    char records[2 * sizeof s->records], clock[40] = "", rejects[160] = "", sums[512];

    escape(records, sizeof records, s->records);
    if (s->clock)
        snprintf(clock, sizeof clock, "clock=%llu\n", (unsigned long long)s->clock);
    snprintf(rejects, sizeof rejects,
             "rejects-used=%d\nrejects-cut=%d\nrejects=%llu\nrejects-end=%s\n", s->rejects.used,
             s->rejects.cut, (unsigned long long)s->rejects.length, s->rejects.written);
    write_sums(&s->sums, sums, sizeof sums);
    snprintf(note, NOTE_MAX,
             NOTE_HEAD "config=%s\nrecords=%s\nkeys=%s\nknown=%d\nfile=%u\noffset=%llu\nline=%llu\n"
                       "unfinished=%llu\ndevice=%llu\ninode=%llu\nfirst=%u\nhead=%s\nlast=%u\n"
                       "tail=%s\n%scut=%d\noutput=%llu\nwritten=%s\n%s%s\ninput=%s",
             s->config, records, s->keys, p->known, p->file, (unsigned long long)p->offset,
             (unsigned long long)p->line, (unsigned long long)p->unfinished,
             (unsigned long long)m->device, (unsigned long long)m->inode, m->head_size, m->head,
             m->tail_size, m->tail, clock, s->output.cut, (unsigned long long)s->output.length,
             s->output.written, rejects, sums, s->input);
}

/* The value of "name=" up to the end of the line. The last value, a file name, extends to the end
 * of the note because it may contain line breaks. */
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

static bool read_sums(const char *note, struct state_sums *s)
{
    char text[512], *at = text;
    uint64_t audited = 0;
    uint64_t *const whole[] = {&s->runs, &s->records, &s->passed,   &s->evicted_from,
                               &audited, &s->inputs,  &s->next_file};
    double *const real[] = {&s->false_positives, &s->most_false_positives};

    if (!note_text(note, "sums", text, sizeof text, false))
        return false;
    for (int i = 0; i < 7; i++)
        *whole[i] = strtoull(at, &at, 10);
    for (int i = 0; i < 2; i++)
        *real[i] = strtod(at, &at);
    for (int i = 0; i < STATE_OUTCOMES - 1; i++)
        s->rejected[i] = strtoull(at, &at, 10);
    char *last = at;
    s->rejected[STATE_OUTCOMES - 1] = strtoull(last, &at, 10);
    s->audited = audited;
    return at > last && *at == '\0' && isfinite(*real[0]) && isfinite(*real[1]);
}

static bool read_rejects(const char *note, struct state_output *s)
{
    uint64_t used, cut;

    if (!note_number(note, "rejects-used", &used) || !note_number(note, "rejects", &s->length) ||
        !note_number(note, "rejects-cut", &cut) ||
        !note_text(note, "rejects-end", s->written, sizeof s->written, false))
        return false;
    s->used = used;
    s->cut = cut;
    return true;
}

bool state_read(const char *note, struct state *s)
{
    uint64_t known, file, cut;

    memset(s, 0, sizeof *s);
    bool whole = strncmp(note, NOTE_HEAD, strlen(NOTE_HEAD)) == 0 &&
                 note_text(note, "config", s->config, sizeof s->config, false) &&
                 note_records(note, s) && note_text(note, "keys", s->keys, sizeof s->keys, false) &&
                 note_number(note, "known", &known) && note_number(note, "file", &file) &&
                 file <= UINT32_MAX && note_number(note, "offset", &s->position.offset) &&
                 note_number(note, "line", &s->position.line) && read_mark(note, s) &&
                 note_number(note, "cut", &cut) && note_number(note, "output", &s->output.length) &&
                 note_text(note, "written", s->output.written, sizeof s->output.written, false) &&
                 read_rejects(note, &s->rejects) && read_sums(note, &s->sums) &&
                 note_text(note, "input", s->input, sizeof s->input, true);

    if (!whole)
        return false;
    s->position.known = known;
    s->position.file = (uint32_t)file;
    s->output.used = true;
    s->output.cut = cut;
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
        return true;   /* a pipe cannot be read back */
    if (length == 0) { /* an empty file is identified by its name */
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

/* ---- comparing a state with the options ---- */

/* A log file here is a typing error, not a damaged state: say so. */
bool state_looks_right(const char *path)
{
    char head[4] = "";
    struct stat st;
    FILE *file = fopen(path, "rb");

    if (file && fstat(fileno(file), &st) == 0 && S_ISDIR(st.st_mode)) {
        fclose(file);
        return reject("%s: directory, not a state file; name a file", path);
    }
    bool ours = !file || (fread(head, 1, 4, file) == 4 && memcmp(head, "WEIR", 4) == 0);
    bool failed = file && ferror(file);
    int error = errno;

    if (file)
        fclose(file);
    if (failed)
        return reject("cannot read %s: %s", path, strerror(error));
    return ours ||
           reject("%s: not a state file; name another, or remove it to start from scratch", path);
}

bool state_same_output(const char *output, struct trace_hash hash, const struct state_output *s,
                       bool *same)
{
    char now[HASH_TEXT];

    if (!state_hash_end(hash, output, s->length, now))
        return reject("cannot resume in %s: %s", output, strerror(errno));
    *same = !*s->written || !*now || strcmp(now, s->written) == 0;
    return true;
}

bool state_same_records(const char *path, const char *records, const struct state *s)
{
    return strcmp(records, s->records) == 0 ||
           reject("%s was created with other keys (%s; now %s); name another, or remove this one "
                  "to start from scratch",
                  path, s->records, records);
}

/* ---- the state of a run with --at: the note, then one part with the commands in flight ---- */

static uint8_t *read_all(FILE *file, size_t *size)
{
    size_t room = 1 << 16, n;
    uint8_t *data = malloc(room);

    *size = 0;
    while (data && (n = fread(data + *size, 1, room - *size, file)) > 0) {
        *size += n;
        if (*size < room)
            continue;
        room *= 2;
        uint8_t *larger = realloc(data, room);
        if (!larger)
            free(data);
        data = larger;
    }
    return data;
}

uint8_t *read_whole_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = file ? read_all(file, size) : NULL;
    bool failed = data && ferror(file);

    if (!file || failed)
        fail("cannot read %s: %s", path, strerror(errno));
    else if (!data)
        fail("cannot read %s: out of memory", path);
    if (failed)
        free(data);
    if (file)
        fclose(file);
    return failed ? NULL : data;
}

#define PART_IN_FLIGHT 0x5780

struct remote_state {
    const char *note;
    const uint8_t *body;
    size_t size;
};

static enum weir_status write_remote_state(const void *what, weir_sink sink, void *into)
{
    const struct remote_state *c = what;
    enum weir_status status =
        weir_part_write(WEIR_PART_NOTE, c->note, strlen(c->note), sink, into, NULL);

    if (status == WEIR_OK)
        status = weir_part_write(PART_IN_FLIGHT, c->body, c->size, sink, into, NULL);
    return status;
}

bool state_save_remote(const char *path, const char *note, const struct in_flight *f)
{
    uint8_t *body = malloc(f->size + 1);
    bool saved;

    if (!body)
        return reject("cannot save %s: out of memory", path);
    body[0] = f->running;
    if (f->size)
        memcpy(body + 1, f->data, f->size);
    saved = replace_file(path, write_remote_state, &(struct remote_state){note, body, f->size + 1});
    free(body);
    return saved;
}

static bool load_note(const struct weir_part *part, struct state *s)
{
    static char note[NOTE_MAX];

    if (part->kind != WEIR_PART_NOTE || part->body_size >= sizeof note)
        return false;
    memcpy(note, part->body, part->body_size);
    note[part->body_size] = '\0';
    return state_read(note, s);
}

static bool load_in_flight(const struct weir_part *part, struct in_flight *f)
{
    const uint8_t *body = part->body;
    uint8_t *copy;

    if (part->kind != PART_IN_FLIGHT || part->body_size < 1)
        return false;
    copy = malloc(part->body_size);
    if (!copy)
        return false;
    memcpy(copy, body + 1, part->body_size - 1);
    *f = (struct in_flight){copy, part->body_size - 1, body[0]};
    return true;
}

bool state_load_remote(const char *path, struct state *s, struct in_flight *f)
{
    struct weir_part part;
    size_t size;
    uint8_t *data = read_whole_file(path, &size);

    if (!data)
        return false;
    bool good =
        weir_part_read(data, size, &part, sizeof part, NULL) == WEIR_OK && load_note(&part, s);
    size_t first = good ? part.size : 0;
    good = good &&
           weir_part_read(data + first, size - first, &part, sizeof part, NULL) == WEIR_OK &&
           load_in_flight(&part, f);
    free(data);
    return good ||
           reject("%s: not a state of a run with --at, or damaged; name another, or remove it to "
                  "start from scratch",
                  path);
}
