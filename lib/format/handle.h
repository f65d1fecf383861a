/* handle.h - what filters, sketches and screens have in common. Each begins with a struct handle:
 * one allocation, made for a spec that is complete, and saved as one part (part.h). A struct
 * handle_kind has what differs; opening, saving and loading are written once, in handle.c. */
#ifndef WEIR_FORMAT_HANDLE_H
#define WEIR_FORMAT_HANDLE_H

#include "base/memory.h"
#include "format/part.h"
#include "spec/grammar.h"

struct handle {
    const struct handle_kind *kind;
    void *allocation;
    size_t bytes;         /* of the allocation */
    struct memory memory; /* where all of it comes from */
};

struct handle_kind {
    const struct grammar *grammar; /* of its specs, which are read into a record */
    uint32_t parts[2];             /* the kinds of parts that it is saved as */
    size_t record;                 /* offset of the record in the handle, for writing its spec */

    /* A handle for a complete record; NULL if memory is short, no_memory() says how much. sparse:
     * keys are added one by one; else it is filled at once. */
    struct handle *(*make)(const void *record, const struct memory *memory, bool sparse);
    enum weir_status (*no_memory)(const void *record, const struct memory *memory,
                                  struct weir_error *error);

    /* Saving: fill in kind, cells, words and sums of a head, which are zero. put() puts the cells.
     */
    void (*head)(const struct handle *handle, struct part_head *h);
    void (*put)(const void *handle, struct part_writer *out);

    /* Loading: is the part of the kind (NULL: any), and of the size, that the record implies?
     * take() takes words and cells, and checks that they can be. */
    bool (*is_part)(const void *record, uint32_t part);
    bool (*fits)(const void *record, const struct part_head *h);
    enum weir_status (*take)(struct handle *handle, const struct part_head *h, struct part_input in,
                             struct weir_error *error);

    /* What cannot be opened, only loaded; or NULL. */
    enum weir_status (*check_open)(const void *record, struct weir_error *error);
};

/* What a handle is made from: the caller has a record for it, and takes the handle. */
struct handle_request {
    const struct handle_kind *kind;
    void *record;
    const struct weir_options *options;
    struct handle *made; /* NULL after an error */
};

enum weir_status handle_make(struct handle_request *r, const char *spec, struct weir_error *error);
void handle_close(struct handle *handle); /* NULL will do */

/* ---- saving ---- */

size_t handle_saved_size(const struct handle *handle);

/* As one of so many shards. */
enum weir_status handle_save(const struct handle *handle, uint32_t shard, uint32_t shards,
                             weir_sink sink, void *context, struct weir_error *error);

/* The bytes used; 0 after an error. */
size_t handle_save_buffer(const struct handle *handle, void *buffer, size_t size,
                          struct weir_error *error);

/* ---- loading ---- */

enum weir_status handle_load_buffer(struct handle_request *r, struct weir_bytes from, size_t *used,
                                    struct weir_error *error);
enum weir_status handle_load_stream(struct handle_request *r, struct part_input in,
                                    struct weir_error *error);

/* The record of a handle that a head describes: nothing has been asked for yet. */
enum weir_status handle_plan_saved(const struct handle_kind *kind, const struct part_head *h,
                                   void *record, struct weir_error *error);

/* The handle itself, whichever shard it is. */
enum weir_status handle_load_planned(const struct handle_kind *kind, struct handle **out,
                                     const struct part_head *h, const void *record,
                                     struct part_input in, const struct memory *memory,
                                     struct weir_error *error);

/* WEIR_BAD_DATA: words and cells do not go together. */
enum weir_status handle_impossible(const struct handle_kind *kind, struct weir_error *error);

#endif
