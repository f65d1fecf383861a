/* settings.h - what a server's owner may choose: as arguments of the module, and most of it
 * by CONFIG SET later. */
#ifndef MODULE_SETTINGS_H
#define MODULE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/abi.h"

/* Read the arguments: NAME word, DEFAULT spec, LARGEST bytes, DIALECT redis|valkey. NULL, or a
 * spec that says what is wrong. The first thing to be called. */
const char *settings_read(struct rm_string **argv, int argc);

/* Tell the server of them: RM_OK or RM_ERR. */
int settings_register(struct rm_ctx *ctx);

const char *settings_name(void); /* of the module */
const char *settings_spec(void); /* of a filter that WEIR.OBSERVE creates */
uint64_t settings_largest(void); /* bytes that a client's filter may take, 0: any */
bool settings_valkey(void);      /* answer as valkey-bloom where that differs */

#endif
