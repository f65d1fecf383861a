/* binding.h - shared declarations of the extension weir._weir.
 *
 * The extension uses CPython's limited API of 3.11, so one build works with all later versions.
 *
 * GIL: code that touches a Python object holds the GIL. Library calls that may take long run
 * without it, between object_enter() and object_leave(), which make other threads wait for the
 * handle. Calls of about a microsecond keep the GIL and need only object_ready(). */
#ifndef BINDING_H
#define BINDING_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <pythread.h>
#include <stdbool.h>
#include <stdint.h>
#include <weir.h>
#include <weir/saved.h>

/* ---- py_module.c: the module, and what of it is written in Python (weir/_support.py) ---- */

/* Raise the exception of a library error, or of a status with a text. Both return NULL. */
PyObject *raise_error(const struct weir_error *error);
PyObject *raise_status(enum weir_status status, const char *text);

/* Call a function of weir._support, or create one of its records. `format` is that of
 * Py_BuildValue() and describes a tuple, "(KKd)"; or pass a tuple and a dictionary. */
PyObject *support_call(const char *name, const char *format, ...);
PyObject *support_apply(const char *name, PyObject *args, PyObject *named);

/* Create a type and add it to the module. Returns a new reference, or NULL. */
PyTypeObject *type_add(PyObject *module, PyType_Spec *spec, const char *name, PyTypeObject *base);

/* A method of any signature as PyMethodDef stores it. */
#define METHOD(f) ((PyCFunction)(void (*)(void))(f))

bool handle_add(PyObject *module);
bool batch_add(PyObject *module);
bool filter_add(PyObject *module);
bool builder_add(PyObject *module);
bool sketch_add(PyObject *module);
bool screen_add(PyObject *module);
bool plan_add(PyObject *module);
bool near_add(PyObject *module);

/* ---- py_keys.c: keys as bytes ---- */

#define DIGITS_MAX 24 /* room for a 64-bit integer in decimal */

/* Scratch space for the bytes of a str. */
struct text_room {
    Py_UCS4 *points;
    char *bytes;
    size_t size; /* points; four bytes each */
    Py_UCS4 few[64];
    char few_bytes[256];
};

/* One key. Its bytes are valid until key_release(), or until the room is used again. */
struct key_view {
    struct weir_bytes bytes;
    Py_buffer buffer;
    bool held;
    char digits[DIGITS_MAX];
};

void text_room_open(struct text_room *r);
void text_room_close(struct text_room *r);

/* Get the bytes of a key: bytes as they are, a str as UTF-8 (surrogateescape round-trips), an
 * integer as decimal text. False with an exception for other types. */
bool key_read(PyObject *o, struct text_room *room, struct key_view *key);
void key_release(struct key_view *key);

/* Hash function and seed of a spec. */
struct hasher {
    uint32_t kind;
    uint64_t seed;
};

struct hasher hasher_of(const char *config);

/* Hash bytes, without the GIL if they are long; and hash one key. */
struct weir_key hash_bytes(struct hasher hash, struct weir_bytes bytes);
bool key_hash(PyObject *o, struct hasher hash, struct weir_key *out);

/* Report whether a value is missing: None, NaN, NaT or pandas.NA. -1 with an exception. */
int is_missing(PyObject *o);

/* The integer items of a buffer. */
struct integers {
    char size; /* bytes; 0: the format is not an integer */
    bool is_signed, is_swapped;
};

struct integers integers_of(const char *format, Py_ssize_t itemsize);
uint64_t integer_read(struct integers type, const char *at, bool *negative);

/* The keys of a batch. */
enum key_form {
    KEYS_ONE_BY_ONE, /* a list or tuple, or any iterator */
    KEYS_BYTES,      /* a buffer of keys of one size */
    KEYS_INTEGERS    /* a buffer of integers */
};

struct key_source {
    enum key_form form;
    bool is_array;      /* numpy or pandas: the result is a numpy array */
    bool skips_missing; /* skipna=True */
    /* of a buffer: */
    Py_buffer buffer;
    const char *data;
    size_t size, n;
    bool is_held, is_padded; /* trailing NUL bytes are not part of a key */
    struct integers type;
    /* one by one: */
    PyObject *sequence, *iterator;
    bool is_list;
    Py_ssize_t at;
    struct text_room room;
};

