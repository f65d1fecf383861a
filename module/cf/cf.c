/* cf.c - the commands CF.*, as clients of RedisBloom know them: sets that lose items again.
 *
 * A chain (chain.h) of cuckoo filters of the library, whose buckets have four places and whose
 * moves are at most 500, whatever BUCKETSIZE and MAXITERATIONS ask for; CF.INFO tells that. */
#include <stdio.h>

#include "chain/chain_transfer.h"
#include "server/args.h"
#include "server/command_table.h"
#include "server/reply.h"
#include "server/server.h"
#include "server/settings.h"
#include "value/key_access.h"

#define CF_CAPACITY 1024

/* Of all filters of a chain. CF.DEL takes an item out of the newest that has it, and where that has
 * another of the same fingerprint instead, the other is lost: so it is small, and the newest
 * errs least. */
#define CF_ERROR 0.001
#define CAPACITY_MOST (1LL << 40)
#define EXPANSION_MOST 32768
#define BUCKET_SIZE 4
#define MOST_MOVES 500

static const struct chain_wish cf_default = {.family = &family_cuckoo,
                                             .error = CF_ERROR,
                                             .tightening = CHAIN_TIGHTENING,
                                             .capacity = CF_CAPACITY,
                                             .expansion = 1};

/* ---- items ---- */

static struct weir_key hash(const struct chain *c, const struct rm_string *item)
{
    struct weir_bytes bytes = arg_bytes(item);

    return weir_hash(c->links[0].w, bytes.data, bytes.size);
}

static bool has(const struct chain *c, struct weir_key key)
{
    uint8_t seen = 0;

    chain_ask(c, &key, 1, &seen);
    return seen;
}

#define SHOWINGS 8 /* of one item have room in a filter */

/* A showing that was stored is counted. *tried says that it was shown, and the filter changed. */
static bool store(struct link *link, struct weir_key key, bool *tried)
{
    uint32_t before = weir_count(link->w, key);

    if (link->items == link->capacity || before >= SHOWINGS)
        return false;
    *tried = true;
    weir_observe(link->w, key);
    if (weir_count(link->w, key) == before)
        return false;
    link->items++;
    return true;
}

enum cf_answer { CF_NO_ROOM = -1, CF_EXISTS = 0, CF_ADDED = 1 };

/* In the newest filter that has room, which may be a further one. A filter that has places but not
 * for this item was changed by trying; then a client's limit does not count, so that replicas,
 * which have none, do the same. */
static enum cf_answer add(struct rm_ctx *ctx, struct chain *c, struct weir_key key, bool *tried)
{
    uint64_t most;

    *tried = false;
    for (uint32_t i = c->n; i > 0; i--)
        if (store(&c->links[i - 1], key, tried))
            return CF_ADDED;
    if (c->expansion == 0)
        return CF_NO_ROOM;
    most = *tried || server_obeys(ctx) ? 0 : settings_largest();
    if (!chain_grow(c, most))
        return CF_NO_ROOM;
    return store(&c->links[c->n - 1], key, tried) ? CF_ADDED : CF_NO_ROOM;
}

static bool take_out(struct chain *c, struct weir_key key)
{
    for (uint32_t i = c->n; i > 0; i--) {
        struct link *link = &c->links[i - 1];
        bool there = false;

        if (weir_forget(link->w, key, &there, NULL) == WEIR_OK && there) {
            link->items -= link->items > 0;
            c->deleted++;
            return true;
        }
    }
    return false;
}

/* ---- creating ---- */

static struct chain *create(struct rm_ctx *ctx, struct rm_string *name, struct opened *o,
                            const struct chain_wish *wish)
{
    struct weir_error error;
    struct chain *c = chain_open(wish, server_obeys(ctx) ? 0 : settings_largest(), &error);
    char seed[32];

    if (!c) {
        rm.ReplyWithError(ctx, "ERR Insufficient memory to create filter");
        return NULL;
    }
    value_put(o->key, &c->is);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)c->seed);
    rm.Replicate(ctx, "CF.RESERVE", "slclcc", name, (long long)wish->capacity, "EXPANSION",
                 (long long)c->expansion, "SEED", seed);
    return c;
}

