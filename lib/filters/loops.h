/* loops.h - the loops over keys, compiled once per filter.
 *
 * Included at the end of a filter file, after its static touch, evict, probe
 * and admit, so that they are inlined here and a batch costs no calls. Prefetch
 * rolls: while key i is shown, the lines of key i + ahead are on their way.
 * FILTER_LOOPS names the results for the filter's ops. */
#ifndef WEIR_LOOPS_H
#define WEIR_LOOPS_H

#define LINES_AHEAD 96 /* cache lines in flight: enough to hide memory, few enough for L1 */
#define KEYS_AHEAD 32

static inline size_t keys_ahead(const weir *w, size_t n)
{
    size_t ahead = LINES_AHEAD / w->shape.lines;

    ahead = ahead < 2 ? 2 : ahead > KEYS_AHEAD ? KEYS_AHEAD : ahead;
    return ahead < n ? ahead : n;
}

#ifndef FUSED_OBSERVE /* a filter whose probe and admit are one has its own */
static bool observe(weir *w, struct weir_key key)
{
    bool seen = probe(w, key);

    admit(w, key, seen);
    w->shown++;
    w->seen += seen;
    return seen;
}
#endif

static void observe_many(weir *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    size_t ahead = keys_ahead(w, n);

    for (size_t i = 0; i < ahead; i++) {
        touch(w, keys[i]);
        evict(w, w->shown + i);
    }
    for (size_t i = 0; i < n - ahead; i++) {
        touch(w, keys[i + ahead]);
        evict(w, w->shown + ahead);
        verdicts[i] = observe(w, keys[i]);
    }
    for (size_t i = n - ahead; i < n; i++)
        verdicts[i] = observe(w, keys[i]);
}

static void ask_many(const weir *w, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    size_t ahead = keys_ahead(w, n);

    for (size_t i = 0; i < ahead; i++)
        touch(w, keys[i]);
    for (size_t i = 0; i < n - ahead; i++) {
        touch(w, keys[i + ahead]);
        verdicts[i] = probe(w, keys[i]);
    }
    for (size_t i = n - ahead; i < n; i++)
        verdicts[i] = probe(w, keys[i]);
}

#define FILTER_LOOPS                                                                               \
    .observe = observe, .observe_many = observe_many, .ask = probe, .ask_many = ask_many

#endif
