/* signals.c - a pipe to oneself, so that a wait for input ends in whichever
 * thread it happens to be. */
#include "cli/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int wake[2] = {-1, -1};
static volatile sig_atomic_t caught;
static void (*at_end)(void);

static void take(int signal)
{
    int saved = errno;

    caught = signal;
    (void)!write(wake[1], "", 1);
    errno = saved;
}

bool signals_watch(void)
{
    struct sigaction action = {.sa_handler = take, .sa_flags = (int)SA_RESETHAND | SA_RESTART};

    if (wake[0] >= 0)
        return true;
    sigemptyset(&action.sa_mask);
    return pipe2(wake, O_CLOEXEC | O_NONBLOCK) == 0 && sigaction(SIGINT, &action, NULL) == 0 &&
           sigaction(SIGTERM, &action, NULL) == 0;
}

int signals_caught(void)
{
    return caught;
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
