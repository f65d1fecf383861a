/* py_sketch.c - weir.Sketch: how many times does a key occur? */
#include "binding.h"

#include <stdlib.h>
#include <string.h>
#include <weir/sketch.h>

#define CHUNK 4096

/* ---- opened and loaded ---- */

HANDLE_CALLS(weir_sketch, weir_sketch)

struct handle_class sketch_class = {
    .name = "Sketch",
    .what = "sketch",
    .closed = "this sketch is closed",
    .arguments = "open_sketch",
    .parts = 1u << WEIR_PART_COUNTS | 1u << WEIR_PART_TOP,
    HANDLE_INIT,
};

static PyObject *new_sketch(PyTypeObject *type, PyObject *args, PyObject *named)
{
    return object_new(type, &sketch_class, args, named, NULL);
}

/* ---- count ---- */

/* What add() and take() are given. */
static bool read_key_and_amount(PyObject *args, PyObject *named, struct text_room *room,
                                struct key_view *key, uint64_t *amount)
{
    static char *names[] = {"key", "amount", NULL};
    PyObject *object, *number = NULL;

    *amount = 1;
    return PyArg_ParseTupleAndKeywords(args, named, "O|O", names, &object, &number) &&
           (!number || number_read(number, "amount", UINT64_MAX, amount)) &&
           key_read(object, room, key);
}

static PyObject *add_or_take(PyObject *self, PyObject *args, PyObject *named, bool taking)
{
    struct text_room room;
    struct key_view key;
    struct weir_error error;
    uint64_t amount;
    enum weir_status status = WEIR_OK;
    weir_sketch *s = NULL;

    text_room_open(&room);
    if (read_key_and_amount(args, named, &room, &key, &amount)) {
        s = object_ready(self);
        if (s && taking)
            status = weir_sketch_take(s, key.bytes, amount, &error);
        else if (s)
            weir_sketch_add(s, key.bytes, amount);
        key_release(&key);
    }
    text_room_close(&room);
    if (status != WEIR_OK)
        return raise_error(&error);
    return s ? Py_NewRef(Py_None) : NULL;
}

static PyObject *add(PyObject *self, PyObject *args, PyObject *named)
{
    return add_or_take(self, args, named, false);
}

static PyObject *take(PyObject *self, PyObject *args, PyObject *named)
{
    return add_or_take(self, args, named, true);
}

/* The numbers of a batch of keys. */
struct adding {
    struct numbers amounts, times;
    uint64_t amount[CHUNK], time[CHUNK];
};

static void add_to(weir_sketch *s, const struct key_list *l, size_t n, const struct adding *a)
{
    if (a->times.given)
        weir_sketch_add_many_at(s, l->keys, a->amount, a->time, n);
    else
        weir_sketch_add_many(s, l->keys, a->amount, n);
}

/* If a number is wrong, the keys before it count, and its exception is kept. */
static bool add_list(PyObject *self, struct key_list *l, void *context)
{
    struct adding *a = context;
    PyObject *type, *value, *trace;
    bool entered;
    size_t n = 0;

    while (n < l->n && numbers_next(&a->amounts, &a->amount[n]) &&
           (!a->times.given || numbers_next(&a->times, &a->time[n])))
        n++;
    PyErr_Fetch(&type, &value, &trace);
    entered = object_enter(self);
    if (entered) {
        Py_BEGIN_ALLOW_THREADS add_to(((struct handle_object *)self)->handle, l, n, a);
        Py_END_ALLOW_THREADS object_leave(self);
    }
    if (type)
        PyErr_Restore(type, value, trace);
    return entered && n == l->n;
}

static PyObject *add_many(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"keys", "amounts", "size", "times", NULL};
    PyObject *keys, *amounts = Py_None, *size = Py_None, *times = Py_None;
    struct adding *a;
    bool ok;

    if (!PyArg_ParseTupleAndKeywords(args, named, "O|O$OO", names, &keys, &amounts, &size, &times))
        return NULL;
    a = calloc(1, sizeof *a);
    if (!a)
        return PyErr_NoMemory();
    ok = numbers_open(&a->amounts, amounts, "amounts", 1, UINT64_MAX) &&
         times_open(&a->times, times) && key_lists_run(self, keys, size, CHUNK, add_list, a) &&
         numbers_end(&a->amounts) && numbers_end(&a->times);
    numbers_close(&a->amounts);
    numbers_close(&a->times);
    free(a);
    return ok ? Py_NewRef(Py_None) : NULL;
}

/* ---- ask ---- */

/* None stands for no bound. */
static PyObject *bound(uint64_t error)
{
    return error == WEIR_NO_BOUND ? Py_NewRef(Py_None) : PyLong_FromUnsignedLongLong(error);
}

static bool ask(PyObject *self, PyObject *object, struct weir_estimate *out)
{
    struct text_room room;
    struct key_view key;
    weir_sketch *s = NULL;

    text_room_open(&room);
    if (key_read(object, &room, &key)) {
        s = object_ready(self);
        if (s)
            *out = weir_sketch_ask(s, key.bytes);
        key_release(&key);
    }
    text_room_close(&room);
    return s != NULL;
}

static PyObject *count(PyObject *self, PyObject *object)
{
    struct weir_estimate e;

    return ask(self, object, &e) ? PyLong_FromUnsignedLongLong(e.count) : NULL;
}

