/* show_keys.c - the way of a batch. Keys are hashed as they come, so that nothing of a
 * Python object is needed when the GIL is released; keys in a buffer are hashed after. */
#include "typed_handle.h"

#include <stdlib.h>
#include <string.h>
#include <weir/hash.h>

/* Enough that waiting for the GIL between them does not show; 512 KiB of hashed keys. */
#define CHUNK 16384
#define CHUNK_FIRST 1024
#define FIXED_CHUNK ((size_t)1 << 20) /* between two looks at signals */
#define HASHED 1024                   /* of fixed keys at a time */

struct batch_run {
    struct typed_handle_object *o;
    show_call show;
    struct key_source source;
    struct numbers importance, times;
    struct weir_key *keys;
    uint64_t *at; /* times, or NULL */
    size_t room, n;
    uint8_t *verdicts; /* of all keys so far */
    size_t verdicts_room, done;
    struct weir_error error;
};

static void close_run(struct batch_run *r)
{
    key_source_close(&r->source);
    numbers_close(&r->importance);
    numbers_close(&r->times);
    free(r->keys);
    free(r->at);
    free(r->verdicts);
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

static bool make_room(struct batch_run *r, size_t n)
{
    void *keys = r->keys, *at = r->at;
    bool ok = resize(&keys, n, sizeof *r->keys);

    r->keys = keys;
    if (ok && r->times.given)
        ok = resize(&at, n, sizeof *r->at);
    r->at = at;
    if (ok)
        r->room = n;
    return ok;
}

static bool open_run(struct batch_run *r, PyObject *self, show_call show,
                     const struct batch_given *given)
{
    size_t hint;

    memset(r, 0, sizeof *r);
    r->o = (struct typed_handle_object *)self;
    r->show = show;
    if (!key_source_open(&r->source, given->keys, given->size ? given->size : Py_None) ||
        !numbers_open(&r->importance, given->importance ? given->importance : Py_None, "importance",
                      1, UINT32_MAX) ||
        !numbers_open(&r->times, given->times ? given->times : Py_None, "times", 0,
                      numbers_latest_time()))
        return false;
    hint = key_source_hint(&r->source);
    if (hint == 0 || hint > CHUNK)
        hint = hint ? CHUNK : CHUNK_FIRST;
    return make_room(r, hint);
}

static bool needs_numbers(const struct batch_run *r)
{
    return r->importance.given || r->times.given;
}

/* The numbers of key i of the chunk. */
static bool add_numbers(struct batch_run *r, size_t i)
{
    uint64_t importance;

    if (!numbers_next(&r->importance, &importance))
        return false;
    r->keys[i].importance = (uint32_t)importance;
    return !r->times.given || numbers_next(&r->times, &r->at[i]);
}

/* 1: one more, 0: that was all, -1 with an exception. */
static int add_key(struct batch_run *r)
{
    PyObject *object = NULL;
    struct key_view key;
    int got = key_source_next(&r->source, &object);

    if (got <= 0)
        return got;
    if (key_read(object, &r->source.room, &key)) {
        r->keys[r->n] = hash_bytes(r->o->hash, key.bytes);
        key_release(&key);
        got = !needs_numbers(r) || add_numbers(r, r->n) ? 1 : -1;
        r->n += got > 0;
    } else {
        got = -1;
    }
    Py_DECREF(object);
    return got;
}

/* Take bytes from a list or tuple up to the first thing that is something else. Nothing here
 * runs Python code, so the list stays as it is and its references are enough: counting one more
 * would write to each object. */
static void take_plain_bytes(struct batch_run *r)
{
    struct weir_bytes bytes[HASHED];
    struct key_source *s = &r->source;
    size_t all = key_source_hint(s), left = all - (size_t)s->at;
    size_t most = r->room - r->n < HASHED ? r->room - r->n : HASHED;
    size_t n = 0;

    if ((size_t)s->at >= all)
        return;
    if (left < most)
        most = left;
    while (n < most && key_source_peek_bytes(s, n, &bytes[n]))
        n++;
    weir_hash_bytes_many(r->o->hash.kind, r->o->hash.seed, bytes, n, r->keys + r->n);
    r->n += n;
    s->at += (Py_ssize_t)n;
}

/* Fill a chunk of keys that come one by one; as add_key(). */
static int gather(struct batch_run *r)
{
    int got = 1;

    if (r->done > 0 && r->room < CHUNK && !r->source.sequence && !make_room(r, r->room * 4))
        return -1;
    for (r->n = 0; r->n < r->room && got > 0;) {
        if (r->source.sequence && !needs_numbers(r))
            take_plain_bytes(r);
        if (r->n < r->room)
            got = add_key(r);
    }
    return got;
}

/* Fixed keys have only numbers to be gathered. */
static int gather_fixed(struct batch_run *r)
{
    size_t left = r->source.n - r->done;
    size_t most = needs_numbers(r) ? r->room : FIXED_CHUNK;

    r->n = left < most ? left : most;
    for (size_t i = 0; needs_numbers(r) && i < r->n; i++) {
        if (!add_numbers(r, i)) {
            r->n = i;
            return -1;
        }
    }
    return r->n < left;
}

static void hash_fixed(const struct batch_run *r, size_t from, size_t n, struct weir_key *keys)
{
    struct weir_bytes bytes[HASHED];

    for (size_t i = 0; i < n; i++)
        bytes[i] = key_source_fixed(&r->source, r->done + from + i);
    weir_hash_bytes_many(r->o->hash.kind, r->o->hash.seed, bytes, n, keys);
}

static enum weir_status show_fixed(struct batch_run *r, uint8_t *verdicts)
{
    struct weir_key keys[HASHED];
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < r->n && status == WEIR_OK; i += HASHED) {
        size_t n = r->n - i < HASHED ? r->n - i : HASHED;

        hash_fixed(r, i, n, keys);
        for (size_t j = 0; r->importance.given && j < n; j++)
            keys[j].importance = r->keys[i + j].importance;
        status = r->show(r->o, keys, r->at ? r->at + i : NULL, n, verdicts + i, &r->error);
    }
    return status;
}

