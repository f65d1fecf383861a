/* option_groups.h - options of single stages: output, state, store, servers, measuring. Those of
 * records are in inputs.h, those of filters in filter_request.h. */
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

/* --words: for new keys, for seen keys, and for records without a verdict (malformed, or the store
 * failed). */
struct answers {
    char text[128]; /* contains the words */
    const char *word[3];
};

enum record_format {
    RECORDS_TEXT, /* unchanged */
    RECORDS_JSON  /* an object each: record, key and verdict */
};

/* How records are written. */
struct output {
    enum record_format format;
    const char *path; /* NULL: standard output */
    bool append, overwrite;
    enum emit emit;
    struct answers *answers; /* --words, or NULL */
    const char *rejects;     /* file for the records that do not pass; or NULL */
    enum record_format rejects_format;
    const char *audit; /* file for the audit summary; or NULL */
    bool count_only;
    bool mute; /* write no records */
};

/* The state file. */
struct state_options {
    const char *path;       /* NULL: none */
    const char *checkpoint; /* as given, or NULL */
    double seconds;         /* between checkpoints; 0: not by time */
    uint64_t records;       /* 0: not by records */
    bool resume;
};

enum silence { SILENCE_STOPS, SILENCE_PASSES, SILENCE_DROPS };

/* Failures of a store. */
struct store_patience {
    double timeout; /* seconds */
    uint32_t retries;
    enum silence silence; /* for records without an answer */
};

/* A filter in servers. */
struct at_options {
    const char *url;   /* NULL: the filter is local */
    double timeout;    /* seconds */
    uint32_t replicas; /* that must confirm a write */
};

/* When a filter exceeds its error rate or evicts keys. */
enum on_full { FULL_WARNS, FULL_STOPS };

#define LIST_MAX 64

/* Values of an option that may be given several times, in their order. */
struct values {
    const char *at[LIST_MAX];
    int n;
};

/* How to measure. */
struct measures {
    struct values algorithms, memories;
    const char *synthetic; /* a stream instead of files */
    uint64_t baseline_memory;
    bool by_importance;
    uint32_t curve, permutations; /* 0 if not given */
    const char *report;           /* page to write */
    bool finite;                  /* the stream ends with these records */
};

#endif
