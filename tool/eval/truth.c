/* truth.c - see replay.h. A hash table with linear probing, at most three quarters full. While it
 * doubles, both tables are in memory and counted. */
#include "eval/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/messages.h"
#include "cli/units.h"

#define SLOTS_LEAST ((uint64_t)1 << 16)
#define AHEAD 16 /* keys whose slots are prefetched */

#define HUGE_PAGE ((uintptr_t)2 << 20)

/* Accesses are random, so with 4 KiB pages each would miss the TLB too. Failure is harmless. */
static void ask_for_huge_pages(uint8_t *from, uint64_t bytes)
{
#ifdef MADV_HUGEPAGE
    uintptr_t at = ((uintptr_t)from + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    uintptr_t end = ((uintptr_t)from + bytes) & ~(HUGE_PAGE - 1);

    if (from && at < end)
        (void)madvise((void *)at, end - at, MADV_HUGEPAGE);
#else
    (void)from, (void)bytes;
#endif
}

bool truth_open_bitmap(struct truth *t, uint64_t universe, uint64_t limit)
{
    uint64_t bytes = universe / 8 + 1;

    *t = (struct truth){.limit = limit, .bitmap = true, .universe = universe};
    if (bytes > limit)
        return reject("a bit for each of %s keys takes %s, more than --baseline-memory allows (%s)",
                      show_count((double)universe).text, show_bytes((double)bytes).text,
                      show_bytes((double)limit).text);
    t->bit = calloc(bytes, 1);
    t->bytes = bytes;
    ask_for_huge_pages(t->bit, bytes);
    return t->bit ||
           reject("not enough memory for the exact baseline (%s)", show_bytes((double)bytes).text);
}

/* Bytes of a slot with its time. */
static size_t slot_size(const struct truth *t)
{
    return t->span ? 2 * sizeof *t->slot : sizeof *t->slot;
}

bool truth_open_set(struct truth *t, uint64_t limit, uint64_t span)
{
    *t = (struct truth){.limit = limit, .slots = SLOTS_LEAST, .span = span};
    uint64_t bytes = t->bytes = SLOTS_LEAST * slot_size(t);
    if (bytes > limit)
        return reject("--baseline-memory: too small; the exact baseline needs at least %s",
                      show_bytes((double)bytes).text);
    t->slot = calloc(t->slots, slot_size(t));
    t->at = t->slot ? t->slot + t->slots : NULL;
    return t->slot || reject("out of memory");
}

void truth_close(struct truth *t)
{
    free(t->bit);
    free(t->slot);
    *t = (struct truth){0};
}

void truth_clear(struct truth *t)
{
    if (t->bitmap)
        memset(t->bit, 0, t->universe / 8 + 1);
    else
        memset(t->slot, 0, t->slots * sizeof *t->slot);
    t->used = 0;
}

/* ---- a bit per key ---- */

static bool observe_id(struct truth *t, uint64_t id)
{
    uint8_t *at = &t->bit[id / 8], bit = (uint8_t)(1u << id % 8);
    bool seen = *at & bit;

    *at |= bit;
    return seen;
}

void truth_observe_ids(struct truth *t, const uint64_t *id, uint32_t n, uint8_t *seen)
{
    for (uint32_t i = 0; i < n; i++) {
        if (i + AHEAD < n && id[i + AHEAD] <= t->universe)
            __builtin_prefetch(&t->bit[id[i + AHEAD] / 8], 1);
        seen[i] = id[i] <= t->universe && observe_id(t, id[i]);
    }
}

/* ---- a set ---- */

static uint64_t fingerprint(struct weir_key key)
{
    uint64_t f = key.lo ^ key.hi * UINT64_C(0x9e3779b97f4a7c15);

    return f ? f : 1;
}

/* The slot of a key, or its free slot. */
static uint64_t *find(uint64_t *slot, uint64_t slots, uint64_t f)
{
    uint64_t at = f & (slots - 1);

    while (slot[at] && slot[at] != f)
        at = (at + 1) & (slots - 1);
    return &slot[at];
}

static bool grow(struct truth *t, char failure[512])
{
    uint64_t slots = 2 * t->slots, bytes = (t->slots + slots) * slot_size(t);
    uint64_t *slot = bytes <= t->limit ? calloc(slots, slot_size(t)) : NULL;

    if (!slot) {
        snprintf(failure, 512,
                 "the exact baseline of more than %s distinct keys needs %s, %s; give a larger "
                 "--baseline-memory or a part of the stream",
                 show_count((double)t->used).text, show_bytes((double)bytes).text,
                 bytes <= t->limit ? "which the system does not have"
                                   : "more than --baseline-memory allows");
        return false;
    }
    for (uint64_t i = 0; i < t->slots; i++)
        if (t->slot[i]) {
            uint64_t *to = find(slot, slots, t->slot[i]);

            *to = t->slot[i];
            if (t->span)
                to[slots] = t->at[i];
        }
    free(t->slot);
    t->slot = slot;
    t->at = slot + slots;
    t->slots = slots;
    t->bytes = bytes;
    return true;
}

/* Did it occur within the span? */
static bool observe_slot(struct truth *t, uint64_t *slot, uint64_t f, const uint64_t *time)
{
    bool there = *slot != 0;

    *slot = f;
    if (!time)
        return there;
    uint64_t *at = t->at + (slot - t->slot);
    bool seen = there && *time - *at <= t->span;
    *at = *time;
    return seen;
}

bool truth_observe_keys(struct truth *t, const struct weir_key *key, const uint64_t *times,
                        uint32_t n, uint8_t *seen, char failure[512])
{
    for (uint32_t i = 0; i < n; i++) {
        uint64_t f = fingerprint(key[i]), *at;

        if (i + AHEAD < n)
            __builtin_prefetch(&t->slot[fingerprint(key[i + AHEAD]) & (t->slots - 1)], 1);
        at = find(t->slot, t->slots, f);
        t->used += *at == 0;
        seen[i] = observe_slot(t, at, f, times ? &times[i] : NULL);
        if (t->used > t->slots / 4 * 3 && !grow(t, failure))
            return false;
    }
    return true;
}
