/* stand_in.c - sends commands to the stand-in server and inspects it; see stand_in.h. */
#include "support/stand_in_inside.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct stand stand;

/* ---- commands ---- */

static void remove_named(struct words *w)
{
    struct stored_key *k = w->n > 1 ? stand_find_key(stand.database, w->list[1]) : NULL;

    if (k)
        stand_remove_key(k);
}

/* In the selected database, stand.database. */
static void carry_out(struct words *w)
{
    struct rm_command *c = w->n > 0 ? stand_get_command(NULL, w->list[0]->data) : NULL;
    int n = (int)w->n;

    stand.reply.n = 0;
    stand.reply.text[0] = '\0';
    stand.reply.depth = stand.reply.whole = 0;
    stand.running = *w;
    if (w->n > 0 && strcasecmp(w->list[0]->data, "DEL") == 0) {
        remove_named(w);
        return;
    }
    if (!c || (c->arity < 0 ? n < -c->arity : n != c->arity)) {
        stand_wrong_arity(NULL);
        return;
    }
    assert(c->call(&stand.context, w->list, n) == RM_OK);
    assert(stand.opened == 0 && stand.reply.depth == 0 && stand.reply.whole == 1);
}

/* Runs what was replicated; the replica never runs out of memory. */
static void pass_on(void)
{
    static char told[sizeof stand.reply.text];
    size_t n = stand.propagated_n, fails = stand.fail_from, counted = stand.allocations;
    struct words list[8];

    memcpy(told, stand.reply.text, sizeof told);
    memcpy(list, stand.propagated, sizeof list);
    memset(stand.propagated, 0, sizeof stand.propagated);
    stand.propagated_n = 0;
    stand.fail_from = 0;
    stand.database = STAND_IN_REPLICA;
    for (size_t i = 0; i < n; i++) {
        carry_out(&list[i]);
        stand_free_words(&list[i]);
        for (size_t j = 0; j < stand.propagated_n; j++)
            stand_free_words(&stand.propagated[j]);
        stand.propagated_n = 0;
    }
    stand.database = STAND_IN_MASTER;
    stand.fail_from = fails;
    stand.allocations = counted;
    memcpy(stand.reply.text, told, sizeof told);
}

const char *stand_in_say(const struct weir_bytes *said, size_t n)
{
    struct words w = {0};

    for (size_t i = 0; i < n; i++)
        stand_add_word(&w, stand_string(said[i].data, said[i].size));
    carry_out(&w);
    if (n > 0 && strcasecmp(w.list[0]->data, "DEL") == 0)
        stand_replicate_verbatim(NULL);
    pass_on();
    stand_free_words(&w);
    return stand.reply.text[0] ? stand.reply.text + 1 : stand.reply.text;
}

const char *stand_in_tell(const char *first, ...)
{
    struct weir_bytes words[64];
    va_list arguments;
    size_t n = 0;

    va_start(arguments, first);
    for (const char *word = first; word && n < 64; word = va_arg(arguments, const char *))
        words[n++] = (struct weir_bytes){word, strlen(word)};
    va_end(arguments);
    return stand_in_say(words, n);
}

/* ---- inspection ---- */

static uint64_t digest_of(const struct stored_key *k)
{
    struct rm_digest digest = {UINT64_C(0xcbf29ce484222325)};
    size_t fails = stand.fail_from;

    stand.fail_from = 0;
    k->type->methods.digest(&digest, k->value);
    stand.fail_from = fails;
    return digest.sum;
}

static size_t count_keys(int in)
{
    size_t n = 0;

    for (int i = 0; i < KEYS; i++)
        n += stand.databases[in][i].name != NULL;
    return n;
}

bool stand_in_alike(int a, int b)
{
    for (int i = 0; i < KEYS; i++) {
        const struct stored_key *k = &stand.databases[a][i];
        const struct stored_key *other = k->name ? stand_find_key(b, k->name) : NULL;

        if (k->name && (!other || other->type != k->type || digest_of(k) != digest_of(other)))
            return false;
    }
    return count_keys(a) == count_keys(b);
}

