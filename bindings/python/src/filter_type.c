/* filter_type.c - weir.Filter: a handle on a filter, its life and its answers.
 * filter_saved.c has what is saved, loaded and looked at. */
#include "filter_type.h"

#include <string.h>

#include "filter_methods.h"
#include "show_keys.h"

PyTypeObject *filter_type;
static PyTypeObject *stats_type;

/* ---- life ---- */

static void describe(struct filter_object *f)
{
    char config[WEIR_SPEC_MAX];
    uint64_t traits = 0;

    weir_config(f->w, config, sizeof config);
    f->hash = hasher_of(config);
    f->learns = !f->is_view &&
                weir_spec_traits(WEIR_KIND_FILTER, config, &traits, NULL) == WEIR_OK &&
                traits & WEIR_CAN_OBSERVE;
}

PyObject *filter_wrap(weir_filter *w, struct saved_bytes *lent)
{
    struct filter_object *f = PyObject_New(struct filter_object, filter_type);

    if (f) {
        f->w = w;
        f->is_view = lent != NULL;
        *f->keys = '\0';
        f->lent = lent ? *lent : (struct saved_bytes){.data = NULL};
        describe(f);
        if (handle_use_open(&f->use))
            return (PyObject *)f;
        Py_DECREF(f);
        return NULL;
    }
    weir_close(w);
    if (lent)
        saved_close(lent);
    return NULL;
}

static void close_handle(struct filter_object *f)
{
    weir_filter *w = f->w;

    f->w = NULL;
    weir_close(w);
    saved_close(&f->lent);
}

static void dealloc(PyObject *self)
{
    struct filter_object *f = (struct filter_object *)self;
    PyTypeObject *type = Py_TYPE(self);

    close_handle(f);
    handle_use_close(&f->use);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *new_filter(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = {"spec", "max_bytes", NULL};
    const char *spec = "";
    unsigned long long max_bytes = 0;
    struct weir_options options = {.size = sizeof options};
    struct weir_error error;
    enum weir_status status;
    weir_filter *w;

    (void)type;
    if (!PyArg_ParseTupleAndKeywords(args, named, "|s$K", names, &spec, &max_bytes))
        return NULL;
    options.max_bytes = max_bytes;
    Py_BEGIN_ALLOW_THREADS status = weir_open_with(&w, spec, &options, &error);
    Py_END_ALLOW_THREADS return status == WEIR_OK ? filter_wrap(w, NULL) : raise_error(&error);
}

weir_filter *filter_ready(struct filter_object *f)
{
    if (!handle_wait(&f->use))
        return NULL;
    if (!f->w)
        PyErr_SetString(PyExc_ValueError, "this filter is closed");
    return f->w;
}

weir_filter *filter_learning(struct filter_object *f)
{
    weir_filter *w = filter_ready(f);

    if (w && !f->learns) {
        raise_status(WEIR_UNSUPPORTED, f->is_view
                                           ? "a view of a saved filter is for asking; weir.load() "
                                             "gives one that can observe keys"
                                           : "this filter is of a set that never changes; "
                                             "weir.build() makes another");
        return NULL;
    }
    return w;
}

static bool enter(PyObject *self)
{
    struct filter_object *f = (struct filter_object *)self;

    return filter_ready(f) && handle_take(&f->use);
}

static void leave(PyObject *self)
{
    handle_give(&((struct filter_object *)self)->use);
}

static PyObject *close_filter(PyObject *self, PyObject *none)
{
    struct filter_object *f = (struct filter_object *)self;

    (void)none;
    if (!handle_wait(&f->use))
        return NULL;
    close_handle(f);
    Py_RETURN_NONE;
}

static PyObject *enter_with(PyObject *self, PyObject *none)
{
    (void)none;
    return filter_ready((struct filter_object *)self) ? Py_NewRef(self) : NULL;
}

static PyObject *exit_with(PyObject *self, PyObject *args)
{
    (void)args;
    return close_filter(self, NULL);
}

/* ---- one key ---- */

/* What may be said of a key beside it. */
struct key_given {
    PyObject *importance, *time;
};

/* The arguments of observe(), without the cost of PyArg_ParseTupleAndKeywords(). */
static bool read_given(PyObject *const *args, Py_ssize_t n, PyObject *names, struct key_given *g)
{
    Py_ssize_t named = names ? PyTuple_Size(names) : 0;

    if (n != 1) {
        PyErr_SetString(PyExc_TypeError, "observe() takes one key; observe_many() takes more");
        return false;
    }
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GetItem(names, i);

        if (PyUnicode_CompareWithASCIIString(name, "importance") == 0) {
            g->importance = args[n + i];
        } else if (PyUnicode_CompareWithASCIIString(name, "time") == 0) {
            g->time = args[n + i];
        } else {
            PyErr_Format(PyExc_TypeError, "observe() takes no argument %R", name);
            return false;
        }
    }
    return true;
}

