/* key_commands.c - serialize the keys of a batch as commands, one or more per shard. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/hash.h>

#include "client.h"

/* Keys per command: few enough that other clients are served in between, enough that the cost per
 * command is negligible. ONCE allows 8192. */
#define KEYS_MOST 4096
#define HEAD_MOST 768 /* bytes before the items: with a name of 400 */
#define ITEM_MOST 104 /* of an item: "$16\r\n", 16 bytes, "\r\n", its time, TTL, importance */

struct remote_batch *remote_batch_open(struct remote *r)
{
    struct remote_batch *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    b->r = r;
    b->first = calloc(REMOTE_SHARDS_MOST + 1, sizeof *b->first);
    if (b->first)
        return b;
    free(b);
    return NULL;
}

void remote_batch_close(struct remote_batch *b)
{
    if (!b)
        return;
    free(b->command);
    free(b->text);
    free(b->origin);
    free(b->first);
    free(b->hash);
    free(b->shard);
    free(b->verdict);
    free(b);
}

/* ---- buffers ---- */

static bool grow(void *at, size_t count, size_t each)
{
    void **block = at;
    void *more = realloc(*block, count * each);

    if (more)
        *block = more;
    return more != NULL;
}

static bool make_room(struct remote_batch *b, uint32_t n, uint32_t shards)
{
    uint32_t commands = shards + n / KEYS_MOST + 1;
    size_t text = (size_t)commands * HEAD_MOST + (size_t)n * ITEM_MOST;

    if (n > b->keys_room) {
        if (!grow(&b->origin, n, sizeof *b->origin) || !grow(&b->shard, n, sizeof *b->shard) ||
            !grow(&b->hash, 2 * (size_t)n, sizeof *b->hash) ||
            !grow(&b->verdict, n, sizeof *b->verdict))
            return false;
        b->keys_room = n;
    }
    if (commands > b->room) {
        if (!grow(&b->command, commands, sizeof *b->command))
            return false;
        b->room = commands;
    }
    if (text > b->text_room) {
        if (!grow(&b->text, text, 1))
            return false;
        b->text_room = text;
    }
    return true;
}

/* ---- dealing ---- */

/* Sort keys by shard, stable. */
static void deal(struct remote_batch *b, const struct remote_keys *k, uint32_t shards)
{
    uint32_t next[REMOTE_SHARDS_MOST + 1];

    memset(b->first, 0, (shards + 1) * sizeof *b->first);
    for (uint32_t i = 0; i < k->n; i++) {
        b->shard[i] = (uint16_t)weir_shard(k->keys[i], shards);
        b->first[b->shard[i] + 1] += !(k->skip && k->skip[i]);
    }
    for (uint32_t s = 0; s < shards; s++)
        b->first[s + 1] += b->first[s];
    memcpy(next, b->first, shards * sizeof *next);
    for (uint32_t i = 0; i < k->n; i++)
        if (!(k->skip && k->skip[i]))
            b->origin[next[b->shard[i]]++] = i;
    b->n = k->n;
    b->keys = b->first[shards];
}

/* ---- commands as text ---- */

static char *put_word(char *to, const char *word)
{
    char size[24];

    snprintf(size, sizeof size, "$%zu\r\n", strlen(word));
    return stpcpy(stpcpy(stpcpy(to, size), word), "\r\n");
}

static void put_8(char *to, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        to[i] = (char)(value >> 8 * i);
}

static char *put_key(char *to, const struct weir_key *key)
{
    static const char before[5] = {'$', '1', '6', '\r', '\n'}, behind[2] = {'\r', '\n'};

    memcpy(to, before, sizeof before);
    put_8(to + 5, key->lo);
    put_8(to + 13, key->hi);
    memcpy(to + 21, behind, sizeof behind);
    return to + 23;
}

static char *put_number(char *to, uint64_t number)
{
    char digits[24];

    snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    return put_word(to, digits);
}

static char *put_once(const struct remote_batch *b, struct remote_command *c, char *to)
{
    to = put_word(put_word(to, "ONCE"), b->r->producer);
    to = put_word(to, "0000000000000000");
    c->number_at = (size_t)(to - c->text) - REMOTE_DIGITS - 2;
    return to;
}

