/* mapped.c - see mapped.h.
 *
 * Reading a page that is no longer in the file raises SIGBUS. If the page belongs to the mapping
 * and the thread is in mapped_read(), a handler returns to it; any other SIGBUS ends the process.
 * If a file is truncated within a page, the rest of the page reads as zeros without a signal, so
 * size and time of the file are compared afterwards as well.
 *
 * pread() would be slower: a binary search reads one key at each of about twenty places, which are
 * memory accesses in a mapping, and system calls with pread(). Cost: one fstat() per batch. */
#include "mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct mapped_reading {
    sigjmp_buf back;
    const char *from, *to;
};

static _Thread_local struct mapped_reading *reading; /* of this thread, or NULL */

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    const char *at = info->si_addr;

    (void)context;
    if (reading && at >= reading->from && at < reading->to)
        siglongjmp(reading->back, 1);
    signal(number, SIG_DFL); /* raise it again, which ends the process */
}

static void catch_bus_errors(void)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_NODEFER};

    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGBUS, &action, NULL); /* cannot fail for a valid signal */
}

static const char *refuse(struct mapped *m, const char *why)
{
    mapped_close(m);
    return why;
}

const char *mapped_open(struct mapped *m, const char *path)
{
    struct stat st;

    *m = (struct mapped){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (m->fd < 0 || fstat(m->fd, &st) != 0)
        return refuse(m, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return refuse(m, S_ISDIR(st.st_mode) ? strerror(EISDIR) : "it is not a regular file");
    m->size = (size_t)st.st_size;
    m->written = st.st_mtim;
    m->data = m->size ? mmap(NULL, m->size, PROT_READ, MAP_PRIVATE, m->fd, 0) : NULL;
    if (m->data == MAP_FAILED) {
        m->data = NULL;
        return refuse(m, strerror(errno));
    }
    catch_bus_errors();
    return NULL;
}

void mapped_close(struct mapped *m)
{
    if (m->data)
        munmap(m->data, m->size);
    if (m->fd >= 0)
        close(m->fd);
    *m = (struct mapped){.fd = -1};
}

static bool is_unchanged(const struct mapped *m)
{
    struct stat st;

    return fstat(m->fd, &st) == 0 && (size_t)st.st_size == m->size &&
           st.st_mtim.tv_sec == m->written.tv_sec && st.st_mtim.tv_nsec == m->written.tv_nsec;
}

bool mapped_read(const struct mapped *m, void (*act)(void *context), void *context)
{
    struct mapped_reading here = {.from = m->data, .to = m->data + m->size};

    if (sigsetjmp(here.back, 0) != 0) {
        reading = NULL;
        return false;
    }
    reading = &here;
    act(context);
    reading = NULL;
    return is_unchanged(m);
}
