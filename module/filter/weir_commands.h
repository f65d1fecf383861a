/* weir_commands.h - the commands WEIR.*, and what they share. */
#ifndef MODULE_WEIR_COMMANDS_H
#define MODULE_WEIR_COMMANDS_H

#include "filter/filter_value.h"

/* A new filter from a client's spec: NULL with a message that says why. */
struct filter_value *filter_create(struct rm_ctx *ctx, const char *text, size_t size,
                                   struct weir_error *error);

int command_observe(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int command_merge(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int command_info(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int command_save(struct rm_ctx *ctx, struct rm_string **argv, int argc);
int command_load(struct rm_ctx *ctx, struct rm_string **argv, int argc);

#endif
