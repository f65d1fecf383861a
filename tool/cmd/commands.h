/* commands.h - the functions of the commands. */
#ifndef WEIR_CMD_COMMANDS_H
#define WEIR_CMD_COMMANDS_H

#include "cli/command.h"
#include "cli/options.h"
#include "cli/inputs.h"

struct batch;

int cmd_dedup(struct options *o);
int cmd_build(struct options *o);
int cmd_filter(struct options *o);
int cmd_check(struct options *o);
int cmd_ask(struct options *o);
int cmd_add(struct options *o);
int cmd_forget(struct options *o);
int cmd_info(struct options *o);
int cmd_merge(struct options *o);
int cmd_grow(struct options *o);
int cmd_eval(struct options *o);
int cmd_count(struct options *o);
int cmd_top(struct options *o);
int cmd_plan(struct options *o);
int cmd_gen(struct options *o);
int cmd_save(struct options *o);
int cmd_load(struct options *o);
int cmd_list(struct options *o);
int cmd_help(struct options *o);
int cmd_version(struct options *o);
int cmd_explain(struct options *o); /* --explain, instead of a command */

/* No file is both read and written, or written twice? False after a message. */
bool files_are_distinct(const struct options *o, const struct command *c);

void print_welcome(void); /* printed by weir without arguments */

/* ---- checks of input files before and while a run reads them: file_checks.c ---- */

/* Reject files that are not records, recognized by their first bytes (databases, filter files,
 * archives), with the command to use instead. Pipes are checked when they are read. Returns false
 * after a message. */
bool files_hold_records(const char *command, const struct inputs *inputs);

/* Keys such as 10.0.0.0/8 in a list: filters compare text, so such a key does not match the
 * addresses in it. They are counted while a list is read, and reported once. */
struct networks {
    uint64_t count, looked_at;
    const char *name; /* of the input, line and text of the first */
    uint64_t line;
    char text[64];
};

void networks_count(struct networks *n, const struct batch *b);
/* Prints nothing if there are none. fix: how addresses inside would match. */
void networks_report(const struct networks *n, const char *fix);

/* The same for a store that is a file of keys (keys:FILE or FILE): checks its first lines. */
void networks_report_store(const char *url);

#endif
