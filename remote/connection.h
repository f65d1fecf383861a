/* connection.h - bytes to and from a server, never waiting. */
#ifndef WEIR_REMOTE_CONNECTION_H
#define WEIR_REMOTE_CONNECTION_H

#include "replies.h"

struct connection {
    int fd;          /* -1: there is none */
    bool connecting; /* not there yet */
    char *out;       /* what is to be sent: of size bytes, the first sent are gone */
    size_t size, sent, room;
    struct reply_reader replies;
};

/* Begin to connect to one of the addresses of a host: another for each attempt. False, and
 * why, as a constant text. */
bool connection_begin(struct connection *c, const char *host, int port, unsigned attempt,
                      const char **why);
void connection_close(struct connection *c);

/* Has connecting gone well, now that the system says it is over? */
bool connection_settle(struct connection *c, const char **why);

/* Add to what is to be sent. False if memory is short. */
bool connection_put(struct connection *c, const char *bytes, size_t size);
size_t connection_unsent(const struct connection *c);

/* Send, and receive, what goes at once. False if the connection is lost, or what came is more
 * than a reply of ours can be. *came: bytes. */
bool connection_send(struct connection *c, const char **why);
bool connection_receive(struct connection *c, size_t *came, const char **why);

#endif
