/* half_life.c - see half_life.h. */
#include "sketch/half_life.h"

#define STEPS 256 /* per half-life */
#define OCTAVES 12
#define WEIGHT_BITS 16
#define ROOT_BITS 62              /* fraction bits */
#define STEPS_MAX (INT64_MAX / 4) /* an infinite age; sums of a few do not overflow */

/* 2^(1/2), 2^(1/4), ... 2^(1/256) */
static const uint64_t roots[8] = {
    0x5a827999fcef3242, 0x4c1bf828c6dc54b8, 0x45cae0f1f545eb73, 0x42d561b3e6243d8a,
    0x4166c34c5615d0ec, 0x40b268f9de0183ba, 0x4058f6a7ecccd5b6, 0x402c6be96af2fb58,
};

/* 2^(step / 256) for a step below 256. */
static uint64_t power(uint32_t step)
{
    uint64_t product = UINT64_C(1) << ROOT_BITS;

    for (uint32_t i = 0; i < 8; i++)
        if (step & 1u << (7 - i))
            product = (uint64_t)((bits_u128)product * roots[i] >> ROOT_BITS);
    return product;
}

uint64_t fade_scale(uint64_t units, int64_t steps, bool up)
{
    int64_t octave = steps >= 0 ? steps / STEPS : -((STEPS - 1 - steps) / STEPS);
    bits_u128 product = (bits_u128)units * power((uint32_t)(steps - octave * STEPS)), scaled;

    if (octave <= ROOT_BITS - 128)
        return up && units > 0;
    if (octave >= ROOT_BITS)
        return units ? UINT64_MAX : 0;
    scaled = product >> (ROOT_BITS - octave);
    scaled += up && scaled << (ROOT_BITS - octave) != product;
    return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}

/* ---- time ---- */

static uint64_t steps_in(const weir_sketch *s, uint64_t age)
{
    bits_u128 steps = (bits_u128)age * STEPS / s->config.half_life.length;

    return steps > STEPS_MAX ? STEPS_MAX : (uint64_t)steps;
}

static uint64_t weight_at(uint64_t steps)
{
    uint64_t shift = ROOT_BITS - WEIGHT_BITS - steps / STEPS;

    return (power((uint32_t)(steps % STEPS)) + (UINT64_C(1) << (shift - 1))) >> shift;
}

void fade_all(weir_sketch *s, int64_t steps)
{
    s->ops->scale(s, steps);
    s->total = fade_scale(s->total, steps, true);
}

static void go_to(weir_sketch *s, uint64_t step)
{
    struct half_life_state *f = &s->age;
    uint64_t whole = (step - f->base) / STEPS;

    f->step = step;
    if (whole >= OCTAVES) {
        fade_all(s, -(int64_t)(whole * STEPS));
        f->base += whole * STEPS;
    }
    s->weight = weight_at(step - f->base);
}

void fade_begin(weir_sketch *s)
{
    s->age = (struct half_life_state){0};
    s->weight = fades(s) ? weight_at(0) : 1;
}

/* The record at which the next step begins. */
static uint64_t end_of(const weir_sketch *s, uint64_t step)
{
    bits_u128 end = ((bits_u128)(step + 1) * s->config.half_life.length + STEPS - 1) / STEPS;

    return end > UINT64_MAX ? UINT64_MAX : (uint64_t)end;
}

size_t fade_records(weir_sketch *s, size_t n)
{
    struct half_life_state *f = &s->age;

    if (!fades(s) || s->config.half_life.timed)
        return n;
    uint64_t step = steps_in(s, f->clock);
    if (step != f->step)
        go_to(s, step);
    uint64_t left = end_of(s, step) - f->clock;
    n = n < left || left == 0 ? n : (size_t)left;
    f->clock = sketch_sum(f->clock, n);
    return n;
}

void fade_advance(weir_sketch *s, uint64_t now)
{
    struct half_life_state *f = &s->age;

    if (!fades(s) || !s->config.half_life.timed || (f->begun && now <= f->clock))
        return;
    if (!f->begun)
        f->origin = now;
    f->begun = true;
    f->clock = now;
    go_to(s, steps_in(s, now - f->origin));
}

size_t fade_times(weir_sketch *s, const uint64_t *times, size_t n)
{
    struct half_life_state *f = &s->age;
    size_t run = 1;

    fade_advance(s, times[0]);
    if (!fades(s) || !s->config.half_life.timed)
        return n;
    for (; run < n; run++) {
        if (times[run] > f->clock && steps_in(s, times[run] - f->origin) != f->step)
            break;
        f->clock = times[run] > f->clock ? times[run] : f->clock;
    }
    return run;
}

int64_t fade_between(const weir_sketch *from, const weir_sketch *into)
{
    const struct half_life_state *a = &from->age, *b = &into->age;
    uint64_t later = a->begun && b->clock > a->clock ? steps_in(from, b->clock - a->clock) : 0;

    return (int64_t)(b->step - b->base) - (int64_t)(a->step - a->base) - (int64_t)later;
}

/* ---- reported counts ---- */

uint64_t fade_count(const weir_sketch *s, uint64_t units)
{
    return units / s->weight + (units % s->weight != 0);
}

struct weir_estimate fade_estimate(const weir_sketch *s, struct weir_estimate units)
{
    if (units.error == WEIR_NO_BOUND)
        return units;
    uint64_t count = fade_count(s, units.count), least = (units.count - units.error) / s->weight;

    return (struct weir_estimate){count, count - least};
}

/* ---- saving: clock origin base begun ---- */

void fade_put(const weir_sketch *s, struct part_head *h)
{
    part_word(h, s->age.clock);
    part_word(h, s->age.origin);
    part_word(h, s->age.base);
    part_word(h, s->age.begun);
}

bool fade_get(weir_sketch *s, const uint64_t word[FADE_WORDS])
{
    struct half_life_state *f = &s->age;

    *f = (struct half_life_state){word[0], word[1], word[2], 0, word[3]};
    bool timed = s->config.half_life.timed;
    if (f->begun > timed || f->clock < f->origin || (!timed && f->origin) ||
        (timed && !f->begun && f->clock))
        return false;
    uint64_t last = f->clock - f->origin;
    f->step = steps_in(s, timed || last == 0 ? last : last - 1);
    if (f->base > f->step || f->step - f->base >= OCTAVES * STEPS)
        return false;
    s->weight = weight_at(f->step - f->base);
    return true;
}
