/* command.h - what a command is, and which options it takes. The commands
 * themselves are listed in main.c. */
#ifndef WEIR_CLI_COMMAND_H
#define WEIR_CLI_COMMAND_H

struct options;

/* Which options a command takes; see option_table.c. */
enum {
    TAKES_FILTER = 1,   /* what the filter is to be like */
    TAKES_RECORDS = 2,  /* what records and keys are */
    TAKES_OUTPUT = 4,   /* where records go */
    TAKES_STATE = 8,    /* a state file */
    TAKES_THREADS = 16, /* how many work */
    TAKES_STATS = 32,   /* a report on standard error */
    TAKES_KEYS = 64,    /* weir filter's own */
    TAKES_INFO = 128,   /* weir info's own */
    TAKES_QUIET = 256,
    TAKES_FILE = 512,   /* a filter file to write */
    TAKES_TRUTH = 1024, /* weir eval's own */
    TAKES_IMPORTANCE = 2048,
    TAKES_SKETCH = 4096,      /* what is counted, and in which sketch */
    TAKES_QUERY = 8192,       /* weir count's own */
    TAKES_TOP = 16384,        /* weir top's own */
    TAKES_DEDUP = 32768,      /* weir dedup's own */
    TAKES_CHECK = 65536,      /* weir check's own */
    TAKES_STORE = 131072,     /* how to deal with a store */
    TAKES_PLAN = 262144,      /* weir plan's own */
    TAKES_ASK = 524288,       /* weir ask's own */
    TAKES_LIST = 1048576,     /* weir list's own */
    TAKES_FIXED = 2097152,    /* weir build's own */
    TAKES_FULL = 4194304,     /* keys go into a filter, which may fill */
    TAKES_TIME = 8388608,     /* records that say when they were made */
    TAKES_AT = 16777216,      /* the filter may live in servers, */
    TAKES_WAIT = 33554432,    /* where keys are shown to it */
    TAKES_VERSION = 67108864, /* weir version's own */
    TAKES_MADE = 134217728    /* a filter that was made by another run */
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

/* Say that there is none, and which may be meant. EXIT_ERROR. */
int command_refuse(const char *name);

#endif
