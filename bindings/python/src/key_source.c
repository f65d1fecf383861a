/* key_source.c - many keys: a buffer of keys of one size, or an iterable. */
#include "key_reader.h"

#include <stdlib.h>
#include <string.h>

#define LONG (64 << 10) /* is hashed by itself, without the GIL */

/* Characters and objects are looked at one by one, as an iterable has them: their bytes
 * in a buffer are not those of the keys. */
static bool has_keys_of_one_size(const Py_buffer *b)
{
    return !b->format || !strpbrk(b->format, "Owu");
}

/* Strings as numpy keeps them, "16s": NUL bytes fill them up, and are not there when one of
 * them is looked at. */
static bool has_padded_strings(const Py_buffer *b)
{
    const char *f = b->format ? b->format : "B";

    return b->ndim <= 1 && strcmp(f + strspn(f, "0123456789"), "s") == 0;
}

/* The size of a key in a buffer: what was said, or a row of two dimensions, or an item
 * that is more than a byte. 0 with an exception if it cannot be told. */
static size_t fixed_size(const Py_buffer *b, PyObject *size)
{
    size_t natural = (size_t)b->itemsize;

    for (int i = 1; i < b->ndim; i++)
        natural *= (size_t)b->shape[i];
    if (size == Py_None) {
        if (natural > 1 || has_padded_strings(b))
            return natural;
        PyErr_SetString(PyExc_TypeError, "a buffer of bytes needs size=, the bytes of each key; "
                                         "one key goes into a list");
        return 0;
    }

    size_t said = PyLong_AsSize_t(size);

    if (PyErr_Occurred())
        return 0;
    if (said == 0 || (size_t)b->len % said || (natural > 1 && said % natural && natural % said)) {
        PyErr_Format(PyExc_ValueError,
                     "size=%zu does not fit: the buffer has %zd bytes, in items of %zu", said,
                     b->len, natural);
        return 0;
    }
    return said;
}

/* Keys one after the other: where they lie, or a copy of those that do not, as every second
 * item or the columns of a table. */
static bool lay_in_a_row(struct key_source *s)
{
    s->data = s->buffer.buf;
    if (PyBuffer_IsContiguous(&s->buffer, 'C'))
        return true;
    s->copy = malloc((size_t)s->buffer.len + 1);
    if (!s->copy) {
        PyErr_NoMemory();
        return false;
    }
    s->data = s->copy;
    return PyBuffer_ToContiguous(s->copy, &s->buffer, s->buffer.len, 'C') == 0;
}

/* 1: it is a buffer of keys; 0: it is not; -1 with an exception. */
static int open_fixed(struct key_source *s, PyObject *keys, PyObject *size)
{
    if (!PyObject_CheckBuffer(keys))
        return 0;
    if (PyObject_GetBuffer(keys, &s->buffer, PyBUF_FULL_RO) < 0)
        return -1;
    if (!has_keys_of_one_size(&s->buffer)) {
        PyBuffer_Release(&s->buffer);
        return 0;
    }
    s->is_fixed = true;
    s->is_padded = size == Py_None && has_padded_strings(&s->buffer);
    s->size = fixed_size(&s->buffer, size);
    s->n = s->size ? (size_t)s->buffer.len / s->size : 0;
    return s->size && lay_in_a_row(s) ? 1 : -1;
}

bool key_source_open(struct key_source *s, PyObject *keys, PyObject *size)
{
    memset(s, 0, sizeof *s);
    text_room_open(&s->room);
    if (PyUnicode_Check(keys)) {
        PyErr_SetString(PyExc_TypeError,
                        "a str is one key; a batch is an iterable of keys, or a buffer");
        return false;
    }

    int fixed = open_fixed(s, keys, size);

    if (fixed < 0)
        key_source_close(s);
    if (fixed != 0)
        return fixed > 0;
    if (size != Py_None) {
        PyErr_SetString(PyExc_TypeError, "size= is for a buffer of keys that are all of one size");
        return false;
    }
    s->is_list = PyList_CheckExact(keys);
    if (s->is_list || PyTuple_CheckExact(keys))
        s->sequence = Py_NewRef(keys);
    else
        s->iterator = PyObject_GetIter(keys);
    return s->sequence || s->iterator;
}

