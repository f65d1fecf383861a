/* key_as.c - see key_as.h. URLs follow RFC 3986, section 6.2.2 (syntax-based normalization); IPv6
 * text follows RFC 5952; non-ASCII host names are converted to punycode (IDNA 2008). The
 * registrable domain is computed from the Public Suffix List in libpsl. */
#include "pick/key_as.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <idn2.h>
#include <libpsl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <utf8proc.h>

#include "cli/messages.h"
#include "pick/network.h"

#define HOST_MAX 253 /* characters of a host name */
#define LABEL_MAX 63 /* characters between its dots */
#define ENCODED_MAX (3 * HOST_MAX + 3)
#define ADDRESS_MAX 112 /* characters of an IPv6 address with zone */
#define MARKS_MAX                                                                                  \
    30 /* combining marks in a row, as in UAX #15; sorting them takes quadratic time */

/* Query parameters that identify a campaign or a click, not a page. A * ends a prefix. */
static const char *const tracking[] = {
    "_ga",     "_gl",     "_hsenc",      "_hsmi",      "dclid",     "fbclid", "gad_source",
    "gbraid",  "gclid",   "gclsrc",      "igshid",     "li_fat_id", "mc_cid", "mc_eid",
    "mkt_tok", "msclkid", "oly_anon_id", "oly_enc_id", "ttclid",    "twclid", "utm_*",
    "vero_id", "wbraid",  "wickedid",    "yclid",
};

static bool is_unreserved(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

/* The unreserved and reserved characters of RFC 3986 except #: a path or query keeps them. */
static bool is_literal(unsigned char c)
{
    static const uint64_t bits[4] = {0xafffffd200000000, 0x47fffffeafffffff, 0, 0};

    return bits[c >> 6] >> (c & 63) & 1;
}

/* ---- percent-encoding ---- */

static int hex_value(unsigned char c)
{
    return c >= '0' && c <= '9' ? c - '0' : isxdigit(c) ? (c | 0x20) - 'a' + 10 : -1;
}

/* The byte encoded by the two digits after a percent sign; -1 if they are not digits. */
static int encoded_byte(const char *digits, const char *end)
{
    int high = end - digits < 2 ? -1 : hex_value((unsigned char)digits[0]);
    int low = high < 0 ? -1 : hex_value((unsigned char)digits[1]);

    return low < 0 ? -1 : high << 4 | low;
}

static char *put_hex(char *to, unsigned char c)
{
    static const char digits[] = "0123456789ABCDEF";

    *to++ = '%';
    *to++ = digits[c >> 4];
    *to++ = digits[c & 15];
    return to;
}

typedef uint8_t block __attribute__((vector_size(16)));

/* Are the next 16 characters literal? */
static bool is_literal_block(const char *at)
{
    uint64_t half[2];
    block c;

    memcpy(&c, at, sizeof c);
    block other = (block)((c <= ' ') | (c >= 0x7f) | (c == '"') | (c == '#') | (c == '%') |
                          (c == '<') | (c == '>') | (c == '`') | (c == '{') | (c == '|') |
                          (c == '}') | (c == '\\') | (c == '^'));
    memcpy(half, &other, sizeof half);
    return (half[0] | half[1]) == 0;
}

/* Decode unreserved characters, encode all that RFC 3986 does not allow, digits in upper case. */
static char *put_encoded(char *to, const char *at, const char *end)
{
    while (at < end) {
        if (end - at >= (ptrdiff_t)sizeof(block) && is_literal_block(at)) {
            memcpy(to, at, sizeof(block));
            to += sizeof(block);
            at += sizeof(block);
            continue;
        }
        const char *stop = end - at > (ptrdiff_t)sizeof(block) ? at + sizeof(block) : end;
        while (at < stop) {
            unsigned char c = (unsigned char)*at++;
            if (is_literal(c)) {
                *to++ = (char)c;
                continue;
            }
            int byte = c == '%' ? encoded_byte(at, end) : -1;
            at += byte >= 0 ? 2 : 0;
            if (byte >= 0 && is_unreserved((unsigned char)byte))
                *to++ = (char)byte;
            else
                to = put_hex(to, byte >= 0 ? (unsigned char)byte : c);
        }
    }
    return to;
}

/* ---- IP addresses ---- */

/* Canonical text of an address, NUL-terminated; a zone is kept. False if it is not an address. */
static bool canonical_ip(const char *text, size_t size, char to[ADDRESS_MAX])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    char copy[ADDRESS_MAX];
    uint8_t address[16];

    if (size > 1 && text[0] == '[' && text[size - 1] == ']') {
        text++;
        size -= 2;
    }
    if (size == 0 || size >= ADDRESS_MAX - INET6_ADDRSTRLEN || memchr(text, '\0', size))
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    if (inet_pton(AF_INET, copy, address) == 1)
        return inet_ntop(AF_INET, address, to, ADDRESS_MAX) != NULL;
    char *zone = strchr(copy, '%');
    if (zone)
        *zone++ = '\0';
    if (inet_pton(AF_INET6, copy, address) != 1 || (zone && !*zone))
        return false;
    if (!zone && memcmp(address, mapped, sizeof mapped) == 0)
        return inet_ntop(AF_INET, address + sizeof mapped, to, ADDRESS_MAX) != NULL;
    inet_ntop(AF_INET6, address, to, ADDRESS_MAX);
    if (!zone)
        return true;
    for (const char *z = zone; *z; z++)
        if (!is_unreserved((unsigned char)*z))
            return false;
    strcat(strcat(to, "%"), zone);
    return true;
}

