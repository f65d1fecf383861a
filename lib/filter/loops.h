/* loops.h - the loops over keys, compiled once per filter.
 *
 * It is included at the end of a filter file, after the static functions prefetch,
 * prefetch_victims, probe and insert, so that they are inlined and a batch costs no function
 * calls. In a batch, each key goes through two steps some keys apart: it is prepared (its
 * positions are computed and prefetched), then recorded (probed and inserted) when its lines have
 * arrived.
 *
 * A filter in which one line determines which line is needed next defines ROUNDS: prefetch_next()
 * is called this many times between the two steps. It may note what it reads; the cells can change
 * until the key is recorded. In such filters prefetch_victims is for single keys. QUERY_ROUNDS is
 * the same for lookups.
 *
 * FILTER_LOOPS names the resulting functions for the filter's ops. FILTER_FUNCTIONS adds those that
 * nearly every filter has: plan, error_now and predict. */
#ifndef WEIR_FILTER_LOOPS_H
#define WEIR_FILTER_LOOPS_H

#define LINES_AHEAD                                                                                \
    64 /* cache lines being prefetched: enough to hide latency, few enough for the first-level     \
          cache */

#ifndef ROUNDS
#define ROUNDS 0
static inline void prefetch_next(const weir_filter *w, struct arrival *a)
{
    (void)w, (void)a;
}
#endif
#ifndef QUERY_ROUNDS
#define QUERY_ROUNDS 0
#endif

/* The number of keys from one step to the next. */
static inline size_t keys_apart(const weir_filter *w, size_t looks)
{
    size_t steps = looks + 1, least = 2 * steps, ahead = LINES_AHEAD / w->shape.lines;

    ahead = ahead < least ? least : ahead > KEYS_AHEAD ? KEYS_AHEAD : ahead;
    return ahead / steps;
}

/* Call prefetch_next() for the keys that are due when the i-th of n keys is prepared. */
static inline void prefetch_next_some(const weir_filter *w, struct arrival *ring, size_t i,
                                      size_t apart, size_t n, size_t looks)
{
    for (size_t j = looks; j > 0; j--) {
        size_t key = i - j * apart; /* wraps around for keys before the first */

        if (key < n)
            prefetch_next(w, &ring[key % KEYS_AHEAD]);
    }
}

#ifndef QUERY_ONLY /* a filter that cannot record keys only has prefetch and probe */
#ifdef NO_VICTIMS  /* a filter that accesses only the cells of the key */
static inline void prefetch_victims(const weir_filter *w, const struct arrival *a)
{
    (void)w, (void)a;
}
#endif

static inline void prepare(const weir_filter *w, struct arrival *a, struct weir_key key,
                           uint64_t number)
{
    a->key = key;
    a->number = number;
    prefetch(w, a);
    if (!ROUNDS)
        prefetch_victims(w, a);
}

#ifndef FUSED_RECORD /* a filter whose probe and insert are one function defines its own */
static inline bool record(weir_filter *w, const struct arrival *a)
{
    bool seen = probe(w, a);

    insert(w, a, seen);
    w->observed++;
    w->seen += seen;
    return seen;
}
#endif

static bool observe(weir_filter *w, const struct weir_key *key)
{
    struct arrival a;

    prepare(w, &a, *key, w->observed);
    if (ROUNDS) /* a single key: there is no time for rounds */
        prefetch_victims(w, &a);
    return record(w, &a);
}

static void observe_many(weir_filter *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    struct arrival ring[KEYS_AHEAD];
    size_t apart = keys_apart(w, ROUNDS), ahead = apart * (ROUNDS + 1);
    uint64_t first = w->observed;

    for (size_t i = 0; i < n + ahead; i++) {
        if (i >= ahead)
            verdicts[i - ahead] = record(w, &ring[(i - ahead) % KEYS_AHEAD]);
        prefetch_next_some(w, ring, i, apart, n, ROUNDS);
        if (i < n)
            prepare(w, &ring[i % KEYS_AHEAD], keys[i], first + i);
    }
}
#endif

static inline void prefetch_for_query(const weir_filter *w, struct arrival *a)
{
    prefetch(w, a);
#if QUERY_ROUNDS
    prefetch_victims(w, a);
#endif
}

static bool ask(const weir_filter *w, const struct weir_key *key)
{
    struct arrival a;

    a.key = *key;
    prefetch_for_query(w, &a);
    return probe(w, &a);
}

static void ask_many(const weir_filter *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    struct arrival ring[KEYS_AHEAD];
    size_t apart = keys_apart(w, QUERY_ROUNDS), ahead = apart * (QUERY_ROUNDS + 1);

    for (size_t i = 0; i < n + ahead; i++) {
        if (i >= ahead)
            verdicts[i - ahead] = probe(w, &ring[(i - ahead) % KEYS_AHEAD]);
        prefetch_next_some(w, ring, i, apart, n, QUERY_ROUNDS);
        if (i < n) {
            ring[i % KEYS_AHEAD].key = keys[i];
            prefetch(w, &ring[i % KEYS_AHEAD]);
        }
    }
}

static void prefetch_key(const weir_filter *w, struct weir_key key)
{
    struct arrival a;

    a.key = key;
    prefetch_for_query(w, &a);
}

#ifdef QUERY_ONLY
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
    .prefetch = prefetch_key

#define FILTER_FUNCTIONS .plan = plan, .error = error_now, .predict = predict, FILTER_LOOPS

#endif
