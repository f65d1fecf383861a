/* exact.c - exact:DIR, the index of weir dedup --exact, as of its last commit when it is opened. */
#include <weir/hash.h>

#include "index/index.h"

#include "backend.h"

#define MEMORY (64 << 20)
#define AT_ONCE 1024

static bool open_directory(struct store *store)
{
    struct index_options options = {.memory = MEMORY, .read_only = true};
    char why[INDEX_MESSAGE];

    store->unlisted = true;
    store->own = exact_open(store->url.path, &options, why);
    return store->own || store_refuse(store, "%s", why);
}

static enum outcome answer(struct store *store, const struct weir_bytes *keys, size_t n,
                           uint8_t *answers)
{
    struct index_figures f = exact_figures(store->own);
    struct weir_key key[AT_ONCE];

    for (size_t i = 0; i < n; i += AT_ONCE) {
        size_t part = n - i < AT_ONCE ? n - i : AT_ONCE;

        weir_hash_bytes_many(f.hash, f.seed, keys + i, part, key);
        if (!exact_ask(store->own, key, part, answers + i))
            return store_fail(store, STORE_REFUSED, "%s", exact_failure(store->own));
        for (size_t j = i; j < i + part; j++)
            answers[j] = answers[j] == WEIR_SEEN ? WEIR_MEMBER : WEIR_OTHER;
    }
    return STORE_OK;
}

static enum outcome size(struct store *store, uint64_t *keys)
{
    *keys = exact_figures(store->own).keys;
    return STORE_OK;
}

static const void *note(const struct store *store, size_t *bytes)
{
    return exact_note(store->own, bytes);
}

static void close_directory(struct store *store)
{
    exact_close(store->own);
}

static const char *const parameters[] = {NULL};

const struct backend backend_exact = {.scheme = "exact",
                                      .form = "exact:DIR",
                                      .hashed = true,
                                      .parameters = parameters,
                                      .open = open_directory,
                                      .answer = answer,
                                      .size = size,
                                      .note = note,
                                      .close = close_directory};
