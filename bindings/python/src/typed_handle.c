/* typed_handle.c - see typed_handle.h. */
#include "typed_handle.h"

#include <string.h>

/* ---- one call at a time ---- */

static void wait_without_gil(PyThread_type_lock lock)
{
    Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(lock, WAIT_LOCK);
    PyThread_release_lock(lock);
    Py_END_ALLOW_THREADS
}

/* Until no thread is in a call. The handle may have been closed meanwhile. */
static bool wait_for_others(struct typed_handle_use *u)
{
    while (u->taken) {
        if (u->owner == PyThread_get_thread_ident()) {
            PyErr_SetString(PyExc_RuntimeError, "a store cannot use the screen that is asking it");
            return false;
        }
        wait_without_gil(u->lock);
    }
    return true;
}

static void take(struct typed_handle_use *u)
{
    u->taken = true;
    u->owner = PyThread_get_thread_ident();
    PyThread_acquire_lock(u->lock, WAIT_LOCK); /* one who waited may have it for an instant */
}

static bool is_closed(const struct typed_handle_object *o)
{
    return o->is_closed || !o->handle;
}

void *typed_handle_ready(PyObject *self)
{
    struct typed_handle_object *o = (struct typed_handle_object *)self;

    if (!wait_for_others(&o->use))
        return NULL;
    if (!is_closed(o))
        return o->handle;
    PyErr_SetString(PyExc_ValueError, o->kind->closed);
    return NULL;
}

void *typed_handle_observing(PyObject *self)
{
    const struct typed_handle_object *o = (struct typed_handle_object *)self;
    void *handle = typed_handle_ready(self);

    if (!handle || o->observes)
        return handle;
    return raise_status(WEIR_UNSUPPORTED, o->is_view ? o->kind->of_view : o->kind->of_set);
}

bool typed_handle_enter(PyObject *self)
{
    struct typed_handle_object *o = (struct typed_handle_object *)self;

    if (!typed_handle_ready(self))
        return false;
    if (o->kind->many_threads)
        o->calls++;
    else
        take(&o->use);
    return true;
}

/* ---- life ---- */

static void give_back(struct typed_handle_object *o)
{
    void *handle = o->handle;

    o->handle = NULL;
    if (handle)
        o->kind->close(handle);
    saved_close(&o->lent);
}

void typed_handle_leave(PyObject *self)
{
    struct typed_handle_object *o = (struct typed_handle_object *)self;

    if (o->kind->many_threads) {
        if (--o->calls == 0 && o->is_closed)
            give_back(o);
    } else {
        o->use.taken = false;
        PyThread_release_lock(o->use.lock);
    }
}

/* How its keys are hashed, and whether it takes any. */
static void read_config(struct typed_handle_object *o)
{
    char config[WEIR_SPEC_MAX];
    uint64_t traits = 0;

    o->kind->config(o->handle, config, sizeof config);
    o->hash = hasher_of(config);
    o->observes =
        !o->kind->observe ||
        (!o->is_view && weir_spec_traits(WEIR_KIND_FILTER, config, &traits, NULL) == WEIR_OK &&
         traits & WEIR_CAN_OBSERVE);
}

PyObject *typed_handle_wrap(PyTypeObject *type, const struct typed_handle_kind *kind, void *handle,
                            struct saved_bytes *lent)
{
    struct typed_handle_object *o = (struct typed_handle_object *)PyType_GenericAlloc(type, 0);

    if (!o) {
        kind->close(handle);
        if (lent)
            saved_close(lent);
        return NULL;
    }
    o->kind = kind;
    o->handle = handle;
    o->is_view = lent != NULL;
    if (lent)
        o->lent = *lent;
    read_config(o);
    o->use.lock = PyThread_allocate_lock();
    if (o->use.lock)
        return (PyObject *)o;
    PyErr_NoMemory();
    Py_DECREF(o);
    return NULL;
}

