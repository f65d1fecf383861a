/* command.h - commands (the list is in main.c) and the options they take (the table is in
 * option_table.c). */
#ifndef WEIR_CLI_COMMAND_H
#define WEIR_CLI_COMMAND_H

#include "cli/options.h"

/* Groups of options; a command takes several. */
enum {
    TAKES_FILTER = 1 << 0,  /* the filter to open */
    TAKES_RECORDS = 1 << 1, /* the format of records and keys */
    TAKES_OUTPUT = 1 << 2,  /* where and how records are written */
    TAKES_STATE = 1 << 3,   /* a state file */
    TAKES_THREADS = 1 << 4, /* threads and shards */
    TAKES_STATS = 1 << 5,   /* a report on standard error */
    TAKES_KEYS = 1 << 6,    /* weir filter */
    TAKES_INFO = 1 << 7,    /* weir info */
    TAKES_QUIET = 1 << 8,
    TAKES_FILE = 1 << 9,   /* a filter file to write */
    TAKES_TRUTH = 1 << 10, /* weir eval */
    TAKES_IMPORTANCE = 1 << 11,
    TAKES_SKETCH = 1 << 12,  /* what to count, in which sketch */
    TAKES_QUERY = 1 << 13,   /* weir count */
    TAKES_TOP = 1 << 14,     /* weir top */
    TAKES_DEDUP = 1 << 15,   /* weir dedup */
    TAKES_CHECK = 1 << 16,   /* weir check */
    TAKES_STORE = 1 << 17,   /* timeouts and retries of a store */
    TAKES_PLAN = 1 << 18,    /* weir plan */
    TAKES_ASK = 1 << 19,     /* weir ask */
    TAKES_LIST = 1 << 20,    /* weir list */
    TAKES_FIXED = 1 << 21,   /* weir build */
    TAKES_FULL = 1 << 22,    /* keys are inserted, so the filter may fill up */
    TAKES_TIME = 1 << 23,    /* event time */
    TAKES_AT = 1 << 24,      /* the filter may be in servers */
    TAKES_WAIT = 1 << 25,    /* keys are inserted in servers */
    TAKES_VERSION = 1 << 26, /* weir version */
    TAKES_MADE = 1 << 27,    /* a filter that another run created */
    TAKES_GROW = 1 << 28,    /* weir grow */
    TAKES_REJECTS = 1 << 29  /* a file of rejected records, an audit summary */
};

struct command {
    const char *name;
    const char *operands; /* for the usage line */
    const char *does;     /* one line */
    unsigned takes;
    int (*run)(struct options *o);
    const char *examples; /* lines of help before the options; may be NULL */
};

/* NULL if there is no such command. */
const struct command *command_find(const char *name);
const struct command *command_at(unsigned i); /* NULL after the last */

/* Report an unknown command and suggest the closest one. Returns EXIT_ERROR. */
int command_reject(const char *name);

/* How a value is stored at `offset` in struct options. */
enum value_kind {
    VALUE_TEXT,   /* const char * */
    VALUE_SWITCH, /* bool */
    VALUE_WORD,   /* unsigned: the index of the word in `takes` ("stop|pass|drop"), plus `least` */
    VALUE_NUMBER, /* uint32_t, from `least` to `most`; also of the next three */
    VALUE_SIZE,   /* uint64_t, bytes */
    VALUE_TIME,   /* double, seconds */
    VALUE_RATE    /* double */
};

/* A row of the option table. */
struct option_row {
    const char *name;
    char letter;       /* 0: none */
    const char *takes; /* name of the value in help; NULL: a switch */
    unsigned who;      /* TAKES_... of the commands that have it */
    const char *help;
    bool (*read)(struct options *o, const char *value); /* NULL: as `kind` says */
    enum value_kind kind;
    size_t offset;
    double least, most;
    const char *expected; /* for the message on an invalid value, if `takes` is not enough */
    unsigned without;     /* TAKES_... of commands with a row of their own */
    bool repeats;         /* may be given several times: read() joins or collects the values */
};

#define OPTION_ROWS_MAX 128

extern const struct option_row option_rows[];
extern const int option_count;

#endif
