/* replies.c - see replies.h. The protocol is read by hiredis, with functions of ours that make its
 * objects. */
#include "replies.h"

#include <string.h>

#define ELEMENTS_MOST (1 << 20)
#define NESTED_MOST 4                  /* arrays in arrays: CLUSTER SLOTS has three */
#define BYTES_MOST ((size_t)300 << 20) /* a chunk of WEIR.SAVE has up to 256 MiB */

static redisReplyObjectFunctions usual; /* of hiredis */
static char verdict;                    /* stands for an object that nobody needs */

static struct reply_wish *wish_of(const redisReadTask *task)
{
    return task->privdata;
}

/* In an array of verdicts there is nothing but numbers. */
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

/* Newer readers nest as deep as they are told, and free what they have by recursion. */
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
    if (!usual.createString) { /* one thread has all readers */
        usual = *r->reader->fn;
        ours = usual;
        ours.createString = make_string;
        ours.createArray = make_array;
        ours.createInteger = make_integer;
        ours.createNil = make_nil;
        ours.freeObject = free_object;
    }
    r->reader->fn = &ours;
    r->reader->maxbuf = 0; /* it is used again */
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
