/* py_keys.c - Python objects as keys: one key, or the keys of a batch.
 *
 * A key is a sequence of bytes. bytes are used as they are, a str is its UTF-8, an integer is its
 * decimal text. So 42, numpy.int32(42), "42" and b"42" are one key, as in the command and in SQL.
 *
 * CPython would cache the UTF-8 of each non-ASCII str for the life of the str
 * (PyUnicode_AsUTF8AndSize()). That memory would grow with the keys, so text is encoded here. */
#include "binding.h"

#include <stdlib.h>
#include <string.h>
#include <weir/hash.h>

#define FEW 64                     /* points of text_room.few */
#define LONG ((size_t)64 << 10)    /* bytes that are hashed without the GIL: some microseconds */
#define LIST_MAX ((size_t)8 << 20) /* bytes of a key_list; chosen */

/* ---- integers ---- */

static size_t write_decimal(uint64_t n, bool negative, char out[DIGITS_MAX])
{
    char reversed[DIGITS_MAX];
    size_t size = 0, at = 0;

    do {
        reversed[size++] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    if (negative)
        out[at++] = '-';
    while (size > 0)
        out[at++] = reversed[--size];
    return at;
}

struct integers integers_of(const char *format, Py_ssize_t itemsize)
{
    const char *f = format ? format : "B";
    bool is_big = PY_BIG_ENDIAN, is_named = *f == '<' || *f == '>' || *f == '!';

    if (is_named)
        is_big = *f != '<';
    if (is_named || *f == '@' || *f == '=')
        f++;
    if (strlen(f) != 1 || !strchr("bBhHiIlLqQnN", *f) || itemsize > 8)
        return (struct integers){0, false, false};
    return (struct integers){(char)itemsize, strchr("bhilqn", *f) != NULL, is_big != PY_BIG_ENDIAN};
}

uint64_t integer_read(struct integers type, const char *at, bool *negative)
{
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t n;
    int unused = 64 - 8 * type.size;

    if (type.size == 8) {
        memcpy(&n, at, 8);
        n = type.is_swapped ? __builtin_bswap64(n) : n;
    } else if (type.size == 4) {
        memcpy(&u32, at, 4);
        n = type.is_swapped ? __builtin_bswap32(u32) : u32;
    } else if (type.size == 2) {
        memcpy(&u16, at, 2);
        n = type.is_swapped ? __builtin_bswap16(u16) : u16;
    } else {
        memcpy(&u8, at, 1);
        n = u8;
    }
    *negative = type.is_signed && n >> (63 - unused) & 1;
    if (*negative) /* the magnitude */
        n = (0 - n) << unused >> unused;
    return n;
}

/* ---- text ---- */

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

static bool grow_text(struct text_room *r, size_t n)
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
    if (c >= 0xDC80 && c <= 0xDCFF) { /* surrogateescape: an undecodable byte */
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
    if ((size_t)n > r->size && !grow_text(r, (size_t)n + (size_t)n / 4)) {
        PyErr_NoMemory();
        return false;
    }
    if (n > 0 && !PyUnicode_AsUCS4(o, r->points, (Py_ssize_t)r->size, 0))
        return false;
    *out = (struct weir_bytes){r->bytes, encode(r->points, (size_t)n, r->bytes)};
    return true;
}

/* ---- one key ---- */

int is_missing(PyObject *o)
{
    PyObject *answer;
    int missing = o == Py_None;

    if (missing || PyBytes_Check(o) || PyUnicode_Check(o) || PyLong_Check(o))
        return missing;
    answer = support_call("is_missing", "(O)", o);
    missing = answer ? answer == Py_True : -1;
    Py_XDECREF(answer);
    return missing;
}

/* Raise TypeError for an object that is not a key; at: its position in a batch, or -1. */
static void refuse(PyObject *o, Py_ssize_t at)
{
    support_call("refuse_key", "(On)", o, at);
}

/* Whether an object is numpy's datetime64 or timedelta64, whose buffer has bytes. */
static bool is_numpy_time(PyObject *o)
{
    PyObject *name = PyType_GetName(Py_TYPE(o));
    bool is_time = name && (PyUnicode_CompareWithASCIIString(name, "datetime64") == 0 ||
                            PyUnicode_CompareWithASCIIString(name, "timedelta64") == 0);

    Py_XDECREF(name);
    return is_time;
}

/* Whether an object is an integer: int or a numpy scalar, but not bool and not an array. */
static bool is_integer(PyObject *o)
{
    Py_buffer buffer;
    bool is_scalar;

    if (PyLong_Check(o) || !PyIndex_Check(o))
        return PyLong_Check(o) && !PyBool_Check(o);
    if (!PyObject_CheckBuffer(o))
        return true;
    if (PyObject_GetBuffer(o, &buffer, PyBUF_FULL_RO) < 0) {
        PyErr_Clear();
        return false;
    }
    is_scalar = buffer.ndim == 0 && integers_of(buffer.format, buffer.itemsize).size;
    PyBuffer_Release(&buffer);
    return is_scalar;
}

static bool read_integer(PyObject *o, struct text_room *room, struct key_view *key)
{
    PyObject *whole = PyNumber_Index(o), *text;
    int overflow;
    bool ok;

    if (!whole)
        return false;

    long long n = PyLong_AsLongLongAndOverflow(whole, &overflow);

    if (!overflow) {
        uint64_t magnitude = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

        key->bytes = (struct weir_bytes){key->digits, write_decimal(magnitude, n < 0, key->digits)};
        Py_DECREF(whole);
        return n != -1 || !PyErr_Occurred();
    }
    text = PyObject_Str(whole);
    ok = text && read_text(text, room, &key->bytes);
    Py_XDECREF(text);
    Py_DECREF(whole);
    return ok;
}

/* Get the buffer of one key: bytearray, memoryview, array('B'). False, perhaps with an exception,
 * if the object is not bytes; numpy's datetime64 has a buffer of bytes. */
static bool get_bytes(PyObject *o, Py_buffer *buffer)
{
    const char *f;

    if (!PyObject_CheckBuffer(o) || is_numpy_time(o) ||
        PyObject_GetBuffer(o, buffer, PyBUF_CONTIG_RO | PyBUF_FORMAT) < 0)
        return false;
    f = buffer->format ? buffer->format : "B";
    if (buffer->itemsize == 1 && buffer->ndim > 0 && strchr("Bbc<", *f))
        return true;
    PyBuffer_Release(buffer);
    return false;
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
    if (is_integer(o))
        return read_integer(o, room, key);
    if (get_bytes(o, &key->buffer)) {
        key->held = true;
        key->bytes =
            (struct weir_bytes){key->buffer.len ? key->buffer.buf : "", (size_t)key->buffer.len};
        return true;
    }
    if (!PyErr_Occurred())
        refuse(o, -1);
    return false;
}

void key_release(struct key_view *key)
{
    if (key->held)
        PyBuffer_Release(&key->buffer);
    key->held = false;
}

struct hasher hasher_of(const char *config)
{
    struct hasher h = {WEIR_HASH_XXH3, 0};
    char kind[16];

    if (weir_spec_get(config, "hash", kind, sizeof kind) && strcmp(kind, "sip") == 0)
        h.kind = WEIR_HASH_SIP;
    (void)weir_spec_number(config, "seed", &h.seed);
    return h;
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

/* ---- the keys of a batch: a buffer ---- */

/* 1: a buffer of keys; 0: items to be read one by one; -1 with an exception. */
static int open_buffer(struct key_source *s, PyObject *keys, PyObject *size)
{
    PyObject *layout = support_call("layout_of", "(OO)", keys, size), *bytes;
    const char *format;
    Py_ssize_t each;

    if (!layout || layout == Py_None) {
        Py_XDECREF(layout);
        return layout ? 0 : -1;
    }
    s->is_held = PyArg_ParseTuple(layout, "Ons", &bytes, &each, &format) &&
                 PyObject_GetBuffer(bytes, &s->buffer, PyBUF_CONTIG_RO) == 0;
    if (s->is_held) {
        s->is_padded = *format == 's';
        s->type = integers_of(format, s->is_padded || !*format ? 0 : each);
        s->form = s->type.size ? KEYS_INTEGERS : KEYS_BYTES;
        s->data = s->buffer.buf;
        s->size = (size_t)each;
        s->n = each ? (size_t)(s->buffer.len / each) : 0;
    }
    Py_DECREF(layout);
    return s->is_held ? 1 : -1;
}

struct weir_bytes key_source_at(const struct key_source *s, size_t i, char digits[DIGITS_MAX])
{
    const char *data = s->data + i * s->size;
    size_t size = s->size;
    bool negative;

    if (s->form == KEYS_INTEGERS) {
        uint64_t n = integer_read(s->type, data, &negative);

        return (struct weir_bytes){digits, write_decimal(n, negative, digits)};
    }
    while (s->is_padded && size > 0 && data[size - 1] == '\0')
        size--;
    return (struct weir_bytes){data, size};
}

/* ---- the keys of a batch: one by one ---- */

static PyObject *item_at(const struct key_source *s, Py_ssize_t i)
{
    return s->is_list ? PyList_GetItem(s->sequence, i) : PyTuple_GetItem(s->sequence, i);
}

/* Check the types of all items, before any is recorded. */
static bool check_items(const struct key_source *s)
{
    Py_ssize_t n = (Py_ssize_t)key_source_hint(s);

    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = item_at(s, i);
        PyTypeObject *type = Py_TYPE(o);
        Py_buffer buffer;
        bool ok;

        if (type == &PyBytes_Type || type == &PyUnicode_Type || type == &PyLong_Type)
            continue;
        Py_INCREF(o); /* Python code may run, which may change the list */
        ok = PyBytes_Check(o) || PyUnicode_Check(o) || is_integer(o);
        if (!ok && get_bytes(o, &buffer)) {
            PyBuffer_Release(&buffer);
            ok = true;
        }
        if (!ok && !PyErr_Occurred()) {
            int missing = is_missing(o);

            ok = missing > 0 && s->skips_missing;
            if (missing >= 0 && !ok)
                refuse(o, i);
        }
        n = (Py_ssize_t)key_source_hint(s);
        Py_DECREF(o);
        if (!ok)
            return false;
    }
    return true;
}

static bool open_items(struct key_source *s, PyObject *keys)
{
    s->form = KEYS_ONE_BY_ONE;
    s->is_list = PyList_CheckExact(keys);
    if (s->is_list || PyTuple_CheckExact(keys)) {
        s->sequence = Py_NewRef(keys);
        return check_items(s);
    }
    if (s->is_array) { /* text or objects */
        s->sequence = PyObject_CallMethod(keys, "tolist", NULL);
        s->is_list = s->sequence && PyList_CheckExact(s->sequence);
        return s->is_list && check_items(s);
    }
    s->iterator = PyObject_GetIter(keys);
    return s->iterator != NULL;
}

bool key_source_open(struct key_source *s, PyObject *keys, PyObject *size, bool skips_missing)
{
    bool is_sequence = PyList_CheckExact(keys) || PyTuple_CheckExact(keys);
    PyObject *array = is_sequence ? Py_NewRef(keys) : support_call("array_of", "(O)", keys);
    int opened;

    memset(s, 0, sizeof *s);
    s->skips_missing = skips_missing;
    s->is_array = array && !is_sequence && PyObject_HasAttrString(keys, "__array__");
    text_room_open(&s->room);
    opened = !array ? -1 : is_sequence ? 0 : open_buffer(s, array, size);
    if (opened == 0 && size != Py_None) {
        PyErr_SetString(PyExc_TypeError, "size= is for a buffer of keys that are all of one size");
        opened = -1;
    }
    if (opened == 0)
        opened = open_items(s, array) ? 1 : -1;
    Py_XDECREF(array);
    if (opened < 0)
        key_source_close(s);
    return opened > 0;
}

void key_source_close(struct key_source *s)
{
    if (s->is_held)
        PyBuffer_Release(&s->buffer);
    s->is_held = false;
    Py_CLEAR(s->sequence);
    Py_CLEAR(s->iterator);
    text_room_close(&s->room);
}

size_t key_source_hint(const struct key_source *s)
{
    if (s->form != KEYS_ONE_BY_ONE)
        return s->n;
    if (!s->sequence)
        return 0;
    return (size_t)(s->is_list ? PyList_Size(s->sequence) : PyTuple_Size(s->sequence));
}

bool key_source_peek_bytes(const struct key_source *s, size_t ahead, struct weir_bytes *out)
{
    PyObject *o = item_at(s, s->at + (Py_ssize_t)ahead);
    char *data;
    Py_ssize_t size;

    if (!PyBytes_CheckExact(o) || PyBytes_AsStringAndSize(o, &data, &size) < 0 ||
        size >= (Py_ssize_t)LONG)
        return false;
    *out = (struct weir_bytes){data, (size_t)size};
    return true;
}

/* A list may become shorter while Python code runs. */
int key_source_next(struct key_source *s, PyObject **object)
{
    if (!s->sequence) {
        *object = PyIter_Next(s->iterator);
        return *object ? 1 : PyErr_Occurred() ? -1 : 0;
    }
    if (s->at >= (Py_ssize_t)key_source_hint(s))
        return 0;
    *object = Py_XNewRef(item_at(s, s->at++));
    return *object ? 1 : -1;
}

/* ---- copies of keys, one after the other in one block ---- */

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

/* Until the list is full the block may move, so `data` is an offset. */
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
    char digits[DIGITS_MAX];
    int got;

    if (s->form != KEYS_ONE_BY_ONE) {
        if (*done == s->n)
            return 0;
        return add(l, key_source_at(s, (*done)++, digits)) ? 1 : -1;
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

/* Replace the list by the next keys, at most `max` of them and about 8 MiB. Returns 1 if there may
 * be more; 0 at the end; -1 with an exception, with the keys before it in the list. *done counts
 * the keys that were taken from a buffer. */
static int fill_list(struct key_list *l, struct key_source *s, size_t max, size_t *done)
{
    int got = 1;

    l->n = l->used = 0;
    while (l->n < max && l->used < LIST_MAX && got > 0)
        got = add_next(l, s, done);
    for (size_t i = 0; i < l->n; i++)
        l->keys[i].data = l->bytes + (uintptr_t)l->keys[i].data;
    return got;
}

/* Process the keys before a failure, and keep its exception. */
static bool call_before_raising(PyObject *self, list_call call, struct key_list *l, void *context)
{
    PyObject *type, *value, *trace;

    PyErr_Fetch(&type, &value, &trace);
    if (!call(self, l, context))
        PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return false;
}

bool key_lists_run(PyObject *self, PyObject *keys, PyObject *size, size_t max, list_call call,
                   void *context)
{
    struct key_source source;
    struct key_list l = {NULL};
    size_t done = 0;
    bool ok = true;
    int more = 1;

    if (!key_source_open(&source, keys, size, false))
        return false;
    while (ok && more) {
        more = fill_list(&l, &source, max, &done);
        ok = more < 0 ? call_before_raising(self, call, &l, context)
                      : call(self, &l, context) && PyErr_CheckSignals() == 0;
    }
    free(l.keys);
    free(l.bytes);
    key_source_close(&source);
    return ok;
}
