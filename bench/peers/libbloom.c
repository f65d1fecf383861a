/* libbloom.c - Debian's libbloom, a plain Bloom filter: bloom_add() checks and adds one key at a
 * time.
 *
 * It is opened with the bits and hash functions that weir's bloom has at the same memory, then half
 * of its bits are set at random, as in a filter at capacity. libbloom counts bits in an int, so
 * there is no comparison from 256 MiB on. Without libbloom-dev nothing is measured. */
#include "speed.h"

#ifdef HAVE_LIBBLOOM
#include <bloom.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"

bool libbloom_is_available(void)
{
    return true;
}

static uint32_t k_of_bloom(const struct table *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (!strcmp(t->rows[i].algorithm, "bloom"))
            return t->rows[i].lines;
    return 4;
}

/* bloom_init() computes k = ceil(ln 2 bits/entries) and bits = entries ln(1/error) / ln(2)^2. */
static void open_peer(struct bloom *b, double bits, uint32_t k)
{
    double bits_per_entry = (k - 0.5) / log(2);
    double error = exp(-bits_per_entry * log(2) * log(2));

    if (bloom_init(b, (int)(bits / bits_per_entry), error) != 0)
        die("libbloom cannot open a filter of %.0f bits", bits);
    if (b->hashes != (int)k)
        die("libbloom took %d hash functions, not %u", b->hashes, k);
    struct rng r = rng_at(SEED, 0);
    for (int i = 0; i + 8 <= b->bytes; i += 8)
        bits_store64(b->bf + i, rng_next(&r));
}

static void add_some(struct bloom *b, const struct stream *s, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        s->verdicts[i] = (uint8_t)bloom_add(b, s->bytes[i].data, (int)s->bytes[i].size);
}

void libbloom_run(struct table *t, double memory_mib, const struct stream *s)
{
    struct row row = {.memory_mib = memory_mib, .algorithm = "libbloom", .hashing = true};
    double bits = memory_mib * 8388608;
    size_t lead = s->n / LEAD_IN;
    struct bloom b;

    if (bits > INT_MAX)
        return;
    row.lines = k_of_bloom(t);
    open_peer(&b, bits, row.lines);
    snprintf(row.settings, sizeof row.settings, "entries=%d bytes=%d hashes=%d", b.entries, b.bytes,
             b.hashes);
    add_some(&b, s, 0, lead);
    double start = now_ns();
    add_some(&b, s, lead, s->n);
    table_note(t, &row, (now_ns() - start) / (double)(s->n - lead));
    bloom_free(&b);
}

#else

bool libbloom_is_available(void)
{
    return false;
}

void libbloom_run(struct table *t, double memory_mib, const struct stream *s)
{
    (void)t, (void)memory_mib, (void)s;
}

#endif
