/* loading.c - a value that arrives in chunks, and cursors. */
#include "value/loading.h"
#include "server/reply.h"
#include "server/server.h"
#include "value/image.h"

#include <stdio.h>
#include <string.h>

#define PART_CHUNKS 0x57f0 /* head of the image of one: have, version, total, chunks */

struct loading_chunk {
    struct loading_chunk *next;
    size_t size;
    uint8_t data[];
};

struct value_loading *loading_begin(uint64_t version, uint64_t total)
{
    struct value_loading *l = server_take(sizeof *l);

    if (!l)
        return NULL;
    l->is.family = &family_loading;
    l->version = version;
    l->total = total;
    l->last = &l->first;
    return l;
}

bool loading_add(struct value_loading *l, const void *data, size_t size)
{
    struct loading_chunk *chunk = rm.TryAlloc(sizeof *chunk + size);

    if (!chunk)
        return false;
    chunk->next = NULL;
    chunk->size = size;
    memcpy(chunk->data, data, size);
    *l->last = chunk;
    l->last = &chunk->next;
    l->have += size;
    l->chunks++;
    return true;
}

/* ---- from chunks to a value ---- */

static void drop_first(struct value_loading *l)
{
    struct loading_chunk *chunk = l->first;

    l->first = chunk->next;
    server_give(chunk);
}

/* The chunk that was read before is given back. */
static bool next_chunk(struct image_in *in)
{
    struct value_loading *l = in->context;

    if (in->data && l->first)
        drop_first(l);
    in->data = l->first ? l->first->data : NULL;
    in->size = l->first ? l->first->size : 0;
    return in->size > 0;
}

static const struct family *family_of(uint32_t kind)
{
    switch (kind) {
    case PART_BLOOM:
        return &family_bloom;
    case PART_CUCKOO:
        return &family_cuckoo;
    case PART_COUNTS:
        return &family_counts;
    case PART_TOP:
        return &family_top;
    default:
        return &family_filter;
    }
}

struct value *loading_finish(struct value_loading *l, uint64_t most, struct weir_error *error)
{
    struct image_in in = {.next = next_chunk, .context = l, .most = most};

    return image_read(family_of(image_kind(&in)), &in, error);
}

/* ---- as a value ---- */

static void free_loading(struct value *v)
{
    struct value_loading *l = (struct value_loading *)v;

    while (l->first)
        drop_first(l);
    server_give(l);
}

static struct value *copy(const struct value *v)
{
    const struct value_loading *from = (const struct value_loading *)v;
    struct value_loading *l = loading_begin(from->version, from->total);

    for (const struct loading_chunk *c = from->first; l && c; c = c->next)
        if (!loading_add(l, c->data, c->size)) {
            free_loading(&l->is);
            return NULL;
        }
    return l ? &l->is : NULL;
}

static bool write(const struct value *v, weir_sink sink, void *context)
{
    const struct value_loading *l = (const struct value_loading *)v;
    struct bytes_out head = {0};
    bool good;

    put_number(&head, l->have);
    put_number(&head, l->version);
    put_number(&head, l->total);
    put_number(&head, l->chunks);
    good = put_part(&head, PART_CHUNKS, sink, context);
    for (const struct loading_chunk *c = l->first; good && c; c = c->next)
        good = sink(context, c->data, c->size);
    return good;
}

static bool read_chunks(struct image_in *in, struct value_loading *l, uint64_t have)
{
    while (l->have < have) {
        size_t size = have - l->have < PIECE ? (size_t)(have - l->have) : PIECE;
        void *data = server_take(size);
        bool good = data && image_get(in, data, size) && loading_add(l, data, size);

        server_give(data);
        if (!good)
            return false;
    }
    return true;
}

static struct value *read(struct image_in *in, struct weir_error *error)
{
    struct weir_part part;
    struct weir_bytes body;
    uint64_t have = 0, version = 0, total = 0, chunks = 0;
    struct value_loading *l = NULL;
    void *head;

    if (image_kind(in) != PART_CHUNKS || !(head = image_part(in, &part, error))) {
        image_refuse(error, "not a value that is being loaded");
        return NULL;
    }
    body = (struct weir_bytes){part.body, part.body_size};
    if (get_number(&body, &have) && get_number(&body, &version) && get_number(&body, &total) &&
        get_number(&body, &chunks) && body.size == 0)
        l = loading_begin(version, total);
    server_give(head);
    if (l && read_chunks(in, l, have)) {
        l->chunks = chunks;
        return &l->is;
    }
    if (l)
        free_loading(&l->is);
    image_refuse(error, "the transfer is truncated");
    return NULL;
}

