/* tls.c - see tls.h. OpenSSL does the work; this file selects its checks and words its errors. */
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HOSTS_MOST 64
#define NAMES_SHOWN 3     /* of a certificate, in a message; chosen */
#define RECORD_MOST 16384 /* bytes of a TLS record */

struct tls {
    SSL_CTX *context;
    bool own; /* cert= is set */
    char *host[HOSTS_MOST];
    int hosts;
};

/* ---- the files ---- */

bool tls_is_parameter(const char *name)
{
    return strcmp(name, "cacert") == 0 || strcmp(name, "cert") == 0 || strcmp(name, "key") == 0;
}

/* Without this, OpenSSL asks for the passphrase of a key on the terminal. */
static int no_passphrase(char *text, int size, int writing, void *context)
{
    (void)text, (void)size, (void)writing, (void)context;
    return -1;
}

static bool refuse(char *why, size_t size, const char *name, const char *text)
{
    snprintf(why, size, "%s=%s", name, text);
    return false;
}

static bool is_readable(const char *name, const char *path, char *why, size_t size)
{
    FILE *file = fopen(path, "re");
    int error = errno;
    bool readable = file && fgetc(file) != EOF;

    if (!file)
        snprintf(why, size, "the file of %s= cannot be read: %s", name, strerror(error));
    else if (!readable)
        snprintf(why, size, "the file of %s= is empty or a directory; use a PEM file", name);
    if (file)
        fclose(file);
    return readable;
}

static bool trust(SSL_CTX *c, const char *path, char *why, size_t size)
{
    if (!path)
        return SSL_CTX_set_default_verify_paths(c) == 1;
    if (!is_readable("cacert", path, why, size))
        return false;
    /* so that cacert= may be the certificate of the server itself */
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(c), X509_V_FLAG_PARTIAL_CHAIN);
    return SSL_CTX_load_verify_locations(c, path, NULL) == 1 ||
           refuse(why, size, "cacert", " contains no certificate; use a PEM file");
}

static bool refuse_key(char *why, size_t size)
{
    unsigned long error = ERR_peek_error();

    if (ERR_GET_LIB(error) == ERR_LIB_X509 && ERR_GET_REASON(error) == X509_R_KEY_VALUES_MISMATCH)
        return refuse(why, size, "key", " is not the key of the certificate of cert=");
    for (; error; error = ERR_get_error())
        if (ERR_GET_LIB(error) == ERR_LIB_PEM && (ERR_GET_REASON(error) == PEM_R_BAD_PASSWORD_READ))
            return refuse(why, size, "key",
                          " has a passphrase; remove it with 'openssl pkey -in KEY -out NEW'");
    return refuse(why, size, "key", " contains no private key; use a PEM file");
}

static bool use_own(SSL_CTX *c, const char *cert, const char *key, char *why, size_t size)
{
    if (!cert)
        return !key || refuse(why, size, "key", " needs cert=FILE, the certificate of the key");
    if (!is_readable("cert", cert, why, size) || (key && !is_readable("key", key, why, size)))
        return false;
    if (SSL_CTX_use_certificate_chain_file(c, cert) != 1)
        return refuse(why, size, "cert", " contains no certificate; use a PEM file");
    ERR_clear_error();
    if (SSL_CTX_use_PrivateKey_file(c, key ? key : cert, SSL_FILETYPE_PEM) == 1 &&
        SSL_CTX_check_private_key(c) == 1)
        return true;
    return key ? refuse_key(why, size)
               : refuse(why, size, "cert", " contains no private key; add key=FILE");
}

static int verify(int valid, X509_STORE_CTX *chain);

/* NULL and one message if the files cannot be used. */
static struct tls *tls_open(const struct url *u, char *why, size_t size)
{
    struct tls *t = calloc(1, sizeof *t);
    const char *cert = url_value(u, "cert");

