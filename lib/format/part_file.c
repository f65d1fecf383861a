/* part_file.c - save to files and load from them.
 *
 * Saving replaces a file atomically. The bytes go to a temporary file in the same directory
 * (".weir-" and 16 hex digits), which is synced and renamed. Then the directory is synced. After
 * a crash there is the old file or the new one, complete; a kill can leave the temporary file.
 *
 * Loading reads the file once, from front to back, through the calls that load from a source.
 *
 * This is the only file of the library that uses the file system. Nothing else in the library
 * calls it, so that a build for a system without files can leave it out. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h> /* rename() */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weir/screen.h>
#include <weir/shared.h>
#include <weir/sketch.h>

#include "base/text.h"
#include "format/part.h"

/* ---- messages ---- */

/* strerror() depends on the locale. */
static const struct {
    int error;
    const char *reason;
} reasons[] = {
    {EACCES, "permission denied"},
    {EBUSY, "it is in use"},
    {EDQUOT, "disk quota exceeded"},
    {EFBIG, "file too large"},
    {EIO, "input/output error"},
    {EISDIR, "it is a directory"},
    {ELOOP, "too many symbolic links"},
    {EMFILE, "too many open files"},
    {ENAMETOOLONG, "name too long"},
    {ENFILE, "too many open files in the system"},
    {ENODEV, "no such device"},
    {ENOENT, "no such file or directory"},
    {ENOMEM, "out of memory"},
    {ENOSPC, "no space left on device"},
    {ENOTDIR, "part of the path is not a directory"},
    {EPERM, "operation not permitted"},
    {EROFS, "read-only file system"},
};

struct error_reason {
    char text[48];
};

static struct error_reason reason_of(int error)
{
    struct error_reason r;
    struct text t = text_in(r.text, sizeof r.text);

    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].error == error) {
            text_add(&t, reasons[i].reason);
            return r;
        }
    text_add(&t, "system error ");
    text_add_u64(&t, (uint64_t)error);
    return r;
}

/* A path for a message: its end if it is long, without control characters. */
struct printable_path {
    char path[128];
};

static struct printable_path printable(const char *path)
{
    size_t n = strlen(path);
    struct printable_path s;
    struct text t = text_in(s.path, sizeof s.path);

    if (n >= sizeof s.path) {
        text_add(&t, "...");
        path += n - (sizeof s.path - 4);
    }
    text_add(&t, path);
    for (char *c = s.path; *c; c++)
        *c = (unsigned char)*c < ' ' || *c == '\x7f' ? '?' : *c;
    return s;
}

/* ---- saving ---- */

struct file_output {
    const char *path;         /* the caller's */
    char target[PATH_MAX];    /* the same without symbolic links */
    char temporary[PATH_MAX]; /* "" if there is none */
    size_t directory;         /* bytes of the directory in both, with the slash */
    int fd, error;
    const char *why; /* what is wrong if it is not a system error */
    size_t used;
    uint8_t buffer[16384];
};

static bool fail(struct file_output *o)
{
    o->error = errno;
    return false;
}

static bool fail_because(struct file_output *o, const char *why)
{
    o->why = why;
    return false;
}

/* Follow symbolic links. *old is the file to be replaced, if there is one. */
static bool find_target(struct file_output *o, bool *exists, struct stat *old)
{
    size_t n = strlen(o->path);

    *exists = realpath(o->path, o->target) != NULL;
    if (*exists)
        return stat(o->target, old) != 0 ? fail(o)
               : S_ISDIR(old->st_mode)
                   ? fail_because(o, "it is a directory; add the name of a file")
               : !S_ISREG(old->st_mode)
                   ? fail_because(o, "it is not a regular file; save through a sink instead")
                   : true;
    if (errno != ENOENT)
        return fail(o);
    if (lstat(o->path, old) == 0)
        return fail_because(o, "it is a symbolic link to a file that does not exist; create that "
                               "file or remove the link");
    errno = ENAMETOOLONG;
    if (n >= sizeof o->target)
        return fail(o);
    memcpy(o->target, o->path, n + 1);
    return true;
}

static bool name_temporary(struct file_output *o)
{
    static const char digits[] = "0123456789abcdef";
    struct text t = text_in(o->temporary, sizeof o->temporary);
    uint8_t random[8];
    char name[] = ".weir-0123456789abcdef";

    errno = ENAMETOOLONG;
    if (o->directory + sizeof name > sizeof o->temporary || getentropy(random, sizeof random) != 0)
        return fail(o);
    for (size_t i = 0; i < sizeof random; i++) {
        name[6 + 2 * i] = digits[random[i] >> 4];
        name[7 + 2 * i] = digits[random[i] & 15];
    }
    text_add_span(&t, o->target, o->directory);
    text_add(&t, name);
    return true;
}