/* Open the keys of a batch. size: None, or the bytes per key of a buffer. The types of all items
 * of a list, tuple or array are checked here, so a bad one fails before anything is recorded. */
bool key_source_open(struct key_source *s, PyObject *keys, PyObject *size, bool skips_missing);
void key_source_close(struct key_source *s);

/* The bytes of key i of a buffer. An integer is written to digits. */
struct weir_bytes key_source_at(const struct key_source *s, size_t i, char digits[DIGITS_MAX]);

/* The next item of keys one by one. Returns 1; 0 at the end; -1 with an exception. */
int key_source_next(struct key_source *s, PyObject **object);

/* The key `ahead` of the next one in a list or tuple, if it is plain bytes and short. The bytes are
 * valid until Python code runs. */
bool key_source_peek_bytes(const struct key_source *s, size_t ahead, struct weir_bytes *out);

/* The number of keys, or 0 if unknown. */
size_t key_source_hint(const struct key_source *s);

/* Copies of keys, for calls that use them without the GIL. */
struct key_list {
    struct weir_bytes *keys;
    size_t n, keys_room;
    char *bytes;
    size_t used, bytes_room;
};

/* Process a list of keys. False with an exception. */
typedef bool (*list_call)(PyObject *self, struct key_list *l, void *context);

/* Process keys in lists of at most `max`. If an iterator raises, the keys before that have been
 * processed. False with an exception. */
bool key_lists_run(PyObject *self, PyObject *keys, PyObject *size, size_t max, list_call call,
                   void *context);

/* ---- py_numbers.c: importances, amounts and times of keys ---- */

struct numbers {
    const char *what; /* name in messages */
    uint64_t max;
    bool given;    /* not None */
    bool is_same;  /* one number for all keys */
    bool is_array; /* a buffer */
    bool is_time;
    uint64_t same;
    Py_buffer buffer;
    struct integers type;
    PyObject *iterator;
    Py_ssize_t at;
};

/* Open numbers from 0 to max: None (each is `otherwise`), one number, an array or an iterable.
 * Times are milliseconds, datetime or datetime64. */
bool numbers_open(struct numbers *n, PyObject *o, const char *what, uint64_t otherwise,
                  uint64_t max);
bool times_open(struct numbers *n, PyObject *o);
void numbers_close(struct numbers *n);

/* Get the next number. False with an exception if there is none, or it is out of range. */
bool numbers_next(struct numbers *n, uint64_t *out);

/* Check that no number is left. */
bool numbers_end(struct numbers *n);

/* Read one number, or one time. A time of a key is at most a day ahead of the clock, because one
 * wrong date would evict all keys. */
bool number_read(PyObject *o, const char *what, uint64_t max, uint64_t *out);
bool time_read(PyObject *o, uint64_t max, uint64_t *out);
uint64_t latest_time(void);

/* ---- py_handle.c: what Filter, Shared, Sketch, Screen, Builder and Near have in common ---- */

struct handle_object;

/* The times and TTLs of the keys of a batch; NULL: none. */
struct key_times {
    const uint64_t *time, *ttl;
};

/* Process a batch of hashed keys, without the GIL. */
typedef enum weir_status (*batch_call)(struct handle_object *o, const struct weir_key *keys,
                                       struct key_times at, size_t n, uint8_t *verdicts,
                                       struct weir_error *error);

/* A class: the library's calls with untyped handles. */
struct handle_class {
    const char *name;      /* "Filter" */
    const char *what;      /* in messages: "filter" */
    const char *closed;    /* message of a call after close() */
    const char *arguments; /* the function of weir._support that reads those of the constructor */
    PyTypeObject *type;
    bool is_concurrent; /* calls run at the same time; the last one after close() frees it */
    unsigned parts;     /* bits, 1 << kind: what load() accepts */
    enum weir_status (*open)(void **out, const char *spec, uint32_t shards,
                             const struct weir_options *options, struct weir_error *error);
    void (*close)(void *handle);
    size_t (*config)(const void *handle, char *text, size_t size);
    void (*advance)(void *handle, uint64_t now);
    void (*clear)(void *handle);
    void *(*clone)(const void *handle, struct weir_error *error);
    enum weir_status (*merge)(void *into, const void *from, struct weir_error *error);
    size_t (*saved_size)(void *handle);
    enum weir_status (*save)(void *handle, weir_sink sink, void *context, struct weir_error *error);
    enum weir_status (*load)(void **out, const void *data, size_t size, struct weir_error *error);

