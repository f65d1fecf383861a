/* tls.h - TLS on a connected socket that never waits.
 *
 * A server's certificate must be valid now, signed by a known authority, and issued for the host:
 * there is no option that skips these checks. Messages contain neither file names nor contents. */
#ifndef WEIR_STORE_TLS_H
#define WEIR_STORE_TLS_H

#include "url.h"

struct tls; /* authorities and our own certificate, for all connections of an address */
struct wire;

bool tls_is_parameter(const char *name); /* cacert, cert or key */

/* The TLS of a Redis address, from the files of cacert=, cert= and key=: *t is NULL unless its
 * scheme is rediss. False and one message if it cannot be used. */
bool redis_tls(const struct url *u, struct tls **t, char *why, size_t size);
void tls_close(struct tls *t);

/* Also accept certificates for this host: nodes of a cluster may be known by their addresses, and
 * have the certificate of the host in the URL. False if out of memory. */
bool tls_accept_host(struct tls *t, const char *host);

/* ---- the session of a connected wire. Nothing waits: w->events is what to wait for. False after
 * a failure, which is described in the wire ---- */

bool tls_begin(struct wire *w);
bool tls_handshake(struct wire *w); /* the wire is open when it is complete */
bool tls_send(struct wire *w, const char *bytes, size_t size, size_t *sent);

/* Receive until less than a TLS record fits, so that nothing received remains in the session. Adds
 * to *came. */
bool tls_receive(struct wire *w, char *bytes, size_t size, size_t *came);

#endif