    snprintf(why, size, "out of memory");
    if (!t || !(t->context = SSL_CTX_new(TLS_client_method()))) {
        free(t);
        return NULL;
    }
    t->own = cert != NULL;
    SSL_CTX_set_min_proto_version(t->context, TLS1_2_VERSION);
    SSL_CTX_set_options(t->context, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(t->context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                     SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_verify(t->context, SSL_VERIFY_PEER, verify);
    SSL_CTX_set_default_passwd_cb(t->context, no_passphrase);
    bool usable = trust(t->context, url_value(u, "cacert"), why, size) &&
                  use_own(t->context, cert, url_value(u, "key"), why, size);
    ERR_clear_error();
    if (usable)
        return t;
    tls_close(t);
    return NULL;
}

void tls_close(struct tls *t)
{
    if (!t)
        return;
    for (int i = 0; i < t->hosts; i++)
        free(t->host[i]);
    SSL_CTX_free(t->context);
    free(t);
}

bool redis_tls(const struct url *u, struct tls **t, char *why, size_t size)
{
    *t = NULL;
    if (strcmp(u->scheme, "rediss") == 0)
        return (*t = tls_open(u, why, size)) != NULL;
    for (int i = 0; i < u->parameters; i++)
        if (tls_is_parameter(u->parameter[i].name))
            return refuse(why, size, u->parameter[i].name, " needs the scheme rediss://");
    return true;
}

bool tls_accept_host(struct tls *t, const char *host)
{
    if (t->hosts == HOSTS_MOST)
        return true;
    t->host[t->hosts] = strdup(host);
    return t->host[t->hosts] && ++t->hosts;
}

/* ---- the server's certificate ---- */

static bool is_for(X509 *certificate, const char *host)
{
    return X509_check_ip_asc(certificate, host, 0) == 1 ||
           X509_check_host(certificate, host, 0, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS, NULL) == 1;
}

static bool is_for_any(X509 *certificate, const struct wire *w)
{
    bool found = is_for(certificate, w->host);

    for (int i = 0; i < w->tls->hosts && !found; i++)
        found = is_for(certificate, w->tls->host[i]);
    return found;
}

/* A host name or an address; "" for names of other types. */
static void put_name(const GENERAL_NAME *name, char *text, size_t size)
{
    const ASN1_STRING *value = name->type == GEN_DNS     ? name->d.dNSName
                               : name->type == GEN_IPADD ? name->d.iPAddress
                                                         : NULL;
    const unsigned char *bytes = value ? ASN1_STRING_get0_data(value) : NULL;
    int length = value ? ASN1_STRING_length(value) : 0;

    *text = '\0';
    if (name->type == GEN_DNS)
        snprintf(text, size, "%.*s", length < 64 ? length : 64, (const char *)bytes);
    else if (length == 4 || length == 16)
        inet_ntop(length == 4 ? AF_INET : AF_INET6, bytes, text, (socklen_t)size);
}

/* The first names of a certificate: "a.example, 10.0.0.1, ...". */
static void put_names(X509 *certificate, char *text, size_t size)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    int shown = 0, n = names ? sk_GENERAL_NAME_num(names) : 0;
    char one[80];

    *text = '\0';
    for (int i = 0; i < n && shown <= NAMES_SHOWN; i++) {
        size_t end = strlen(text);

        put_name(sk_GENERAL_NAME_value(names, i), one, sizeof one);
        if (*one)
            snprintf(text + end, size - end, "%s%s", shown ? ", " : "",
                     shown == NAMES_SHOWN ? "..." : one);
        shown += *one != '\0';
    }
    if (!shown && X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, one,
                                            sizeof one) > 0)
        snprintf(text, size, "%s", one);
    if (!*text)
        snprintf(text, size, "no host");
    GENERAL_NAMES_free(names);
}

static void put_day(const ASN1_TIME *time, char *text, size_t size)
{
    struct tm day;

    *text = '\0';
    if (ASN1_TIME_to_tm(time, &day) == 1)
        strftime(text, size, "%Y-%m-%d", &day);
}

