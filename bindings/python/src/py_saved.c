/* py_saved.c - saved filters, sketches and screens: read from a path, an open file or bytes, and
 * written to a path or to bytes. */
#include "binding.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weir/saved.h>

/* ---- read ---- */

static bool raise_errno(PyObject *path)
{
    PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
    return false;
}

static bool map_file(struct saved_bytes *s, const char *name, PyObject *path)
{
    struct stat stat;
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && fstat(fd, &stat) == 0;
    int was;

    if (ok && !S_ISREG(stat.st_mode)) {
        errno = S_ISDIR(stat.st_mode) ? EISDIR : ESPIPE;
        ok = false;
    }
    s->data = "";
    s->size = ok ? (size_t)stat.st_size : 0;
    if (ok && s->size > 0) {
        s->map = mmap(NULL, s->size, PROT_READ, MAP_SHARED, fd, 0);
        ok = s->map != MAP_FAILED;
        s->data = s->map = ok ? s->map : NULL;
    }
    was = errno;
    if (fd >= 0)
        close(fd);
    errno = was;
    return ok || raise_errno(path);
}

static bool lend_buffer(struct saved_bytes *s, PyObject *source)
{
    if (PyObject_GetBuffer(source, &s->buffer, PyBUF_CONTIG_RO) < 0)
        return false;
    s->held = true;
    s->data = s->buffer.len ? s->buffer.buf : "";
    s->size = (size_t)s->buffer.len;
    return true;
}

bool saved_open(struct saved_bytes *s, PyObject *source)
{
    PyObject *name = NULL, *content;
    bool ok;

    memset(s, 0, sizeof *s);
    if (PyObject_CheckBuffer(source))
        return lend_buffer(s, source);
    if (PyObject_HasAttrString(source, "read")) {
        content = PyObject_CallMethod(source, "read", NULL);
        ok = content && PyObject_CheckBuffer(content) && lend_buffer(s, content);
        if (content && !ok && !PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "the file is open in text mode; open it with 'rb'");
        Py_XDECREF(content); /* the buffer keeps it */
        return ok;
    }
    if (!PyUnicode_FSConverter(source, &name))
        return false;
    ok = map_file(s, PyBytes_AsString(name), source);
    Py_DECREF(name);
    return ok;
}

void saved_close(struct saved_bytes *s)
{
    if (s->map)
        munmap(s->map, s->size);
    if (s->held)
        PyBuffer_Release(&s->buffer);
    s->map = NULL;
    s->held = false;
}

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

bool saved_find(const struct saved_bytes *s, unsigned kinds, const char *what, const void **data,
                size_t *size, uint32_t *shards)
{
    const char *at = s->data;
    size_t left = s->size;
    struct weir_error error;
    struct weir_part part;
    char text[128];

    do {
        if (weir_part_head(at, left, &part, sizeof part, &error) != WEIR_OK) {
            raise_error(&error);
            return false;
        }
        if (part.kind < 32 && kinds >> part.kind & 1) {
            *data = at;
            *size = left;
            *shards = part.shards;
            return true;
        }
        if (kind_name(part.kind)) {
            PyOS_snprintf(text, sizeof text, "the file contains no %s, but %s", what,
                          kind_name(part.kind));
            raise_status(WEIR_BAD_DATA, text);
            return false;
        }
        at += part.size;
        left -= part.size;
    } while (left > 0);
    PyOS_snprintf(text, sizeof text, "the file contains no %s", what);
    raise_status(WEIR_BAD_DATA, text);
    return false;
}

/* ---- write ---- */

struct target {
    char path[PATH_MAX];      /* with links followed */
    char temporary[PATH_MAX]; /* "" for a device, which is written in place */
    int fd;
    int failed; /* errno */
};

static bool put(void *context, const void *data, size_t size)
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

/* Create the temporary file, in the same directory and with the same permissions. */
static bool open_target(struct target *t, const char *name)
{
    struct stat stat;
    bool exists = realpath(name, t->path) != NULL;
    const char *slash;
    int used;

    if (!exists && (strlen(name) >= sizeof t->path || errno != ENOENT))
        return false;
    if (!exists)
        memcpy(t->path, name, strlen(name) + 1);
    exists = exists && lstat(t->path, &stat) == 0;
    if (exists && !S_ISREG(stat.st_mode)) {
        t->fd = open(t->path, O_WRONLY | O_CLOEXEC);
        return t->fd >= 0;
    }
    slash = strrchr(t->path, '/');
    used = snprintf(t->temporary, sizeof t->temporary, "%.*s.%s.weir-XXXXXX",
                    slash ? (int)(slash + 1 - t->path) : 0, t->path, slash ? slash + 1 : t->path);
    if (used < 0 || (size_t)used >= sizeof t->temporary) {
        errno = ENAMETOOLONG;
        return false;
    }
    t->fd = mkostemp(t->temporary, O_CLOEXEC);
    if (t->fd >= 0 && exists)
        return fchmod(t->fd, stat.st_mode & 07777) == 0;
    return t->fd >= 0;
}

