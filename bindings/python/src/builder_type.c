/* builder_type.c - weir.Builder: filters of a set that is known whole. */
#include "typed_handle.h"

#include <weir/build.h>

static PyTypeObject *builder_type;

static enum weir_status call_open(void **out, const char *spec, const struct weir_options *options,
                                  struct weir_error *error)
{
    weir_builder *b = NULL;
    enum weir_status status = weir_build_begin(&b, spec, options, error);

    *out = b;
    return status;
}

static void call_close(void *handle)
{
    weir_build_cancel(handle);
}

static size_t call_config(const void *handle, char *text, size_t size)
{
    return weir_build_config(handle, text, size);
}

/* The handle is NULL once it is finished, given up or has failed. */
static const struct typed_handle_kind builder_typed_kind = {
    .name = "Builder",
    .what = "builder",
    .closed = "this builder is finished",
    .open = call_open,
    .close = call_close,
    .config = call_config,
};

static PyObject *new_builder(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = {"spec", "max_bytes", NULL};
    const char *spec = "";
    unsigned long long max_bytes = 0;

    if (!PyArg_ParseTupleAndKeywords(args, named, "|s$K", names, &spec, &max_bytes))
        return NULL;
    return typed_handle_open(type, &builder_typed_kind, spec, max_bytes);
}

static enum weir_status show_add(struct typed_handle_object *o, const struct weir_key *keys,
                                 const uint64_t *times, size_t n, uint8_t *verdicts,
                                 struct weir_error *error)
{
    enum weir_status status = weir_build_add(o->handle, keys, n, error);

    (void)times;
    (void)verdicts;
    if (status != WEIR_OK) { /* nothing else is left to do with it */
        weir_build_cancel(o->handle);
        o->handle = NULL;
    }
    return status;
}

static PyObject *add_many(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"keys", "size", "importance", NULL};
    struct batch_given given = {NULL};

    if (!PyArg_ParseTupleAndKeywords(args, named, "O|$OO", names, &given.keys, &given.size,
                                     &given.importance))
        return NULL;
    return show_keys(self, show_add, &given, false);
}

static PyObject *add(PyObject *self, PyObject *object)
{
    struct typed_handle_object *o = (struct typed_handle_object *)self;
    struct weir_error error;
    struct weir_key key;

    if (!key_hash(object, o->hash, &key) || !typed_handle_ready(self))
        return NULL;
    if (show_add(o, &key, NULL, 1, NULL, &error) != WEIR_OK)
        return raise_error(&error);
    Py_RETURN_NONE;
}

static PyObject *finish(PyObject *self, PyObject *none)
{
    struct typed_handle_object *o = (struct typed_handle_object *)self;
    struct weir_error error;
    enum weir_status status;
    weir_builder *b;
    weir_filter *w = NULL;

    (void)none;
    if (!typed_handle_ready(self))
        return NULL;
    b = o->handle;
    o->handle = NULL; /* nobody else can have it */
    Py_BEGIN_ALLOW_THREADS status = weir_build_finish(b, &w, &error);
    Py_END_ALLOW_THREADS return status == WEIR_OK
        ? typed_handle_wrap(filter_type, &filter_typed_kind, w, NULL)
        : raise_error(&error);
}

static PyMethodDef methods[] = {
    {"add", add, METH_O, "add($self, key, /)\n--\n\nAdd one key."},
    {"add_many", METHOD(add_many), METH_VARARGS | METH_KEYWORDS,
     "add_many($self, /, keys, *, size=None, importance=None)\n--\n\n"
     "Add keys, in as many calls as it takes; keys and size as of Filter.observe_many()."},
    {"finish", finish, METH_NOARGS, "finish($self, /)\n--\n\nThe filter. The builder is done."},
    {"cancel", typed_handle_close, METH_NOARGS, "cancel($self, /)\n--\n\nGive up."},
    {"__enter__", typed_handle_enter_with, METH_NOARGS, "The builder itself."},
    {"__exit__", typed_handle_close, METH_VARARGS, "Give up, if it is not finished."},
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
                              {Py_tp_dealloc, typed_handle_dealloc},
                              {Py_tp_doc, BUILDER_DOC},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = {"weir.Builder", sizeof(struct typed_handle_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};

bool builder_add(PyObject *module)
{
    builder_type = type_add(module, &spec, "Builder");
    return builder_type != NULL;
}
