/* chain.c - see chain.h. */
#include "chain/chain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/server.h"

#define BLOOM_DEFAULT "bloom capacity=%llu fpr=%.10g k=%d"
#define CUCKOO_DEFAULT "cuckoo capacity=%llu fpr=%.10g"
#define CUCKOO_ERROR_MIN 1e-8  /* a fingerprint has at most 32 bits */
#define ERROR_MIN 1e-30        /* a lower rate costs memory without a benefit */
#define ERROR_MAX 0.99         /* a higher rate saves no memory */
#define SMALL_LINK 1024        /* items, in 3 KiB: a filter for copies of few items */
#define COPIES_MAX 8           /* of one item in a filter: two buckets of four slots */
#define BLOOM_FILTERS_MAX 1024 /* a lookup visits all, so this bounds its time */

struct chain_limits chain_limits(struct rm_ctx *ctx, bool cuckoo)
{
    if (server_obeys(ctx))
        return (struct chain_limits){0, UINT32_MAX};
    return (struct chain_limits){
        settings_largest(), cuckoo ? (uint32_t)settings_now()->cf_max_filters : BLOOM_FILTERS_MAX};
}

/* ---- adding filters ---- */

static bool make_room(struct chain *c)
{
    uint32_t room = c->room > 0 ? 2 * c->room : 1;
    struct link *links;

    if (c->n < c->room)
        return true;
    if (!(links = server_take(room * sizeof *links)))
        return false;
    if (c->n > 0)
        memcpy(links, c->links, c->n * sizeof *links);
    c->is.bytes += server_bytes(links) - server_bytes(c->links);
    server_give(c->links);
    c->links = links;
    c->room = room;
    return true;
}

static void append(struct chain *c, struct link link)
{
    c->links[c->n++] = link;
    c->is.bytes += link.bytes;
    c->items += link.items;
    c->capacity += link.capacity;
    c->largest = link.capacity > c->largest ? link.capacity : c->largest;
}

bool import_append(struct chain *c, struct link link)
{
    if (make_room(c) && (link.cells || (link.cells = server_take(link.size)))) {
        link.bytes = server_bytes(link.cells);
        append(c, link);
        return true;
    }
    server_give(link.cells);
    return false;
}

static int bloom_hashes(double rate)
{
    double hashes = ceil(log2(1 / rate) * 5 / 8);

    return hashes < 1 ? 1 : hashes > 32 ? 32 : (int)hashes;
}

static bool add_link(struct chain *c, struct link link, const char *seed, uint64_t most,
                     struct weir_error *error)
{
    unsigned long long capacity = link.capacity;
    uint64_t left = most == 0 ? 0 : most > c->is.bytes ? most - c->is.bytes : 1;
    double rate = fmin(link.error, ERROR_MAX);
    char spec[WEIR_SPEC_MAX];
    int n;

    n = c->cuckoo ? snprintf(spec, sizeof spec, CUCKOO_DEFAULT, capacity, link.error)
                  : snprintf(spec, sizeof spec, BLOOM_DEFAULT, capacity, rate, bloom_hashes(rate));
    snprintf(spec + n, sizeof spec - (size_t)n, "%s", seed);
    if (!make_room(c) || filter_open(&link.filter, spec, left, &link.bytes, error) != WEIR_OK)
        return false;
    append(c, link);
    return true;
}

/* The error rate of the next filter. In long chains it would become 0. */
static double tightened(const struct chain *c, double error)
{
    return fmax(error * c->tightening, c->cuckoo ? CUCKOO_ERROR_MIN : ERROR_MIN);
}

/* Larger by the expansion if all filters are full. If there are free slots, but none for an item
 * with many copies, a small filter: otherwise a few copies would take all memory. */
static bool next_capacity(const struct chain *c, uint64_t *capacity)
{
    uint64_t first = c->links[0].capacity;

    *capacity = first < SMALL_LINK ? first : SMALL_LINK;
    return c->items < c->capacity || !__builtin_mul_overflow(c->largest, c->expansion, capacity);
}

bool chain_grow(struct chain *c, struct chain_limits limits)
{
    struct link link = {.error = tightened(c, c->links[c->n - 1].error)};
    uint64_t left = limits.bytes == 0 ? UINT64_MAX : limits.bytes - c->is.bytes;
    char seed[32];

    if (c->n >= limits.filters || (limits.bytes > 0 && limits.bytes <= c->is.bytes))
        return false;
    if (c->imported)
        return import_next(c, &link) && link.size <= left && import_append(c, link);
    snprintf(seed, sizeof seed, " seed=%llu", (unsigned long long)c->seed);
    return next_capacity(c, &link.capacity) && add_link(c, link, seed, limits.bytes, NULL);
}

/* ---- opening ---- */