static PyObject *observe(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    struct filter_object *f = (struct filter_object *)self;
    struct key_given given = {Py_None, Py_None};
    struct weir_key key;
    uint64_t importance = 1, now = 0;
    weir_filter *w;

    if (!read_given(args, n, names, &given) || !key_hash(args[0], f->hash, &key))
        return NULL;
    if (given.importance != Py_None &&
        !number_read(given.importance, "importance", UINT32_MAX, &importance))
        return NULL;
    if (given.time != Py_None && !number_read(given.time, "time", numbers_latest_time(), &now))
        return NULL;
    w = filter_learning(f);
    if (!w)
        return NULL;
    key.importance = (uint32_t)importance;
    if (given.time != Py_None)
        weir_advance(w, now);
    return PyBool_FromLong(weir_observe(w, key) == WEIR_SEEN);
}

static int contains(PyObject *self, PyObject *object)
{
    struct filter_object *f = (struct filter_object *)self;
    struct weir_key key;
    weir_filter *w;

    if (!key_hash(object, f->hash, &key))
        return -1;
    w = filter_ready(f);
    return w ? weir_ask(w, key) == WEIR_SEEN : -1;
}

static PyObject *ask(PyObject *self, PyObject *object)
{
    int seen = contains(self, object);

    return seen < 0 ? NULL : PyBool_FromLong(seen);
}

static PyObject *count(PyObject *self, PyObject *object)
{
    struct filter_object *f = (struct filter_object *)self;
    struct weir_key key;
    weir_filter *w;

    if (!key_hash(object, f->hash, &key))
        return NULL;
    w = filter_ready(f);
    return w ? PyLong_FromUnsignedLong(weir_count(w, key)) : NULL;
}

static PyObject *forget(PyObject *self, PyObject *object)
{
    struct filter_object *f = (struct filter_object *)self;
    struct weir_error error;
    struct weir_key key;
    bool was_there = false;
    weir_filter *w;

    if (!key_hash(object, f->hash, &key))
        return NULL;
    w = filter_ready(f);
    if (!w)
        return NULL;
    if (weir_forget(w, key, &was_there, &error) != WEIR_OK)
        return raise_error(&error);
    return PyBool_FromLong(was_there);
}

/* ---- many keys ---- */

static enum weir_status show_observe(PyObject *self, const struct weir_key *keys,
                                     const uint64_t *times, size_t n, uint8_t *verdicts,
                                     struct weir_error *error)
{
    weir_filter *w = ((struct filter_object *)self)->w;

    (void)error;
    if (times)
        weir_observe_many_at(w, keys, times, n, verdicts);
    else
        weir_observe_many(w, keys, n, verdicts);
    return WEIR_OK;
}

static enum weir_status show_ask(PyObject *self, const struct weir_key *keys, const uint64_t *times,
                                 size_t n, uint8_t *verdicts, struct weir_error *error)
{
    (void)times;
    (void)error;
    weir_ask_many(((struct filter_object *)self)->w, keys, n, verdicts);
    return WEIR_OK;
}

static PyObject *observe_many(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"keys", "size", "importance", "times", NULL};
    struct filter_object *f = (struct filter_object *)self;
    struct shown_to to = {self, f->hash, enter, leave, show_observe};
    struct batch_given given = {NULL};

    if (!PyArg_ParseTupleAndKeywords(args, named, "O|$OOO", names, &given.keys, &given.size,
                                     &given.importance, &given.times) ||
        !filter_learning(f))
        return NULL;
    return show_keys(&to, &given, true);
}

