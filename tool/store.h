/* store.h - filters in files: a note of the tool's (in state files), then one
 * part per shard. */
#ifndef WEIR_STORE_H
#define WEIR_STORE_H

#include <weir/sketch.h>

#include "read.h"
#include "shards.h"

#define NOTE_MAX 8192

/* What a state file says beside the filters. */
struct state {
    char config[CONFIG_MAX];  /* of the whole, as shards_open() made it */
    char records[1024];       /* how keys are made, as options_describe_records() has it */
    struct position position; /* of the first record not in the filters */
    char tail[40];            /* hash of the bytes before it */
    bool cut;                 /* the output is a file, and was so long: */
    uint64_t output;
    char input[4096]; /* name of the file of position */
};

struct stored {
    struct shards shards;
    char note[NOTE_MAX]; /* as it is in the file; empty if there is none */
    bool has_state;      /* the note is one of ours: */
    struct state state;
};

/* Load a file. False after a sentence on what was wrong. */
bool store_load(struct stored *s, const char *path);

/* Can a file be saved here, and by us alone? Asked before the work, not after it.
 * False after a sentence on why not. */
bool store_writable(const char *path);

/* Replace a file by these filters; at every moment it is complete, the old or
 * the new. It keeps owner and mode. A device or pipe is written to instead.
 * note may be empty. */
bool store_save(const char *path, const char *note, const struct shards *shards);

/* Does a file hold a sketch? If it cannot be read, no. */
bool store_has_sketch(const char *path);

/* A file of one sketch. NULL or false after a sentence. */
weir_sketch *store_load_sketch(const char *path);
bool store_save_sketch(const char *path, const weir_sketch *s);

/* Any file. */
bool store_save_text(const char *path, const char *text, size_t size);

void state_write(const struct state *s, char note[NOTE_MAX]);

/* A hash of the bytes before a position, as text; empty if unreadable. */
void state_tail(const struct shards *s, const char *file, uint64_t offset, char tail[40]);

#endif