/* Give a new file the permissions of open(). The mask can only be read by setting it, for all
 * threads, so this runs with the GIL. */
static void set_permissions(const struct target *t)
{
    struct stat stat;
    mode_t mask;

    if (t->temporary[0] == '\0' || lstat(t->path, &stat) == 0)
        return;
    mask = umask(0);
    umask(mask);
    (void)fchmod(t->fd, 0666 & ~mask);
}

static void sync_folder(const struct target *t)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(t->path, '/');
    int fd;

    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash + 1 - t->path) : 1,
             slash ? t->path : ".");
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

/* Rename the temporary file. False with errno. */
static bool replace_file(struct target *t, bool ok)
{
    int failed = ok ? 0 : t->failed ? t->failed : errno;
    bool is_temporary = t->temporary[0] != '\0';

    if (!failed && is_temporary && fsync(t->fd) != 0)
        failed = errno;
    if (close(t->fd) != 0 && !failed)
        failed = errno;
    if (!failed && is_temporary && rename(t->temporary, t->path) != 0)
        failed = errno;
    if (failed && is_temporary)
        unlink(t->temporary);
    if (!failed && is_temporary)
        sync_folder(t);
    errno = failed;
    return failed == 0;
}

/* Write the note before a filter that describes its keys, if there is a description. */
static enum weir_status write_keys(const char *keys, weir_sink sink, void *context,
                                   struct weir_error *error)
{
    char note[sizeof WEIR_KEYS_NOTE + WEIR_KEY_DESCRIPTION_MAX];
    int n = PyOS_snprintf(note, sizeof note, WEIR_KEYS_NOTE "%s", keys);

    return *keys ? weir_part_write(WEIR_PART_NOTE, note, (size_t)n, sink, context, error) : WEIR_OK;
}

PyObject *saved_write(PyObject *path, const char *keys, write_all write, void *handle)
{
    struct target t = {.fd = -1};
    struct weir_error error = {.status = WEIR_OK};
    PyObject *name = NULL;
    bool ok;

    if (!PyUnicode_FSConverter(path, &name))
        return NULL;
    ok = open_target(&t, PyBytes_AsString(name));
    Py_DECREF(name);
    if (t.fd < 0) {
        raise_errno(path);
        return NULL;
    }
    set_permissions(&t);
    Py_BEGIN_ALLOW_THREADS ok = ok && write_keys(keys, put, &t, &error) == WEIR_OK &&
                                write(handle, put, &t, &error) == WEIR_OK;
    ok = replace_file(&t, ok);
    Py_END_ALLOW_THREADS if (!ok && error.status != WEIR_OK &&
                             error.status != WEIR_WRITE_FAILED) return raise_error(&error);
    if (!ok)
        raise_errno(path);
    return ok ? Py_NewRef(Py_None) : NULL;
}

/* ---- as bytes ---- */

struct bytes_left {
    char *at;
    size_t left;
};

static bool append(void *context, const void *data, size_t size)
{
    struct bytes_left *b = context;

    if (size > b->left)
        return false;
    memcpy(b->at, data, size);
    b->at += size;
    b->left -= size;
    return true;
}

static bool add_size(void *context, const void *data, size_t size)
{
    *(size_t *)context += size;
    return true;
}

PyObject *saved_bytes_of(const char *keys, write_all write, void *handle, size_t size)
{
    (void)write_keys(keys, add_size, &size, NULL);

    PyObject *out = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    struct bytes_left b = {.left = size};
    struct weir_error error;
    enum weir_status status;

    if (!out)
        return NULL;
    b.at = PyBytes_AsString(out);
    Py_BEGIN_ALLOW_THREADS status = write_keys(keys, append, &b, &error);
    if (status == WEIR_OK)
        status = write(handle, append, &b, &error);
    Py_END_ALLOW_THREADS if (status == WEIR_OK && b.left == 0) return out;
    Py_DECREF(out);
    return raise_error(&error);
}
