/* sets.h - filters that are sets: made once from keys, then asked. */
#ifndef WEIR_CMD_SETS_H
#define WEIR_CMD_SETS_H

#include "cmd/run.h"
#include "verdict/by_builder.h"
#include "verdict/by_filter.h"

#define DEFAULT_FOR_SETS "bloom" /* a set that forgets members is none */

/* Open a filter for the set of keys in some files. Where no other is asked for
 * it is the one that never forgets: a set that loses members is none. Where no
 * size is asked for, and the files can be read twice, it is one that fits them,
 * at one false positive in a thousand. False after a message. */
bool keyset_open(const struct options *o, struct inputs files, struct shards *s);

/* Is a filter asked for that is built whole? (--fixed, or by its name) */
bool keyset_is_fixed(const struct options *o);

/* Begin such a filter; it is closed by building_close() and shards_close(). False after a
 * message. */
bool keyset_begin(const struct options *o, struct building *b, struct shards *s);

/* Say once what it would have saved. */
void keyset_tell_fixed(const struct options *o, const struct shards *s);

/* The operand that names the filter file; NULL after a message. */
const char *keyset_file(const struct options *o);

/* Take that file to ask it only, in place unless statistics of all of it are asked for. False
 * after a message. */
struct stored;
bool keyset_load(const struct options *o, const char *path, struct stored *s);

/* Were its keys made as those of the options, or is that not to matter? False after a message. */
bool keyset_same_keys(const struct options *o, const char *path, const struct stored *s);

/* How it is asked then. */
answer_keys keyset_answer(const struct shards *s);

/* Show the keys of files to a filter file and save it again. */
int keyset_change(const struct options *o, answer_keys answer);

#endif
