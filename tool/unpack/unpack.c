/* unpack.c - see unpack.h.
 *
 * The thread fills a ring of blocks; the reader empties it. A block is handed over when it is full
 * or when no more input has arrived, so data from a pipe is not delayed. The reader waits for a
 * descriptor instead of a condition variable, because signals must wake it too. */
#include "unpack/unpack.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/signals.h"

#define BLOCKS 4 /* half a MiB, which fits into the cache; chosen */

struct unpack {
    struct packed_stream stream; /* used by the thread, if there is one */
    bool threaded;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t freed;
    int came, stop;      /* eventfds: a block is ready; the thread must end */
    bool waiting;        /* the reader waits for `came` */
    bool stopped;        /* `stop` was signaled */
    uint64_t made, read; /* blocks */
    uint8_t *block[BLOCKS];
    size_t size[BLOCKS];
    size_t at;      /* bytes read of the oldest */
    bool done;      /* no further blocks; the reason: */
    ssize_t result; /* UNPACK_END or UNPACK_FAILED */
};

/* ---- the thread ---- */

static void notify(int event)
{
    (void)eventfd_write(event, 1);
}

static void hand_on(struct unpack *u, size_t size, ssize_t result)
{
    pthread_mutex_lock(&u->lock);
    if (size)
        u->size[u->made++ % BLOCKS] = size;
    if (result <= 0 && result != UNPACK_WAIT) {
        u->done = true;
        u->result = result;
    }
    if (u->waiting)
        notify(u->came);
    u->waiting = false;
    pthread_mutex_unlock(&u->lock);
}

/* A block to fill; NULL: the thread must end. */
static uint8_t *free_block(struct unpack *u)
{
    pthread_mutex_lock(&u->lock);
    while (u->made - u->read == BLOCKS && !u->stopped)
        pthread_cond_wait(&u->freed, &u->lock);
    uint8_t *block = u->stopped ? NULL : u->block[u->made % BLOCKS];
    pthread_mutex_unlock(&u->lock);
    return block;
}

static void wait_for_more(const struct unpack *u)
{
    struct pollfd fds[] = {{.fd = u->stream.fd, .events = POLLIN},
                           {.fd = u->stop, .events = POLLIN}};

    (void)poll(fds, 2, -1);
}

static void *work(void *context)
{
    struct unpack *u = context;
    ssize_t n = 1;
    uint8_t *block;

    while ((n > 0 || n == UNPACK_WAIT) && (block = free_block(u))) {
        size_t filled = 0;

        while (filled < UNPACK_BLOCK &&
               (n = packed_read(&u->stream, block + filled, UNPACK_BLOCK - filled)) > 0)
            filled += (size_t)n;
        if (filled || n != UNPACK_WAIT)
            hand_on(u, filled, n);
        else
            wait_for_more(u);
    }
    return NULL;
}

/* ---- opening and closing ---- */

static bool is_processor_free(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 1;
}

static void free_ring(struct unpack *u)
{
    for (int i = 0; i < BLOCKS; i++)
        free(u->block[i]);
    if (u->came >= 0)
        close(u->came);
    if (u->stop >= 0)
        close(u->stop);
}

static bool start_thread(struct unpack *u)
{
    bool ok = true;

    u->came = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    u->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    for (int i = 0; i < BLOCKS; i++)
        ok &= (u->block[i] = malloc(UNPACK_BLOCK)) != NULL;
    ok = ok && u->came >= 0 && u->stop >= 0 && pthread_mutex_init(&u->lock, NULL) == 0 &&
         pthread_cond_init(&u->freed, NULL) == 0 && pthread_create(&u->thread, NULL, work, u) == 0;
    if (!ok)
        free_ring(u);
    return ok;
}

struct unpack *unpack_open(int fd, bool waits, enum file_kind kind, const void *head, size_t size,
                           bool thread)
{
    struct unpack *u = calloc(1, sizeof *u);

    if (!u || !packed_open(&u->stream, fd, waits, kind, head, size)) {
        free(u);
        return NULL;
    }
    u->threaded = thread && is_processor_free() && start_thread(u);
    return u;
}

