/* images.c - copy shards from and to servers as weir files: WEIR.SAVE and WEIR.LOAD. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

#define SAVED_AT_ONCE                                                                              \
    "268435456" /* bytes: the most that WEIR.SAVE takes. A key that changes                        \
                 * between two chunks cannot be saved */
#define LOADED_AT_ONCE ((size_t)16 << 20) /* bytes */
#define BROUGHT_MOST 10                   /* attempts per shard; chosen */

static bool is_chunk(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
           reply->element[0]->type == REDIS_REPLY_STRING &&
           reply->element[1]->type == REDIS_REPLY_STRING && reply->element[0]->len < 64;
}

/* Append a chunk, and set the cursor of the next one. */
static bool take_chunk(struct remote *r, const redisReply *reply, struct remote_kept *image,
                       char cursor[64])
{
    const redisReply *chunk = is_chunk(reply) ? reply->element[1] : NULL;
    uint8_t *more;

    if (!chunk)
        return remote_fail(r, "invalid reply to WEIR.SAVE");
    more = realloc(image->data, image->size + (size_t)chunk->len + 1);
    if (!more)
        return remote_fail(r, "out of memory");
    image->data = more;
    memcpy(image->data + image->size, chunk->str, (size_t)chunk->len);
    image->size += (size_t)chunk->len;
    snprintf(cursor, 64, "%s", reply->element[0]->str);
    return true;
}

bool remote_fetch(struct remote *r, uint32_t shard, struct remote_kept *image)
{
    char cursor[64] = "0";
    bool good;

    image->size = 0;
    do {
        const char *words[] = {"WEIR.SAVE", r->lane[1 + shard].key, cursor, "CHUNK", SAVED_AT_ONCE};
        struct call c = {0};

        good = call_begin(r, &c, 1 + shard, 5, words, NULL, false) && call_finish(r, &c) &&
               take_chunk(r, c.command.reply, image, cursor);
        call_free(&c);
    } while (good && strcmp(cursor, "0") != 0);
    return good;
}

/* ---- to servers ---- */

/* A chunk or a shard. AGAIN: the transfer was interrupted. FAILED: the client failed. */
enum brought { BROUGHT, AGAIN, FAILED };

static enum brought bring_chunk(struct remote *r, uint32_t shard, const uint8_t *data, size_t size,
                                const char *cursor)
{
    const char *words[] = {"WEIR.LOAD", r->lane[1 + shard].key, cursor, (const char *)data};
    size_t sizes[] = {strlen(words[0]), strlen(words[1]), strlen(words[2]), size};
    enum brought came = FAILED;
    struct call c = {0};

    *r->refusal = '\0'; /* nothing is under way */
    if (!call_begin(r, &c, 1 + shard, 4, words, sizes, true))
        remote_fail(r, "out of memory");
    else if (call_finish(r, &c))
        came = BROUGHT;
    else if (c.command.restart)
        came = AGAIN;
    else
        remote_fail(r, "%s", r->refusal);
    call_free(&c);
    return came;
}

static enum brought bring_chunks(struct remote *r, uint32_t shard, const uint8_t *data, size_t size)
{
    enum brought came = BROUGHT;

    for (size_t at = 0, n; at < size && came == BROUGHT; at += n) {
        char cursor[32] = "0";

        n = size - at < LOADED_AT_ONCE ? size - at : LOADED_AT_ONCE;
        if (at + n < size)
            snprintf(cursor, sizeof cursor, "%zu", at + n);
        came = bring_chunk(r, shard, data + at, n, cursor);
    }
    return came;
}

/* One call on a shard, whose reply is a number. False if the client failed. */
static bool call_number(struct remote *r, uint32_t shard, const char *name, long long *number)
{
    const char *words[] = {name, r->lane[1 + shard].key};
    struct call c = {0};
    const redisReply *reply =
        call_begin(r, &c, 1 + shard, 2, words, NULL, false) ? call_finish(r, &c) : NULL;

    *number = reply && reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;
    call_free(&c);
    return reply || remote_fail(r, "out of memory");
}

static bool is_free(struct remote *r, uint32_t shard)
{
    long long there;

    if (!call_number(r, shard, "EXISTS", &there))
        return false;
    if (there == 0)
        return true;
    return remote_fail(r,
                       "key %.300s exists, but belongs to no filter; delete it or use another name",
                       r->lane[1 + shard].key);
}

/* Chunks have no numbers: if the reply to one was lost, it may be refused when it is sent again,
 * and the transfer begins again. */
bool remote_bring(struct remote *r, uint32_t shard, const uint8_t *data, size_t size)
{
    enum brought came = AGAIN;
    long long removed;

    if (!is_free(r, shard))
        return false;
    for (int i = 0; i < BROUGHT_MOST && came == AGAIN; i++) {
        if (i > 0 && !call_number(r, shard, "DEL", &removed))
            return false;
        came = bring_chunks(r, shard, data, size);
    }
    return came == BROUGHT ||
           remote_fail(r, "the connection was lost in every attempt to load a shard");
}

void remote_expect(struct remote *r, uint32_t shards)
{
    pthread_mutex_lock(&r->lock);
    r->lanes = 1 + shards;
    pthread_mutex_unlock(&r->lock);
}