uint64_t chain_buckets(const struct chain *c)
{
    uint64_t buckets = 1;

    if (c->imported)
        return c->asked;
    while (buckets < c->asked / c->bucket_size)
        buckets *= 2;
    return buckets;
}

/* At least as many items as the buckets that CF.INFO reports can hold. */
static uint64_t first_capacity(const struct chain *c)
{
    uint64_t places = c->cuckoo ? c->bucket_size * chain_buckets(c) : 0;

    return places > c->asked ? places : c->asked;
}

struct chain *chain_open(const struct chain_request *request, uint64_t most,
                         struct weir_error *error)
{
    struct chain *c = server_take(sizeof *c);
    struct link first = {.error = request->error};
    char spec[WEIR_SPEC_MAX], seed[32] = "";

    image_no_memory(error);
    if (!c)
        return NULL;
    *c = (struct chain){.is.family = request->cuckoo ? &family_cuckoo : &family_bloom,
                        .cuckoo = request->cuckoo,
                        .expansion = request->expansion,
                        .error = request->error,
                        .tightening = request->tightening,
                        .asked = request->capacity,
                        .bucket_size = request->bucket_size,
                        .moves = request->moves};
    c->is.bytes = server_bytes(c);
    first.capacity = first_capacity(c);
    if (request->expansion > 0)
        first.error = tightened(c, first.error);
    if (request->seeded)
        snprintf(seed, sizeof seed, " seed=%llu", (unsigned long long)request->seed);
    if (!add_link(c, first, seed, most, error)) {
        chain_close(c);
        return NULL;
    }
    weir_config(c->links[0].filter, spec, sizeof spec);
    c->seed = spec_seed(spec);
    return c;
}

void chain_close(struct chain *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        weir_close(c->links[i].filter);
        server_give(c->links[i].cells);
    }
    server_give(c->links);
    server_give(c);
}

/* ---- lookups ---- */

static struct weir_key imported_key(const struct chain *c, struct weir_bytes item)
{
    const uint64_t seed64 = UINT64_C(0xc6a4a7935bd1e995);
    const uint32_t seed32 = 0x9747b28c;
    const void *data = item.data;
    size_t size = item.size;
    uint64_t a;

    if (c->cuckoo)
        return (struct weir_key){.lo = murmur64(data, size, 0)};
    if (c->options & 4) {
        a = murmur64(data, size, seed64);
        return (struct weir_key){.lo = a, .hi = murmur64(data, size, a)};
    }
    a = murmur32(data, size, seed32);
    return (struct weir_key){.lo = a, .hi = murmur32(data, size, (uint32_t)a)};
}

void chain_hash(const struct chain *c, const struct weir_bytes *items, size_t n,
                struct weir_key *keys)
{
    if (c->imported)
        for (size_t i = 0; i < n; i++)
            keys[i] = imported_key(c, items[i]);
    else if (n == 1)
        keys[0] = weir_hash(c->links[0].filter, items[0].data, items[0].size);
    else
        weir_hash_many(c->links[0].filter, items, n, keys);
}

void chain_prefetch(const struct chain *c, struct weir_key key)
{
    if (!c->imported)
        weir_prefetch(c->links[c->n - 1].filter, key);
}

static void ask_link(const struct chain *c, const struct link *l, const struct weir_key *keys,
                     size_t n, uint8_t *verdicts)
{
    if (c->imported)
        for (size_t i = 0; i < n; i++)
            verdicts[i] = import_has(c, l, keys[i]);
    else if (n == 1)
        verdicts[0] = weir_ask(l->filter, keys[0]);
    else
        weir_ask_many(l->filter, keys, n, verdicts);
}

/* Keys that were not found yet, and their numbers. */
struct unseen {
    struct weir_key keys[ITEMS_AT_ONCE];
    uint16_t at[ITEMS_AT_ONCE];
    size_t n;
};

static void look(const struct chain *c, const struct link *l, struct unseen *u, uint8_t *verdicts)
{
    uint8_t found[ITEMS_AT_ONCE];
    size_t left = 0;

    ask_link(c, l, u->keys, u->n, found);
    for (size_t i = 0; i < u->n; i++) {
        if (found[i]) {
            verdicts[u->at[i]] = 1;
            continue;
        }
        u->keys[left] = u->keys[i];
        u->at[left++] = u->at[i];
    }
    u->n = left;
}

/* Look in the newest filter first, because a chain of which each filter is larger than all before
 * has most of its items there. `skip`: the number of newest filters not to visit. */
static void look_back(const struct chain *c, uint32_t skip, const struct weir_key *keys, size_t n,
                      struct unseen *u, uint8_t *verdicts)
{
    u->n = n;
    memcpy(u->keys, keys, n * sizeof *keys);
    memset(verdicts, 0, n);
    for (size_t i = 0; i < n; i++)
        u->at[i] = (uint16_t)i;
    for (uint32_t i = c->n - skip; i > 0 && u->n > 0; i--)
        look(c, &c->links[i - 1], u, verdicts);
}