static char *put_options(const struct remote_batch *b, struct remote_command *c,
                         const struct remote_keys *k, char *to)
{
    to = put_once(b, c, put_word(to, "NOCREATE"));
    if (k->times)
        to = put_word(put_number(put_word(to, "AT"), k->begun), "TIMED");
    if (k->ttls)
        to = put_word(to, "TTLS");
    return k->weighted ? put_word(to, "WEIGHTED") : to;
}

static char *put_head(const struct remote_batch *b, struct remote_command *c,
                      const struct remote_keys *k, char *to)
{
    unsigned extra = (k->ttls != NULL) + k->weighted;
    unsigned options = k->ask ? 0 : 4 + (k->times ? 3 : 0) + extra;
    unsigned each = k->ask ? 1 : 1 + (k->times != NULL) + extra;

    to += sprintf(to, "*%u\r\n", 4 + options + each * c->n);
    to = put_word(put_word(to, k->ask ? "WEIR.ASK" : "WEIR.OBSERVE"), c->lane->key);
    if (!k->ask)
        to = put_options(b, c, k, to);
    return put_word(put_word(to, "HASHED"), "ITEMS");
}

static char *put_items(const struct remote_batch *b, const struct remote_keys *k, uint32_t from,
                       uint32_t end, char *to)
{
    for (uint32_t j = from; j < end; j++) {
        uint32_t i = b->origin[j];

        if (k->times)
            to = put_number(to, k->times[i]);
        if (k->ttls)
            to = put_number(to, k->ttls[i]);
        if (k->weighted && !k->ask)
            to = put_number(to, k->keys[i].importance);
        to = put_key(to, &k->keys[i]);
        b->hash[2 * j] = k->keys[i].lo;
        b->hash[2 * j + 1] = k->keys[i].hi;
    }
    return to;
}

static char *put_command(struct remote_batch *b, uint32_t shard, uint32_t from, uint32_t end,
                         const struct remote_keys *k, char *to)
{
    struct remote_command *c = &b->command[b->commands++];

    *c = (struct remote_command){.lane = &b->r->lane[1 + shard],
                                 .text = to,
                                 .verdicts = b->verdict + from,
                                 .n = end - from,
                                 .outstanding = &b->outstanding,
                                 .writes = !k->ask};
    c->lane->timed |= k->times != NULL;
    to = put_items(b, k, from, end, put_head(b, c, k, to));
    c->size = (size_t)(to - c->text);
    return to;
}

/* All shards have the same start time, also those that get their first key later. */
static char *put_time(struct remote_batch *b, uint32_t shard, const struct remote_keys *k, char *to)
{
    struct remote_command *c = &b->command[b->commands++];

    *c = (struct remote_command){.lane = &b->r->lane[1 + shard],
                                 .text = to,
                                 .verdicts = b->verdict,
                                 .outstanding = &b->outstanding,
                                 .writes = true};
    c->lane->timed = true;
    to += sprintf(to, "*5\r\n");
    to = put_word(put_word(put_word(to, "WEIR.OBSERVE"), c->lane->key), "NOCREATE");
    to = put_number(put_word(to, "AT"), k->begun);
    c->size = (size_t)(to - c->text);
    return to;
}

static char *put_shard(struct remote_batch *b, uint32_t shard, const struct remote_keys *k,
                       char *to)
{
    uint32_t end = b->first[shard + 1];

    if (k->times && b->first[shard] == end && !b->r->lane[1 + shard].timed)
        return put_time(b, shard, k, to);
    for (uint32_t from = b->first[shard]; from < end; from += KEYS_MOST)
        to = put_command(b, shard, from, end - from > KEYS_MOST ? from + KEYS_MOST : end, k, to);
    return to;
}

bool remote_batch_fill(struct remote_batch *b, const struct remote_keys *k)
{
    uint32_t shards = b->r->lanes - 1;
    char *to;

    b->sent = false;
    b->commands = 0;
    if (!make_room(b, k->n, shards))
        return false;
    deal(b, k, shards);
    to = b->text;
    for (uint32_t s = 0; s < shards; s++)
        to = put_shard(b, s, k, to);
    b->outstanding = b->commands;
    return true;
}

void remote_batch_send(struct remote_batch *b)
{
    b->sent = true;
    remote_put(b->r, b->command, b->commands);
}

bool remote_batch_take(struct remote_batch *b, uint8_t *verdicts)
{
    if (!remote_wait(b->r, &b->outstanding))
        return false;
    for (uint32_t j = 0; j < b->keys; j++)
        verdicts[b->origin[j]] = b->verdict[j];
    return true;
}
