/* files.c - see files.h. */
#include "state/files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/inputs.h"
#include "store/magic.h"

/* ---- loading ---- */

struct bytes {
    const uint8_t *data;
    size_t size;
};

/* Files are mapped while they are loaded, so their bytes are in memory once. */
struct file_loading {
    struct bytes file;
    bool view; /* keep the cells in the mapping */
    bool good;
    struct weir_error error;
    struct stored *filters;
    struct stored_screen *screen;
    weir_sketch *sketch;
};

static const char changed[] = "%s: changed while it was read; try again";

static bool open_mapped(struct mapped *m, const char *path)
{
    struct stat st;
    const char *why;

    if (stat(path, &st) == 0 && (S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && st.st_size == 0)))
        return reject("%s: %s, not a filter file; 'weir build -o F KEYS' builds one", path,
                      S_ISDIR(st.st_mode) ? "directory" : "empty");
    why = mapped_open(m, path);
    return !why || reject("cannot open %s: %s", path, why);
}

/* Call load() with the bytes of the file. False after a message if it cannot be read, or if it
 * changed meanwhile; the result is then leaked, as the run ends. */
static bool load_mapped(struct file_loading *l, const char *path, void (*load)(void *loading),
                        struct mapped *m)
{
    l->good = false;
    if (!open_mapped(m, path))
        return false;
    l->file = (struct bytes){(const uint8_t *)m->data, m->size};
    if (l->view && m->size > 0) /* no read-ahead */
        posix_madvise(m->data, m->size, POSIX_MADV_RANDOM);
    if (m->size > 0)
        load(l);
    return (m->size > 0 && mapped_is_unchanged(m)) || reject(changed, path);
}

static bool load_file(struct file_loading *l, const char *path, void (*load)(void *loading))
{
    struct mapped m = {.fd = -1};
    bool unchanged = load_mapped(l, path, load, &m);

    mapped_close(&m);
    return unchanged;
}

static bool is_known(uint32_t kind)
{
    return kind >= WEIR_PART_FILTER && kind <= WEIR_PART_SCREEN;
}

static void step_over(struct bytes *at, size_t size)
{
    *at = (struct bytes){at->data + size, at->size - size};
}

/* The next part of a known kind; others are skipped. Does not read its cells. False at the end, and
 * with an error if the data is damaged. */
static bool next_part(struct bytes *at, struct weir_part *part, struct weir_error *error)
{
    while (at->size > 0) {
        if (weir_part_head(at->data, at->size, part, sizeof *part, error) != WEIR_OK)
            return false;
        if (is_known(part->kind))
            return true;
        if (weir_part_read(at->data, at->size, part, sizeof *part, error) != WEIR_OK)
            return false;
        step_over(at, part->size);
    }
    return false;
}

static bool take_note(struct stored *s, struct bytes at, struct weir_part *part,
                      struct weir_error *error)
{
    if (weir_part_read(at.data, at.size, part, sizeof *part, error) != WEIR_OK ||
        part->body_size >= sizeof s->note)
        return false;
    memcpy(s->note, part->body, part->body_size);
    s->note[part->body_size] = '\0';
    s->has_state = state_read(s->note, &s->state);
    return true;
}

/* Load all shards; *size becomes their total size. */
static bool take_filter(struct file_loading *l, struct bytes at, size_t *size)
{
    struct shards *shards = &l->filters->shards;

    if (shards->count > 0) {
        strcpy(l->error.text,
               "contains more than one filter; merge filters with 'weir merge -o F A B'");
        return false;
    }
    shards->viewed = l->view;
    return (l->view ? weir_view_shards : weir_load_shards)(shards->w, SHARDS_MAX, &shards->count,
                                                           at.data, at.size, size, NULL,
                                                           &l->error) == WEIR_OK &&
           shards_join(shards, &l->error) == WEIR_OK;
}

static bool take_part(struct file_loading *l, struct bytes at, struct weir_part *part)
{
    if (part->kind == WEIR_PART_NOTE)
        return take_note(l->filters, at, part, &l->error);
    if (part->kind == WEIR_PART_FILTER)
        return take_filter(l, at, &part->size);
    strcpy(l->error.text,
           part->kind == WEIR_PART_SCREEN
               ? "contains a screen, not a filter; use it with 'weir check --state' or "
                 "'weir info'"
               : "contains counts, not a filter; use it with 'weir count', 'weir top', "
                 "'weir merge' or 'weir info'");
    return false;
}

