/* importance_steps.c - the least value of every class, worked out at once.
 *
 * Every way to a class first takes a part out of a whole (a rank out of the sample, bits out
 * of all bits, a distance out of a range), of which the classes are equal shares. So class c
 * begins where that part reaches (c - 1) / top of the whole, rounded up; what is left is to
 * find the least value that comes so far. */
#include "spec/importance.h"

#define LOG_WHOLE (32 * 33) /* as in by_log() of importance.c */

/* parts[i] = i / top of whole, rounded up. */
static void cut(uint64_t whole, uint32_t top, uint64_t parts[CLASSES_MOST])
{
    uint64_t each = whole / top, part = 0;
    uint32_t rest = (uint32_t)(whole % top), over = 0;

    for (uint32_t i = 0; i < top; i++) {
        parts[i] = part + (over > 0);
        part += each;
        over += rest;
        part += over >= top;
        over -= top & -(uint32_t)(over >= top);
    }
}

/* The least value of so many bits and 32nds of the next. */
static uint64_t least_by_log(uint64_t part)
{
    uint64_t length = part / 32, next = part % 32;

    return length ? (UINT64_C(1) << (length - 1)) + (((next << (length - 1)) + 31) >> 5) : part > 0;
}

/* The stretches of equal values in a full sample. */
struct runs {
    uint8_t of[SAMPLE_SIZE];       /* the number of a place's run, from 0 on */
    uint16_t end[SAMPLE_SIZE + 1]; /* where run i - 1 ends, and i begins */
};

/* Without branches, for this is done at every draw. */
static void find_runs(const struct sample *s, struct runs *r)
{
    uint32_t run = 0;

    r->end[0] = 0;
    r->end[1] = 1;
    r->of[0] = 0;
    for (uint32_t i = 1; i < SAMPLE_SIZE; i++) {
        run += s->value[i] != s->value[i - 1];
        r->of[i] = (uint8_t)run;
        r->end[run + 1] = (uint16_t)(i + 1);
    }
}

/* The least value that has, of the sample, so many below it or not above it, counted
 * together: one of the sample, or what follows it. */
static uint64_t least_by_rank(const struct sample *s, uint64_t twice, const struct runs *r)
{
    uint32_t at = (uint32_t)(twice + 1) / 2 - 1;

    if (twice == 0)
        return 0;
    uint32_t run = r->of[at];
    return (uint64_t)s->value[at] + ((uint64_t)r->end[run] + r->end[run + 1] < twice);
}

static uint64_t least(const struct importance *imp, const struct sample *s, uint64_t part,
                      const struct runs *r)
{
    switch (imp->mode) {
    case IMPORTANCE_PERCENTILE:
        return least_by_rank(s, part, r);
    case IMPORTANCE_LOG:
        return least_by_log(part);
    case IMPORTANCE_RANGE:
        return part == 0 ? 0 : imp->lo + part < imp->hi ? imp->lo + part : imp->hi;
    default:
        return part;
    }
}

static uint64_t whole(const struct importance *imp, const struct sample *s)
{
    switch (imp->mode) {
    case IMPORTANCE_PERCENTILE:
        return 2 * SAMPLE_SIZE;
    case IMPORTANCE_CAPPED:
        return sample_cap(s);
    case IMPORTANCE_LOG:
        return LOG_WHOLE;
    default:
        return (uint64_t)imp->hi - imp->lo + 1;
    }
}

bool importance_steps(const struct importance *imp, const struct sample *s, uint32_t top,
                      struct steps *out)
{
    uint64_t parts[CLASSES_MOST];
    struct runs runs;

    if (imp->mode == IMPORTANCE_NONE || top > CLASSES_MOST ||
        (importance_samples(imp) && s->n < SAMPLE_SIZE))
        return false;
    if (imp->mode == IMPORTANCE_PERCENTILE)
        find_runs(s, &runs);
    cut(whole(imp, s), top, parts);
    for (out->top = 0; out->top < top; out->top++) {
        uint64_t from = least(imp, s, parts[out->top], &runs);

        if (from > UINT32_MAX)
            break; /* no value comes so far */
        out->from[out->top] = (uint32_t)from;
    }
    for (uint32_t i = out->top; i < CLASSES_MOST; i++)
        out->from[i] = UINT32_MAX;
    for (uint32_t i = 0; i < CLASSES_MOST; i++)
        out->fourth[i / 32][i % 4][i % 32 / 4] = out->from[i];
    return true;
}
