/* pending.c - save the commands in flight of a client that failed, and settle them in a later run.
 * The data is a sequence of batches; integers have 8 bytes, little-endian:
 *
 *   number of commands; for each: shard, number of keys, 1 if it was answered, then a byte per
 *       verdict, or else the size of its text and the text
 *   number of keys; for each, in stream order: index of its command, index in it, lo, hi
 */
#include <stdlib.h>
#include <string.h>

#include "client.h"

#define NOWHERE UINT64_MAX

/* ---- saving ---- */

static bool put(struct remote_kept *k, const void *bytes, size_t size)
{
    if (k->size + size > k->room) {
        size_t room = 2 * (k->size + size);
        uint8_t *more = realloc(k->data, room);

        if (!more)
            return false;
        k->data = more;
        k->room = room;
    }
    if (size)
        memcpy(k->data + k->size, bytes, size);
    k->size += size;
    return true;
}

static bool put_number(struct remote_kept *k, uint64_t number)
{
    uint8_t bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
    return put(k, bytes, sizeof bytes);
}

static bool put_command(struct remote_kept *k, const struct remote *r, struct remote_command *c)
{
    bool done = c->state == COMMAND_DONE;

    if (c->number_at && c->sends == 0)
        command_number(c);
    if (!put_number(k, (uint64_t)(c->lane - r->lane) - 1) || !put_number(k, c->n) ||
        !put_number(k, done))
        return false;
    if (done)
        return put(k, c->verdicts, c->n);
    return put_number(k, c->size) && put(k, c->text, c->size);
}

static bool put_key(struct remote_kept *k, const struct remote_batch *b, uint64_t at)
{
    uint32_t c = 0;

    while (at >= (uint64_t)(b->command[c].verdicts - b->verdict) + b->command[c].n)
        c++;
    return put_number(k, c) &&
           put_number(k, at - (uint64_t)(b->command[c].verdicts - b->verdict)) &&
           put_number(k, b->hash[2 * at]) && put_number(k, b->hash[2 * at + 1]);
}

bool remote_keep(struct remote_kept *k, const struct remote_batch *b)
{
    uint64_t *place = malloc((b->n + 1) * sizeof *place);
    bool good = place && put_number(k, b->commands);

    for (uint32_t i = 0; place && i < b->n; i++)
        place[i] = NOWHERE;
    for (uint32_t j = 0; place && j < b->keys; j++)
        place[b->origin[j]] = j;
    for (uint32_t i = 0; good && i < b->commands; i++)
        good = put_command(k, b->r, &b->command[i]);
    good = good && put_number(k, b->keys);
    for (uint32_t i = 0; good && i < b->n; i++)
        good = place[i] == NOWHERE || put_key(k, b, place[i]);
    free(place);
    return good;
}

/* As a batch with one answered command. */
static bool put_settled(struct remote_kept *k, const struct remote_verdict *list, uint64_t n)
{
    bool good = put_number(k, 1) && put_number(k, 0) && put_number(k, n) && put_number(k, 1);

    for (uint64_t i = 0; good && i < n; i++)
        good = put(k, &list[i].verdict, 1);
    good = good && put_number(k, n);
    for (uint64_t i = 0; good && i < n; i++)
        good = put_number(k, 0) && put_number(k, i) && put_number(k, list[i].lo) &&
               put_number(k, list[i].hi);
    return good;
}

bool remote_keep_settled(struct remote_kept *k, const struct remote_settled *s, size_t from)
{
    for (size_t n; from < s->n; from += n) {
        n = s->n - from < KEYS_MOST_ONCE ? s->n - from : KEYS_MOST_ONCE;
        if (!put_settled(k, s->list + from, n))
            return false;
    }
    return true;
}

/* ---- settling ---- */

struct bytes_in {
    const uint8_t *data;
    size_t size;
};

