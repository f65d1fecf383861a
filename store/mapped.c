/* mapped.c - see mapped.h.
 *
 * Reading a page that is no longer in the file raises SIGBUS. If the page belongs to a mapping, the
 * handler maps a page of zeros in its place, and the read continues; any other SIGBUS ends the
 * process. If a file is truncated within a page, the rest of the page reads as zeros without a
 * signal. So size and time of the file are compared after each use.
 *
 * pread() would be slower: a binary search reads one key at each of about twenty places, which are
 * memory accesses in a mapping, and system calls with pread(). Cost: one fstat() per batch. */
#include "mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files that are open: changed by one thread, read by a handler in any thread. */
static struct mapped *_Atomic all;
static size_t page;

static bool replace_page(struct mapped *m, const char *at)
{
    size_t offset = (size_t)(at - m->data) / page * page;

    m->damaged = 1;
    return mmap(m->data + offset, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                0) != MAP_FAILED;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    const char *at = info->si_addr;
    int before = errno;

    (void)context;
    for (struct mapped *m = atomic_load(&all); m; m = atomic_load(&m->next))
        if (m->data && at >= m->data && at < m->data + m->size && replace_page(m, at)) {
            errno = before;
            return;
        }
    signal(number, SIG_DFL);
    raise(number); /* ends the process, also if another one sent the signal */
}

static void catch_bus_errors(void)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};

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
    page = (size_t)sysconf(_SC_PAGESIZE);
    atomic_store(&m->next, atomic_load(&all));
    atomic_store(&all, m);
    catch_bus_errors();
    return NULL;
}

void mapped_close(struct mapped *m)
{
    for (struct mapped *_Atomic *at = &all; *at; at = &(*at)->next)
        if (*at == m) {
            *at = atomic_load(&m->next);
            break;
        }
    if (m->data)
        munmap(m->data, m->size);
    if (m->fd >= 0)
        close(m->fd);
    *m = (struct mapped){.fd = -1};
}

bool mapped_is_unchanged(const struct mapped *m)
{
    struct stat st;

    return !m->damaged && fstat(m->fd, &st) == 0 && (size_t)st.st_size == m->size &&
           st.st_mtim.tv_sec == m->written.tv_sec && st.st_mtim.tv_nsec == m->written.tv_nsec;
}
