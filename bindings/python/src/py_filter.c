/* py_filter.c - weir.Filter and weir.Shared: was a key seen before?
 *
 * Both have the same methods. A Filter processes one call at a time. A Shared filter has shards
 * with a lock each, so calls of many threads run at the same time; a call may wait for a lock and
 * therefore releases the GIL. */
#include "binding.h"

#include <stdlib.h>
#include <weir/shared.h>

/* ---- the calls of weir or weir_shared for both classes ---- */

#define FILTER_INIT(prefix)                                                                        \
    .observe_one = prefix##_observe_one, .ask_one = prefix##_ask_one, .forget = prefix##_forget,   \
    .measure = prefix##_measure, .observe = prefix##_observe, .ask = prefix##_ask,                 \
    .view = prefix##_view
#define FILTER_CALLS(prefix, calls)                                                                \
    static enum weir_verdict prefix##_observe_one(void *handle, struct weir_key key)               \
    {                                                                                              \
        return calls##_observe(handle, key);                                                       \
    }                                                                                              \
    static enum weir_verdict prefix##_ask_one(void *handle, struct weir_key key)                   \
    {                                                                                              \
        return calls##_ask(handle, key);                                                           \
    }                                                                                              \
    static enum weir_status prefix##_forget(void *handle, struct weir_key key, bool *was_there,    \
                                            struct weir_error *error)                              \
    {                                                                                              \
        return calls##_forget(handle, key, was_there, error);                                      \
    }                                                                                              \
    static void prefix##_measure(void *handle, struct weir_stats *stats)                           \
    {                                                                                              \
        calls##_measure(handle, stats, sizeof *stats);                                             \
    }                                                                                              \
    static enum weir_status prefix##_observe(struct handle_object *o, const struct weir_key *keys, \
                                             struct key_times at, size_t n, uint8_t *verdicts,     \
                                             struct weir_error *error)                             \
    {                                                                                              \
        (void)error;                                                                               \
        calls##_observe_many_ttl(o->handle, keys, at.time, at.ttl, n, verdicts);                   \
        return WEIR_OK;                                                                            \
    }                                                                                              \
    static enum weir_status prefix##_ask(struct handle_object *o, const struct weir_key *keys,     \
                                         struct key_times at, size_t n, uint8_t *verdicts,         \
                                         struct weir_error *error)                                 \
    {                                                                                              \
        (void)at, (void)error;                                                                     \
        calls##_ask_many(o->handle, keys, n, verdicts);                                            \
        return WEIR_OK;                                                                            \
    }

/* ---- Filter: the library's calls ---- */

HANDLE_CALLS(weir, weir_filter)
FILTER_CALLS(call, weir)

static enum weir_status call_view(void **out, const void *data, size_t size, uint32_t shards,
                                  struct weir_error *error)
{
    weir_filter *w = NULL;
    enum weir_status status = weir_view_buffer(&w, data, size, NULL, NULL, error);

    *out = w;
    return status;
}

struct handle_class filter_class = {
    .name = "Filter",
    .what = "filter",
    .closed = "this filter is closed",
    .arguments = "open_plain",
    .parts = 1u << WEIR_PART_FILTER,
    HANDLE_INIT,
    FILTER_INIT(call),
    .of_view = "a view is read-only; weir.Filter.load() returns a filter that can observe keys",
    .of_set = "this filter cannot be changed after it is built; weir.build() builds another one",
    .of_shards = "this filter was saved in shards; use weir.Shared.load() or weir.Shared.view()",
};

/* ---- Shared: the library's calls ---- */

static enum weir_status shared_open(void **out, const char *spec, uint32_t shards,
                                    const struct weir_options *options, struct weir_error *error)
{
    weir_shared *s = NULL;
    enum weir_status status = weir_shared_open(&s, spec, shards, options, error);

    *out = s;
    return status;
}

COMMON_CALLS(shared, weir_shared, weir_shared)
FILTER_CALLS(shared, weir_shared)

static size_t shared_saved_size(void *handle)
{
    weir_shared *s = handle;
    size_t size = 0;

    for (uint32_t i = 0; i < weir_shared_shards(s); i++)
        size += weir_saved_size(weir_shared_shard(s, i)); /* constant */
    return size;
}

