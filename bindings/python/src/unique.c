/* unique.c - the iterator behind weir.unique(): items whose key is new, in their order.
 *
 * Items of a list or tuple are looked at ahead, so that the filter's memory can be fetched
 * ahead; those of any other iterable one by one, so that it never waits for more than the
 * next item. Looking ahead shows the filter keys that may never be asked for: so it is done
 * only where the filter is ours. */
#include "typed_handle.h"

#define AHEAD 256
#define PASSED 1024 /* items that were seen, between two looks at signals: Ctrl-C among repeats */

struct unique_object {
    PyObject_HEAD struct typed_handle_object *filter;
    PyObject *key; /* a function, or NULL */
    struct key_source source;
    bool is_open, looks_ahead, is_running;
    PyObject *items[AHEAD];
    struct weir_key keys[AHEAD];
    uint8_t seen[AHEAD];
    size_t at, n;
};

static PyTypeObject *unique_type;

static void drop_items(struct unique_object *u)
{
    while (u->at < u->n) {
        PyObject *item = u->items[u->at++];

        Py_DECREF(item);
    }
}

static int clear(PyObject *self)
{
    struct unique_object *u = (struct unique_object *)self;

    drop_items(u);
    if (u->is_open) {
        u->is_open = false;
        key_source_close(&u->source);
    }
    Py_CLEAR(u->filter);
    Py_CLEAR(u->key);
    return 0;
}

static int traverse(PyObject *self, visitproc visit, void *arg)
{
    struct unique_object *u = (struct unique_object *)self;

    Py_VISIT(Py_TYPE(self));
    Py_VISIT(u->filter);
    Py_VISIT(u->key);
    if (u->is_open) {
        Py_VISIT(u->source.sequence);
        Py_VISIT(u->source.iterator);
    }
    for (size_t i = u->at; i < u->n; i++)
        Py_VISIT(u->items[i]);
    return 0;
}

static void dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    clear(self);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyObject *new_unique(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = {"iterable", "key", "filter", "ahead", NULL};
    PyObject *iterable, *key, *filter;
    struct unique_object *u;
    int ahead;

    if (!PyArg_ParseTupleAndKeywords(args, named, "OOO!p", names, &iterable, &key, filter_type,
                                     &filter, &ahead))
        return NULL;
    u = PyObject_GC_New(struct unique_object, type);
    if (!u)
        return NULL;
    u->filter = (struct typed_handle_object *)Py_NewRef(filter);
    u->key = key == Py_None ? NULL : Py_NewRef(key);
    u->at = u->n = 0;
    u->is_open = u->is_running = false;
    if (PyList_CheckExact(iterable) || PyTuple_CheckExact(iterable)) {
        u->is_open = key_source_open(&u->source, iterable, Py_None);
    } else { /* of anything else the items are wanted, of a str its characters */
        PyObject *iterator = PyObject_GetIter(iterable);

        u->is_open = iterator && key_source_open(&u->source, iterator, Py_None);
        Py_XDECREF(iterator);
    }
    if (!u->is_open) {
        Py_DECREF(u);
        return NULL;
    }
    u->looks_ahead = ahead && !u->key && u->source.sequence;
    PyObject_GC_Track((PyObject *)u);
    return (PyObject *)u;
}

/* ---- one by one ---- */

/* Whether the key of an item was seen; -1 with an exception. */
static int was_seen(struct unique_object *u, PyObject *item)
{
    PyObject *key = u->key ? PyObject_CallFunctionObjArgs(u->key, item, NULL) : Py_NewRef(item);
    struct key_view view;
    struct weir_key hashed;
    weir_filter *w = NULL;

    if (key && key_read(key, &u->source.room, &view)) {
        hashed = hash_bytes(u->filter->hash, view.bytes);
        key_release(&view);
        w = typed_handle_observing((PyObject *)u->filter);
    }
    Py_XDECREF(key);
    return w ? weir_observe(w, hashed) == WEIR_SEEN : -1;
}

static PyObject *next_one(struct unique_object *u)
{
    PyObject *item;
    size_t passed = 0;
    int seen;

    while (key_source_next(&u->source, &item) > 0) {
        seen = was_seen(u, item);
        if (seen == 0)
            return item;
        Py_DECREF(item);
        if (seen < 0 || (++passed % PASSED == 0 && PyErr_CheckSignals() < 0))
            return NULL;
    }
    return NULL;
}

/* ---- ahead ---- */

/* The next items and their verdicts; false at the end, or with an exception, after which
 * the items before it are still given. */
static bool look_ahead(struct unique_object *u)
{
    struct key_view view;
    PyObject *item;
    weir_filter *w;

    u->at = u->n = 0;
    while (u->n < AHEAD && key_source_next(&u->source, &item) > 0) {
        if (!key_read(item, &u->source.room, &view)) {
            Py_DECREF(item);
            if (u->n == 0)
                return false;
            PyErr_Clear(); /* again when those before it are gone */
            u->source.at--;
            break;
        }
        u->keys[u->n] = hash_bytes(u->filter->hash, view.bytes);
        key_release(&view);
        u->items[u->n++] = item;
    }
    w = u->n > 0 ? typed_handle_observing((PyObject *)u->filter) : NULL;
    if (w)
        weir_observe_many(w, u->keys, u->n, u->seen);
    else
        drop_items(u);
    return w != NULL;
}

static PyObject *next_ahead(struct unique_object *u)
{
    for (;;) {
        while (u->at < u->n) {
            size_t i = u->at++;
            PyObject *item = u->items[i];

            if (!u->seen[i])
                return item;
            Py_DECREF(item);
        }
        if (PyErr_CheckSignals() < 0 || !look_ahead(u))
            return NULL;
    }
}

static PyObject *next(PyObject *self)
{
    struct unique_object *u = (struct unique_object *)self;

    PyObject *item;

    if (!u->is_open)
        return NULL;
    if (u->is_running) {
        PyErr_SetString(PyExc_ValueError, "weir.unique() is already at its next item, in another "
                                          "thread or in its own key function");
        return NULL;
    }
    u->is_running = true;
    item = u->looks_ahead ? next_ahead(u) : next_one(u);
    u->is_running = false;
    return item;
}

static PyType_Slot slots[] = {{Py_tp_new, new_unique},
                              {Py_tp_dealloc, dealloc},
                              {Py_tp_traverse, traverse},
                              {Py_tp_clear, clear},
                              {Py_tp_iter, PyObject_SelfIter},
                              {Py_tp_iternext, next},
                              {Py_tp_doc, "The items of weir.unique()."},
                              {0, NULL}};

static PyType_Spec spec = {"weir._weir.Unique", sizeof(struct unique_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
                           slots};

bool unique_add(PyObject *module)
{
    unique_type = type_add(module, &spec, "Unique");
    return unique_type != NULL;
}