static bool is_number(const struct rm_string *arg, long long min, long long max, uint64_t *number)
{
    long long value;

    if (rm.StringToLongLong(arg, &value) != RM_OK || value < min || value > max)
        return false;
    *number = (uint64_t)value;
    return true;
}

static const char *parse_reserve(struct chain_wish *wish, struct rm_string **argv, int argc)
{
    uint64_t ignored;

    if (!is_number(argv[2], 1, CAPACITY_MOST, &wish->capacity))
        return "Bad capacity";
    for (int i = 3; i + 1 < argc; i += 2) {
        if (arg_is(argv[i], "BUCKETSIZE")) {
            if (!is_number(argv[i + 1], 1, 255, &ignored))
                return "Couldn't parse BUCKETSIZE";
        } else if (arg_is(argv[i], "MAXITERATIONS")) {
            if (!is_number(argv[i + 1], 1, 65535, &ignored))
                return "Couldn't parse MAXITERATIONS";
        } else if (arg_is(argv[i], "EXPANSION")) {
            if (!is_number(argv[i + 1], 0, EXPANSION_MOST, &wish->expansion))
                return "Couldn't parse EXPANSION";
        } else if (arg_is(argv[i], "SEED")) {
            wish->seeded = true;
            if (!arg_u64(argv[i + 1], &wish->seed))
                return "Couldn't parse SEED";
        } else {
            return "Unknown argument received";
        }
    }
    return NULL;
}

static int cf_reserve(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    struct chain_wish wish = cf_default;
    const char *why;
    struct chain *c;

    if (argc < 3 || argc % 2 == 0)
        return rm.WrongArity(ctx);
    why = parse_reserve(&wish, argv, argc);
    if (why)
        return rm.ReplyWithError(ctx, why);
    struct opened o = key_open(ctx, argv[1], RM_READ | RM_WRITE, &family_cuckoo);
    if (o.wrong)
        return key_refuse(ctx, &o);
    if (o.value) {
        rm.ReplyWithError(ctx, "ERR item exists");
    } else if ((c = create(ctx, argv[1], &o, &wish))) {
        key_told(ctx, argv[1], &c->is, "cf.reserve");
        reply_ok(ctx);
    }
    return key_close(&o);
}

/* ---- CF.ADD, CF.ADDNX, CF.INSERT, CF.INSERTNX ---- */

struct insertion {
    struct chain_wish wish;
    bool creates, unless_there, many;
    int items; /* where they begin */
};

static void answer(struct rm_ctx *ctx, enum cf_answer is, bool many)
{
    if (is != CF_NO_ROOM)
        reply_bool(ctx, is == CF_ADDED);
    else if (many)
        rm.ReplyWithLongLong(ctx, -1);
    else
        rm.ReplyWithError(ctx, "Filter is full");
}

/* What changed the filter is replicated, item by item. */
static void insert_items(struct rm_ctx *ctx, struct chain *c, const struct insertion *in,
                         struct rm_string **argv, int argc)
{
    if (in->many)
        rm.ReplyWithArray(ctx, argc - in->items);
    for (int i = in->items; i < argc; i++) {
        struct weir_key key = hash(c, argv[i]);
        bool tried = false;
        enum cf_answer is = in->unless_there && has(c, key) ? CF_EXISTS : add(ctx, c, key, &tried);

        answer(ctx, is, in->many);
        if (is == CF_ADDED || tried)
            rm.Replicate(ctx, "CF.ADD", "ss", argv[1], argv[i]);
    }
}

static int insert(struct rm_ctx *ctx, struct rm_string **argv, int argc, const struct insertion *in)
{
    struct opened o = key_open(ctx, argv[1], RM_READ | RM_WRITE, &family_cuckoo);
    struct chain *c = o.value;

    if (o.wrong)
        return key_refuse(ctx, &o);
    if (!c && !in->creates) {
        rm.ReplyWithError(ctx, "ERR not found");
        return key_close(&o);
    }
    if (!c && !(c = create(ctx, argv[1], &o, &in->wish)))
        return key_close(&o);
    insert_items(ctx, c, in, argv, argc);
    key_told(ctx, argv[1], &c->is, "cf.add");
    return key_close(&o);
}

