/* connection.c - see connection.h. */
#include "connection.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- a connection ---- */

static bool fail(struct connection *c, const char *why)
{
    snprintf(c->wire.why, sizeof c->wire.why, "%s", why);
    return false;
}

static bool begin(struct connection *c, const struct place *p, unsigned attempt)
{
    const char *why = "";
    struct addrinfo *all, *one;
    unsigned n = 0;

    if (p->port == 0)
        return wire_connect_path(&c->wire, p->host);
    all = one = wire_look_up(p->host, p->port, &why);
    if (!all)
        return fail(c, why);
    for (const struct addrinfo *a = all; a; a = a->ai_next)
        n++;
    for (attempt %= n; attempt > 0; attempt--)
        one = one->ai_next;
    bool begun = wire_connect(&c->wire, one, p->tls, p->host);
    freeaddrinfo(all);
    return begun;
}

bool connection_begin(struct connection *c, const struct place *p, unsigned attempt)
{
    *c = (struct connection){.wire.fd = -1};
    if (begin(c, p, attempt) && (reply_open(&c->replies) || fail(c, strerror(ENOMEM))))
        return true;
    connection_close(c);
    return false;
}

void connection_close(struct connection *c)
{
    wire_close(&c->wire);
    reply_close(&c->replies);
}

bool connection_receive(struct connection *c, size_t *came)
{
    char bytes[WIRE_READ];

    return wire_receive(&c->wire, bytes, came) &&
           (reply_feed(&c->replies, bytes, *came) || fail(c, "reply too long"));
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

static void set_functions(void)
{
    redisReader *reader = redisReaderCreate();

    if (!reader)
        return;
    usual = *reader->fn;
    ours = usual;
    ours.createString = make_string;
    ours.createArray = make_array;
    ours.createInteger = make_integer;
    ours.createNil = make_nil;
    ours.freeObject = free_object;
    redisReaderFree(reader);
}

bool reply_open(struct reply_reader *r)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, set_functions);
    *r = (struct reply_reader){.reader = ours.createString ? redisReaderCreate() : NULL};
    if (!r->reader)
        return false;
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