static void describe(struct wire *w, X509 *certificate, int error, int depth)
{
    const char *whose = depth ? "the certificate of its authority" : "its certificate";
    char day[16], names[240];

    switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        put_day(X509_get0_notAfter(certificate), day, sizeof day);
        snprintf(w->why, sizeof w->why, "%s expired on %s; renew it on the server", whose, day);
        break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        put_day(X509_get0_notBefore(certificate), day, sizeof day);
        snprintf(w->why, sizeof w->why, "%s is valid from %s; check the clocks", whose, day);
        break;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        snprintf(w->why, sizeof w->why,
                 "its certificate is self-signed; to trust it, add cacert=FILE with a copy of it");
        break;
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        snprintf(w->why, sizeof w->why,
                 "its certificate is signed by an unknown authority; add cacert=FILE with the "
                 "authority's certificate");
        break;
    case X509_V_ERR_HOSTNAME_MISMATCH:
        put_names(certificate, names, sizeof names);
        snprintf(w->why, sizeof w->why,
                 "its certificate is for %s, not for %.64s; use a name of the certificate", names,
                 w->host);
        break;
    default:
        snprintf(w->why, sizeof w->why, "%s is invalid: %s", whose,
                 X509_verify_cert_error_string(error));
    }
}

/* OpenSSL calls this for each certificate of the chain, the server's last. */
static int verify(int valid, X509_STORE_CTX *chain)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct wire *w = SSL_get_app_data(ssl);
    X509 *certificate = X509_STORE_CTX_get_current_cert(chain);
    int depth = X509_STORE_CTX_get_error_depth(chain);

    if (valid && depth == 0 && !is_for_any(certificate, w)) {
        X509_STORE_CTX_set_error(chain, X509_V_ERR_HOSTNAME_MISMATCH);
        valid = 0;
    }
    if (!valid && !*w->why)
        describe(w, certificate, X509_STORE_CTX_get_error(chain), depth);
    return valid;
}

/* ---- one connection ---- */

static bool fail(struct wire *w, bool refused, const char *text)
{
    snprintf(w->why, sizeof w->why, "%s", text);
    w->refused = refused;
    return false;
}

/* Replies that are not TLS look like records with a wrong version, type or length. */
static bool is_not_tls(int reason)
{
    static const int reasons[] = {SSL_R_WRONG_VERSION_NUMBER,     SSL_R_UNSUPPORTED_PROTOCOL,
                                  SSL_R_UNKNOWN_PROTOCOL,         SSL_R_HTTP_REQUEST,
                                  SSL_R_PACKET_LENGTH_TOO_LONG,   SSL_R_UNEXPECTED_MESSAGE,
                                  SSL_R_ENCRYPTED_LENGTH_TOO_LONG};

    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i] == reason)
            return true;
    return false;
}

/* The alerts with which a server rejects our certificate. */
static bool is_rejection(int reason)
{
    return reason == SSL_R_TLSV1_ALERT_UNKNOWN_CA || reason == SSL_R_TLSV1_ALERT_ACCESS_DENIED ||
           reason == SSL_R_SSLV3_ALERT_BAD_CERTIFICATE ||
           reason == SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE ||
           reason == SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED ||
           reason == SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED ||
           reason == SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN;
}

