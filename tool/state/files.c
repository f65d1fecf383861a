/* files.c - see files.h. */
#include "state/files.h"

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

#include "pipe/inputs.h"
#include "cli/messages.h"
#include "cli/units.h"

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
        return reject("%s is %s, not a filter file; 'weir build -o F KEYS' makes one", path,
                      S_ISDIR(st.st_mode) ? "a directory" : "empty");
    }
    data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    *out = (struct bytes){data, (size_t)st.st_size};
    return data != MAP_FAILED || reject("cannot read %s: %s", path, strerror(errno));
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
        if (part.kind == WEIR_PART_SCREEN) {
            strcpy(error->text, "it holds a screen, not a filter; 'weir check --state' and "
                                "'weir info' take it");
            return false;
        }
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

bool file_load(struct stored *s, const char *path)
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
        return reject("%s is not a filter file; 'weir build -o F %s' makes one from its lines, "
                      "'weir filter --keys %s' does so on the fly",
                      path, path, path);
    if (!good)
        return reject("%s: %s", path, error.text);
    if (s->has_state)
        snprintf(s->shards.config, sizeof s->shards.config, "%s", s->state.config);
    return true;
}

/* ---- sketches ---- */

bool file_has_sketch(const char *path)
{
    uint8_t head[8] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool whole = fd >= 0 && read(fd, head, sizeof head) == (ssize_t)sizeof head;

    if (fd >= 0)
        close(fd);
    return whole && memcmp(head, "WEIR", 4) == 0 &&
           (head[6] == WEIR_PART_COUNTS || head[6] == WEIR_PART_TOP) && head[7] == 0;
}

weir_sketch *file_load_sketch(const char *path)
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

/* ---- screens ---- */

/* The part after the note, if there is one. */
static bool is_screen(struct bytes at)
{
    struct weir_part part;

    return weir_part_read(at.data, at.size, &part, NULL) == WEIR_OK &&
           (part.kind == WEIR_PART_SCREEN ||
            (part.kind == WEIR_PART_NOTE &&
             weir_part_read(at.data + part.size, at.size - part.size, &part, NULL) == WEIR_OK &&
             part.kind == WEIR_PART_SCREEN));
}

bool file_has_screen(const char *path)
{
    struct stat st;
    struct bytes file;
    bool has;

    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0 || !map_file(path, &file))
        return false;
    has = is_screen(file);
    munmap((void *)(uintptr_t)file.data, file.size);
    return has;
}

static bool take_screen(struct stored_screen *s, struct bytes at, struct weir_error *error)
{
    static struct stored noted;
    struct weir_part part;
    size_t used;

    if (weir_part_read(at.data, at.size, &part, error) != WEIR_OK)
        return false;
    if (part.kind == WEIR_PART_NOTE) {
        s->has_state = take_note(&noted, &part) && noted.has_state;
        s->state = noted.state;
        at = (struct bytes){at.data + part.size, at.size - part.size};
    }
    return weir_screen_load(&s->screen, at.data, at.size, &used, error) == WEIR_OK &&
           used == at.size;
}

bool file_load_screen(struct stored_screen *s, const char *path)
{
    struct weir_error error = {.text = "it does not hold what 'weir check' saves"};
    struct bytes file = {0};
    bool good;

    memset(s, 0, sizeof *s);
    if (!map_file(path, &file))
        return false;
    good = take_screen(s, file, &error);
    munmap((void *)(uintptr_t)file.data, file.size);
    if (!good) {
        weir_screen_close(s->screen);
        s->screen = NULL;
    }
    return good || reject("%s: %s", path, error.text);
}

/* ---- saving ---- */

/* What a state file is to hold. */
struct contents {
    const char *note;
    const struct shards *shards;
    const weir_screen *screen;
};

static enum weir_status write_contents(const void *what, weir_sink sink, void *into)
{
    const struct contents *c = what;
    enum weir_status status =
        *c->note ? weir_part_write(WEIR_PART_NOTE, c->note, strlen(c->note), sink, into) : WEIR_OK;

    for (uint32_t i = 0; c->shards && i < c->shards->count && status == WEIR_OK; i++)
        status = weir_write(c->shards->w[i], sink, into);
    if (c->screen && status == WEIR_OK)
        status = weir_screen_write(c->screen, sink, into);
    return status;
}

static enum weir_status write_sketch(const void *what, weir_sink sink, void *into)
{
    return weir_sketch_write(what, sink, into);
}

bool file_save(const char *path, const char *note, const struct shards *shards)
{
    return replace_file(path, write_contents, &(struct contents){.note = note, .shards = shards});
}

bool file_save_screen(const char *path, const char *note, const weir_screen *s)
{
    return replace_file(path, write_contents, &(struct contents){.note = note, .screen = s});
}

bool file_save_sketch(const char *path, const weir_sketch *s)
{
    return replace_file(path, write_sketch, s);
}
