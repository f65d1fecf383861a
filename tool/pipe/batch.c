/* batch.c - memory of a batch, the faults in it, and its hashed keys. */
#include "pipe/batch.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/hash.h>

#define CHUNK ((size_t)256 << 10) /* enough for the keys of most batches */

struct arena_chunk {
    struct arena_chunk *next;
    size_t used, room;
    char bytes[];
};

static struct arena_chunk *chunk_open(struct arena_chunk *next, size_t size)
{
    size_t room = size > CHUNK ? size : CHUNK;
    struct arena_chunk *c = malloc(sizeof *c + room);

    if (c)
        *c = (struct arena_chunk){.next = next, .room = room};
    return c;
}

void *arena_take(struct arena *a, size_t size)
{
    if (!a->chunk || a->chunk->room - a->chunk->used < size) {
        struct arena_chunk *c = chunk_open(a->chunk, size);

        if (!c)
            return NULL;
        a->chunk = c;
    }
    void *at = a->chunk->bytes + a->chunk->used;
    a->chunk->used += size;
    return at;
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
    char *memory = arena_take(a, n * size + 7);

    return memory ? memory + (-(uintptr_t)memory & 7) : NULL;
}

void arena_trim(struct arena *a, const char *at, size_t size, size_t used)
{
    if (at + size == a->chunk->bytes + a->chunk->used)
        a->chunk->used -= size - used;
}

/* One chunk is kept for the next round. */
static void arena_reset(struct arena *a, bool keep)
{
    struct arena_chunk *c = a->chunk;

    while (c && (c->next || !keep)) {
        struct arena_chunk *next = c->next;

        free(c);
        c = next;
    }
    if (c)
        c->used = 0;
    a->chunk = c;
}

void arena_close(struct arena *a)
{
    arena_reset(a, false);
}

struct batch *batch_open(void)
{
    struct batch *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    b->ends = malloc((RECORDS_MAX + 1 + MARGIN) * sizeof *b->ends);
    b->key = malloc(RECORDS_MAX * sizeof *b->key);
    b->importance = malloc(RECORDS_MAX * sizeof *b->importance);
    b->bad = malloc(RECORDS_MAX);
    b->event.time = malloc(RECORDS_MAX * sizeof *b->event.time);
    b->event.ttl = malloc(RECORDS_MAX * sizeof *b->event.ttl);
    b->hash = malloc(RECORDS_MAX * sizeof *b->hash);
    b->dense.key = malloc(RECORDS_MAX * sizeof *b->dense.key);
    b->dense.time = malloc(RECORDS_MAX * sizeof *b->dense.time);
    b->dense.ttl = malloc(RECORDS_MAX * sizeof *b->dense.ttl);
    b->dense.verdict = malloc(RECORDS_MAX);
    b->origin = malloc(RECORDS_MAX * sizeof *b->origin);
    b->verdict = malloc(RECORDS_MAX);
    if (b->ends && b->key && b->importance && b->bad && b->event.time && b->event.ttl && b->hash &&
        b->dense.key && b->dense.time && b->dense.ttl && b->dense.verdict && b->origin &&
        b->verdict && batch_grow(b, BLOCK))
        return b;
    batch_close(b);
    return NULL;
}

void batch_close(struct batch *b)
{
    if (!b)
        return;
    arena_close(&b->arena);
    free(b->data);
    free(b->ends);
    free(b->key);
    free(b->importance);
    free(b->bad);
    free(b->event.time);
    free(b->event.ttl);
    free(b->hash);
    free(b->dense.key);
    free(b->dense.time);
    free(b->dense.ttl);
    free(b->dense.verdict);
    free(b->origin);
    free(b->verdict);
    free(b);
}

void batch_reset(struct batch *b)
{
    arena_reset(&b->arena, true);
    b->n = 0;
    b->used = 0;
    b->dropped = 0;
    b->bads = 0;
    b->headless = false;
    b->important = b->event.timed = b->event.has_ttl = false;
    b->unparsed = 0;
    b->masked = 0;
    b->event.aheads = b->event.late = 0;
    b->event.most_late = 0;
    b->failed = false;
    b->input.name = NULL;
    b->has = NULL;
    b->similar = NULL;
    b->parts = NULL;
    b->rewritten = NULL;
    b->share = NULL;
    b->tags = NULL;
    b->ends[0] = UINT32_MAX;
}

