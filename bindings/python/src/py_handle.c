/* py_handle.c - what Filter, Shared, Sketch, Screen, Builder and Near have in common: a handle of
 * the library, the thread that is in a call of it, and the methods that are the same for all.
 *
 * The base type Handle has the methods of all but Builder. Its subtype Single, of all that are used
 * by one thread at a time, has also those that copy, clear and merge. */
#include "binding.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <structmember.h>
#include <unistd.h>

#define BYTES_PER_KEY 8  /* with more memory per key, no filter exceeds its error */
#define FIRST_CHECK 1024 /* observed keys */

/* ---- one call at a time ---- */

static void wait_without_gil(PyThread_type_lock lock)
{
    Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(lock, WAIT_LOCK);
    PyThread_release_lock(lock);
    Py_END_ALLOW_THREADS
}

/* Wait until no thread is in a call. The handle may have been closed meanwhile. */
static bool wait_for_others(struct handle_use *u)
{
    while (u->taken) {
        if (u->owner == PyThread_get_thread_ident()) {
            PyErr_SetString(PyExc_RuntimeError, "a store cannot use the screen that is asking it");
            return false;
        }
        wait_without_gil(u->lock);
    }
    return true;
}

static bool is_closed(const struct handle_object *o)
{
    return o->is_closed || !o->handle;
}

void *object_ready(PyObject *self)
{
    struct handle_object *o = (struct handle_object *)self;

    if (!wait_for_others(&o->use))
        return NULL;
    if (!is_closed(o))
        return o->handle;
    PyErr_SetString(PyExc_ValueError, o->class->closed);
    return NULL;
}

void *object_observing(PyObject *self)
{
    const struct handle_object *o = (struct handle_object *)self;
    void *handle = object_ready(self);

    if (!handle || o->observes)
        return handle;
    return raise_status(WEIR_UNSUPPORTED, o->view.obj ? o->class->of_view : o->class->of_set);
}

bool object_expires(PyObject *self)
{
    const struct handle_object *o = (struct handle_object *)self;
    char spec[WEIR_SPEC_MAX], ttl[64];

    if (!object_ready(self))
        return false;
    o->class->config(o->handle, spec, sizeof spec);
    if (weir_spec_get(spec, "ttl", ttl, sizeof ttl) > 0)
        return true;
    return raise_status(WEIR_UNSUPPORTED,
                        "ttl: the filter has no TTLs; open it with ttl=, for example ttl='1m-2h'");
}

bool object_enter(PyObject *self)
{
    struct handle_object *o = (struct handle_object *)self;

    if (!object_ready(self))
        return false;
    if (o->class->is_concurrent) {
        o->calls++;
        return true;
    }
    o->use.taken = true;
    o->use.owner = PyThread_get_thread_ident();
    PyThread_acquire_lock(o->use.lock, WAIT_LOCK); /* a waiting thread may hold it for an instant */
    return true;
}

static void free_handle(struct handle_object *o)
{
    void *handle = o->handle;

    o->handle = NULL;
    if (handle)
        o->class->close(handle);
    PyBuffer_Release(&o->view);
}

void object_leave(PyObject *self)
{
    struct handle_object *o = (struct handle_object *)self;

    if (o->class->is_concurrent) {
        if (--o->calls == 0 && o->is_closed)
            free_handle(o);
    } else {
        o->use.taken = false;
        PyThread_release_lock(o->use.lock);
    }
}

/* ---- life ---- */

static void read_config(struct handle_object *o)
{
    char config[WEIR_SPEC_MAX];
    uint64_t traits = 0;

    o->class->config(o->handle, config, sizeof config);
    o->hash = hasher_of(config);
    o->observes =
        !o->class->observe ||
        (!o->view.obj && weir_spec_traits(WEIR_KIND_FILTER, config, &traits, NULL) == WEIR_OK &&
         traits & WEIR_CAN_OBSERVE);
    o->saturation.next = UINT64_MAX;
    if (o->class->observe && o->observes) {
        uint64_t first = o->class->saved_size(o->handle) / BYTES_PER_KEY;

        o->saturation.next = first > FIRST_CHECK ? first : FIRST_CHECK;
    }
}

