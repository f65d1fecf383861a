/* delay.c - measure the latency of a co-process: delay LINES RATE COMMAND...
 *
 * Runs the command with a pipe to its standard input and one from its standard output. Writes LINES
 * lines, RATE per second, and records when each answer line arrives.
 *
 * Prints lines, median, 99th percentile and maximum of the latency in microseconds, separated by
 * tabs, and last the maximum of the first tenth. The first tenth counts for nothing else, because
 * the command's memory is mapped then. One loop writes and reads, so that no second thread disturbs
 * the measurement. The row of `cat` shows the loop's own cost. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct session {
    int to, from;
    uint64_t lines, written, answered;
    uint64_t gap;   /* nanoseconds between two lines */
    uint64_t *sent; /* time when each line was written, then its latency */
};

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void stop(const char *why)
{
    perror(why);
    exit(1);
}

static pid_t start(struct session *s, char **command)
{
    int in[2], out[2];
    pid_t child;

    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || (child = fork()) < 0)
        stop("delay");
    if (child == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        execvp(command[0], command);
        stop(command[0]);
    }
    close(in[0]);
    close(out[1]);
    s->to = in[1];
    s->from = out[0];
    return child;
}

/* 40 % of the keys are repeats. */
static void write_line(struct session *s)
{
    char line[32];
    int n = snprintf(line, sizeof line, "key-%012llu\n",
                     (unsigned long long)(s->written * 2654435761u % (s->lines * 6 / 10 + 1)));

    s->sent[s->written++] = now();
    if (write(s->to, line, (size_t)n) != n)
        stop("delay: the command takes no more");
}

static void read_answers(struct session *s)
{
    char answers[65536];
    ssize_t n = read(s->from, answers, sizeof answers);
    uint64_t at = now();

    if (n <= 0)
        stop("delay: the command ended");
    for (ssize_t i = 0; i < n; i++)
        if (answers[i] == '\n' && s->answered < s->written) {
            s->sent[s->answered] = at - s->sent[s->answered];
            s->answered++;
        }
}

/* Wait for answers, or until a line is due. A line is written only if that does not block, because
 * the command may wait until its output is read. Returns false after ten seconds without an event.
 */
static bool step(struct session *s, uint64_t due)
{
    uint64_t at = now();
    bool write_now = s->written < s->lines && at >= due;
    struct timespec wait = {.tv_sec = 10};
    struct pollfd ends[2] = {{.fd = s->from, .events = POLLIN},
                             {.fd = write_now ? s->to : -1, .events = POLLOUT}};

    if (s->written < s->lines && !write_now && due != UINT64_MAX)
        wait = (struct timespec){.tv_nsec = (long)(due - at)};
    int ready = ppoll(ends, 2, &wait, NULL);
    if (ends[0].revents)
        read_answers(s);
    if (write_now && ends[1].revents)
        write_line(s);
    return ready > 0 || wait.tv_sec == 0;
}

/* The clock starts when the first answer has arrived, after the command's start. */
static void converse(struct session *s)
{
    bool ok = true;

    write_line(s);
    while (ok && s->answered == 0)
        ok = step(s, UINT64_MAX);
    for (uint64_t start = now(); ok && s->answered < s->lines;)
        ok = step(s, start + (s->written - 1) * s->gap);
    if (!ok) {
        errno = ETIMEDOUT;
        stop("delay: no answer in ten seconds");
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static double at_share(const uint64_t *sorted, uint64_t n, double share)
{
    return (double)sorted[(uint64_t)((double)(n - 1) * share)] / 1000;
}

static void report(struct session *s)
{
    uint64_t early = s->lines / 10, n = s->lines - early, *later = s->sent + early;

    qsort(s->sent, early, sizeof *s->sent, by_value);
    qsort(later, n, sizeof *later, by_value);
    printf("%llu\t%.1f\t%.1f\t%.1f\t%.1f\n", (unsigned long long)s->lines, at_share(later, n, 0.5),
           at_share(later, n, 0.99), at_share(later, n, 1),
           early ? at_share(s->sent, early, 1) : 0);
}

int main(int argc, char **argv)
{
    struct session s = {.lines = argc > 3 ? strtoull(argv[1], NULL, 10) : 0};
    uint64_t rate = argc > 3 ? strtoull(argv[2], NULL, 10) : 0;

    if (s.lines == 0 || rate == 0 || !(s.sent = calloc(s.lines, sizeof *s.sent))) {
        fprintf(stderr, "usage: delay LINES RATE COMMAND...\n");
        return 2;
    }
    s.gap = 1000000000u / rate;
    pid_t child = start(&s, argv + 3);
    converse(&s);
    close(s.to);
    waitpid(child, NULL, 0);
    report(&s);
    free(s.sent);
    return 0;
}
