/* connection.c - see connection.h. */
#include "connection.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_AT_ONCE (64 << 10) /* bytes */
#define OUT_KEPT (4 << 20)      /* bytes; a larger buffer is freed when it is empty */

static bool fail(const char **why, int error)
{
    *why = strerror(error);
    return false;
}

/* ---- connecting ---- */

static struct addrinfo *look_up(const char *host, int port, const char **why)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found;
    char service[16];
    int error;

    snprintf(service, sizeof service, "%d", port);
    error = getaddrinfo(host, service, &hints, &found);
    if (error)
        *why = error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error);
    return error ? NULL : found;
}

static bool begin_at(struct connection *c, const struct addrinfo *a, const char **why)
{
    int one = 1;

    c->fd = socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
    if (c->fd < 0)
        return fail(why, errno);
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    c->connecting = true;
    if (connect(c->fd, a->ai_addr, a->ai_addrlen) == 0 || errno == EINPROGRESS || errno == EINTR)
        return true;
    return fail(why, errno);
}

bool connection_begin(struct connection *c, const char *host, int port, unsigned attempt,
                      const char **why)
{
    struct addrinfo *all = look_up(host, port, why), *one = all;
    unsigned n = 0;

    *c = (struct connection){.fd = -1};
    if (!all)
        return false;
    for (const struct addrinfo *a = all; a; a = a->ai_next)
        n++;
    for (attempt %= n; attempt > 0; attempt--)
        one = one->ai_next;
    bool begun = begin_at(c, one, why);
    freeaddrinfo(all);
    if (begun && !reply_open(&c->replies))
        begun = fail(why, ENOMEM);
    if (!begun)
        connection_close(c);
    return begun;
}

void connection_close(struct connection *c)
{
    if (c->fd >= 0)
        close(c->fd);
    if (c->out)
        explicit_bzero(c->out, c->room); /* may contain a password */
    free(c->out);
    reply_close(&c->replies);
    *c = (struct connection){.fd = -1};
}

bool connection_settle(struct connection *c, const char **why)
{
    int error = 0;
    socklen_t size = sizeof error;

    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    if (error)
        return fail(why, error);
    c->connecting = false;
    return true;
}

/* ---- bytes ---- */

size_t connection_unsent(const struct connection *c)
{
    return c->size - c->sent;
}

static void move_to_front(struct connection *c)
{
    memmove(c->out, c->out + c->sent, c->size - c->sent);
    c->size -= c->sent;
    c->sent = 0;
}

bool connection_put(struct connection *c, const char *bytes, size_t size)
{
    if (c->sent > 0 && c->size + size > c->room)
        move_to_front(c);
    if (c->size + size > c->room) {
        size_t room = 2 * (c->size + size);
        char *more = realloc(c->out, room);

        if (!more)
            return false;
        c->out = more;
        c->room = room;
    }
    memcpy(c->out + c->size, bytes, size);
    c->size += size;
    return true;
}