static bool make_verdict_room(struct batch_run *r)
{
    void *verdicts = r->verdicts;
    size_t wanted = r->done + r->n;
    size_t hint = key_source_hint(&r->source);

    if (wanted <= r->verdicts_room)
        return true;
    if (wanted < hint)
        wanted = hint;
    if (wanted < 2 * r->verdicts_room)
        wanted = 2 * r->verdicts_room;
    if (!resize(&verdicts, wanted, 1))
        return false;
    r->verdicts = verdicts;
    r->verdicts_room = wanted;
    return true;
}

/* Show what was gathered. */
static bool show_chunk(struct batch_run *r)
{
    enum weir_status status;
    uint8_t *verdicts;

    if (!make_verdict_room(r) || !typed_handle_enter((PyObject *)r->o))
        return false;
    verdicts = r->verdicts + r->done;
    Py_BEGIN_ALLOW_THREADS status = r->source.is_fixed
                                        ? show_fixed(r, verdicts)
                                        : r->show(r->o, r->keys, r->at, r->n, verdicts, &r->error);
    Py_END_ALLOW_THREADS typed_handle_leave((PyObject *)r->o);
    r->done += r->n;
    if (status != WEIR_OK)
        raise_error(&r->error);
    return status == WEIR_OK;
}

/* What was gathered before something went wrong is shown, and the exception kept. */
static bool show_before_raising(struct batch_run *r)
{
    PyObject *type, *value, *trace;

    PyErr_Fetch(&type, &value, &trace);
    if (!show_chunk(r))
        PyErr_Clear(); /* the first is what is told */
    PyErr_Restore(type, value, trace);
    return false;
}

static bool run_all(struct batch_run *r)
{
    int more;

    do {
        more = r->source.is_fixed ? gather_fixed(r) : gather(r);
        if (more < 0)
            return r->n > 0 ? show_before_raising(r) : false;
        if ((r->n > 0 || r->done == 0) &&
            !show_chunk(r)) /* one that is closed says so for none too */
            return false;
        if (PyErr_CheckSignals() < 0)
            return false;
    } while (more);
    return numbers_end(&r->importance) && numbers_end(&r->times);
}

PyObject *show_keys(PyObject *self, show_call show, const struct batch_given *given,
                    bool wants_verdicts)
{
    struct batch_run r;
    PyObject *out = NULL;

    if (open_run(&r, self, show, given) && run_all(&r))
        out = wants_verdicts
                  ? PyBytes_FromStringAndSize((const char *)r.verdicts, (Py_ssize_t)r.done)
                  : Py_NewRef(Py_None);
    close_run(&r);
    return out;
}

PyObject *filter_observe_many(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"keys", "size", "importance", "times", NULL};
    struct batch_given given = {NULL};

    if (!PyArg_ParseTupleAndKeywords(args, named, "O|$OOO", names, &given.keys, &given.size,
                                     &given.importance, &given.times) ||
        !typed_handle_observing(self))
        return NULL;
    return show_keys(self, ((struct typed_handle_object *)self)->kind->observe, &given, true);
}

PyObject *filter_ask_many(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"keys", "size", NULL};
    struct batch_given given = {NULL};

    if (!PyArg_ParseTupleAndKeywords(args, named, "O|$O", names, &given.keys, &given.size))
        return NULL;
    return show_keys(self, ((struct typed_handle_object *)self)->kind->ask, &given, true);
}
