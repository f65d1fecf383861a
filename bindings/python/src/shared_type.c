/* shared_type.c - weir.Shared: one filter, many threads. Calls come at the same time, so
 * they are counted; the last one that leaves after close() gives the memory back. */
#include "filter_type.h"
#include "show_keys.h"

#include <stdlib.h>
#include <string.h>
#include <weir/saved.h>
#include <weir/shared.h>

struct shared_object {
    PyObject_HEAD weir_shared *s;
    struct hasher hash;
    bool learns, is_view, is_closed;
    unsigned calls; /* under the GIL, as are the flags */
    struct saved_bytes lent;
    char keys[WEIR_KEY_DESCRIPTION_MAX]; /* how its keys were made, of the file it was in; or "" */
};

static PyTypeObject *shared_type;

/* ---- life ---- */

static PyObject *wrap(weir_shared *s, struct saved_bytes *lent)
{
    struct shared_object *o = PyObject_New(struct shared_object, shared_type);
    char config[WEIR_SPEC_MAX];
    uint64_t traits = 0;

    if (!o) {
        weir_shared_close(s);
        if (lent)
            saved_close(lent);
        return NULL;
    }
    weir_shared_config(s, config, sizeof config);
    o->s = s;
    o->hash = hasher_of(config);
    o->is_view = lent != NULL;
    o->lent = lent ? *lent : (struct saved_bytes){.data = NULL};
    o->learns = !o->is_view &&
                weir_spec_traits(WEIR_KIND_FILTER, config, &traits, NULL) == WEIR_OK &&
                traits & WEIR_CAN_OBSERVE;
    o->is_closed = false;
    *o->keys = '\0';
    o->calls = 0;
    return (PyObject *)o;
}

static void close_handle(struct shared_object *o)
{
    weir_shared *s = o->s;

    o->s = NULL;
    weir_shared_close(s);
    saved_close(&o->lent);
}

static void dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    close_handle((struct shared_object *)self);
    PyObject_Free(self);
    Py_DECREF(type);
}

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

    (void)type;
    if (!PyArg_ParseTupleAndKeywords(args, named, "|s$IK", names, &spec, &shards, &max_bytes))
        return NULL;
    options.max_bytes = max_bytes;
    Py_BEGIN_ALLOW_THREADS status = weir_shared_open(&s, spec, shards, &options, &error);
    Py_END_ALLOW_THREADS return status == WEIR_OK ? wrap(s, NULL) : raise_error(&error);
}

static bool enter(PyObject *self)
{
    struct shared_object *o = (struct shared_object *)self;

    if (o->is_closed)
        PyErr_SetString(PyExc_ValueError, "this filter is closed");
    else
        o->calls++;
    return !o->is_closed;
}

static void leave(PyObject *self)
{
    struct shared_object *o = (struct shared_object *)self;

    o->calls--;
    if (o->is_closed && o->calls == 0)
        close_handle(o);
}

static bool enter_to_learn(PyObject *self)
{
    struct shared_object *o = (struct shared_object *)self;

    if (!enter(self))
        return false;
    if (!o->learns) {
        leave(self);
        raise_status(WEIR_UNSUPPORTED, o->is_view ? "a view of a saved filter is for asking; "
                                                    "weir.Shared.load() gives one that can "
                                                    "observe keys"
                                                  : "this filter is of a set that never changes");
    }
    return o->learns;
}

static PyObject *close_shared(PyObject *self, PyObject *none)
{
    struct shared_object *o = (struct shared_object *)self;

    (void)none;
    if (!o->is_closed) {
        o->is_closed = true;
        if (o->calls == 0)
            close_handle(o);
    }
    Py_RETURN_NONE;
}

static PyObject *enter_with(PyObject *self, PyObject *none)
{
    (void)none;
    if (!enter(self))
        return NULL;
    leave(self);
    return Py_NewRef(self);
}

static PyObject *exit_with(PyObject *self, PyObject *args)
{
    (void)args;
    return close_shared(self, NULL);
}