PyObject *object_wrap(PyTypeObject *type, const struct handle_class *class, void *handle,
                      Py_buffer *view)
{
    struct handle_object *o = (struct handle_object *)PyType_GenericAlloc(type, 0);

    if (!o) {
        class->close(handle);
        if (view)
            PyBuffer_Release(view);
        return NULL;
    }
    o->class = class;
    o->handle = handle;
    if (view)
        o->view = *view;
    read_config(o);
    o->use.lock = PyThread_allocate_lock();
    if (o->use.lock)
        return (PyObject *)o;
    PyErr_NoMemory();
    Py_DECREF(o);
    return NULL;
}

PyObject *object_new(PyTypeObject *type, const struct handle_class *class, PyObject *args,
                     PyObject *named, PyObject **store)
{
    PyObject *arguments = support_apply(class->arguments, args, named);
    struct weir_options options = {.size = sizeof options};
    PyObject *max_bytes, *extra, *out = NULL;
    struct weir_error error;
    uint64_t shards = 0;
    const char *spec;
    double limit;
    void *handle;

    if (arguments && PyArg_ParseTuple(arguments, "sOOd", &spec, &max_bytes, &extra, &limit) &&
        number_read(max_bytes, "max_bytes", UINT64_MAX, &options.max_bytes) &&
        (store || number_read(extra, "shards", UINT32_MAX, &shards))) {
        enum weir_status status;

        Py_BEGIN_ALLOW_THREADS status =
            class->open(&handle, spec, (uint32_t)shards, &options, &error);
        Py_END_ALLOW_THREADS out =
            status == WEIR_OK ? object_wrap(type, class, handle, NULL) : raise_error(&error);
    }
    if (out)
        ((struct handle_object *)out)->saturation.limit = limit;
    if (out && store)
        *store = Py_NewRef(extra);
    Py_XDECREF(arguments);
    return out;
}

