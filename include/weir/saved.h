/* weir/saved.h - saved filters at large: in shards, from any source, asked where they
 * lie.
 *
 * What weir.h has for the plain case, weir_save_stream() and weir_load_buffer(), works on one
 * filter in memory. docs/format.md draws the bytes.
 *
 * Options are those of weir_open_with(), NULL the defaults.
 *
 * Threads: the calls keep nothing; a handle is under the rule of weir.h. */
#ifndef WEIR_SAVED_H
#define WEIR_SAVED_H

#include <weir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- shards ---- */

#define WEIR_SHARDS_MAX 65536 /* at most */

/* Save one of several filters that share out the keys of one: shard 0 to shards - 1.
 * They are to be written in this order, one after the other. Statuses as of
 * weir_save_stream(); WEIR_UNSUPPORTED for a shard that cannot be. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_save_shard(const weir_filter *w, uint32_t shard,
                                                          uint32_t shards, weir_sink sink,
                                                          void *context, struct weir_error *error);

/* Load all shards of the filter that data begins with into out[0] and on, at most
 * `most`; *n becomes how many they are, 1 for a filter that is whole. They must all be
 * there, in their order, of one configuration (but for the sizes of fixed filters). *used, if not
 * NULL, gets the bytes they took. On failure there are none: *n is 0. */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_load_shards(weir_filter **out, uint32_t most, uint32_t *n, const void *data, size_t size,
                 size_t *used, const struct weir_options *options, struct weir_error *error);

/* ---- from a source ---- */

/* Load a filter from a source, which is asked for just the bytes of one part. The head
 * comes first and is checked; a filter whose handle would take more bytes than the most
 * of the options is refused then (WEIR_NO_MEMORY). The cells go straight to where they belong, at
 * most 1 MiB at a time. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_load_stream(weir_filter **out, weir_source source,
                                                           void *context,
                                                           const struct weir_options *options,
                                                           struct weir_error *error);

/* ---- asked where they lie ---- */

/* A handle on the filter that data begins with, which stays where it is and must
 * outlive the handle: in a mapped file, only what is asked for is ever read. The head
 * is checked as on load, the cells are not (weir_verify() does): cells that are damaged
 * can answer wrongly, but not crash. If the file is cut short while it is mapped,
 * reading it raises SIGBUS, as of any mapping.
 *
 * The handle is for asking. weir_observe() on it is a caller's bug, at which builds with
 * WEIR_DEBUG stop; others answer as weir_ask(). weir_clear() and weir_advance() do
 * nothing, weir_clone() gives NULL, weir_forget() and weir_merge() say WEIR_UNSUPPORTED.
 * weir_save_stream() copies the cells with the sums that they have: what is damaged stays so.
 * Statuses as of weir_load_buffer(); *used too. Costs some kilobytes. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_view_buffer(weir_filter **out, const void *data,
                                                           size_t size, size_t *used,
                                                           const struct weir_options *options,
                                                           struct weir_error *error);

/* The same of all shards, as weir_load_shards(). */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_view_shards(weir_filter **out, uint32_t most, uint32_t *n, const void *data, size_t size,
                 size_t *used, const struct weir_options *options, struct weir_error *error);

/* ---- how keys were made ---- */

/* A file may describe how its keys were made of records, for example "2 fields --ignore-case", in
 * a note before the filter: keys made in another way match nothing. Without a description keys are
 * one field or line each, as they are. To describe a filter, write this text and the description
 * with weir_part_write(WEIR_PART_NOTE, ...), then the filter. */
#define WEIR_KEYS_NOTE "weir keys 1\nkeys="
#define WEIR_KEY_DESCRIPTION_MAX 256 /* no description is longer, with its end */

/* Copy the description in the notes before the first filter to text, as much as fits in room bytes
 * with its end. Returns its length; 0 if there is none. Bytes that are not printable ASCII
 * become '?'. */
WEIR_API size_t weir_saved_key_description(const void *data, size_t size, char *text, size_t room);

/* ---- parts ---- */

/* As weir_part_read(), but of the cells only the place is looked at: they may be
 * damaged. Reads no more than the head. */
WEIR_API enum weir_status weir_part_head(const void *data, size_t size, struct weir_part *part,
                                         size_t part_size, struct weir_error *error);

/* Are all parts as they were written? Reads every byte. WEIR_OK, or WEIR_BAD_DATA. */
WEIR_API WEIR_MUST_CHECK enum weir_status weir_verify(const void *data, size_t size,
                                                      struct weir_error *error);

#ifdef __cplusplus
}
#endif

#endif
