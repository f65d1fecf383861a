/* commands.h - the commands, one file each. */
#ifndef WEIR_CMD_COMMANDS_H
#define WEIR_CMD_COMMANDS_H

#include "cli/options.h"

/* Which options a command takes; see option_table.c. */
enum {
    TAKES_FILTER = 1,   /* what the filter is to be like */
    TAKES_RECORDS = 2,  /* what records and keys are */
    TAKES_OUTPUT = 4,   /* where records go */
    TAKES_STATE = 8,    /* a state file */
    TAKES_THREADS = 16, /* how many work */
    TAKES_STATS = 32,   /* a report on standard error */
    TAKES_KEYS = 64,    /* weir filter's own */
    TAKES_JSON = 128,   /* weir info's own */
    TAKES_QUIET = 256,
    TAKES_FILE = 512,   /* a filter file to write */
    TAKES_TRUTH = 1024, /* weir eval's own */
    TAKES_IMPORTANCE = 2048,
    TAKES_SKETCH = 4096,  /* what is counted, and in which sketch */
    TAKES_QUERY = 8192,   /* weir count's own */
    TAKES_TOP = 16384,    /* weir top's own */
    TAKES_DEDUP = 32768,  /* weir dedup's own */
    TAKES_CHECK = 65536,  /* weir check's own */
    TAKES_STORE = 131072, /* how to deal with a store */
    TAKES_PLAN = 262144   /* weir plan's own */
};

struct command {
    const char *name;
    const char *operands; /* for the usage line */
    const char *does;     /* one line */
    unsigned takes;
    int (*run)(const struct options *o);
    const char *more; /* lines that help has before the options; may be NULL */
};

/* NULL if there is none of that name. */
const struct command *command_find(const char *name);
const struct command *command_at(unsigned i); /* NULL after the last */

int cmd_dedup(const struct options *o);
int cmd_build(const struct options *o);
int cmd_filter(const struct options *o);
int cmd_check(const struct options *o);
int cmd_ask(const struct options *o);
int cmd_add(const struct options *o);
int cmd_forget(const struct options *o);
int cmd_info(const struct options *o);
int cmd_merge(const struct options *o);
int cmd_eval(const struct options *o);
int cmd_count(const struct options *o);
int cmd_top(const struct options *o);
int cmd_plan(const struct options *o);
int cmd_gen(const struct options *o);
int cmd_list(const struct options *o);
int cmd_help(const struct options *o);
int cmd_version(const struct options *o);

#endif
