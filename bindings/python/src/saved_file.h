/* saved_file.h - what is saved: read from a path or from bytes, written to a path. */
#ifndef SAVED_FILE_H
#define SAVED_FILE_H

#include "binding.h"

/* Bytes of a mapped file, or lent by an object with a buffer. */
struct saved_bytes {
    const void *data;
    size_t size;
    void *map;
    Py_buffer buffer;
    bool held;
};

/* source: a path (str or os.PathLike), or bytes. False with an exception. */
bool saved_open(struct saved_bytes *s, PyObject *source);
void saved_close(struct saved_bytes *s);

/* Where the first part of one of these kinds begins (bits, 1 << kind): others are stepped
 * over. False with an exception if there is none; what: "filter". */
bool saved_find(const struct saved_bytes *s, unsigned kinds, const char *what, const void **data,
                size_t *size, uint32_t *shards);

/* Writes all of it to a sink. */
typedef enum weir_status (*write_all)(void *handle, weir_sink sink, void *context,
                                      struct weir_error *error);

/* Write in place of the file of this path: after a crash there is the old or the new. None,
 * or NULL with an exception. Releases the GIL. */
PyObject *saved_write(PyObject *path, write_all write, void *handle);

/* The same as bytes, of which there are just so many. */
PyObject *saved_bytes_of(write_all write, void *handle, size_t size);

#endif
