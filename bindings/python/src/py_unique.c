/* py_unique.c - the iterator behind weir.unique(): items whose key is new, in their order.
 *
 * Without a filter of the caller's, unique() starts with a small filter, which fits into the cache,
 * and grows once: after `first_keys` new keys the small filter is only looked up, and a larger one
 * records the keys that it does not contain.
 *
 * Items of a list or tuple are hashed some hundred at a time, so that memory is prefetched. That
 * records keys before their items are requested, so it is done only without a filter of the
 * caller's. Items of any other iterable are read one by one, so that the iterator never waits for
 * more than the next item. */
#include "binding.h"

#include <string.h>

#define AHEAD 256
#define PASSED 1024 /* repeats between two checks for signals, such as Ctrl-C */

struct unique_object {
    PyObject_HEAD struct handle_object *filter, *larger; /* larger: NULL before growing */
    PyObject *key;                                       /* a function, or NULL */
    uint64_t first_keys;                                 /* new keys until it grows; 0: never */
    char grown[64];                                      /* spec of the larger filter */
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
    Py_CLEAR(u->larger);
    Py_CLEAR(u->key);
    return 0;
}

static int traverse(PyObject *self, visitproc visit, void *arg)
{
    struct unique_object *u = (struct unique_object *)self;

    Py_VISIT(Py_TYPE(self));
    Py_VISIT(u->filter);
    Py_VISIT(u->larger);
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

/* Item types are not checked here: an item need not be a key, because of key=, and items before a
 * wrong one are returned. */
static bool open_items(struct unique_object *u, PyObject *iterable)
{
    struct key_source *s = &u->source;

    memset(s, 0, sizeof *s);
    text_room_open(&s->room);
    s->is_list = PyList_CheckExact(iterable);
    if (s->is_list || PyTuple_CheckExact(iterable))
        s->sequence = Py_NewRef(iterable);
    else
        s->iterator = PyObject_GetIter(iterable);
    return s->sequence || s->iterator;
}

static PyObject *new_unique(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = {"iterable", "key", "filter", "ahead", "first_keys", "grown", NULL};
    PyObject *iterable, *key, *filter;
    struct unique_object *u;
    unsigned long long first_keys;
    const char *grown;
    int ahead;

    if (!PyArg_ParseTupleAndKeywords(args, named, "OOO!pKs", names, &iterable, &key,
                                     filter_class.type, &filter, &ahead, &first_keys, &grown))
        return NULL;
    u = PyObject_GC_New(struct unique_object, type);
    if (!u)
        return NULL;
    u->filter = (struct handle_object *)Py_NewRef(filter);
    u->larger = NULL;
    u->first_keys = first_keys;
    PyOS_snprintf(u->grown, sizeof u->grown, "%s seed=%llu", grown,
                  (unsigned long long)u->filter->hash.seed);
    u->key = key == Py_None ? NULL : Py_NewRef(key);
    u->at = u->n = 0;
    u->is_open = u->is_running = false;
    if (PyList_CheckExact(iterable) || PyTuple_CheckExact(iterable)) {
        u->is_open = open_items(u, iterable);
    } else { /* items of anything else, such as the characters of a str */
        PyObject *iterator = PyObject_GetIter(iterable);

        u->is_open = iterator && open_items(u, iterator);
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

/* ---- verdicts ---- */

/* Open the larger filter after first_keys new keys. */
static bool count_new(struct unique_object *u, size_t n)
{
    struct open_arguments a = {.max_bytes = 0};

    if (u->first_keys == 0)
        return true;
    if (u->first_keys > n) {
        u->first_keys -= n;
        return true;
    }
    u->first_keys = 0;
    strcpy(a.spec, u->grown);
    u->larger = (struct handle_object *)object_open(filter_class.type, &filter_class, &a);
    return u->larger != NULL;
}

/* Look a batch up in the first filter, and observe the keys that it does not contain in the larger
 * one. */
static void observe_both(const weir_filter *first, weir_filter *larger, const struct weir_key *keys,
                         size_t n, uint8_t *seen)
{
    struct weir_key rest[AHEAD];
    uint8_t verdicts[AHEAD];
    size_t left = 0, at = 0;

    weir_ask_many(first, keys, n, seen);
    for (size_t i = 0; i < n; i++)
        if (!seen[i])
            rest[left++] = keys[i];
    weir_observe_many(larger, rest, left, verdicts);
    for (size_t i = 0; i < n; i++)
        if (!seen[i])
            seen[i] = verdicts[at++];
}

/* Whether keys were seen. False with an exception. */
static bool observe(struct unique_object *u, const struct weir_key *keys, size_t n, uint8_t *seen)
{
    weir_filter *w = object_observing((PyObject *)u->filter);
    size_t fresh = 0;

    if (!w)
        return false;
    if (u->larger) {
        observe_both(w, u->larger->handle, keys, n, seen);
        return true;
    }
    weir_observe_many(w, keys, n, seen);
    for (size_t i = 0; i < n; i++)
        fresh += !seen[i];
    return count_new(u, fresh);
}

/* ---- one by one ---- */

/* Whether the key of an item was seen; -1 with an exception. */
static int was_seen(struct unique_object *u, PyObject *item)
{
    PyObject *key = u->key ? PyObject_CallFunctionObjArgs(u->key, item, NULL) : Py_NewRef(item);
    struct key_view view;
    struct weir_key hashed;
    uint8_t seen = 0;
    bool ok = key && key_read(key, &u->source.room, &view);

    if (ok) {
        hashed = hash_bytes(u->filter->hash, view.bytes);
        key_release(&view);
        ok = observe(u, &hashed, 1, &seen);
    }
    Py_XDECREF(key);
    return ok ? seen : -1;
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

/* Get the next items and their verdicts. False at the end, or with an exception; the items before
 * a failure are returned first. */
static bool look_ahead(struct unique_object *u)
{
    struct key_view view;
    PyObject *item;
    bool ok;

    u->at = u->n = 0;
    while (u->n < AHEAD && key_source_next(&u->source, &item) > 0) {
        if (!key_read(item, &u->source.room, &view)) {
            Py_DECREF(item);
            if (u->n == 0)
                return false;
            PyErr_Clear(); /* raised again after the items before it */
            u->source.at--;
            break;
        }
        u->keys[u->n] = hash_bytes(u->filter->hash, view.bytes);
        key_release(&view);
        u->items[u->n++] = item;
    }
    ok = u->n > 0 && observe(u, u->keys, u->n, u->seen);
    if (!ok)
        drop_items(u);
    return ok;
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
        PyErr_SetString(PyExc_ValueError,
                        "this weir.unique() is already running, in another thread "
                        "or in its own key function");
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
