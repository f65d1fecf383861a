/* loops.h - the loops over keys, compiled once per filter.
 *
 * Included at the end of a filter file, after its static touch, touch_victims, probe
 * and admit, so that they are inlined here and a batch costs no calls. A batch
 * runs in two steps, some keys apart: a key is prepared (its places worked out,
 * its lines on their way), and shown when they have come.
 *
 * Where one line says which is needed next, a filter has LOOKS: so many times is a key
 * looked at between the two steps, by look(), which fetches what comes next. It may note
 * what it finds; until the key is shown that may have changed. There touch_victims
 * is for a key that comes alone. LOOKS_TO_ASK: the same where keys are asked.
 *
 * FILTER_LOOPS names the results for the filter's ops. */
#ifndef WEIR_FILTER_LOOPS_H
#define WEIR_FILTER_LOOPS_H

#define LINES_AHEAD 64 /* cache lines in flight: enough to hide memory, few enough for L1 */

#ifndef LOOKS
#define LOOKS 0
static inline void look(const weir_filter *w, struct arrival *a)
{
    (void)w, (void)a;
}
#endif
#ifndef LOOKS_TO_ASK
#define LOOKS_TO_ASK 0
#endif

/* Keys from one step to the next. */
static inline size_t keys_apart(const weir_filter *w, size_t looks)
{
    size_t steps = looks + 1, least = 2 * steps, ahead = LINES_AHEAD / w->shape.lines;

    ahead = ahead < least ? least : ahead > KEYS_AHEAD ? KEYS_AHEAD : ahead;
    return ahead / steps;
}

/* Look at those keys of a batch of n for which it is time when the i-th is prepared. */
static inline void look_at_some(const weir_filter *w, struct arrival *ring, size_t i, size_t apart,
                                size_t n, size_t looks)
{
    for (size_t j = looks; j > 0; j--) {
        size_t key = i - j * apart; /* one before the first is beyond any */

        if (key < n)
            look(w, &ring[key % KEYS_AHEAD]);
    }
}

#ifndef ONLY_ASKED /* a filter that cannot learn has no more than touch and probe */
#ifdef NO_VICTIMS  /* a filter has no cells to fetch beside those of the key */
static inline void touch_victims(const weir_filter *w, const struct arrival *a)
{
    (void)w, (void)a;
}
#endif

static inline void prepare(const weir_filter *w, struct arrival *a, struct weir_key key,
                           uint64_t number)
{
    a->key = key;
    a->number = number;
    touch(w, a);
    if (!LOOKS)
        touch_victims(w, a);
}

#ifndef FUSED_SHOW /* a filter whose probe and admit are one brings its own */
static inline bool show(weir_filter *w, const struct arrival *a)
{
    bool seen = probe(w, a);

    admit(w, a, seen);
    w->observed++;
    w->seen += seen;
    return seen;
}
#endif

static bool observe(weir_filter *w, const struct weir_key *key)
{
    struct arrival a;

    prepare(w, &a, *key, w->observed);
    if (LOOKS) /* it comes alone: there is no time to look */
        touch_victims(w, &a);
    return show(w, &a);
}

static void observe_many(weir_filter *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    struct arrival ring[KEYS_AHEAD];
    size_t apart = keys_apart(w, LOOKS), ahead = apart * (LOOKS + 1);
    uint64_t first = w->observed;

    for (size_t i = 0; i < n + ahead; i++) {
        if (i >= ahead)
            verdicts[i - ahead] = show(w, &ring[(i - ahead) % KEYS_AHEAD]);
        look_at_some(w, ring, i, apart, n, LOOKS);
        if (i < n)
            prepare(w, &ring[i % KEYS_AHEAD], keys[i], first + i);
    }
}
#endif

static inline void touch_to_ask(const weir_filter *w, struct arrival *a)
{
    touch(w, a);
#if LOOKS_TO_ASK
    touch_victims(w, a);
#endif
}

static bool ask(const weir_filter *w, const struct weir_key *key)
{
    struct arrival a;

    a.key = *key;
    touch_to_ask(w, &a);
    return probe(w, &a);
}

static void ask_many(const weir_filter *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    struct arrival ring[KEYS_AHEAD];
    size_t apart = keys_apart(w, LOOKS_TO_ASK), ahead = apart * (LOOKS_TO_ASK + 1);

    for (size_t i = 0; i < n + ahead; i++) {
        if (i >= ahead)
            verdicts[i - ahead] = probe(w, &ring[(i - ahead) % KEYS_AHEAD]);
        look_at_some(w, ring, i, apart, n, LOOKS_TO_ASK);
        if (i < n) {
            ring[i % KEYS_AHEAD].key = keys[i];
            touch(w, &ring[i % KEYS_AHEAD]);
        }
    }
}

static void touch_key(const weir_filter *w, struct weir_key key)
{
    struct arrival a;

    a.key = key;
    touch_to_ask(w, &a);
}

#ifdef ONLY_ASKED
static bool observe(weir_filter *w, const struct weir_key *key)
{
    return ask(w, key);
}

static void observe_many(weir_filter *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    ask_many(w, keys, n, verdicts);
}
#endif

#define FILTER_LOOPS                                                                               \
    .observe = observe, .observe_many = observe_many, .ask = ask, .ask_many = ask_many,            \
    .touch = touch_key

#endif
