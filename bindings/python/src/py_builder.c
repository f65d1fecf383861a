/* py_builder.c - weir.Builder: filters of a set whose keys are all known. */
#include "binding.h"

#include <weir/build.h>

static PyTypeObject *builder_type;

static enum weir_status call_open(void **out, const char *spec, uint32_t shards,
                                  const struct weir_options *options, struct weir_error *error)
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

/* The handle is NULL after finish() or cancel(), and after a failure. */
static const struct handle_class builder_class = {
    .name = "Builder",
    .what = "builder",
    .closed = "this builder is finished",
    .arguments = "open_plain",
    .open = call_open,
    .close = call_close,
    .config = call_config,
};

static PyObject *new_builder(PyTypeObject *type, PyObject *args, PyObject *named)
{
    return object_new(type, &builder_class, args, named, NULL);
}

static enum weir_status add_batch(struct handle_object *o, const struct weir_key *keys,
                                  struct key_times at, size_t n, uint8_t *verdicts,
                                  struct weir_error *error)
{
    enum weir_status status = weir_build_add(o->handle, keys, n, error);

    if (status != WEIR_OK) { /* it cannot be used any more */
        weir_build_cancel(o->handle);
        o->handle = NULL;
    }
    return status;
}

static PyObject *add_many(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"keys", "size", "importance", NULL};
    struct batch_arguments a = {NULL};

    if (!PyArg_ParseTupleAndKeywords(args, named, "O|$OO", names, &a.keys, &a.size, &a.importance))
        return NULL;
    return batch_run(self, add_batch, &a, BATCH_NONE);
}

static PyObject *add(PyObject *self, PyObject *object)
{
    struct handle_object *o = (struct handle_object *)self;
    struct weir_error error;
    struct weir_key key;

    if (!key_hash(object, o->hash, &key) || !object_ready(self))
        return NULL;
    if (add_batch(o, &key, (struct key_times){NULL, NULL}, 1, NULL, &error) != WEIR_OK)
        return raise_error(&error);
    Py_RETURN_NONE;
}

static PyObject *finish(PyObject *self, PyObject *none)
{
    struct handle_object *o = (struct handle_object *)self;
    struct weir_error error;
    enum weir_status status;
    weir_builder *b;
    weir_filter *w = NULL;

    if (!object_ready(self))
        return NULL;
    b = o->handle;
    o->handle = NULL; /* with the GIL: no other thread can use it */
    Py_BEGIN_ALLOW_THREADS status = weir_build_finish(b, &w, &error);
    Py_END_ALLOW_THREADS return status == WEIR_OK
        ? object_wrap(filter_class.type, &filter_class, w, NULL)
        : raise_error(&error);
}

static PyMethodDef methods[] = {
    {"add", add, METH_O, "add($self, key, /)\n--\n\nAdd one key."},
    {"add_many", METHOD(add_many), METH_VARARGS | METH_KEYWORDS,
     "add_many($self, /, keys, *, size=None, importance=None)\n--\n\n"
     "Add keys; may be called repeatedly. keys and size as of Filter.observe_many()."},
    {"finish", finish, METH_NOARGS,
     "finish($self, /)\n--\n\nReturn the filter. The builder cannot be used any more."},
    {"cancel", object_close, METH_NOARGS,
     "cancel($self, /)\n--\n\nFree the builder without a filter."},
    {"__enter__", object_with, METH_NOARGS, "Return self."},
    {"__exit__", object_close, METH_VARARGS, "Cancel it, unless it is finished."},
    {NULL, NULL, 0, NULL}};

#define BUILDER_DOC                                                                                \
    "Builder(spec='', *, max_bytes=0, **parameters)\n--\n\n"                                       \
    "Builds a filter of a set whose keys are all known. Fixed filters (fuse) can only be built.\n" \
    "weir.build() does it in one call.\n\n"                                                        \
    ">>> with Builder('fuse fpr=0.4% seed=1') as b:\n"                                             \
    "...     b.add_many(['a', 'b'])\n"                                                             \
    "...     f = b.finish()\n"                                                                     \
    ">>> 'a' in f, 'b' in f\n"                                                                     \
    "(True, True)\n"

static PyType_Slot slots[] = {{Py_tp_new, new_builder},
                              {Py_tp_dealloc, object_dealloc},
                              {Py_tp_doc, BUILDER_DOC},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = {"weir.Builder", sizeof(struct handle_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};

bool builder_add(PyObject *module)
{
    builder_type = type_add(module, &spec, "Builder", NULL);
    return builder_type != NULL;
}
