/* trial.c - see trial.h. */
#include "trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/screen.h>

#include "base/rng.h"

#define BATCH 500

/* ---- streams ---- */

struct draw draw_open(const struct trial *t)
{
    struct draw d = {.trial = t,
                     .sums = calloc(t->universe, sizeof *d.sums),
                     .records = calloc(t->records, sizeof *d.records),
                     .is_member = calloc(t->universe, sizeof *d.is_member)};
    double sum = 0;

    for (size_t i = 0; i < t->universe; i++)
        d.sums[i] = sum += pow((double)(i + 1), -t->alpha);
    return d;
}

static uint32_t draw_key(const struct draw *d, struct rng *r)
{
    size_t low = 0, high = d->trial->universe - 1;
    double at = (double)(rng_next(r) >> 11) * 0x1p-53 * d->sums[high];

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (d->sums[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return (uint32_t)low;
}

void draw_next(struct draw *d, uint64_t seed)
{
    struct rng r = rng_at(seed, 2019);

    d->seed = seed;
    d->members = 0;
    memset(d->is_member, 0, d->trial->universe * sizeof *d->is_member);
    for (size_t n = 0; n < d->trial->set;) {
        size_t key = (size_t)rng_below(&r, d->trial->universe);

        n += !d->is_member[key];
        d->is_member[key] = true;
    }
    for (size_t i = 0; i < d->trial->records; i++) {
        d->records[i] = draw_key(d, &r);
        d->members += d->is_member[d->records[i]];
    }
}

void draw_close(struct draw *d)
{
    free(d->sums);
    free(d->records);
    free(d->is_member);
}

/* ---- what a screen makes of one ---- */

static uint64_t name_of(uint64_t seed, uint32_t key)
{
    return bits_fold(key + 1, RNG_STEP) ^ seed;
}

struct store {
    const struct draw *draw;
    uint64_t *names;
};

static void answer(void *context, const struct weir_bytes *keys, size_t n, uint8_t *answers)
{
    const struct store *store = context;

    for (size_t i = 0; i < n; i++)
        answers[i] = store->draw->is_member[(const uint64_t *)keys[i].data - store->names];
}

enum { CAME = 1, SAID = 2 }; /* what is known of a key: it came; it was said to be a member */

struct tally {
    uint8_t *of_key;
    size_t said, right, came_members;     /* different keys */
    size_t others, members, false_member; /* arrivals */
    size_t missed;
};

static void tally_one(struct tally *t, const struct draw *d, size_t i, uint8_t said)
{
    uint32_t key = d->records[i];
    bool member = d->is_member[key];
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

static void add_outcome(struct outcome *sum, const struct tally *t, const weir_screen *s)
{
    sum->precision += share(t->right, t->said, 1);
    sum->recall += share(t->right, t->came_members, 1);
    sum->fpr += share(t->false_member, t->others, 0);
    sum->fnr += share(t->missed, t->members, 0);
    sum->calls += (double)weir_screen_stats(s).asked;
}

static weir_screen *open_screen(const struct draw *d, const char *sentence, struct store *store)
{
    struct weir_error error;
    weir_screen *s;

    if (weir_screen_open(&s, sentence, &error) != WEIR_OK) {
        fprintf(stderr, "%s: %s\n", sentence, error.text);
        exit(2);
    }
    for (uint32_t key = 0; key < d->trial->universe; key++) {
        store->names[key] = name_of(d->seed, key);
        if (d->is_member[key] && s)
            weir_screen_learn_set(s, &(struct weir_bytes){&store->names[key], sizeof *store->names},
                                  1);
    }
    return s;
}

void trial_add(const struct draw *d, const char *sentence, size_t every, struct outcome *sums)
{
    struct store store = {d, calloc(d->trial->universe, sizeof *store.names)};
    struct tally tally = {.of_key = calloc(d->trial->universe, 1)};
    weir_screen *s = open_screen(d, sentence, &store);
    struct weir_bytes keys[BATCH];
    uint8_t said[BATCH];

    for (size_t at = 0, n; at < d->trial->records; at += n) {
        n = every - at % every < BATCH ? every - at % every : BATCH;
        for (size_t i = 0; i < n; i++)
            keys[i] = (struct weir_bytes){&store.names[d->records[at + i]], sizeof *store.names};
        weir_screen_check(s, keys, n, answer, &store, said);
        for (size_t i = 0; i < n; i++)
            tally_one(&tally, d, at + i, said[i]);
        if ((at + n) % every == 0)
            add_outcome(sums++, &tally, s);
    }
    weir_screen_close(s);
    free(tally.of_key);
    free(store.names);
}

void trial_means(const struct trial *t, size_t streams, const char *sentence, size_t every,
                 struct outcome *means)
{
    struct draw d = draw_open(t);
    size_t points = t->records / every;
    double n = (double)streams;

    memset(means, 0, points * sizeof *means);
    for (size_t i = 0; i < streams; i++) {
        draw_next(&d, i + 1);
        trial_add(&d, sentence, every, means);
    }
    for (size_t i = 0; i < points; i++)
        means[i] = (struct outcome){means[i].precision / n, means[i].recall / n, means[i].fpr / n,
                                    means[i].fnr / n, means[i].calls / n};
    draw_close(&d);
}