static void end_thread(struct unpack *u)
{
    pthread_mutex_lock(&u->lock);
    u->stopped = true;
    pthread_cond_signal(&u->freed);
    pthread_mutex_unlock(&u->lock);
    notify(u->stop);
    pthread_join(u->thread, NULL);
    pthread_mutex_destroy(&u->lock);
    pthread_cond_destroy(&u->freed);
    free_ring(u);
}

void unpack_close(struct unpack *u)
{
    if (!u)
        return;
    if (u->threaded)
        end_thread(u);
    packed_close(&u->stream);
    free(u);
}

/* ---- reading ---- */

/* 1 if a block is ready; else the result, or UNPACK_WAIT. */
static ssize_t look_for_block(struct unpack *u)
{
    eventfd_t count;
    ssize_t n = 1;

    pthread_mutex_lock(&u->lock);
    if (u->made == u->read)
        n = u->done ? u->result : UNPACK_WAIT;
    if (n == UNPACK_WAIT) {
        (void)eventfd_read(u->came, &count);
        u->waiting = true;
    }
    pthread_mutex_unlock(&u->lock);
    return n;
}

static void give_back(struct unpack *u)
{
    pthread_mutex_lock(&u->lock);
    u->at = 0;
    u->read++;
    pthread_cond_signal(&u->freed);
    pthread_mutex_unlock(&u->lock);
}

ssize_t unpack_read(struct unpack *u, void *to, size_t most)
{
    if (!u->threaded)
        return packed_read(&u->stream, to, most);
    ssize_t n = look_for_block(u);
    if (n <= 0)
        return n;
    uint64_t oldest = u->read % BLOCKS;
    size_t left = u->size[oldest] - u->at, some = left < most ? left : most;
    memcpy(to, u->block[oldest] + u->at, some);
    u->at += some;
    if (some == left)
        give_back(u);
    return (ssize_t)some;
}

int unpack_waits_for(const struct unpack *u)
{
    return u->threaded ? u->came : u->stream.fd;
}

const char *unpack_failure(const struct unpack *u)
{
    return u->stream.failure;
}

int unpack_error(const struct unpack *u)
{
    return u->stream.error;
}

/* ---- whole files ---- */

bool unpacked_open(struct unpacked_file *f, int fd, bool plain)
{
    enum file_kind kind = KIND_RECORDS;

    *f = (struct unpacked_file){.fd = fd};
    if (!plain && !magic_of_file(fd, &kind)) {
        snprintf(f->failure, sizeof f->failure, "cannot be read: %s", strerror(errno));
        return false;
    }
    if (!magic_is_packed(kind))
        return true;
    f->unpack = unpack_open(fd, false, kind, NULL, 0, false);
    if (!f->unpack)
        snprintf(f->failure, sizeof f->failure, "cannot be read: out of memory");
    return f->unpack;
}

void unpacked_close(struct unpacked_file *f)
{
    unpack_close(f->unpack);
    f->unpack = NULL;
}

static ssize_t read_plain(struct unpacked_file *f, void *to, size_t most)
{
    ssize_t n;

    do
        n = read(f->fd, to, most);
    while (n < 0 && errno == EINTR && !signals_caught());
    if (n < 0)
        snprintf(f->failure, sizeof f->failure, "cannot be read: %s", strerror(errno));
    return n;
}

ssize_t unpacked_read(struct unpacked_file *f, void *to, size_t most)
{
    if (signals_caught())
        return 0;
    if (!f->unpack)
        return read_plain(f, to, most);
    ssize_t n = unpack_read(f->unpack, to, most);
    if (n == UNPACK_FAILED)
        snprintf(f->failure, sizeof f->failure, "%s", unpack_failure(f->unpack));
    return n;
}