bool batch_grow(struct batch *b, size_t room)
{
    char *data = room > b->room ? realloc(b->data, room + MARGIN) : b->data;

    if (!data)
        return false;
    if (room > b->room) {
        memset(data + room, 0, MARGIN);
        b->data = data;
        b->room = room;
    }
    return true;
}

uint64_t batch_line(const struct batch *b, uint32_t i)
{
    size_t to = record_begin(b, i);
    uint64_t line = b->input.line;
    char delimiter = b->data[record_end(b, i)];

    for (size_t at = 0; at < to; at++)
        line += b->data[at] == delimiter;
    return line;
}

static void mark_bad(struct batch *b, uint32_t i, uint8_t how)
{
    if (b->bads == 0)
        memset(b->bad, 0, RECORDS_MAX);
    b->bads += how && !b->bad[i];
    b->bad[i] = how;
}

void batch_keyless(struct batch *b, uint32_t i)
{
    mark_bad(b, i, BAD_KEYLESS);
}

void batch_fault(struct batch *b, uint32_t i, bool skip, const char *format, ...)
{
    va_list args;
    uint64_t line;
    int n;

    mark_bad(b, i, skip || b->faults);
    if (b->faults && i < NOTES_MAX) {
        struct fault_note *note = &b->faults->note[i];

        note->missing = !skip;
        va_start(args, format);
        vsnprintf(note->text, sizeof note->text, format, args);
        va_end(args);
    }
    if (skip || b->faults)
        return;
    line = batch_line(b, i);
    n = snprintf(b->failure, sizeof b->failure, "%.200s, line %llu: ", b->input.name,
                 (unsigned long long)line);
    va_start(args, format);
    vsnprintf(b->failure + n, sizeof b->failure - (size_t)n, format, args);
    va_end(args);
    b->failed = true;
    b->n = i;
    b->used = record_begin(b, i);
    b->input.next_offset = b->input.offset + b->used;
    b->input.next_line = line;
}

/* ---- the hashed keys of a batch ---- */

struct trace_hash hash_of_spec(const char *config)
{
    struct trace_hash hash = {WEIR_HASH_XXH3, 0};
    char word[8] = "";

    weir_spec_get(config, "hash", word, sizeof word);
    if (strcmp(word, "sip") == 0)
        hash.kind = WEIR_HASH_SIP;
    weir_spec_number(config, "seed", &hash.seed);
    return hash;
}

void keys_hash(struct trace_hash hash, struct batch *b)
{
    for (uint32_t i = 0; b->bads && i < b->n; i++)
        if (b->bad[i])
            b->key[i] = (struct weir_bytes){"", 0};
    weir_hash_bytes_many(hash.kind, hash.seed, b->key, b->n, b->hash);
    for (uint32_t i = 0; b->important && i < b->n; i++)
        b->hash[i].importance = b->importance[i];
}

const struct good_keys *keys_select(struct batch *b)
{
    struct good_keys *good = &b->good;
    uint32_t n = 0;

    *good = (struct good_keys){b->n, b->hash, b->event.time, b->event.ttl, b->verdict};
    if (b->bads) {
        *good = b->dense;
        for (uint32_t i = 0; i < b->n; i++) {
            good->key[n] = b->hash[i];
            if (b->event.timed)
                good->time[n] = b->event.time[i];
            if (b->event.has_ttl)
                good->ttl[n] = b->event.ttl[i];
            b->origin[n] = i;
            n += !b->bad[i];
        }
        good->n = n;
    }
    if (!b->event.timed)
        good->time = NULL;
    if (!b->event.has_ttl)
        good->ttl = NULL;
    return good;
}

void keys_return(struct batch *b)
{
    if (b->good.verdict == b->verdict)
        return;
    memset(b->verdict, VERDICT_NONE, b->n);
    for (uint32_t j = 0; j < b->good.n; j++)
        b->verdict[b->origin[j]] = b->good.verdict[j];
}
