/* state.c - see state.h. */
#include "state/state.h"

#include <stdio.h>
#include <string.h>

#include "pipe/inputs.h"
#include "cli/messages.h"
#include "cli/units.h"

#define NOTE_HEAD "weir state 1\n"
#define TAIL_BYTES 64

void state_write(const struct state *s, char note[NOTE_MAX])
{
    snprintf(note, NOTE_MAX,
             NOTE_HEAD "config=%s\nrecords=%s\nknown=%d\nfile=%u\noffset=%llu\nline=%llu\ntail=%s\n"
                       "cut=%d\noutput=%llu\ninput=%s",
             s->config, s->records, s->position.known, s->position.file,
             (unsigned long long)s->position.offset, (unsigned long long)s->position.line, s->tail,
             s->cut, (unsigned long long)s->output, s->input);
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

static bool note_number(const char *note, const char *name, uint64_t *out)
{
    char text[24];

    return note_text(note, name, text, sizeof text, false) && read_whole(text, out);
}

bool state_read(const char *note, struct state *s)
{
    uint64_t known, file, cut;
    bool whole = strncmp(note, NOTE_HEAD, strlen(NOTE_HEAD)) == 0 &&
                 note_text(note, "config", s->config, sizeof s->config, false) &&
                 note_text(note, "records", s->records, sizeof s->records, false) &&
                 note_number(note, "known", &known) && note_number(note, "file", &file) &&
                 note_number(note, "offset", &s->position.offset) &&
                 note_number(note, "line", &s->position.line) &&
                 note_text(note, "tail", s->tail, sizeof s->tail, false) &&
                 note_number(note, "cut", &cut) && note_number(note, "output", &s->output) &&
                 note_text(note, "input", s->input, sizeof s->input, true);

    if (!whole)
        return false;
    s->position.known = known;
    s->position.file = (uint32_t)file;
    s->cut = cut;
    return true;
}

void state_tail(const weir *hasher, const char *file, uint64_t offset, char tail[40])
{
    char bytes[TAIL_BYTES];
    ssize_t n = input_before(file, offset, bytes, sizeof bytes);
    struct weir_key key;

    *tail = '\0';
    if (n < 0)
        return;
    key = weir_hash(hasher, bytes, (size_t)n);
    snprintf(tail, 40, "%016llx%016llx", (unsigned long long)key.hi, (unsigned long long)key.lo);
}

/* ---- does it go with what is asked for? ---- */

/* An empty file, a log: more likely a slip than a damaged state. */
bool state_looks_right(const char *path)
{
    char head[4] = "";
    FILE *file = fopen(path, "rb");
    bool ours = !file || (fread(head, 1, 4, file) == 4 && memcmp(head, "WEIR", 4) == 0);

    if (file)
        fclose(file);
    return ours || reject("%s is not a state file; name another, or remove it to start anew", path);
}

bool state_same_records(const char *path, const char *records, const struct state *s)
{
    return strcmp(records, s->records) == 0 ||
           reject("%s was saved with other keys (%s, now %s); give the same record options, or "
                  "remove the file to start anew",
                  path, s->records, records);
}