/* ---- host names ---- */

struct host {
    bool address;
    size_t size;
    char text[HOST_MAX + 3]; /* NUL-terminated; an address has no brackets */
};

/* Characters of host names, in lower case; 0 for all others. */
static const char host_character[256] =
    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    "\0\0\0\0\0\0\0\0\0\0\0\0\0-.\0"
    "0123456789"
    "\0\0\0\0\0\0\0"
    "abcdefghijklmnopqrstuvwxyz"
    "\0\0\0\0_\0"
    "abcdefghijklmnopqrstuvwxyz";

/* Set the name at the start of a text, in lower case and without a dot at its end. Returns the
 * first character that is not part of it, or NULL if the name is not valid. */
static const char *read_name(struct host *h, const char *text, const char *end)
{
    size_t size = 0, label = 0; /* where the label begins */
    char c;

    end = end - text > HOST_MAX + 1 ? text + HOST_MAX + 1 : end;
    for (; text < end && (c = host_character[(unsigned char)*text]); text++) {
        if (c == '.') {
            if (size == label || size - label > LABEL_MAX)
                return NULL;
            label = size + 1;
        }
        h->text[size++] = c;
    }
    if (size - label > LABEL_MAX)
        return NULL;
    size -= size > 0 && size == label;
    if (size == 0 || size > HOST_MAX)
        return NULL;
    h->text[size] = '\0';
    h->size = size;
    struct in_addr unused;
    h->address = *h->text <= '9' && inet_pton(AF_INET, h->text, &unused) == 1;
    return text;
}

static bool set_name(struct host *h, const char *name, size_t size)
{
    return read_name(h, name, name + size) == name + size;
}

/* With percent-encoded or non-ASCII characters. */
static bool set_foreign_name(struct host *h, const char *name, size_t size)
{
    char decoded[ENCODED_MAX + 1];
    const char *end = name + size;
    uint8_t *ascii = NULL;
    size_t n = 0;

    if (size > ENCODED_MAX)
        return false;
    while (name < end) {
        int byte = *name == '%' ? encoded_byte(name + 1, end) : (unsigned char)*name;

        if (byte <= ' ')
            return false;
        name += *name == '%' ? 3 : 1;
        decoded[n++] = (char)byte;
    }
    decoded[n] = '\0';
    if (idn2_lookup_u8((uint8_t *)decoded, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL) !=
        IDN2_OK)
        return set_name(h, decoded, n);
    bool valid = set_name(h, (char *)ascii, strlen((char *)ascii));
    idn2_free(ascii);
    return valid;
}

