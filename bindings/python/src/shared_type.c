/* shared_type.c - weir.Shared: one filter, many threads. Calls come at the same time, so
 * they are counted; the last one that leaves after close() gives the memory back. */
#include "typed_handle.h"

#include <stdlib.h>
#include <weir/saved.h>
#include <weir/shared.h>

static PyTypeObject *shared_type;

/* ---- the library's calls ---- */

HANDLE_CALLS(weir_shared, weir_shared)

static size_t call_saved_size(void *handle)
{
    weir_shared *s = handle;
    size_t size = 0;

    for (uint32_t i = 0; i < weir_shared_shards(s); i++)
        size += weir_saved_size(weir_shared_shard(s, i)); /* stays what it is */
    return size;
}

HANDLE_CALLS_OF_FILTER(weir_shared)

/* Handles on the shards where they lie, as one. */
static enum weir_status call_view(void **out, const void *data, size_t size, uint32_t shards,
                                  struct weir_error *error)
{
    uint32_t most = shards ? shards : 1;
    weir_shared *s = NULL;
    weir_filter **w = calloc(most, sizeof(weir_filter *));
    uint32_t n = 0;
    enum weir_status status;

    if (!w) {
        *error = (struct weir_error){WEIR_NO_MEMORY, WEIR_ERROR_NO_MEMORY, "out of memory"};
        return WEIR_NO_MEMORY;
    }
    status = weir_view_shards(w, most, &n, data, size, NULL, NULL, error);
    if (status == WEIR_OK) {
        status = weir_shared_join(&s, w, n, NULL, error);
        for (uint32_t i = 0; status != WEIR_OK && i < n; i++)
            weir_close(w[i]);
    }
    free(w);
    *out = s;
    return status;
}

static const struct typed_handle_kind shared_typed_kind = {
    .name = "Shared",
    .what = "filter",
    .closed = "this filter is closed",
    .many_threads = true,
    .parts = 1u << WEIR_PART_FILTER,
    .saved_size = call_saved_size,
    HANDLE_TABLE,
    HANDLE_TABLE_OF_FILTER,
    .of_view = "a view of a saved filter is for asking; weir.Shared.load() gives one that can "
               "observe keys",
    .of_set = "this filter is of a set that never changes",
};

/* ---- opened and loaded ---- */

static PyObject *new_shared(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = {"spec", "shards", "max_bytes", NULL};
    const char *spec = "";
    unsigned int shards = 0;
    unsigned long long max_bytes = 0;
    struct weir_options options = {.size = sizeof options};
    struct weir_error error;
    enum weir_status status;
    weir_shared *s;

    if (!PyArg_ParseTupleAndKeywords(args, named, "|s$IK", names, &spec, &shards, &max_bytes))
        return NULL;
    options.max_bytes = max_bytes;
    Py_BEGIN_ALLOW_THREADS status = weir_shared_open(&s, spec, shards, &options, &error);
    Py_END_ALLOW_THREADS return status == WEIR_OK
        ? typed_handle_wrap(type, &shared_typed_kind, s, NULL)
        : raise_error(&error);
}

static PyObject *load(PyObject *type, PyObject *args, PyObject *named)
{
    return filter_load((PyTypeObject *)type, &shared_typed_kind, args, named, false);
}

static PyObject *view(PyObject *type, PyObject *args, PyObject *named)
{
    return filter_load((PyTypeObject *)type, &shared_typed_kind, args, named, true);
}

/* ---- one key: a shard's lock may be held by a thread in a batch, so without the GIL ---- */

static int answer(PyObject *self, PyObject *object, bool observing)
{
    struct typed_handle_object *o = (struct typed_handle_object *)self;
    struct weir_key key;
    enum weir_verdict verdict;

    if (!key_hash(object, o->hash, &key) || (observing && !typed_handle_observing(self)) ||
        !typed_handle_enter(self))
        return -1;
    Py_BEGIN_ALLOW_THREADS verdict =
        (observing ? weir_shared_observe : weir_shared_ask)(o->handle, key);
    Py_END_ALLOW_THREADS typed_handle_leave(self);
    return verdict == WEIR_SEEN;
}

static PyObject *observe(PyObject *self, PyObject *object)
{
    int seen = answer(self, object, true);

    return seen < 0 ? NULL : PyBool_FromLong(seen);
}

static int contains(PyObject *self, PyObject *object)
{
    return answer(self, object, false);
}

static PyObject *ask(PyObject *self, PyObject *object)
{
    int seen = answer(self, object, false);

    return seen < 0 ? NULL : PyBool_FromLong(seen);
}

