/* digests.c - see digests.h. */
#include "filter/digests.h"

#include <string.h>

#include "base/bits.h"

#define BLOCK_BYTES (DIGEST_BLOCK * sizeof(uint64_t))
#define SLAB_BLOCKS 128
#define SLAB_BYTES (SLAB_BLOCKS * BLOCK_BYTES)
#define WORK_LEAST 65536 /* digests */

/* ---- memory that grows ---- */

static void drop(const struct digests *d, struct growing *g)
{
    if (g->allocation)
        memory_close(&d->memory, g->allocation);
    *g = (struct growing){0};
}

/* Grow to at least this many bytes. The content is kept. */
static bool grow(const struct digests *d, struct growing *g, uint64_t bytes)
{
    struct growing larger = {.size = g->size ? g->size : 4096};

    if (bytes <= g->size)
        return true;
    while (larger.size < bytes)
        larger.size *= 2;
    larger.at = memory_open(&d->memory, larger.size, &larger.allocation);
    if (!larger.at)
        return false;
    if (g->at)
        memcpy(larger.at, g->at, (size_t)g->size);
    drop(d, g);
    *g = larger;
    return true;
}

/* ---- where blocks lie ---- */

static bool in_slabs(const struct digests *d)
{
    return !d->spill.put;
}

/* A slab of memory and its allocation. */
struct slab {
    uint8_t *at;
    void *allocation;
};

static uint8_t *slab_of(const struct digests *d, uint32_t block)
{
    const struct slab *slabs = d->slabs.at;

    return slabs[block / SLAB_BLOCKS].at + block % SLAB_BLOCKS * BLOCK_BYTES;
}

static bool take_slab(struct digests *d)
{
    struct slab slab;

    if (!grow(d, &d->slabs, (d->slabs_taken + 1) * sizeof slab))
        return false;
    slab.at = memory_open(&d->memory, SLAB_BYTES, &slab.allocation);
    if (!slab.at)
        return false;
    ((struct slab *)d->slabs.at)[d->slabs_taken++] = slab;
    return true;
}

static enum weir_status put_block(struct digests *d, uint32_t block, const uint64_t *digests)
{
    if (!in_slabs(d))
        return d->spill.put(d->spill.context, block * BLOCK_BYTES, digests, BLOCK_BYTES)
                   ? WEIR_OK
                   : WEIR_WRITE_FAILED;
    if (block / SLAB_BLOCKS >= d->slabs_taken && !take_slab(d))
        return WEIR_NO_MEMORY;
    memcpy(slab_of(d, block), digests, BLOCK_BYTES);
    return WEIR_OK;
}

static enum weir_status get_block(const struct digests *d, uint32_t block, uint64_t *digests)
{
    if (!in_slabs(d))
        return d->spill.get(d->spill.context, block * BLOCK_BYTES, digests, BLOCK_BYTES)
                   ? WEIR_OK
                   : WEIR_WRITE_FAILED;
    memcpy(digests, slab_of(d, block), BLOCK_BYTES);
    return WEIR_OK;
}

static uint64_t *buffer_of(const struct digests *d, uint32_t bin)
{
    return (uint64_t *)d->buffers.at + (uint64_t)bin * DIGEST_BLOCK;
}

/* ---- adding ---- */

enum weir_status digests_open(struct digests *d, const struct memory *memory)
{
    *d = (struct digests){.memory = *memory};
    d->recent[0] = 1; /* mark digest 0 as not added yet */
    return grow(d, &d->buffers, DIGEST_BINS * BLOCK_BYTES) ? WEIR_OK : WEIR_NO_MEMORY;
}

void digests_close(struct digests *d)
{
    for (uint64_t i = 0; i < d->slabs_taken; i++)
        memory_close(&d->memory, ((struct slab *)d->slabs.at)[i].allocation);
    drop(d, &d->slabs);
    drop(d, &d->buffers);
    drop(d, &d->chain);
    drop(d, &d->work);
    drop(d, &d->sorted);
}

