/* files.h - filters, sketches and screens in files. A state file begins with a
 * note of the tool's. */
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
    char note[NOTE_MAX];                 /* as it is in the file; empty if there is none */
    char keys[WEIR_KEY_DESCRIPTION_MAX]; /* how keys were made: see records_describe_keys() */
    bool has_state;                      /* the note is one of ours: */
    struct state state;
};

/* Are keys of this description those of the file? False after a message. */
bool file_same_keys(const struct stored *s, const char *path, const char *keys);

/* A description for a message: never empty. */
const char *file_shown_keys(const char *keys);

/* The note of a file that has no other, for file_save(): empty if there is nothing to describe. */
void file_describe_keys(char note[NOTE_MAX], const char *keys);

/* Load a file. False after a message on what was wrong. */
bool file_load(struct stored *s, const char *path);

/* The same to ask it only: of a file that is mapped, no more is read than is asked for,
 * and the cells are not checked. A file that is cut short meanwhile ends the run with a
 * message. Filters by time are loaded, as they age. */
bool file_view(struct stored *s, const char *path);

/* Ask a filter that is viewed. */
void answer_by_viewing(weir_filter *w, const struct weir_key *keys, size_t n, uint8_t *verdicts);

/* The error rate of a filter, viewed or not. Of a view all of it may be read. */
double file_error(const struct shards *shards);

/* One of many files that are viewed at once, each up to the end of the run. */
struct view {
    struct mapped file;
    const char *path;
};

bool file_view_one(struct stored *s, const char *path, struct view *v);
void view_ask(const struct view *v, const weir_filter *w, const struct weir_key *keys, size_t n,
              uint8_t *verdicts);

/* Does a file begin as those of weir do? If it cannot be read, no. */
bool file_is_ours(const char *path);

/* Check every byte of a file. False after a message. */
bool file_verify(const char *path);

/* Replace a file by these filters. note may be empty. */
bool file_save(const char *path, const char *note, const struct shards *shards);

/* Does a file hold a sketch? If it cannot be read, no. */
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