PyObject *typed_handle_open(PyTypeObject *type, const struct typed_handle_kind *kind,
                            const char *spec, uint64_t max_bytes)
{
    struct weir_options options = {.size = sizeof options, .max_bytes = max_bytes};
    struct weir_error error;
    enum weir_status status;
    void *handle;

    Py_BEGIN_ALLOW_THREADS status = kind->open(&handle, spec, &options, &error);
    Py_END_ALLOW_THREADS return status == WEIR_OK ? typed_handle_wrap(type, kind, handle, NULL)
                                                  : raise_error(&error);
}

void typed_handle_dealloc(PyObject *self)
{
    struct typed_handle_object *o = (struct typed_handle_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    give_back(o);
    if (o->use.lock)
        PyThread_free_lock(o->use.lock);
    release(self);
    Py_DECREF(type);
}

PyObject *typed_handle_close(PyObject *self, PyObject *unused)
{
    struct typed_handle_object *o = (struct typed_handle_object *)self;

    (void)unused;
    if (!wait_for_others(&o->use))
        return NULL;
    o->is_closed = true;
    if (o->calls == 0)
        give_back(o);
    Py_RETURN_NONE;
}

PyObject *typed_handle_enter_with(PyObject *self, PyObject *none)
{
    (void)none;
    return typed_handle_ready(self) ? Py_NewRef(self) : NULL;
}

/* ---- the whole ---- */

/* A call that is over in a microsecond keeps the GIL, unless another thread may be in a batch. */
PyObject *typed_handle_advance(PyObject *self, PyObject *time)
{
    const struct typed_handle_object *o = (struct typed_handle_object *)self;
    PyThreadState *thread = NULL;
    uint64_t now;

    if (!number_read(time, "time", UINT64_MAX, &now) || !typed_handle_enter(self))
        return NULL;
    if (o->kind->many_threads)
        thread = PyEval_SaveThread();
    o->kind->advance(o->handle, now);
    if (thread)
        PyEval_RestoreThread(thread);
    typed_handle_leave(self);
    Py_RETURN_NONE;
}

PyObject *typed_handle_clear(PyObject *self, PyObject *none)
{
    struct typed_handle_object *o = (struct typed_handle_object *)self;

    (void)none;
    if (!typed_handle_observing(self) || !typed_handle_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS o->kind->clear(o->handle);
    Py_END_ALLOW_THREADS typed_handle_leave(self);
    Py_RETURN_NONE;
}

PyObject *typed_handle_copy(PyObject *self, PyObject *memo)
{
    struct typed_handle_object *o = (struct typed_handle_object *)self;
    struct weir_error error;
    PyObject *out;
    void *handle;

    (void)memo;
    if (!typed_handle_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS handle = o->kind->clone(o->handle, &error);
    Py_END_ALLOW_THREADS typed_handle_leave(self);
    if (!handle)
        return raise_error(&error);
    out = typed_handle_wrap(Py_TYPE(self), o->kind, handle, NULL);
    if (out)
        memcpy(((struct typed_handle_object *)out)->keys, o->keys, sizeof o->keys);
    return out;
}

/* The one of the lower address first, so that two threads do not wait for each other. */
static bool enter_both(PyObject *a, PyObject *b)
{
    PyObject *first = a < b ? a : b, *second = a < b ? b : a;

    for (;;) { /* while one was waited for, the other may have been taken or closed */
        if (!typed_handle_ready(a) || !typed_handle_ready(b))
            return false;
        if (!((struct typed_handle_object *)a)->use.taken &&
            !((struct typed_handle_object *)b)->use.taken)
            return typed_handle_enter(first) && (first == second || typed_handle_enter(second));
    }
}

PyObject *typed_handle_merge(PyObject *self, PyObject *other)
{
    struct typed_handle_object *into = (struct typed_handle_object *)self, *from;
    struct weir_error error;
    enum weir_status status;

    if (!PyObject_TypeCheck(other, Py_TYPE(self)))
        return PyErr_Format(PyExc_TypeError, "merge() takes another weir.%s", into->kind->name);
    from = (struct typed_handle_object *)other;
    if (strcmp(into->keys, from->keys) != 0)
        return raise_status(WEIR_MISMATCH, "the keys of the two were made in different ways; "
                                           "their attribute keys says how");
    if (!enter_both(self, other))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = into->kind->merge(into->handle, from->handle, &error);
    Py_END_ALLOW_THREADS if (from != into) typed_handle_leave(other);
    typed_handle_leave(self);
    if (status != WEIR_OK)
        return raise_error(&error);
    Py_RETURN_NONE;
}

/* ---- saved ---- */

PyObject *typed_handle_save(PyObject *self, PyObject *path)
{
    struct typed_handle_object *o = (struct typed_handle_object *)self;
    PyObject *out;

    if (!typed_handle_enter(self))
        return NULL;
    out = saved_write(path, o->keys, o->kind->save, o->handle);
    typed_handle_leave(self);
    return out;
}

PyObject *typed_handle_tobytes(PyObject *self, PyObject *none)
{
    struct typed_handle_object *o = (struct typed_handle_object *)self;
    PyObject *out;

    (void)none;
    if (!typed_handle_enter(self))
        return NULL;
    out = saved_bytes_of(o->keys, o->kind->save, o->handle, o->kind->saved_size(o->handle));
    typed_handle_leave(self);
    return out;
}

PyObject *typed_handle_reduce(PyObject *self, PyObject *none)
{
    PyObject *bytes = typed_handle_tobytes(self, none);
    PyObject *load =
        bytes ? saved_loader((PyObject *)Py_TYPE(self), ((struct typed_handle_object *)self)->keys)
              : NULL;
    PyObject *out = load ? Py_BuildValue("O(O)", load, bytes) : NULL;

    Py_XDECREF(load);
    Py_XDECREF(bytes);
    return out;
}

PyObject *typed_handle_load(PyTypeObject *type, const struct typed_handle_kind *kind,
                            struct saved_bytes *saved, const char *keys, bool as_view)
{
    enum weir_status status = WEIR_BAD_DATA;
    struct weir_error error;
    PyObject *out;
    const void *data;
    size_t size;
    uint32_t shards = 1;
    void *handle = NULL;
    bool found = saved_find(saved, kind->parts, kind->what, &data, &size, &shards);

    if (found && kind->of_shards && shards > 1) {
        raise_status(WEIR_UNSUPPORTED, kind->of_shards);
        found = false;
    }
    if (found) {
        Py_BEGIN_ALLOW_THREADS status = as_view ? kind->view(&handle, data, size, shards, &error)
                                                : kind->load(&handle, data, size, &error);
        Py_END_ALLOW_THREADS
    }
    if (status != WEIR_OK || !as_view)
        saved_close(saved);
    if (status != WEIR_OK)
        return found ? raise_error(&error) : NULL;
    out = typed_handle_wrap(type, kind, handle, as_view ? saved : NULL);
    if (out)
        memcpy(((struct typed_handle_object *)out)->keys, keys, strlen(keys) + 1);
    return out;
}

/* ---- attributes ---- */

PyObject *typed_handle_config(PyObject *self, void *unused)
{
    const struct typed_handle_object *o = (struct typed_handle_object *)self;
    char text[WEIR_SPEC_MAX];

    (void)unused;
    if (!typed_handle_ready(self))
        return NULL;
    o->kind->config(o->handle, text, sizeof text);
    return PyUnicode_FromString(text);
}

PyObject *typed_handle_closed(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(is_closed((struct typed_handle_object *)self));
}

PyObject *typed_handle_keys(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(((struct typed_handle_object *)self)->keys);
}

PyObject *typed_handle_repr(PyObject *self)
{
    const struct typed_handle_object *o = (struct typed_handle_object *)self;
    PyObject *text, *out;

    if (is_closed(o))
        return PyUnicode_FromFormat("<weir.%s, closed>", o->kind->name);
    text = typed_handle_config(self, NULL);
    out = text ? PyUnicode_FromFormat("<weir.%s %R>", o->kind->name, text) : NULL;
    Py_XDECREF(text);
    return out;
}
