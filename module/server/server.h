/* server.h - the server that has loaded the module: its calls, its memory. */
#ifndef MODULE_SERVER_H
#define MODULE_SERVER_H

#include <stdbool.h>
#include <weir.h>

#include "server/abi.h"

/* Find every call of abi.h. NULL, or the name of one that the server does not have. */
const char *server_find_calls(struct rm_ctx *ctx);

/* Zeroed memory that the server counts; NULL if there is none. */
void *server_take(size_t size);
void server_give(void *block);

/* Did the command come from a master, an AOF or an RDB? Then it was allowed once, and is
 * carried out whatever the limits are here. */
bool server_obeys(struct rm_ctx *ctx);

/* Milliseconds since 1970: the server's clock at the first call, and the time that has passed
 * since. Setting the clock of a running server changes nothing. */
uint64_t server_time(void);

/* The latest time that a command may have: a day ahead of the server's clock; any, if the server
 * obeys. */
uint64_t server_time_most(struct rm_ctx *ctx);

#endif
