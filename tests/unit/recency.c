/* recency.c - what an exact list of the latest keys misses, against such a list
 * (tool/recency.c). */
#include "eval/recency.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS 4000
#define KEYS 300

static uint64_t state = 2;

static uint64_t next(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state >> 33;
}

/* Few keys come often, and some stretches repeat what just came. */
static void fill(struct weir_key *key)
{
    for (int i = 0; i < RECORDS; i++) {
        uint64_t number = next() % (1 + next() % KEYS);

        key[i] = (struct weir_key){.lo = number * 7, .hi = number % 3};
        if (i > 20 && next() % 4 == 0)
            key[i] = key[i - 1 - (int)(next() % 20)];
    }
}

static bool equal(struct weir_key a, struct weir_key b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

/* The list itself, the latest first. */
struct list {
    struct weir_key key[RECORDS];
    int n;
};

static bool meet(struct list *l, struct weir_key key, int most)
{
    int at = 0;

    while (at < l->n && !equal(l->key[at], key))
        at++;
    bool held = at < l->n;
    if (!held && l->n < most)
        l->n++;
    at = held ? at : l->n - 1;
    memmove(l->key + 1, l->key, (size_t)(at > 0 ? at : 0) * sizeof *l->key);
    if (most > 0)
        l->key[0] = key;
    return held;
}

static double missed(const struct weir_key *key, int most)
{
    static struct list list, all;
    int repeats = 0, held = 0;

    list.n = all.n = 0;
    for (int i = 0; i < RECORDS; i++) {
        bool old = meet(&all, key[i], RECORDS), seen = meet(&list, key[i], most);

        repeats += old;
        held += seen;
    }
    return 1 - (double)held / repeats;
}

int main(void)
{
    static struct weir_key key[RECORDS];
    struct recency r;
    int wrong = 0, checked = 0;

    fill(key);
    if (!recency_open(&r, key, RECORDS, 0))
        return 1;
    for (int most = 0; most <= KEYS + 10; most = most < 10 ? most + 1 : most + 23) {
        double got = recency_fnr(&r, most), wanted = missed(key, most);

        checked++;
        if (!(fabs(got - wanted) < 1e-12) && ++wrong)
            printf("a list of %d keys misses %f, said to be %f\n", most, wanted, got);
    }
    if (recency_fnr(&r, 1) < 0.1 || recency_fnr(&r, 1) > 0.99 || recency_fnr(&r, 1e9) != 0)
        wrong += printf("the stream is no test\n");
    recency_close(&r);
    printf("%d of %d lengths are wrong\n", wrong, checked);
    return wrong != 0;
}
