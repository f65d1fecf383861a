/* chain.h - the value of a key of BF.* or CF.*: a chain of filters, so that it can grow.
 *
 * The first filter has the requested capacity. When it is full, a second one is added, with
 * `expansion` times the capacity and half the error rate, and so on. All have the same seed, so
 * that an item is hashed once. The first has half of the requested error rate, so that all
 * together stay below it (Almeida et al. 2007). A chain that does not scale has one filter with
 * the whole error rate, and rejects items when it is full.
 *
 * A filter of the chain is one of the library (`filter`). Bloom filters get five eighths of the
 * hash functions that would need the least memory: 6 % more memory, and three eighths fewer cache
 * lines per item, which determine the time.
 *
 * In a chain that was loaded from RedisBloom the filters are `cells` in RedisBloom's layout, and
 * new ones are too. So every reply equals RedisBloom's, and the value can be saved in its format.
 *
 * Cost: a lookup visits the filters from newest to oldest. The number of filters is limited
 * (struct chain_limits). Adding a filter takes amortized constant time besides its memory. */
#ifndef MODULE_CHAIN_H
#define MODULE_CHAIN_H

#include "value/redisbloom.h"
#include "value/value.h"

struct link {
    weir_filter *filter; /* NULL in a chain from RedisBloom, which has: */
    uint8_t *cells;      /* bits of a Bloom filter, bytes of a cuckoo filter */
    uint64_t size;       /* bytes of the cells */
    uint64_t places;     /* positions for hashes: bits or buckets */
    double bits_per_item;
    uint64_t hashes, exponent; /* if exponent is not 0, places = 2^exponent */

    uint64_t capacity, items; /* items are not counted per filter in cuckoo filters of RedisBloom */
    double error;
    uint64_t bytes; /* of memory, as the allocator counts it */
};

struct chain {
    struct value is;
    bool cuckoo;        /* CF.*, else BF.* */
    bool imported;      /* from RedisBloom */
    uint64_t expansion; /* 0: it does not scale */
    double error;       /* requested, of the whole chain */
    double tightening;  /* factor between the error rates of a filter and the next */
    uint64_t seed;
    uint64_t deleted; /* items that CF.DEL removed */

    /* Arguments of CF.RESERVE; the last two are 0 in Bloom filters. */
    uint64_t asked; /* capacity; buckets if imported */
    uint64_t bucket_size, moves;

    uint64_t options, growth; /* of a Bloom filter of RedisBloom */

    /* Sums over all links, and the largest capacity. */
    uint64_t items, capacity, largest;
    uint32_t n, room; /* links, and how many the array can hold */
    struct link *links;
};

struct chain_request {
    bool cuckoo;
    double error, tightening;
    uint64_t capacity, expansion;
    uint64_t bucket_size, moves; /* reported by CF.INFO, but not used */
    bool seeded;                 /* otherwise the seed is random */
    uint64_t seed;
};

#define CHAIN_TIGHTENING 0.5

/* Limits for a whole chain: bytes (0: none) and number of filters. */
struct chain_limits {
    uint64_t bytes;
    uint32_t filters;
};

/* Those of a client's command; none for a command from a master or an AOF. */
struct chain_limits chain_limits(struct rm_ctx *ctx, bool cuckoo);

/* NULL with a message. */
struct chain *chain_open(const struct chain_request *request, uint64_t most,
                         struct weir_error *error);
void chain_close(struct chain *c);

/* Hash n items for lookups in this chain. */
void chain_hash(const struct chain *c, const struct weir_bytes *items, size_t n,
                struct weir_key *keys);

/* Prefetch the memory of a key that will be added, PREFETCH keys ahead. */
void chain_prefetch(const struct chain *c, struct weir_key key);

#define PREFETCH 12

/* Look up at most ITEMS_AT_ONCE keys: verdicts[i] becomes 1 if key i was added. */
void chain_ask(const struct chain *c, const struct weir_key *keys, size_t n, uint8_t *verdicts);

/* Add at most ITEMS_AT_ONCE keys to a Bloom filter, in order. Returns the number of keys that were
 * processed. It is below n if the last filter is full and the next key is new. */