static void take_parts(void *loading)
{
    struct file_loading *l = loading;
    struct bytes at = l->file;
    struct weir_part part;
    bool good = true;

    weir_saved_key_description(at.data, at.size, l->filters->keys, sizeof l->filters->keys);
    while (good && next_part(&at, &part, &l->error)) {
        good = take_part(l, at, &part);
        if (good)
            step_over(&at, part.size);
    }
    l->good = good && at.size == 0 && l->filters->shards.count > 0;
    if (good && at.size == 0 && !l->good && l->filters->has_state)
        strcpy(l->error.text,
               strncmp(l->filters->state.config, "near ", 5) == 0
                   ? "contains texts, not a filter; continue with 'weir dedup --near'"
                   : "state of a run with --at; the filter is in its servers: use 'weir info --at "
                     "URL'");
}

static enum file_kind file_kind_of(const char *path)
{
    enum file_kind kind = KIND_RECORDS;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool known = fd >= 0 && magic_of_file(fd, &kind);

    if (fd >= 0)
        close(fd);
    return known ? kind : KIND_RECORDS;
}

bool file_is_ours(const char *path)
{
    return file_kind_of(path) == KIND_WEIR;
}

static bool begin_load(struct file_loading *l, struct stored *s)
{
    memset(s, 0, sizeof *s);
    *l = (struct file_loading){.filters = s, .error = {.text = "damaged: its parts do not match"}};
    s->shards.w = calloc(SHARDS_MAX, sizeof *s->shards.w);
    return s->shards.w || reject("out of memory");
}

/* Report the result of loading. */
static bool finish_load(const struct file_loading *l, const char *path)
{
    struct stored *s = l->filters;

    if (!l->good && file_kind_of(path) == KIND_SQLITE)
        return reject("%s is a SQLite database, not a filter file; weir check --store "
                      "'sqlite:%s?table=T&column=C' asks it",
                      path, path);
    if (!l->good && !file_is_ours(path))
        return reject("%s is not a filter file; 'weir build -o F %s' makes one from its lines, "
                      "'weir filter --keys %s' uses its lines directly",
                      path, path, path);
    if (!l->good)
        return reject("%s: %s", path, l->error.text);
    weir_config(s->shards.w[0], s->shards.config, sizeof s->shards.config);
    if (s->has_state)
        snprintf(s->shards.config, sizeof s->shards.config, "%s", s->state.config);
    return true;
}

bool file_load(struct stored *s, const char *path)
{
    struct file_loading l;

    return begin_load(&l, s) && load_file(&l, path, take_parts) && finish_load(&l, path);
}

/* ---- how keys were made ---- */

const char *file_shown_keys(const char *keys)
{
    return *keys ? keys : "no key options";
}

bool file_same_keys(const struct stored *s, const char *path, const char *keys)
{
    return strcmp(s->keys, keys) == 0 ||
           reject("%s: its keys were made with %s, now with %s; give the same options, or build it "
                  "again (--keys-differ uses it as it is)",
                  path, file_shown_keys(s->keys), file_shown_keys(keys));
}

void file_describe_keys(char note[NOTE_MAX], const char *keys)
{
    snprintf(note, NOTE_MAX, *keys ? WEIR_KEYS_NOTE "%s" : "%s", keys);
}

/* ---- views: filters in mapped files ---- */

/* The single view of a run, mapped until its end. */
static struct view viewed;

static bool ages(const char *config)
{
    uint64_t traits = 0;

    weir_spec_traits(WEIR_KIND_FILTER, config, &traits, NULL);
    return traits & WEIR_CAN_TIME;
}

bool file_view_one(struct stored *s, const char *path, struct view *v)
{
    struct file_loading l;

    if (!begin_load(&l, s))
        return false;
    l.view = true;
    v->path = path;
    if (!load_mapped(&l, path, take_parts, &v->file) || !finish_load(&l, path))
        return false;
    if (!ages(s->shards.config))
        return true;
    shards_close(&s->shards);
    mapped_close(&v->file);
    return file_load(s, path);
}

bool file_view(struct stored *s, const char *path)
{
    return file_view_one(s, path, &viewed);
}

/* If the file has changed, end the process here: no thread can get an answer, and locks may be
 * held. */
void view_ask(const struct view *view, weir_shared *s, const struct weir_key *keys, size_t n,
              uint8_t *verdicts)
{
    const struct view *v = view ? view : &viewed;

    weir_shared_ask_many(s, keys, n, verdicts);
    if (mapped_is_unchanged(&v->file))
        return;
    fail(changed, v->path);
    _exit(EXIT_ERROR);
}

