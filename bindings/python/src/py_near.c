/* py_near.c - weir.Near: was a similar text seen before? */
#include "binding.h"

#include <stdio.h>
#include <sys/random.h>
#include <weir/near.h>

/* ---- the calls of a handle ---- */

static void call_close(void *handle)
{
    weir_near_close(handle);
}

static struct weir_near_options options_of(const weir_near *n)
{
    struct weir_near_options o = {.size = sizeof o};

    weir_near_configuration(n, &o);
    return o;
}

static size_t call_config(const void *handle, char *text, size_t size)
{
    struct weir_near_options o = options_of(handle);

    return (size_t)snprintf(text, size, "near threshold=%.9g memory=%llu seed=%llu shingle=%u",
                            o.threshold, (unsigned long long)o.memory, (unsigned long long)o.seed,
                            o.shingle);
}

static void *call_clone(const void *handle, struct weir_error *error)
{
    return weir_near_clone(handle, error);
}

static enum weir_status call_save(void *handle, weir_sink sink, void *context,
                                  struct weir_error *error)
{
    return weir_near_save_stream(handle, sink, context, error);
}

static bool add_size(void *context, const void *data, size_t size)
{
    (void)data;
    *(size_t *)context += size;
    return true;
}

static size_t call_saved_size(void *handle)
{
    size_t size = 0;

    return weir_near_save_stream(handle, add_size, &size, NULL) == WEIR_OK ? size : 0;
}

static const struct handle_class near_class = {
    .name = "Near",
    .what = "near-duplicate detector",
    .closed = "this near-duplicate detector is closed",
    .close = call_close,
    .config = call_config,
    .clone = call_clone,
    .save = call_save,
    .saved_size = call_saved_size,
};

/* ---- opened and loaded ---- */

static bool read_memory(PyObject *o, uint64_t *bytes)
{
    const char *text = PyUnicode_Check(o) ? PyUnicode_AsUTF8AndSize(o, NULL) : NULL;

    if (!PyUnicode_Check(o))
        return number_read(o, "memory", UINT64_MAX, bytes);
    if (text && !weir_parse_size(text, bytes))
        PyErr_Format(PyExc_ValueError, "memory=%R: not a size such as '64M'", o);
    return !PyErr_Occurred();
}

static bool read_seed(PyObject *o, uint64_t *seed)
{
    if (o != Py_None)
        return number_read(o, "seed", UINT64_MAX, seed);
    if (getrandom(seed, sizeof *seed, 0) == sizeof *seed)
        return true;
    PyErr_SetFromErrno(PyExc_OSError);
    return false;
}

static PyObject *new_near(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = {"threshold", "memory", "seed", "shingle", NULL};
    struct weir_near_options o = {.size = sizeof o, .threshold = 0.8};
    PyObject *memory = NULL, *seed = Py_None, *shingle = NULL;
    uint64_t words = 0;
    struct weir_error error;
    weir_near *n;

    if (!PyArg_ParseTupleAndKeywords(args, named, "|d$OOO", names, &o.threshold, &memory, &seed,
                                     &shingle) ||
        (memory && !read_memory(memory, &o.memory)) || !read_seed(seed, &o.seed) ||
        (shingle && !number_read(shingle, "shingle", UINT32_MAX, &words)))
        return NULL;
    if (o.threshold == 0 || (memory && o.memory == 0) || (shingle && words == 0))
        return raise_status(WEIR_BAD_CONFIG, "threshold, memory and shingle must not be 0");
    o.shingle = (uint32_t)words;
    if (weir_near_open(&n, &o, &error) != WEIR_OK)
        return raise_error(&error);
    return object_wrap(type, &near_class, n, NULL);
}

static PyObject *load(PyObject *type, PyObject *source)
{
    struct weir_error error;
    Py_buffer saved;
    enum weir_status status;
    weir_near *n = NULL;

    if (!saved_open(&saved, source))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = weir_near_load_buffer(&n, saved.buf, (size_t)saved.len, &error);
    Py_END_ALLOW_THREADS PyBuffer_Release(&saved);
    return status == WEIR_OK ? object_wrap((PyTypeObject *)type, &near_class, n, NULL)
                             : raise_error(&error);
}

/* ---- texts ---- */

static bool read_text(PyObject *o, struct text_room *room, struct key_view *text)
{
    if (PyUnicode_Check(o) || PyObject_CheckBuffer(o))
        return key_read(o, room, text);
    PyErr_Format(PyExc_TypeError, "a text is a str or bytes, not %R", (PyObject *)Py_TYPE(o));
    return false;
}

/* number: NULL or None stands for the number of texts so far, plus 1. */
static bool observe_text(PyObject *self, PyObject *text, PyObject *number,
                         struct weir_near_match *match, bool *seen)
{
    struct text_room room;
    struct key_view view;
    uint64_t n = 0;
    bool ok = !number || number == Py_None || number_read(number, "number", UINT64_MAX, &n);

