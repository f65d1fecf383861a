/* typed_handle.h - what Filter, Shared, Sketch, Screen and Builder have in common: a handle of the
 * library and who is in a call of it, and the methods that are the same for all.
 *
 * A type adds a table of the library's calls (struct typed_handle_kind) and the methods of its own.
 */
#ifndef HANDLE_H
#define HANDLE_H

#include "key_reader.h"
#include "saved_file.h"

struct typed_handle_object;

/* A batch of keys for a handle. Called without the GIL, between typed_handle_enter() and
 * typed_handle_leave().
 */
typedef enum weir_status (*show_call)(struct typed_handle_object *o, const struct weir_key *keys,
                                      const uint64_t *times, size_t n, uint8_t *verdicts,
                                      struct weir_error *error);

struct typed_handle_kind {
    const char *name;   /* of the type: "Filter" */
    const char *what;   /* in messages: "filter" */
    const char *closed; /* the message of a call after close() */
    bool many_threads; /* calls run at the same time; the last one after close() frees the memory */
    unsigned parts;    /* of a file that load() takes: bits, 1 << kind */
    enum weir_status (*open)(void **out, const char *spec, const struct weir_options *options,
                             struct weir_error *error);
    void (*close)(void *handle);
    size_t (*config)(const void *handle, char *text, size_t size);
    void (*advance)(void *handle, uint64_t now);
    void (*clear)(void *handle);
    void *(*clone)(const void *handle, struct weir_error *error);
    enum weir_status (*merge)(void *into, const void *from, struct weir_error *error);
    size_t (*saved_size)(void *handle);
    write_all save;
    enum weir_status (*load)(void **out, const void *data, size_t size, struct weir_error *error);

    /* ---- of filters only ---- */
    show_call observe, ask;
    enum weir_status (*view)(void **out, const void *data, size_t size, uint32_t shards,
                             struct weir_error *error);
    const char *of_view, *of_set; /* why a view and a fixed set cannot observe keys */
    const char *of_shards;        /* why a file in shards is refused, or NULL */
};

/* The library's calls as the table has them, and their lines of the table; calls: weir,
 * weir_sketch ... */
#define HANDLE_TABLE                                                                               \
    .close = call_close, .config = call_config, .advance = call_advance, .save = call_save,        \
    .load = call_load
#define HANDLE_CALLS(calls, type)                                                                  \
    static void call_close(void *handle)                                                           \
    {                                                                                              \
        calls##_close(handle);                                                                     \
    }                                                                                              \
    static size_t call_config(const void *handle, char *text, size_t size)                         \
    {                                                                                              \
        return calls##_config(handle, text, size);                                                 \
    }                                                                                              \
    static void call_advance(void *handle, uint64_t now)                                           \
    {                                                                                              \
        calls##_advance(handle, now);                                                              \
    }                                                                                              \
    static enum weir_status call_save(void *handle, weir_sink sink, void *context,                 \
                                      struct weir_error *error)                                    \
    {                                                                                              \
        return calls##_save_stream(handle, sink, context, error);                                  \
    }                                                                                              \
    static enum weir_status call_load(void **out, const void *data, size_t size,                   \
                                      struct weir_error *error)                                    \
    {                                                                                              \
        type *handle = NULL;                                                                       \
        enum weir_status status = calls##_load_buffer(&handle, data, size, NULL, NULL, error);     \
                                                                                                   \
        *out = handle;                                                                             \
        return status;                                                                             \
    }

/* And those that weir.Shared does not have. */
#define HANDLE_TABLE_OF_ONE                                                                        \
    HANDLE_TABLE, .open = call_open, .clear = call_clear, .clone = call_clone,                     \
                  .merge = call_merge, .saved_size = call_saved_size
#define HANDLE_CALLS_OF_ONE(calls, type)                                                           \
    HANDLE_CALLS(calls, type)                                                                      \
    static enum weir_status call_open(void **out, const char *spec,                                \
                                      const struct weir_options *options,                          \
                                      struct weir_error *error)                                    \
    {                                                                                              \
        type *handle = NULL;                                                                       \
        enum weir_status status = calls##_open_with(&handle, spec, options, error);                \
                                                                                                   \
        *out = handle;                                                                             \
        return status;                                                                             \
    }                                                                                              \
    static void call_clear(void *handle)                                                           \
    {                                                                                              \
        calls##_clear(handle);                                                                     \
    }                                                                                              \
    static void *call_clone(const void *handle, struct weir_error *error)                          \
    {                                                                                              \
        return calls##_clone(handle, error);                                                       \
    }                                                                                              \
    static enum weir_status call_merge(void *into, const void *from, struct weir_error *error)     \
    {                                                                                              \
        return calls##_merge(into, from, error);                                                   \
    }                                                                                              \
    static size_t call_saved_size(void *handle)                                                    \
    {                                                                                              \
        return calls##_saved_size(handle);                                                         \
    }

