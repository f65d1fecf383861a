/* saved_file.h - what is saved: read from a path or from bytes, written to a path. */
#ifndef SAVED_FILE_H
#define SAVED_FILE_H

#include "binding.h"

#include <weir/saved.h>

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

/* The same for filters, of the arguments of load() and view(): a source, and keys_differ=, without
 * which keys must be those of the file as they are. keys becomes how the file describes them. */
bool saved_open_filter(struct saved_bytes *s, PyObject *args, PyObject *named,
                       char keys[WEIR_KEY_DESCRIPTION_MAX]);

/* What pickle calls with the bytes of a filter whose keys are described so. */
PyObject *saved_loader(PyObject *type, const char *keys);

/* Where the first part of one of these kinds begins (bits, 1 << kind): others are stepped
 * over. False with an exception if there is none; what: "filter". */
bool saved_find(const struct saved_bytes *s, unsigned kinds, const char *what, const void **data,
                size_t *size, uint32_t *shards);

/* Writes all of it to a sink. */
typedef enum weir_status (*write_all)(void *handle, weir_sink sink, void *context,
                                      struct weir_error *error);

/* Write in place of the file of this path: after a crash there is the old or the new. None,
 * or NULL with an exception. keys: how those of a filter were made, or "". Releases the GIL. */
PyObject *saved_write(PyObject *path, const char *keys, write_all write, void *handle);

/* The same as bytes, of which there are just so many, without those of keys. */
PyObject *saved_bytes_of(const char *keys, write_all write, void *handle, size_t size);

#endif