/* ---- one key: a shard's lock may be held by a thread in a batch, so without the GIL ---- */

static int answer(PyObject *self, PyObject *object, bool observing)
{
    struct shared_object *o = (struct shared_object *)self;
    struct weir_key key;
    enum weir_verdict verdict;

    if (!key_hash(object, o->hash, &key) || !(observing ? enter_to_learn : enter)(self))
        return -1;
    Py_BEGIN_ALLOW_THREADS verdict = (observing ? weir_shared_observe : weir_shared_ask)(o->s, key);
    Py_END_ALLOW_THREADS leave(self);
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
    struct shared_object *o = (struct shared_object *)self;
    struct weir_error error;
    struct weir_key key;
    enum weir_status status;
    bool was_there = false;

    if (!key_hash(object, o->hash, &key) || !enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = weir_shared_forget(o->s, key, &was_there, &error);
    Py_END_ALLOW_THREADS leave(self);
    return status == WEIR_OK ? PyBool_FromLong(was_there) : raise_error(&error);
}

/* ---- many keys ---- */

static enum weir_status show_observe(PyObject *self, const struct weir_key *keys,
                                     const uint64_t *times, size_t n, uint8_t *verdicts,
                                     struct weir_error *error)
{
    weir_shared *s = ((struct shared_object *)self)->s;

    (void)error;
    if (times)
        weir_shared_observe_many_at(s, keys, times, n, verdicts);
    else
        weir_shared_observe_many(s, keys, n, verdicts);
    return WEIR_OK;
}

static enum weir_status show_ask(PyObject *self, const struct weir_key *keys, const uint64_t *times,
                                 size_t n, uint8_t *verdicts, struct weir_error *error)
{
    (void)times;
    (void)error;
    weir_shared_ask_many(((struct shared_object *)self)->s, keys, n, verdicts);
    return WEIR_OK;
}

static PyObject *observe_many(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"keys", "size", "importance", "times", NULL};
    struct shared_object *o = (struct shared_object *)self;
    struct shown_to to = {self, o->hash, enter_to_learn, leave, show_observe};
    struct batch_given given = {NULL};

    if (!PyArg_ParseTupleAndKeywords(args, named, "O|$OOO", names, &given.keys, &given.size,
                                     &given.importance, &given.times))
        return NULL;
    return show_keys(&to, &given, true);
}

static PyObject *ask_many(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"keys", "size", NULL};
    struct shared_object *o = (struct shared_object *)self;
    struct shown_to to = {self, o->hash, enter, leave, show_ask};
    struct batch_given given = {NULL};

    if (!PyArg_ParseTupleAndKeywords(args, named, "O|$O", names, &given.keys, &given.size))
        return NULL;
    return show_keys(&to, &given, true);
}

/* ---- the whole ---- */

