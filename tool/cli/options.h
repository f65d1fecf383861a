/* options.h - the parsed command line, in groups for each stage. Only cli/, cmd/ and main.c use the
 * whole struct. */
#ifndef WEIR_CLI_OPTIONS_H
#define WEIR_CLI_OPTIONS_H

#include "cli/progress.h"
#include "cli/option_groups.h"
#include "cli/print.h"
#include "cli/inputs.h"
#include "cli/filter_request.h"

struct options {
    const char *command;
    struct records records;
    char keys[1024]; /* fields of a repeated --key, joined; records.key may point here */
    struct filter_request filter; /* filter, sketch or screen */
    struct output output;
    struct answers answers; /* output.answers may point to it */
    struct verbosity verbosity;
    struct state_options state;
    struct store_patience patience; /* with a store */
    struct at_options at;           /* of a filter in servers */
    struct measures measures;       /* weir eval */
    enum on_full on_full;
    enum print_format format; /* of results; records have output.format */
    bool wide;                /* print all columns */
    uint32_t threads, shards; /* shards: 0 if not given */
    bool verify;              /* weir info */
    bool verbose;             /* weir version */
    bool keys_differ;         /* use a filter whose keys were made with other options */
    bool explain;             /* print how records are read, and do nothing else */
    const char *once_per;     /* weir dedup */

    struct exact_options { /* weir dedup */
        const char *dir;   /* NULL: a filter is used */
        double keep;       /* seconds; 0: forever */
        uint64_t disk;     /* bytes; 0: no limit */
    } exact;

    struct near_request { /* weir dedup */
        double threshold; /* 0: keys are compared, not texts */
        uint32_t shingle; /* words; 0 if not given */
        enum on_full on_flood;
    } near;

    struct parts_options {   /* weir dedup --parts */
        double drop_above;   /* share of a text; 0 if not given */
        const char *against; /* filter file; NULL: the parts of earlier texts */
    } parts;

    struct set_options { /* weir filter */
        const char *keys, *strict;
        bool invert;
        bool fixed; /* weir build */
    } set;

    struct ask_options { /* weir ask with many filters */
        bool which, any;
    } ask;

    struct check_options { /* weir check */
        const char *store; /* URL of the store */
        const char *screen;
        double max_wait; /* seconds */
        bool waits;      /* --max-wait was given */
    } check;

    struct count_options { /* weir count and weir top */
        const char *query; /* file of keys whose counts are printed */
        uint32_t number;   /* of keys to list; 0 if not given */
        double share;      /* min share of keys to list; 0 if not given */
        uint32_t ngrams;   /* words per key; 0: the whole key */
    } count;

    struct plan_options { /* weir plan */
        const char *stream, *window, *count, *gap, *members, *rate;
        double fnr; /* max false-negative rate; 0 if not given */
    } plan;

    char **operand;
    int operands;
    int behind; /* operands after "--"; -1 if there is no "--" */
};

/* The operands from this one on, as files to read. */
static inline struct inputs options_inputs(const struct options *o, int from)
{
    return (struct inputs){o->operand + from, (uint32_t)(o->operands - from)};
}

/* Parse the words after the command name. Returns 0, or the exit status after a message. Prints the
 * help and sets *done if --help is given. */
int options_read(struct options *o, int argc, char **argv, bool *done);

/* Print the help of a command. */
void options_print(const char *command);

#endif
