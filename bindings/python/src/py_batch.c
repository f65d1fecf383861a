/* py_batch.c - batches of keys, and weir.Verdicts, their result.
 *
 * Keys of an iterable are hashed with the GIL, some thousands at a time, so that no Python object
 * is needed while a chunk is processed without the GIL. Keys in a buffer are hashed without the
 * GIL. */
#include "binding.h"

#include <stdlib.h>
#include <string.h>
#include <weir/hash.h>

#define CHUNK 16384 /* keys: 512 KiB of hashes; waiting for the GIL in between does not matter */
#define CHUNK_FIRST 1024
#define BUFFER_CHUNK ((size_t)1 << 20) /* keys of a buffer between two checks for signals */
#define HASHED 1024                    /* keys of a buffer that are hashed at a time */

/* ---- weir.Verdicts ---- */

struct verdicts_object {
    PyObject_HEAD PyObject *bytes; /* 0 or 1 for each key */
};

static PyTypeObject *verdicts_type;

static PyObject *verdicts_of(PyObject *bytes)
{
    struct verdicts_object *v =
        bytes ? (struct verdicts_object *)PyType_GenericAlloc(verdicts_type, 0) : NULL;

    if (v)
        v->bytes = bytes;
    else
        Py_XDECREF(bytes);
    return (PyObject *)v;
}

static void verdicts_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

    Py_XDECREF(((struct verdicts_object *)self)->bytes);
    release(self);
    Py_DECREF(type);
}

static const char *verdicts_data(PyObject *self, Py_ssize_t *n)
{
    PyObject *bytes = ((struct verdicts_object *)self)->bytes;

    *n = PyBytes_Size(bytes);
    return PyBytes_AsString(bytes);
}

static Py_ssize_t verdicts_length(PyObject *self)
{
    return PyBytes_Size(((struct verdicts_object *)self)->bytes);
}

static PyObject *verdicts_item(PyObject *self, Py_ssize_t i)
{
    Py_ssize_t n;
    const char *data = verdicts_data(self, &n);

    if (i >= 0 && i < n)
        return PyBool_FromLong(data[i]);
    PyErr_SetString(PyExc_IndexError, "verdict index out of range");
    return NULL;
}

static PyObject *verdicts_subscript(PyObject *self, PyObject *index)
{
    PyObject *part;
    Py_ssize_t i;

    if (!PyIndex_Check(index)) {
        part = PyObject_GetItem(((struct verdicts_object *)self)->bytes, index);
        return part ? verdicts_of(part) : NULL;
    }
    i = PyNumber_AsSsize_t(index, PyExc_IndexError);
    if (i == -1 && PyErr_Occurred())
        return NULL;
    return verdicts_item(self, i < 0 ? i + verdicts_length(self) : i);
}

static PyObject *verdicts_invert(PyObject *self)
{
    Py_ssize_t n;
    const char *data = verdicts_data(self, &n);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, n);
    char *out = bytes ? PyBytes_AsString(bytes) : NULL;

    for (Py_ssize_t i = 0; out && i < n; i++)
        out[i] = !data[i];
    return verdicts_of(bytes);
}

/* Equal to other verdicts, to tobytes(), and to lists and tuples of the same truth values. */
static PyObject *verdicts_compare(PyObject *self, PyObject *other, int operation)
{
    PyObject *list, *out;

    if (operation != Py_EQ && operation != Py_NE)
        return Py_NewRef(Py_NotImplemented);
    if (Py_TYPE(other) == verdicts_type)
        return PyObject_RichCompare(((struct verdicts_object *)self)->bytes,
                                    ((struct verdicts_object *)other)->bytes, operation);
    if (PyBytes_Check(other))
        return PyObject_RichCompare(((struct verdicts_object *)self)->bytes, other, operation);
    if (!PyList_Check(other) && !PyTuple_Check(other))
        return Py_NewRef(Py_NotImplemented);
    list = PyList_Check(other) ? PySequence_List(self) : PySequence_Tuple(self);
    out = list ? PyObject_RichCompare(list, other, operation) : NULL;
    Py_XDECREF(list);
    return out;
}

