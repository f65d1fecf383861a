/* builder_type.c - weir.Builder: filters of a set that is known whole. */
#include "filter_type.h"
#include "show_keys.h"

#include <weir/build.h>

struct builder_object {
    PyObject_HEAD weir_builder *b; /* NULL once it is finished, given up or has failed */
    struct handle_use use;
    struct hasher hash;
};

static PyTypeObject *builder_type;

static void dealloc(PyObject *self)
{
    struct builder_object *o = (struct builder_object *)self;
    PyTypeObject *type = Py_TYPE(self);

    weir_build_cancel(o->b);
    handle_use_close(&o->use);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *new_builder(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = {"spec", "max_bytes", NULL};
    struct weir_options options = {.size = sizeof options};
    char config[WEIR_SPEC_MAX];
    const char *spec = "";
    unsigned long long max_bytes = 0;
    struct builder_object *o;
    struct weir_error error;

    if (!PyArg_ParseTupleAndKeywords(args, named, "|s$K", names, &spec, &max_bytes))
        return NULL;
    o = PyObject_New(struct builder_object, type);
    if (!o)
        return NULL;
    o->b = NULL;
    options.max_bytes = max_bytes;
    if (!handle_use_open(&o->use)) {
        Py_DECREF(o);
        return NULL;
    }
    if (weir_build_begin(&o->b, spec, &options, &error) != WEIR_OK) {
        Py_DECREF(o);
        return raise_error(&error);
    }
    weir_build_config(o->b, config, sizeof config);
    o->hash = hasher_of(config);
    return (PyObject *)o;
}

static bool ready(struct builder_object *o)
{
    if (!handle_wait(&o->use))
        return false;
    if (!o->b)
        PyErr_SetString(PyExc_ValueError, "this builder is finished");
    return o->b != NULL;
}

static bool enter(PyObject *self)
{
    struct builder_object *o = (struct builder_object *)self;

    return ready(o) && handle_take(&o->use);
}

static void leave(PyObject *self)
{
    handle_give(&((struct builder_object *)self)->use);
}

static enum weir_status show_add(PyObject *self, const struct weir_key *keys, const uint64_t *times,
                                 size_t n, uint8_t *verdicts, struct weir_error *error)
{
    struct builder_object *o = (struct builder_object *)self;
    enum weir_status status = weir_build_add(o->b, keys, n, error);

    (void)times;
    (void)verdicts;
    if (status != WEIR_OK) { /* nothing else is left to do with it */
        weir_build_cancel(o->b);
        o->b = NULL;
    }
    return status;
}

static PyObject *add_many(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"keys", "size", "importance", NULL};
    struct shown_to to = {self, ((struct builder_object *)self)->hash, enter, leave, show_add};
    struct batch_given given = {NULL};

    if (!PyArg_ParseTupleAndKeywords(args, named, "O|$OO", names, &given.keys, &given.size,
                                     &given.importance))
        return NULL;
    return show_keys(&to, &given, false);
}

static PyObject *add(PyObject *self, PyObject *object)
{
    struct builder_object *o = (struct builder_object *)self;
    struct weir_error error;
    struct weir_key key;

    if (!key_hash(object, o->hash, &key) || !ready(o))
        return NULL;
    if (show_add(self, &key, NULL, 1, NULL, &error) != WEIR_OK)
        return raise_error(&error);
    Py_RETURN_NONE;
}

static PyObject *finish(PyObject *self, PyObject *none)
{
    struct builder_object *o = (struct builder_object *)self;
    struct weir_error error;
    enum weir_status status;
    weir_builder *b;
    weir_filter *w = NULL;

    (void)none;
    if (!ready(o))
        return NULL;
    b = o->b;
    o->b = NULL; /* nobody else can have it */
    Py_BEGIN_ALLOW_THREADS status = weir_build_finish(b, &w, &error);
    Py_END_ALLOW_THREADS return status == WEIR_OK ? filter_wrap(w, NULL) : raise_error(&error);
}

static PyObject *cancel(PyObject *self, PyObject *args)
{
    struct builder_object *o = (struct builder_object *)self;
    weir_builder *b;

    (void)args;
    if (!handle_wait(&o->use))
        return NULL;
    b = o->b;
    o->b = NULL;
    weir_build_cancel(b);
    Py_RETURN_NONE;
}

static PyObject *enter_with(PyObject *self, PyObject *none)
{
    (void)none;
    return ready((struct builder_object *)self) ? Py_NewRef(self) : NULL;
}

static PyMethodDef methods[] = {
    {"add", add, METH_O, "add($self, key, /)\n--\n\nAdd one key."},
    {"add_many", METHOD(add_many), METH_VARARGS | METH_KEYWORDS,
     "add_many($self, /, keys, *, size=None, importance=None)\n--\n\n"
     "Add keys, in as many calls as it takes; keys and size as of Filter.observe_many()."},
    {"finish", finish, METH_NOARGS, "finish($self, /)\n--\n\nThe filter. The builder is done."},
    {"cancel", cancel, METH_NOARGS, "cancel($self, /)\n--\n\nGive up."},
    {"__enter__", enter_with, METH_NOARGS, "The builder itself."},
    {"__exit__", cancel, METH_VARARGS, "Give up, if it is not finished."},
    {NULL, NULL, 0, NULL}};

#define BUILDER_DOC                                                                                \
    "Builder(spec='', *, max_bytes=0)\n--\n\n"                                                     \
    "Makes a filter of a set whose keys are all known; a fixed one (fuse) is made in no other\n"   \
    "way. weir.build() does it in one call.\n\n"                                                   \
    ">>> with Builder('fuse fpr=0.4% seed=1') as b:\n"                                             \
    "...     b.add_many(['a', 'b'])\n"                                                             \
    "...     f = b.finish()\n"                                                                     \
    ">>> 'a' in f, 'b' in f\n"                                                                     \
    "(True, True)\n"

static PyType_Slot slots[] = {{Py_tp_new, new_builder},
                              {Py_tp_dealloc, dealloc},
                              {Py_tp_doc, BUILDER_DOC},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = {"weir.Builder", sizeof(struct builder_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};

bool builder_add(PyObject *module)
{
    builder_type = type_add(module, &spec, "Builder");
    return builder_type != NULL;
}
