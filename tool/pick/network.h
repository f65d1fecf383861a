/* network.h - IP networks as keys (--cidr): 10.0.0.0/8, 2001:db8::/32, or a single address. A set
 * of networks is a filter with one key per network. An address is in the set if the filter has its
 * prefix of any length in use, so one lookup per length is needed. */
#ifndef WEIR_PICK_NETWORK_H
#define WEIR_PICK_NETWORK_H

#include "pipe/batch.h"

#define NETWORK_TEXT 52 /* bytes of a network as text, with its terminator */
#define NETWORK_KEY 18  /* maximum bytes of the key of a network */

struct network {
    bool six;       /* IPv6 */
    bool canonical; /* set if the text was IPv4 as network_print() prints it */
    uint8_t bits;
    uint8_t address[16]; /* 4 of them for IPv4; bits after the prefix are 0 */
};

enum network_result { NETWORK_FINE, NETWORK_MASKED, NETWORK_INVALID };

/* Parse ADDRESS or ADDRESS/BITS, with blanks around it; ::ffff:a.b.c.d is IPv4. NETWORK_MASKED: the
 * address had bits after the prefix, which were cleared. */
enum network_result network_parse(struct network *n, const char *text, size_t size);

/* Canonical text: RFC 5952, and a single address without its length. Returns the size. */
size_t network_print(const struct network *n, char to[NETWORK_TEXT]);

/* The first and last address of a network, to be compared by memcmp(). */
struct network_range {
    uint8_t first[16], last[16];
};
struct network_range network_range(const struct network *n);

/* ---- the prefix lengths of a set ---- */

struct prefix_lengths {
    uint64_t bits[4]; /* bit n % 64 of word n / 64: IPv4 for n <= 32, IPv6 /n for 64 + n */
};

/* The number of lookups for an address: the maximum of both families. */
uint32_t prefixes_count(const struct prefix_lengths *p);
/* The false-positive rate of an address, from that of a lookup. */
double prefixes_error(const struct prefix_lengths *p, double error);
void prefixes_join(struct prefix_lengths *p, const struct prefix_lengths *other);

/* "4:8,16,32 6:48" */
#define PREFIXES_TEXT 640
void prefixes_print(const struct prefix_lengths *p, char text[PREFIXES_TEXT]);

/* Set the line of a filter file's note. */
void prefixes_write(const struct prefix_lengths *p, char *note, size_t room);
/* Parse it. False if there is none, or if it is damaged. */
bool prefixes_read(struct prefix_lengths *p, const char *note);

/* ---- batches ---- */

/* Replace the keys of the good records, which are networks as text, by those that the filter
 * stores, and add their lengths. Any thread. */
void networks_convert(struct prefix_lengths *p, struct batch *b);

/* Keys to look up, with the records they belong to. */
#define NETWORK_LOOKUPS 1024
struct network_lookups {
    uint32_t n;
    uint8_t data[NETWORK_LOOKUPS][NETWORK_KEY];
    struct weir_bytes key[NETWORK_LOOKUPS];
    uint32_t record[NETWORK_LOOKUPS];
};

/* Add the prefixes of a record's network or address, this long and shorter; call full() when there
 * is no more room. */
void networks_look_up(struct network_lookups *l, const struct prefix_lengths *p,
                      const struct weir_bytes *key, uint32_t record, void (*full)(void *context),
                      void *context);

#endif
