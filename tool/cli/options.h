/* options.h - the command line: what was asked for. */
#ifndef WEIR_CLI_OPTIONS_H
#define WEIR_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SETS_MAX 16
#define LIST_MAX 64

enum format { FORMAT_LINES, FORMAT_CSV, FORMAT_TSV, FORMAT_JSONL, FORMAT_DELIMITED };
enum emit {
    EMIT_UNIQUE,
    EMIT_DUPLICATES,
    EMIT_ALL,
    EMIT_MEMBERS = EMIT_UNIQUE, /* weir check */
    EMIT_OTHERS = EMIT_DUPLICATES
};
enum silence { SILENCE_STOPS, SILENCE_PASSES, SILENCE_DROPS };
enum stats_style { STATS_DEFAULT, STATS_TEXT, STATS_JSON, STATS_NONE };

/* Values of an option that may be given several times, in their order. */
struct list {
    const char *at[LIST_MAX];
    int n;
};

enum table_style { TABLE_ALIGNED, TABLE_TSV, TABLE_JSON };

struct options {
    const char *command;

    const char *algorithm, *memory, *fpr, *seed; /* the last of each */
    struct list algorithms, memories;            /* all, for weir eval */
    const char *set[SETS_MAX];
    int sets;

    enum format format;
    bool nul;       /* records end with NUL, not with a line break */
    char delimiter; /* of fields; 0: blanks */
    bool header;
    const char *key, *importance;
    const char *weight; /* the same field for what is counted */
    bool ignore_case;
    uint64_t max_record;
    bool skip; /* malformed records, instead of stopping */

    enum emit emit;
    bool count_only, invert, quiet, json;
    const char *output;
    enum stats_style stats;

    const char *state;
    bool checkpoint;           /* one was asked for */
    double checkpoint_seconds; /* 0: not by time */
    uint64_t checkpoint_records;
    bool resume;

    const char *query; /* file of keys to tell the counts of */
    uint32_t number;   /* of keys to list; 0 if not given */
    double share;      /* of those to list; 0 if not given */
    uint32_t ngrams;   /* words in a key; 0: keys are what --key says */

    const char *keys, *strict;

    const char *oracle; /* URL of the store */
    const char *screen, *window, *theta;
    double max_wait, timeout; /* seconds */
    uint32_t retries;
    enum silence silence; /* what becomes of records that the store cannot tell of */

    const char *synthetic; /* a stream instead of files */
    uint64_t truth_memory;
    enum table_style table;
    const char *stream; /* the same for weir plan */
    double fnr;         /* ceiling; 0 if not given */
    double cost[2];     /* of a false positive and a false negative; 0 if not given */
    bool by_importance;
    uint32_t curve, permutations; /* 0 if not given */
    const char *report;           /* page to write */

    uint32_t threads, shards; /* shards: 0 if not given */

    char **operand;
    int operands;
};

/* The field that is a number: importance or weight; NULL if there is none. */
static inline const char *options_measure(const struct options *o)
{
    return o->weight ? o->weight : o->importance;
}

/* Read the words after the command's name; 0, or the exit status after a
 * sentence on what was wrong. --help is answered here: *done becomes true. */
int options_read(struct options *o, int argc, char **argv, bool *done);

/* What the records are, for the state file: equal texts, equal keys. */
void options_describe_records(const struct options *o, char *buffer, unsigned long size);

/* The options of a command, for its help. */
void options_print(const char *command);

#endif