static PyObject *ask_many(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"keys", "size", NULL};
    struct filter_object *f = (struct filter_object *)self;
    struct shown_to to = {self, f->hash, enter, leave, show_ask};
    struct batch_given given = {NULL};

    if (!PyArg_ParseTupleAndKeywords(args, named, "O|$O", names, &given.keys, &given.size))
        return NULL;
    return show_keys(&to, &given, true);
}

/* ---- the whole ---- */

static PyObject *advance(PyObject *self, PyObject *time)
{
    uint64_t now;
    weir_filter *w;

    if (!number_read(time, "time", UINT64_MAX, &now))
        return NULL;
    w = filter_ready((struct filter_object *)self);
    if (!w)
        return NULL;
    weir_advance(w, now);
    Py_RETURN_NONE;
}

static PyObject *clear(PyObject *self, PyObject *none)
{
    struct filter_object *f = (struct filter_object *)self;

    (void)none;
    if (!filter_learning(f) || !handle_take(&f->use))
        return NULL;
    Py_BEGIN_ALLOW_THREADS weir_clear(f->w);
    Py_END_ALLOW_THREADS handle_give(&f->use);
    Py_RETURN_NONE;
}

static PyObject *copy(PyObject *self, PyObject *none)
{
    struct filter_object *f = (struct filter_object *)self;
    struct weir_error error;
    weir_filter *w;

    (void)none;
    if (!enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS w = weir_clone(f->w, &error);
    Py_END_ALLOW_THREADS leave(self);
    if (!w)
        return raise_error(&error);
    PyObject *out = filter_wrap(w, NULL);
    if (out)
        memcpy(((struct filter_object *)out)->keys, f->keys, sizeof f->keys);
    return out;
}

/* The one of the lower address first, so that two threads do not wait for each other. */
static bool take_both(struct filter_object *a, struct filter_object *b)
{
    struct filter_object *first = a < b ? a : b, *second = a < b ? b : a;

    for (;;) { /* while one was waited for, the other may have been taken or closed */
        if (!filter_ready(a) || !filter_ready(b))
            return false;
        if (!a->use.taken && !b->use.taken)
            return handle_take(&first->use) && (first == second || handle_take(&second->use));
    }
}

static PyObject *merge(PyObject *self, PyObject *other)
{
    struct filter_object *into = (struct filter_object *)self, *from;
    struct weir_error error;
    enum weir_status status;

    if (!PyObject_TypeCheck(other, filter_type)) {
        PyErr_SetString(PyExc_TypeError, "merge() takes another weir.Filter");
        return NULL;
    }
    from = (struct filter_object *)other;
    if (strcmp(into->keys, from->keys) != 0)
        return raise_status(WEIR_MISMATCH, "the keys of the two were made in different ways; "
                                           "their attribute keys says how");
    if (!take_both(into, from))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = weir_merge(into->w, from->w, &error);
    Py_END_ALLOW_THREADS if (from != into) handle_give(&from->use);
    handle_give(&into->use);
    if (status != WEIR_OK)
        return raise_error(&error);
    Py_RETURN_NONE;
}

/* ---- what it knows of itself ---- */

static PyStructSequence_Field stats_fields[] = {
    {"memory", "bytes of cells, at most memory="},
    {"bytes", "all memory of the handle"},
    {"observed", "keys observed"},
    {"seen", "of these, reported as seen"},
    {"new_keys", "of these, reported as new"},
    {"fill", "share of cells in use"},
    {"error", "current false-positive rate"},
    {"lost", "keys evicted before the end of window= or span=: not enough memory"},
    {"overflow", "observations that a full filter could not store"},
    {NULL, NULL},
};

static PyStructSequence_Desc stats_desc = {"weir.Stats", "Statistics of a filter.", stats_fields,
                                           9};

PyObject *stats_record(const struct weir_stats *s)
{
    PyObject *values[] = {PyLong_FromUnsignedLongLong(s->memory),
                          PyLong_FromUnsignedLongLong(s->bytes),
                          PyLong_FromUnsignedLongLong(s->observed),
                          PyLong_FromUnsignedLongLong(s->seen),
                          PyLong_FromUnsignedLongLong(s->new_keys),
                          PyFloat_FromDouble(s->fill),
                          PyFloat_FromDouble(s->error),
                          PyLong_FromUnsignedLongLong(s->lost),
                          PyLong_FromUnsignedLongLong(s->overflow)};

    return record_of(stats_type, values, 9);
}

static PyObject *stats(PyObject *self, PyObject *none)
{
    struct filter_object *f = (struct filter_object *)self;
    struct weir_stats s;

    (void)none;
    if (!enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS weir_measure(f->w, &s, sizeof s);
    Py_END_ALLOW_THREADS leave(self);
    return stats_record(&s);
}

static PyObject *config(PyObject *self, void *unused)
{
    weir_filter *w = filter_ready((struct filter_object *)self);
    char text[WEIR_SPEC_MAX];

    (void)unused;
    if (!w)
        return NULL;
    weir_config(w, text, sizeof text);
    return PyUnicode_FromString(text);
}

static PyObject *closed(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((struct filter_object *)self)->w == NULL);
}

static PyObject *repr(PyObject *self)
{
    PyObject *text, *out;

    if (!((struct filter_object *)self)->w)
        return PyUnicode_FromString("<weir.Filter, closed>");
    text = config(self, NULL);
    out = text ? PyUnicode_FromFormat("<weir.Filter %R>", text) : NULL;
    Py_XDECREF(text);
    return out;
}

static PyObject *keys(PyObject *self, void *none)
{
    (void)none;
    return PyUnicode_FromString(((struct filter_object *)self)->keys);
}

/* ---- the type ---- */

static PyMethodDef methods[] = {
    {"observe", METHOD(observe), METH_FASTCALL | METH_KEYWORDS, OBSERVE_DOC},
    {"observe_many", METHOD(observe_many), METH_VARARGS | METH_KEYWORDS, OBSERVE_MANY_DOC},
    {"ask", ask, METH_O, ASK_DOC},
    {"ask_many", METHOD(ask_many), METH_VARARGS | METH_KEYWORDS, ASK_MANY_DOC},
    {"count", count, METH_O, COUNT_DOC},
    {"forget", forget, METH_O, FORGET_DOC},
    {"advance", advance, METH_O, ADVANCE_DOC},
    {"clear", clear, METH_NOARGS, CLEAR_DOC},
    {"merge", merge, METH_O, MERGE_DOC},
    {"copy", copy, METH_NOARGS, COPY_DOC},
    {"__copy__", copy, METH_NOARGS, COPY_DOC},
    {"__deepcopy__", copy, METH_O, COPY_DOC},
    {"stats", stats, METH_NOARGS, STATS_DOC},
    {"save", filter_save, METH_O, SAVE_DOC},
    {"tobytes", filter_tobytes, METH_NOARGS, TOBYTES_DOC},
    {"load", METHOD(filter_load), METH_VARARGS | METH_KEYWORDS | METH_CLASS, LOAD_DOC},
    {"view", METHOD(filter_view), METH_VARARGS | METH_KEYWORDS | METH_CLASS, VIEW_DOC},
    {"__reduce__", filter_reduce, METH_NOARGS, "For pickle: the saved bytes."},
    {"close", close_filter, METH_NOARGS, CLOSE_DOC},
    {"__enter__", enter_with, METH_NOARGS, "The filter itself."},
    {"__exit__", exit_with, METH_VARARGS, "Close it."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef properties[] = {
    {"config", config, NULL, "The spec in full: it opens an equal filter.", NULL},
    {"keys", keys, NULL, "How the file it was loaded from describes its keys; empty: as given.",
     NULL},
    {"closed", closed, NULL, "Whether it was closed.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {{Py_tp_new, new_filter},    {Py_tp_dealloc, dealloc},
                              {Py_tp_doc, FILTER_DOC},    {Py_tp_methods, methods},
                              {Py_tp_getset, properties}, {Py_tp_repr, repr},
                              {Py_sq_contains, contains}, {0, NULL}};

static PyType_Spec spec = {"weir.Filter", sizeof(struct filter_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};

bool filter_add(PyObject *module)
{
    filter_type = type_add(module, &spec, "Filter");
    stats_type = record_add(module, &stats_desc, "Stats");
    return filter_type && stats_type;
}
