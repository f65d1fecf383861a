/* server.c - a filter for many programs: a server on the loopback interface that answers each
 * line with "new" or "seen". Eight threads, with one client each, share one filter.
 *
 *     cc server.c $(pkg-config --cflags --libs weir) -pthread -o server
 *     ./server 7777 &
 *     printf 'a\nb\na\n' | nc -N 127.0.0.1 7777
 *
 * A batch is what one read() brings: a client that waits for each answer is served line by line,
 * one that sends a file is served in thousands. SIGTERM and SIGINT end it. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <weir/shared.h>

#define THREADS 8
#define SHARDS 32   /* more shards than threads, so that two threads rarely need the same one */
#define BLOCK 65536 /* bytes of a batch; the longest line */
#define LINES 4096  /* of a batch */

struct worker {
    weir_shared *filter;
    int listener;
    pthread_t thread;
    pthread_mutex_t lock; /* of client: main() may disconnect it */
    int client;           /* or -1 */

    char text[BLOCK];
    struct weir_bytes line[LINES];
    struct weir_key key[LINES];
    uint8_t verdict[LINES];
    char answer[5 * LINES + 1]; /* "seen\n" for each line, and the terminating NUL */
};

static atomic_bool ending;

/* Find the complete lines in the text; returns their length in bytes. */
static size_t cut(struct worker *w, size_t size, size_t *lines)
{
    size_t begin = 0;
    char *end;

    for (*lines = 0; *lines < LINES; ++*lines) {
        end = memchr(w->text + begin, '\n', size - begin);
        if (!end)
            break;
        w->line[*lines] = (struct weir_bytes){w->text + begin, (size_t)(end - w->text) - begin};
        begin = (size_t)(end - w->text) + 1;
    }
    return begin;
}

static bool send_all(int client, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(client, data, size, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        data += sent;
        size -= (size_t)sent;
    }
    return true;
}

static bool answer(struct worker *w, int client, size_t lines)
{
    char *at = w->answer;

    weir_shared_hash_many(w->filter, w->line, lines, w->key);
    weir_shared_observe_many(w->filter, w->key, lines, w->verdict);
    for (size_t i = 0; i < lines; i++)
        at = stpcpy(at, w->verdict[i] == WEIR_NEW ? "new\n" : "seen\n");
    return send_all(client, w->answer, (size_t)(at - w->answer));
}

static void serve(struct worker *w, int client)
{
    size_t used = 0, lines;
    ssize_t got;

    while (used < BLOCK && (got = read(client, w->text + used, BLOCK - used)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return;
        used += (size_t)got;
        do {
            size_t taken = cut(w, used, &lines);

            if (!answer(w, client, lines))
                return;
            memmove(w->text, w->text + taken, used - taken);
            used -= taken;
        } while (lines == LINES);
    }
}

/* Waits for the thread's next client; false if the server stops. */
static bool set_client(struct worker *w, int client)
{
    pthread_mutex_lock(&w->lock);
    if (client < 0)
        close(w->client);
    w->client = client;
    pthread_mutex_unlock(&w->lock);
    return !ending;
}

static void hang_up(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    if (w->client >= 0)
        shutdown(w->client, SHUT_RDWR);
    pthread_mutex_unlock(&w->lock);
}

static void *work(void *context)
{
    struct worker *w = context;

    while (!ending) {
        int client = accept(w->listener, NULL, NULL);

        if (client < 0)
            continue; /* the client has disconnected, or the server stops */
        if (set_client(w, client))
            serve(w, client);
        set_client(w, -1);
    }
    return NULL;
}

static int listen_on(const char *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(port)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;

    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (listener < 0 || bind(listener, (struct sockaddr *)&at, size) != 0 ||
        listen(listener, 64) != 0 || getsockname(listener, (struct sockaddr *)&at, &size) != 0) {
        perror("server: cannot listen");
        exit(2);
    }
    printf("listening on 127.0.0.1:%d\n", ntohs(at.sin_port));
    fflush(stdout);
    return listener;
}

static void start(struct worker *w, weir_shared *filter, int listener)
{
    w->filter = filter;
    w->listener = listener;
    w->client = -1;
    pthread_mutex_init(&w->lock, NULL);
    if (pthread_create(&w->thread, NULL, work, w) != 0) {
        fprintf(stderr, "server: cannot start a thread\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    static struct worker worker[THREADS];
    const char *spec = argc > 2 ? argv[2] : "recent memory=64M fpr=0.1%";
    struct weir_error error;
    struct weir_stats stats;
    weir_shared *filter;
    sigset_t signals;
    int caught, listener;

    if (weir_shared_open(&filter, spec, SHARDS, NULL, &error) != WEIR_OK) {
        fprintf(stderr, "server: %s\n", error.text);
        return 2;
    }
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    listener = listen_on(argc > 1 ? argv[1] : "7777");
    for (int i = 0; i < THREADS; i++)
        start(&worker[i], filter, listener);
    sigwait(&signals, &caught);
    ending = true;
    shutdown(listener, SHUT_RDWR);
    for (int i = 0; i < THREADS; i++) {
        hang_up(&worker[i]);
        pthread_join(worker[i].thread, NULL);
    }
    weir_shared_measure(filter, &stats, sizeof stats);
    printf("%llu lines, %llu new\n", (unsigned long long)stats.observed,
           (unsigned long long)stats.new_keys);
    weir_shared_close(filter);
    close(listener);
    return 0;
}