static int verdicts_buffer(PyObject *self, Py_buffer *view, int flags)
{
    Py_ssize_t n;
    const char *data = verdicts_data(self, &n);

    if (PyBuffer_FillInfo(view, self, (void *)(uintptr_t)data, n, 1, flags) < 0)
        return -1;
    if (view->format)
        view->format = "?";
    return 0;
}

static PyObject *verdicts_count(PyObject *self, PyObject *value)
{
    Py_ssize_t n, seen = 0;
    const char *data = verdicts_data(self, &n);
    int wanted = PyObject_IsTrue(value);

    if (wanted < 0)
        return NULL;
    for (Py_ssize_t i = 0; i < n; i++)
        seen += data[i];
    return PyLong_FromSsize_t(wanted ? seen : n - seen);
}

static PyObject *verdicts_tobytes(PyObject *self, PyObject *none)
{
    return Py_NewRef(((struct verdicts_object *)self)->bytes);
}

static PyObject *verdicts_repr(PyObject *self)
{
    Py_ssize_t n;

    (void)verdicts_data(self, &n);
    if (n > 12)
        return PyUnicode_FromFormat("<weir.Verdicts of %zd keys>", n);

    PyObject *list = PySequence_List(self);
    PyObject *out = list ? PyUnicode_FromFormat("<weir.Verdicts %R>", list) : NULL;

    Py_XDECREF(list);
    return out;
}

static PyMethodDef verdicts_methods[] = {
    {"count", verdicts_count, METH_O,
     "count($self, value, /)\n--\n\nReturn how many verdicts are True, or False."},
    {"tobytes", verdicts_tobytes, METH_NOARGS,
     "tobytes($self, /)\n--\n\nReturn bytes: 1 for each key that was seen, 0 for each other."},
    {NULL, NULL, 0, NULL}};

#define VERDICTS_DOC                                                                               \
    "A sequence with True for each key that was seen: the result of observe_many() and\n"          \
    "ask_many(). ~v has True for each new key. numpy.asarray(v) is an array of bool.\n\n"          \
    ">>> v = Filter(memory='64K', seed=1).observe_many(['a', 'b', 'a'])\n"                         \
    ">>> v, (~v).count(True), v[2]\n"                                                              \
    "(<weir.Verdicts [False, False, True]>, 2, True)\n"

static PyType_Slot verdicts_slots[] = {
    {Py_tp_dealloc, verdicts_dealloc},     {Py_tp_doc, VERDICTS_DOC},
    {Py_tp_methods, verdicts_methods},     {Py_tp_repr, verdicts_repr},
    {Py_tp_richcompare, verdicts_compare}, {Py_tp_hash, PyObject_HashNotImplemented},
    {Py_tp_iter, PySeqIter_New},           {Py_sq_length, verdicts_length},
    {Py_sq_item, verdicts_item},           {Py_mp_length, verdicts_length},
    {Py_mp_subscript, verdicts_subscript}, {Py_nb_invert, verdicts_invert},
    {Py_bf_getbuffer, verdicts_buffer},    {0, NULL}};

static PyType_Spec verdicts_spec = {"weir.Verdicts", sizeof(struct verdicts_object), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
                                        Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                    verdicts_slots};

bool batch_add(PyObject *module)
{
    verdicts_type = type_add(module, &verdicts_spec, "Verdicts", NULL);
    return verdicts_type != NULL;
}

/* ---- a batch ---- */

struct key_batch {
    struct handle_object *o;
    batch_call call;
    struct key_source source;
    struct numbers importance, times, ttls;
    struct weir_key *keys;
    uint64_t *at;  /* times, or NULL */
    uint64_t *ttl; /* or NULL */
    size_t room, n;
    uint8_t *verdicts; /* of all keys so far */
    size_t verdicts_room, done;
    size_t *missing; /* positions of skipped items in the result, ascending */
    size_t missing_room, skipped;
    struct weir_error error;
};