/* Write the full buffer of a bin as a block. */
static enum weir_status empty_buffer(struct digests *d, uint32_t bin)
{
    struct digest_bin *b = &d->bin[bin];
    uint32_t block = d->blocks;

    if (!grow(d, &d->chain, (block + 1) * sizeof(uint32_t)))
        return WEIR_NO_MEMORY;
    if (b->n > DIGEST_BLOCK)
        ((uint32_t *)d->chain.at)[b->last] = block;
    else
        b->first = block;
    b->last = block;
    d->blocks++;
    return put_block(d, block, buffer_of(d, bin));
}

enum weir_status digests_add(struct digests *d, const struct weir_key *keys, size_t n)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < n && status == WEIR_OK; i++) {
        uint64_t digest = keys[i].lo, *recent = &d->recent[digest % DIGESTS_RECENT];
        uint32_t bin = (uint32_t)(digest >> 56);

        if (*recent == digest) /* frequent keys are stored once */
            continue;
        *recent = digest;
        buffer_of(d, bin)[d->bin[bin].n++ % DIGEST_BLOCK] = digest;
        if (d->bin[bin].n % DIGEST_BLOCK == 0)
            status = empty_buffer(d, bin);
    }
    return status;
}

/* ---- sorting ---- */

/* A radix sort by the lower seven bytes; digests of a bin have the same upper byte. After seven
 * passes the result is in the other array. */
static void sort_bytes(uint64_t *from, uint64_t *to, uint64_t n)
{
    for (uint32_t shift = 0; shift < 56; shift += 8) {
        uint64_t next[256] = {0}, sum = 0;

        for (uint64_t i = 0; i < n; i++)
            next[from[i] >> shift & 255]++;
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint64_t count = next[byte];

            next[byte] = sum;
            sum += count;
        }
        for (uint64_t i = 0; i < n; i++)
            to[next[from[i] >> shift & 255]++] = from[i];
        uint64_t *other = from;
        from = to;
        to = other;
    }
}

/* Insertion sort, for a few digests. */
static void sort_few(uint64_t *digests, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        uint64_t digest = digests[i], j = i;

        for (; j > 0 && digests[j - 1] > digest; j--)
            digests[j] = digests[j - 1];
        digests[j] = digest;
    }
}

#define FEW 64

/* Sort the digests of a bin and drop duplicates. Returns false if out of memory. */
static bool sort_work(struct digests *d, uint64_t *n)
{
    uint64_t kept = 0, *digests = d->work.at;

    if (*n <= FEW) {
        sort_few(digests, *n);
    } else {
        if (!grow(d, &d->sorted, d->work.size))
            return false;
        sort_bytes(d->work.at, d->sorted.at, *n);
        struct growing swapped = d->work;
        d->work = d->sorted;
        d->sorted = swapped;
        digests = d->work.at;
    }
    for (uint64_t i = 0; i < *n; i++)
        if (kept == 0 || digests[kept - 1] != digests[i])
            digests[kept++] = digests[i];
    *n = kept;
    return true;
}

/* Make space for one more block: by dropping duplicates if that frees half of it, otherwise by
 * growing. */
static enum weir_status make_space(struct digests *d, uint64_t *n)
{
    if ((*n + DIGEST_BLOCK) * sizeof(uint64_t) <= d->work.size)
        return WEIR_OK;
    if (!sort_work(d, n))
        return WEIR_NO_MEMORY;
    if (2 * (*n + DIGEST_BLOCK) * sizeof(uint64_t) <= d->work.size)
        return WEIR_OK;
    return grow(d, &d->work, 2 * d->work.size) ? WEIR_OK : WEIR_NO_MEMORY;
}

static enum weir_status load_bin(struct digests *d, uint32_t bin, uint64_t *n)
{
    const struct digest_bin *b = &d->bin[bin];
    uint64_t rest = b->n % DIGEST_BLOCK, blocks = b->n / DIGEST_BLOCK;
    enum weir_status status = WEIR_OK;
    uint32_t block = b->first;