bool connection_send(struct connection *c, const char **why)
{
    while (c->sent < c->size) {
        ssize_t n = send(c->fd, c->out + c->sent, c->size - c->sent, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK || fail(why, errno);
        c->sent += (size_t)n;
    }
    c->size = c->sent = 0;
    if (c->room > OUT_KEPT) {
        free(c->out);
        c->out = NULL;
        c->room = 0;
    }
    return true;
}

bool connection_receive(struct connection *c, size_t *came, const char **why)
{
    char bytes[READ_AT_ONCE];
    ssize_t n;

    *came = 0;
    do
        n = recv(c->fd, bytes, sizeof bytes, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK || fail(why, errno);
    *why = "connection closed";
    if (n == 0)
        return false;
    *came = (size_t)n;
    *why = "reply too long";
    return reply_feed(&c->replies, bytes, (size_t)n);
}

/* ---- replies: hiredis parses them, and calls these functions to create the objects ---- */

#define ELEMENTS_MOST (1 << 20)
#define NESTED_MOST 4                  /* arrays in arrays: CLUSTER SLOTS has three */
#define BYTES_MOST ((size_t)300 << 20) /* a chunk of WEIR.SAVE has up to 256 MiB */

static redisReplyObjectFunctions usual; /* of hiredis */
static char verdict;                    /* placeholder for objects that are not created */

static struct reply_wish *wish_of(const redisReadTask *task)
{
    return task->privdata;
}

/* An element that is not a verdict. */
static void *refuse(struct reply_wish *w)
{
    w->wrong = true;
    return &verdict;
}

static void *make_string(const redisReadTask *task, char *text, size_t size)
{
    struct reply_wish *w = wish_of(task);

    return w->taking ? refuse(w) : usual.createString(task, text, size);
}

/* Newer versions of hiredis have no limit on nesting, and free recursively. */
static bool is_too_deep(const redisReadTask *task)
{
    int n = 0;

    for (const redisReadTask *t = task->parent; t; t = t->parent)
        n++;
    return n > NESTED_MOST;
}

#if HIREDIS_MAJOR < 1
static void *make_array(const redisReadTask *task, int elements)
#else
static void *make_array(const redisReadTask *task, size_t elements)
#endif
{
    struct reply_wish *w = wish_of(task);

    if (w->taking)
        return refuse(w);
    if (elements > ELEMENTS_MOST || is_too_deep(task))
        return NULL;
    if (!w->verdicts || task->parent)
        return usual.createArray(task, elements);
    w->taking = true;
    w->wrong = (uint64_t)elements != w->n;
    return &verdict;
}

static void *make_integer(const redisReadTask *task, long long value)
{
    struct reply_wish *w = wish_of(task);

    if (!w->taking)
        return usual.createInteger(task, value);
    if (value < 0 || value > 1)
        return refuse(w);
    if (!w->wrong)
        w->verdicts[task->idx] = (uint8_t)value;
    return &verdict;
}

static void *make_nil(const redisReadTask *task)
{
    struct reply_wish *w = wish_of(task);

    return w->taking ? refuse(w) : usual.createNil(task);
}

static void free_object(void *object)
{
    if (object != &verdict)
        usual.freeObject(object);
}

static redisReplyObjectFunctions ours;

bool reply_open(struct reply_reader *r)
{
    *r = (struct reply_reader){.reader = redisReaderCreate()};
    if (!r->reader)
        return false;
    if (!usual.createString) { /* all readers belong to one thread */
        usual = *r->reader->fn;
        ours = usual;
        ours.createString = make_string;
        ours.createArray = make_array;
        ours.createInteger = make_integer;
        ours.createNil = make_nil;
        ours.freeObject = free_object;
    }
    r->reader->fn = &ours;
    r->reader->maxbuf = 0; /* keep the buffer */
    return true;
}

void reply_close(struct reply_reader *r)
{
    if (r->reader) {
        r->reader->privdata = &r->wish;
        redisReaderFree(r->reader);
    }
    r->reader = NULL;
}

bool reply_feed(struct reply_reader *r, const char *bytes, size_t size)
{
    r->came += size;
    return r->came <= BYTES_MOST && redisReaderFeed(r->reader, bytes, size) == REDIS_OK;
}

enum reply_kind reply_next(struct reply_reader *r, redisReply **object)
{
    void *whole = NULL;

    *object = NULL;
    r->reader->privdata = &r->wish;
    if (redisReaderGetReply(r->reader, &whole) != REDIS_OK)
        return REPLY_GARBAGE;
    if (!whole)
        return REPLY_NONE;
    r->came = r->reader->len - r->reader->pos;
    if (whole == &verdict)
        return r->wish.wrong ? REPLY_GARBAGE : REPLY_VERDICTS;
    *object = whole;
    return REPLY_OBJECT;
}
