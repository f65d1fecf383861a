/* fault.c - fault injection: makes one call of the C library fail in a program that is started with
 * this library in LD_PRELOAD. WEIR_FAULT selects the call:
 *
 *  WEIR_FAULT=write:3:ENOSPC    the third write() of the process fails with ENOSPC
 *  WEIR_FAULT=read:0:short      every read() returns at most one byte
 *  WEIR_FAULT=read:5:short      the fifth does
 *  WEIR_FAULT=read:5:SIGTERM    SIGTERM arrives during the fifth, which succeeds
 *
 * At exit, a line "CALL COUNT" for each call is appended to the file WEIR_FAULT_COUNTS, so a test
 * knows which calls can fail. Child processes are not affected.
 *
 * While the file WEIR_FAULT_CLOCK exists, the system clock is a day ahead; WEIR_FAULT_BOOT does the
 * same for the time since boot. With WEIR_FAULT_FAST, each reading of the monotonic clock advances
 * it by a second.
 *
 * Calls that stdio makes inside the C library cannot be intercepted: fflush() and fclose() fail
 * instead of its write(). */
#undef _FILE_OFFSET_BITS /* otherwise mmap() and mmap64() are one name */
#undef _FORTIFY_SOURCE   /* otherwise read() is inline */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Functions with hidden visibility would replace nothing. */
#pragma GCC visibility push(default)

enum call {
    CALL_MALLOC,
    CALL_READ,
    CALL_PREAD,
    CALL_WRITE,
    CALL_OPEN,
    CALL_MMAP,
    CALL_RENAME,
    CALL_LINK,
    CALL_FSYNC,
    CALL_FTRUNCATE,
    CALL_FSTAT,
    CALL_FLOCK,
    CALL_FFLUSH,
    CALL_FCLOSE,
    CALL_THREAD,
    CALLS
};

static const char *const names[CALLS] = {
    "malloc", "read",      "pread", "write", "open",   "mmap",   "rename", "link",
    "fsync",  "ftruncate", "fstat", "flock", "fflush", "fclose", "thread",
};

static const struct {
    const char *name;
    int number;
} errors[] = {
    {"ENOMEM", ENOMEM}, {"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EINTR", EINTR},
    {"EMFILE", EMFILE}, {"EACCES", EACCES}, {"EAGAIN", EAGAIN},
};

static atomic_ulong counts[CALLS];
static int chosen = -1; /* the call that fails */
static unsigned long which;
static int with; /* errno; 0 for a short read or write */
static bool signals;
static bool ready;

static void choose(char *text)
{
    char *call = strtok(text, ":"), *number = strtok(NULL, ":"), *how = strtok(NULL, ":");

    if (!call || !number || !how)
        return;
    for (int i = 0; i < CALLS; i++)
        if (strcmp(call, names[i]) == 0)
            chosen = i;
    which = strtoul(number, NULL, 10);
    signals = strcmp(how, "SIGTERM") == 0;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strcmp(how, errors[i].name) == 0)
            with = errors[i].number;
}

__attribute__((constructor)) static void begin(void)
{
    static char text[64];
    const char *wanted = getenv("WEIR_FAULT");

    snprintf(text, sizeof text, "%s", wanted ? wanted : "");
    choose(text);
    unsetenv("LD_PRELOAD");
    ready = true;
}

/* Runs at the end of exit(), after the program's own handlers. */
__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("WEIR_FAULT_COUNTS");
    FILE *out;

    ready = false;
    if (!path || !(out = fopen(path, "w")))
        return;
    for (int i = 0; i < CALLS; i++)
        fprintf(out, "%s %lu\n", names[i], counts[i]);
    fclose(out);
}

/* Returns true if this is the call that fails. */
static bool is_hit(enum call call)
{
    if (!ready)
        return false;
    unsigned long n = atomic_fetch_add(&counts[call], 1) + 1;

    bool hit = chosen == (int)call && (which == 0 || n == which);

    if (hit && signals)
        raise(SIGTERM);
    return hit && !signals;
}

static bool fails(enum call call)
{
    if (!is_hit(call) || with == 0)
        return false;
    errno = with;
    return true;
}

