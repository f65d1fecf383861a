/* redis.h - a connection to Redis or Valkey that never waits longer than its attempt
 * may take, nor reads more than an answer can be. */
#ifndef WEIR_STORE_REDIS_H
#define WEIR_STORE_REDIS_H

#include <hiredis/hiredis.h>

#include "background.h"

/* Bytes of one reply, guessed: four times what an answer is, some hundred times a list's. */
#define ANSWER_MOST (1 << 20)
#define LIST_MOST (1 << 28)

struct redis {
    struct background *beginning; /* a connection that is not there yet */
    redisContext *context;
    char *password;       /* of the address, or of the environment */
    const char *database; /* number, or NULL */
    uint64_t members;     /* of the set, the last time it was right; 0: not known yet */
    uint64_t doubted;     /* the call in which it had become too small; 0: none */
    bool one_by_one;      /* the server does not know SMISMEMBER */
};

/* What the address says. False after store_refuse(). */
bool redis_address(struct store *store);

/* Use this connection, of which no answer may be too long. */
void redis_adopt(struct store *store, redisContext *context);

/* Connect, log in, look whether the set is there. */
enum outcome redis_connect(struct store *store);
void redis_disconnect(struct store *store);

/* Take a command into what is to be sent. */
enum outcome redis_send(struct store *store, int n, const char **words, const size_t *sizes);

/* The next reply, of at most so many bytes; meanwhile send what is to be sent. NULL after
 * a failure. */
enum outcome redis_next(struct store *store, size_t most, redisReply **reply);

/* One command and its reply, which has this type; NULL after a failure. */
enum outcome redis_command(struct store *store, int type, size_t most, int n, const char **words,
                           redisReply **reply);

/* Note what the server said instead of an answer. */
enum outcome redis_fail_reply(struct store *store, const redisReply *reply);

/* How many members the set has. */
enum outcome redis_count(struct store *store, uint64_t *members);
bool redis_read_count(const redisReply *reply, uint64_t *members);

/* A set with so many members: can it be the one that it was? */
enum outcome redis_check_members(struct store *store, uint64_t members, bool new_connection);

#endif
