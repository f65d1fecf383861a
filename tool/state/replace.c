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
    size_t used;
    uint8_t buffer[65536];
};

#define REPORTED -1 /* the source of the data failed, and printed a message */

static bool drain(struct file_sink *s, const uint8_t *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(s->fd, data, size);

        if (n < 0 && errno != EINTR) {
            s->error = errno;
            return false;
        }
        data += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
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

static bool write_all(struct file_sink *s, writes_to_sink write, const void *what)
{
    enum weir_status status = write(what, into_file, s);

    if (status == WEIR_NO_MEMORY)
        s->error = ENOMEM;
    if (status == WEIR_BAD_DATA)
        s->error = REPORTED;
    if (status != WEIR_OK || !drain(s, s->buffer, s->used))
        return false;
    if (fsync(s->fd) != 0 && errno != EINVAL)
        s->error = errno;
    return !s->error;
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

static struct file_sink sink; /* one save at a time */

/* Returns the error, or 0. */
static int write_to(int fd, writes_to_sink write, const void *what)
{
    sink.fd = fd;
    sink.error = 0;
    sink.used = 0;
    if (!write_all(&sink, write, what) && !sink.error)
        sink.error = ENOMEM;
    return sink.error;
}

static bool write_in_place(const char *path, writes_to_sink write, const void *what)
{
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    int error;

    if (fd < 0)
        return refuse(path, errno);
    error = write_to(fd, write, what);
    if (close(fd) != 0 && !error)
        error = errno;
    return error ? refuse(path, error) : true;
}

/* If the file did not exist when it was locked, do not replace one that was created since. */
static bool publish(struct temporary *t, const struct target_path *p)
{
    return p->exists ? temporary_replace(t, p->path) : temporary_link(t, p->path);
}

static bool replace(const struct target_path *p, const char *path, writes_to_sink write,
                    const void *what)
{
    static struct temporary t;
    int error;

    if (!temporary_open(&t, p->folder, p->exists ? 0600 : 0666))
        return refuse(path, errno);
    inherit(t.fd, p);
    lock_next(t.fd);
    error = write_to(t.fd, write, what);
    if (!error && !publish(&t, p))
        error = errno;
    temporary_remove(&t);
    if (error) {
        close(t.fd);
        return refuse(path, error);
    }
    lock_move(t.fd);
    sync_directory(p->folder);
    return true;
}

bool replace_file(const char *path, writes_to_sink write, const void *what)
{
    static struct target_path p;

    if (!target_find(&p, path) || !lock_file(path))
        return false;
    return p.in_place ? write_in_place(path, write, what) : replace(&p, path, write, what);
}

static bool put_text(int fd, const char *text, size_t size)
{
    sink.fd = fd;
    sink.error = 0;
    if (drain(&sink, (const uint8_t *)text, size))
        return true;
    errno = sink.error;
    return false;
}

bool replace_text(const char *path, const char *text, size_t size, bool durable)
{
    static struct temporary t;
    static struct target_path p;
    bool ok;

    if (!target_resolve(&p, path))
        return false;
    if (p.in_place) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);

        ok = fd >= 0 && put_text(fd, text, size);
        return (fd < 0 || close(fd) == 0) && ok;
    }
    if (!temporary_open(&t, p.folder, 0666))
        return false;
    inherit(t.fd, &p);
    ok = put_text(t.fd, text, size) && (!durable || fsync(t.fd) == 0) &&
         temporary_replace(&t, p.path);
    if (ok && durable)
        sync_directory(p.folder);
    temporary_remove(&t);
    return close(t.fd) == 0 && ok;
}
