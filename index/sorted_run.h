/* sorted_run.h - a file of sorted keys: written once, read by page, deleted.
 *
 * The file is its pages (key_page.h), then for each page hi of its first key (a fence, 8 bytes).
 * The fences and the filters of the pages are in memory: looking up an absent key reads nothing,
 * and a present key is one read of 16 bytes. A filter is built when its page is written or first
 * read, so opening a run reads the fences only. A run may be without filters, if they do not fit
 * into memory: each lookup then reads a page. */
#ifndef WEIR_INDEX_SORTED_RUN_H
#define WEIR_INDEX_SORTED_RUN_H

#include <stdatomic.h>

#include "index/key_page.h"

struct index_run {
    uint64_t id, keys, fence_sum;
    uint64_t bucket,
        expires; /* keys of one bucket are dropped together, at a time in ms or never: 0 */
    uint32_t level, pages;
    int fd;
    uint64_t *fence;
    struct index_page_filter *filter; /* NULL: none */
    size_t mapped;                    /* pages that fence and filter can hold */
    /* While a merge is under way, lookups use its output up to the last page written, and its
     * inputs from there on: this run is used for hi from first to last. */
    uint64_t first, last;
    uint32_t visible; /* pages that can be read */
    bool busy;        /* input or output of a merge */
};

/* Allocate a run of at most this many keys; NULL if out of memory. */
struct index_run *index_run_new(uint64_t id, uint64_t keys, bool filtered);

/* Open the file of a run whose id, keys, pages and fence_sum are set. Returns NULL, or the
 * error. */
const char *index_run_open(struct index_run *r, int dir, bool filtered);

/* Close the file and free the run. */
void index_run_free(struct index_run *r);

uint64_t index_run_bytes(const struct index_run *r); /* of the file */
size_t index_run_memory(const struct index_run *r);

/* Free memory: all filters, or those of pages before r->first. */
void index_run_drop_filters(struct index_run *r);
void index_run_release(struct index_run *r);

/* The last page that may contain a key with this hi; false if there is none. A key with the same hi
 * as the first of that page may also be in the page before it. */
static inline bool index_run_page(const struct index_run *r, uint64_t hi, uint32_t *page)
{
    if (r->visible == 0 || hi < r->first || hi > r->last || hi < r->fence[0])
        return false;
    uint32_t end = r->visible - 1;
    uint32_t g = (uint32_t)((hi >> 32) * r->mapped >> 32);

    g = g < end ? g : end;
    while (g < end && r->fence[g + 1] <= hi)
        g++;
    while (r->fence[g] > hi)
        g--;
    *page = g;
    return true;
}

/* hi of the first key after page g. */
static inline uint64_t index_run_next(const struct index_run *r, uint32_t page)
{
    if (page + 1 < r->visible)
        return r->fence[page + 1];
    return r->last == UINT64_MAX ? UINT64_MAX : r->last + 1;
}

/* Read a page, check it, and build its filter if there is none yet. */
bool index_run_read(struct index_run *r, uint32_t number, struct index_page *page, int flags);

/* ---- writing ---- */

struct index_writer {
    struct index_run *run;
    struct index_pages file;
    _Atomic uint32_t *done;    /* number of pages that can be read, updated while writing */
    const atomic_bool *cancel; /* stop as soon as possible, with ECANCELED */
};

/* Write a run of at most run->mapped pages. The other fields are set. False with errno. */
bool index_writer_open(struct index_writer *w, int dir);

/* Keys in ascending order. False with errno. */
bool index_writer_add(struct index_writer *w, struct digest key);

/* Complete the file, if ok, and sync it. Free the writer, but not the run. False with errno; the
 * file is deleted when the index is opened again. */
bool index_writer_close(struct index_writer *w, bool ok);

#endif
