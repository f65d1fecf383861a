/* store.c - see store.h.
 *
 * Replacing: write NAME.tmp, fsync, rename over NAME, fsync the directory. A
 * crash leaves the old file or the new one, and at worst a NAME.tmp that the
 * next run overwrites. */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "claim.h"
#include "inputs.h"
#include "say.h"
#include "units.h"

/* ---- the note ---- */

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

static bool state_read(const char *note, struct state *s)
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

void state_tail(const struct shards *s, const char *file, uint64_t offset, char tail[40])
{
    char bytes[TAIL_BYTES];
    ssize_t n = input_before(file, offset, bytes, sizeof bytes);
    struct weir_key key;

    *tail = '\0';
    if (n < 0)
        return;
    key = weir_hash(s->w[0], bytes, (size_t)n);
    snprintf(tail, 40, "%016llx%016llx", (unsigned long long)key.hi, (unsigned long long)key.lo);
}

/* ---- loading ---- */

struct bytes {
    const uint8_t *data;
    size_t size;
};

static bool map_file(const char *path, struct bytes *out)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *data;

    if (fd < 0 || fstat(fd, &st) != 0) {
        fail("cannot open %s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return false;
    }
    if (S_ISDIR(st.st_mode) || st.st_size == 0) {
        close(fd);
        return fail("%s is %s, not a filter file; 'weir build -o F KEYS' makes one", path,
                    S_ISDIR(st.st_mode) ? "a directory" : "empty") == 0;
    }
    data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    *out = (struct bytes){data, (size_t)st.st_size};
    return data != MAP_FAILED || fail("cannot read %s: %s", path, strerror(errno)) == 0;
}

static bool take_note(struct stored *s, const struct weir_part *part)
{
    if (part->body_size >= sizeof s->note)
        return false;
    memcpy(s->note, part->body, part->body_size);
    s->note[part->body_size] = '\0';
    s->has_state = state_read(s->note, &s->state);
    return true;
}

static bool take_filter(struct stored *s, struct bytes at, struct weir_error *error)
{
    struct shards *shards = &s->shards;

    if (shards->count == SHARDS_MAX ||
        weir_load(&shards->w[shards->count], at.data, at.size, NULL, error) != WEIR_OK)
        return false;
    shards->count++;
    return true;
}

static bool take_parts(struct stored *s, struct bytes at, struct weir_error *error)
{
    struct weir_part part;

    for (; at.size > 0; at.data += part.size, at.size -= part.size) {
        if (weir_part_read(at.data, at.size, &part, error) != WEIR_OK)
            return false;
        if (part.kind == WEIR_PART_COUNTS || part.kind == WEIR_PART_TOP) {
            strcpy(error->text, "it holds counts, not a filter; 'weir count', 'weir top', "
                                "'weir merge' and 'weir info' take it");
            return false;
        }
        if (part.kind == WEIR_PART_NOTE ? !take_note(s, &part) : !take_filter(s, at, error))
            return false;
    }
    return s->shards.count > 0;
}

/* Shards of one filter have one configuration. */
static bool alike(struct shards *s)
{
    char other[CONFIG_MAX];

    weir_config(s->w[0], s->config, sizeof s->config);
    for (uint32_t i = 1; i < s->count; i++) {
        weir_config(s->w[i], other, sizeof other);
        if (strcmp(s->config, other) != 0)
            return false;
    }
    return true;
}

bool store_load(struct stored *s, const char *path)
{
    struct weir_error error = {.text = "its parts do not belong together"};
    struct bytes file = {0};
    bool good, like_ours;

    memset(s, 0, sizeof *s);
    if (!map_file(path, &file))
        return false;
    s->shards.w = calloc(SHARDS_MAX, sizeof *s->shards.w);
    like_ours = file.size >= 4 && memcmp(file.data, "WEIR", 4) == 0;
    good = s->shards.w && take_parts(s, file, &error) && alike(&s->shards);
    munmap((void *)(uintptr_t)file.data, file.size);
    if (!good && !like_ours)
        return fail("%s is not a filter file; 'weir build -o F %s' makes one from its lines, "
                    "'weir filter --keys %s' does so on the fly",
                    path, path, path) == 0;
    if (!good)
        return fail("%s: %s", path, error.text) == 0;
    if (s->has_state)
        snprintf(s->shards.config, sizeof s->shards.config, "%s", s->state.config);
    return true;
}

/* ---- sketches ---- */

bool store_has_sketch(const char *path)
{
    uint8_t head[8] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool whole = fd >= 0 && read(fd, head, sizeof head) == (ssize_t)sizeof head;

    if (fd >= 0)
        close(fd);
    return whole && memcmp(head, "WEIR", 4) == 0 &&
           (head[6] == WEIR_PART_COUNTS || head[6] == WEIR_PART_TOP) && head[7] == 0;
}

weir_sketch *store_load_sketch(const char *path)
{
    struct weir_error error;
    struct bytes file = {0};
    weir_sketch *s = NULL;
    size_t used = 0;

    if (!map_file(path, &file))
        return NULL;
    if (weir_sketch_load(&s, file.data, file.size, &used, &error) != WEIR_OK) {
        fail("%s: %s", path, error.text);
    } else if (used != file.size) {
        fail("%s holds more than one sketch; 'weir merge -o F A B' makes one of two", path);
        weir_sketch_close(s);
        s = NULL;
    }
    munmap((void *)(uintptr_t)file.data, file.size);
    return s;
}