static enum weir_status shared_view(void **out, const void *data, size_t size, uint32_t shards,
                                    struct weir_error *error)
{
    uint32_t max = shards ? shards : 1, n = 0;
    weir_shared *s = NULL;
    weir_filter **w = calloc(max, sizeof(weir_filter *));
    enum weir_status status;

    if (!w) {
        *error = (struct weir_error){WEIR_NO_MEMORY, WEIR_ERROR_NO_MEMORY, "out of memory"};
        return WEIR_NO_MEMORY;
    }
    status = weir_view_shards(w, max, &n, data, size, NULL, NULL, error);
    if (status == WEIR_OK) {
        status = weir_shared_join(&s, w, n, NULL, error);
        for (uint32_t i = 0; status != WEIR_OK && i < n; i++)
            weir_close(w[i]);
    }
    free(w);
    *out = s;
    return status;
}

struct handle_class shared_class = {
    .name = "Shared",
    .what = "filter",
    .closed = "this filter is closed",
    .arguments = "open_shared",
    .is_concurrent = true,
    .parts = 1u << WEIR_PART_FILTER,
    .open = shared_open,
    .saved_size = shared_saved_size,
    COMMON_INIT(shared),
    FILTER_INIT(shared),
    .of_view = "a view is read-only; weir.Shared.load() returns a filter that can observe keys",
    .of_set = "this filter cannot be changed after it is built",
};

/* ---- constructors ---- */

static PyObject *new_filter(PyTypeObject *type, PyObject *args, PyObject *named)
{
    return object_new(type, &filter_class, args, named, NULL);
}

static PyObject *new_shared(PyTypeObject *type, PyObject *args, PyObject *named)
{
    return object_new(type, &shared_class, args, named, NULL);
}

/* ---- one key ---- */

/* Run a call of one key. Calls of a Filter take about a microsecond and keep the GIL. */
static int verdict_of(PyObject *self, struct weir_key key, bool observing, const uint64_t *now,
                      const uint64_t *ttl)
{
    struct handle_object *o = (struct handle_object *)self;
    const struct handle_class *c = o->class;
    PyThreadState *thread = NULL;
    enum weir_verdict verdict;

    if (!(observing ? object_observing(self) : object_ready(self)) ||
        (c->is_concurrent && !object_enter(self)))
        return -1;
    if (c->is_concurrent)
        thread = PyEval_SaveThread();
    if (now)
        c->advance(o->handle, *now);
    if (ttl) {
        uint8_t seen;

        c->observe(o, &key, (struct key_times){NULL, ttl}, 1, &seen, NULL);
        verdict = seen ? WEIR_SEEN : WEIR_NEW;
    } else {
        verdict = (observing ? c->observe_one : c->ask_one)(o->handle, key);
    }
    if (thread) {
        PyEval_RestoreThread(thread);
        object_leave(self);
    }
    if (observing && !object_count_observed(self, 1))
        return -1;
    return verdict == WEIR_SEEN;
}

/* Arguments of observe() besides the key. */
struct observe_arguments {
    PyObject *importance, *time, *ttl;
};

/* PyArg_ParseTupleAndKeywords() would take longer than the call itself. */
static bool read_arguments(PyObject *const *args, Py_ssize_t n, PyObject *names,
                           struct observe_arguments *a)
{
    Py_ssize_t named = names ? PyTuple_Size(names) : 0;

    if (n != 1) {
        PyErr_SetString(PyExc_TypeError, "observe() takes one key; observe_many() takes more");
        return false;
    }
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GetItem(names, i);

        if (PyUnicode_CompareWithASCIIString(name, "importance") == 0) {
            a->importance = args[n + i];
        } else if (PyUnicode_CompareWithASCIIString(name, "time") == 0) {
            a->time = args[n + i];
        } else if (PyUnicode_CompareWithASCIIString(name, "ttl") == 0) {
            a->ttl = args[n + i];
        } else {
            PyErr_Format(PyExc_TypeError, "observe() takes no argument %R", name);
            return false;
        }
    }
    return true;
}