static bool open_temporary(struct file_output *o, mode_t mode)
{
    do {
        if (!name_temporary(o))
            break;
        o->fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    } while (o->fd < 0 && (errno == EEXIST || errno == EINTR));
    if (o->fd >= 0)
        return true;
    *o->temporary = '\0';
    return o->error ? false : fail(o);
}

static bool output_open(struct file_output *o, const char *path)
{
    struct stat old;
    bool exists;

    o->path = path;
    o->fd = -1;
    o->error = 0;
    o->why = NULL;
    o->used = 0;
    *o->temporary = '\0';
    if (!find_target(o, &exists, &old))
        return false;
    const char *slash = strrchr(o->target, '/');
    o->directory = slash ? (size_t)(slash - o->target) + 1 : 0;
    if (!open_temporary(o, exists ? 0600 : 0666))
        return false;
    if (exists) { /* only root can give files away, and some file systems have no permissions */
        (void)!fchown(o->fd, old.st_uid, old.st_gid);
        (void)!fchmod(o->fd, old.st_mode & 0777);
    }
    return true;
}

static bool write_all(struct file_output *o, const uint8_t *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(o->fd, data, size);

        if (n < 0 && errno != EINTR)
            return fail(o);
        data += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool flush(struct file_output *o)
{
    size_t n = o->used;

    o->used = 0;
    return write_all(o, o->buffer, n);
}

static bool into_output(void *context, const void *data, size_t size)
{
    struct file_output *o = context;

    if (size > sizeof o->buffer - o->used && !flush(o))
        return false;
    if (size > sizeof o->buffer)
        return write_all(o, data, size);
    memcpy(o->buffer + o->used, data, size);
    o->used += size;
    return true;
}

static bool sync_file(int fd)
{
    while (fsync(fd) != 0)
        if (errno != EINTR)
            return errno == EINVAL; /* the file system cannot sync it */
    return true;
}

/* A directory that cannot be opened for reading is not synced. */
static bool sync_directory(struct file_output *o)
{
    o->target[o->directory] = '\0';
    int fd = open(o->directory ? o->target : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd < 0 || sync_file(fd) || fail(o);

    if (fd >= 0)
        close(fd);
    return ok;
}

static bool publish(struct file_output *o)
{
    if (!flush(o))
        return false;
    if (!sync_file(o->fd))
        return fail(o);
    int fd = o->fd;
    o->fd = -1;
    if (close(fd) != 0 && errno != EINTR)
        return fail(o);
    if (rename(o->temporary, o->target) != 0)
        return fail(o);
    *o->temporary = '\0';
    return sync_directory(o);
}

/* Replace the file if `status` is WEIR_OK. Otherwise, and if that fails, leave the old one. */
static enum weir_status output_close(struct file_output *o, enum weir_status status,
                                     struct weir_error *error)
{
    if (status == WEIR_OK && publish(o))
        return WEIR_OK;
    if (o->fd >= 0)
        close(o->fd);
    if (*o->temporary)
        unlink(o->temporary);
    if (!o->error && !o->why)
        return status;
    return error_say(error, WEIR_ERROR_WRITE_FAILED, "cannot save ", printable(o->path).path, ": ",
                     o->why ? o->why : reason_of(o->error).text, NULL);
}

/* The body of a public call, where `save` saves the handle into a sink. */
#define SAVE_FILE(path, save, handle, error)                                                       \
    struct file_output output;                                                                     \
    enum weir_status status = WEIR_WRITE_FAILED;                                                   \
                                                                                                   \
    if (output_open(&output, path))                                                                \
        status = save(handle, into_output, &output, error);                                        \
    return output_close(&output, status, error)

enum weir_status weir_save_file(const weir_filter *w, const char *path, struct weir_error *error)
{
    SAVE_FILE(path, weir_save_stream, w, error);
}

enum weir_status weir_sketch_save_file(const weir_sketch *s, const char *path,
                                       struct weir_error *error)
{
    SAVE_FILE(path, weir_sketch_save_stream, s, error);
}

enum weir_status weir_screen_save_file(const weir_screen *s, const char *path,
                                       struct weir_error *error)
{
    SAVE_FILE(path, weir_screen_save_stream, s, error);
}

enum weir_status weir_shared_save_file(weir_shared *s, const char *path, struct weir_error *error)
{
    SAVE_FILE(path, weir_shared_save_stream, s, error);
}

/* ---- loading ---- */

struct file_input {
    const char *path;
    int fd, error;
    size_t at, size; /* of what was read ahead */
    uint8_t ahead[PART_HEAD_MAX];
};

/* Read up to `size` bytes: fewer only at the end of the file, or after an error. */
static size_t read_some(struct file_input *in, uint8_t *data, size_t size)
{
    size_t at = 0;

    while (at < size) {
        ssize_t n = read(in->fd, data + at, size - at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            in->error = errno;
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    return at;
}

static bool from_input(void *context, void *data, size_t size)
{
    struct file_input *in = context;
    size_t left = in->size - in->at, n = size < left ? size : left;

    memcpy(data, in->ahead + in->at, n);
    in->at += n;
    return read_some(in, (uint8_t *)data + n, size - n) == size - n;
}

static bool skip(struct file_input *in, uint64_t size)
{
    uint8_t nowhere[4096];
    bool ok = true;

    for (; ok && size > 0; size -= size < sizeof nowhere ? size : sizeof nowhere)
        ok = from_input(in, nowhere, size < sizeof nowhere ? (size_t)size : sizeof nowhere);
    return ok;
}

/* Read ahead, from the next byte on, as much as a head can take. */
static void look_ahead(struct file_input *in)
{
    in->size -= in->at;
    memmove(in->ahead, in->ahead + in->at, in->size);
    in->at = 0;
    in->size += read_some(in, in->ahead + in->size, sizeof in->ahead - in->size);
}

/* Skip the notes before the first other part. */
static enum weir_status skip_notes(struct file_input *in, struct weir_error *error)
{
    struct part_head h;

    look_ahead(in);
    if (!in->error && in->size == 0)
        return part_bad(error, WEIR_ERROR_TRUNCATED, "the file is empty");
    while (!in->error) {
        enum weir_status status = part_read_head(in->ahead, in->size, &h, error);

        if (status != WEIR_OK || h.kind != WEIR_PART_NOTE)
            return status;
        if (!skip(in, part_size(&h)) && !in->error)
            return part_bad(error, WEIR_ERROR_TRUNCATED,
                            "the data is truncated: it is shorter than its head states");
        look_ahead(in);
        if (!in->error && in->size == 0)
            return part_bad(error, WEIR_ERROR_WRONG_KIND, "the file contains only notes");
    }
    return WEIR_READ_FAILED;
}

/* After a failure input_close() reports what was wrong. */
static enum weir_status input_open(struct file_input *in, const char *path,
                                   struct weir_error *error)
{
    in->path = path;
    in->error = 0;
    in->at = in->size = 0;
    do
        in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    while (in->fd < 0 && errno == EINTR);
    if (in->fd >= 0)
        return skip_notes(in, error);
    in->error = errno;
    return WEIR_READ_FAILED;
}

/* Errors of the data begin with the path. */
static enum weir_status input_close(struct file_input *in, enum weir_status status,
                                    struct weir_error *error)
{
    if (in->fd >= 0)
        close(in->fd);
    if (status == WEIR_OK)
        return status;
    if (in->error)
        return error_say(
            error, in->error == ENOENT ? WEIR_ERROR_FILE_NOT_FOUND : WEIR_ERROR_READ_FAILED,
            "cannot load ", printable(in->path).path, ": ", reason_of(in->error).text, NULL);
    if (error) {
        struct weir_error of_data = *error;

        error_say(error, (enum weir_error_code)of_data.code, printable(in->path).path, ": ",
                  of_data.text, NULL);
    }
    return status;
}

/* The body of a public call, where `load` loads a handle from a source. */
#define LOAD_FILE(out, load, path, options, error)                                                 \
    struct file_input input;                                                                       \
    enum weir_status status = input_open(&input, path, error);                                     \
                                                                                                   \
    *(out) = NULL;                                                                                 \
    if (status == WEIR_OK)                                                                         \
        status = load(out, from_input, &input, options, error);                                    \
    return input_close(&input, status, error)

enum weir_status weir_load_file(weir_filter **out, const char *path,
                                const struct weir_options *options, struct weir_error *error)
{
    LOAD_FILE(out, weir_load_stream, path, options, error);
}

enum weir_status weir_sketch_load_file(weir_sketch **out, const char *path,
                                       const struct weir_options *options, struct weir_error *error)
{
    LOAD_FILE(out, weir_sketch_load_stream, path, options, error);
}

enum weir_status weir_screen_load_file(weir_screen **out, const char *path,
                                       const struct weir_options *options, struct weir_error *error)
{
    LOAD_FILE(out, weir_screen_load_stream, path, options, error);
}

enum weir_status weir_shared_load_file(weir_shared **out, const char *path,
                                       const struct weir_options *options, struct weir_error *error)
{
    LOAD_FILE(out, weir_shared_load_stream, path, options, error);
}