static bool set_address(struct host *h, const char *text, size_t size)
{
    char canonical[ADDRESS_MAX];

    if (!canonical_ip(text, size, canonical))
        return false;
    h->address = true;
    h->size = strlen(canonical);
    memcpy(h->text, canonical, h->size + 1);
    return true;
}

/* In brackets, %25 precedes the zone. */
static bool set_literal(struct host *h, const char *text, size_t size)
{
    const char *zone = memmem(text, size, "%25", 3);
    char copy[ADDRESS_MAX];

    if (!zone || size >= sizeof copy || zone + 3 == text + size)
        return set_address(h, text, size);
    size_t before = (size_t)(zone - text) + 1;
    memcpy(copy, text, before);
    memcpy(copy + before, zone + 3, size - before - 2);
    return set_address(h, copy, size - 2);
}

/* ---- the parts of a URL ---- */

struct url_key {
    const char *scheme, *scheme_end; /* equal: there is none */
    const char *user, *user_end;     /* equal: there is none */
    struct host host;
    long port;              /* -1: none */
    const char *path, *end; /* path, query and fragment */
};

static bool parse_port(const char *at, const char *end, long *port)
{
    *port = at < end ? 0 : -1;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9' || *port > 65535)
            return false;
        *port = *port * 10 + (*at - '0');
    }
    return *port <= 65535;
}

static bool parse_authority(struct url_key *u, const char *at, const char *end)
{
    const char *user_end = memrchr(at, '@', (size_t)(end - at));
    const char *host = user_end ? user_end + 1 : at, *host_end;

    u->user = at;
    u->user_end = user_end ? user_end : at;
    u->host.address = false;
    if (host < end && *host == '[') {
        host_end = memchr(host, ']', (size_t)(end - host));
        if (!host_end || !memchr(host, ':', (size_t)(host_end - host)) ||
            !set_literal(&u->host, host, (size_t)(++host_end - host)))
            return false;
    } else {
        host_end = memchr(host, ':', (size_t)(end - host));
        host_end = host_end ? host_end : end;
        size_t size = (size_t)(host_end - host);
        if (!set_name(&u->host, host, size) && !set_foreign_name(&u->host, host, size))
            return false;
    }
    u->port = -1;
    return host_end == end || (*host_end == ':' && parse_port(host_end + 1, end, &u->port));
}

/* Set the scheme, if there is one; returns the start of the authority. */
static const char *parse_scheme(struct url_key *u, const char *text, const char *end)
{
    const char *at = text;

    while (at < end && (is_unreserved((unsigned char)*at) || *at == '+') && *at != '_' &&
           *at != '~')
        at++;
    bool found = at > text && (*text | 0x20) >= 'a' && (*text | 0x20) <= 'z' && end - at > 2 &&
                 memcmp(at, "://", 3) == 0;
    u->scheme = text;
    u->scheme_end = found ? at : text;
    return found ? at + 3 : text;
}

static bool ends_authority(const char *at, const char *end)
{
    return at == end || *at == '/' || *at == '?' || *at == '#';
}

/* Most URLs: a host name, without user and port. */
static bool parse_simple_authority(struct url_key *u, const char *at, const char *end)
{
    const char *stop = read_name(&u->host, at, end);

    u->user = u->user_end = at;
    u->port = -1;
    u->path = stop;
    return stop && ends_authority(stop, end);
}

static bool parse_url(struct url_key *u, const char *text, size_t size)
{
    const char *end = text + size, *at = parse_scheme(u, text, end);

    if (at == text && size > 1 && memcmp(at, "//", 2) == 0) /* a URL without scheme */
        at += 2;
    u->end = end;
    if (parse_simple_authority(u, at, end))
        return true;
    u->path = at;
    while (!ends_authority(u->path, end))
        u->path++;
    if (u->path == at && u->scheme_end - u->scheme == 4 && strncasecmp(u->scheme, "file", 4) == 0) {
        u->user = u->user_end = at;
        u->host.address = false;
        u->host.size = 0;
        u->port = -1;
        return true;
    }
    return parse_authority(u, at, u->path);
}

