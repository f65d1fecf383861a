/* by_filters.h - verdicts of many filters: which of them have a key, or whether any
 * has. A batch is hashed once for all filters with the same hash, and looked up in one filter
 * after the other. */
#ifndef WEIR_VERDICT_BY_FILTERS_H
#define WEIR_VERDICT_BY_FILTERS_H

#include "state/files.h"
#include "verdict/verdict.h"

struct one_filter {
    const char *path;
    char *name; /* as it is printed */
    struct shards shards;
    struct view view; /* the mapped file, if shards.viewed */
    struct trace_hash hash;
    uint64_t seen; /* records that it has */
};

struct many_filters {
    struct one_filter *filter;
    uint32_t count;
    uint32_t threads;
    const char *keys; /* how keys are made, as those of the filters must be; or NULL */
    bool whole;       /* load the files, because their figures are printed */
    bool named;       /* records get the names of the filters that contain them, */
    bool quoted;      /* as JSON strings, */
    char separator;   /* with this in between */
};

/* Add filter files one by one, for lookups: mapped, unless `whole`. False after a message. */
bool many_open(struct many_filters *m, uint32_t most, uint32_t threads, bool whole);
bool many_add(struct many_filters *m, const char *path);
void many_close(struct many_filters *m);

struct verdict verdict_by_filters(struct many_filters *m);

#endif
