/* redis.h - a connection to Redis or Valkey that never waits longer than the deadline of its
 * attempt, and limits the size of replies. */
#ifndef WEIR_STORE_REDIS_H
#define WEIR_STORE_REDIS_H

#include <hiredis/hiredis.h>

#include "backend.h"
#include "wire.h"

/* Max bytes of one reply: four times that of a lookup, some hundred times that of a list; chosen.
 */
#define ANSWER_MOST (1 << 20)
#define LIST_MOST (1 << 28)

struct redis {
    struct background *looking_up; /* the host */
    struct wire wire;
    redisReader *reader;  /* NULL: not connected */
    struct tls *tls;      /* NULL: without TLS */
    char *host;           /* without its port */
    char *password;       /* of the address, or of the environment */
    const char *database; /* number, or NULL */
    uint64_t members;     /* of the set at the last valid check; 0: unknown */
    uint64_t doubted;     /* the call that found the set too small; 0: none */
    bool one_by_one;      /* the server has no SMISMEMBER */
};

/* Parse the address. False after store_refuse(). */
bool redis_address(struct store *store);

/* Read replies, with limits, from the connection. False if out of memory. */
bool redis_read_replies(struct store *store);

/* Connect, log in, check that the set exists. */
enum outcome redis_connect(struct store *store);
void redis_disconnect(struct store *store);

/* Queue a command. */
enum outcome redis_send(struct store *store, int n, const char **words, const size_t *sizes);

/* Send, and wait for the next reply of at most `most` bytes. NULL after a failure. */
enum outcome redis_next(struct store *store, size_t most, redisReply **reply);

/* One command and its reply, which has this type; NULL after a failure. */
enum outcome redis_command(struct store *store, int type, size_t most, int n, const char **words,
                           redisReply **reply);

/* Record an unexpected reply as the failure. */
enum outcome redis_fail_reply(struct store *store, const redisReply *reply);

/* The number of members. */
enum outcome redis_count(struct store *store, uint64_t *members);
bool redis_read_count(const redisReply *reply, uint64_t *members);

/* Check that the set still exists, by its number of members. */
enum outcome redis_check_members(struct store *store, uint64_t members, bool new_connection);

#endif
