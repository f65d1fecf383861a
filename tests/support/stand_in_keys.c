/* stand_in_keys.c - keys and replication; see stand_in.h. */
#include "support/stand_in_inside.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- keys ---- */

struct stored_key *stand_find_key(int in, const struct rm_string *name)
{
    for (int i = 0; i < KEYS; i++) {
        struct stored_key *k = &stand.databases[in][i];

        if (k->name && k->name->size == name->size &&
            memcmp(k->name->data, name->data, name->size) == 0)
            return k;
    }
    return NULL;
}

void stand_remove_key(struct stored_key *k)
{
    k->type->methods.free(k->value);
    stand_free_string(NULL, k->name);
    *k = (struct stored_key){0};
}

static struct rm_key *open_key(struct rm_ctx *ctx, struct rm_string *name, int mode)
{
    struct stored_key *at = stand_find_key(stand.database, name);
    struct rm_key *key;

    (void)ctx;
    if (!at && !(mode & RM_WRITE))
        return NULL;
    key = malloc(sizeof *key);
    assert(key);
    *key = (struct rm_key){at, name, mode & RM_WRITE};
    stand.opened++;
    return key;
}

static void close_key(struct rm_key *key)
{
    stand.opened--;
    free(key);
}

static int key_type(struct rm_key *key)
{
    return key->at ? 6 : RM_KEY_EMPTY;
}

static struct rm_type *type_at(struct rm_key *key)
{
    return key->at ? key->at->type : NULL;
}

static void *value_of(struct rm_key *key)
{
    return key->at ? key->at->value : NULL;
}

void stand_put_value(int in, struct rm_string *name, struct rm_type *type, void *value)
{
    struct stored_key *at = stand_find_key(in, name);

    if (at)
        stand_remove_key(at);
    for (int i = 0; i < KEYS; i++)
        if (!stand.databases[in][i].name) {
            stand.databases[in][i] =
                (struct stored_key){stand_string(name->data, name->size), type, value};
            return;
        }
    assert(!"too many keys");
}

static int set_value(struct rm_key *key, struct rm_type *type, void *value)
{
    assert(key->writable);
    stand_put_value(stand.database, key->name, type, value);
    key->at = stand_find_key(stand.database, key->name);
    return RM_OK;
}

static int replace_value(struct rm_key *key, struct rm_type *type, void *value, void **former)
{
    assert(key->writable);
    if (!key->at || key->at->type != type)
        return RM_ERR;
    *former = key->at->value;
    key->at->value = value;
    return RM_OK;
}

static int delete_key(struct rm_key *key)
{
    assert(key->writable);
    if (key->at)
        stand_remove_key(key->at);
    key->at = NULL;
    return RM_OK;
}

void stand_in_flush(void)
{
    for (int in = 0; in < STAND_IN_DATABASES; in++)
        for (int i = 0; i < KEYS; i++)
            if (stand.databases[in][i].name)
                stand_remove_key(&stand.databases[in][i]);
}

/* ---- replication ---- */

void stand_format_words(struct words *w, const char *command, const char *format, va_list arguments)
{
    char number[32];

    stand_add_word(w, stand_string(command, strlen(command)));
    for (; *format; format++) {
        if (*format == 's') {
            struct rm_string *s = va_arg(arguments, struct rm_string *);

            stand_add_word(w, stand_string(s->data, s->size));
        } else if (*format == 'c') {
            const char *text = va_arg(arguments, const char *);

            stand_add_word(w, stand_string(text, strlen(text)));
        } else if (*format == 'l') {
            snprintf(number, sizeof number, "%lld", va_arg(arguments, long long));
            stand_add_word(w, stand_string(number, strlen(number)));
        } else if (*format == 'b') {
            const char *data = va_arg(arguments, const char *);

            stand_add_word(w, stand_string(data, va_arg(arguments, size_t)));
        } else {
            assert(*format == 'v');
            struct rm_string **list = va_arg(arguments, struct rm_string **);
            size_t n = va_arg(arguments, size_t);

            for (size_t i = 0; i < n; i++)
                stand_add_word(w, stand_string(list[i]->data, list[i]->size));
        }
    }
}

static int replicate(struct rm_ctx *ctx, const char *command, const char *format, ...)
{
    va_list arguments;

    (void)ctx;
    assert(stand.propagated_n < 8);
    va_start(arguments, format);
    stand_format_words(&stand.propagated[stand.propagated_n++], command, format, arguments);
    va_end(arguments);
    return RM_OK;
}

int stand_replicate_verbatim(struct rm_ctx *ctx)
{
    (void)ctx;
    assert(stand.propagated_n < 8);
    for (size_t i = 0; i < stand.running.n; i++)
        stand_add_word(&stand.propagated[stand.propagated_n],
                       stand_string(stand.running.list[i]->data, stand.running.list[i]->size));
    stand.propagated_n++;
    return RM_OK;
}

const struct stand_in_call stand_in_keys_calls[] = {
    STAND_IN_CALL(OpenKey, open_key),
    STAND_IN_CALL(CloseKey, close_key),
    STAND_IN_CALL(KeyType, key_type),
    STAND_IN_CALL(ModuleTypeGetType, type_at),
    STAND_IN_CALL(ModuleTypeGetValue, value_of),
    STAND_IN_CALL(ModuleTypeSetValue, set_value),
    STAND_IN_CALL(ModuleTypeReplaceValue, replace_value),
    STAND_IN_CALL(DeleteKey, delete_key),
    STAND_IN_CALL(Replicate, replicate),
    STAND_IN_CALL(ReplicateVerbatim, stand_replicate_verbatim),
    {0},
};