static PyObject *estimate(PyObject *self, PyObject *object)
{
    struct weir_estimate e;

    if (!ask(self, object, &e))
        return NULL;
    return support_call("Estimate", "(KN)", e.count, bound(e.error));
}

static PyObject *list_of(const struct weir_heavy *heavy, size_t n)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < n; i++) {
        const struct weir_bytes key = heavy[i].key;
        PyObject *bytes = PyBytes_FromStringAndSize(key.data, (Py_ssize_t)key.size);
        PyObject *record =
            support_call("Heavy", "(NKN)", bytes, heavy[i].count, bound(heavy[i].error));

        if (!record || PyList_Append(list, record) < 0)
            Py_CLEAR(list);
        Py_XDECREF(record);
    }
    return list;
}

/* False with an exception: no keys would be taken for there being none. */
static bool lists_keys(const weir_sketch *s)
{
    char spec[WEIR_SPEC_MAX];
    const struct weir_algorithm *about;

    weir_sketch_config(s, spec, sizeof spec);
    about = weir_find_algorithm(WEIR_KIND_SKETCH, spec);
    if (about && about->traits & WEIR_CAN_LIST)
        return true;
    raise_status(WEIR_UNSUPPORTED, "this sketch counts any key and lists none; "
                                   "weir.Sketch('top') lists the most frequent keys");
    return false;
}

static PyObject *top(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"n", NULL};
    Py_ssize_t n = 10;
    struct weir_sketch_stats stats;
    struct weir_heavy *heavy;
    PyObject *out = NULL;
    size_t found;

    if (!PyArg_ParseTupleAndKeywords(args, named, "|n", names, &n))
        return NULL;
    if (n < 0) {
        PyErr_SetString(PyExc_ValueError, "top() takes a number of keys, 0 or more");
        return NULL;
    }
    if (!object_ready(self) || !lists_keys(((struct handle_object *)self)->handle) ||
        !object_enter(self))
        return NULL;
    weir_sketch_measure(((struct handle_object *)self)->handle, &stats, sizeof stats);
    if ((uint64_t)n > stats.keys)
        n = (Py_ssize_t)stats.keys;
    heavy = calloc((size_t)n + 1, sizeof *heavy);
    if (heavy) {
        Py_BEGIN_ALLOW_THREADS found =
            weir_sketch_top(((struct handle_object *)self)->handle, heavy, (size_t)n);
        Py_END_ALLOW_THREADS out = list_of(heavy, found);
    } else {
        PyErr_NoMemory();
    }
    free(heavy);
    object_leave(self);
    return out;
}

/* ---- the whole ---- */

static PyObject *stats(PyObject *self, PyObject *none)
{
    weir_sketch *s = object_ready(self);
    struct weir_sketch_stats m;

    if (!s)
        return NULL;
    weir_sketch_measure(s, &m, sizeof m);
    return support_call("SketchStats", "(KKKKNdK)", m.memory, m.bytes, m.total, m.keys,
                        bound(m.error), m.confidence, m.too_long);
}

/* ---- the type ---- */

static PyMethodDef methods[] = {
    {"add", METHOD(add), METH_VARARGS | METH_KEYWORDS,
     "add($self, /, key, amount=1)\n--\n\nAdd to the count of a key."},
    {"add_many", METHOD(add_many), METH_VARARGS | METH_KEYWORDS,
     "add_many($self, /, keys, amounts=None, *, size=None, times=None)\n--\n\n"
     "Add keys in order; keys and size as of Filter.observe_many(). amounts: one number for\n"
     "all, or one for each key. times: milliseconds, for sketches whose half-life= is a time."},
    {"take", METHOD(take), METH_VARARGS | METH_KEYWORDS,
     "take($self, /, key, amount=1)\n--\n\nSubtract from the count of a key (count-min "
     "update=plain)."},
    {"count", count, METH_O, "count($self, key, /)\n--\n\nThe estimated count of a key."},
    {"estimate", estimate, METH_O,
     "estimate($self, key, /)\n--\n\nA weir.Estimate: the true count is from count - error to "
     "count."},
    {"top", METHOD(top), METH_VARARGS | METH_KEYWORDS,
     "top($self, /, n=10)\n--\n\nThe most frequent keys, as bytes, highest count first: a list "
     "of weir.Heavy."},
    {"stats", stats, METH_NOARGS, "stats($self, /)\n--\n\nReturn statistics, a weir.SketchStats."},
    {"load", METHOD(object_load_method), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "load($type, source, /, *, keys_differ=False)\n--\n\n"
     "Load a saved sketch from a path, an open binary file or bytes."},
    {NULL, NULL, 0, NULL}};

#define SKETCH_DOC                                                                                 \
    "Sketch(spec='top', *, max_bytes=0, **parameters)\n--\n\n"                                     \
    "Counts how many times keys occur, in constant memory. docs/sketches.md lists the specs.\n\n"  \
    ">>> s = Sketch('top', memory='64K', seed=1)\n"                                                \
    ">>> s.add_many(['a', 'b', 'a'])\n"                                                            \
    ">>> s.count('a'), s.top(1)[0].key\n"                                                          \
    "(2, b'a')\n"

static PyType_Slot slots[] = {{Py_tp_new, new_sketch},
                              {Py_tp_dealloc, object_dealloc},
                              {Py_tp_doc, SKETCH_DOC},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = {"weir.Sketch", sizeof(struct handle_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};

bool sketch_add(PyObject *module)
{
    sketch_class.type = type_add(module, &spec, "Sketch", single_type);
    return sketch_class.type != NULL;
}