static void close_batch(struct key_batch *b)
{
    key_source_close(&b->source);
    numbers_close(&b->importance);
    numbers_close(&b->times);
    numbers_close(&b->ttls);
    free(b->keys);
    free(b->at);
    free(b->ttl);
    free(b->verdicts);
    free(b->missing);
}

static bool resize(void **block, size_t n, size_t size)
{
    void *grown = realloc(*block, n * size);

    if (!grown) {
        PyErr_NoMemory();
        return false;
    }
    *block = grown;
    return true;
}

static bool make_room(struct key_batch *b, size_t n)
{
    void *keys = b->keys, *at = b->at, *ttl = b->ttl;
    bool ok = resize(&keys, n, sizeof *b->keys);

    b->keys = keys;
    if (ok && b->times.given)
        ok = resize(&at, n, sizeof *b->at);
    b->at = at;
    if (ok && b->ttls.given)
        ok = resize(&ttl, n, sizeof *b->ttl);
    b->ttl = ttl;
    if (ok)
        b->room = n;
    return ok;
}

static PyObject *or_none(PyObject *o)
{
    return o ? o : Py_None;
}

static bool open_batch(struct key_batch *b, PyObject *self, batch_call call,
                       const struct batch_arguments *a)
{
    size_t hint;

    memset(b, 0, sizeof *b);
    b->o = (struct handle_object *)self;
    b->call = call;
    if (!key_source_open(&b->source, a->keys, or_none(a->size), a->skipna) ||
        !numbers_open(&b->importance, or_none(a->importance), "importance", 1, UINT32_MAX) ||
        !times_open(&b->times, or_none(a->times)) ||
        !numbers_open(&b->ttls, or_none(a->ttl), "ttl", 0, UINT64_MAX) ||
        (b->ttls.given && !object_expires(self)))
        return false;
    hint = key_source_hint(&b->source);
    if (hint == 0 || hint > CHUNK)
        hint = hint ? CHUNK : CHUNK_FIRST;
    return make_room(b, hint);
}

static bool needs_numbers(const struct key_batch *b)
{
    return b->importance.given || b->times.given || b->ttls.given;
}

/* Read the numbers of key i of the chunk. */
static bool add_numbers(struct key_batch *b, size_t i)
{
    uint64_t importance;

    if (!numbers_next(&b->importance, &importance))
        return false;
    b->keys[i].importance = (uint32_t)importance;
    return (!b->times.given || numbers_next(&b->times, &b->at[i])) &&
           (!b->ttls.given || numbers_next(&b->ttls, &b->ttl[i]));
}

/* Skip a missing value, with its numbers. */
static bool skip_missing(struct key_batch *b)
{
    void *missing = b->missing;
    uint64_t unused;

    if (b->skipped == b->missing_room) {
        size_t room = b->missing_room ? 2 * b->missing_room : 64;

        if (!resize(&missing, room, sizeof *b->missing))
            return false;
        b->missing = missing;
        b->missing_room = room;
    }
    b->missing[b->skipped] = b->done + b->n + b->skipped;
    b->skipped++;
    return numbers_next(&b->importance, &unused) &&
           (!b->times.given || numbers_next(&b->times, &unused)) &&
           (!b->ttls.given || numbers_next(&b->ttls, &unused));
}

/* 1: one more, 0: at the end, -1 with an exception. */
static int add_key(struct key_batch *b)
{
    PyObject *object = NULL;
    struct key_view key;
    int got = key_source_next(&b->source, &object), missing;

    if (got <= 0)
        return got;
    missing = b->source.skips_missing ? is_missing(object) : 0;
    if (missing != 0) {
        got = missing > 0 && skip_missing(b) ? 1 : -1;
    } else if (key_read(object, &b->source.room, &key)) {
        b->keys[b->n] = hash_bytes(b->o->hash, key.bytes);
        key_release(&key);
        got = !needs_numbers(b) || add_numbers(b, b->n) ? 1 : -1;
        b->n += got > 0;
    } else {
        got = -1;
    }
    Py_DECREF(object);
    return got;
}