size_t chain_add(struct chain *c, const struct weir_key *keys, size_t n, uint8_t *verdicts);

/* Append a filter: larger by the expansion if all are full, otherwise a small one. False if a limit
 * is reached or memory allocation fails. */
bool chain_grow(struct chain *c, struct chain_limits limits);

/* ---- cuckoo filters ---- */

enum cuckoo_reply { CUCKOO_FULL = -1, CUCKOO_EXISTS = 0, CUCKOO_ADDED = 1 };

/* Add one copy of a key to the newest filter that is not full. *changed: the filter changed,
 * although the key was not added. */
enum cuckoo_reply chain_insert(struct chain *c, struct weir_key key, bool *changed);

/* Remove one copy; false if there was none. */
bool chain_remove(struct chain *c, struct weir_key key);
uint64_t chain_count(const struct chain *c, struct weir_key key);

/* Free filters without items, except the first. In a chain from RedisBloom, first move items to
 * older filters. False if nothing changed. */
bool chain_compact(struct chain *c);

/* Number of buckets that clients expect of the first cuckoo filter. */
uint64_t chain_buckets(const struct chain *c);

/* ---- chains from RedisBloom ---- */

extern const struct family family_imported_bloom, family_imported_cuckoo;

/* Set what all chains from RedisBloom have. */
void import_begin(struct chain *c, bool cuckoo);

/* Append a filter. `cells` is owned by the chain afterwards; NULL allocates zeroed cells. */
bool import_append(struct chain *c, struct link link);

/* Are the fields of a Bloom filter, or of a chain of n cuckoo filters, valid? */
bool import_check(const struct chain *c, const struct link *l);
bool import_cuckoo_check(const struct chain *c, uint64_t n);

/* Size, capacity and cells of the j-th cuckoo filter. False if it is too large. */
bool import_size(const struct chain *c, uint64_t j, struct link *l);

/* The filter that chain_grow() would append. */
bool import_next(const struct chain *c, struct link *l);

bool import_has(const struct chain *c, const struct link *l, struct weir_key key);
void import_set(struct link *l, struct weir_key key);
bool import_insert(struct chain *c, struct weir_key key);
bool import_remove(struct chain *c, struct weir_key key);
uint64_t import_count(const struct chain *c, struct weir_key key);
bool import_compact(struct chain *c, bool all);

/* Bytes as RedisBloom's INFO commands report them. */
uint64_t import_bytes(const struct chain *c);

/* ---- BF.* and CF.*: commands.c; SCANDUMP and LOADCHUNK: chain_transfer.c ---- */

/* A number of min to max: NULL, or the error reply. */
const char *chain_number(const struct rm_string *arg, uint64_t *number, long long min,
                         long long max, const char *no_number, const char *out_of_range);

/* Create the filter of a missing key, and replicate its parameters and seed. NULL after an error
 * reply. */
struct chain *chain_create(struct rm_ctx *ctx, struct rm_string *name,
                           const struct chain_request *request);

/* BF.RESERVE and CF.RESERVE. */
int chain_reserve(struct rm_ctx *ctx, struct rm_string *name, const struct chain_request *request);

/* Hash the first of n items, at most ITEMS_AT_ONCE. Returns their number. */
size_t chain_hash_items(const struct chain *c, struct rm_string **items, size_t n,
                        struct weir_key *keys);

/* EXISTS, or MEXISTS if `many`. */
int chain_exists(struct rm_ctx *ctx, struct rm_string **argv, int argc, bool cuckoo, bool many);

/* Reply with an error of BF.* in the dialect that is set; `text` is RedisBloom's. */
int bf_refuse(struct rm_ctx *ctx, const char *text);

rm_command_function bf_scandump, bf_loadchunk, bf_info, bf_debug, bf_card;

/* The cuckoo filters of the library have buckets of four slots and at most 500 moves. BUCKETSIZE
 * and MAXITERATIONS are stored and reported by CF.INFO, but not used. */
rm_command_function cf_scandump, cf_loadchunk, cf_reserve, cf_add, cf_addnx, cf_insert, cf_insertnx;

#endif
