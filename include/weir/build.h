/* weir/build.h - build a filter from a complete set of keys: begin, add all keys, finish.
 *
 *     weir_builder *b;
 *     weir_filter *f;
 *     struct weir_error error;
 *     if (weir_build_begin(&b, "fuse fpr=0.4%", NULL, &error) != WEIR_OK ||
 *         weir_build_add_bytes(b, keys, n, &error) != WEIR_OK ||
 *         weir_build_finish(b, &f, &error) != WEIR_OK)
 *         die(error.text);
 *
 * Fixed filters (those without WEIR_CAN_OBSERVE: fuse) can only be created by a builder. The
 * builder needs 8 bytes per key. The size of the finished filter follows from the number of
 * keys. Of a key they use `lo` only, so a program that collects keys itself can store 8 bytes
 * of each. Duplicate keys are allowed. A builder also accepts other filters: it opens them and
 * observes the keys.
 *
 * Threads: one thread at a time may use a builder. Different builders share nothing. */
#ifndef WEIR_BUILD_H
#define WEIR_BUILD_H

#include <weir.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_builder weir_builder;

/* ---- build a filter ---- */

/* Begin a filter of this spec. Options are those of weir_open_with(); NULL selects the
 * defaults. The allocator provides the builder's memory too. A fixed filter needs no capacity=
 * or memory=; memory= is a limit.
 * Returns WEIR_OK. On failure *out is NULL.
 * Errors: as weir_open(). */
WEIR_API enum weir_status weir_build_begin(weir_builder **out, const char *config,
                                           const struct weir_options *options,
                                           struct weir_error *error);

/* Write the current spec, with its seed, as weir_config(). Hash the keys for this spec
 * (weir/hash.h).
 * Returns as weir_config(). */
WEIR_API size_t weir_build_config(const weir_builder *b, char *buffer, size_t size);

/* Add keys, in any number of calls. After a failure only weir_build_cancel() may be called.
 * Errors: WEIR_NO_MEMORY. WEIR_WRITE_FAILED if keys cannot be spilled. WEIR_FULL if a filter
 * of a fixed size has no space for the keys. */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_build_add(weir_builder *b, const struct weir_key *keys, size_t n, struct weir_error *error);

/* weir_build_add() for keys as bytes, which it hashes. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_build_add_bytes(weir_builder *b,
                                                               const struct weir_bytes *keys,
                                                               size_t n, struct weir_error *error);

/* Create the filter and free the builder, also on failure. The bytes of a fixed filter depend
 * only on the set of keys, not on their order.
 * Returns WEIR_OK. On failure *out is NULL.
 * Errors: as weir_build_add(). WEIR_FULL also if the keys need more than memory=, or if they
 * are not hashes but crafted and unevenly distributed.
 * Cost: about 0.1 s per million keys, and 100 MB in addition to the keys and the filter. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_build_finish(weir_builder *b, weir_filter **out,
                                                            struct weir_error *error);

/* Free a builder without creating a filter. NULL is allowed. */
WEIR_API void weir_build_cancel(weir_builder *b);

/* ---- spill keys to disk ---- */

/* Storage of the caller, for example a temporary file, with random access. put() writes bytes
 * at an offset and get() reads them. Both return false on failure. */
struct weir_spill {
    bool (*put)(void *context, uint64_t at, const void *data, size_t size);
    bool (*get)(void *context, uint64_t at, void *data, size_t size);
    void *context;
};

/* Spill the keys of a fixed filter there instead of keeping them in memory. Call it before the
 * first key is added. Offsets grow from 0 without gaps, 8 bytes per key. Other filters ignore
 * the call. */
WEIR_API void weir_build_spill(weir_builder *b, const struct weir_spill *spill);

#ifdef __cplusplus
}
#endif

#endif
