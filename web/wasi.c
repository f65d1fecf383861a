/* wasi.c - what the library and the evaluator need and WebAssembly does not have: threads (a filter
 * of one shard instead), huge pages, and SipHash, which only `hash=sip` uses. */
#include <sodium/crypto_shorthash_siphash24.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "state/shards.h"

enum weir_status shards_open(struct shards *s, const char *spec, uint32_t count,
                             struct weir_error *error)
{
    enum weir_status status;

    *s = (struct shards){.count = count, .w = calloc(1, sizeof *s->w)};
    if (!s->w || count != 1)
        return WEIR_NO_MEMORY;
    status = weir_open(s->w, spec, error);
    if (status == WEIR_OK)
        weir_config(*s->w, s->config, sizeof s->config);
    return status;
}

void shards_close(struct shards *s)
{
    if (s->w)
        weir_close(*s->w);
    free(s->w);
    *s = (struct shards){0};
}

int madvise(void *at, size_t size, int advice)
{
    (void)at, (void)size, (void)advice;
    return -1;
}

int crypto_shorthash_siphashx24(unsigned char *out, const unsigned char *in,
                                unsigned long long size, const unsigned char *key)
{
    (void)out, (void)in, (void)size, (void)key;
    abort(); /* web_open() refuses hash=sip */
}
