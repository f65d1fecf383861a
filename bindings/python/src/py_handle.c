/* py_handle.c - what Filter, Shared, Sketch, Screen and Builder have in common: a handle of the
 * library, the thread that is in a call of it, and the methods that are the same for all. */
#include "binding.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#define WEIR_UNSTABLE
#include <weir/plan.h>

#define SPEC_ERROR_DEFAULT 0.01 /* maximum error of a spec without fpr= and capacity= */
#define TOLERANCE 1.1           /* of the error, which is measured */
#define BYTES_PER_KEY 8         /* with more memory per key, no filter exceeds its error */
#define FIRST_CHECK 1024        /* observed keys */

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
    return raise_status(WEIR_UNSUPPORTED, o->is_view ? o->class->of_view : o->class->of_set);
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
    saved_close(&o->lent);
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

/* ---- arguments of constructors ---- */

static bool append_text(char *to, size_t size, const char *text)
{
    size_t used = strlen(to), n = strlen(text);

    if (used + n + 1 > size) {
        PyErr_SetString(PyExc_ValueError, "the spec is too long");
        return false;
    }
    memcpy(to + used, text, n + 1);
    return true;
}

static bool append_utf8(struct open_arguments *a, PyObject *text)
{
    PyObject *bytes = text ? PyUnicode_AsUTF8String(text) : NULL;
    const char *utf8 = bytes ? PyBytes_AsString(bytes) : NULL;
    bool ok = utf8 && strlen(utf8) == (size_t)PyBytes_Size(bytes);

    if (utf8 && !ok)
        PyErr_SetString(PyExc_ValueError, "the spec contains a NUL character; remove it");
    ok = ok && append_text(a->spec, sizeof a->spec, utf8);
    Py_XDECREF(bytes);
    return ok;
}

/* A new reference: the value of a parameter as text. */
static PyObject *value_text(PyObject *name, PyObject *value)
{
    PyObject *seconds, *out;

    if (PyUnicode_Check(value))
        return Py_NewRef(value);
    if ((PyLong_Check(value) || PyFloat_Check(value)) && !PyBool_Check(value))
        return PyObject_Str(value);
    seconds = PyObject_HasAttrString(value, "total_seconds")
                  ? PyObject_CallMethod(value, "total_seconds", NULL)
                  : NULL;
    if (seconds) {
        out = PyUnicode_FromFormat("%lldms", (long long)llround(PyFloat_AsDouble(seconds) * 1000));
        Py_DECREF(seconds);
        return out;
    }
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%U: invalid value %R; use a str, a number or a timedelta", name,
                 value);
    return NULL;
}

/* Append " name=value"; half_life= is the parameter half-life=. */
static bool append_parameter(struct open_arguments *a, PyObject *name, PyObject *value)
{
    PyObject *text = value_text(name, value);
    size_t from = strlen(a->spec), end;
    bool ok = text && append_text(a->spec, sizeof a->spec, " ") && append_utf8(a, name);

    end = strlen(a->spec);
    for (size_t i = from; i < end; i++)
        if (a->spec[i] == '_')
            a->spec[i] = '-';
    ok = ok && append_text(a->spec, sizeof a->spec, "=") && append_utf8(a, text);
    if (ok && (a->spec[end + 1] == '\0' || strpbrk(a->spec + end + 1, " \t\r\n="))) {
        PyErr_Format(PyExc_ValueError, "%U=%R: invalid value; use one word, such as '64M'", name,
                     text);
        ok = false;
    }
    Py_XDECREF(text);
    return ok;
}

static bool is_named(PyObject *name, const char *text)
{
    return PyUnicode_CompareWithASCIIString(name, text) == 0;
}

