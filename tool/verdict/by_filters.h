/* by_filters.h - verdicts of many filters: which of them have a key, or whether any
 * has. A batch is hashed once for all that hash alike, and shown whole to one filter
 * after the other. */
#ifndef WEIR_VERDICT_BY_FILTERS_H
#define WEIR_VERDICT_BY_FILTERS_H

#include "state/files.h"
#include "verdict/verdict.h"

struct one_filter {
    const char *path;
    char *name; /* as it is printed */
    struct shards shards;
    struct view view; /* where it lies, if shards.viewed */
    char hash[48];    /* how it hashes keys */
    uint64_t seen;    /* records that it has */
};

struct workbench;

struct many_filters {
    struct one_filter *filter;
    uint32_t count;
    uint32_t parts;          /* threads that ask them at once */
    struct workbench *bench; /* of each part */
    const char *keys;        /* how keys are made, as those of the filters must be; or NULL */
    bool whole;              /* they are loaded: their figures are wanted */
    bool named;              /* records get the names of those that have them, */
    bool quoted;             /* as JSON strings, */
    char separator;          /* with this in between */
};

/* Filters are taken one by one, to be asked only: in place unless the whole is wanted.
 * False after a message. */
bool many_open(struct many_filters *m, uint32_t most, uint32_t threads, bool whole);
bool many_add(struct many_filters *m, const char *path);
void many_close(struct many_filters *m);

struct verdict verdict_by_filters(struct many_filters *m);

#endif