/* ---- saving ---- */

struct sink {
    int fd, error;
    size_t used;
    uint8_t buffer[65536];
};

static bool drain(struct sink *s, const uint8_t *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(s->fd, data, size);

        if (n < 0 && errno != EINTR) {
            s->error = errno;
            return false;
        }
        data += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool into_file(void *context, const void *data, size_t size)
{
    struct sink *s = context;

    if (s->used + size > sizeof s->buffer) {
        if (!drain(s, s->buffer, s->used))
            return false;
        s->used = 0;
    }
    if (size > sizeof s->buffer)
        return drain(s, data, size);
    memcpy(s->buffer + s->used, data, size);
    s->used += size;
    return true;
}

/* What a file is to hold: a note and filters, or a sketch, or any text. */
struct contents {
    const char *text;
    size_t size;
    const char *note;
    const struct shards *shards;
    const weir_sketch *sketch;
};

static bool write_filters(struct sink *s, const struct contents *c)
{
    bool ok = !*c->note ||
              weir_part_write(WEIR_PART_NOTE, c->note, strlen(c->note), into_file, s) == WEIR_OK;

    for (uint32_t i = 0; i < c->shards->count && ok; i++)
        ok = weir_write(c->shards->w[i], into_file, s) == WEIR_OK;
    return ok;
}

static bool write_sketch(struct sink *s, const struct contents *c)
{
    enum weir_status status = weir_sketch_write(c->sketch, into_file, s);

    if (status == WEIR_NO_MEMORY)
        s->error = ENOMEM;
    return status == WEIR_OK;
}

static bool write_parts(struct sink *s, const struct contents *c)
{
    bool ok = c->text     ? into_file(s, c->text, c->size)
              : c->sketch ? write_sketch(s, c)
                          : write_filters(s, c);

    if (!ok || !drain(s, s->buffer, s->used))
        return false;
    if (fsync(s->fd) != 0 && errno != EINVAL)
        s->error = errno;
    return !s->error;
}

static void sync_directory(const char *path)
{
    char copy[PATH_MAX];
    int fd;

    snprintf(copy, sizeof copy, "%s", path);
    fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

static bool refuse(const char *path, const char *temporary, int error)
{
    if (temporary)
        unlink(temporary);
    return fail("cannot save %s: %s", path, strerror(error)) == 0;
}

/* Where a save goes. A link is followed, so that it stays one; what is neither
 * a file nor absent (a device, a pipe) is written to and not replaced. */
struct target {
    char path[PATH_MAX];
    char temporary[PATH_MAX];
    bool there, in_place;
    struct stat st;
};

static bool aim(struct target *t, const char *path)
{
    if (!realpath(path, t->path))
        snprintf(t->path, sizeof t->path, "%s", path);
    t->there = stat(path, &t->st) == 0;
    t->in_place = t->there && !S_ISREG(t->st.st_mode);
    if (t->in_place)
        snprintf(t->path, sizeof t->path, "%s", path);
    return snprintf(t->temporary, sizeof t->temporary, "%s.tmp", t->path) <
               (int)sizeof t->temporary ||
           refuse(path, NULL, ENAMETOOLONG);
}

/* The new file belongs to whom the old one did, and is as private. */
static void inherit(int fd, const struct target *t)
{
    if (!t->there || t->in_place)
        return;
    (void)!fchown(fd, t->st.st_uid, t->st.st_gid);
    (void)!fchmod(fd, t->st.st_mode & 0777);
}

bool store_writable(const char *path)
{
    static struct target t;
    char copy[PATH_MAX];

    if (!aim(&t, path))
        return false;
    if (t.there && S_ISDIR(t.st.st_mode))
        return refuse(path, NULL, EISDIR);
    snprintf(copy, sizeof copy, "%s", t.path);
    if (access(t.in_place ? path : dirname(copy), W_OK) != 0)
        return refuse(path, NULL, errno);
    return claim(path);
}

static bool replace(const char *path, const struct contents *contents)
{
    static struct sink s; /* one save at a time */
    static struct target t;
    const char *made = t.temporary;
    int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;

    if (!aim(&t, path) || !claim(path))
        return false;
    if (t.in_place)
        made = NULL;
    s.fd = open(made ? made : path, flags, 0666);
    if (s.fd < 0)
        return refuse(path, NULL, errno);
    s.error = 0;
    s.used = 0;
    inherit(s.fd, &t);
    bool ok = write_parts(&s, contents);
    if (!ok && !s.error)
        s.error = ENOMEM;
    if (close(s.fd) != 0 && ok)
        s.error = errno;
    if (s.error)
        return refuse(path, made, s.error);
    if (made && rename(made, t.path) != 0)
        return refuse(path, made, errno);
    if (made)
        sync_directory(t.path);
    return true;
}

bool store_save(const char *path, const char *note, const struct shards *shards)
{
    return replace(path, &(struct contents){.note = note, .shards = shards});
}

bool store_save_sketch(const char *path, const weir_sketch *s)
{
    return replace(path, &(struct contents){.sketch = s});
}

bool store_save_text(const char *path, const char *text, size_t size)
{
    return replace(path, &(struct contents){.text = text, .size = size});
}
