/* register.c - the whole filter: its register, its shards, their statistics. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

#define REGISTER "shards="
#define KEYS "keys="

/* A call on the register. NULL if it failed. */
static redisReply *call(struct remote *r, struct call *c, int n, const char *const *words)
{
    if (!call_begin(r, c, 0, n, words, NULL, false))
        return NULL;
    return call_finish(r, c);
}

/* ---- the register ---- */

/* Parse "keys=2 fields; ". Returns the text after it; NULL if it is damaged. */
static const char *read_keys(const char *text, struct remote_filter *f)
{
    const char *keys = text + strlen(KEYS), *end = strchr(keys, ';');

    if (!end || end[1] != ' ' || (size_t)(end - keys) >= sizeof f->keys)
        return NULL;
    memcpy(f->keys, keys, (size_t)(end - keys));
    f->keys[end - keys] = '\0';
    return end + 2;
}

/* "shards=16 recent memory=67108864 ...", or "shards=16 keys=--ignore-case; weir ..." */
static bool read_register(const redisReply *reply, struct remote_filter *f)
{
    const char *spec;
    char *end;
    unsigned long shards;

    if (strncmp(reply->str, REGISTER, strlen(REGISTER)) != 0)
        return false;
    shards = strtoul(reply->str + strlen(REGISTER), &end, 10);
    if (shards < 1 || shards > REMOTE_SHARDS_MOST || *end != ' ')
        return false;
    spec = strncmp(end + 1, KEYS, strlen(KEYS)) == 0 ? read_keys(end + 1, f) : end + 1;
    if (!spec ||
        weir_spec_complete(WEIR_KIND_FILTER, spec, f->spec, sizeof f->spec, NULL) != WEIR_OK)
        return false;
    f->shards = (uint32_t)shards;
    return strcmp(f->spec, spec) == 0;
}

bool remote_look(struct remote *r, struct remote_filter *f)
{
    const char *words[] = {"GET", r->url.path};
    struct call c = {0};
    const redisReply *reply = call(r, &c, 2, words);
    bool good = reply != NULL;

    *f = (struct remote_filter){.shards = 0};
    if (good && reply->type != REDIS_REPLY_NIL &&
        (reply->type != REDIS_REPLY_STRING || !read_register(reply, f)))
        good = remote_fail(r, "key %s is not a weir filter; use another name", r->url.path);
    call_free(&c);
    return good;
}

/* The spec of a shard. */
static bool divide(struct remote *r, const struct remote_filter *f, char spec[WEIR_SPEC_MAX])
{
    struct weir_error error;

    return weir_shard_spec(f->spec, f->shards, spec, WEIR_SPEC_MAX, &error) == WEIR_OK ||
           remote_fail(r, "%s", error.text);
}

bool remote_register(struct remote *r, const struct remote_filter *f)
{
    char text[WEIR_SPEC_MAX + WEIR_KEY_DESCRIPTION_MAX + 48], spec[WEIR_SPEC_MAX];
    const char *words[] = {"SET", r->url.path, text, "NX"};
    struct call c = {0};

    if (!divide(r, f, spec))
        return false;
    snprintf(text, sizeof text, REGISTER "%u %s%s%s%s", f->shards, *f->keys ? KEYS : "", f->keys,
             *f->keys ? "; " : "", f->spec);
    const redisReply *reply = call(r, &c, 4, words);
    bool good = reply != NULL;
    r->registered = good && reply->type == REDIS_REPLY_STATUS;
    call_free(&c);
    return good;
}

/* ---- all shards at once ---- */

static void free_all(const struct remote *r, struct call *list)
{
    for (uint32_t i = 0; list && i + 1 < r->lanes; i++)
        call_free(&list[i]);
    free(list);
}

/* The same call on every shard; its second word becomes the key. False if the client failed, or if
 * `refusable` and a server refused it: see refusal. */
static bool call_all(struct remote *r, struct call *list, int n, const char **words, bool refusable)
{
    bool good = true;

    *r->refusal = '\0'; /* no call is in flight */
    for (uint32_t i = 0; i + 1 < r->lanes && good; i++) {
        words[1] = r->lane[i + 1].key;
        good = call_begin(r, &list[i], i + 1, n, words, NULL, refusable) ||
               remote_fail(r, "out of memory");
    }
    for (uint32_t i = 0; i + 1 < r->lanes && good; i++)
        good = remote_wait(r, &list[i].outstanding);
    return good && !*r->refusal;
}

/* ---- shards ---- */