bool stand_in_copies_alike(void)
{
    static void (*const copies[])(void) = {stand_in_reload, stand_in_rewrite, stand_in_copy};
    bool alike = stand_in_alike(STAND_IN_MASTER, STAND_IN_REPLICA);

    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        copies[i]();
        alike = alike && stand_in_alike(STAND_IN_MASTER, STAND_IN_LOADED);
    }
    stand_in_flush();
    return alike && stand_in_held() == 0;
}

static void clear_loaded(void)
{
    for (int i = 0; i < KEYS; i++)
        if (stand.databases[STAND_IN_LOADED][i].name)
            stand_remove_key(&stand.databases[STAND_IN_LOADED][i]);
}

void stand_in_reload(void)
{
    clear_loaded();
    for (int i = 0; i < KEYS; i++) {
        const struct stored_key *k = &stand.databases[STAND_IN_MASTER][i];
        struct rm_io io = {0};
        void *value;

        if (!k->name)
            continue;
        k->type->methods.rdb_save(&io, k->value);
        stand.database = STAND_IN_LOADED;
        value = k->type->methods.rdb_load(&io, k->type->encoding);
        stand.database = STAND_IN_MASTER;
        assert(value && io.read == io.strings.n);
        stand_put_value(STAND_IN_LOADED, k->name, k->type, value);
        stand_free_words(&io.strings);
    }
}

static bool restore(const char *key, struct rm_type *type, struct rm_io *io)
{
    struct rm_string *name = stand_string(key, strlen(key));
    void *value = type->methods.rdb_load(io, type->encoding);

    if (value) {
        stand_put_value(STAND_IN_MASTER, name, type, value);
        stand_put_value(STAND_IN_REPLICA, name, type, type->methods.copy2(NULL, value));
    }
    stand_free_words(&io->strings);
    stand_free_string(NULL, name);
    return value != NULL;
}

bool stand_in_restore(const char *key, size_t i, const void *data, size_t size, size_t piece)
{
    struct rm_io io = {0};

    for (size_t at = 0; at < size; at += piece)
        stand_save_string(&io, (const char *)data + at, size - at < piece ? size - at : piece);
    stand_save_string(&io, "", 0);
    return restore(key, &stand.types[i % stand.types_n], &io);
}

bool stand_in_restore_fields(const char *key, const char *type, const struct weir_bytes *fields,
                             size_t n)
{
    struct rm_io io = {0};
    size_t i = 0;

    while (strcmp(stand.types[i].name, type) != 0)
        i++;
    for (size_t j = 0; j < n; j++)
        stand_save_string(&io, fields[j].data, fields[j].size);
    return restore(key, &stand.types[i], &io);
}

void stand_in_rewrite(void)
{
    clear_loaded();
    for (int i = 0; i < KEYS; i++) {
        const struct stored_key *k = &stand.databases[STAND_IN_MASTER][i];
        struct rm_io io = {0};

        if (!k->name)
            continue;
        k->type->methods.aof_rewrite(&io, k->name, k->value);
        stand.database = STAND_IN_LOADED;
        for (size_t j = 0; j < io.commands_n; j++) {
            carry_out(&io.commands[j]);
            stand_free_words(&io.commands[j]);
            for (size_t p = 0; p < stand.propagated_n; p++)
                stand_free_words(&stand.propagated[p]);
            stand.propagated_n = 0;
        }
        stand.database = STAND_IN_MASTER;
        free(io.commands);
    }
}

void stand_in_copy(void)
{
    clear_loaded();
    for (int i = 0; i < KEYS; i++) {
        const struct stored_key *k = &stand.databases[STAND_IN_MASTER][i];
        void *value = k->name ? k->type->methods.copy2(NULL, k->value) : NULL;

        if (!value)
            continue;
        assert(k->type->methods.mem_usage2(NULL, value, 0) > 0);
        assert(k->type->methods.free_effort2(NULL, value) > 0);
        stand_put_value(STAND_IN_LOADED, k->name, k->type, value);
    }
}

void stand_in_defrag(void)
{
    struct rm_defrag ctx = {0};

    for (int i = 0; i < KEYS; i++) {
        struct stored_key *k = &stand.databases[STAND_IN_MASTER][i];
        uint64_t before = k->name ? digest_of(k) : 0;

        if (!k->name)
            continue;
        ctx.cursor = 0;
        while (k->type->methods.defrag(&ctx, k->name, &k->value) != 0)
            assert(digest_of(k) == before);
        assert(digest_of(k) == before);
    }
}
