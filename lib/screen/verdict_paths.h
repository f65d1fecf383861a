/* verdict_paths.h - what a key does to its line of verdicts. Included by verdict_plain.c,
 * verdict_avx2.c and verdict_avx512.c, which name the result VERDICT_PATHS. */
#include "screen/verdict_lines.h"

/* Which slots hold a key: bit i for slot i. */
static inline uint64_t match(const struct lines *l, const uint8_t *line, struct weir_key key)
{
    const uint32_t print = line_print(key.hi);
    uint64_t found;

#define FIND(i) found = line_find(line, i, lines_slots(l, i), print);
    LINE_BY_WIDTH(line_index(line), FIND)
#undef FIND
    return found;
}

static uint8_t find(const struct lines *l, struct weir_key key)
{
    const uint8_t *line = lines_of_key(l, key);
    uint64_t found = match(l, line, key);

    if (!found)
        return WEIR_UNANSWERED;
    return line_verdict(line, line_first(line_index(line), found)) ? WEIR_MEMBER : WEIR_OTHER;
}

static void use(const struct lines *l, struct weir_key key)
{
    uint8_t *line = lines_of_key(l, key);
    uint32_t at = line_first(line_index(line), match(l, line, key));

    line_move_verdict(line, at, 0, line_print(key.hi), line_verdict(line, at));
}

static bool is_full(const uint8_t *line, uint32_t slots)
{
    return line_get(line, line_width[line_index(line)], slots - 1) != 0;
}

/* Cut a full line until it is not full or at the floor. Verdicts stay where they are, unless
 * fingerprints become equal: that is left to the list. */
static __attribute__((noinline)) void make_room(const struct lines *l, uint8_t *line)
{
    struct line_rounds rounds;
    uint32_t slots = lines_slots(l, line_index(line));

    rounds.round = 0;
    while (line_width[line_index(line)] > l->width && is_full(line, slots)) {
        if (!line_cut(line, line_index(line), slots, LINE_ROOM - slots, false, &rounds))
            lines_cut(l, line);
        slots = lines_slots(l, line_index(line));
    }
}

/* How deep a new verdict enters: never behind an empty slot. */
static uint32_t depth_in(const uint8_t *line, uint32_t slots)
{
    uint32_t depth = slots * 2 / 5;

    if (depth > 0 && line_get(line, line_width[line_index(line)], depth - 1) == 0) {
#define FIND(i) depth = line_used(line, i, slots);
        LINE_BY_WIDTH(line_index(line), FIND)
#undef FIND
    }
    return depth;
}

static void add(const struct lines *l, struct weir_key key, bool member)
{
    uint8_t *line = lines_of_key(l, key);

    if (line_width[line_index(line)] > l->width && is_full(line, lines_slots(l, line_index(line))))
        make_room(l, line);
    uint32_t slots = lines_slots(l, line_index(line));
    line_move_verdict(line, slots - 1, depth_in(line, slots), line_print(key.hi), member);
}

const struct verdict_paths VERDICT_PATHS = {find, use, add};