static PyObject *observe(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    struct observe_arguments a = {Py_None, Py_None, Py_None};
    struct weir_key key;
    uint64_t importance = 1, now = 0, ttl = 0;
    int seen;

    if (!read_arguments(args, n, names, &a) ||
        !key_hash(args[0], ((struct handle_object *)self)->hash, &key))
        return NULL;
    if (a.importance != Py_None &&
        !number_read(a.importance, "importance", UINT32_MAX, &importance))
        return NULL;
    if (a.time != Py_None && !time_read(a.time, latest_time(), &now))
        return NULL;
    if (a.ttl != Py_None && (!object_expires(self) || !number_read(a.ttl, "ttl", UINT64_MAX, &ttl)))
        return NULL;
    key.importance = (uint32_t)importance;
    seen = verdict_of(self, key, true, a.time != Py_None ? &now : NULL,
                      a.ttl != Py_None ? &ttl : NULL);
    return seen < 0 ? NULL : PyBool_FromLong(seen);
}

static PyObject *add(PyObject *self, PyObject *object)
{
    struct weir_key key;

    if (!key_hash(object, ((struct handle_object *)self)->hash, &key) ||
        verdict_of(self, key, true, NULL, NULL) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static int contains(PyObject *self, PyObject *object)
{
    struct weir_key key;

    return key_hash(object, ((struct handle_object *)self)->hash, &key)
               ? verdict_of(self, key, false, NULL, NULL)
               : -1;
}

static PyObject *ask(PyObject *self, PyObject *object)
{
    int seen = contains(self, object);

    return seen < 0 ? NULL : PyBool_FromLong(seen);
}

static PyObject *count(PyObject *self, PyObject *object)
{
    struct weir_key key;
    weir_filter *w;

    if (!key_hash(object, ((struct handle_object *)self)->hash, &key))
        return NULL;
    w = object_ready(self);
    return w ? PyLong_FromUnsignedLong(weir_count(w, key)) : NULL;
}

static PyObject *forget(PyObject *self, PyObject *object)
{
    struct handle_object *o = (struct handle_object *)self;
    struct weir_error error;
    struct weir_key key;
    enum weir_status status;
    bool was_there = false;

    if (!key_hash(object, o->hash, &key) || !object_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = o->class->forget(o->handle, key, &was_there, &error);
    Py_END_ALLOW_THREADS object_leave(self);
    return status == WEIR_OK ? PyBool_FromLong(was_there) : raise_error(&error);
}

/* ---- statistics ---- */

PyObject *stats_record(const struct weir_stats *s)
{
    return support_call("Stats", "(KKKKKddKK)", s->memory, s->bytes, s->observed, s->seen,
                        s->new_keys, s->fill, s->error, s->lost, s->overflow);
}

static bool measure(PyObject *self, struct weir_stats *s)
{
    struct handle_object *o = (struct handle_object *)self;

    if (!object_enter(self))
        return false;
    Py_BEGIN_ALLOW_THREADS o->class->measure(o->handle, s);
    Py_END_ALLOW_THREADS object_leave(self);
    return true;
}

static PyObject *stats(PyObject *self, PyObject *none)
{
    struct weir_stats s;

    return measure(self, &s) ? stats_record(&s) : NULL;
}

static Py_ssize_t length(PyObject *self)
{
    struct weir_stats s;

    return measure(self, &s) ? (Py_ssize_t)s.new_keys : -1;
}

/* A filter that is empty is still a filter: "if seen:" asks whether there is one. */
static int is_true(PyObject *self)
{
    return 1;
}

static PyObject *keys(PyObject *self, void *unused)
{
    return PyUnicode_FromString(((struct handle_object *)self)->keys);
}

static PyObject *shards(PyObject *self, void *unused)
{
    uint32_t n;

    if (!object_enter(self))
        return NULL;
    n = weir_shared_shards(((struct handle_object *)self)->handle);
    object_leave(self);
    return PyLong_FromUnsignedLong(n);
}

/* ---- help(); tests run the examples ---- */

#define METHODS_OF_FILTERS                                                                         \
    {"observe", METHOD(observe), METH_FASTCALL | METH_KEYWORDS,                                    \
     "observe($self, key, /, *, importance=None, time=None, ttl=None)\n--\n\n"                     \
     "Return whether a key was probably observed before, then record it.\n\n"                      \
     "key: bytes, str or int. importance: 0 to 4294967295, for specs with importance=.\n"          \
     "time: milliseconds or a datetime, for specs with span= or ttl=; see advance().\n"            \
     "ttl: milliseconds for which it is remembered, for specs with ttl=.\n\n"                      \
     ">>> f = Filter(memory='64K', seed=1)\n"                                                      \
     ">>> f.observe('a'), f.observe(b'a')\n"                                                       \
     "(False, True)\n"},                                                                           \
        {"observe_many", METHOD(filter_observe_many), METH_VARARGS | METH_KEYWORDS,                \
         "observe_many($self, /, keys, *, size=None, importance=None, times=None, ttl=None, "      \
         "skipna=False)\n--\n\n"                                                                   \
         "Observe keys in order and return for each whether it was seen: a weir.Verdicts, or a\n"  \
         "numpy array if keys is an array or a pandas column.\n\n"                                 \
         "keys: an iterable of keys, an array of integers or text, or bytes cut by size=.\n"       \
         "importance, times, ttl: one number for all, or an array or iterable with one for "       \
         "each.\n"                                                                                 \
         "skipna: skip missing values (None, NaN, NA); their verdict is False. A key of a wrong\n" \
         "type in a list or array raises TypeError before anything is recorded. If an iterator\n"  \
         "raises, the keys before that have been observed.\n\n"                                    \
         ">>> f = Filter(memory='64K', seed=1)\n"                                                  \
         ">>> list(f.observe_many(['a', 'b', 'a', 42]))\n"                                         \
         "[False, False, True, False]\n"                                                           \
         ">>> list(f.observe_many(b'aabbaa', size=2))\n"                                           \
         "[False, False, True]\n"},                                                                \
        {"add", add, METH_O,                                                                       \
         "add($self, key, /)\n--\n\nRecord a key, as set.add(). observe() also returns whether "   \
         "it was seen."},                                                                          \
        {"update", METHOD(filter_update), METH_VARARGS | METH_KEYWORDS,                            \
         "update($self, /, keys, *, size=None, importance=None, times=None, ttl=None, "            \
         "skipna=False)\n--\n\nRecord keys, as set.update(). The arguments are those of "          \
         "observe_many()."},                                                                       \
        {"ask", ask, METH_O,                                                                       \
         "ask($self, key, /)\n--\n\n"                                                              \
         "Return whether a key was probably observed; record nothing. The same as key in f.\n\n"   \
         ">>> f = Filter(memory='64K', seed=1)\n"                                                  \
         ">>> f.add('a')\n"                                                                        \
         ">>> f.ask('a'), 'b' in f\n"                                                              \
         "(True, False)\n"},                                                                       \
        {"ask_many", METHOD(filter_ask_many), METH_VARARGS | METH_KEYWORDS,                        \
         "ask_many($self, /, keys, *, size=None, skipna=False)\n--\n\n"                            \
         "Look keys up without recording them. Arguments and result as of observe_many()."},       \
        {"forget", forget, METH_O,                                                                 \
         "forget($self, key, /)\n--\n\n"                                                           \
         "Remove one observation of a key; return whether it was present.\n\n"                     \
         ">>> f = Filter('counting', memory='64K', seed=1)\n"                                      \
         ">>> f.observe('a'), f.forget('a'), 'a' in f\n"                                           \
         "(False, True, False)\n"},                                                                \
        {"stats", stats, METH_NOARGS,                                                              \
         "stats($self, /)\n--\n\n"                                                                 \
         "Return statistics, a weir.Stats. len(f) is its new_keys: an estimate of the number of\n" \
         "distinct keys.\n\n"                                                                      \
         ">>> f = Filter(memory='64K', seed=1)\n"                                                  \
         ">>> f.update(['a', 'b', 'a'])\n"                                                         \
         ">>> f.stats().observed, f.stats().memory, len(f)\n"                                      \
         "(3, 65536, 2)\n"},                                                                       \
        {"load", METHOD(object_load_method), METH_VARARGS | METH_KEYWORDS | METH_CLASS,            \
         "load($type, source, /, *, keys_differ=False)\n--\n\n"                                    \
         "Load a saved filter from a path, an open binary file or bytes.\n\n"                      \
         "keys_differ: accept a file whose keys were normalized or joined from several fields;\n"  \
         "the attribute keys describes how.\n\n"                                                   \
         ">>> f = Filter(memory='64K', seed=1)\n"                                                  \
         ">>> f.add('a')\n"                                                                        \
         ">>> 'a' in Filter.load(f.tobytes())\n"                                                   \
         "True\n"},                                                                                \
    {                                                                                              \
        "view", METHOD(object_view_method), METH_VARARGS | METH_KEYWORDS | METH_CLASS,             \
            "view($type, source, /, *, keys_differ=False)\n--\n\n"                                 \
            "Open a saved filter read-only without loading it. Of a path, only the pages of the\n" \
            "looked-up keys are read. Arguments as of load()."                                     \
    }

static PyMethodDef filter_methods[] = {
    METHODS_OF_FILTERS,
    {"count", count, METH_O,
     "count($self, key, /)\n--\n\n"
     "Return how many observations of a key are stored: 0 or 1, except for cuckoo."},
    {NULL, NULL, 0, NULL}};

static PyMethodDef shared_methods[] = {
    METHODS_OF_FILTERS, {"advance", object_advance, METH_O, ADVANCE_DOC}, {NULL, NULL, 0, NULL}};

#define KEYS_PROPERTY                                                                              \
    {                                                                                              \
        "keys", keys, NULL,                                                                        \
            "How the keys of its file were made, such as '--ignore-case'; '': as given.", NULL     \
    }

static PyGetSetDef filter_properties[] = {KEYS_PROPERTY, {NULL, NULL, NULL, NULL, NULL}};

static PyGetSetDef shared_properties[] = {KEYS_PROPERTY,
                                          {"shards", shards, NULL, "The number of shards.", NULL},
                                          {NULL, NULL, NULL, NULL, NULL}};

#define FILTER_DOC                                                                                 \
    "Filter(spec='', *, max_bytes=0, **parameters)\n--\n\n"                                        \
    "Reports for each key whether it was observed before, in constant memory.\n\n"                 \
    "spec: 'NAME parameter=value ...' (docs/filters.md); all parts are optional. parameters:\n"    \
    "the same as keywords. max_bytes: maximum memory of the handle; 0: no limit.\n\n"              \
    ">>> f = Filter(memory='64K', fpr=0.001, seed=1)\n"                                            \
    ">>> f.observe('apple'), f.observe('apple')\n"                                                 \
    "(False, True)\n"                                                                              \
    ">>> b'apple' in f, 'pear' in f\n"                                                             \
    "(True, False)\n"

#define SHARED_DOC                                                                                 \
    "Shared(spec='', *, shards=0, max_bytes=0, **parameters)\n--\n\n"                              \
    "A filter for many threads. Its keys are divided among shards with a lock each, and\n"         \
    "batches run without the GIL. shards: 1 to 256; 0 means 8.\n\n"                                \
    ">>> f = Shared(memory='1M', seed=1, shards=4)\n"                                              \
    ">>> list(f.observe_many(['a', 'b', 'a']))\n"                                                  \
    "[False, False, True]\n"

static PyType_Slot filter_slots[] = {{Py_tp_new, new_filter},
                                     {Py_tp_dealloc, object_dealloc},
                                     {Py_tp_doc, FILTER_DOC},
                                     {Py_tp_methods, filter_methods},
                                     {Py_tp_getset, filter_properties},
                                     {Py_sq_contains, contains},
                                     {Py_sq_length, length},
                                     {Py_nb_bool, is_true},
                                     {0, NULL}};

static PyType_Slot shared_slots[] = {{Py_tp_new, new_shared},
                                     {Py_tp_dealloc, object_dealloc},
                                     {Py_tp_doc, SHARED_DOC},
                                     {Py_tp_methods, shared_methods},
                                     {Py_tp_getset, shared_properties},
                                     {Py_sq_contains, contains},
                                     {Py_sq_length, length},
                                     {Py_nb_bool, is_true},
                                     {0, NULL}};

static PyType_Spec filter_spec = {"weir.Filter", sizeof(struct handle_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, filter_slots};
static PyType_Spec shared_spec = {"weir.Shared", sizeof(struct handle_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, shared_slots};

bool filter_add(PyObject *module)
{
    filter_class.type = type_add(module, &filter_spec, "Filter", single_type);
    shared_class.type = type_add(module, &shared_spec, "Shared", handle_type);
    return filter_class.type && shared_class.type;
}