static void explain(struct wire *w, unsigned long error)
{
    int reason = ERR_GET_REASON(error);
    const char *text = ERR_reason_error_string(error);

    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED && *w->why)
        w->refused = true; /* verify() has described it */
    else if (reason == SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED)
        fail(w, true, "it requires a client certificate; add cert=FILE&key=FILE");
    else if (reason == SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE)
        fail(w, true,
             w->tls->own ? "it refused the TLS handshake: no common cipher, or it rejects cert="
                         : "it refused the TLS handshake: no common cipher, or it requires a "
                           "client certificate (cert=FILE&key=FILE)");
    else if (reason == SSL_R_TLSV1_ALERT_PROTOCOL_VERSION)
        fail(w, true, "it supports no TLS version from 1.2 on");
    else if (is_rejection(reason)) {
        snprintf(w->why, sizeof w->why, "it rejects the client certificate of cert=: %s",
                 text ? text : "unknown reason");
        w->refused = true;
    } else if (w->stage != WIRE_OPEN && is_not_tls(reason))
        fail(w, true, "its reply is not TLS; use redis://, or the server's port for TLS");
    else
        snprintf(w->why, sizeof w->why, "TLS: %s", text ? text : "the connection was lost");
}

enum step { DONE, WAIT, CLOSED, FAILED };

/* The result of an operation of OpenSSL. */
static enum step result_of(struct wire *w, int returned)
{
    int error = SSL_get_error(w->ssl, returned), lost = errno;

    w->events = POLLIN;
    switch (error) {
    case SSL_ERROR_NONE:
        return DONE;
    case SSL_ERROR_WANT_WRITE:
        w->events = POLLOUT;
        return WAIT;
    case SSL_ERROR_WANT_READ:
        return WAIT;
    case SSL_ERROR_ZERO_RETURN:
        if (w->stage == WIRE_OPEN)
            return CLOSED;
        fail(w, false,
             "it closed the connection during the TLS handshake; does this port use TLS?");
        return FAILED;
    case SSL_ERROR_SYSCALL:
        fail(w, false, lost ? strerror(lost) : "connection closed");
        return FAILED;
    default:
        explain(w, ERR_peek_error());
        ERR_clear_error();
        return FAILED;
    }
}

static void clear_errors(void)
{
    ERR_clear_error();
    errno = 0;
}

bool tls_handshake(struct wire *w)
{
    clear_errors();
    enum step step = result_of(w, SSL_do_handshake(w->ssl));

    if (step == DONE)
        w->stage = WIRE_OPEN;
    return step != FAILED;
}

bool tls_begin(struct wire *w)
{
    ASN1_OCTET_STRING *ip = a2i_IPADDRESS(w->host); /* SNI is for names */
    bool ok;

    w->ssl = SSL_new(w->tls->context);
    ok = w->ssl && SSL_set_fd(w->ssl, w->fd) == 1 &&
         (ip || SSL_set_tlsext_host_name(w->ssl, w->host) == 1);
    ASN1_OCTET_STRING_free(ip);
    if (!ok)
        return fail(w, false, "out of memory");
    SSL_set_app_data(w->ssl, w);
    SSL_set_connect_state(w->ssl);
    return tls_handshake(w);
}

/* A server that rejects the client closes the connection, and then sending fails before the alert
 * is read. */
static void read_alert(struct wire *w)
{
    char byte;
    size_t came;

    ERR_clear_error();
    if (SSL_read_ex(w->ssl, &byte, 1, &came) != 1 && SSL_get_error(w->ssl, 0) == SSL_ERROR_SSL)
        explain(w, ERR_peek_error());
    ERR_clear_error();
}

bool tls_send(struct wire *w, const char *bytes, size_t size, size_t *sent)
{
    *sent = 0;
    clear_errors();
    enum step step = result_of(w, SSL_write_ex(w->ssl, bytes, size, sent));

    if (step == FAILED && !w->refused)
        read_alert(w);
    return step != FAILED;
}

bool tls_receive(struct wire *w, char *bytes, size_t size, size_t *came)
{
    enum step step;

    do {
        size_t n = 0;

        clear_errors();
        step = result_of(w, SSL_read_ex(w->ssl, bytes + *came, size - *came, &n));
        *came += n;
    } while (step == DONE && size - *came >= RECORD_MOST);
    if (step == CLOSED && *came == 0)
        return fail(w, false, "connection closed");
    return step != FAILED;
}
