/* filter_type.c - weir.Filter: seen before? */
#include "typed_handle.h"

#include <weir/saved.h>

PyTypeObject *filter_type;
static PyTypeObject *stats_type;

/* ---- the library's calls ---- */

HANDLE_CALLS_OF_ONE(weir, weir_filter)

HANDLE_CALLS_OF_FILTER(weir)

static enum weir_status call_view(void **out, const void *data, size_t size, uint32_t shards,
                                  struct weir_error *error)
{
    weir_filter *w = NULL;
    enum weir_status status = weir_view_buffer(&w, data, size, NULL, NULL, error);

    (void)shards;
    *out = w;
    return status;
}

const struct typed_handle_kind filter_typed_kind = {
    .name = "Filter",
    .what = "filter",
    .closed = "this filter is closed",
    .parts = 1u << WEIR_PART_FILTER,
    HANDLE_TABLE_OF_ONE,
    HANDLE_TABLE_OF_FILTER,
    .of_view = "a view of a saved filter is for asking; weir.load() gives one that can observe "
               "keys",
    .of_set = "this filter is of a set that never changes; weir.build() makes another",
    .of_shards = "this filter was saved in shards: weir.Shared.load() loads them, "
                 "weir.Shared.view() asks them",
};

/* ---- opened and loaded ---- */

static PyObject *new_filter(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = {"spec", "max_bytes", NULL};
    const char *spec = "";
    unsigned long long max_bytes = 0;

    if (!PyArg_ParseTupleAndKeywords(args, named, "|s$K", names, &spec, &max_bytes))
        return NULL;
    return typed_handle_open(type, &filter_typed_kind, spec, max_bytes);
}

PyObject *filter_load(PyTypeObject *type, const struct typed_handle_kind *kind, PyObject *args,
                      PyObject *named, bool as_view)
{
    char keys[WEIR_KEY_DESCRIPTION_MAX];
    struct saved_bytes saved;

    if (!saved_open_filter(&saved, args, named, keys))
        return NULL;
    return typed_handle_load(type, kind, &saved, keys, as_view);
}

static PyObject *load(PyObject *type, PyObject *args, PyObject *named)
{
    return filter_load((PyTypeObject *)type, &filter_typed_kind, args, named, false);
}

static PyObject *view(PyObject *type, PyObject *args, PyObject *named)
{
    return filter_load((PyTypeObject *)type, &filter_typed_kind, args, named, true);
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
    struct typed_handle_object *f = (struct typed_handle_object *)self;
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
    w = typed_handle_observing(self);
    if (!w)
        return NULL;
    key.importance = (uint32_t)importance;
    if (given.time != Py_None)
        weir_advance(w, now);
    return PyBool_FromLong(weir_observe(w, key) == WEIR_SEEN);
}

static int contains(PyObject *self, PyObject *object)
{
    struct typed_handle_object *f = (struct typed_handle_object *)self;
    struct weir_key key;
    weir_filter *w;

    if (!key_hash(object, f->hash, &key))
        return -1;
    w = typed_handle_ready(self);
    return w ? weir_ask(w, key) == WEIR_SEEN : -1;
}

static PyObject *ask(PyObject *self, PyObject *object)
{
    int seen = contains(self, object);

    return seen < 0 ? NULL : PyBool_FromLong(seen);
}

static PyObject *count(PyObject *self, PyObject *object)
{
    struct typed_handle_object *f = (struct typed_handle_object *)self;
    struct weir_key key;
    weir_filter *w;

    if (!key_hash(object, f->hash, &key))
        return NULL;
    w = typed_handle_ready(self);
    return w ? PyLong_FromUnsignedLong(weir_count(w, key)) : NULL;
}

static PyObject *forget(PyObject *self, PyObject *object)
{
    struct typed_handle_object *f = (struct typed_handle_object *)self;
    struct weir_error error;
    struct weir_key key;
    bool was_there = false;
    weir_filter *w;

    if (!key_hash(object, f->hash, &key))
        return NULL;
    w = typed_handle_ready(self);
    if (!w)
        return NULL;
    if (weir_forget(w, key, &was_there, &error) != WEIR_OK)
        return raise_error(&error);
    return PyBool_FromLong(was_there);
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
    return record_of(stats_type, "(KKKKKddKK)", s->memory, s->bytes, s->observed, s->seen,
                     s->new_keys, s->fill, s->error, s->lost, s->overflow);
}