/* ---- the transform "url" ---- */

/* RFC 3986, section 5.2.4, in place. The path starts with a slash. */
static char *remove_dot_segments(char *path, char *end)
{
    char *to = path;

    const char *dot = path;
    while ((dot = memchr(dot, '.', (size_t)(end - dot))) && dot[-1] != '/')
        dot++;
    if (!dot)
        return end;
    for (char *at = path, *next; at < end; at = next) {
        next = memchr(at + 1, '/', (size_t)(end - at - 1));
        next = next ? next : end;
        size_t size = (size_t)(next - at);
        bool up = size == 3 && at[1] == '.' && at[2] == '.';

        while (up && to > path && *--to != '/')
            ;
        if (!up && !(size == 2 && at[1] == '.')) {
            memmove(to, at, size);
            to += size;
        } else if (next == end) {
            *to++ = '/';
        }
    }
    return to;
}

struct url_parameter {
    const char *at;
    size_t name, size;
};

static bool is_tracking(const struct url_parameter *p)
{
    for (size_t i = 0; p->name > 2 && i < sizeof tracking / sizeof *tracking; i++) {
        const char *word = tracking[i];

        if ((*p->at | 0x20) != (*word | 0x20)) /* most have another first letter */
            continue;
        size_t size = strlen(word), prefix = word[size - 1] == '*' ? size - 1 : 0;
        if (prefix ? p->name >= prefix && strncasecmp(p->at, word, prefix) == 0
                   : p->name == size && strncasecmp(p->at, word, size) == 0)
            return true;
    }
    return false;
}

/* By name; parameters with equal names keep their order. */
static int compare_parameters(const void *a, const void *b)
{
    const struct url_parameter *p = a, *q = b;
    int order = memcmp(p->at, q->at, p->name < q->name ? p->name : q->name);

    if (order == 0)
        order = (p->name > q->name) - (p->name < q->name);
    return order ? order : (p->at > q->at) - (p->at < q->at);
}

/* Sort the encoded query at `from`, in place, without tracking and empty parameters. Returns its
 * end, or NULL if out of memory. */
static char *sort_query(struct arena *a, char *from, char *end)
{
    size_t count = 1, n = 0;
    bool sorted = true;

    for (const char *c = from; c < end; c++)
        count += *c == '&';
    struct url_parameter few[16], *all = count <= 16 ? few : arena_array(a, count, sizeof *all);
    if (!all)
        return NULL;
    for (const char *at = from, *next; at < end; at = next + 1) {
        next = memchr(at, '&', (size_t)(end - at));
        next = next ? next : end;
        const char *equal = memchr(at, '=', (size_t)(next - at));
        all[n] =
            (struct url_parameter){at, (size_t)((equal ? equal : next) - at), (size_t)(next - at)};
        if (all[n].size == 0 || is_tracking(&all[n]))
            continue;
        sorted &= n == 0 || compare_parameters(&all[n - 1], &all[n]) < 0;
        n++;
    }
    if (sorted && n == count)
        return end;
    if (!sorted)
        qsort(all, n, sizeof *all, compare_parameters);
    char *copy = arena_take(a, (size_t)(end - from) + 1), *to = copy;
    for (size_t i = 0; copy && i < n; i++) {
        memcpy(to, all[i].at, all[i].size);
        to += all[i].size;
        *to++ = '&';
    }
    if (!copy)
        return NULL;
    to -= n > 0;
    memcpy(from, copy, (size_t)(to - copy));
    return from + (to - copy);
}

