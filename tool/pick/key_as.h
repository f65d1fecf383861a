/* key_as.h - transforms of key fields (--key-as): URLs, host names, domains, Unicode text and IP
 * addresses in one canonical form, so that different spellings are one key. */
#ifndef WEIR_PICK_KEY_AS_H
#define WEIR_PICK_KEY_AS_H

#include "pipe/batch.h"

#define KEY_AS_MAX 8

struct key_as {
    uint32_t n; /* transforms, in the order in which they are applied; 0: none */
    const struct key_transform *transform[KEY_AS_MAX];
};

enum key_as_result { KEY_AS_DONE, KEY_AS_MASKED, KEY_AS_UNPARSED, KEY_AS_NO_MEMORY };

/* Parse a list of names; NULL is an empty list. False after a message. */
bool key_as_open(struct key_as *k, const char *names);

/* The transform of --cidr: IP networks and addresses as canonical text. KEY_AS_MASKED: the address
 * had bits after the prefix. */
void key_as_network(struct key_as *k);

/* Apply all transforms to one field. A transform that cannot parse the value leaves it as it is;
 * the result is then KEY_AS_UNPARSED, and `failed` is the name of the first such transform. */
enum key_as_result key_as_apply(const struct key_as *k, struct arena *a, struct weir_bytes *field,
                                const char **failed);

#endif
