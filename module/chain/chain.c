/* chain.c - see chain.h. */
#include "chain/chain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/server.h"
#include "value/value.h"
#include "value/image.h"

#define LINK_DEFAULT "bloom capacity=%llu fpr=%.10g k=%d"
#define CUCKOO_DEFAULT "cuckoo capacity=%llu fpr=%.10g"
#define LEAST_CUCKOO_ERROR 1e-8 /* 32 bits are the most of a fingerprint */
#define LEAST_ERROR 1e-30       /* below that a link would cost memory for nothing */
#define MOST_ERROR 0.99         /* above that there is no memory to save */
#define SMALL_LINK 1024         /* items, of 3 KiB: for showings of few items */

uint64_t chain_bytes(const struct chain *c)
{
    uint64_t bytes = sizeof *c + c->n * sizeof *c->links;

    for (uint32_t i = 0; i < c->n; i++)
        bytes += weir_saved_size(c->links[i].w);
    return bytes;
}

uint64_t chain_items(const struct chain *c)
{
    uint64_t items = 0;

    for (uint32_t i = 0; i < c->n; i++)
        items += c->links[i].items;
    return items;
}

uint64_t chain_capacity(const struct chain *c)
{
    uint64_t capacity = 0;

    for (uint32_t i = 0; i < c->n; i++)
        capacity += c->links[i].capacity;
    return capacity;
}

/* ---- links ---- */

static uint64_t left_of(const struct chain *c, uint64_t most)
{
    uint64_t used = most > 0 ? chain_bytes(c) : 0;

    return most == 0 ? 0 : most > used ? most - used : 1;
}

static void describe_cuckoo(char spec[WEIR_SPEC_MAX], const struct link *link, const char *seed)
{
    snprintf(spec, WEIR_SPEC_MAX, CUCKOO_DEFAULT "%s", (unsigned long long)link->capacity,
             link->error, seed);
}

static void describe_bloom(char spec[WEIR_SPEC_MAX], const struct link *link, const char *seed)
{
    double rate = fmin(link->error, MOST_ERROR);
    double hashes = ceil(log2(1 / rate) * 5 / 8);

    snprintf(spec, WEIR_SPEC_MAX, LINK_DEFAULT "%s", (unsigned long long)link->capacity, rate,
             hashes < 1    ? 1
             : hashes > 32 ? 32
                           : (int)hashes,
             seed);
}

static bool add_link(struct chain *c, struct link link, const char *seed, uint64_t most,
                     struct weir_error *error)
{
    struct link *links = server_take((c->n + 1) * sizeof *links);
    char spec[WEIR_SPEC_MAX];

    (c->is.family == &family_cuckoo ? describe_cuckoo : describe_bloom)(spec, &link, seed);
    if (!links || filter_open(&link.w, spec, left_of(c, most), error) != WEIR_OK) {
        server_give(links);
        return false;
    }
    if (c->n > 0)
        memcpy(links, c->links, c->n * sizeof *links);
    server_give(c->links);
    c->links = links;
    c->links[c->n++] = link;
    return true;
}

/* Of the next link. A chain of thousands would halve it down to zero. */
static double tightened(const struct chain *c, double error)
{
    return fmax(error * c->tightening,
                c->is.family == &family_cuckoo ? LEAST_CUCKOO_ERROR : LEAST_ERROR);
}

/* Larger by the expansion when all are full. When places are left, but not for an item that was
 * shown often, a small one: else a few showings of one item would take all memory. */
static bool next_capacity(const struct chain *c, uint64_t *capacity)
{
    uint64_t first = c->links[0].capacity, largest = first;

    for (uint32_t i = 1; i < c->n; i++)
        largest = c->links[i].capacity > largest ? c->links[i].capacity : largest;
    *capacity = first < SMALL_LINK ? first : SMALL_LINK;
    return chain_items(c) < chain_capacity(c) ||
           !__builtin_mul_overflow(largest, c->expansion, capacity);
}

bool chain_grow(struct chain *c, uint64_t most)
{
    struct link link = {.error = tightened(c, c->links[c->n - 1].error)};
    char seed[32];

    snprintf(seed, sizeof seed, " seed=%llu", (unsigned long long)c->seed);
    return next_capacity(c, &link.capacity) && add_link(c, link, seed, most, NULL);
}