static bool refuse_shard(struct remote *r, const char *key, const redisReply *reply)
{
    pthread_mutex_lock(&r->lock);
    snprintf(r->refusal, sizeof r->refusal,
             "key %s holds another filter, '%.200s'; use another name", key,
             reply->type == REDIS_REPLY_STRING ? reply->str : "");
    pthread_mutex_unlock(&r->lock);
    return false;
}

static bool check_shards(struct remote *r, const char *spec)
{
    struct call *list = calloc(r->lanes, sizeof *list);
    const char *words[] = {"WEIR.INFO", NULL, "spec"};
    bool good = list ? call_all(r, list, 3, words, true) : remote_fail(r, "out of memory");

    for (uint32_t i = 0; good && i + 1 < r->lanes; i++) {
        const redisReply *reply = list[i].command.reply;

        if (reply->type != REDIS_REPLY_STRING || strcmp(reply->str, spec) != 0)
            good = refuse_shard(r, r->lane[i + 1].key, reply);
    }
    free_all(r, list);
    return good;
}

/* Remove a key; errors are ignored. */
static void unmake(struct remote *r, uint32_t lane)
{
    const char *words[] = {"DEL", r->lane[lane].key};
    struct call c = {0};

    if (call_begin(r, &c, lane, 2, words, NULL, true))
        remote_wait(r, &c.outstanding);
    call_free(&c);
}

/* If the servers reject a filter, remove its register and shards, so that the name can be used
 * again. */
static bool undo(struct remote *r, const struct call *made)
{
    char why[sizeof r->refusal];

    memcpy(why, r->refusal, sizeof why);
    for (uint32_t i = 0; r->registered && i + 1 < r->lanes; i++)
        if (made[i].command.reply && made[i].command.reply->type == REDIS_REPLY_STATUS)
            unmake(r, i + 1);
    if (r->registered)
        unmake(r, 0);
    return remote_fail(r, "%s", why);
}

bool remote_attach(struct remote *r, const struct remote_filter *f, bool make)
{
    char spec[WEIR_SPEC_MAX];
    const char *words[] = {"WEIR.CREATE", NULL, spec, "NX"};
    struct call *made;

    if (!divide(r, f, spec))
        return false;
    pthread_mutex_lock(&r->lock);
    r->lanes = 1 + f->shards;
    pthread_mutex_unlock(&r->lock);
    made = calloc(r->lanes, sizeof *made);
    if (!made)
        return remote_fail(r, "out of memory");
    bool good = (!make || call_all(r, made, 4, words, true)) && check_shards(r, spec);
    if (!good && *r->refusal)
        undo(r, made);
    free_all(r, made);
    if (!good)
        return false;
    pthread_mutex_lock(&r->lock);
    memcpy(r->spec, spec, sizeof spec);
    pthread_mutex_unlock(&r->lock);
    return true;
}

/* ---- figures ---- */

static double number_of(const redisReply *value)
{
    return value->type == REDIS_REPLY_INTEGER  ? (double)value->integer
           : value->type == REDIS_REPLY_STRING ? strtod(value->str, NULL)
                                               : 0;
}

static void take_figure(struct remote_shard *s, const char *name, const redisReply *value)
{
    const struct {
        const char *name;
        uint64_t *at;
    } whole[] = {{"memory", &s->memory},
                 {"bytes", &s->bytes},
                 {"observed", &s->observed},
                 {"seen", &s->seen},
                 {"new", &s->new_keys}};

    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (strcmp(name, whole[i].name) == 0)
            *whole[i].at = (uint64_t)number_of(value);
    if (strcmp(name, "fill") == 0)
        s->fill = number_of(value);
    if (strcmp(name, "error") == 0)
        s->error = number_of(value);
}

static void take_figures(struct remote *r, uint32_t lane, const redisReply *reply,
                         struct remote_shard *s)
{
    *s = (struct remote_shard){.memory = 0};
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements; i += 2)
        if (reply->element[i]->type == REDIS_REPLY_STRING ||
            reply->element[i]->type == REDIS_REPLY_STATUS)
            take_figure(s, reply->element[i]->str, reply->element[i + 1]);
    pthread_mutex_lock(&r->lock);
    const struct node *n = r->owner[r->lane[lane].slot];
    snprintf(s->node, sizeof s->node, "%s", n ? n->name : "");
    pthread_mutex_unlock(&r->lock);
}

bool remote_measure(struct remote *r, struct remote_shard *shards)
{
    struct call *list = calloc(r->lanes, sizeof *list);
    const char *words[] = {"WEIR.INFO", NULL};
    bool good = list && call_all(r, list, 2, words, false);

    for (uint32_t i = 0; good && i + 1 < r->lanes; i++)
        take_figures(r, i + 1, list[i].command.reply, &shards[i]);
    free_all(r, list);
    return good;
}