static PyObject *advance(PyObject *self, PyObject *time)
{
    uint64_t now;

    if (!number_read(time, "time", UINT64_MAX, &now) || !enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS weir_shared_advance(((struct shared_object *)self)->s, now);
    Py_END_ALLOW_THREADS leave(self);
    Py_RETURN_NONE;
}

static PyObject *stats(PyObject *self, PyObject *none)
{
    struct weir_stats s;

    (void)none;
    if (!enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS weir_shared_measure(((struct shared_object *)self)->s, &s, sizeof s);
    Py_END_ALLOW_THREADS leave(self);
    return stats_record(&s);
}

static PyObject *config(PyObject *self, void *unused)
{
    char text[WEIR_SPEC_MAX];

    (void)unused;
    if (!enter(self))
        return NULL;
    weir_shared_config(((struct shared_object *)self)->s, text, sizeof text);
    leave(self);
    return PyUnicode_FromString(text);
}

static PyObject *shards(PyObject *self, void *unused)
{
    uint32_t n;

    (void)unused;
    if (!enter(self))
        return NULL;
    n = weir_shared_shards(((struct shared_object *)self)->s);
    leave(self);
    return PyLong_FromUnsignedLong(n);
}

static PyObject *closed(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((struct shared_object *)self)->is_closed);
}

static PyObject *repr(PyObject *self)
{
    PyObject *text, *out;

    if (((struct shared_object *)self)->is_closed)
        return PyUnicode_FromString("<weir.Shared, closed>");
    text = config(self, NULL);
    out = text ? PyUnicode_FromFormat("<weir.Shared %R>", text) : NULL;
    Py_XDECREF(text);
    return out;
}

/* ---- saved ---- */

static enum weir_status write_shared(void *handle, weir_sink sink, void *context,
                                     struct weir_error *error)
{
    return weir_shared_save_stream(handle, sink, context, error);
}

static PyObject *save(PyObject *self, PyObject *path)
{
    PyObject *out;

    if (!enter(self))
        return NULL;
    out = saved_write(path, ((struct shared_object *)self)->keys, write_shared,
                      ((struct shared_object *)self)->s);
    leave(self);
    return out;
}

static PyObject *tobytes(PyObject *self, PyObject *none)
{
    weir_shared *s = ((struct shared_object *)self)->s;
    size_t size = 0;
    PyObject *out;

    (void)none;
    if (!enter(self))
        return NULL;
    for (uint32_t i = 0; i < weir_shared_shards(s); i++)
        size += weir_saved_size(weir_shared_shard(s, i)); /* stays what it is */
    out = saved_bytes_of(((struct shared_object *)self)->keys, write_shared, s, size);
    leave(self);
    return out;
}

/* Handles on the shards where they lie, as one. */
static enum weir_status view_shards(weir_shared **out, const void *data, size_t size, uint32_t most,
                                    struct weir_error *error)
{
    weir_filter **w = calloc(most, sizeof(weir_filter *));
    uint32_t n = 0;
    enum weir_status status;

    if (!w) {
        *error = (struct weir_error){.status = WEIR_NO_MEMORY, .text = "out of memory"};
        return WEIR_NO_MEMORY;
    }
    status = weir_view_shards(w, most, &n, data, size, NULL, NULL, error);
    if (status == WEIR_OK) {
        status = weir_shared_join(out, w, n, NULL, error);
        for (uint32_t i = 0; status != WEIR_OK && i < n; i++)
            weir_close(w[i]);
    }
    free(w);
    return status;
}

static PyObject *open_saved(PyObject *args, PyObject *named, bool as_view)
{
    char keys[WEIR_KEY_DESCRIPTION_MAX];
    PyObject *out;
    struct saved_bytes saved;
    struct weir_error error;
    const void *data;
    size_t size;
    uint32_t n = 1;
    enum weir_status status;
    weir_shared *s = NULL;

    if (!saved_open_filter(&saved, args, named, keys))
        return NULL;
    if (!saved_find(&saved, 1u << WEIR_PART_FILTER, "filter", &data, &size, &n)) {
        saved_close(&saved);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status =
        as_view ? view_shards(&s, data, size, n ? n : 1, &error)
                : weir_shared_load_buffer(&s, data, size, NULL, NULL, &error);
    Py_END_ALLOW_THREADS if (status != WEIR_OK || !as_view) saved_close(&saved);
    if (status != WEIR_OK)
        return raise_error(&error);
    out = wrap(s, as_view ? &saved : NULL);
    if (out)
        memcpy(((struct shared_object *)out)->keys, keys, sizeof keys);
    return out;
}

static PyObject *load(PyObject *type, PyObject *args, PyObject *named)
{
    (void)type;
    return open_saved(args, named, false);
}

static PyObject *view(PyObject *type, PyObject *args, PyObject *named)
{
    (void)type;
    return open_saved(args, named, true);
}

static PyObject *reduce(PyObject *self, PyObject *none)
{
    PyObject *bytes = tobytes(self, none);
    PyObject *loader =
        bytes ? saved_loader((PyObject *)shared_type, ((struct shared_object *)self)->keys) : NULL;
    PyObject *out = loader ? Py_BuildValue("O(O)", loader, bytes) : NULL;

    Py_XDECREF(loader);
    Py_XDECREF(bytes);
    return out;
}

static PyObject *keys(PyObject *self, void *none)
{
    (void)none;
    return PyUnicode_FromString(((struct shared_object *)self)->keys);
}

/* ---- the type ---- */

static PyMethodDef methods[] = {
    {"observe", observe, METH_O,
     "observe($self, key, /)\n--\n\nReport whether a key was probably observed before, then record "
     "it."},
    {"observe_many", METHOD(observe_many), METH_VARARGS | METH_KEYWORDS,
     "observe_many($self, /, keys, *, size=None, importance=None, times=None)\n--\n\n"
     "As Filter.observe_many(); batches of thousands are best."},
    {"ask", ask, METH_O,
     "ask($self, key, /)\n--\n\nReport whether a key was probably observed; records nothing."},
    {"ask_many", METHOD(ask_many), METH_VARARGS | METH_KEYWORDS,
     "ask_many($self, /, keys, *, size=None)\n--\n\nAs Filter.ask_many()."},
    {"forget", forget, METH_O,
     "forget($self, key, /)\n--\n\nRemove one observation of a key. Returns whether it was "
     "present."},
    {"advance", advance, METH_O,
     "advance($self, time, /)\n--\n\nSet the current time in milliseconds, for filters with "
     "span=."},
    {"stats", stats, METH_NOARGS,
     "stats($self, /)\n--\n\nStatistics of all shards together, a weir.Stats."},
    {"save", save, METH_O,
     "save($self, path, /)\n--\n\nSave to a file, replaced in one step. Keys that other "
     "threads observe meanwhile may be missing."},
    {"tobytes", tobytes, METH_NOARGS, "tobytes($self, /)\n--\n\nWhat save() would write."},
    {"load", METHOD(load), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "load($type, source, /, *, keys_differ=False)\n--\n\nLoad all shards of a saved filter, from "
     "a path or from bytes."},
    {"view", METHOD(view), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "view($type, source, /, *, keys_differ=False)\n--\n\nOpen saved shards read-only; see "
     "Filter.view()."},
    {"__reduce__", reduce, METH_NOARGS, "For pickle: the saved bytes."},
    {"close", close_shared, METH_NOARGS,
     "close($self, /)\n--\n\nRefuse further calls; the last running one frees the memory."},
    {"__enter__", enter_with, METH_NOARGS, "The filter itself."},
    {"__exit__", exit_with, METH_VARARGS, "Close it."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef properties[] = {
    {"config", config, NULL, "The spec in full, of the whole.", NULL},
    {"shards", shards, NULL, "How many shards there are.", NULL},
    {"keys", keys, NULL, "How the file it was loaded from describes its keys; empty: as given.",
     NULL},
    {"closed", closed, NULL, "Whether it was closed.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

#define SHARED_DOC                                                                                 \
    "Shared(spec='', *, shards=0, max_bytes=0)\n--\n\n"                                            \
    "One filter for many threads: its keys are divided among shards with a lock each,\n"           \
    "and batches run without the GIL. shards: 1 to 256; 0 means 8.\n\n"                            \
    ">>> f = Shared('memory=1M seed=1', shards=4)\n"                                               \
    ">>> list(f.observe_many(['a', 'b', 'a']))\n"                                                  \
    "[0, 0, 1]\n"

static PyType_Slot slots[] = {{Py_tp_new, new_shared},    {Py_tp_dealloc, dealloc},
                              {Py_tp_doc, SHARED_DOC},    {Py_tp_methods, methods},
                              {Py_tp_getset, properties}, {Py_tp_repr, repr},
                              {Py_sq_contains, contains}, {0, NULL}};

static PyType_Spec spec = {"weir.Shared", sizeof(struct shared_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};

bool shared_add(PyObject *module)
{
    shared_type = type_add(module, &spec, "Shared");
    return shared_type != NULL;
}
