/* cf_insert.c - CF.ADD, CF.ADDNX, CF.INSERT, CF.INSERTNX. */
#include "cf/cf.h"
#include "server/args.h"
#include "server/reply.h"
#include "server/server.h"
#include "server/settings.h"

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
    if (!c && !(c = cf_create(ctx, argv[1], &o, &in->wish)))
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
        else if (++in.items == argc || cf_capacity(argv[in.items], &in.wish))
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