static int add_one(struct rm_ctx *ctx, struct rm_string **argv, int argc, bool unless_there)
{
    struct insertion in = {cf_default, true, unless_there, false, 2};

    return argc == 3 ? insert(ctx, argv, argc, &in) : rm.WrongArity(ctx);
}

static int cf_add(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return add_one(ctx, argv, argc, false);
}

static int cf_addnx(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return add_one(ctx, argv, argc, true);
}

/* key [CAPACITY c] [NOCREATE] ITEMS item ... */
static int insert_many(struct rm_ctx *ctx, struct rm_string **argv, int argc, bool unless_there)
{
    struct insertion in = {cf_default, true, unless_there, true, 2};

    if (argc < 4)
        return rm.WrongArity(ctx);
    for (; in.items < argc && !arg_is(argv[in.items], "ITEMS"); in.items++) {
        if (arg_is(argv[in.items], "NOCREATE"))
            in.creates = false;
        else if (!arg_is(argv[in.items], "CAPACITY"))
            return rm.ReplyWithError(ctx, "Unknown argument received");
        else if (++in.items == argc ||
                 !is_number(argv[in.items], 1, CAPACITY_MOST, &in.wish.capacity))
            return rm.ReplyWithError(ctx, "Bad capacity");
    }
    in.items++;
    return in.items < argc ? insert(ctx, argv, argc, &in) : rm.WrongArity(ctx);
}

static int cf_insert(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return insert_many(ctx, argv, argc, false);
}

static int cf_insertnx(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return insert_many(ctx, argv, argc, true);
}

/* ---- asking and taking out ---- */

static int exists(struct rm_ctx *ctx, struct rm_string **argv, int argc, bool many)
{
    struct opened o = key_open(ctx, argv[1], RM_READ, &family_cuckoo);
    const struct chain *c = o.value;

    if (o.loading)
        return key_refuse(ctx, &o);
    if (many)
        rm.ReplyWithArray(ctx, argc - 2);
    for (int i = 2; i < argc; i++)
        reply_bool(ctx, c && has(c, hash(c, argv[i])));
    return key_close(&o);
}

static int cf_exists(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return argc == 3 ? exists(ctx, argv, argc, false) : rm.WrongArity(ctx);
}

static int cf_mexists(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return argc >= 3 ? exists(ctx, argv, argc, true) : rm.WrongArity(ctx);
}

static int cf_count(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    long long count = 0;

    if (argc != 3)
        return rm.WrongArity(ctx);
    struct opened o = key_open(ctx, argv[1], RM_READ, &family_cuckoo);
    const struct chain *c = o.value;
    if (o.wrong)
        return key_refuse(ctx, &o);
    for (uint32_t i = 0; c && i < c->n; i++)
        count += weir_count(c->links[i].w, hash(c, argv[2]));
    rm.ReplyWithLongLong(ctx, count);
    return key_close(&o);
}

static int cf_del(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    if (argc != 3)
        return rm.WrongArity(ctx);
    struct opened o = key_open(ctx, argv[1], RM_READ | RM_WRITE, &family_cuckoo);
    struct chain *c = o.value;
    if (o.wrong)
        return key_refuse(ctx, &o);
    if (!c) {
        rm.ReplyWithError(ctx, "Not found");
        return key_close(&o);
    }
    bool there = take_out(c, hash(c, argv[2]));
    reply_bool(ctx, there);
    if (there)
        key_changed(ctx, argv[1], &c->is, "cf.del");
    return key_close(&o);
}

/* ---- CF.INFO ---- */

/* Of all filters: places of a fingerprint each, by fours. */
static uint64_t buckets(const struct chain *c)
{
    uint64_t all = 0;

    for (uint32_t i = 0; i < c->n; i++) {
        char sentence[WEIR_SENTENCE];
        uint64_t memory = 0, bits = 0;

        weir_config(c->links[i].w, sentence, sizeof sentence);
        if (weir_sentence_number(sentence, "memory", &memory) &&
            weir_sentence_number(sentence, "bits", &bits) && bits > 0)
            all += 8 * memory / (BUCKET_SIZE * bits);
    }
    return all;
}