void key_source_close(struct key_source *s)
{
    if (s->is_fixed)
        PyBuffer_Release(&s->buffer);
    s->is_fixed = false;
    free(s->copy);
    s->copy = NULL;
    Py_CLEAR(s->sequence);
    Py_CLEAR(s->iterator);
    text_room_close(&s->room);
}

size_t key_source_hint(const struct key_source *s)
{
    if (s->is_fixed)
        return s->n;
    if (!s->sequence)
        return 0;
    return (size_t)(s->is_list ? PyList_Size(s->sequence) : PyTuple_Size(s->sequence));
}

bool key_source_peek_bytes(const struct key_source *s, size_t ahead, struct weir_bytes *out)
{
    Py_ssize_t at = s->at + (Py_ssize_t)ahead, size;
    PyObject *o = s->is_list ? PyList_GetItem(s->sequence, at) : PyTuple_GetItem(s->sequence, at);
    char *data;

    if (!PyBytes_CheckExact(o) || PyBytes_AsStringAndSize(o, &data, &size) < 0 || size >= LONG)
        return false;
    *out = (struct weir_bytes){data, (size_t)size};
    return true;
}

/* A list may become shorter while others run. */
int key_source_next(struct key_source *s, PyObject **object)
{
    if (!s->sequence) {
        *object = PyIter_Next(s->iterator);
        return *object ? 1 : PyErr_Occurred() ? -1 : 0;
    }
    if (s->at >= (Py_ssize_t)key_source_hint(s))
        return 0;
    *object = s->is_list ? PyList_GetItem(s->sequence, s->at) : PyTuple_GetItem(s->sequence, s->at);
    s->at++;
    Py_XINCREF(*object);
    return *object ? 1 : -1;
}

/* ---- copies: keys one after the other in one block. Until all are there the block may
 * move, so places are kept as offsets first. ---- */

#define BYTES_MOST ((size_t)8 << 20) /* guessed: bounds the copy, far more than keys take */

void key_list_close(struct key_list *l)
{
    free(l->keys);
    free(l->bytes);
    *l = (struct key_list){NULL};
}

static bool grow(void **block, size_t *room, size_t wanted, size_t size)
{
    size_t n = *room ? *room : 64;
    void *grown;

    while (n < wanted)
        n *= 2;
    if (*room >= wanted && *block)
        return true;
    grown = realloc(*block, n * size);
    if (!grown) {
        PyErr_NoMemory();
        return false;
    }
    *block = grown;
    *room = n;
    return true;
}

/* data becomes the offset. */
static bool add(struct key_list *l, struct weir_bytes key)
{
    void *keys = l->keys, *bytes = l->bytes;
    bool ok = grow(&keys, &l->keys_room, l->n + 1, sizeof *l->keys);

    l->keys = keys;
    ok = ok && grow(&bytes, &l->bytes_room, l->used + key.size + 1, 1);
    l->bytes = bytes;
    if (!ok)
        return false;
    memcpy(l->bytes + l->used, key.data, key.size);
    l->keys[l->n++] = (struct weir_bytes){(const void *)(uintptr_t)l->used, key.size};
    l->used += key.size;
    return true;
}

static int add_next(struct key_list *l, struct key_source *s, size_t *done)
{
    PyObject *object = NULL;
    struct key_view key;
    int got;

    if (s->is_fixed) {
        if (*done == s->n)
            return 0;
        return add(l, key_source_fixed(s, (*done)++)) ? 1 : -1;
    }
    got = key_source_next(s, &object);
    if (got > 0 && !key_read(object, &s->room, &key)) {
        got = -1;
    } else if (got > 0) {
        got = add(l, key.bytes) ? 1 : -1;
        key_release(&key);
    }
    Py_XDECREF(object);
    return got;
}

int key_list_fill(struct key_list *l, struct key_source *s, size_t most, size_t *done)
{
    int got = 1;

    l->n = l->used = 0;
    while (l->n < most && l->used < BYTES_MOST && got > 0)
        got = add_next(l, s, done);
    for (size_t i = 0; i < l->n; i++)
        l->keys[i].data = l->bytes + (uintptr_t)l->keys[i].data;
    return got;
}
