/* items.c - see items.h. */
#include "filter/items.h"

#include <weir/hash.h>

#include "server/args.h"

/* Words of one: its time, its importance, itself. */
static size_t words_of(const struct items *items)
{
    return 1 + (size_t)items->timed + (size_t)items->weighted;
}

static const struct rm_string *item(const struct items *items, size_t i)
{
    return items->argv[words_of(items) * (i + 1) - 1];
}

static bool importance(const struct items *items, size_t i, uint64_t *value)
{
    return arg_u64(items->argv[words_of(items) * (i + 1) - 2], value) && *value <= UINT32_MAX;
}

const char *items_take(struct items *items, struct rm_string **argv, int argc)
{
    size_t words = words_of(items);
    uint64_t value;

    items->argv = argv;
    items->n = (size_t)argc / words;
    if (argc == 0)
        return items->may_lack ? NULL : "no item";
    if ((size_t)argc % words != 0)
        return items->timed ? "TIMED needs a time before each item"
                            : "WEIGHTED needs an importance before each item";
    for (size_t i = 0; i < items->n; i++) {
        if (items->timed && !arg_u64(argv[words * i], &value))
            return "invalid time; expected milliseconds since 1970";
        if (items->timed && value > items->latest)
            items->latest = value;
        if (items->weighted && !importance(items, i, &value))
            return "invalid importance; expected 0 to 4294967295";
        if (items->hashed && arg_bytes(item(items, i)).size != 16)
            return "HASHED needs hashes of 16 bytes";
    }
    return NULL;
}

void items_times(const struct items *items, size_t from, size_t n, uint64_t *times)
{
    for (size_t i = 0; items->timed && i < n; i++)
        arg_u64(items->argv[words_of(items) * (from + i)], &times[i]);
}

static uint64_t word(const uint8_t *at)
{
    uint64_t value = 0;

    for (int i = 7; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

void items_keys(const struct items *items, size_t from, size_t n, const weir_filter *w,
                struct weir_key *keys)
{
    struct weir_bytes bytes[ITEMS_AT_ONCE];
    uint64_t value;

    for (size_t i = 0; i < n; i++)
        bytes[i] = arg_bytes(item(items, from + i));
    if (items->hashed)
        for (size_t i = 0; i < n; i++)
            keys[i] = (struct weir_key){word(bytes[i].data),
                                        word((const uint8_t *)bytes[i].data + 8), 1, 0};
    else
        weir_hash_many(w, bytes, n, keys);
    for (size_t i = 0; items->weighted && i < n; i++)
        if (importance(items, from + i, &value))
            keys[i].importance = (uint32_t)value;
}

uint64_t items_print(const struct items *items)
{
    size_t n = items->n * words_of(items);
    uint64_t print = 0;

    for (size_t i = 0; i < n; i++) {
        struct weir_bytes bytes = arg_bytes(items->argv[i]);

        print = weir_hash_bytes(WEIR_HASH_XXH3, print + 1, bytes.data, bytes.size).lo;
    }
    return print;
}
