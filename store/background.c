/* background.c - a blocking call on its own thread: see backend.h. The thread and the waiting
 * caller share the work; the last one to release it frees it. */
#include "backend.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct background {
    void *(*act)(const char *text);
    void (*discard)(void *result);
    char *text;
    void *result;
    int done; /* an eventfd */
    atomic_int holders;
};

static void let_go(struct background *b)
{
    if (atomic_fetch_sub(&b->holders, 1) > 1)
        return;
    if (b->result)
        b->discard(b->result);
    if (b->done >= 0)
        close(b->done);
    if (b->text)
        explicit_bzero(b->text, strlen(b->text)); /* it may contain a password */
    free(b->text);
    free(b);
}

static void *work(void *context)
{
    struct background *b = context;

    b->result = b->act(b->text);
    (void)eventfd_write(b->done, 1);
    let_go(b);
    return NULL;
}

/* The thread blocks all signals. If no thread can be created, the caller does the work. */
static void run(struct background *b)
{
    sigset_t all, before;
    pthread_t thread;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&thread, NULL, work, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        work(b);
    else
        pthread_detach(thread);
}

struct background *background_start(void *(*act)(const char *text), void (*discard)(void *result),
                                    const char *text)
{
    struct background *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    *b = (struct background){.act = act, .discard = discard, .text = strdup(text)};
    b->done = eventfd(0, EFD_CLOEXEC);
    atomic_init(&b->holders, 1);
    if (!b->text || b->done < 0) {
        let_go(b);
        return NULL;
    }
    atomic_store(&b->holders, 2);
    run(b);
    return b;
}

bool background_wait(struct store *store, struct background **work, void **result)
{
    struct background *b = *work;
    eventfd_t one;

    if (!store_wait(store, b->done, POLLIN))
        return false;
    (void)eventfd_read(b->done, &one);
    *result = b->result;
    b->result = NULL;
    *work = NULL;
    let_go(b);
    return true;
}

void background_abandon(struct background **work)
{
    if (*work)
        let_go(*work);
    *work = NULL;
}
