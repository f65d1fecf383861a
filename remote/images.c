/* images.c - shards as files of weir, from servers and to them: WEIR.SAVE and WEIR.LOAD. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

#define SAVED_AT_ONCE                                                                              \
    "268435456" /* bytes: the most that WEIR.SAVE takes. A key that changes                        \
                 * between two chunks cannot be saved */
#define LOADED_AT_ONCE ((size_t)16 << 20) /* bytes */

static bool is_chunk(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
           reply->element[0]->type == REDIS_REPLY_STRING &&
           reply->element[1]->type == REDIS_REPLY_STRING && reply->element[0]->len < 64;
}

static bool fail(struct remote *r, const char *why)
{
    pthread_mutex_lock(&r->lock);
    remote_give_up(r, "%s", why);
    pthread_mutex_unlock(&r->lock);
    return false;
}

/* Add a chunk, and set the cursor of the next. */
static bool take_chunk(struct remote *r, const redisReply *reply, struct remote_kept *image,
                       char cursor[64])
{
    const redisReply *chunk = is_chunk(reply) ? reply->element[1] : NULL;
    uint8_t *more;

    if (!chunk)
        return fail(r, "what WEIR.SAVE answered is no chunk of a filter");
    more = realloc(image->data, image->size + (size_t)chunk->len + 1);
    if (!more)
        return fail(r, "memory is short");
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

        good = call_begin(r, &c, 1 + shard, 5, words, NULL) && call_finish(r, &c) &&
               take_chunk(r, c.command.reply, image, cursor);
        call_free(&c);
    } while (good && strcmp(cursor, "0") != 0);
    return good;
}

bool remote_bring(struct remote *r, uint32_t shard, const uint8_t *data, size_t size)
{
    bool good = true;

    for (size_t at = 0, n; at < size && good; at += n) {
        char cursor[32] = "0";
        struct call c = {0};

        n = size - at < LOADED_AT_ONCE ? size - at : LOADED_AT_ONCE;
        if (at + n < size)
            snprintf(cursor, sizeof cursor, "%zu", at + n);
        const char *words[] = {"WEIR.LOAD", r->lane[1 + shard].key, cursor,
                               (const char *)data + at};
        size_t sizes[] = {strlen(words[0]), strlen(words[1]), strlen(words[2]), n};
        good = call_begin(r, &c, 1 + shard, 4, words, sizes) && call_finish(r, &c);
        call_free(&c);
    }
    return good;
}

void remote_expect(struct remote *r, uint32_t shards)
{
    pthread_mutex_lock(&r->lock);
    r->lanes = 1 + shards;
    pthread_mutex_unlock(&r->lock);
}
