/* cf_insert.c - CF.RESERVE, CF.ADD, CF.ADDNX, CF.INSERT, CF.INSERTNX. */
#include "cf/cf.h"
#include "server/reply.h"
#include "server/server.h"

#include <stdio.h>

#define CF_CAPACITY 1024

/* Of all filters of a chain. CF.DEL takes an item out of the newest that has it, and where that has
 * another of the same fingerprint instead, the other is lost: so it is small, and the newest
 * errs least. */
#define CF_ERROR 0.001
#define CAPACITY_MOST (1LL << 40)
#define BUCKET_SIZE 2
#define BUCKET_SIZE_MOST 255
#define MOVES 20
#define MOVES_MOST 65535
#define EXPANSION_MOST 32768

static const struct chain_wish cf_default = {.family = &family_cuckoo,
                                             .error = CF_ERROR,
                                             .tightening = CHAIN_TIGHTENING,
                                             .capacity = CF_CAPACITY,
                                             .expansion = 1,
                                             .bucket_size = BUCKET_SIZE,
                                             .moves = MOVES};

/* Make the filter of a key that has none, and tell the replicas how, with its seed. NULL after an
 * error reply. */
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
    rm.Replicate(ctx, "CF.RESERVE", "slclclclcc", name, (long long)wish->capacity, "BUCKETSIZE",
                 (long long)c->bucket_size, "MAXITERATIONS", (long long)c->moves, "EXPANSION",
                 (long long)c->expansion, "SEED", seed);
    return c;
}

/* The argument CAPACITY: NULL, or what is wrong with it. */
static const char *take_capacity(const struct rm_string *arg, struct chain_wish *wish)
{
    long long value;

    if (rm.StringToLongLong(arg, &value) != RM_OK || value < 1 || value > CAPACITY_MOST)
        return "Bad capacity";
    wish->capacity = (uint64_t)value;
    return NULL;
}

/* ---- CF.RESERVE ---- */

struct option {
    const char *word, *no_number, *out_of_range;
    long long min, max;
};

static const struct option options[] = {
    {"BUCKETSIZE", "Couldn't parse BUCKETSIZE",
     "BUCKETSIZE: value must be an integer between 1 and 255, inclusive.", 1, BUCKET_SIZE_MOST},
    {"MAXITERATIONS", "Couldn't parse MAXITERATIONS",
     "MAXITERATIONS: value must be an integer between 1 and 65535, inclusive.", 1, MOVES_MOST},
    {"EXPANSION", "Couldn't parse EXPANSION",
     "EXPANSION: value must be an integer between 0 and 32768, inclusive.", 0, EXPANSION_MOST},
};

static const char *parse_option(const struct option *option, const struct rm_string *arg,
                                uint64_t *number)
{
    long long value;

    if (rm.StringToLongLong(arg, &value) != RM_OK)
        return option->no_number;
    if (value < option->min || value > option->max)
        return option->out_of_range;
    *number = (uint64_t)value;
    return NULL;
}

static const char *parse_pair(struct chain_wish *wish, struct rm_string **argv)
{
    uint64_t *const numbers[] = {&wish->bucket_size, &wish->moves, &wish->expansion};

    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (arg_is(argv[0], options[i].word))
            return parse_option(&options[i], argv[1], numbers[i]);
    if (!arg_is(argv[0], "SEED"))
        return "Unknown argument received";
    wish->seeded = true;
    return arg_u64(argv[1], &wish->seed) ? NULL : "Couldn't parse SEED";
}

static const char *parse_reserve(struct chain_wish *wish, struct rm_string **argv, int argc)
{
    const char *why = take_capacity(argv[2], wish);

    for (int i = 3; i + 1 < argc && !why; i += 2)
        why = parse_pair(wish, argv + i);
    if (!why && wish->capacity < 2 * wish->bucket_size)
        why = "Capacity must be at least (BucketSize * 2)";
    return why;
}

int cf_reserve(struct rm_ctx *ctx, struct rm_string **argv, int argc)
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

/* ---- one item ---- */

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
 * which have none, do the same: the further one is small then. */
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

/* ---- CF.ADD, CF.ADDNX, CF.INSERT, CF.INSERTNX ---- */

struct cf_insertion {
    struct chain_wish wish;
    bool creates, unless_there, many;
    int items; /* where they begin */
};

/* CF.INSERTNX answers whole numbers in RESP3 too: clients look for -1 among them. */
static void answer(struct rm_ctx *ctx, enum cf_answer is, const struct cf_insertion *in)
{
    if (in->many && (is == CF_NO_ROOM || in->unless_there))
        rm.ReplyWithLongLong(ctx, is);
    else if (is == CF_NO_ROOM)
        rm.ReplyWithError(ctx, "Filter is full");
    else
        reply_bool(ctx, is == CF_ADDED);
}

/* What changed the filter is replicated, item by item. */
static void insert_items(struct rm_ctx *ctx, struct chain *c, const struct cf_insertion *in,
                         struct rm_string **argv, int argc)
{
    if (in->many)
        rm.ReplyWithArray(ctx, argc - in->items);
    for (int i = in->items; i < argc; i++) {
        struct weir_key key = cf_hash(c, argv[i]);
        bool tried = false;
        enum cf_answer is =
            in->unless_there && cf_has(c, key) ? CF_EXISTS : add(ctx, c, key, &tried);

        answer(ctx, is, in);
        if (is == CF_ADDED || tried)
            rm.Replicate(ctx, "CF.ADD", "ss", argv[1], argv[i]);
    }
}

static int insert(struct rm_ctx *ctx, struct rm_string **argv, int argc,
                  const struct cf_insertion *in)
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
    struct cf_insertion in = {cf_default, true, unless_there, false, 2};

    return argc == 3 ? insert(ctx, argv, argc, &in) : rm.WrongArity(ctx);
}

int cf_add(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return add_one(ctx, argv, argc, false);
}

int cf_addnx(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return add_one(ctx, argv, argc, true);
}

/* key [CAPACITY c] [NOCREATE] ITEMS item ... */
static int insert_many(struct rm_ctx *ctx, struct rm_string **argv, int argc, bool unless_there)
{
    struct cf_insertion in = {cf_default, true, unless_there, true, 2};

    if (argc < 4)
        return rm.WrongArity(ctx);
    for (; in.items < argc && !arg_is(argv[in.items], "ITEMS"); in.items++) {
        if (arg_is(argv[in.items], "NOCREATE"))
            in.creates = false;
        else if (!arg_is(argv[in.items], "CAPACITY"))
            return rm.ReplyWithError(ctx, "Unknown argument received");
        else if (++in.items == argc || take_capacity(argv[in.items], &in.wish))
            return rm.ReplyWithError(ctx, "Bad capacity");
    }
    if (in.wish.capacity < 2 * in.wish.bucket_size)
        return rm.ReplyWithError(ctx, "Capacity must be at least (BucketSize * 2)");
    in.items++;
    return in.items < argc ? insert(ctx, argv, argc, &in) : rm.WrongArity(ctx);
}

int cf_insert(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return insert_many(ctx, argv, argc, false);
}

int cf_insertnx(struct rm_ctx *ctx, struct rm_string **argv, int argc)
{
    return insert_many(ctx, argv, argc, true);
}
