/* weir/saved.h - saved filters in shards, loaded from a stream, or used in place.
 *
 * weir.h has the calls for one filter in memory: weir_save_stream() and weir_load_buffer().
 * docs/format.md specifies the format. `options` are those of weir_open_with(); NULL selects
 * the defaults.
 *
 * Threads: the calls keep no state. Handles follow the rule of weir.h. */
#ifndef WEIR_SAVED_H
#define WEIR_SAVED_H

#include <weir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- save and load shards ---- */

#define WEIR_SHARDS_MAX 65536 /* maximum number of shards */

/* Save one of several filters that share the keys of one: shard 0 to shards - 1. Write the
 * shards in this order, one after the other.
 * Errors: as weir_save_stream(), and WEIR_UNSUPPORTED for an invalid shard number. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_save_shard(const weir_filter *f, uint32_t shard,
                                                          uint32_t shards, weir_sink sink,
                                                          void *context, struct weir_error *error);

/* Load all shards of the filter at the start of data into out[0], out[1] and so on, at most
 * `max`. *n becomes their number, 1 for a filter that is not sharded. All shards must be
 * present, in order, and of one configuration (except for the sizes of fixed filters). *used
 * (may be NULL) becomes the length of their parts.
 * Returns WEIR_OK. On failure nothing is loaded and *n is 0.
 * Errors: as weir_load_buffer(). */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_load_shards(weir_filter **out, uint32_t max, uint32_t *n, const void *data, size_t size,
                 size_t *used, const struct weir_options *options, struct weir_error *error);

/* ---- load from a stream ---- */

/* Load a filter from a source, which is read to the end of one part and no further. The head is
 * read and checked first. If the handle would need more than max_bytes of the options, loading
 * fails before memory is allocated. Cells are read directly into the filter, at most 1 MiB at
 * a time.
 * Returns as weir_load_buffer().
 * Errors: as weir_load_buffer(). */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_load_stream(weir_filter **out, weir_source source,
                                                           void *context,
                                                           const struct weir_options *options,
                                                           struct weir_error *error);

/* ---- view a saved filter in place ---- */

/* Open a view: a handle that looks up keys in saved data without copying it. The data must
 * outlive the handle. In a mapped file, only the pages of looked-up keys are read. The head is
 * checked as on load. The cells are not; weir_verify() checks them. Damaged cells can give
 * wrong verdicts but never a crash. If a mapped file is truncated, reading it raises SIGBUS, as
 * for any mapping.
 *
 * A view is read-only. Calling weir_observe() is a bug of the caller: builds with WEIR_DEBUG
 * abort, others act as weir_ask(). weir_clear() and weir_advance() do nothing. weir_clone()
 * returns NULL. weir_forget() and weir_merge() return WEIR_UNSUPPORTED. weir_save_stream()
 * copies the cells with their stored checksums, so damage remains detectable.
 * *used is set as by weir_load_buffer().
 * Returns as weir_load_buffer().
 * Errors: as weir_load_buffer().
 * Cost: some kilobytes of memory. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_view_buffer(weir_filter **out, const void *data,
                                                           size_t size, size_t *used,
                                                           const struct weir_options *options,
                                                           struct weir_error *error);

/* Open views of all shards, as weir_load_shards() loads them.
 * Returns as weir_load_shards().
 * Errors: as weir_load_shards(). */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_view_shards(weir_filter **out, uint32_t max, uint32_t *n, const void *data, size_t size,
                 size_t *used, const struct weir_options *options, struct weir_error *error);

/* ---- key descriptions ---- */

/* A note before the filter can describe how its keys were made from records, for example
 * "2 fields --ignore-case". Keys made in another way match nothing. Without a description, each
 * key is one unmodified field or line. To describe a filter, write this text followed by the
 * description with weir_part_write(WEIR_PART_NOTE, ...), then write the filter. */
#define WEIR_KEYS_NOTE "weir keys 1\nkeys="
#define WEIR_KEY_DESCRIPTION_MAX 256 /* maximum size of a description, with its terminator */

/* Copy the description from the notes before the first filter to text, truncated to room - 1
 * bytes. Bytes that are not printable ASCII become '?'.
 * Returns the length of the description; 0 if there is none. */
WEIR_API size_t weir_saved_key_description(const void *data, size_t size, char *text, size_t room);

/* ---- inspect and verify parts ---- */

/* weir_part_read() without checking the cells, which may be damaged. Reads only the head.
 * Errors: as weir_part_read(). */
WEIR_API enum weir_status weir_part_head(const void *data, size_t size, struct weir_part *part,
                                         size_t part_size, struct weir_error *error);

/* Verify the checksums of all parts. Reads every byte.
 * Errors: WEIR_BAD_DATA if a part is damaged. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_verify(const void *data, size_t size,
                                                      struct weir_error *error);

#ifdef __cplusplus
}
#endif

#endif
