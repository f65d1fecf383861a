/* tls.h - TLS on a connected socket that never waits.
 *
 * A server's certificate must be valid now, signed by a known authority, and issued for the host:
 * there is no option that skips these checks. Messages contain neither file names nor contents. */
#ifndef WEIR_STORE_TLS_H
#define WEIR_STORE_TLS_H

#include <sys/types.h>

#include "url.h"

struct tls; /* authorities and our own certificate, for all connections of an address */

bool tls_is_parameter(const char *name); /* cacert, cert or key */

/* Read the files of cacert=, cert= and key=. NULL and one message if they cannot be used. */
struct tls *tls_open(const struct url *u, char *why, size_t size);
void tls_close(struct tls *t);

/* Also accept certificates for this host: nodes of a cluster may be known by their addresses, and
 * have the certificate of the host in the URL. False if out of memory. */
bool tls_accept_host(struct tls *t, const char *host);

/* The TLS of a Redis address: *t is NULL unless its scheme is rediss. False and one message if it
 * cannot be used. */
bool redis_tls(const struct url *u, struct tls **t, char *why, size_t size);

struct tls_session; /* one connection */

struct tls_session *tls_begin(const struct tls *t, int fd, const char *host); /* NULL: no memory */
void tls_end(struct tls_session *s);

/* Each step ends without waiting. TLS_WAIT: call it again after one of tls_events(). */
enum tls_step { TLS_DONE, TLS_WAIT, TLS_CLOSED, TLS_FAILED };
enum tls_step tls_handshake(struct tls_session *s);
enum tls_step tls_send(struct tls_session *s, const char *bytes, size_t size, size_t *sent);

#define TLS_RECEIVE_MIN 16384 /* bytes of a TLS record */

/* `size` is at least TLS_RECEIVE_MIN, so that nothing received remains in the session. */
enum tls_step tls_receive(struct tls_session *s, char *bytes, size_t size, size_t *came);
short tls_events(const struct tls_session *s); /* for poll() */

/* After TLS_FAILED: the message, and whether another attempt would fail too. */
const char *tls_failure(const struct tls_session *s);
bool tls_is_refused(const struct tls_session *s);

#endif