bool chain_drop_empty(struct chain *c)
{
    uint32_t left = 1;

    for (uint32_t i = 1; i < c->n; i++)
        if (c->links[i].items > 0)
            c->links[left++] = c->links[i];
        else
            weir_close(c->links[i].w);
    bool dropped = left < c->n;
    c->n = left;
    return dropped;
}

uint64_t chain_buckets(uint64_t capacity, uint64_t bucket_size)
{
    uint64_t buckets = 1;

    while (buckets < capacity / bucket_size)
        buckets *= 2;
    return buckets;
}

/* Places for all buckets that it will tell of. */
static uint64_t first_capacity(const struct chain_wish *wish)
{
    uint64_t places = wish->bucket_size > 0
                          ? wish->bucket_size * chain_buckets(wish->capacity, wish->bucket_size)
                          : 0;

    return places > wish->capacity ? places : wish->capacity;
}

struct chain *chain_open(const struct chain_wish *wish, uint64_t most, struct weir_error *error)
{
    struct chain *c = server_take(sizeof *c);
    struct link first = {.capacity = first_capacity(wish), .error = wish->error};
    char spec[WEIR_SPEC_MAX], seed[32] = "";

    image_no_memory(error);
    if (!c)
        return NULL;
    *c = (struct chain){.is.family = wish->family,
                        .expansion = wish->expansion,
                        .error = wish->error,
                        .tightening = wish->tightening,
                        .asked = wish->capacity,
                        .bucket_size = wish->bucket_size,
                        .moves = wish->moves};
    if (wish->expansion > 0)
        first.error = tightened(c, first.error);
    if (wish->seeded)
        snprintf(seed, sizeof seed, " seed=%llu", (unsigned long long)wish->seed);
    if (!add_link(c, first, seed, most, error)) {
        chain_close(c);
        return NULL;
    }
    weir_config(c->links[0].w, spec, sizeof spec);
    c->seed = spec_seed(spec);
    return c;
}

void chain_close(struct chain *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        weir_close(c->links[i].w);
    server_give(c->links);
    server_give(c);
}

/* ---- items ---- */

/* Keys of a batch that were not found yet, and where they stand in it. */
struct unseen {
    struct weir_key keys[ITEMS_AT_ONCE];
    uint16_t at[ITEMS_AT_ONCE];
    size_t n;
};

static void look(const weir_filter *w, struct unseen *u, uint8_t *verdicts)
{
    uint8_t found[ITEMS_AT_ONCE];
    size_t left = 0;

    weir_ask_many(w, u->keys, u->n, found);
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

/* Which are not in any link but the `last` newest? */
static void look_back(const struct chain *c, uint32_t last, const struct weir_key *keys, size_t n,
                      struct unseen *u, uint8_t *verdicts)
{
    u->n = n;
    memcpy(u->keys, keys, n * sizeof *keys);
    memset(verdicts, 0, n);
    for (size_t i = 0; i < n; i++)
        u->at[i] = (uint16_t)i;
    for (uint32_t i = c->n - last; i > 0 && u->n > 0; i--)
        look(c->links[i - 1].w, u, verdicts);
}

void chain_ask(const struct chain *c, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    struct unseen u;

    if (c->n == 1)
        weir_ask_many(c->links[0].w, keys, n, verdicts);
    else
        look_back(c, 0, keys, n, &u, verdicts);
}

/* n keys for which the last link has room. */
static void add(struct chain *c, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    struct link *last = &c->links[c->n - 1];
    uint8_t found[ITEMS_AT_ONCE];
    struct unseen u;

    if (c->n == 1) {
        weir_observe_many(last->w, keys, n, verdicts);
        for (size_t i = 0; i < n; i++)
            last->items += !verdicts[i];
        return;
    }
    look_back(c, 1, keys, n, &u, verdicts);
    weir_observe_many(last->w, u.keys, u.n, found);
    for (size_t i = 0; i < u.n; i++) {
        verdicts[u.at[i]] = found[i];
        last->items += !found[i];
    }
}

size_t chain_add(struct chain *c, const struct weir_key *keys, size_t n, uint8_t *verdicts)
{
    size_t done = 0;

    while (done < n) {
        const struct link *last = &c->links[c->n - 1];
        uint64_t room = last->capacity - last->items;

        if (room > 0) { /* at most as many are new */
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