/* In an AOF the chunks come again, with all that is known of them in the cursor. */
static void rewrite(const struct value *v, struct rm_io *io, struct rm_string *key)
{
    const struct value_loading *l = (const struct value_loading *)v;
    uint64_t told = 0;
    char cursor[CURSOR_SIZE];

    if (l->total > 0 && l->have == 0)
        cursor_rewrite_head(io, key, l->version, l->total);
    for (const struct loading_chunk *c = l->first; c; c = c->next) {
        told += c->size;
        cursor_write(cursor, told, l->version, l->total, l->chunks);
        rm.EmitAOF(io, "WEIR.LOAD", "scb", key, cursor, c->data, c->size);
    }
}

static size_t memory(const struct value *v)
{
    const struct value_loading *l = (const struct value_loading *)v;

    return sizeof *l + l->have + l->chunks * sizeof *l->first;
}

static size_t blocks(const struct value *v)
{
    return 1 + ((const struct value_loading *)v)->chunks;
}

const struct family family_loading = {
    .type = "weir-load",
    .write = write,
    .read = read,
    .copy = copy,
    .free = free_loading,
    .memory = memory,
    .blocks = blocks,
    .rewrite = rewrite,
};

/* ---- what WEIR.LOAD and BF.LOADCHUNK share ---- */

bool transfer_fits(struct rm_ctx *ctx, uint64_t bytes)
{
    uint64_t most = settings_largest();

    return most == 0 || server_obeys(ctx) || bytes / 2 <= most; /* with room for checksums */
}

int transfer_finish(struct rm_ctx *ctx, struct rm_string *name, struct opened *o,
                    struct value_loading *l)
{
    struct weir_error error;
    struct value *v;

    image_no_memory(&error);
    v = loading_finish(l, server_obeys(ctx) ? 0 : settings_largest(), &error);

    if (!v) {
        rm.DeleteKey(o->key); /* what was there of it, if there was */
        rm.Replicate(ctx, "DEL", "s", name);
        return reply_failure(ctx, &error);
    }
    value_put(o->key, v);
    rm.ReplicateVerbatim(ctx);
    key_told(ctx, name, v, "weir.load");
    return reply_ok(ctx);
}

/* ---- cursors ---- */

void cursor_write(char text[CURSOR_SIZE], uint64_t offset, uint64_t version, uint64_t total,
                  uint64_t chunks)
{
    int n = snprintf(text, CURSOR_SIZE, "%llu-%llu", (unsigned long long)offset,
                     (unsigned long long)version);

    if (total > 0)
        snprintf(text + n, CURSOR_SIZE - (size_t)n, "-%llu-%llu", (unsigned long long)total,
                 (unsigned long long)chunks);
}

static bool number(const char **at, uint64_t *value)
{
    const char *from = *at;

    for (*value = 0; **at >= '0' && **at <= '9'; ++*at)
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(**at - '0'), value))
            return false;
    return *at > from;
}

bool cursor_read(const struct rm_string *arg, struct cursor *c)
{
    uint64_t *const fields[] = {&c->offset, &c->version, &c->total, &c->chunks};
    char text[CURSOR_SIZE];
    const char *at = text;

    *c = (struct cursor){0};
    if (!arg_text(arg, text, sizeof text))
        return false;
    for (int i = 0; i < 4; i++) {
        if (!number(&at, fields[i]))
            return false;
        if (*at != '-')
            break;
        at++;
    }
    return *at == '\0';
}

/* ---- the head of BF.SCANDUMP ---- */

#define HEAD_WORD "weirbf1" /* 8 bytes with its end, then the total in 8 */

void cursor_head(uint8_t head[HEAD_SIZE], uint64_t total)
{
    memcpy(head, HEAD_WORD, 8);
    for (int i = 0; i < 8; i++)
        head[8 + i] = (uint8_t)(total >> 8 * i);
}

bool cursor_is_head(const uint8_t *data, size_t size, uint64_t *total)
{
    *total = 0;
    if (size != HEAD_SIZE || memcmp(data, HEAD_WORD, 8) != 0)
        return false;
    for (int i = 7; i >= 0; i--)
        *total = *total << 8 | data[8 + i];
    return *total > 0;
}

void cursor_rewrite_head(struct rm_io *io, struct rm_string *key, uint64_t version, uint64_t total)
{
    uint8_t head[HEAD_SIZE];

    cursor_head(head, total);
    rm.EmitAOF(io, "BF.LOADCHUNK", "slb", key, (long long)(version << 32 | 1), (const char *)head,
               sizeof head);
}