static int cf_info(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    if (argc != 2)
        return rm.WrongArity(ctx);
    struct opened o = key_open(ctx, argv[1], RM_READ, &family_cuckoo);
    const struct chain *c = o.value;
    if (o.wrong)
        return key_refuse(ctx, &o);
    if (!c) {
        rm.ReplyWithError(ctx, "ERR not found");
        return key_close(&o);
    }
    rm.ReplyWithMap(ctx, 8);
    reply_field(ctx, "Size", (long long)chain_bytes(c));
    reply_field(ctx, "Number of buckets", (long long)buckets(c));
    reply_field(ctx, "Number of filters", c->n);
    reply_field(ctx, "Number of items inserted", (long long)(chain_items(c) + c->deleted));
    reply_field(ctx, "Number of items deleted", (long long)c->deleted);
    reply_field(ctx, "Bucket size", BUCKET_SIZE);
    reply_field(ctx, "Expansion rate", (long long)c->expansion);
    reply_field(ctx, "Max iterations", MOST_MOVES);
    return key_close(&o);
}

static int cf_scandump(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return chain_scandump(ctx, argv, argc, &family_cuckoo);
}

static int cf_loadchunk(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return chain_loadchunk(ctx, argv, argc, &family_cuckoo);
}

/* clang-format off */
const struct command commands_cf[] = {
    {"cf.reserve", cf_reserve, "write deny-oom fast", -3, KEY_CHANGE,
     "Creates a cuckoo filter of a capacity", "O(capacity)",
     "#capacity BUCKETSIZE=#size? MAXITERATIONS=#iterations? EXPANSION=#expansion? SEED=#seed?"},
    {"cf.add", cf_add, "write deny-oom fast", 3, KEY_CHANGE,
     "Adds an item to a cuckoo filter", "O(filters of the chain)", "item"},
    {"cf.addnx", cf_addnx, "write deny-oom fast", 3, KEY_CHANGE,
     "Adds an item to a cuckoo filter unless it is there", "O(filters of the chain)", "item"},
    {"cf.insert", cf_insert, "write deny-oom fast", -4, KEY_CHANGE,
     "Adds items to a cuckoo filter, which is created as told", "O(items * filters of the chain)",
     "CAPACITY=#capacity? !NOCREATE? !ITEMS item+"},
    {"cf.insertnx", cf_insertnx, "write deny-oom fast", -4, KEY_CHANGE,
     "Adds items to a cuckoo filter that are not there", "O(items * filters of the chain)",
     "CAPACITY=#capacity? !NOCREATE? !ITEMS item+"},
    {"cf.exists", cf_exists, "readonly fast", 3, KEY_READ,
     "Tells whether an item is there", "O(filters of the chain)", "item"},
    {"cf.mexists", cf_mexists, "readonly fast", -3, KEY_READ,
     "Tells of each item whether it is there", "O(items * filters of the chain)", "item+"},
    {"cf.count", cf_count, "readonly fast", 3, KEY_READ,
     "Tells how often an item is there", "O(filters of the chain)", "item"},
    {"cf.del", cf_del, "write fast", 3, KEY_CHANGE,
     "Takes an item out of a cuckoo filter, once", "O(filters of the chain)", "item"},
    {"cf.info", cf_info, "readonly fast", 2, KEY_READ,
     "Tells what a cuckoo filter is", "O(filters of the chain)", ""},
    {"cf.scandump", cf_scandump, "readonly", 3, KEY_READ,
     "Gives a cuckoo filter in chunks", "O(capacity)", "#iterator"},
    {"cf.loadchunk", cf_loadchunk, "write deny-oom", 4, KEY_CHANGE,
     "Makes a cuckoo filter from chunks of CF.SCANDUMP", "O(chunk), O(capacity) for the last",
     "#iterator data"},
    {0},
};
/* clang-format on */
