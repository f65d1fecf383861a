/* sets.h - filters as sets: built once from keys, then looked up. */
#ifndef WEIR_CMD_SETS_H
#define WEIR_CMD_SETS_H

#include "cmd/run.h"
#include "verdict/by_filter.h"

#define DEFAULT_FOR_SETS "bloom" /* it evicts no key */

/* Is a fixed filter requested, by --fixed or its name? */
bool keyset_is_fixed(const struct options *o);

/* Build a filter from the keys of a run, and save it if the run does: a fixed one, or
 * DEFAULT_FOR_SETS unless another is requested. Without a size, and if the files can be read twice,
 * that gets the size for these keys at a false-positive rate of 0.1 %. prefixes: those of a set of
 * networks, or NULL. False after a message. */
bool keyset_build(const struct options *o, struct run *r, bool fixed, struct shards *shards,
                  struct prefix_lengths *prefixes);

/* Print a note on what a fixed filter would have saved. */
void keyset_tell_fixed(const struct options *o, const struct shards *s);

/* The operand that names the filter file; NULL after a message. */
const char *keyset_file(const struct options *o);

/* Open that file for lookups: mapped, unless statistics require all of it. A set of networks sets
 * --cidr and its prefix lengths. False after a message. */
struct stored;
bool keyset_load(struct options *o, const char *path, struct stored *s,
                 struct prefix_lengths *prefixes);

/* Add the keys of files to a filter file, or remove them from it, and save it again. */
int keyset_change(struct options *o, enum weir_shared_operation operation);

#endif
