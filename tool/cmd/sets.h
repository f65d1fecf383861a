/* sets.h - filters as sets: built once from keys, then looked up. */
#ifndef WEIR_CMD_SETS_H
#define WEIR_CMD_SETS_H

#include "cmd/run.h"
#include "verdict/by_filter.h"

#define DEFAULT_FOR_SETS "bloom" /* it evicts no key */

/* Open a filter for the set of keys in some files: DEFAULT_FOR_SETS unless another is requested.
 * Without a size, and if the files can be read twice, it gets the size for these keys at a
 * false-positive rate of 0.1 %. Returns false after a message. */
bool keyset_open(const struct options *o, struct inputs files, struct shards *s);

/* Is a fixed filter requested, by --fixed or its name? */
bool keyset_is_fixed(const struct options *o);

/* Begin such a filter; it is closed by building_close() and shards_close(). False after a
 * message. */
bool keyset_begin(const struct options *o, struct building *b, struct shards *s);

/* Print a note on what a fixed filter would have saved. */
void keyset_tell_fixed(const struct options *o, const struct shards *s);

/* The operand that names the filter file; NULL after a message. */
const char *keyset_file(const struct options *o);

/* Open that file for lookups: mapped, unless statistics require all of it. A set of networks sets
 * --cidr and its prefix lengths. False after a message. */
struct stored;
bool keyset_load(struct options *o, const char *path, struct stored *s,
                 struct prefix_lengths *prefixes);

/* Are its keys made like those of the options, or is --keys-differ given? False after a message. */
bool keyset_same_keys(const struct options *o, const char *path, const struct stored *s);

/* Add the keys of files to a filter file, or remove them from it, and save it again. */
int keyset_change(const struct options *given, enum weir_shared_operation operation);

#endif