/* Take plain bytes from a list or tuple, up to the first item of another type. No Python code
 * runs, so the list cannot change and its items need no references. Returns whether there were
 * some. */
static bool take_plain_bytes(struct key_batch *b)
{
    struct weir_bytes bytes[HASHED];
    struct key_source *s = &b->source;
    size_t all = key_source_hint(s), left = all - (size_t)s->at;
    size_t max = b->room - b->n < HASHED ? b->room - b->n : HASHED;
    size_t n = 0;

    if ((size_t)s->at >= all)
        return false;
    if (left < max)
        max = left;
    while (n < max && key_source_peek_bytes(s, n, &bytes[n]))
        n++;
    if (n == 0)
        return false;
    weir_hash_bytes_many(b->o->hash.kind, b->o->hash.seed, bytes, n, b->keys + b->n);
    b->n += n;
    s->at += (Py_ssize_t)n;
    return true;
}

/* Fill a chunk from an iterable. Returns as add_key(). */
static int gather(struct key_batch *b)
{
    bool are_plain = b->source.sequence && !needs_numbers(b);
    int got = 1;

    if (b->done > 0 && b->room < CHUNK && !b->source.sequence && !make_room(b, b->room * 4))
        return -1;
    for (b->n = 0; b->n < b->room && got > 0;) {
        are_plain = are_plain && take_plain_bytes(b);
        if (b->n < b->room)
            got = add_key(b);
    }
    return got;
}

/* Choose a chunk of a buffer and read its numbers. */
static int gather_buffer(struct key_batch *b)
{
    size_t left = b->source.n - b->done;
    size_t max = needs_numbers(b) ? b->room : BUFFER_CHUNK;

    b->n = left < max ? left : max;
    for (size_t i = 0; needs_numbers(b) && i < b->n; i++) {
        if (!add_numbers(b, i)) {
            b->n = i;
            return -1;
        }
    }
    return b->n < left;
}

static void hash_buffer(const struct key_batch *b, size_t from, size_t n, struct weir_key *keys)
{
    char digits[HASHED][DIGITS_MAX];
    struct weir_bytes bytes[HASHED];

    for (size_t i = 0; i < n; i++)
        bytes[i] = key_source_at(&b->source, b->done + from + i, digits[i]);
    weir_hash_bytes_many(b->o->hash.kind, b->o->hash.seed, bytes, n, keys);
}

static enum weir_status run_buffer(struct key_batch *b, uint8_t *verdicts)
{
    struct weir_key keys[HASHED];
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < b->n && status == WEIR_OK; i += HASHED) {
        size_t n = b->n - i < HASHED ? b->n - i : HASHED;

        hash_buffer(b, i, n, keys);
        for (size_t j = 0; b->importance.given && j < n; j++)
            keys[j].importance = b->keys[i + j].importance;
        status = b->call(b->o, keys,
                         (struct key_times){b->at ? b->at + i : NULL, b->ttl ? b->ttl + i : NULL},
                         n, verdicts + i, &b->error);
    }
    return status;
}

static bool make_verdict_room(struct key_batch *b, size_t wanted)
{
    void *verdicts = b->verdicts;
    size_t hint = key_source_hint(&b->source);

    if (wanted <= b->verdicts_room)
        return true;
    if (wanted < hint)
        wanted = hint;
    if (wanted < 2 * b->verdicts_room)
        wanted = 2 * b->verdicts_room;
    if (!resize(&verdicts, wanted, 1))
        return false;
    b->verdicts = verdicts;
    b->verdicts_room = wanted;
    return true;
}

static bool run_chunk(struct key_batch *b)
{
    enum weir_status status;
    uint8_t *verdicts;

    if (!make_verdict_room(b, b->done + b->n) || !object_enter((PyObject *)b->o))
        return false;
    verdicts = b->verdicts + b->done;
    Py_BEGIN_ALLOW_THREADS status =
        b->source.form != KEYS_ONE_BY_ONE
            ? run_buffer(b, verdicts)
            : b->call(b->o, b->keys, (struct key_times){b->at, b->ttl}, b->n, verdicts, &b->error);
    Py_END_ALLOW_THREADS object_leave((PyObject *)b->o);
    b->done += b->n;
    if (status != WEIR_OK)
        raise_error(&b->error);
    return status == WEIR_OK;
}

