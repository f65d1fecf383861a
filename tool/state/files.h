/* files.h - load and save filters, sketches and screens. State files start with a note (state.h).
 */
#ifndef WEIR_STATE_FILES_H
#define WEIR_STATE_FILES_H

#include <weir/saved.h>
#include <weir/screen.h>
#include <weir/sketch.h>

#include "state/replace.h"
#include "state/shards.h"
#include "state/state.h"
#include "store/mapped.h"

struct stored {
    struct shards shards;
    char note[NOTE_MAX];                 /* of the file; empty if there is none */
    char keys[WEIR_KEY_DESCRIPTION_MAX]; /* how keys were made: see records_describe_keys() */
    bool has_state;                      /* the note is a state: */
    struct state state;
};

/* Do keys of this description match the file? False after a message. */
bool file_same_keys(const struct stored *s, const char *path, const char *keys);

/* The description for messages; never empty. */
const char *file_shown_keys(const char *keys);

/* The note for file_save() of a file without a state; empty if there is nothing to describe. */
void file_describe_keys(char note[NOTE_MAX], const char *keys);

/* Load a file. False after a message. */
bool file_load(struct stored *s, const char *path);

/* Map a file for lookups: only the required pages are read, and the cells are not verified. If the
 * file is truncated later, the run ends with a message. Filters by time are loaded, because they
 * age. */
bool file_view(struct stored *s, const char *path);

/* The error rate of a filter. May read the whole file of a view. */
double file_error(const struct shards *shards);

/* One of several views. */
struct view {
    struct mapped file;
    const char *path;
};

bool file_view_one(struct stored *s, const char *path, struct view *v);

/* Look up keys in a filter that is viewed. view: that of file_view_one(); NULL: of file_view(). */
void view_ask(const struct view *view, weir_shared *s, const struct weir_key *keys, size_t n,
              uint8_t *verdicts);

/* Is it a weir file? False if it cannot be read. */
bool file_is_ours(const char *path);

/* Check every byte of a file. False after a message. */
bool file_verify(const char *path);

/* Replace a file by these filters. note may be empty. */
bool file_save(const char *path, const char *note, const struct shards *shards);

/* Does a file contain a sketch? False if it cannot be read. */
bool file_has_sketch(const char *path);

/* A file of one sketch. NULL or false after a message. */
weir_sketch *file_load_sketch(const char *path);
bool file_save_sketch(const char *path, const weir_sketch *s);

/* A screen and the state of weir check. */
struct stored_screen {
    weir_screen *screen;
    bool has_state;
    struct state state;
};

bool file_has_screen(const char *path);
bool file_load_screen(struct stored_screen *s, const char *path);
bool file_save_screen(const char *path, const char *note, const weir_screen *s);

#endif
