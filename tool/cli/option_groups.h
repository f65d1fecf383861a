/* option_groups.h - what single stages take of the command line: output, state, store,
 * measuring. Records are in records.h, filters in filter_request.h. */
#ifndef WEIR_CLI_OPTION_GROUPS_H
#define WEIR_CLI_OPTION_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

enum emit {
    EMIT_UNIQUE,
    EMIT_DUPLICATES,
    EMIT_ALL,
    EMIT_MEMBERS = EMIT_UNIQUE, /* weir check */
    EMIT_OTHERS = EMIT_DUPLICATES
};

/* Words for the answers: not seen before, seen before, no answer (the record is malformed,
 * or a store could not tell). */
struct answers {
    char text[128]; /* that the words lie in */
    const char *word[3];
};

enum record_format {
    RECORDS_TEXT, /* as they are */
    RECORDS_JSON  /* an object each: the record, its key and its verdict */
};

/* What becomes of the records. */
struct output {
    enum record_format format;
    const char *path;       /* NULL: standard output */
    bool append, overwrite; /* what the file holds stays, or is replaced even if a state knows it */
    enum emit emit;
    struct answers *answers; /* --words: printed alone, one for each record; or NULL */
    bool count_only;
    bool mute; /* records are not written at all */
};

/* What is remembered between runs. */
struct state_options {
    const char *path;       /* NULL: none is wanted */
    const char *checkpoint; /* as it was asked for, or NULL */
    double seconds;         /* between checkpoints; 0: not by time */
    uint64_t records;       /* 0: not by records */
    bool resume;
};

enum silence { SILENCE_STOPS, SILENCE_PASSES, SILENCE_DROPS };

/* How long to bear with a store. */
struct store_patience {
    double timeout; /* seconds */
    uint32_t retries;
    enum silence silence; /* what becomes of records that it cannot tell of */
};

/* A filter that lives in servers. */
struct at_options {
    const char *url;   /* NULL: it is here */
    double timeout;    /* seconds */
    uint32_t replicas; /* to wait for */
};

/* When a filter is past what was asked of it. */
enum on_full { FULL_WARNS, FULL_STOPS };

#define LIST_MAX 64

/* Values of an option that may be given several times, in their order. */
struct values {
    const char *at[LIST_MAX];
    int n;
};

/* How to measure. */
struct measures {
    struct values algorithms, memories; /* all that were given */
    const char *synthetic;              /* a stream instead of files */
    uint64_t baseline_memory;
    bool by_importance;
    uint32_t curve, permutations; /* 0 if not given */
    const char *report;           /* page to write */
    bool finite;                  /* the stream ends with what is there */
};

#endif
