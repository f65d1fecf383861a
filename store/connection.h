/* connection.h - a non-blocking connection to a server, and its replies.
 *
 * Servers are not trusted: the size of each array and each reply is limited. An array of verdicts
 * is written to its destination directly, without an object per verdict. */
#ifndef WEIR_STORE_CONNECTION_H
#define WEIR_STORE_CONNECTION_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire.h"

/* ---- replies ---- */

/* The expected type of the next reply. */
struct reply_wish {
    uint8_t *verdicts; /* NULL: any reply, as an object */
    uint32_t n;
    bool taking; /* within the array */
    bool wrong;  /* an element is not a verdict */
};

struct reply_reader {
    redisReader *reader;
    struct reply_wish wish;
    size_t came; /* bytes since the last complete reply */
    bool begun;  /* a reply has begun */
};

bool reply_open(struct reply_reader *r);
void reply_close(struct reply_reader *r);

/* Add bytes that were received. False if out of memory, or if the reply is too long. */
bool reply_feed(struct reply_reader *r, const char *bytes, size_t size);

/* The next complete reply. REPLY_VERDICTS: the verdicts are stored. REPLY_OBJECT: any other reply,
 * also an error; the caller frees it. */
enum reply_kind { REPLY_NONE, REPLY_VERDICTS, REPLY_OBJECT, REPLY_GARBAGE };
enum reply_kind reply_next(struct reply_reader *r, redisReply **object);

/* ---- a connection ---- */

struct connection {
    struct wire wire;
    struct reply_reader replies;
};

/* The place of a server: a host and its port, or the path of a socket, without a port. */
struct place {
    const char *host;
    int port;              /* 0: host is a path */
    const struct tls *tls; /* NULL: no TLS */
};

/* Start connecting to one of the addresses of a host; each attempt uses the next one. The place
 * outlives the connection. False if it failed; see wire.why. */
bool connection_begin(struct connection *c, const struct place *p, unsigned attempt);
void connection_close(struct connection *c);

/* Receive replies without waiting. False if the connection is lost or a reply is too long. *came:
 * bytes received. */
bool connection_receive(struct connection *c, size_t *came);

#endif