bool open_arguments_read(struct open_arguments *a, PyObject *args, PyObject *named, bool has_store,
                         bool has_shards)
{
    PyObject *name, *value, *spec = NULL, *store = NULL;
    Py_ssize_t at = 0;

    memset(a, 0, sizeof *a);
    if (!PyArg_ParseTuple(args, has_store ? "|OO" : "|O", &spec, &store))
        return false;
    while (named && PyDict_Next(named, &at, &name, &value)) {
        if (is_named(name, "spec") && !spec)
            spec = value;
        else if (has_store && is_named(name, "store") && !store)
            store = value;
    }
    if (spec && !PyUnicode_Check(spec)) {
        PyErr_Format(PyExc_TypeError,
                     "the spec is %R, not a str; use 'memory=64M', or "
                     "keywords: memory='64M'",
                     spec);
        return false;
    }
    if (spec && !append_utf8(a, spec))
        return false;
    a->store = store;
    for (at = 0; named && PyDict_Next(named, &at, &name, &value);) {
        if (is_named(name, "spec") || (has_store && is_named(name, "store")))
            continue;
        if (is_named(name, "max_bytes")) {
            if (!number_read(value, "max_bytes", UINT64_MAX, &a->max_bytes))
                return false;
        } else if (has_shards && is_named(name, "shards")) {
            a->shards = value;
        } else if (!append_parameter(a, name, value)) {
            return false;
        }
    }
    return true;
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
        (!o->is_view && weir_spec_traits(WEIR_KIND_FILTER, config, &traits, NULL) == WEIR_OK &&
         traits & WEIR_CAN_OBSERVE);
    o->saturation.next = UINT64_MAX;
    if (o->class->observe && o->observes) {
        uint64_t first = o->class->saved_size(o->handle) / BYTES_PER_KEY;

        o->saturation.next = first > FIRST_CHECK ? first : FIRST_CHECK;
    }
}

PyObject *object_wrap(PyTypeObject *type, const struct handle_class *class, void *handle,
                      struct saved_bytes *lent)
{
    struct handle_object *o = (struct handle_object *)PyType_GenericAlloc(type, 0);

    if (!o) {
        class->close(handle);
        if (lent)
            saved_close(lent);
        return NULL;
    }
    o->class = class;
    o->handle = handle;
    o->is_view = lent != NULL;
    if (lent)
        o->lent = *lent;
    read_config(o);
    o->use.lock = PyThread_allocate_lock();
    if (o->use.lock)
        return (PyObject *)o;
    PyErr_NoMemory();
    Py_DECREF(o);
    return NULL;
}

static double rate_of(const char *spec)
{
    char text[32];
    size_t n = weir_spec_get(spec, "fpr", text, sizeof text);
    double rate;

    if (n == 0 || n >= sizeof text)
        return 0;
    if (text[n - 1] == '%')
        text[n - 1] = '\0';
    rate = PyOS_string_to_double(text, NULL, NULL);
    PyErr_Clear();
    return text[n - 1] == '\0' ? rate / 100 : rate;
}