static bool is_default_port(const char *scheme, size_t size, long port)
{
    static const struct {
        const char *scheme;
        long port;
    } defaults[] = {{"http", 80}, {"https", 443}, {"ws", 80}, {"wss", 443}, {"ftp", 21}};

    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (port == defaults[i].port && size == strlen(defaults[i].scheme) &&
            memcmp(scheme, defaults[i].scheme, size) == 0)
            return true;
    return false;
}

/* Scheme, user, host and port. */
static char *put_origin(char *to, const struct url_key *u)
{
    const char *scheme = to, *zone = u->host.address ? strchr(u->host.text, '%') : NULL;
    bool brackets = u->host.address && strchr(u->host.text, ':');

    for (const char *c = u->scheme; c < u->scheme_end; c++)
        *to++ = (char)tolower((unsigned char)*c);
    size_t scheme_size = (size_t)(to - scheme);
    to = stpcpy(to, "://");
    if (u->user_end > u->user) {
        to = put_encoded(to, u->user, u->user_end);
        *to++ = '@';
    }
    size_t before = zone ? (size_t)(zone - u->host.text) : u->host.size;
    if (brackets)
        *to++ = '[';
    memcpy(to, u->host.text, before);
    to += before;
    if (zone)
        to = stpcpy(stpcpy(to, "%25"), zone + 1);
    if (brackets)
        *to++ = ']';
    if (u->port >= 0 && !is_default_port(scheme, scheme_size, u->port))
        to += snprintf(to, 8, ":%ld", u->port);
    return to;
}

static enum key_as_result to_url(struct arena *a, struct weir_bytes *field)
{
    struct url_key u;

    if (!parse_url(&u, field->data, field->size) || u.scheme == u.scheme_end)
        return KEY_AS_UNPARSED;
    const char *fragment = memchr(u.path, '#', (size_t)(u.end - u.path));
    const char *end = fragment ? fragment : u.end;
    const char *query = memchr(u.path, '?', (size_t)(end - u.path));
    const char *path_end = query ? query : end;
    size_t room = 3 * field->size + u.host.size + 20;
    char *result = arena_take(a, room), *to;
    if (!result)
        return KEY_AS_NO_MEMORY;
    char *path = put_origin(result, &u);
    to = put_encoded(path, u.path, path_end);
    if (to == path)
        *to++ = '/';
    to = remove_dot_segments(path, to);
    if (query) {
        char *last = sort_query(a, to + 1, put_encoded(to + 1, query + 1, end));
        if (!last)
            return KEY_AS_NO_MEMORY;
        *to = '?';
        to = last > to + 1 ? last : to;
    }
    arena_trim(a, result, room, (size_t)(to - result));
    *field = (struct weir_bytes){result, (size_t)(to - result)};
    return KEY_AS_DONE;
}

/* ---- the other transforms ---- */

static enum key_as_result set_field(struct arena *a, struct weir_bytes *field, const char *text,
                                    size_t size)
{
    char *copy = arena_take(a, size);

    if (!copy)
        return KEY_AS_NO_MEMORY;
    memcpy(copy, text, size);
    *field = (struct weir_bytes){copy, size};
    return KEY_AS_DONE;
}

static bool parse_host(struct url_key *u, const struct weir_bytes *field)
{
    return (set_address(&u->host, field->data, field->size) ||
            parse_url(u, field->data, field->size)) &&
           u->host.size > 0;
}

static enum key_as_result to_host(struct arena *a, struct weir_bytes *field)
{
    struct url_key u;

    return parse_host(&u, field) ? set_field(a, field, u.host.text, u.host.size) : KEY_AS_UNPARSED;
}

static enum key_as_result to_domain(struct arena *a, struct weir_bytes *field)
{
    const char *domain = NULL;
    struct url_key u;

    if (!parse_host(&u, field))
        return KEY_AS_UNPARSED;
    if (!u.host.address)
        domain = psl_registrable_domain(psl_builtin(), u.host.text);
    domain = domain ? domain : u.host.text;
    return set_field(a, field, domain, strlen(domain));
}

static enum key_as_result to_ip(struct arena *a, struct weir_bytes *field)
{
    char text[ADDRESS_MAX];

