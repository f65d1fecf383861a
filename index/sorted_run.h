/* sorted_run.h - a file of sorted keys: written once, read by page, deleted.
 *
 * The file is its pages (page_file.h), then for each page hi of its first key (a fence, 8 bytes).
 * The fences are in memory, and a filter per page that has been read (sorted_run.c): looking up an
 * absent key reads nothing, and a present key is one read of 16 bytes. A run may be without
 * filters, if they do not fit into memory: each lookup then reads a page. */
#ifndef WEIR_INDEX_SORTED_RUN_H
#define WEIR_INDEX_SORTED_RUN_H

#include "index/page_file.h"

struct page_filter;

struct index_run {
    uint64_t id, keys, fence_sum;
    uint64_t bucket,
        expires; /* keys of one bucket are dropped together, at a time in ms or never: 0 */
    uint32_t level, pages;
    int fd;
    uint64_t *fence;
    struct page_filter *filter; /* NULL: none */
    size_t mapped;              /* pages that fence and filter can hold */
    bool busy;                  /* input of a merge */
};

/* Allocate a run of at most this many keys; NULL if out of memory. */
struct index_run *index_run_new(uint64_t id, uint64_t keys, bool filtered);

/* Open the file of a new run whose fence_sum is set. Returns NULL, or the error. */
const char *index_run_open(struct index_run *r, int dir);

/* Close the file and free the run. */
void index_run_free(struct index_run *r);

void index_run_drop_filters(struct index_run *r);

uint64_t index_run_bytes(const struct index_run *r);   /* of the file */
size_t index_run_memory(uint64_t keys, bool filtered); /* of fences and filters */

/* ---- looking up ---- */

/* Where a key may be: the keys of a page from from to to - 1. */
struct candidate {
    struct index_run *run;
    uint32_t key, page, from, to;
};

/* Append where keys[wanted[0]] ... keys[wanted[n - 1]] may be. Returns the number of candidates. */
uint32_t index_run_locate(struct index_run *r, const struct digest *keys, const uint16_t *wanted,
                          uint32_t n, struct candidate *out);

enum found { FOUND, ABSENT, LATER, BROKEN };

/* Read a candidate, and build the filter of its page if there is none yet. LATER: it is not in the
 * page cache, and will be; never if wait. BROKEN: with errno. */
enum found index_run_look(struct candidate c, struct digest key, bool wait);

/* ---- writing ---- */

/* Write a new run: keys in ascending order, then the end, which syncs it. False with errno. */
bool index_run_create(struct index_run *r, struct page_file *f, int dir);
bool index_run_add(struct index_run *r, struct page_file *f, struct digest key);
bool index_run_end(struct index_run *r, struct page_file *f);

#endif
