/* replace.c - see replace.h.
 *
 * Write an unnamed file, fsync it, give it the name, fsync the directory. After a crash either the
 * old or the new file exists. */
#include "state/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/inputs.h"

struct file_sink {
    int fd, error;
    bool durable; /* fsync the file and its directory */
    size_t used;
    uint8_t buffer[65536];
};

#define REPORTED -1 /* the source of the data failed, and printed a message */

static bool drain(struct file_sink *s, const uint8_t *data, size_t size)
{
    if (write_all(s->fd, data, size))
        return true;
    s->error = errno;
    return false;
}

static bool into_file(void *context, const void *data, size_t size)
{
    struct file_sink *s = context;

    if (s->used + size > sizeof s->buffer) {
        if (!drain(s, s->buffer, s->used))
            return false;
        s->used = 0;
    }
    if (size > sizeof s->buffer)
        return drain(s, data, size);
    memcpy(s->buffer + s->used, data, size);
    s->used += size;
    return true;
}

/* Returns the error, or 0. */
static int write_content(struct file_sink *s, writes_to_sink write, const void *what)
{
    enum weir_status status = write(what, into_file, s);

    if (status == WEIR_BAD_DATA)
        return REPORTED;
    if (status != WEIR_OK || !drain(s, s->buffer, s->used))
        return s->error ? s->error : ENOMEM;
    return s->durable && fsync(s->fd) != 0 && errno != EINVAL ? errno : 0;
}

static void sync_directory(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

static bool refuse(const char *path, int error)
{
    return error != REPORTED && reject("cannot save %s: %s", path, strerror(error));
}

bool replace_possible(const char *path)
{
    static struct target_path p;

    if (!target_find(&p, path))
        return false;
    if (p.exists && S_ISDIR(p.st.st_mode))
        return refuse(path, EISDIR);
    if (access(p.in_place ? path : p.folder, W_OK) != 0)
        return refuse(path, errno);
    return lock_file(path);
}

bool replace_spares(const char *path, const char *begin, const char *within, const char *kind)
{
    static struct target_path p;
    char head[1025];

    if (!target_find(&p, path))
        return false;
    if (!p.in_place && access(p.folder, W_OK) != 0)
        return refuse(path, errno);
    if (!p.exists || p.in_place || p.st.st_size == 0)
        return true;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = fd >= 0 ? read_at(fd, head, sizeof head - 1, 0) : -1;
    int error = errno;

    if (fd >= 0)
        close(fd);
    if (n < 0)
        return refuse(path, error);
    head[n] = '\0';
    return (strncmp(head, begin, strlen(begin)) == 0 && (!within || strstr(head, within))) ||
           reject("%s: not %s, so it is not replaced; remove it first or choose another name", path,
                  kind);
}

/* Copy owner and mode of the old file. */
static void inherit(int fd, const struct target_path *p)
{
    if (!p->exists)
        return;
    (void)!fchown(fd, p->st.st_uid, p->st.st_gid);
    (void)!fchmod(fd, p->st.st_mode & 0777);
}

/* Write a file that exists, such as a device or pipe. Returns the error, or 0. */
static int write_in_place(const char *path, struct file_sink *sink, writes_to_sink write,
                          const void *what)
{
    sink->fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (sink->fd < 0)
        return errno;
    int error = write_content(sink, write, what);
    return close(sink->fd) != 0 && !error ? errno : error;
}

/* Write a new file, then give it the name. locked: the caller has locked the file; if it did not
 * exist then, do not replace one that was created since. */
static int write_new(const struct target_path *p, struct file_sink *sink, writes_to_sink write,
                     const void *what, bool locked)
{
    static struct temporary t;

    if (!temporary_open(&t, p->folder, p->exists && locked ? 0600 : 0666))
        return errno;
    inherit(t.fd, p);
    sink->fd = t.fd;
    int error = write_content(sink, write, what);
    if (!error &&
        !(p->exists || !locked ? temporary_replace(&t, p->path) : temporary_link(&t, p->path)))
        error = errno;
    temporary_remove(&t);
    if (!error && locked)
        lock_move(t.fd);
    close(t.fd);
    if (!error && sink->durable)
        sync_directory(p->folder);
    return error;
}

bool replace_file(const char *path, writes_to_sink write, const void *what)
{
    static struct target_path p;
    static struct file_sink sink; /* one save at a time */
    int error;

    if (!target_find(&p, path) || !lock_file(path))
        return false;
    sink = (struct file_sink){.durable = true};
    error = p.in_place ? write_in_place(path, &sink, write, what)
                       : write_new(&p, &sink, write, what, true);
    return !error || refuse(path, error);
}

static enum weir_status write_text(const void *what, weir_sink sink, void *into)
{
    const struct weir_bytes *text = what;

    return sink(into, text->data, text->size) ? WEIR_OK : WEIR_WRITE_FAILED;
}

bool replace_file_by_text(const char *path, const char *text, size_t size)
{
    return replace_file(path, write_text, &(struct weir_bytes){text, size});
}

bool replace_text(const char *path, const char *text, size_t size, bool durable)
{
    static struct target_path p;
    static struct file_sink sink;
    const struct weir_bytes what = {text, size};

    if (!target_resolve(&p, path))
        return false;
    sink = (struct file_sink){.durable = durable};
    errno = p.in_place ? write_in_place(path, &sink, write_text, &what)
                       : write_new(&p, &sink, write_text, &what, false);
    return errno == 0;
}