/* Returns how many of n bytes may be transferred; -1 for none. */
static ssize_t allow(enum call call, size_t n)
{
    if (!is_hit(call))
        return (ssize_t)n;
    errno = with;
    return with ? -1 : n > 1;
}

#define REAL(type, name, ...)                                                                      \
    static type (*real)(__VA_ARGS__);                                                              \
    if (!real)                                                                                     \
    *(void **)&real = dlsym(RTLD_NEXT, name)

/* dlsym() allocates, so these use the internal names of the C library. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t align, size_t size);

void *malloc(size_t size)
{
    return fails(CALL_MALLOC) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails(CALL_MALLOC) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    return fails(CALL_MALLOC) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    return fails(CALL_MALLOC) ? NULL : __libc_memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
    void *p = fails(CALL_MALLOC) ? NULL : __libc_memalign(align, size);

    *out = p ? p : *out;
    return p ? 0 : ENOMEM;
}

static atomic_ulong looks; /* for the monotonic clock */

int clock_gettime(clockid_t clock, struct timespec *t)
{
    REAL(int, "clock_gettime", clockid_t, struct timespec *);
    const char *path = clock == CLOCK_REALTIME   ? getenv("WEIR_FAULT_CLOCK")
                       : clock == CLOCK_BOOTTIME ? getenv("WEIR_FAULT_BOOT")
                                                 : NULL;
    int status = real(clock, t);

    if (path && access(path, F_OK) == 0)
        t->tv_sec += 24 * 3600;
    if (clock == CLOCK_MONOTONIC && getenv("WEIR_FAULT_FAST"))
        t->tv_sec += (time_t)atomic_fetch_add(&looks, 1);
    return status;
}

ssize_t read(int fd, void *to, size_t n)
{
    REAL(ssize_t, "read", int, void *, size_t);
    ssize_t most = allow(CALL_READ, n);

    return most < 0 ? -1 : real(fd, to, most || !n ? (size_t)most : 1);
}

/* Programs built with _FORTIFY_SOURCE call the functions ending in _chk; `space` is the size of
 * `to`. */
ssize_t __read_chk(int fd, void *to, size_t n, size_t space);
ssize_t __pread64_chk(int fd, void *to, size_t n, off_t at, size_t space);
int __open64_2(const char *path, int flags);

ssize_t __read_chk(int fd, void *to, size_t n, size_t space)
{
    return n > space ? (abort(), -1) : read(fd, to, n);
}

static ssize_t pread_some(int fd, void *to, size_t n, off_t at)
{
    REAL(ssize_t, "pread64", int, void *, size_t, off_t);
    ssize_t most = allow(CALL_PREAD, n);

    return most < 0 ? -1 : real(fd, to, most || !n ? (size_t)most : 1, at);
}

ssize_t pread64(int fd, void *to, size_t n, off_t at)
{
    return pread_some(fd, to, n, at);
}

ssize_t __pread64_chk(int fd, void *to, size_t n, off_t at, size_t space)
{
    return n > space ? (abort(), -1) : pread_some(fd, to, n, at);
}

ssize_t pread(int fd, void *to, size_t n, off_t at)
{
    return pread_some(fd, to, n, at);
}

ssize_t write(int fd, const void *from, size_t n)
{
    REAL(ssize_t, "write", int, const void *, size_t);
    ssize_t most = fd == STDERR_FILENO ? (ssize_t)n : allow(CALL_WRITE, n);

    return most < 0 ? -1 : real(fd, from, most || !n ? (size_t)most : 1);
}

static ssize_t pwrite_some(int fd, const void *from, size_t n, off_t at)
{
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off_t);
    ssize_t most = allow(CALL_WRITE, n);

    return most < 0 ? -1 : real(fd, from, most || !n ? (size_t)most : 1, at);
}

ssize_t pwrite(int fd, const void *from, size_t n, off_t at)
{
    return pwrite_some(fd, from, n, at);
}

ssize_t pwrite64(int fd, const void *from, size_t n, off_t at)
{
    return pwrite_some(fd, from, n, at);
}

