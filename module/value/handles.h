/* handles.h - filters and sketches of the library, in the server's memory.
 *
 * `most` is the bytes that one may take, 0 for any; it is weighed before memory is asked
 * for. Statuses are those of the library's calls. */
#ifndef MODULE_HANDLES_H
#define MODULE_HANDLES_H

#include <weir.h>
#include <weir/saved.h>
#include <weir/sketch.h>

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