    /* ---- of Filter and Shared ---- */
    enum weir_verdict (*observe_one)(void *handle, struct weir_key key);
    enum weir_verdict (*ask_one)(void *handle, struct weir_key key);
    enum weir_status (*forget)(void *handle, struct weir_key key, bool *was_there,
                               struct weir_error *error);
    void (*measure)(void *handle, struct weir_stats *stats);
    batch_call observe, ask;
    enum weir_status (*view)(void **out, const void *data, size_t size, uint32_t shards,
                             struct weir_error *error);
    const char *of_view, *of_set; /* why a view or a fixed set cannot observe keys */
    const char *of_shards;        /* why shards cannot be loaded, or NULL */
};

/* The calls of `calls` (weir, weir_sketch ...) for a handle_class, and their initializers: those of
 * every class, and those of all but Shared. */
#define COMMON_INIT(prefix)                                                                        \
    .close = prefix##_close, .config = prefix##_config, .advance = prefix##_advance,               \
    .save = prefix##_save, .load = prefix##_load
#define COMMON_CALLS(prefix, calls, handle_type)                                                   \
    static void prefix##_close(void *handle)                                                       \
    {                                                                                              \
        calls##_close(handle);                                                                     \
    }                                                                                              \
    static size_t prefix##_config(const void *handle, char *text, size_t size)                     \
    {                                                                                              \
        return calls##_config(handle, text, size);                                                 \
    }                                                                                              \
    static void prefix##_advance(void *handle, uint64_t now)                                       \
    {                                                                                              \
        calls##_advance(handle, now);                                                              \
    }                                                                                              \
    static enum weir_status prefix##_save(void *handle, weir_sink sink, void *context,             \
                                          struct weir_error *error)                                \
    {                                                                                              \
        return calls##_save_stream(handle, sink, context, error);                                  \
    }                                                                                              \
    static enum weir_status prefix##_load(void **out, const void *data, size_t size,               \
                                          struct weir_error *error)                                \
    {                                                                                              \
        handle_type *handle = NULL;                                                                \
        enum weir_status status = calls##_load_buffer(&handle, data, size, NULL, NULL, error);     \
                                                                                                   \
        *out = handle;                                                                             \
        return status;                                                                             \
    }

#define HANDLE_INIT                                                                                \
    COMMON_INIT(call), .open = call_open, .clear = call_clear, .clone = call_clone,                \
                       .merge = call_merge, .saved_size = call_saved_size