static void ask_one(const struct chain *c, uint32_t skip, struct weir_key key, uint8_t *verdict)
{
    *verdict = 0;
    for (uint32_t i = c->n - skip; i > 0 && !*verdict; i--)
        ask_link(c, &c->links[i - 1], &key, 1, verdict);
}

void chain_ask(const struct chain *c, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    struct unseen u;

    if (c->n == 1)
        ask_link(c, &c->links[0], keys, n, verdicts);
    else if (n == 1)
        ask_one(c, 0, keys[0], verdicts);
    else
        look_back(c, 0, keys, n, &u, verdicts);
}

/* ---- adding to Bloom filters ---- */

static void observe(struct chain *c, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    struct link *last = &c->links[c->n - 1];

    if (c->imported)
        for (size_t i = 0; i < n; i++) {
            verdicts[i] = import_has(c, last, keys[i]);
            if (!verdicts[i])
                import_set(last, keys[i]);
        }
    else if (n == 1)
        verdicts[0] = weir_observe(last->filter, keys[0]);
    else
        weir_observe_many(last->filter, keys, n, verdicts);
    for (size_t i = 0; i < n; i++) {
        last->items += !verdicts[i];
        c->items += !verdicts[i];
    }
}

/* The last filter can take n keys. */
static void add(struct chain *c, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    uint8_t found[ITEMS_AT_ONCE];
    struct unseen u;

    if (c->n == 1) {
        observe(c, keys, n, verdicts);
        return;
    }
    if (n == 1) {
        ask_one(c, 1, keys[0], verdicts);
        if (!*verdicts)
            observe(c, keys, 1, verdicts);
        return;
    }
    look_back(c, 1, keys, n, &u, verdicts);
    observe(c, u.keys, u.n, found);
    for (size_t i = 0; i < u.n; i++)
        verdicts[u.at[i]] = found[i];
}

size_t chain_add(struct chain *c, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    size_t done = 0;

    while (done < n) {
        const struct link *last = &c->links[c->n - 1];
        uint64_t room = last->capacity > last->items ? last->capacity - last->items : 0;

        if (room > 0) { /* even if all keys are new */
            size_t m = n - done < room ? n - done : (size_t)room;

            add(c, keys + done, m, verdicts + done);
            done += m;
            continue;
        }
        chain_ask(c, keys + done, 1, verdicts + done);
        if (!verdicts[done])
            break;
        done++;
    }
    return done;
}

/* ---- cuckoo filters ---- */

/* Add a copy to one filter. *changed: the filter changed, even if the copy has no slot now. */
static bool store(struct chain *c, struct link *link, struct weir_key key, bool *changed)
{
    uint32_t before;

    if (link->items == link->capacity || (before = weir_count(link->filter, key)) >= COPIES_MAX)
        return false;
    *changed = true;
    weir_observe(link->filter, key);
    if (weir_count(link->filter, key) == before)
        return false;
    link->items++;
    c->items++;
    return true;
}

enum cuckoo_reply chain_insert(struct chain *c, struct weir_key key, bool *changed)
{
    *changed = false;
    if (c->imported)
        return import_insert(c, key) ? CUCKOO_ADDED : CUCKOO_FULL;
    for (uint32_t i = c->n; i > 0; i--)
        if (store(c, &c->links[i - 1], key, changed))
            return CUCKOO_ADDED;
    return CUCKOO_FULL;
}

bool chain_remove(struct chain *c, struct weir_key key)
{
    if (c->imported)
        return import_remove(c, key);
    for (uint32_t i = c->n; i > 0; i--) {
        struct link *link = &c->links[i - 1];
        bool there = false;

        if (weir_forget(link->filter, key, &there, NULL) != WEIR_OK || !there)
            continue;
        if (link->items > 0) {
            link->items--;
            c->items--;
        }
        c->deleted++;
        return true;
    }
    return false;
}

uint64_t chain_count(const struct chain *c, struct weir_key key)
{
    uint64_t count = 0;

    if (c->imported)
        return import_count(c, key);
    for (uint32_t i = 0; i < c->n; i++)
        count += weir_count(c->links[i].filter, key);
    return count;
}

bool chain_compact(struct chain *c)
{
    uint32_t left = 1, before = c->n;

    if (c->imported)
        return import_compact(c, true);
    for (uint32_t i = 1; i < c->n; i++) {
        if (c->links[i].items > 0) {
            c->links[left++] = c->links[i];
            continue;
        }
        weir_close(c->links[i].filter);
        c->is.bytes -= c->links[i].bytes;
        c->capacity -= c->links[i].capacity;
    }
    c->n = left;
    c->largest = 0;
    for (uint32_t i = 0; i < c->n; i++)
        c->largest = c->links[i].capacity > c->largest ? c->links[i].capacity : c->largest;
    return left < before;
}