ssize_t preadv64v2(int fd, const struct iovec *parts, int n, off64_t at, int flags)
{
    REAL(ssize_t, "preadv64v2", int, const struct iovec *, int, off64_t, int);
    return fails(CALL_PREAD) ? -1 : real(fd, parts, n, at, flags);
}

static int open_some(const char *path, int flags, mode_t mode)
{
    REAL(int, "open64", const char *, int, mode_t);
    return fails(CALL_OPEN) ? -1 : real(path, flags, mode);
}

static mode_t mode_of(int flags, va_list more)
{
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list more;

    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return open_some(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list more;

    va_start(more, flags);
    mode_t mode = mode_of(flags, more);
    va_end(more);
    return open_some(path, flags, mode);
}

static int openat_some(int dir, const char *path, int flags, va_list more)
{
    REAL(int, "openat64", int, const char *, int, mode_t);
    mode_t mode = mode_of(flags, more);

    return fails(CALL_OPEN) ? -1 : real(dir, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    va_list more;

    va_start(more, flags);
    int fd = openat_some(dir, path, flags, more);
    va_end(more);
    return fd;
}

int openat64(int dir, const char *path, int flags, ...)
{
    va_list more;

    va_start(more, flags);
    int fd = openat_some(dir, path, flags, more);
    va_end(more);
    return fd;
}

int __open64_2(const char *path, int flags)
{
    return open_some(path, flags, 0);
}

FILE *fopen64(const char *path, const char *mode)
{
    REAL(FILE *, "fopen64", const char *, const char *);
    return fails(CALL_OPEN) ? NULL : real(path, mode);
}

static void *map_some(void *at, size_t n, int what, int flags, int fd, off_t from)
{
    REAL(void *, "mmap64", void *, size_t, int, int, int, off_t);
    return fails(CALL_MMAP) ? MAP_FAILED : real(at, n, what, flags, fd, from);
}

void *mmap64(void *at, size_t n, int what, int flags, int fd, off_t from)
{
    return map_some(at, n, what, flags, fd, from);
}

void *mmap(void *at, size_t n, int what, int flags, int fd, off_t from)
{
    return map_some(at, n, what, flags, fd, from);
}

int rename(const char *from, const char *to)
{
    REAL(int, "rename", const char *, const char *);
    return fails(CALL_RENAME) ? -1 : real(from, to);
}

int renameat(int at, const char *from, int there, const char *to)
{
    REAL(int, "renameat", int, const char *, int, const char *);
    return fails(CALL_RENAME) ? -1 : real(at, from, there, to);
}

int linkat(int at, const char *from, int there, const char *to, int flags)
{
    REAL(int, "linkat", int, const char *, int, const char *, int);
    return fails(CALL_LINK) ? -1 : real(at, from, there, to, flags);
}

int fsync(int fd)
{
    REAL(int, "fsync", int);
    return fails(CALL_FSYNC) ? -1 : real(fd);
}

int fdatasync(int fd)
{
    REAL(int, "fdatasync", int);
    return fails(CALL_FSYNC) ? -1 : real(fd);
}

int ftruncate64(int fd, off_t size)
{
    REAL(int, "ftruncate64", int, off_t);
    return fails(CALL_FTRUNCATE) ? -1 : real(fd, size);
}

int fstat64(int fd, struct stat64 *st)
{
    REAL(int, "fstat64", int, struct stat64 *);
    return fails(CALL_FSTAT) ? -1 : real(fd, st);
}

int flock(int fd, int how)
{
    REAL(int, "flock", int, int);
    return fails(CALL_FLOCK) ? -1 : real(fd, how);
}

int fflush(FILE *f)
{
    REAL(int, "fflush", FILE *);
    return f != stderr && fails(CALL_FFLUSH) ? EOF : real(f);
}

int fclose(FILE *f)
{
    REAL(int, "fclose", FILE *);
    bool failed = fails(CALL_FCLOSE);
    int status = real(f);

    if (failed)
        errno = with;
    return failed ? EOF : status;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                   void *with_it)
{
    REAL(int, "pthread_create", pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    return fails(CALL_THREAD) ? EAGAIN : real(thread, attr, run, with_it);
}
