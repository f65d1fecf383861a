/* wire.c - see wire.h. */
#include "wire.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define OUT_KEPT (4 << 20) /* bytes; a larger buffer is freed when it is empty */
#define PORT 6379

static bool fail(struct wire *w, const char *text)
{
    snprintf(w->why, sizeof w->why, "%s", text);
    return false;
}

/* ---- connecting ---- */

bool wire_split(const char *from, const char *end, char **host, int *port)
{
    const char *close = *from == '[' ? memchr(from, ']', (size_t)(end - from)) : NULL;
    const char *name = close ? from + 1 : from, *behind = close ? close : from;
    const char *colon = memchr(behind, ':', (size_t)(end - behind));
    const char *stop = close ? close : colon ? colon : end;
    unsigned long number = colon ? strtoul(colon + 1, NULL, 10) : PORT;

    *port = (int)number;
    *host = stop == name ? strdup("localhost") : percent_decode(name, (size_t)(stop - name));
    if (*host && number > 0 && number < 65536)
        return true;
    free(*host);
    *host = NULL;
    return false;
}

struct addrinfo *wire_look_up(const char *host, int port, const char **why)
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

static bool begin(struct wire *w, int family, const struct sockaddr *to, socklen_t size)
{
    int one = 1;

    w->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (w->fd < 0)
        return fail(w, strerror(errno));
    if (family != AF_UNIX)
        setsockopt(w->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    w->stage = WIRE_CONNECTING;
    if (connect(w->fd, to, size) == 0 || errno == EINPROGRESS || errno == EINTR)
        return true;
    fail(w, strerror(errno));
    wire_close(w);
    return false;
}

bool wire_connect(struct wire *w, const struct addrinfo *to, const struct tls *tls,
                  const char *host)
{
    *w = (struct wire){.fd = -1, .tls = tls, .host = host};
    return begin(w, to->ai_family, to->ai_addr, to->ai_addrlen);
}

bool wire_connect_path(struct wire *w, const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};

    *w = (struct wire){.fd = -1};
    if (strlen(path) >= sizeof to.sun_path) {
        w->refused = true;
        return fail(w, "the path of the socket is too long; at most 107 bytes");
    }
    memcpy(to.sun_path, path, strlen(path));
    return begin(w, AF_UNIX, (const struct sockaddr *)&to, sizeof to);
}

void wire_adopt(struct wire *w, int fd)
{
    *w = (struct wire){.fd = fd, .stage = WIRE_OPEN};
}

void wire_close(struct wire *w)
{
    SSL_free(w->ssl);
    if (w->fd >= 0)
        close(w->fd);
    if (w->out)
        explicit_bzero(w->out, w->room); /* may contain a password */
    free(w->out);
    w->ssl = NULL;
    w->stage = WIRE_CONNECTING;
    w->out = NULL;
    w->size = w->sent = w->room = 0;
    w->fd = -1;
}

short wire_events(const struct wire *w)
{
    if (w->stage == WIRE_CONNECTING)
        return POLLOUT;
    if (w->stage == WIRE_SHAKING)
        return w->events;
    return (short)(POLLIN | (wire_unsent(w) > 0 ? POLLOUT : 0));
}

static bool settle_socket(struct wire *w)
{
    int error = 0;
    socklen_t size = sizeof error;

    if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    if (error)
        return fail(w, strerror(error));
    w->stage = w->tls ? WIRE_SHAKING : WIRE_OPEN;
    return !w->tls || tls_begin(w);
}

bool wire_settle(struct wire *w)
{
    if (w->stage == WIRE_CONNECTING)
        return settle_socket(w);
    return w->stage == WIRE_OPEN || tls_handshake(w);
}

/* ---- bytes ---- */

size_t wire_unsent(const struct wire *w)
{
    return w->size - w->sent;
}

static void move_to_front(struct wire *w)
{
    memmove(w->out, w->out + w->sent, w->size - w->sent);
    w->size -= w->sent;
    w->sent = 0;
}

bool wire_put(struct wire *w, const char *bytes, size_t size)
{
    if (w->sent > 0 && w->size + size > w->room)
        move_to_front(w);
    if (w->size + size > w->room) {
        size_t room = 2 * (w->size + size);
        char *more = realloc(w->out, room);

        if (!more)
            return false;
        w->out = more;
        w->room = room;
    }
    memcpy(w->out + w->size, bytes, size);
    w->size += size;
    return true;
}

/* Send some bytes. *sent is 0 if the connection is not writable. */
static bool send_some(struct wire *w, size_t *sent)
{
    const char *bytes = w->out + w->sent;
    size_t size = w->size - w->sent;
    ssize_t n;

    *sent = 0;
    if (w->ssl)
        return tls_send(w, bytes, size, sent);
    do
        n = send(w->fd, bytes, size, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK || fail(w, strerror(errno));
    *sent = (size_t)n;
    return true;
}

bool wire_send(struct wire *w)
{
    size_t sent = 1;

    while (sent > 0 && w->sent < w->size) {
        if (!send_some(w, &sent))
            return false;
        w->sent += sent;
    }
    if (w->sent < w->size)
        return true;
    w->size = w->sent = 0;
    if (w->room > OUT_KEPT) {
        free(w->out);
        w->out = NULL;
        w->room = 0;
    }
    return true;
}

/* A server for TLS may close the connection when it receives other bytes. */
static bool fail_closed(struct wire *w, const char *text)
{
    snprintf(w->why, sizeof w->why, "%s%s", text,
             w->heard || !w->host ? "" : " before any reply; use rediss:// if this port uses TLS");
    return false;
}

/* A server for TLS answers other bytes with an alert. */
static bool is_alert(const char *bytes, size_t size)
{
    return size >= 2 && bytes[0] == 0x15 && bytes[1] == 0x03;
}

bool wire_receive(struct wire *w, char bytes[WIRE_READ], size_t *came)
{
    ssize_t n;

    *came = 0;
    if (w->ssl)
        return tls_receive(w, bytes, WIRE_READ, came);
    do
        n = recv(w->fd, bytes, WIRE_READ, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return true;
    if (n <= 0)
        return fail_closed(w, n < 0 ? strerror(errno) : "connection closed");
    if (!w->heard && is_alert(bytes, (size_t)n)) {
        w->refused = true;
        return fail(w, "it expects TLS; use rediss://");
    }
    w->heard = true;
    *came = (size_t)n;
    return true;
}
