/* value.h - values of keys, and the description of a family of commands.
 *
 * A value is written and read as an image: a sequence of parts of weir's file format
 * (docs/format.md). RDB, AOF, WEIR.SAVE, BF.SCANDUMP and DEBUG DIGEST all use the image. */
#ifndef MODULE_VALUE_H
#define MODULE_VALUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <weir.h>
#include <weir/saved.h>
#include <weir/sketch.h>

#include "server/server.h"

struct archive;
struct value_loading;
struct copying;
struct image_in;

/* The first member of every value. */
struct value {
    const struct family *family;
    uint64_t changes;   /* number of its state, unique in the process */
    uint64_t bytes;     /* of memory, as the allocator counts it */
    atomic_int holders; /* jobs that use it, see job.h */
    atomic_int readers; /* their threads that still read it */
    uint64_t accounted; /* bytes of it in server_stats.bytes */

    struct copying
        *copying; /* a thread copies its contents from another value, see job.h; or NULL */
};

struct family {
    const char *type; /* as TYPE reports it: nine characters */
    int encoding;     /* version of its format in an RDB */
    size_t size;      /* of the structure of a value */

    /* Write the image to a sink; false if the sink fails. Read a whole image; NULL with a message.
     */
    bool (*write)(const struct value *v, weir_sink sink, void *context);
    struct value *(*read)(const struct family *family, struct image_in *in,
                          struct weir_error *error);

    struct value *(*copy)(const struct value *v); /* NULL: no memory */
    void (*free)(struct value *v);

    /* Defragment small blocks, from *cursor on, which is 0 at first. False if there are more, after
     * rm.DefragShouldStop(). NULL: nothing to do. */
    bool (*move)(struct value *v, struct rm_defrag *ctx, unsigned long *cursor);

    /* A value of RedisBloom, for the same commands; or NULL. */
    const struct family *imported;

    uint32_t part; /* the first of an image; 0: any other */

    /* In a family of RedisBloom: its fields (redisbloom.h), which write() and read() and an RDB
     * contain, and the completion of a value after reading. */
    bool (*pass)(struct archive *a, struct value *v);
    void (*complete)(struct value *v);

    /* Write commands to an AOF; NULL: WEIR.LOAD with the image. */
    void (*rewrite)(const struct value *v, struct rm_io *io, struct rm_string *key);
};

extern const struct family family_filter, family_bloom, family_cuckoo, family_counts, family_top,
    family_loading, family_imported_bloom, family_imported_cuckoo, family_imported_counts,
    family_imported_top;

/* Kinds of parts that only the module uses; other readers of weir files skip them. */
enum {
    PART_ONCE = 0x5701,   /* replies kept for producers, see once.h */
    PART_BLOOM = 0x5702,  /* head of a chain, see chain.h */
    PART_TOP = 0x5703,    /* heap of TOPK.*, see top_value.h */
    PART_COUNTS = 0x5704, /* a count-min sketch of CMS.* follows */
    PART_CUCKOO = 0x5705, /* head of a chain of CF.* */
    PART_BLOCK = 0x5706,  /* cells of a value of RedisBloom; its numbers, by type: */
    PART_IMPORTED_BLOOM = 0x5707,
    PART_IMPORTED_CUCKOO = 0x5708,
    PART_IMPORTED_COUNTS = 0x5709,
    PART_IMPORTED_TOP = 0x570a
};

/* The family whose image begins with a part of this kind; that of WEIR.* for any other. */
const struct family *family_with(uint32_t part);

/* Register the types with the server: RM_OK or RM_ERR. */
int types_create(struct rm_ctx *ctx);

struct rm_type *type_of(const struct family *family);

/* The value whose contents are those of v: v, or the one it is being copied from. */
struct value *value_contents(struct value *v);

/* Give the value's state a new number. To be called after each change, on the server's thread. */
void value_changed(struct value *v);

/* Keep a value in memory, and reject commands that would change it. value_release() frees a value
 * that was deleted meanwhile. */
void value_hold(struct value *v);
void value_release(struct value *v);

/* For copy() of a family: copy the structure, without the numbers of `struct value` that the
 * server's thread changes meanwhile. */
void value_copy_structure(struct value *to, const struct value *from);

/* A thread reads the value: commands from a master wait for value_unlock(). */
void value_lock(struct value *v);
void value_unlock(struct value *v);

/* ---- keys
 *
 * The server's handle of a key is closed before these return. The value stays valid. ---- */

struct opened {
    void *value; /* of the requested family, or NULL */
    bool wrong;  /* the key has another type, or is busy */
    bool busy;   /* it is being loaded in chunks, or a job uses it and it must not change */
    struct value_loading *loading; /* the chunks, unless a job uses them */
};

/* Open a key of a command, to be read or changed. family NULL: any complete value. */
struct opened key_open(struct rm_ctx *ctx, struct rm_string *name, enum command_keys use,
                       const struct family *family);

/* Reply that the key has another type, is being loaded or busy. */
int key_refuse(struct rm_ctx *ctx, const struct opened *o);

/* Open a key and return its value. NULL after an error reply; `missing` is the reply if there is no
 * such key. */
void *key_value(struct rm_ctx *ctx, struct rm_string *name, enum command_keys use,
                const struct family *family, const char *missing);

/* Replace the value of a key; the old one is freed. The TTL stays if both have the same type. */
void value_put(struct rm_ctx *ctx, struct rm_string *name, struct value *v);

/* Delete a key, and replicate that. */
void key_delete(struct rm_ctx *ctx, struct rm_string *name);

/* If the server called a command only for the positions of its keys (a destination, a number, that
 * many sources), reply with them and return true. Clusters of Redis 7.0 have no other source. */
bool keys_were_asked(struct rm_ctx *ctx, struct rm_string **argv, int argc);

/* After a change: replicate the command verbatim and raise a keyspace event. */
void key_changed(struct rm_ctx *ctx, struct rm_string *name, struct value *v, const char *event);

/* The same after the change was replicated. */
void key_told(struct rm_ctx *ctx, struct rm_string *name, struct value *v, const char *event);

/* ---- filters and sketches of the library, in the server's memory
 *
 * `most` is the maximum number of bytes, 0 for no limit; it is checked before memory is
 * allocated. *bytes becomes the memory of the handle as the allocator counts it. Statuses are those
 * of the library's calls. ---- */

enum weir_status filter_open(weir_filter **out, const char *spec, uint64_t most, uint64_t *bytes,
                             struct weir_error *error);
enum weir_status filter_load(weir_filter **out, weir_source source, void *context, uint64_t most,
                             uint64_t *bytes, struct weir_error *error);
enum weir_status sketch_open(weir_sketch **out, const char *spec, uint64_t most, uint64_t *bytes,
                             struct weir_error *error);
enum weir_status sketch_load(weir_sketch **out, const void *data, size_t size, uint64_t most,
                             uint64_t *bytes, struct weir_error *error);

/* Is this the complete form of the sketch's spec? Then it can be merged with others. */
bool sketch_has_spec(const weir_sketch *s, const char *spec);

/* The seed in the spec of a filter or sketch. */
uint64_t spec_seed(const char *spec);

#endif