void object_dealloc(PyObject *self)
{
    struct handle_object *o = (struct handle_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    if (o->weak_references)
        PyObject_ClearWeakRefs(self);
    free_handle(o);
    if (o->use.lock)
        PyThread_free_lock(o->use.lock);
    release(self);
    Py_DECREF(type);
}

PyObject *object_close(PyObject *self, PyObject *unused)
{
    struct handle_object *o = (struct handle_object *)self;

    if (!wait_for_others(&o->use))
        return NULL;
    o->is_closed = true;
    if (o->calls == 0)
        free_handle(o);
    Py_RETURN_NONE;
}

PyObject *object_with(PyObject *self, PyObject *none)
{
    return object_ready(self) ? Py_NewRef(self) : NULL;
}

/* ---- saturation ---- */

/* False with an exception if warnings are errors. */
static bool check_saturation(PyObject *self)
{
    struct handle_object *o = (struct handle_object *)self;
    struct saturation *s = &o->saturation;
    char config[WEIR_SPEC_MAX];
    struct weir_stats stats;
    PyObject *exceeds;

    s->next = s->observed + s->observed / 4 + 1;
    if (is_closed(o) || !object_enter(self))
        return !PyErr_Occurred();
    o->class->config(o->handle, config, sizeof config);
    o->class->measure(o->handle, &stats);
    object_leave(self);
    s->warned = true; /* unless it returns False: an error was a warning */
    exceeds = support_call("warn_saturated", "(sdN)", config, s->limit, stats_record(&stats));
    if (exceeds)
        s->warned = exceeds == Py_True;
    Py_XDECREF(exceeds);
    return exceeds != NULL;
}

bool object_count_observed(PyObject *self, uint64_t n)
{
    struct saturation *s = &((struct handle_object *)self)->saturation;

    s->observed += n;
    return s->observed < s->next || s->warned || check_saturation(self);
}

/* ---- time, copies, merging ---- */

/* Keeps the GIL unless another thread may be in a batch. */
PyObject *object_advance(PyObject *self, PyObject *time)
{
    const struct handle_object *o = (struct handle_object *)self;
    PyThreadState *thread = NULL;
    uint64_t now;

    if (!time_read(time, UINT64_MAX, &now) || !object_enter(self))
        return NULL;
    if (o->class->is_concurrent)
        thread = PyEval_SaveThread();
    o->class->advance(o->handle, now);
    if (thread)
        PyEval_RestoreThread(thread);
    object_leave(self);
    Py_RETURN_NONE;
}

static PyObject *clear(PyObject *self, PyObject *none)
{
    struct handle_object *o = (struct handle_object *)self;

    if (!object_observing(self) || !object_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS o->class->clear(o->handle);
    Py_END_ALLOW_THREADS object_leave(self);
    o->saturation.observed = 0;
    o->saturation.warned = false;
    read_config(o);
    Py_RETURN_NONE;
}

PyObject *object_copy(PyObject *self, PyObject *memo)
{
    struct handle_object *o = (struct handle_object *)self, *copy;
    struct weir_error error;
    PyObject *out;
    void *handle;

    if (!object_enter(self))
        return NULL;
    Py_BEGIN_ALLOW_THREADS handle = o->class->clone(o->handle, &error);
    Py_END_ALLOW_THREADS object_leave(self);
    if (!handle)
        return raise_error(&error);
    out = object_wrap(Py_TYPE(self), o->class, handle, NULL);
    if (!out)
        return NULL;
    copy = (struct handle_object *)out;
    memcpy(copy->keys, o->keys, sizeof o->keys);
    copy->saturation = o->saturation;
    return out;
}

/* Enter the lower address first, so that two threads do not wait for each other. */
static bool enter_both(PyObject *a, PyObject *b)
{
    PyObject *first = a < b ? a : b, *second = a < b ? b : a;

    for (;;) { /* during a wait, the other one may have been taken or closed */
        if (!object_ready(a) || !object_ready(b))
            return false;
        if (!((struct handle_object *)a)->use.taken && !((struct handle_object *)b)->use.taken)
            return object_enter(first) && (first == second || object_enter(second));
    }
}

static PyObject *merge(PyObject *self, PyObject *other)
{
    struct handle_object *into = (struct handle_object *)self, *from;
    struct weir_error error;
    enum weir_status status;

    if (!PyObject_TypeCheck(other, Py_TYPE(self)))
        return PyErr_Format(PyExc_TypeError, "merge() takes another weir.%s", into->class->name);
    from = (struct handle_object *)other;
    if (strcmp(into->keys, from->keys) != 0)
        return raise_status(WEIR_MISMATCH, "the keys of the two filters were made in different "
                                           "ways; compare their attribute keys");
    if (!enter_both(self, other))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = into->class->merge(into->handle, from->handle, &error);
    Py_END_ALLOW_THREADS if (from != into) object_leave(other);
    object_leave(self);
    if (status != WEIR_OK)
        return raise_error(&error);
    if (into->class->measure && !object_count_observed(self, from->saturation.observed))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *merge_in_place(PyObject *self, PyObject *other)
{
    PyObject *done;

    if (!PyObject_TypeCheck(other, Py_TYPE(self)))
        return Py_NewRef(Py_NotImplemented);
    done = merge(self, other);
    Py_XDECREF(done);
    return done ? Py_NewRef(self) : NULL;
}

/* ---- save ---- */

/* Where saved bytes go: to a file, or to memory. */
struct target {
    int fd, failed; /* failed: errno */
    char *at;
    size_t left;
};

static bool put_into_file(void *context, const void *data, size_t size)
{
    struct target *t = context;
    const char *at = data;

    while (size > 0) {
        ssize_t n = write(t->fd, at, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            t->failed = n < 0 ? errno : EIO;
            return false;
        }
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static bool put_into_memory(void *context, const void *data, size_t size)
{
    struct target *t = context;

    if (size > t->left)
        return false;
    memcpy(t->at, data, size);
    t->at += size;
    t->left -= size;
    return true;
}

static bool add_size(void *context, const void *data, size_t size)
{
    *(size_t *)context += size;
    return true;
}

/* Write the note before a filter that describes its keys, if there is a description. */
static enum weir_status write_keys(const struct handle_object *o, weir_sink sink, void *context,
                                   struct weir_error *error)
{
    char note[sizeof WEIR_KEYS_NOTE + WEIR_KEY_DESCRIPTION_MAX];
    int n = PyOS_snprintf(note, sizeof note, WEIR_KEYS_NOTE "%s", o->keys);

    return *o->keys ? weir_part_write(WEIR_PART_NOTE, note, (size_t)n, sink, context, error)
                    : WEIR_OK;
}

/* Without the GIL. */
static enum weir_status write_all(const struct handle_object *o, weir_sink sink, struct target *t,
                                  struct weir_error *error)
{
    enum weir_status status;

    Py_BEGIN_ALLOW_THREADS status = write_keys(o, sink, t, error);
    if (status == WEIR_OK)
        status = o->class->save(o->handle, sink, t, error);
    Py_END_ALLOW_THREADS return status;
}

static PyObject *write_to(PyObject *self, PyObject *file)
{
    struct target t = {.fd = (int)PyLong_AsLong(file)};
    struct weir_error error;
    enum weir_status status;

    if (PyErr_Occurred() || !object_enter(self))
        return NULL;
    status = write_all((struct handle_object *)self, put_into_file, &t, &error);
    object_leave(self);
    if (status == WEIR_OK)
        Py_RETURN_NONE;
    if (!t.failed)
        return raise_error(&error);
    errno = t.failed;
    return PyErr_SetFromErrno(PyExc_OSError);
}

static PyObject *tobytes(PyObject *self, PyObject *none)
{
    const struct handle_object *o = (struct handle_object *)self;
    struct weir_error error;
    struct target t;
    size_t size;
    PyObject *out;

    if (!object_enter(self))
        return NULL;
    size = o->class->saved_size(o->handle);
    (void)write_keys(o, add_size, &size, NULL);
    out = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (out) {
        t = (struct target){.at = PyBytes_AsString(out), .left = size};
        if (write_all(o, put_into_memory, &t, &error) != WEIR_OK) {
            Py_CLEAR(out);
            raise_error(&error);
        }
    }
    object_leave(self);
    return out;
}

static PyObject *save(PyObject *self, PyObject *target)
{
    PyObject *bytes = PyObject_GetAttrString(self, "tobytes");
    PyObject *write = PyObject_GetAttrString(self, "_write");

    return support_call("save", "(ONN)", target, bytes, write);
}

static PyObject *reduce(PyObject *self, PyObject *none)
{
    return support_call("reduce", "(Os)", self, ((struct handle_object *)self)->keys);
}

/* ---- load ---- */

static const char *kind_name(uint32_t kind)
{
    switch (kind) {
    case WEIR_PART_FILTER:
        return "a filter; use weir.Filter.load()";
    case WEIR_PART_COUNTS:
    case WEIR_PART_TOP:
        return "a sketch; use weir.Sketch.load()";
    case WEIR_PART_SCREEN:
        return "a screen; use weir.Screen.load()";
    default:
        return NULL;
    }
}

/* Saved bytes from their part of the right kind on. */
struct found {
    const char *data;
    size_t size;
    uint32_t shards;
};

/* Find the first part of a class, and skip others. False with an exception if there is none. */
static bool find_part(struct found *f, const struct handle_class *class)
{
    struct weir_error error;
    struct weir_part part;
    char text[128];

    do {
        if (weir_part_head(f->data, f->size, &part, sizeof part, &error) != WEIR_OK)
            return raise_error(&error);
        f->shards = part.shards;
        if (part.kind < 32 && class->parts >> part.kind & 1)
            return !class->of_shards || part.shards == 1 ||
                   raise_status(WEIR_UNSUPPORTED, class->of_shards);
        if (kind_name(part.kind)) {
            PyOS_snprintf(text, sizeof text, "the file contains no %s, but %s", class->what,
                          kind_name(part.kind));
            return raise_status(WEIR_BAD_DATA, text);
        }
        f->data += part.size;
        f->size -= part.size;
    } while (f->size > 0);
    PyOS_snprintf(text, sizeof text, "the file contains no %s", class->what);
    return raise_status(WEIR_BAD_DATA, text);
}

/* Keys that were normalized or joined before they were hashed match nothing here. */
static bool keys_match(const char *keys)
{
    char text[WEIR_KEY_DESCRIPTION_MAX + 160];

    if (!*keys)
        return true;
    PyOS_snprintf(text, sizeof text,
                  "the keys in this file were made with %s, but here keys are used as given; make "
                  "them the same way and pass keys_differ=True",
                  keys);
    return raise_status(WEIR_MISMATCH, text);
}

bool saved_open(Py_buffer *saved, PyObject *source)
{
    PyObject *bytes = support_call("buffer_of", "(O)", source);
    bool ok = bytes && PyObject_GetBuffer(bytes, saved, PyBUF_CONTIG_RO) == 0;

    Py_XDECREF(bytes); /* the buffer keeps it */
    return ok;
}

PyObject *object_load(PyTypeObject *type, const struct handle_class *class, PyObject *source,
                      bool keys_differ, bool as_view)
{
    char keys[WEIR_KEY_DESCRIPTION_MAX];
    enum weir_status status = WEIR_BAD_DATA;
    struct weir_error error;
    PyObject *out = NULL;
    Py_buffer saved;
    struct found found;
    void *handle = NULL;

    if (!saved_open(&saved, source))
        return NULL;
    found = (struct found){saved.len ? saved.buf : "", (size_t)saved.len, 1};
    weir_saved_key_description(found.data, found.size, keys, sizeof keys);
    if ((keys_differ || keys_match(keys)) && find_part(&found, class)) {
        Py_BEGIN_ALLOW_THREADS status =
            as_view ? class->view(&handle, found.data, found.size, found.shards, &error)
                    : class->load(&handle, found.data, found.size, &error);
        Py_END_ALLOW_THREADS if (status != WEIR_OK) raise_error(&error);
    }
    if (status != WEIR_OK || !as_view)
        PyBuffer_Release(&saved);
    if (status == WEIR_OK)
        out = object_wrap(type, class, handle, as_view ? &saved : NULL);
    if (out)
        memcpy(((struct handle_object *)out)->keys, keys, sizeof keys);
    return out;
}

static PyObject *load_arguments(PyObject *type, PyObject *args, PyObject *named, bool as_view)
{
    static char *names[] = {"", "keys_differ", NULL};
    const struct handle_class *classes[] = {&filter_class, &shared_class, &sketch_class};
    PyObject *source;
    int differ = 0;

    if (!PyArg_ParseTupleAndKeywords(args, named, "O|$p", names, &source, &differ))
        return NULL;
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if ((PyObject *)classes[i]->type == type)
            return object_load((PyTypeObject *)type, classes[i], source, differ, as_view);
    return NULL;
}

PyObject *object_load_method(PyObject *type, PyObject *args, PyObject *named)
{
    return load_arguments(type, args, named, false);
}

PyObject *object_view_method(PyObject *type, PyObject *args, PyObject *named)
{
    return load_arguments(type, args, named, true);
}

/* ---- attributes ---- */

static PyObject *config(PyObject *self, void *unused)
{
    const struct handle_object *o = (struct handle_object *)self;
    char text[WEIR_SPEC_MAX];

    if (!object_ready(self))
        return NULL;
    o->class->config(o->handle, text, sizeof text);
    return PyUnicode_FromString(text);
}

static PyObject *closed(PyObject *self, void *unused)
{
    return PyBool_FromLong(is_closed((struct handle_object *)self));
}

static PyObject *repr(PyObject *self)
{
    const struct handle_object *o = (struct handle_object *)self;
    PyObject *text, *out;

    if (is_closed(o))
        return PyUnicode_FromFormat("<weir.%s, closed>", o->class->name);
    text = config(self, NULL);
    out = text ? PyUnicode_FromFormat("<weir.%s %R>", o->class->name, text) : NULL;
    Py_XDECREF(text);
    return out;
}

/* ---- the base types ---- */

static PyMethodDef handle_methods[] = {
    {"save", save, METH_O,
     "save($self, file, /)\n--\n\n"
     "Save to a path or to an open binary file. A path is replaced atomically: after a crash\n"
     "it has the old or the new content."},
    {"tobytes", tobytes, METH_NOARGS,
     "tobytes($self, /)\n--\n\nReturn what save() writes, as bytes."},
    {"_write", write_to, METH_O, "For save(): write to a file descriptor."},
    {"__reduce__", reduce, METH_NOARGS, "Pickle support."},
    {"close", object_close, METH_NOARGS,
     "close($self, /)\n--\n\nFree the memory, after calls of other threads have returned."},
    {"__enter__", object_with, METH_NOARGS, "Return self."},
    {"__exit__", object_close, METH_VARARGS, "Close it."},
    {NULL, NULL, 0, NULL}};

static PyMethodDef single_methods[] = {
    {"advance", object_advance, METH_O, ADVANCE_DOC},
    {"clear", clear, METH_NOARGS,
     "clear($self, /)\n--\n\nReturn to the state after opening, with the same seed."},
    {"merge", merge, METH_O,
     "merge($self, other, /)\n--\n\n"
     "Add the content of another one with the same spec and seed. a |= b does the same."},
    METHODS_OF_COPY(object_copy),
    {NULL, NULL, 0, NULL}};

static PyGetSetDef handle_properties[] = {
    {"config", config, NULL, "The complete spec: it opens an equal one.", NULL},
    {"closed", closed, NULL, "Whether it was closed.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef handle_members[] = {{"__weaklistoffset__", T_PYSSIZET,
                                        offsetof(struct handle_object, weak_references), READONLY,
                                        NULL},
                                       {NULL, 0, 0, 0, NULL}};

static PyType_Slot handle_slots[] = {{Py_tp_dealloc, object_dealloc},
                                     {Py_tp_methods, handle_methods},
                                     {Py_tp_getset, handle_properties},
                                     {Py_tp_members, handle_members},
                                     {Py_tp_repr, repr},
                                     {0, NULL}};

static PyType_Slot single_slots[] = {{Py_tp_dealloc, object_dealloc},
                                     {Py_tp_methods, single_methods},
                                     {Py_nb_inplace_or, merge_in_place},
                                     {0, NULL}};

#define BASE_FLAGS                                                                                 \
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_BASETYPE |                          \
        Py_TPFLAGS_DISALLOW_INSTANTIATION

static PyType_Spec handle_spec = {"weir._weir.Handle", sizeof(struct handle_object), 0, BASE_FLAGS,
                                  handle_slots};
static PyType_Spec single_spec = {"weir._weir.Single", sizeof(struct handle_object), 0, BASE_FLAGS,
                                  single_slots};

PyTypeObject *handle_type, *single_type;

bool handle_add(PyObject *module)
{
    handle_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &handle_spec, NULL);
    if (handle_type)
        single_type =
            (PyTypeObject *)PyType_FromModuleAndSpec(module, &single_spec, (PyObject *)handle_type);
    return single_type != NULL;
}