/* Process the keys before a failure, and keep its exception. */
static bool run_before_raising(struct key_batch *b)
{
    PyObject *type, *value, *trace;

    PyErr_Fetch(&type, &value, &trace);
    if (!run_chunk(b))
        PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return false;
}

static bool run_all(struct key_batch *b)
{
    int more;

    do {
        more = b->source.form != KEYS_ONE_BY_ONE ? gather_buffer(b) : gather(b);
        if (more < 0)
            return b->n > 0 ? run_before_raising(b) : false;
        if ((b->n > 0 || b->done == 0) && !run_chunk(b)) /* without keys too: it may be closed */
            return false;
        if (PyErr_CheckSignals() < 0)
            return false;
    } while (more);
    return numbers_end(&b->importance) && numbers_end(&b->times) && numbers_end(&b->ttls);
}

/* Insert a verdict of 0 for each skipped item, from the end. */
static bool insert_missing(struct key_batch *b)
{
    size_t to = b->done + b->skipped, from = b->done;

    if (b->skipped > 0 && !make_verdict_room(b, to))
        return false;
    for (size_t i = b->skipped; i > 0; i--) {
        while (to > b->missing[i - 1] + 1)
            b->verdicts[--to] = b->verdicts[--from];
        b->verdicts[--to] = 0;
    }
    b->done += b->skipped;
    return true;
}

/* As a numpy array if the keys were one. */
static PyObject *result_of(const struct key_batch *b)
{
    PyObject *verdicts =
        verdicts_of(PyBytes_FromStringAndSize((const char *)b->verdicts, (Py_ssize_t)b->done));
    PyObject *numpy, *array;

    if (!verdicts || !b->source.is_array)
        return verdicts;
    numpy = PyImport_ImportModule("numpy");
    array = numpy ? PyObject_CallMethod(numpy, "asarray", "O", verdicts) : NULL;
    Py_XDECREF(numpy);
    Py_DECREF(verdicts);
    return array;
}

PyObject *batch_run(PyObject *self, batch_call call, const struct batch_arguments *a,
                    enum batch_result result)
{
    struct key_batch b;
    PyObject *out = NULL;

    if (open_batch(&b, self, call, a) && run_all(&b) && insert_missing(&b) &&
        (call != b.o->class->observe || object_count_observed(self, b.done)))
        out = result == BATCH_VERDICTS ? result_of(&b) : Py_NewRef(Py_None);
    close_batch(&b);
    return out;
}

/* ---- methods of Filter and Shared ---- */

static PyObject *observe_batch(PyObject *self, PyObject *args, PyObject *named,
                               enum batch_result result)
{
    static char *names[] = {"keys", "size", "importance", "times", "ttl", "skipna", NULL};
    struct batch_arguments a = {NULL};

    if (!PyArg_ParseTupleAndKeywords(args, named, "O|$OOOOp", names, &a.keys, &a.size,
                                     &a.importance, &a.times, &a.ttl, &a.skipna) ||
        !object_observing(self))
        return NULL;
    return batch_run(self, ((struct handle_object *)self)->class->observe, &a, result);
}

PyObject *filter_observe_many(PyObject *self, PyObject *args, PyObject *named)
{
    return observe_batch(self, args, named, BATCH_VERDICTS);
}

PyObject *filter_update(PyObject *self, PyObject *args, PyObject *named)
{
    return observe_batch(self, args, named, BATCH_NONE);
}

PyObject *filter_ask_many(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"keys", "size", "skipna", NULL};
    struct batch_arguments a = {NULL};

    if (!PyArg_ParseTupleAndKeywords(args, named, "O|$Op", names, &a.keys, &a.size, &a.skipna))
        return NULL;
    return batch_run(self, ((struct handle_object *)self)->class->ask, &a, BATCH_VERDICTS);
}