    if (!ok)
        return false;
    text_room_open(&room);
    ok = read_text(text, &room, &view);
    if (ok && object_enter(self)) {
        weir_near *near = ((struct handle_object *)self)->handle;
        struct weir_near_stats stats;

        Py_BEGIN_ALLOW_THREADS weir_near_measure(near, &stats, sizeof stats);
        *seen = weir_near_observe_text(near, view.bytes.data, view.bytes.size,
                                       n ? n : stats.observed + 1, match) == WEIR_SEEN;
        Py_END_ALLOW_THREADS object_leave(self);
    } else if (ok) {
        key_release(&view);
        ok = false;
    }
    if (ok)
        key_release(&view);
    text_room_close(&room);
    return ok;
}

static PyObject *observe(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"", "number", NULL};
    PyObject *text, *number = NULL;
    bool seen;

    return PyArg_ParseTupleAndKeywords(args, named, "O|O", names, &text, &number) &&
                   observe_text(self, text, number, NULL, &seen)
               ? PyBool_FromLong(seen)
               : NULL;
}

static PyObject *match(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"", "number", NULL};
    PyObject *text, *number = NULL;
    struct weir_near_match m;
    bool seen;

    if (!PyArg_ParseTupleAndKeywords(args, named, "O|O", names, &text, &number) ||
        !observe_text(self, text, number, &m, &seen))
        return NULL;
    return support_call("NearMatch", "(OKddI)", seen ? Py_True : Py_False,
                        (unsigned long long)m.number, m.similarity, m.error, m.bands);
}

static bool sketch(PyObject *self, PyObject *text, struct weir_near_sketch *out)
{
    struct text_room room;
    struct key_view view;

    text_room_open(&room);
    bool ok = read_text(text, &room, &view);
    if (ok) {
        const weir_near *near = object_ready(self);

        ok = near != NULL;
        if (ok)
            weir_near_sketch_text(near, view.bytes.data, view.bytes.size, out);
        key_release(&view);
    }
    text_room_close(&room);
    return ok;
}

static PyObject *similarity(PyObject *self, PyObject *args)
{
    PyObject *a, *b;
    struct weir_near_sketch x, y;

    return PyArg_ParseTuple(args, "OO", &a, &b) && sketch(self, a, &x) && sketch(self, b, &y)
               ? PyFloat_FromDouble(weir_near_similarity(&x, &y))
               : NULL;
}

static PyObject *stats(PyObject *self, PyObject *none)
{
    const weir_near *n = object_ready(self);
    struct weir_near_stats s;

    (void)none;
    if (!n)
        return NULL;
    weir_near_measure(n, &s, sizeof s);
    return support_call("NearStats", "(KKKKKK)", (unsigned long long)s.texts,
                        (unsigned long long)s.capacity, (unsigned long long)s.evicted,
                        (unsigned long long)s.observed, (unsigned long long)s.seen,
                        (unsigned long long)s.unsure);
}

/* ---- the type ---- */

#define NEAR_DOC                                                                                   \
    "Near(threshold=0.8, *, memory='64M', seed=None, shingle=5)\n--\n\n"                           \
    "Was a similar text seen before? Texts are compared by their words: case, punctuation and\n"   \
    "white space do not matter. A text is remembered unless a similar one is; when memory is\n"    \
    "full, the oldest is forgotten.\n\n"                                                           \
    ">>> near = Near(0.8, seed=1)\n"                                                               \
    ">>> near.observe('The quick brown fox jumps over the lazy dog.')\n"                           \
    "False\n"                                                                                      \
    ">>> near.observe('the QUICK brown fox -- jumps over the lazy dog')\n"                         \
    "True\n"

static PyMethodDef methods[] = {
    {"observe", METHOD(observe), METH_VARARGS | METH_KEYWORDS,
     "observe($self, text, /, number=None)\n--\n\n"
     "Return whether a similar text is remembered. If not, remember this one, with a number that\n"
     "later matches report (default: the number of texts so far, plus 1)."},
    {"match", METHOD(match), METH_VARARGS | METH_KEYWORDS,
     "match($self, text, /, number=None)\n--\n\n"
     "As observe(), but return a NearMatch: what the text resembles most, and how much."},
    {"similarity", similarity, METH_VARARGS,
     "similarity($self, a, b, /)\n--\n\n"
     "Estimate the Jaccard similarity of two texts. Does not remember them."},
    {"stats", stats, METH_NOARGS, "stats($self, /)\n--\n\nReturn a NearStats."},
    {"load", load, METH_O | METH_CLASS,
     "load($type, source, /)\n--\n\nLoad from a path, an open binary file or bytes."},
    METHODS_OF_COPY(object_copy),
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_new, new_near},
                              {Py_tp_dealloc, object_dealloc},
                              {Py_tp_doc, NEAR_DOC},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = {"weir.Near", sizeof(struct handle_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};

bool near_add(PyObject *module)
{
    return type_add(module, &spec, "Near", handle_type) != NULL;
}
