/* choose.c - which screen suits a store.
 *
 * The set in a Bloom filter, confirmed, never errs and asks for little more than
 * the members: the best there is where the store can be listed and the set fits.
 * It fits with a byte for each key: then 2 % of the others are asked for in vain,
 * and every three bits more divide that by four. With less, the filter lets too
 * much through, and verdicts of what does come are the better use of memory. */
#include <string.h>

#include "base/hand_out.h"
#include "screen/screen.h"

extern const struct screen_ops screen_strict, screen_cache;

#define BITS_PER_MEMBER_LEAST 8

static void choose_strict(struct weir_screen_choice *c, uint64_t bits, uint64_t set)
{
    uint64_t keys = set == 0 ? 1 : set > COUNT_MAX ? COUNT_MAX : set;
    struct text spec = text_in(c->spec, sizeof c->spec);
    struct text reason = text_in(c->reason, sizeof c->reason);

    text_add(&spec, screen_strict.is.about.name);
    text_add(&spec, " set=");
    text_add_u64(&spec, keys);
    if (set == 0) {
        text_add(&reason, "the store lists its keys, and has none");
        return;
    }
    text_add(&reason, "the store lists its ");
    text_add_u64(&reason, set);
    text_add(&reason, " keys, and ");
    text_add_u64(&reason, bits / set);
    text_add(&reason, " bits for each fit the memory");
}

static void choose_verdicts(struct weir_screen_choice *c, bool listed, uint64_t set)
{
    struct text spec = text_in(c->spec, sizeof c->spec);
    struct text reason = text_in(c->reason, sizeof c->reason);

    text_add(&spec, screen_cache.is.about.name);
    if (listed) {
        text_add(&reason, "the store's ");
        text_add_u64(&reason, set);
        text_add(&reason, " keys do not fit the memory, which has less than 8 bits for each");
    } else {
        text_add(&reason, "the store cannot be listed");
    }
}

void weir_screen_choose(struct weir_screen_choice *out, size_t size, uint64_t memory, bool listed,
                        uint64_t set)
{
    struct weir_screen_choice c;
    uint64_t most = MEMORY_MAX / 8, bits = 8 * (memory < most ? memory : most);

    if (listed && bits / BITS_PER_MEMBER_LEAST >= set)
        choose_strict(&c, bits, set);
    else
        choose_verdicts(&c, listed, set);
    struct text end = {c.spec + strlen(c.spec), c.spec + sizeof c.spec};
    text_add(&end, " memory=");
    text_add_u64(&end, memory);
    hand_out(out, size, &c, sizeof c);
}
