/* wire.h - a connection to a server that never waits: TCP, with or without TLS, or a Unix socket.
 *
 * Bytes to send are queued at any time, also before the connection is open. */
#ifndef WEIR_STORE_WIRE_H
#define WEIR_STORE_WIRE_H

#include <netdb.h>

#include "tls.h"

#define WIRE_READ 65536 /* bytes of the buffer for wire_receive() */

struct wire {
    int fd; /* -1: not connected */
    enum wire_stage { WIRE_CONNECTING, WIRE_SHAKING, WIRE_OPEN } stage;
    const struct tls *tls; /* NULL: no TLS */
    struct ssl_st *ssl;    /* its session */
    short events;          /* that the session waits for */
    const char *host;      /* of the caller: for the certificate */
    char *out;             /* `size` bytes to send, of which `sent` are sent */
    size_t size, sent, room;
    bool heard;    /* bytes arrived */
    bool refused;  /* another attempt would fail too */
    char why[400]; /* of the last failure */
};

/* Split HOST, HOST:PORT or [ADDRESS]:PORT; the default is localhost:6379. False if the port is
 * invalid, or out of memory. */
bool wire_split(const char *from, const char *end, char **host, int *port);

/* Resolve a host, which may take long. NULL and a constant text if it fails. */
struct addrinfo *wire_look_up(const char *host, int port, const char **why);

/* Start connecting to one of the addresses, or to the socket of this path. tls, or NULL, and the
 * host outlive the connection. False if it failed. */
bool wire_connect(struct wire *w, const struct addrinfo *to, const struct tls *tls,
                  const char *host);
bool wire_connect_path(struct wire *w, const char *path);

/* Use this connected socket. */
void wire_adopt(struct wire *w, int fd);
void wire_close(struct wire *w);

/* The events to wait for, and a step after one of them until it is open. False if it failed. */
short wire_events(const struct wire *w);
bool wire_settle(struct wire *w);

/* Queue bytes to send. False if out of memory. */
bool wire_put(struct wire *w, const char *bytes, size_t size);
size_t wire_unsent(const struct wire *w);

/* Send and receive without waiting. False if the connection is lost. *came: bytes received. */
bool wire_send(struct wire *w);
bool wire_receive(struct wire *w, char bytes[WIRE_READ], size_t *came);

#endif