static PyObject *stats(PyObject *self, PyObject *none)
{
    struct weir_stats s;

    (void)none;
    if (!typed_handle_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS weir_measure(((struct typed_handle_object *)self)->handle, &s, sizeof s);
    Py_END_ALLOW_THREADS typed_handle_leave(self);
    return stats_record(&s);
}

/* ---- the text of help(); the examples are run by the tests ---- */

#define FILTER_DOC                                                                                 \
    "Filter(spec='', *, max_bytes=0)\n--\n\n"                                                      \
    "Reports for each key whether it was observed before, in fixed memory.\n\n"                    \
    "spec: 'NAME parameter=value ...', as in docs/filters.md; the name is optional.\n"             \
    "max_bytes: the most memory it may use; 0 means no limit.\n\n"                                 \
    ">>> f = Filter('memory=64K seed=1')\n"                                                        \
    ">>> f.observe('apple'), f.observe('apple')\n"                                                 \
    "(False, True)\n"                                                                              \
    ">>> b'apple' in f, 'pear' in f\n"                                                             \
    "(True, False)\n"

#define OBSERVE_DOC                                                                                \
    "observe($self, key, /, *, importance=None, time=None)\n--\n\n"                                \
    "Report whether a key was probably observed before, then record it.\n\n"                       \
    "importance: 0 to 4294967295, for filters with importance=. time: milliseconds of\n"           \
    "one clock, for filters with span=; see advance().\n\n"                                        \
    ">>> f = Filter('memory=64K seed=1')\n"                                                        \
    ">>> f.observe(b'a'), f.observe(b'a')\n"                                                       \
    "(False, True)\n"

#define OBSERVE_MANY_DOC                                                                           \
    "observe_many($self, /, keys, *, size=None, importance=None, times=None)\n--\n\n"              \
    "Observe keys in order. Returns bytes: 1 for each key that was seen, 0 for each new one.\n\n"  \
    "keys: an iterable of bytes and str, or a buffer of keys of one size: an array, whose\n"       \
    "items (or rows) are the keys, or bytes cut by size=. importance and times: one number\n"      \
    "for all, or an array or iterable with one for each key. If the iterable raises, the\n"        \
    "keys before that have been observed.\n\n"                                                     \
    ">>> f = Filter('memory=64K seed=1')\n"                                                        \
    ">>> list(f.observe_many(['a', 'b', 'a']))\n"                                                  \
    "[0, 0, 1]\n"                                                                                  \
    ">>> list(f.observe_many(b'aabbcc', size=2))\n"                                                \
    "[0, 0, 0]\n"

#define ASK_DOC                                                                                    \
    "ask($self, key, /)\n--\n\n"                                                                   \
    "Report whether a key was probably observed; records nothing. The same as key in filter.\n\n"  \
    ">>> Filter('memory=64K seed=1').ask('a')\n"                                                   \
    "False\n"

#define ASK_MANY_DOC                                                                               \
    "ask_many($self, /, keys, *, size=None)\n--\n\n"                                               \
    "Ask for keys. Returns bytes: 1 for each key that was seen. keys, size: see "                  \
    "observe_many().\n\n"                                                                          \
    ">>> f = Filter('memory=64K seed=1')\n"                                                        \
    ">>> f.observe('a')\n"                                                                         \
    "False\n"                                                                                      \
    ">>> list(f.ask_many(['a', 'b']))\n"                                                           \
    "[1, 0]\n"

#define COUNT_DOC                                                                                  \
    "count($self, key, /)\n--\n\n"                                                                 \
    "How many observations of a key are stored: 0 or 1 except for cuckoo."

#define FORGET_DOC                                                                                 \
    "forget($self, key, /)\n--\n\n"                                                                \
    "Remove one observation of a key. Returns whether it was present.\n\n"                         \
    ">>> f = Filter('counting memory=64K seed=1')\n"                                               \
    ">>> f.observe('a'), f.forget('a'), 'a' in f\n"                                                \
    "(False, True, False)\n"

#define ADVANCE_DOC                                                                                \
    "advance($self, time, /)\n--\n\n"                                                              \
    "Set the current time in milliseconds, for filters with span=. Earlier times are ignored."

#define CLEAR_DOC                                                                                  \
    "clear($self, /)\n--\n\n"                                                                      \
    "Return to the state after opening, with the same seed."

#define MERGE_DOC                                                                                  \
    "merge($self, other, /)\n--\n\n"                                                               \
    "Add the keys of another filter of the same spec and seed.\n\n"                                \
    ">>> a, b = Filter('bloom memory=64K seed=1'), Filter('bloom memory=64K seed=1')\n"            \
    ">>> b.observe('a')\n"                                                                         \
    "False\n"                                                                                      \
    ">>> a.merge(b)\n"                                                                             \
    ">>> 'a' in a\n"                                                                               \
    "True\n"

#define COPY_DOC                                                                                   \
    "copy($self, /)\n--\n\n"                                                                       \
    "A second filter in the same state."

#define STATS_DOC                                                                                  \
    "stats($self, /)\n--\n\n"                                                                      \
    "Statistics, a weir.Stats.\n\n"                                                                \
    ">>> f = Filter('memory=64K seed=1')\n"                                                        \
    ">>> f.observe('a')\n"                                                                         \
    "False\n"                                                                                      \
    ">>> f.stats().observed, f.stats().memory\n"                                                   \
    "(1, 65536)\n"

#define SAVE_DOC                                                                                   \
    "save($self, path, /)\n--\n\n"                                                                 \
    "Save to a file, replaced in one step: after a crash it is the old one or the new one."

#define TOBYTES_DOC                                                                                \
    "tobytes($self, /)\n--\n\n"                                                                    \
    "What save() would write, as bytes.\n\n"                                                       \
    ">>> f = Filter('memory=64K seed=1')\n"                                                        \
    ">>> f.observe('a')\n"                                                                         \
    "False\n"                                                                                      \
    ">>> 'a' in Filter.load(f.tobytes())\n"                                                        \
    "True\n"

#define LOAD_DOC                                                                                   \
    "load($type, source, /, *, keys_differ=False)\n--\n\n"                                         \
    "Load a saved filter, from a path (str or os.PathLike) or from bytes. A file whose\n"          \
    "keys were made with --ignore-case or of several fields is refused unless keys_differ\n"       \
    "is true; its keys attribute describes them."

#define VIEW_DOC                                                                                   \
    "view($type, source, /, *, keys_differ=False)\n--\n\n"                                         \
    "Open a saved filter read-only, without loading it: only the bytes needed are read. From a\n"  \
    "path, or from bytes, which it keeps. A view cannot observe keys."

#define CLOSE_DOC                                                                                  \
    "close($self, /)\n--\n\n"                                                                      \
    "Free its memory. Waits for other threads that are in a call of it."

/* ---- the type ---- */

static PyMethodDef methods[] = {
    {"observe", METHOD(observe), METH_FASTCALL | METH_KEYWORDS, OBSERVE_DOC},
    {"observe_many", METHOD(filter_observe_many), METH_VARARGS | METH_KEYWORDS, OBSERVE_MANY_DOC},
    {"ask", ask, METH_O, ASK_DOC},
    {"ask_many", METHOD(filter_ask_many), METH_VARARGS | METH_KEYWORDS, ASK_MANY_DOC},
    {"count", count, METH_O, COUNT_DOC},
    {"forget", forget, METH_O, FORGET_DOC},
    {"advance", typed_handle_advance, METH_O, ADVANCE_DOC},
    {"clear", typed_handle_clear, METH_NOARGS, CLEAR_DOC},
    {"merge", typed_handle_merge, METH_O, MERGE_DOC},
    {"copy", typed_handle_copy, METH_NOARGS, COPY_DOC},
    {"__copy__", typed_handle_copy, METH_NOARGS, COPY_DOC},
    {"__deepcopy__", typed_handle_copy, METH_O, COPY_DOC},
    {"stats", stats, METH_NOARGS, STATS_DOC},
    {"save", typed_handle_save, METH_O, SAVE_DOC},
    {"tobytes", typed_handle_tobytes, METH_NOARGS, TOBYTES_DOC},
    {"load", METHOD(load), METH_VARARGS | METH_KEYWORDS | METH_CLASS, LOAD_DOC},
    {"view", METHOD(view), METH_VARARGS | METH_KEYWORDS | METH_CLASS, VIEW_DOC},
    {"__reduce__", typed_handle_reduce, METH_NOARGS, "For pickle: the saved bytes."},
    {"close", typed_handle_close, METH_NOARGS, CLOSE_DOC},
    {"__enter__", typed_handle_enter_with, METH_NOARGS, "The filter itself."},
    {"__exit__", typed_handle_close, METH_VARARGS, "Close it."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef properties[] = {
    {"config", typed_handle_config, NULL, "The spec in full: it opens an equal filter.", NULL},
    {"keys", typed_handle_keys, NULL,
     "How the file it was loaded from describes its keys; empty: as given.", NULL},
    {"closed", typed_handle_closed, NULL, "Whether it was closed.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {{Py_tp_new, new_filter},    {Py_tp_dealloc, typed_handle_dealloc},
                              {Py_tp_doc, FILTER_DOC},    {Py_tp_methods, methods},
                              {Py_tp_getset, properties}, {Py_tp_repr, typed_handle_repr},
                              {Py_sq_contains, contains}, {0, NULL}};

static PyType_Spec spec = {"weir.Filter", sizeof(struct typed_handle_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};

bool filter_add(PyObject *module)
{
    filter_type = type_add(module, &spec, "Filter");
    stats_type = record_add(module, &stats_desc, "Stats");
    return filter_type && stats_type;
}
