/* value.h - what a key of ours holds, and what each family of commands says of its own.
 *
 * A value is written and read as an image: a sequence of parts of weir's file format
 * (docs/format.md). RDB, AOF, WEIR.SAVE, BF.SCANDUMP and DEBUG DIGEST all take it from
 * there, so that there is one way to write a value and one to read it. */
#ifndef MODULE_VALUE_H
#define MODULE_VALUE_H

#include <stdbool.h>
#include <weir.h>

#include "server/abi.h"

struct image_in;

/* What every value begins with. */
struct value {
    const struct family *family;
    uint64_t changes; /* by which a transfer in chunks knows that it was interrupted */
};

struct family {
    const char *type; /* its name as TYPE tells it: nine characters */

    /* The image, through a sink; false if that refused. */
    bool (*write)(const struct value *v, weir_sink sink, void *context);

    /* Up to the end of the image; NULL with a message. */
    struct value *(*read)(struct image_in *in, struct weir_error *error);

    struct value *(*copy)(const struct value *v); /* NULL: no memory */
    void (*free)(struct value *v);
    size_t (*memory)(const struct value *v);
    size_t (*blocks)(const struct value *v); /* allocations that freeing it gives back */
    void (*move)(struct value *v, struct rm_defrag *ctx); /* small blocks; or NULL */

    /* How an AOF makes a value that is not complete; or NULL, for WEIR.LOAD. */
    void (*rewrite)(const struct value *v, struct rm_io *io, struct rm_string *key);
};

/* In the order of value_types. */
extern const struct family family_filter, family_bloom, family_cuckoo, family_counts, family_top,
    family_loading;

/* A name for each part of an image that is ours alone; readers of files step over them. */
enum {
    PART_ONCE = 0x5701,   /* answers given to producers, see once.h */
    PART_BLOOM = 0x5702,  /* head of a chain, see chain.h */
    PART_TOP = 0x5703,    /* heap of the keys that are kept, see heap.h */
    PART_COUNTS = 0x5704, /* a count-min sketch of CMS.* follows */
    PART_CUCKOO = 0x5705  /* head of a chain of CF.* */
};

/* Make the types known to the server: RM_OK or RM_ERR. */
int types_create(struct rm_ctx *ctx);

struct rm_type *type_of(const struct family *family);

/* The value of a key, if it is of this family; NULL if there is no such key. What is
 * not of the family makes *wrong true. */
void *value_at(struct rm_key *key, const struct family *family, bool *wrong);

/* The value of a key of any family that is complete; NULL if it is something else. */
struct value *value_of_any(struct rm_key *key);

/* Number this state of a value, so that no other of the process has the same. */
void value_changed(struct value *v);

/* Put a new value there; the old one is freed. */
void value_put(struct rm_key *key, struct value *v);

#endif
