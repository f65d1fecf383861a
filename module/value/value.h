/* value.h - what a key of ours holds, and what each family of commands says of its own.
 *
 * A value is written and read as an image: a sequence of parts of weir's file format
 * (docs/format.md). RDB, AOF, WEIR.SAVE, BF.SCANDUMP and DEBUG DIGEST all take it from
 * there, so that there is one way to write a value and one to read it. */
#ifndef MODULE_VALUE_H
#define MODULE_VALUE_H

#include <stdbool.h>
#include <weir.h>
#include <weir/saved.h>
#include <weir/sketch.h>

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
    PART_TOP = 0x5703,    /* heap of the keys that are kept, see top_value.h */
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

/* ---- keys: look, answer what is wrong, close ---- */

struct opened {
    struct rm_key *key;
    void *value;  /* of the family asked for, or NULL */
    bool wrong;   /* there is something else */
    bool loading; /* it is being loaded in chunks, and can do nothing yet */
};

/* Open the key of a command, argv[1] as a rule. */
struct opened key_open(struct rm_ctx *ctx, struct rm_string *name, int mode,
                       const struct family *family);

/* Did the server call a command just to know its keys: a destination, their number and as many
 * sources? Then it was told. A cluster of Redis 7.0 takes it from here alone. */
bool keys_were_asked(struct rm_ctx *ctx, struct rm_string **argv, int argc);

/* Close it; returns RM_OK, to end a command with. */
int key_close(struct opened *o);

/* Answer a key of another kind and close it. */
int key_refuse(struct rm_ctx *ctx, struct opened *o);

/* The value of a key that was opened; NULL after an error reply, then it is closed. `missing` is
 * the reply if there is none. */
void *key_value(struct rm_ctx *ctx, struct opened *o, const char *missing);

/* A change is complete: tell the replicas the command as it came, and those who listen to
 * the key. */
void key_changed(struct rm_ctx *ctx, struct rm_string *name, struct value *v, const char *event);

/* The same where the replicas were told already. */
void key_told(struct rm_ctx *ctx, struct rm_string *name, struct value *v, const char *event);

/* ---- filters and sketches of the library, in the server's memory
 *
 * `most` is the bytes that one may take, 0 for any; it is weighed before memory is asked
 * for. Statuses are those of the library's calls. ---- */

enum weir_status filter_open(weir_filter **out, const char *spec, uint64_t most,
                             struct weir_error *error);
enum weir_status filter_load(weir_filter **out, weir_source source, void *context, uint64_t most,
                             struct weir_error *error);
enum weir_status sketch_open(weir_sketch **out, const char *spec, uint64_t most,
                             struct weir_error *error);
enum weir_status sketch_load(weir_sketch **out, const void *data, size_t size, uint64_t most,
                             struct weir_error *error);

/* The seed in the spec of a filter or sketch. */
uint64_t spec_seed(const char *spec);

#endif