double file_error(const struct shards *shards)
{
    double error = shards_stats(shards).error;

    return shards->viewed && !mapped_is_unchanged(&viewed.file) ? 1 : error;
}

static void verify(void *loading)
{
    struct file_loading *l = loading;

    l->good = weir_verify(l->file.data, l->file.size, &l->error) == WEIR_OK;
}

bool file_verify(const char *path)
{
    struct file_loading l = {.good = false};

    return load_file(&l, path, verify) && (l.good || reject("%s: %s", path, l.error.text));
}

/* ---- types of files ---- */

/* The kind of the first part that is not a note; 0 if there is none. Reads only the headers. */
static uint32_t kind_of(const char *path)
{
    uint8_t head[16];
    uint64_t at = 0, size = 1;
    uint32_t kind = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    while (fd >= 0 && size > 0 && read_at(fd, head, sizeof head, at) == (ssize_t)sizeof head &&
           memcmp(head, "WEIR", 4) == 0) {
        kind = head[6] | (uint32_t)head[7] << 8;
        if (is_known(kind) && kind != WEIR_PART_NOTE)
            break;
        kind = 0;
        size = 0;
        for (int i = 0; i < 8; i++)
            size += (uint64_t)head[8 + i] << (8 * i);
        at += size;
    }
    if (fd >= 0)
        close(fd);
    return kind;
}

bool file_has_sketch(const char *path)
{
    uint32_t kind = kind_of(path);

    return kind == WEIR_PART_COUNTS || kind == WEIR_PART_TOP;
}

bool file_has_screen(const char *path)
{
    return kind_of(path) == WEIR_PART_SCREEN;
}

/* ---- sketches ---- */

static void take_sketch(void *loading)
{
    struct file_loading *l = loading;
    struct bytes at = l->file;
    struct weir_part part;

    if (!next_part(&at, &part, &l->error) ||
        weir_sketch_load_buffer(&l->sketch, at.data, at.size, NULL, NULL, &l->error) != WEIR_OK)
        return;
    step_over(&at, part.size);
    strcpy(l->error.text,
           "contains more than one sketch; merge sketches with 'weir merge -o F A B'");
    l->good = !next_part(&at, &part, &l->error) && at.size == 0;
}

weir_sketch *file_load_sketch(const char *path)
{
    struct file_loading l = {.error = {.text = "contains no sketch"}};

    if (!load_file(&l, path, take_sketch))
        return NULL;
    if (l.good)
        return l.sketch;
    fail("%s: %s", path, l.error.text);
    weir_sketch_close(l.sketch);
    return NULL;
}

/* ---- screens ---- */

static void take_screen(void *loading)
{
    static struct stored noted;
    struct file_loading *l = loading;
    struct bytes at = l->file;
    struct weir_part part;

    if (!next_part(&at, &part, &l->error))
        return;
    if (part.kind == WEIR_PART_NOTE) {
        if (!take_note(&noted, at, &part, &l->error))
            return;
        l->screen->has_state = noted.has_state;
        l->screen->state = noted.state;
        step_over(&at, part.size);
    }
    if (!next_part(&at, &part, &l->error) ||
        weir_screen_load_buffer(&l->screen->screen, at.data, at.size, NULL, NULL, &l->error) !=
            WEIR_OK)
        return;
    step_over(&at, part.size);
    l->good = !next_part(&at, &part, &l->error) && at.size == 0;
}

bool file_load_screen(struct stored_screen *s, const char *path)
{
    struct file_loading l = {.screen = s, .error = {.text = "not a state of 'weir check'"}};

    memset(s, 0, sizeof *s);
    if (!load_file(&l, path, take_screen))
        return false;
    if (l.good)
        return true;
    weir_screen_close(s->screen);
    s->screen = NULL;
    return reject("%s: %s", path, l.error.text);
}

/* ---- saving ---- */

struct contents {
    const char *note;
    const struct shards *shards;
    const weir_screen *screen;
};

static enum weir_status write_contents(const void *what, weir_sink sink, void *into)
{
    const struct contents *c = what;
    enum weir_status status =
        *c->note ? weir_part_write(WEIR_PART_NOTE, c->note, strlen(c->note), sink, into, NULL)
                 : WEIR_OK;

    if (c->shards && status == WEIR_OK)
        status = weir_shared_save_stream(c->shards->shared, sink, into, NULL);
    if (c->screen && status == WEIR_OK)
        status = weir_screen_save_stream(c->screen, sink, into, NULL);
    return status;
}

static enum weir_status write_sketch(const void *what, weir_sink sink, void *into)
{
    return weir_sketch_save_stream(what, sink, into, NULL);
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
