/* options.h - the command line: what was asked for, in the pieces that the stages
 * take. Only cli/, cmd/ and main.c see the whole. */
#ifndef WEIR_CLI_OPTIONS_H
#define WEIR_CLI_OPTIONS_H

#include "cli/progress.h"
#include "cli/option_groups.h"
#include "cli/print.h"
#include "cli/records.h"
#include "cli/filter_request.h"

struct options {
    const char *command;
    struct records records;
    char keys[1024]; /* fields of a repeated --key, joined; records.key may point here */
    struct filter_request filter; /* filter, sketch or screen */
    struct output output;
    struct answers answers; /* that output may point to */
    struct verbosity verbosity;
    struct state_options state;
    struct store_patience patience; /* with a store */
    struct at_options at;           /* in servers */
    struct measures measures;       /* weir eval's own */
    enum on_full on_full;
    enum print_format format; /* of results; records have output.format */
    bool wide;                /* the table is to have all columns */
    uint32_t threads, shards; /* shards: 0 if not given */
    bool verify;              /* weir info's own */
    bool verbose;             /* weir version's own */
    bool keys_differ;         /* use a filter whose keys were made in another way */
    bool explain;             /* print how records are read, and do nothing else */
    const char *once_per;     /* weir dedup's own */

    struct set_options { /* weir filter's own */
        const char *keys, *strict;
        bool invert;
        bool fixed; /* weir build's own */
    } set;

    struct ask_options { /* weir ask's own: of many filters */
        bool which, any;
    } ask;

    struct check_options { /* weir check's own */
        const char *store; /* URL of the store */
        const char *screen, *window, *theta;
        double max_wait; /* seconds */
        bool waits;      /* that was asked for */
    } check;

    struct count_options { /* of weir count and weir top */
        const char *query; /* file of keys to tell the counts of */
        uint32_t number;   /* of keys to list; 0 if not given */
        double share;      /* of those to list; 0 if not given */
        uint32_t ngrams;   /* words in a key; 0: keys are what --key says */
    } count;

    struct plan_options { /* weir plan's own */
        const char *stream, *window, *count, *gap, *members;
        double fnr;     /* ceiling; 0 if not given */
        double cost[2]; /* of a false positive and a false negative; 0 if not given */
    } plan;

    char **operand;
    int operands;
    int behind; /* how many of them stand behind "--"; -1 without one */
};

/* Read the words after the command's name; 0, or the exit status after a
 * message on what was wrong. --help is answered here: *done becomes true. */
int options_read(struct options *o, int argc, char **argv, bool *done);

/* The options of a command, for its help. */
void options_print(const char *command);

#endif
