/* key_reader.c - bytes of keys, without a copy where there can be none.
 *
 * CPython would keep the UTF-8 of a str that is not ASCII with the str for as long as it
 * lives (PyUnicode_AsUTF8AndSize()). Memory that grows with the keys is what a filter is there to
 * avoid, so text goes through a room of ours instead. */
#include "key_reader.h"

#include <stdlib.h>
#include <string.h>
#include <weir/hash.h>

#define FEW 64
#define LONG ((size_t)64 << 10) /* bytes; some microseconds of hashing */

void text_room_open(struct text_room *r)
{
    r->points = r->few;
    r->bytes = r->few_bytes;
    r->size = FEW;
}

void text_room_close(struct text_room *r)
{
    if (r->points != r->few) {
        free(r->points);
        free(r->bytes);
    }
    text_room_open(r);
}

static bool grow(struct text_room *r, size_t n)
{
    text_room_close(r);
    if (n > SIZE_MAX / 8)
        return false;

    Py_UCS4 *points = malloc(n * sizeof *points);
    char *bytes = malloc(n * 4);

    if (!points || !bytes) {
        free(points);
        free(bytes);
        return false;
    }
    r->points = points;
    r->bytes = bytes;
    r->size = n;
    return true;
}

static char *put_point(char *to, Py_UCS4 c)
{
    if (c >= 0xDC80 && c <= 0xDCFF) { /* "surrogateescape": a byte that was no text */
        *to++ = (char)(c - 0xDC00);
    } else if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xC0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        *to++ = (char)(0xE0 | c >> 12);
        *to++ = (char)(0x80 | (c >> 6 & 0x3F));
        *to++ = (char)(0x80 | (c & 0x3F));
    } else {
        *to++ = (char)(0xF0 | c >> 18);
        *to++ = (char)(0x80 | (c >> 12 & 0x3F));
        *to++ = (char)(0x80 | (c >> 6 & 0x3F));
        *to++ = (char)(0x80 | (c & 0x3F));
    }
    return to;
}

static size_t encode(const Py_UCS4 *points, size_t n, char *bytes)
{
    Py_UCS4 all = 0;
    char *to = bytes;

    for (size_t i = 0; i < n; i++) {
        all |= points[i];
        bytes[i] = (char)points[i];
    }
    if (all < 0x80)
        return n;
    for (size_t i = 0; i < n; i++)
        to = put_point(to, points[i]);
    return (size_t)(to - bytes);
}

static bool read_text(PyObject *o, struct text_room *r, struct weir_bytes *out)
{
    Py_ssize_t n = PyUnicode_GetLength(o);

    if (n < 0)
        return false;
    if ((size_t)n > r->size && !grow(r, (size_t)n + (size_t)n / 4)) {
        PyErr_NoMemory();
        return false;
    }
    if (n > 0 && !PyUnicode_AsUCS4(o, r->points, (Py_ssize_t)r->size, 0))
        return false;
    *out = (struct weir_bytes){r->bytes, encode(r->points, (size_t)n, r->bytes)};
    return true;
}

static bool read_buffer(PyObject *o, struct key_view *key)
{
    if (PyObject_GetBuffer(o, &key->buffer, PyBUF_CONTIG_RO | PyBUF_FORMAT) < 0)
        return false;
    key->held = true;
    if (key->buffer.format && strchr(key->buffer.format, 'O')) {
        PyErr_SetString(PyExc_TypeError, "a buffer of Python objects is no key");
        key_release(key);
        return false;
    }
    key->bytes =
        (struct weir_bytes){key->buffer.len ? key->buffer.buf : "", (size_t)key->buffer.len};
    return true;
}

static void refuse(PyObject *o)
{
    PyObject *name = PyType_GetName(Py_TYPE(o));

    if (name)
        PyErr_Format(PyExc_TypeError, "a key is bytes, str or a buffer, not %U", name);
    Py_XDECREF(name);
}

bool key_read(PyObject *o, struct text_room *room, struct key_view *key)
{
    key->held = false;
    if (PyBytes_Check(o)) {
        char *data;
        Py_ssize_t size;

        if (PyBytes_AsStringAndSize(o, &data, &size) < 0)
            return false;
        key->bytes = (struct weir_bytes){data, (size_t)size};
        return true;
    }
    if (PyUnicode_Check(o))
        return read_text(o, room, &key->bytes);
    if (PyObject_CheckBuffer(o))
        return read_buffer(o, key);
    refuse(o);
    return false;
}

void key_release(struct key_view *key)
{
    if (key->held)
        PyBuffer_Release(&key->buffer);
    key->held = false;
}

struct weir_key hash_bytes(struct hasher hash, struct weir_bytes bytes)
{
    struct weir_key key;

    if (bytes.size < LONG)
        return weir_hash_bytes(hash.kind, hash.seed, bytes.data, bytes.size);
    Py_BEGIN_ALLOW_THREADS key = weir_hash_bytes(hash.kind, hash.seed, bytes.data, bytes.size);
    Py_END_ALLOW_THREADS return key;
}

bool key_hash(PyObject *o, struct hasher hash, struct weir_key *out)
{
    struct text_room room;
    struct key_view key;
    bool ok;

    text_room_open(&room);
    ok = key_read(o, &room, &key);
    if (ok) {
        *out = hash_bytes(hash, key.bytes);
        key_release(&key);
    }
    text_room_close(&room);
    return ok;
}