static PyObject *forget(PyObject *self, PyObject *object)
{
    struct typed_handle_object *o = (struct typed_handle_object *)self;
    struct weir_error error;
    struct weir_key key;
    enum weir_status status;
    bool was_there = false;

    if (!key_hash(object, o->hash, &key) || !typed_handle_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = weir_shared_forget(o->handle, key, &was_there, &error);
    Py_END_ALLOW_THREADS typed_handle_leave(self);
    return status == WEIR_OK ? PyBool_FromLong(was_there) : raise_error(&error);
}

/* ---- the whole ---- */

static PyObject *stats(PyObject *self, PyObject *none)
{
    struct weir_stats s;

    (void)none;
    if (!typed_handle_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS weir_shared_measure(((struct typed_handle_object *)self)->handle, &s,
                                               sizeof s);
    Py_END_ALLOW_THREADS typed_handle_leave(self);
    return stats_record(&s);
}

static PyObject *shards(PyObject *self, void *unused)
{
    uint32_t n;

    (void)unused;
    if (!typed_handle_enter(self))
        return NULL;
    n = weir_shared_shards(((struct typed_handle_object *)self)->handle);
    typed_handle_leave(self);
    return PyLong_FromUnsignedLong(n);
}

/* ---- the type ---- */

static PyMethodDef methods[] = {
    {"observe", observe, METH_O,
     "observe($self, key, /)\n--\n\nReport whether a key was probably observed before, then record "
     "it."},
    {"observe_many", METHOD(filter_observe_many), METH_VARARGS | METH_KEYWORDS,
     "observe_many($self, /, keys, *, size=None, importance=None, times=None)\n--\n\n"
     "As Filter.observe_many(); batches of thousands are best."},
    {"ask", ask, METH_O,
     "ask($self, key, /)\n--\n\nReport whether a key was probably observed; records nothing."},
    {"ask_many", METHOD(filter_ask_many), METH_VARARGS | METH_KEYWORDS,
     "ask_many($self, /, keys, *, size=None)\n--\n\nAs Filter.ask_many()."},
    {"forget", forget, METH_O,
     "forget($self, key, /)\n--\n\nRemove one observation of a key. Returns whether it was "
     "present."},
    {"advance", typed_handle_advance, METH_O,
     "advance($self, time, /)\n--\n\nSet the current time in milliseconds, for filters with "
     "span=."},
    {"stats", stats, METH_NOARGS,
     "stats($self, /)\n--\n\nStatistics of all shards together, a weir.Stats."},
    {"save", typed_handle_save, METH_O,
     "save($self, path, /)\n--\n\nSave to a file, replaced in one step. Keys that other "
     "threads observe meanwhile may be missing."},
    {"tobytes", typed_handle_tobytes, METH_NOARGS,
     "tobytes($self, /)\n--\n\nWhat save() would write."},
    {"load", METHOD(load), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "load($type, source, /, *, keys_differ=False)\n--\n\nLoad all shards of a saved filter, from "
     "a path or from bytes."},
    {"view", METHOD(view), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "view($type, source, /, *, keys_differ=False)\n--\n\nOpen saved shards read-only; see "
     "Filter.view()."},
    {"__reduce__", typed_handle_reduce, METH_NOARGS, "For pickle: the saved bytes."},
    {"close", typed_handle_close, METH_NOARGS,
     "close($self, /)\n--\n\nRefuse further calls; the last running one frees the memory."},
    {"__enter__", typed_handle_enter_with, METH_NOARGS, "The filter itself."},
    {"__exit__", typed_handle_close, METH_VARARGS, "Close it."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef properties[] = {
    {"config", typed_handle_config, NULL, "The spec in full, of the whole.", NULL},
    {"shards", shards, NULL, "How many shards there are.", NULL},
    {"keys", typed_handle_keys, NULL,
     "How the file it was loaded from describes its keys; empty: as given.", NULL},
    {"closed", typed_handle_closed, NULL, "Whether it was closed.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

#define SHARED_DOC                                                                                 \
    "Shared(spec='', *, shards=0, max_bytes=0)\n--\n\n"                                            \
    "One filter for many threads: its keys are divided among shards with a lock each,\n"           \
    "and batches run without the GIL. shards: 1 to 256; 0 means 8.\n\n"                            \
    ">>> f = Shared('memory=1M seed=1', shards=4)\n"                                               \
    ">>> list(f.observe_many(['a', 'b', 'a']))\n"                                                  \
    "[0, 0, 1]\n"

static PyType_Slot slots[] = {{Py_tp_new, new_shared},    {Py_tp_dealloc, typed_handle_dealloc},
                              {Py_tp_doc, SHARED_DOC},    {Py_tp_methods, methods},
                              {Py_tp_getset, properties}, {Py_tp_repr, typed_handle_repr},
                              {Py_sq_contains, contains}, {0, NULL}};

static PyType_Spec spec = {"weir.Shared", sizeof(struct typed_handle_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};

bool shared_add(PyObject *module)
{
    shared_type = type_add(module, &spec, "Shared");
    return shared_type != NULL;
}
