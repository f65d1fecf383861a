/* weir/build.h - filters of a set that is known whole: begin, add all keys, finish.
 *
 *     weir_builder *b;
 *     weir_filter *w;
 *     struct weir_error error;
 *     if (weir_build_begin(&b, "fuse fpr=0.4%", NULL, &error) != WEIR_OK ||
 *         weir_build_add_bytes(b, keys, n, &error) != WEIR_OK ||
 *         weir_build_finish(b, &w, &error) != WEIR_OK)
 *         die(error.text);
 *
 * Fixed filters (those that lack WEIR_CAN_OBSERVE: fuse) come to be in no other way. They take 8
 * bytes a key until they are finished, and their size from how many keys there were; keys
 * may come more than once. Filters that can learn are opened and shown the keys.
 *
 * Threads: a builder belongs to one thread at a time; different ones share nothing. */
#ifndef WEIR_BUILD_H
#define WEIR_BUILD_H

#include <weir.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_builder weir_builder;

/* Begin a filter of this spec; options as of weir_open_with(), NULL are the defaults: what a
 * builder takes meanwhile comes from there too. A fixed filter needs no capacity= or
 * memory=; a memory= is a limit. WEIR_OK, or what weir_open() says; *out is NULL then. */
WEIR_API enum weir_status weir_build_begin(weir_builder **out, const char *config,
                                           const struct weir_options *options,
                                           struct weir_error *error);

/* The spec as it is so far, with its seed: keys are to be hashed for that (weir/hash.h).
 * Returned length and buffer as of weir_config(). */
WEIR_API size_t weir_build_config(const weir_builder *b, char *buffer, size_t size);

/* Add keys, in as many calls as it takes. WEIR_OK; WEIR_NO_MEMORY; WEIR_WRITE_FAILED if
 * they were put aside and cannot be; WEIR_FULL if a filter of a given size has no room for
 * them. After a failure there is only weir_build_cancel(). */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_build_add(weir_builder *b, const struct weir_key *keys, size_t n, struct weir_error *error);

/* The same of keys as bytes, each hashed on the way. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_build_add_bytes(weir_builder *b,
                                                               const struct weir_bytes *keys,
                                                               size_t n, struct weir_error *error);

/* Make the filter. The builder is gone, whatever the status: WEIR_OK, or as of
 * weir_build_add(), WEIR_FULL also if the keys take more than memory=, or are not hashed but made
 * up so that they are uneven. *out is NULL then. Of a
 * fixed filter the same keys give the same bytes, in any order. Takes about 0.1 s for a million
 * keys, and 100 MB beside the keys and the filter. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_build_finish(weir_builder *b, weir_filter **out,
                                                            struct weir_error *error);

/* Give up: the builder is gone. NULL will do. */
WEIR_API void weir_build_cancel(weir_builder *b);

/* ---- keys put aside ---- */

/* Room of the caller's, say a temporary file, for bytes that are written and read again by
 * their place. False: it could not be done. */
struct weir_spill {
    bool (*put)(void *context, uint64_t at, const void *data, size_t size);
    bool (*get)(void *context, uint64_t at, void *data, size_t size);
    void *context;
};

/* Have the keys of a fixed filter put aside there instead of in memory; before the first is
 * added. Places grow from 0 without gaps, 8 bytes a key. Filters that can learn take no notice. */
WEIR_API void weir_build_spill(weir_builder *b, const struct weir_spill *spill);

#ifdef __cplusplus
}
#endif

#endif