#define HANDLE_CALLS(calls, handle_type)                                                           \
    COMMON_CALLS(call, calls, handle_type)                                                         \
    static enum weir_status call_open(void **out, const char *spec, uint32_t shards,               \
                                      const struct weir_options *options,                          \
                                      struct weir_error *error)                                    \
    {                                                                                              \
        handle_type *handle = NULL;                                                                \
        enum weir_status status = calls##_open_with(&handle, spec, options, error);                \
                                                                                                   \
        (void)shards;                                                                              \
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

/* The thread in a call. The flag is accessed with the GIL; threads without it wait for the lock. */
struct handle_use {
    PyThread_type_lock lock;
    unsigned long owner;
    bool taken;
};

/* When to compare a filter's error with its limit. */
struct saturation {
    double limit; /* fpr= of the spec; 0: not yet known */
    uint64_t observed, next;
    bool warned;
};

struct handle_object {
    PyObject_HEAD const struct handle_class *class;
    void *handle; /* NULL after its memory is freed */
    struct handle_use use;
    unsigned calls; /* running calls, if concurrent; accessed with the GIL */
    bool is_closed;
    bool observes; /* keys can be recorded: neither a view nor a fixed set */
    struct hasher hash;
    struct saturation saturation;
    Py_buffer view;                      /* the bytes of a view */
    char keys[WEIR_KEY_DESCRIPTION_MAX]; /* how the keys of its file were made, or "" */
    PyObject *weak_references;
};

/* Create an object from a handle, which it owns; on failure the handle is closed. With `view` (else
 * NULL) it is a view of these bytes, which it owns too. */
PyObject *object_wrap(PyTypeObject *type, const struct handle_class *class, void *handle,
                      Py_buffer *view);

/* Open a handle with the arguments of a constructor, (spec='', *, max_bytes=0, **parameters), with
 * shards if the class has them, and with a store if `store` is not NULL; load saved bytes. */
PyObject *object_new(PyTypeObject *type, const struct handle_class *class, PyObject *args,
                     PyObject *named, PyObject **store);
PyObject *object_load(PyTypeObject *type, const struct handle_class *class, PyObject *source,
                      bool keys_differ, bool as_view);

/* Get saved bytes from a path, an open file or bytes. False with an exception. */
bool saved_open(Py_buffer *saved, PyObject *source);

void object_dealloc(PyObject *self);

/* The handle, once no other thread is in a call. NULL with an exception if it is closed, or if this
 * thread is already in a call: a store that uses its own screen. */
void *object_ready(PyObject *self);

/* The same for a handle that must be able to observe keys. */
void *object_observing(PyObject *self);

/* Does the filter have ttl=? False with an exception if not. */
bool object_expires(PyObject *self);

/* Begin and end a call without the GIL. */
bool object_enter(PyObject *self);
void object_leave(PyObject *self);

/* Count observed keys and warn once if the filter exceeds its error. Called with the GIL, outside
 * of calls. False with an exception if warnings are errors. */
bool object_count_observed(PyObject *self, uint64_t n);

/* Methods of several classes, besides those of the base types. */
PyObject *object_close(PyObject *self, PyObject *unused);
PyObject *object_with(PyObject *self, PyObject *none);
PyObject *object_advance(PyObject *self, PyObject *time);
PyObject *object_copy(PyObject *self, PyObject *memo);
PyObject *object_load_method(PyObject *type, PyObject *args, PyObject *named);
PyObject *object_view_method(PyObject *type, PyObject *args, PyObject *named);

#define ADVANCE_DOC                                                                                \
    "advance($self, time, /)\n--\n\n"                                                              \
    "Set the current time, for specs that use time (span=, half-life=1h): milliseconds or a\n"     \
    "datetime. Earlier times are ignored."

#define METHODS_OF_COPY(copy)                                                                      \
    {"copy", copy, METH_NOARGS, "copy($self, /)\n--\n\nReturn a copy with its own memory."},       \
        {"__copy__", copy, METH_NOARGS, "As copy()."},                                             \
    {                                                                                              \
        "__deepcopy__", copy, METH_O, "As copy()."                                                 \
    }

/* The base types: of all classes but Builder, and of those that can be cleared, copied, merged. */
extern PyTypeObject *handle_type, *single_type;

/* ---- py_batch.c: batches of hashed keys ---- */

/* The arguments of a batch; NULL stands for None. */
struct batch_arguments {
    PyObject *keys, *size, *importance, *times, *ttl;
    int skipna;
};

/* What a batch returns. */
enum batch_result { BATCH_NONE, BATCH_VERDICTS };

/* Process a batch. Keys are hashed with the GIL and processed without it. If the iterable raises,
 * the keys before that have been processed. */
PyObject *batch_run(PyObject *self, batch_call call, const struct batch_arguments *a,
                    enum batch_result result);

PyObject *filter_observe_many(PyObject *self, PyObject *args, PyObject *named);
PyObject *filter_update(PyObject *self, PyObject *args, PyObject *named);
PyObject *filter_ask_many(PyObject *self, PyObject *args, PyObject *named);

/* A weir.Stats. */
PyObject *stats_record(const struct weir_stats *stats);

/* ---- the classes that load() finds by their type: py_filter.c, py_sketch.c ---- */

extern struct handle_class filter_class, shared_class, sketch_class;

#endif
