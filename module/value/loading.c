/* loading.c - see loading.h. */
#include "value/loading.h"
#include "server/reply.h"
#include "server/server.h"
#include "value/image.h"
#include "value/job.h"

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
    l->is.bytes = server_bytes(l);
    l->version = version;
    l->total = total;
    return l;
}

static struct loading_chunk *new_chunk(const void *data, size_t size)
{
    struct loading_chunk *chunk = rm.TryAlloc(sizeof *chunk + size);

    if (!chunk)
        return NULL;
    chunk->next = NULL;
    chunk->size = size;
    memcpy(chunk->data, data, size);
    return chunk;
}

bool loading_add(struct value_loading *l, const void *data, size_t size)
{
    struct loading_chunk *chunk = new_chunk(data, size);

    if (!chunk)
        return false;
    *(l->first ? &l->last->next : &l->first) = chunk;
    l->last = chunk;
    l->have += size;
    l->is.bytes += server_bytes(chunk);
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

struct chunks_in {
    struct value_loading *l;
    const struct loading_chunk *next;
    struct loading_chunk *last; /* after those of l; NULL once it is next */
    bool drop;                  /* free each chunk after it was read */
};

static bool next_chunk(struct image_in *in)
{
    struct chunks_in *from = in->context;

    if (from->drop && in->data && from->l->first)
        drop_first(from->l);
    if (from->drop && from->last)
        from->next = from->l->first;
    if (!from->next) {
        from->next = from->last;
        from->last = NULL;
    }
    in->data = from->next ? from->next->data : NULL;
    in->size = from->next ? from->next->size : 0;
    from->next = from->next ? from->next->next : NULL;
    return in->size > 0;
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

static struct value *read(const struct family *family, struct image_in *in,
                          struct weir_error *error)
{
    struct weir_bytes body;
    uint64_t have = 0, version = 0, total = 0, chunks = 0;
    struct value_loading *l = NULL;
    void *head = image_head(in, PART_CHUNKS, &body, error);

    if (!head) {
        image_refuse(error, "not a value that is being loaded");
        return NULL;
    }
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

/* The chunks again, with all numbers in the cursor. */
static void rewrite(const struct value *v, struct rm_io *io, struct rm_string *key)
{
    const struct value_loading *l = (const struct value_loading *)v;
    uint64_t sent = 0;
    char cursor[CURSOR_SIZE];

    if (l->total > 0 && l->have == 0)
        cursor_rewrite_head(io, key, l->version, l->total);
    for (const struct loading_chunk *c = l->first; c; c = c->next) {
        sent += c->size;
        cursor_write(cursor, sent, l->version, l->total, l->chunks);
        rm.EmitAOF(io, "WEIR.LOAD", "scb", key, cursor, c->data, c->size);
    }
}

const struct family family_loading = {
    .type = "weir-load",
    .encoding = IMAGE_ENCODING,
    .size = sizeof(struct value_loading),
    .write = write,
    .read = read,
    .copy = copy,
    .free = free_loading,
    .rewrite = rewrite,
};

/* ---- for WEIR.LOAD and LOADCHUNK ---- */

bool transfer_fits(struct rm_ctx *ctx, uint64_t bytes)
{
    uint64_t most = server_limit(ctx);

    return most == 0 || bytes / 2 <= most; /* checksums are less than half */
}

struct load_job {
    struct job is;
    struct value_loading *l;
    struct loading_chunk *last; /* not in l before the end, because the server may save that */
    uint64_t most;
    struct value *result;
    struct weir_error error;
};

static void run_load(struct job *job)
{
    struct load_job *j = (struct load_job *)job;

    struct chunks_in from = {j->l, j->l->first, j->last, !job->threaded};
    struct image_in in = {.next = next_chunk, .context = &from, .most = j->most};

    image_no_memory(&j->error);
    j->result = image_read(family_with(image_kind(&in)), &in, &j->error);
}

static void finish_load(struct rm_ctx *ctx, struct rm_string **argv, int argc, struct job *job)
{
    struct load_job *j = (struct load_job *)job;

    if (!j->result) {
        key_delete(ctx, argv[1]);
        reply_failure(ctx, &j->error);
        return;
    }
    value_put(ctx, argv[1], j->result);
    key_changed(ctx, argv[1], j->result, "weir.load");
    j->result = NULL;
    reply_ok(ctx);
}

static void discard_load(struct job *job)
{
    struct load_job *j = (struct load_job *)job;

    if (j->result)
        value_release(j->result);
    server_give(j->last);
}

int transfer_finish(struct rm_ctx *ctx, struct rm_string **argv, struct value_loading *l)
{
    struct weir_bytes chunk = arg_bytes(argv[3]);
    struct load_job *j = job_open(ctx, sizeof *j, 1);
    if (!j)
        return RM_OK;
    j->is.run = run_load;
    j->is.finish = finish_load;
    j->is.discard = discard_load;
    j->l = l;
    j->last = new_chunk(chunk.data, chunk.size);
    j->most = server_limit(ctx);
    job_add_input(&j->is, 1, &l->is);
    if (j->last)
        return job_start(ctx, argv, 4, &j->is, l->have + chunk.size);
    job_close(&j->is);
    return reply_code(ctx, WEIRMEMORY);
}

/* ---- for WEIR.SAVE and SCANDUMP ---- */

struct chunk_job {
    struct job is;
    const struct value *v;
    struct image_chunk chunk;
    void (*reply)(struct rm_ctx *ctx, const struct value *v, const struct image_chunk *chunk);
};

static void run_chunk(struct job *job)
{
    struct chunk_job *j = (struct chunk_job *)job;

    image_fill(j->v, &j->chunk, false);
}

static void finish_chunk(struct rm_ctx *ctx, struct rm_string **argv, int argc, struct job *job)
{
    struct chunk_job *j = (struct chunk_job *)job;

    j->reply(ctx, j->v, &j->chunk);
}

static void discard_chunk(struct job *job)
{
    server_give(((struct chunk_job *)job)->chunk.data);
}

int transfer_chunk(struct rm_ctx *ctx, struct rm_string **argv, int argc, struct value *v,
                   struct image_chunk chunk,
                   void (*reply)(struct rm_ctx *ctx, const struct value *v,
                                 const struct image_chunk *chunk))
{
    struct chunk_job *j;

    if (image_fill(v, &chunk, true)) {
        reply(ctx, v, &chunk);
        server_give(chunk.data);
        return RM_OK;
    }
    if (!(j = job_open(ctx, sizeof *j, 1)))
        return RM_OK;
    j->is.run = run_chunk;
    j->is.finish = finish_chunk;
    j->is.discard = discard_chunk;
    j->is.reads = true;
    j->v = v;
    j->chunk = chunk;
    j->reply = reply;
    job_add_input(&j->is, 1, v);
    return job_start(ctx, argv, argc, &j->is, v->bytes);
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

#define HEAD_WORD "weirbf1" /* 8 bytes with its NUL, then 8 bytes of size */

void cursor_head(uint8_t head[HEAD_SIZE], uint64_t total)
{
    memcpy(head, HEAD_WORD, 8);
    store_number(head + 8, total, 8);
}

bool cursor_is_head(const uint8_t *data, size_t size, uint64_t *total)
{
    *total = 0;
    if (size != HEAD_SIZE || memcmp(data, HEAD_WORD, 8) != 0)
        return false;
    *total = load_number(data + 8, 8);
    return *total > 0;
}

void cursor_rewrite_head(struct rm_io *io, struct rm_string *key, uint64_t version, uint64_t total)
{
    uint8_t head[HEAD_SIZE];

    cursor_head(head, total);
    rm.EmitAOF(io, "BF.LOADCHUNK", "slb", key, (long long)(version << 32 | 1), (const char *)head,
               sizeof head);
}