    *n = 0;
    for (uint64_t i = 0; i < blocks && status == WEIR_OK; i++) {
        status = make_space(d, n);
        if (status == WEIR_OK)
            status = get_block(d, block, (uint64_t *)d->work.at + *n);
        *n += DIGEST_BLOCK;
        if (i + 1 < blocks)
            block = ((const uint32_t *)d->chain.at)[block];
    }
    if (status == WEIR_OK)
        status = make_space(d, n);
    if (status != WEIR_OK)
        return status;
    memcpy((uint64_t *)d->work.at + *n, buffer_of(d, bin), (size_t)rest * sizeof(uint64_t));
    *n += rest;
    return WEIR_OK;
}

/* Write a bin back to its blocks; it never has more digests than before. */
static enum weir_status store_bin(struct digests *d, uint32_t bin, uint64_t n)
{
    struct digest_bin *b = &d->bin[bin];
    const uint64_t *digests = d->work.at;
    enum weir_status status = WEIR_OK;
    uint32_t block = b->first;
    uint64_t at = 0;

    b->n = n;
    for (; at + DIGEST_BLOCK <= n && status == WEIR_OK; at += DIGEST_BLOCK) {
        status = put_block(d, block, digests + at);
        if (at + 2 * DIGEST_BLOCK <= n)
            block = ((const uint32_t *)d->chain.at)[block];
    }
    if (status == WEIR_OK)
        memcpy(buffer_of(d, bin), digests + at, (size_t)(n - at) * sizeof *digests);
    return status;
}

enum weir_status digests_settle(struct digests *d, uint64_t *different)
{
    enum weir_status status =
        grow(d, &d->work, WORK_LEAST * sizeof(uint64_t)) ? WEIR_OK : WEIR_NO_MEMORY;

    *different = 0;
    for (uint32_t bin = 0; bin < DIGEST_BINS && status == WEIR_OK; bin++) {
        uint64_t n = 0;

        status = load_bin(d, bin, &n);
        if (status == WEIR_OK && !sort_work(d, &n))
            status = WEIR_NO_MEMORY;
        if (status == WEIR_OK)
            status = store_bin(d, bin, n);
        *different += n;
    }
    drop(d, &d->work);
    drop(d, &d->sorted);
    return status;
}

/* ---- reading ---- */

void digests_begin(struct digest_reader *r, struct digests *from)
{
    r->from = from;
    r->bin = 0;
    r->at = 0;
    r->holds = false;
}

/* Load the block that begins at the current position. */
static enum weir_status hold_block(struct digest_reader *r)
{
    const struct digests *d = r->from;
    const struct digest_bin *b = &d->bin[r->bin];

    if (r->at + DIGEST_BLOCK > b->n) {
        memcpy(r->held, buffer_of(d, r->bin), (size_t)(b->n - r->at) * sizeof *r->held);
        return WEIR_OK;
    }
    r->block = r->at == 0 ? b->first : ((const uint32_t *)d->chain.at)[r->block];
    return get_block(d, r->block, r->held);
}

/* Find the next digest and load its block. Returns false at the end. */
static bool find_next(struct digest_reader *r, enum weir_status *status)
{
    while (r->bin < DIGEST_BINS && r->at == r->from->bin[r->bin].n) {
        r->bin++;
        r->at = 0;
        r->holds = false;
    }
    if (r->bin == DIGEST_BINS)
        return false;
    if (!r->holds)
        *status = hold_block(r);
    r->holds = true;
    return *status == WEIR_OK;
}

enum weir_status digests_of_part(struct digest_reader *r, uint64_t part, uint64_t parts,
                                 uint64_t *digests, uint64_t most, uint64_t *n)
{
    enum weir_status status = WEIR_OK;

    for (*n = 0; *n < most; ++*n) {
        if (!find_next(r, &status) || bits_scale(r->held[r->at % DIGEST_BLOCK], parts) != part)
            break;
        digests[*n] = r->held[r->at++ % DIGEST_BLOCK];
        r->holds = r->at % DIGEST_BLOCK != 0;
    }
    return status;
}
