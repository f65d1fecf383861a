/* key_reader.h - keys as Python has them: bytes, str, anything with a buffer; one, an
 * iterable of them, or a buffer of keys of one size. And the numbers that belong to them: one for
 * all, a buffer of integers, or an iterable of them. */
#ifndef KEY_READER_H
#define KEY_READER_H

#include "binding.h"

/* Room for the bytes of a str. */
struct text_room {
    Py_UCS4 *points;
    char *bytes;
    size_t size; /* points; there are four bytes for each */
    Py_UCS4 few[64];
    char few_bytes[256];
};

/* One key: its bytes are there until key_release(), or the next key of the same room. */
struct key_view {
    struct weir_bytes bytes;
    Py_buffer buffer;
    bool held;
};

void text_room_open(struct text_room *r);
void text_room_close(struct text_room *r);

/* The bytes of a key. A str gives its UTF-8; where bytes that are no text were read with
 * "surrogateescape", those bytes again; other lone surrogates three bytes each. False with
 * an exception for what is no key. */
bool key_read(PyObject *o, struct text_room *room, struct key_view *key);
void key_release(struct key_view *key);

/* Hash bytes; what is long is hashed without the GIL. */
struct weir_key hash_bytes(struct hasher hash, struct weir_bytes bytes);

/* Hash one key. */
bool key_hash(PyObject *o, struct hasher hash, struct weir_key *out);

/* Many of them: either fixed keys in a buffer, or a list, tuple or iterator. */
struct key_source {
    Py_buffer buffer;
    bool is_fixed, is_list;
    const char *data;   /* fixed: where the first key lies, */
    size_t size, n;     /* the size of a key, how many there are, */
    bool is_padded;     /* whether NUL bytes at the end are no part of them, */
    char *copy;         /* and our own bytes, if those of the buffer do not lie in a row */
    PyObject *sequence; /* a list or tuple, or else */
    PyObject *iterator;
    Py_ssize_t at;
    struct text_room room;
};

/* size: None, or that of the keys of a buffer. */
bool key_source_open(struct key_source *s, PyObject *keys, PyObject *size);
void key_source_close(struct key_source *s);

/* The bytes of fixed key i. */
static inline struct weir_bytes key_source_fixed(const struct key_source *s, size_t i)
{
    const char *data = s->data + i * s->size;
    size_t size = s->size;

    while (s->is_padded && size > 0 && data[size - 1] == '\0')
        size--;
    return (struct weir_bytes){data, size};
}

/* The next of keys that are not fixed: 1, 0 at the end, -1 with an exception. */
int key_source_next(struct key_source *s, PyObject **object);

/* The bytes of the key `ahead` from the next of a list or tuple, which has so many, if they are
 * plain bytes and not long: there while nothing else runs. */
bool key_source_peek_bytes(const struct key_source *s, size_t ahead, struct weir_bytes *out);

/* How many keys there are, if that is known; else 0. */
size_t key_source_hint(const struct key_source *s);

/* ---- key_list: copies of keys, for calls that take them as bytes while the GIL is released ----
 */

struct key_list {
    struct weir_bytes *keys;
    size_t n, keys_room;
    char *bytes;
    size_t used, bytes_room;
};

void key_list_close(struct key_list *l);

/* Empty it, then take keys of a source, at most `most` and some megabytes of them: 1 if there
 * may be more, 0 if that was all, -1 with an exception; those before it are there. *done
 * counts keys of a buffer that were taken. */
int key_list_fill(struct key_list *l, struct key_source *s, size_t most, size_t *done);

/* ---- numbers.c: a whole number for each key ---- */

struct numbers {
    const char *what; /* "importance", for specs */
    uint64_t most;
    bool given;    /* not None */
    bool is_same;  /* one for all */
    bool is_array; /* a buffer */
    uint64_t same;
    Py_buffer buffer;
    char code; /* of the struct module */
    PyObject *iterator;
    Py_ssize_t at;
};

/* Numbers from 0 to most; None are `otherwise` each. */
bool numbers_open(struct numbers *n, PyObject *o, const char *what, uint64_t otherwise,
                  uint64_t most);
void numbers_close(struct numbers *n);

/* The next: false with an exception if there is none, or it does not fit. */
bool numbers_next(struct numbers *n, uint64_t *out);

/* That none is left. */
bool numbers_end(struct numbers *n);

/* The largest time of a record, for `most`: one wrong date must not evict all keys. advance() takes
 * any. */
uint64_t numbers_latest_time(void);

/* One number alone. */
bool number_read(PyObject *o, const char *what, uint64_t most, uint64_t *out);

#endif
