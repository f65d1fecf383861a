/* signals.c - see signals.h. A self-pipe ends a wait for input in any thread. */
#include "cli/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/messages.h"

static int wake[2] = {-1, -1};
static volatile sig_atomic_t caught, reopen;
static void (*at_end)(void);

static void take(int signal)
{
    int saved = errno;

    caught = signal;
    (void)!write(wake[1], "", 1);
    errno = saved;
}

static void take_reopen(int signal)
{
    (void)signal;
    reopen = 1;
}

static bool watch(int signal, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags | SA_RESTART};

    sigemptyset(&action.sa_mask);
    return sigaction(signal, &action, NULL) == 0;
}

/* nohup ignores SIGHUP. A shell and the kernel both send it when a terminal closes, so a second one
 * must not kill the run while it saves its state. */
static bool watch_hangup(void)
{
    struct sigaction before;

    return sigaction(SIGHUP, NULL, &before) == 0 &&
           (before.sa_handler == SIG_IGN || watch(SIGHUP, take, 0));
}

bool signals_watch(void)
{
    if (wake[0] >= 0)
        return true;
    return (pipe2(wake, O_CLOEXEC | O_NONBLOCK) == 0 && watch(SIGINT, take, (int)SA_RESETHAND) &&
            watch(SIGTERM, take, (int)SA_RESETHAND) && watch_hangup() &&
            watch(SIGUSR1, take_reopen, 0)) ||
           reject("not enough memory or file descriptors");
}

int signals_caught(void)
{
    return caught;
}

bool signals_reopen(void)
{
    return reopen;
}

void signals_reopened(void)
{
    reopen = 0;
}

enum waited signals_wait(int fd, int milliseconds)
{
    struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.fd = wake[0], .events = POLLIN}};
    int n = poll(fds, 2, milliseconds);

    if (caught)
        return WAIT_SIGNAL;
    return n > 0 ? WAIT_READY : WAIT_TIMEOUT;
}

void signals_at_end(void (*tidy)(void))
{
    if (!at_end)
        atexit(tidy);
    at_end = tidy;
}

void signals_obey(int number)
{
    if (at_end)
        at_end(); /* nothing runs after this */
    signal(number, SIG_DFL);
    raise(number);
}
