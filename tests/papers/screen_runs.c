/* screen_runs.c - see screen_runs.h. */
#include "papers/screen_runs.h"
#include "papers/literal_pairs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/screen.h>

#include "base/rng.h"
#include "support/zipf.h"

#define BATCH 500

/* ---- streams ---- */

#define EACH 16 /* bytes per key in the arena: a name of 8 after its member flag */

void draw_close(struct draw *d)
{
    free(d->names);
    free(d->records);
    free(d->arena);
}

static struct draw draw_for(const struct screen_run *t)
{
    return (struct draw){.universe = t->universe,
                         .n = t->records,
                         .names = calloc(t->universe, sizeof(struct weir_bytes)),
                         .records = calloc(t->records, sizeof(uint32_t)),
                         .arena = calloc(t->universe, EACH)};
}

static void draw_next(struct draw *d, const struct screen_run *t, const double *sums, uint64_t seed)
{
    struct rng r = rng_at(seed, 2019);

    for (size_t key = 0; key < t->universe; key++) {
        uint8_t *name = d->arena + key * EACH + 8;

        bits_store64(name, bits_fold(key + 1, RNG_STEP) ^ seed);
        name[-1] = 0;
        d->names[key] = (struct weir_bytes){name, 8};
    }
    for (size_t n = 0; n < t->set;) {
        uint8_t *name = d->arena + rng_below(&r, t->universe) * EACH + 8;

        n += !name[-1];
        name[-1] = 1;
    }
    for (size_t i = 0; i < t->records; i++)
        d->records[i] =
            (uint32_t)zipf_draw(sums, t->universe, (double)(rng_next(&r) >> 11) * 0x1p-53);
}

/* ---- results ---- */

static bool answer(void *context, const struct weir_bytes *keys, size_t n, uint8_t *answers)
{
    (void)context;
    for (size_t i = 0; i < n; i++)
        answers[i] = ((const uint8_t *)keys[i].data)[-1];
    return true;
}

enum { CAME = 1, SAID = 2 }; /* state of a key: it occurred; it was reported as a member */

struct tally {
    uint8_t *of_key;
    size_t said, right, came_members;     /* distinct keys */
    size_t others, members, false_member; /* records */
    size_t missed;
};

static void tally_one(struct tally *t, const struct draw *d, size_t i, uint8_t said)
{
    uint32_t key = d->records[i];
    bool member = is_member(d, key);
    uint8_t before = t->of_key[key], now = (uint8_t)(before | CAME | (said ? SAID : 0));

    t->of_key[key] = now;
    t->came_members += member && !(before & CAME);
    t->said += (now & SAID) != (before & SAID);
    t->right += (now & SAID) != (before & SAID) && member;
    t->members += member;
    t->others += !member;
    t->false_member += said && !member;
    t->missed += !said && member;
}

static double share(size_t part, size_t whole, double of_nothing)
{
    return whole ? (double)part / (double)whole : of_nothing;
}

static void add_outcome(struct outcome *sum, const struct tally *t, size_t calls)
{
    sum->precision += share(t->right, t->said, 1);
    sum->recall += share(t->right, t->came_members, 1);
    sum->fpr += share(t->false_member, t->others, 0);
    sum->fnr += share(t->missed, t->members, 0);
    sum->calls += (double)calls;
}

static weir_screen *open_screen(const struct draw *d, const char *spec)
{
    struct weir_error error;
    weir_screen *s;

    if (weir_screen_open(&s, spec, &error) != WEIR_OK) {
        fprintf(stderr, "%s: %s\n", spec, error.text);
        exit(2);
    }
    for (uint32_t key = 0; key < d->universe; key++)
        if (is_member(d, key))
            weir_screen_add_members(s, &d->names[key], 1);
    return s;
}

/* "literal memory=1000 set=100 window=300 own=0 seed=1" */
static void literal_run_add(const struct draw *d, const char *spec, size_t every,
                            struct outcome *sums)
{
    size_t memory, set, window, own, seed;
    struct tally tally = {.of_key = calloc(d->universe, 1)};

    if (sscanf(spec, "literal memory=%zu set=%zu window=%zu own=%zu seed=%zu", &memory, &set,
               &window, &own, &seed) != 5)
        exit((fprintf(stderr, "%s: not as in screen_runs.c\n", spec), 2));
    struct pairs p = pairs_open(memory, set, window, own != 0, seed);
    for (size_t i = 0; i < d->n; i++) {
        uint32_t key = d->records[i];

        tally_one(&tally, d, i, pairs_lookup(&p, key, is_member(d, key)));
        if ((i + 1) % every == 0)
            add_outcome(sums++, &tally, p.calls);
    }
    pairs_close(&p);
    free(tally.of_key);
}

void screen_run_add(const struct draw *d, const char *spec, size_t every, struct outcome *sums)
{
    if (strncmp(spec, "literal ", 8) == 0) {
        literal_run_add(d, spec, every, sums);
        return;
    }
    struct tally tally = {.of_key = calloc(d->universe, 1)};
    weir_screen *s = open_screen(d, spec);
    struct weir_bytes keys[BATCH];
    uint8_t said[BATCH];

    for (size_t at = 0, n; at < d->n; at += n) {
        n = every - at % every < BATCH ? every - at % every : BATCH;
        for (size_t i = 0; i < n; i++)
            keys[i] = d->names[d->records[at + i]];
        weir_screen_check(s, keys, n, answer, NULL, said);
        for (size_t i = 0; i < n; i++)
            tally_one(&tally, d, at + i, said[i]);
        if ((at + n) % every == 0)
            add_outcome(sums++, &tally, weir_screen_stats_of(s).asked);
    }
    weir_screen_close(s);
    free(tally.of_key);
}

void screen_run_means(const struct screen_run *t, size_t streams, const char *spec, size_t every,
                      struct outcome *means)
{
    struct draw d = draw_for(t);
    double *sums = zipf_sums(t->universe, t->alpha), n = (double)streams;
    size_t points = t->records / every;

    memset(means, 0, points * sizeof *means);
    for (size_t i = 0; i < streams; i++) {
        draw_next(&d, t, sums, i + 1);
        screen_run_add(&d, spec, every, means);
    }
    for (size_t i = 0; i < points; i++)
        means[i] = (struct outcome){means[i].precision / n, means[i].recall / n, means[i].fpr / n,
                                    means[i].fnr / n, means[i].calls / n};
    free(sums);
    draw_close(&d);
}