PyObject *object_open(PyTypeObject *type, const struct handle_class *class,
                      const struct open_arguments *a)
{
    struct weir_options options = {.size = sizeof options, .max_bytes = a->max_bytes};
    struct weir_error error;
    enum weir_status status;
    uint64_t shards = 0;
    void *handle;
    PyObject *out;

    if (a->shards && !number_read(a->shards, "shards", UINT32_MAX, &shards))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status =
        class->open(&handle, a->spec, (uint32_t)shards, &options, &error);
    Py_END_ALLOW_THREADS if (status != WEIR_OK) return raise_error(&error);
    out = object_wrap(type, class, handle, NULL);
    if (out)
        ((struct handle_object *)out)->saturation.limit = rate_of(a->spec);
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

PyObject *object_method_close(PyObject *self, PyObject *unused)
{
    struct handle_object *o = (struct handle_object *)self;

    if (!wait_for_others(&o->use))
        return NULL;
    o->is_closed = true;
    if (o->calls == 0)
        free_handle(o);
    Py_RETURN_NONE;
}

PyObject *object_method_enter(PyObject *self, PyObject *none)
{
    return object_ready(self) ? Py_NewRef(self) : NULL;
}

/* ---- saturation ---- */

/* The limit of a spec without fpr=: the error of a set that has capacity= keys, or a default. */
static double default_limit(const char *config)
{
    struct weir_stream stream = {.size = sizeof stream, .kind = WEIR_STREAM_ENDLESS};
    struct weir_prediction p;

    if (rate_of(config) > 0)
        return rate_of(config);
    if (weir_spec_number(config, "capacity", &stream.n) &&
        weir_predict(&p, sizeof p, config, &stream, NULL) == WEIR_OK && p.error > 0)
        return p.error;
    return SPEC_ERROR_DEFAULT;
}

static bool check_saturation(PyObject *self)
{
    struct handle_object *o = (struct handle_object *)self;
    struct saturation *s = &o->saturation;
    char config[WEIR_SPEC_MAX], text[320];
    struct weir_stats stats;
    uint64_t capacity = 0;

    s->next = s->observed + s->observed / 4 + 1;
    if (is_closed(o) || !object_enter(self))
        return !PyErr_Occurred();
    o->class->config(o->handle, config, sizeof config);
    o->class->measure(o->handle, &stats);
    object_leave(self);
    if (s->limit <= 0)
        s->limit = default_limit(config);
    (void)weir_spec_number(config, "capacity", &capacity);
    if (stats.overflow == 0 && (stats.error <= s->limit * TOLERANCE || stats.new_keys <= capacity))
        return true;
    s->warned = true;
    if (stats.overflow > 0)
        snprintf(text, sizeof text,
                 "the filter is full: %llu keys were not recorded, so they stay new; use more "
                 "memory or capacity",
                 (unsigned long long)stats.overflow);
    else
        snprintf(text, sizeof text,
                 "the filter exceeds its maximum false-positive rate: %.3g %% of new keys are "
                 "reported as seen, the limit is %.3g %%, after %llu keys; use more memory or "
                 "capacity, or 'recent', which forgets old keys",
                 stats.error * 100, s->limit * 100, (unsigned long long)stats.observed);
    return warn_saturated(text);
}

bool object_count_observed(PyObject *self, uint64_t n)
{
    struct saturation *s = &((struct handle_object *)self)->saturation;

    s->observed += n;
    return s->observed < s->next || s->warned || check_saturation(self);
}

/* ---- methods ---- */

/* Keeps the GIL unless another thread may be in a batch. */
PyObject *object_method_advance(PyObject *self, PyObject *time)
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

PyObject *object_method_clear(PyObject *self, PyObject *none)
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

PyObject *object_method_copy(PyObject *self, PyObject *memo)
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

PyObject *object_method_merge(PyObject *self, PyObject *other)
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

PyObject *object_method_merge_in_place(PyObject *self, PyObject *other)
{
    PyObject *done;

    if (!PyObject_TypeCheck(other, Py_TYPE(self)))
        return Py_NewRef(Py_NotImplemented);
    done = object_method_merge(self, other);
    Py_XDECREF(done);
    return done ? Py_NewRef(self) : NULL;
}

/* ---- save and load ---- */

PyObject *object_method_save(PyObject *self, PyObject *target)
{
    struct handle_object *o = (struct handle_object *)self;
    PyObject *out;

    if (PyObject_HasAttrString(target, "write")) { /* not while others wait: it runs Python code */
        PyObject *bytes = object_method_tobytes(self, NULL);
        PyObject *done = bytes ? PyObject_CallMethod(target, "write", "O", bytes) : NULL;

        Py_XDECREF(bytes);
        Py_XDECREF(done);
        return done ? Py_NewRef(Py_None) : NULL;
    }
    if (!object_enter(self))
        return NULL;
    out = saved_write(target, o->keys, o->class->save, o->handle);
    object_leave(self);
    return out;
}

PyObject *object_method_tobytes(PyObject *self, PyObject *none)
{
    struct handle_object *o = (struct handle_object *)self;
    PyObject *out;

    if (!object_enter(self))
        return NULL;
    out = saved_bytes_of(o->keys, o->class->save, o->handle, o->class->saved_size(o->handle));
    object_leave(self);
    return out;
}

/* load, or functools.partial(load, keys_differ=True). */
static PyObject *loader_of(PyObject *self)
{
    PyObject *load = PyObject_GetAttrString((PyObject *)Py_TYPE(self), "load");
    PyObject *tools, *partial, *args, *named, *out;

    if (!load || !*((struct handle_object *)self)->keys)
        return load;
    tools = PyImport_ImportModule("functools");
    partial = tools ? PyObject_GetAttrString(tools, "partial") : NULL;
    args = PyTuple_Pack(1, load);
    named = Py_BuildValue("{s:O}", "keys_differ", Py_True);
    out = partial && args && named ? PyObject_Call(partial, args, named) : NULL;
    Py_XDECREF(named);
    Py_XDECREF(args);
    Py_XDECREF(partial);
    Py_XDECREF(tools);
    Py_DECREF(load);
    return out;
}

PyObject *object_method_reduce(PyObject *self, PyObject *none)
{
    PyObject *bytes = object_method_tobytes(self, none);
    PyObject *load = bytes ? loader_of(self) : NULL;
    PyObject *out = load ? Py_BuildValue("O(O)", load, bytes) : NULL;

    Py_XDECREF(load);
    Py_XDECREF(bytes);
    return out;
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
    raise_status(WEIR_MISMATCH, text);
    return false;
}

PyObject *object_load(PyTypeObject *type, const struct handle_class *class, PyObject *source,
                      bool keys_differ, bool as_view)
{
    char keys[WEIR_KEY_DESCRIPTION_MAX];
    enum weir_status status = WEIR_BAD_DATA;
    struct saved_bytes saved;
    struct weir_error error;
    PyObject *out = NULL;
    const void *data;
    size_t size;
    uint32_t shards = 1;
    void *handle = NULL;
    bool found;

    if (!saved_open(&saved, source))
        return NULL;
    weir_saved_key_description(saved.data, saved.size, keys, sizeof keys);
    found = (keys_differ || keys_match(keys)) &&
            saved_find(&saved, class->parts, class->what, &data, &size, &shards);
    if (found && class->of_shards && shards > 1) {
        raise_status(WEIR_UNSUPPORTED, class->of_shards);
        found = false;
    }
    if (found) {
        Py_BEGIN_ALLOW_THREADS status = as_view ? class->view(&handle, data, size, shards, &error)
                                                : class->load(&handle, data, size, &error);
        Py_END_ALLOW_THREADS if (status != WEIR_OK) raise_error(&error);
    }
    if (status != WEIR_OK || !as_view)
        saved_close(&saved);
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

PyObject *object_method_load(PyObject *type, PyObject *args, PyObject *named)
{
    return load_arguments(type, args, named, false);
}

PyObject *object_method_view(PyObject *type, PyObject *args, PyObject *named)
{
    return load_arguments(type, args, named, true);
}

/* ---- attributes ---- */

PyObject *object_config(PyObject *self, void *unused)
{
    const struct handle_object *o = (struct handle_object *)self;
    char text[WEIR_SPEC_MAX];

    if (!object_ready(self))
        return NULL;
    o->class->config(o->handle, text, sizeof text);
    return PyUnicode_FromString(text);
}

PyObject *object_closed(PyObject *self, void *unused)
{
    return PyBool_FromLong(is_closed((struct handle_object *)self));
}

PyObject *object_keys(PyObject *self, void *unused)
{
    return PyUnicode_FromString(((struct handle_object *)self)->keys);
}

PyObject *object_repr(PyObject *self)
{
    const struct handle_object *o = (struct handle_object *)self;
    PyObject *text, *out;

    if (is_closed(o))
        return PyUnicode_FromFormat("<weir.%s, closed>", o->class->name);
    text = object_config(self, NULL);
    out = text ? PyUnicode_FromFormat("<weir.%s %R>", o->class->name, text) : NULL;
    Py_XDECREF(text);
    return out;
}