    return canonical_ip(field->data, field->size, text) ? set_field(a, field, text, strlen(text))
                                                        : KEY_AS_UNPARSED;
}

static enum key_as_result to_network(struct arena *a, struct weir_bytes *field)
{
    char text[NETWORK_TEXT];
    struct network n;
    enum network_result parsed = network_parse(&n, field->data, field->size);

    if (parsed == NETWORK_INVALID)
        return KEY_AS_UNPARSED;
    if (n.canonical)
        return KEY_AS_DONE;
    enum key_as_result set = set_field(a, field, text, network_print(&n, text));
    return set == KEY_AS_DONE && parsed == NETWORK_MASKED ? KEY_AS_MASKED : set;
}

/* Is it UTF-8, without long runs of combining marks? */
static bool is_text(const uint8_t *at, size_t size)
{
    unsigned marks = 0;

    for (utf8proc_ssize_t n; size > 0; at += n, size -= (size_t)n) {
        utf8proc_int32_t c;

        n = utf8proc_iterate(at, size > 4 ? 4 : (utf8proc_ssize_t)size, &c);
        if (n <= 0)
            return false;
        marks = c >= 0x300 && utf8proc_get_property(c)->combining_class ? marks + 1 : 0;
        if (marks > MARKS_MAX)
            return false;
    }
    return true;
}

static enum key_as_result to_nfc(struct arena *a, struct weir_bytes *field)
{
    const uint8_t *at = field->data, *end = at + field->size;
    uint8_t *text = NULL;

    while (at < end && *at < 0x80)
        at++;
    if (at == end)
        return KEY_AS_DONE;
    if (!is_text(field->data, field->size))
        return KEY_AS_UNPARSED;
    utf8proc_ssize_t size = utf8proc_map(field->data, (utf8proc_ssize_t)field->size, &text,
                                         UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    enum key_as_result result =
        size < 0 ? KEY_AS_NO_MEMORY : set_field(a, field, (char *)text, (size_t)size);
    free(text);
    return result;
}

/* ---- lists of transforms ---- */

static const struct key_transform {
    const char *name;
    enum key_as_result (*apply)(struct arena *a, struct weir_bytes *field);
} transforms[] = {
    {"url", to_url}, {"host", to_host}, {"domain", to_domain}, {"nfc", to_nfc}, {"ip", to_ip}};

static const struct key_transform *find_transform(const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof transforms / sizeof *transforms; i++)
        if (strlen(transforms[i].name) == size && memcmp(transforms[i].name, name, size) == 0)
            return &transforms[i];
    return NULL;
}

void key_as_network(struct key_as *k)
{
    static const struct key_transform network = {"network", to_network};

    *k = (struct key_as){1, {&network}};
}

bool key_as_open(struct key_as *k, const char *names)
{
    *k = (struct key_as){0};
    while (names) {
        size_t size = strcspn(names, ",");
        const struct key_transform *t = find_transform(names, size);

        if (!t)
            return reject("--key-as: '%.*s' is not a transform; use url, host, domain, nfc or ip",
                          (int)size, names);
        if (k->n == KEY_AS_MAX)
            return reject("--key-as has more than %d transforms", KEY_AS_MAX);
        if (t->apply == to_domain && !psl_builtin())
            return reject("--key-as domain: this libpsl has no Public Suffix List");
        k->transform[k->n++] = t;
        names = names[size] ? names + size + 1 : NULL;
    }
    return true;
}

enum key_as_result key_as_apply(const struct key_as *k, struct arena *a, struct weir_bytes *field,
                                const char **failed)
{
    enum key_as_result all = KEY_AS_DONE;

    for (uint32_t i = 0; i < k->n && all != KEY_AS_NO_MEMORY; i++) {
        enum key_as_result result = k->transform[i]->apply(a, field);

        if (result == KEY_AS_DONE)
            continue;
        if (all == KEY_AS_DONE)
            *failed = k->transform[i]->name;
        all = result;
    }
    return all;
}