static bool take(struct bytes_in *in, uint64_t *number, uint64_t most)
{
    *number = 0;
    if (in->size < 8)
        return false;
    for (int i = 7; i >= 0; i--)
        *number = *number << 8 | in->data[i];
    in->data += 8;
    in->size -= 8;
    return *number <= most;
}

static const uint8_t *take_bytes(struct bytes_in *in, uint64_t size)
{
    const uint8_t *bytes = in->data;

    if (size > in->size)
        return NULL;
    in->data += size;
    in->size -= size;
    return bytes;
}

/* Commands of one batch. */
struct settling {
    struct remote_command *command;
    uint8_t *verdict; /* KEYS_MOST_ONCE for each */
    uint64_t commands;
    uint32_t outstanding;
};

static bool take_command(struct remote *r, struct bytes_in *in, struct settling *s, uint64_t i)
{
    struct remote_command *c = &s->command[i];
    uint64_t shard, n, done, size = 0;
    const uint8_t *bytes;

    if (!take(in, &shard, r->lanes - 2) || !take(in, &n, KEYS_MOST_ONCE) || !take(in, &done, 1))
        return false;
    *c = (struct remote_command){.lane = &r->lane[1 + shard],
                                 .verdicts = s->verdict + i * KEYS_MOST_ONCE,
                                 .n = (uint32_t)n,
                                 .outstanding = &s->outstanding,
                                 .writes = true,
                                 .state = done ? COMMAND_DONE : COMMAND_QUEUED};
    if (!done && !take(in, &size, UINT32_MAX))
        return false;
    bytes = take_bytes(in, done ? n : size);
    if (!bytes)
        return false;
    for (uint64_t j = 0; done && j < n; j++)
        c->verdicts[j] = bytes[j] & 1;
    c->text = (const char *)bytes;
    c->size = done ? 0 : size;
    s->outstanding += !done;
    return true;
}

static bool take_commands(struct remote *r, struct bytes_in *in, struct settling *s)
{
    if (!take(in, &s->commands, in->size / 24))
        return false;
    s->command = calloc(s->commands + 1, sizeof *s->command);
    s->verdict = calloc(s->commands + 1, KEYS_MOST_ONCE);
    if (!s->command || !s->verdict)
        return false;
    for (uint64_t i = 0; i < s->commands; i++)
        if (!take_command(r, in, s, i))
            return false;
    return true;
}

static bool ask_again(struct remote *r, struct settling *s)
{
    for (uint64_t i = 0; i < s->commands; i++)
        if (s->command[i].state != COMMAND_DONE)
            remote_put(r, &s->command[i], 1);
    return remote_wait(r, &s->outstanding);
}

static bool take_keys(struct bytes_in *in, const struct settling *s, struct remote_settled *out)
{
    uint64_t keys, c, at;
    struct remote_verdict *more;

    if (!take(in, &keys, in->size / 32))
        return false;
    more = realloc(out->list, (out->n + keys + 1) * sizeof *more);
    if (!more)
        return false;
    out->list = more;
    for (uint64_t i = 0; i < keys; i++) {
        struct remote_verdict *v = &out->list[out->n++];

        if (!take(in, &c, UINT64_MAX) || c >= s->commands || !take(in, &at, UINT64_MAX) ||
            at >= s->command[c].n || !take(in, &v->lo, UINT64_MAX) || !take(in, &v->hi, UINT64_MAX))
            return false;
        v->verdict = s->command[c].verdicts[at];
    }
    return true;
}

bool remote_settle(struct remote *r, const uint8_t *data, size_t size, struct remote_settled *out)
{
    struct bytes_in in = {data, size};
    bool good = true;

    *out = (struct remote_settled){.list = NULL};
    while (good && in.size > 0) {
        struct settling s = {.command = NULL};

        good = take_commands(r, &in, &s) && ask_again(r, &s) && take_keys(&in, &s, out);
        free(s.command);
        free(s.verdict);
    }
    return good;
}