/* And those of filters. */
#define HANDLE_TABLE_OF_FILTER .observe = call_observe, .ask = call_ask, .view = call_view
#define HANDLE_CALLS_OF_FILTER(calls)                                                              \
    static enum weir_status call_observe(struct typed_handle_object *o,                            \
                                         const struct weir_key *keys, const uint64_t *times,       \
                                         size_t n, uint8_t *verdicts, struct weir_error *error)    \
    {                                                                                              \
        (void)error;                                                                               \
        if (times)                                                                                 \
            calls##_observe_many_at(o->handle, keys, times, n, verdicts);                          \
        else                                                                                       \
            calls##_observe_many(o->handle, keys, n, verdicts);                                    \
        return WEIR_OK;                                                                            \
    }                                                                                              \
    static enum weir_status call_ask(struct typed_handle_object *o, const struct weir_key *keys,   \
                                     const uint64_t *times, size_t n, uint8_t *verdicts,           \
                                     struct weir_error *error)                                     \
    {                                                                                              \
        (void)times;                                                                               \
        (void)error;                                                                               \
        calls##_ask_many(o->handle, keys, n, verdicts);                                            \
        return WEIR_OK;                                                                            \
    }

/* Who is in a call. The flag is read and written under the GIL; the lock is only there to be waited
 * for by those who have let go of the GIL. */
struct typed_handle_use {
    PyThread_type_lock lock;
    unsigned long owner; /* the thread that has it, if it is */
    bool taken;
};

struct typed_handle_object {
    PyObject_HEAD const struct typed_handle_kind *kind;
    void *handle; /* NULL when its memory was given back */
    struct typed_handle_use use;
    unsigned calls; /* that run, of many_threads; under the GIL, as are the flags */
    bool is_closed;
    bool observes; /* keys: neither a view nor a fixed set */
    bool is_view;
    struct hasher hash;                  /* of filters */
    struct saved_bytes lent;             /* what a view looks at */
    char keys[WEIR_KEY_DESCRIPTION_MAX]; /* how its keys were made, of the file it was in; or "" */
};

/* Make an object of a handle, which is its own from then on; closed if that fails. With lent (else
 * NULL) it is a view of these bytes, which are the object's too. */
PyObject *typed_handle_wrap(PyTypeObject *type, const struct typed_handle_kind *kind, void *handle,
                            struct saved_bytes *lent);

/* Open a spec, or what was saved, which is closed then or kept by the view. */
PyObject *typed_handle_open(PyTypeObject *type, const struct typed_handle_kind *kind,
                            const char *spec, uint64_t max_bytes);
PyObject *typed_handle_load(PyTypeObject *type, const struct typed_handle_kind *kind,
                            struct saved_bytes *saved, const char *keys, bool as_view);

void typed_handle_dealloc(PyObject *self);

/* The handle when nobody else is in a call; NULL with an exception if it is closed, or if this very
 * thread is in a call: a store that asks its own screen. */
void *typed_handle_ready(PyObject *self);

/* The same of one that is to observe keys. */
void *typed_handle_observing(PyObject *self);

/* For calls without the GIL: others wait until typed_handle_leave(), unless it is for many threads.
 */
bool typed_handle_enter(PyObject *self);
void typed_handle_leave(PyObject *self);

/* Methods and attributes. */
PyObject *typed_handle_close(PyObject *self, PyObject *unused);
PyObject *typed_handle_enter_with(PyObject *self, PyObject *none);
PyObject *typed_handle_advance(PyObject *self, PyObject *time);
PyObject *typed_handle_clear(PyObject *self, PyObject *none);
PyObject *typed_handle_copy(PyObject *self, PyObject *memo);
PyObject *typed_handle_merge(PyObject *self, PyObject *other);
PyObject *typed_handle_save(PyObject *self, PyObject *path);
PyObject *typed_handle_tobytes(PyObject *self, PyObject *none);
PyObject *typed_handle_reduce(PyObject *self, PyObject *none);
PyObject *typed_handle_repr(PyObject *self);
PyObject *typed_handle_config(PyObject *self, void *unused);
PyObject *typed_handle_closed(PyObject *self, void *unused);
PyObject *typed_handle_keys(PyObject *self, void *unused);

/* ---- show_keys.c: batches of hashed keys, gathered with the GIL, shown without it ---- */

/* What was given for a batch; NULL stands for None. */
struct batch_given {
    PyObject *keys, *size, *importance, *times;
};

/* Show a batch: a verdict for each key as bytes, or NULL with an exception. If a key cannot
 * be read, or the iterable raises, those before it have been shown. With wants_verdicts
 * false, None. */
PyObject *show_keys(PyObject *self, show_call show, const struct batch_given *given,
                    bool wants_verdicts);

/* The methods observe_many() and ask_many() of filters. */
PyObject *filter_observe_many(PyObject *self, PyObject *args, PyObject *named);
PyObject *filter_ask_many(PyObject *self, PyObject *args, PyObject *named);

/* ---- filter_type.c ---- */

/* weir.Filter; there from filter_add() on. */
extern PyTypeObject *filter_type;
extern const struct typed_handle_kind filter_typed_kind;

/* weir.Stats of figures. */
PyObject *stats_record(const struct weir_stats *stats);

/* load() and view() of Filter and Shared. */
PyObject *filter_load(PyTypeObject *type, const struct typed_handle_kind *kind, PyObject *args,
                      PyObject *named, bool as_view);

#endif
