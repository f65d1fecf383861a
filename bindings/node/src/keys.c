/* keys.c - JavaScript values as keys, one by one and in batches.
 *
 * A key is a sequence of bytes. A string is its UTF-8, an integer (number or bigint) is its decimal
 * text, and a Buffer is its bytes, as in the other bindings. So 42, 42n, "42" and Buffer.from("42")
 * are one key. Other values are not keys: their text would depend on the program.
 *
 * A batch is an array of keys, a typed array of integers, or the bytes of all keys in one Buffer,
 * with their size or with the offsets of their ends:
 *
 *     offsets   0     3       7   9
 *     bytes     a b c d e f g h i         three keys
 *
 * Its keys are hashed some hundred at a time and then observed by one call, which prefetches the
 * memory of all of them. */
#include <math.h>
#include <stdlib.h>

#include "addon.h"

#define SAFE 9007199254740991.0 /* Number.MAX_SAFE_INTEGER */
#define CHUNK 512               /* keys that are hashed at a time; chosen: 16 KiB of hashes */
#define DIGITS_MAX 24           /* a 64-bit integer in decimal */

static bool refuse(napi_env env, const char *code, const char *text)
{
    (void)napi_throw_type_error(env, code, text);
    return false;
}

/* ---- one key ---- */

static struct weir_bytes decimal(uint64_t n, bool negative, char buffer[DIGITS_MAX])
{
    char *end = buffer + DIGITS_MAX, *at = end;

    do {
        *--at = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    if (negative)
        *--at = '-';
    return (struct weir_bytes){at, (size_t)(end - at)};
}

void key_buffer_free(struct key_buffer *b)
{
    free(b->many);
    b->many = NULL;
}

/* Text that fills the buffer, except for less than a character, may be truncated. */
static bool read_text(napi_env env, napi_value value, struct key_buffer *b, struct weir_bytes *key)
{
    size_t size;

    CHECK(env, napi_get_value_string_utf8(env, value, b->few, sizeof b->few, &size), false);
    *key = (struct weir_bytes){b->few, size};
    if (size < sizeof b->few - 4)
        return true;
    key_buffer_free(b);
    CHECK(env, napi_get_value_string_utf8(env, value, NULL, 0, &size), false);
    b->many = malloc(size + 1);
    if (!b->many)
        return refuse(env, "no-memory", "no memory for a key");
    CHECK(env, napi_get_value_string_utf8(env, value, b->many, size + 1, &size), false);
    *key = (struct weir_bytes){b->many, size};
    return true;
}

static bool read_number(napi_env env, napi_value value, struct key_buffer *b,
                        struct weir_bytes *key)
{
    double number;

    CHECK(env, napi_get_value_double(env, value, &number), false);
    if (!(fabs(number) <= SAFE) || number != floor(number))
        return refuse(
            env, "invalid-key",
            "a number must be a safe integer to be a key; use a bigint for larger integers "
            "and String() for fractions");
    *key = decimal((uint64_t)fabs(number), number < 0, b->few);
    return true;
}

bool bytes_read(napi_env env, napi_value value, struct weir_bytes *bytes)
{
    napi_typedarray_type type = napi_int8_array;
    void *data = NULL;
    size_t size = 0;

    if (napi_get_typedarray_info(env, value, &type, &size, &data, NULL, NULL) != napi_ok ||
        type != napi_uint8_array)
        return false;
    *bytes = (struct weir_bytes){size ? data : "", size};
    return true;
}

bool key_read(napi_env env, napi_value value, struct key_buffer *b, struct weir_bytes *key)
{
    napi_valuetype type;
    napi_value text;

    CHECK(env, napi_typeof(env, value, &type), false);
    if (type == napi_string)
        return read_text(env, value, b, key);
    if (type == napi_number)
        return read_number(env, value, b, key);
    if (type == napi_bigint) {
        CHECK(env, napi_coerce_to_string(env, value, &text), false);
        return read_text(env, text, b, key);
    }
    if (type == napi_object && bytes_read(env, value, key))
        return true;
    return refuse(env, "invalid-key",
                  type == napi_undefined || type == napi_null
                      ? "a key is missing; drop null and undefined"
                      : "a key is a string, an integer, a bigint or a Uint8Array; convert other "
                        "values with String()");
}

/* ---- the keys of a batch ---- */

enum batch_kind { VALUES, INTEGERS, FIXED, OFFSETS };

struct batch_keys {
    enum batch_kind kind;
    size_t n;                  /* keys */
    napi_value values;         /* VALUES: an array */
    struct weir_bytes data;    /* FIXED, OFFSETS: their bytes */
    size_t size;               /* FIXED: bytes of a key */
    napi_typedarray_type type; /* INTEGERS, OFFSETS: of the numbers */
    const void *numbers;
    size_t stride; /* OFFSETS: 2 if each key has a begin and an end of its own, else 1 */
};

static int64_t number_at(const struct batch_keys *s, size_t i)
{
    if (s->type == napi_int32_array)
        return ((const int32_t *)s->numbers)[i];
    if (s->type == napi_uint32_array)
        return ((const uint32_t *)s->numbers)[i];
    return ((const int64_t *)s->numbers)[i];
}

/* Get key i of typed arrays. False if its offsets are outside the bytes. Memory that is shared with
 * another thread can change at any time, so each use is checked. */
static bool bytes_at(const struct batch_keys *s, size_t i, char digits[DIGITS_MAX],
                     struct weir_bytes *key)
{
    int64_t n = s->kind == INTEGERS ? number_at(s, i) : 0;
    uint64_t from = i * s->size, to = from + s->size;

    if (s->kind == INTEGERS) {
        *key = n < 0 && s->type != napi_biguint64_array ? decimal(0 - (uint64_t)n, true, digits)
                                                        : decimal((uint64_t)n, false, digits);
        return true;
    }
    if (s->kind == OFFSETS) {
        from = (uint64_t)number_at(s, i * s->stride);
        to = (uint64_t)number_at(s, i * s->stride + 1);
    }
    if (from > to || to > s->data.size)
        return false;
    *key = (struct weir_bytes){(const char *)s->data.data + from, (size_t)(to - from)};
    return true;
}

/* Open a typed array of 32-bit or 64-bit integers. */
static bool open_numbers(napi_env env, struct batch_keys *s, napi_value value, const char *wrong)
{
    void *numbers = NULL;

    if (napi_get_typedarray_info(env, value, &s->type, &s->n, &numbers, NULL, NULL) != napi_ok ||
        (s->type != napi_int32_array && s->type != napi_uint32_array &&
         s->type != napi_bigint64_array && s->type != napi_biguint64_array))
        return refuse(env, "invalid-keys", wrong);
    s->numbers = numbers;
    return true;
}

static bool open_offsets(napi_env env, struct batch_keys *s, napi_value offsets, bool in_pairs)
{
    struct weir_bytes key;

    s->kind = OFFSETS;
    s->stride = in_pairs ? 2 : 1;
    if (!open_numbers(env, s, offsets,
                      "bytes need the size of a key, or offsets: a Uint32Array, Int32Array, "
                      "BigInt64Array or BigUint64Array; to pass one key, put it into an array"))
        return false;
    s->n = in_pairs ? s->n / 2 : s->n - (s->n > 0);
    for (size_t i = 0; i < s->n; i++) {
        if (!bytes_at(s, i, NULL, &key))
            return refuse(env, "invalid-offsets", "offsets must ascend and end within the bytes");
    }
    return true;
}

static bool open_fixed(napi_env env, struct batch_keys *s, napi_value value)
{
    double size;

    CHECK(env, napi_get_value_double(env, value, &size), false);
    s->kind = FIXED;
    s->size = size >= 1 && size < SAFE ? (size_t)size : 0;
    if (s->size == 0 || (double)s->size != size || s->data.size % s->size)
        return refuse(env, "invalid-size",
                      "the size of a key must be 1 or more, and divide the number of bytes");
    s->n = s->data.size / s->size;
    return true;
}

static bool open_batch(napi_env env, struct batch_keys *s, napi_value keys, napi_value layout,
                       bool in_pairs)
{
    napi_valuetype type;
    uint32_t n;

    *s = (struct batch_keys){.kind = VALUES, .values = keys};
    CHECK(env, napi_typeof(env, layout, &type), false);
    if (bytes_read(env, keys, &s->data))
        return type == napi_number ? open_fixed(env, s, layout)
                                   : open_offsets(env, s, layout, in_pairs);
    if (type != napi_undefined)
        return refuse(env, "invalid-keys", "a size or offsets are for keys in one Uint8Array only");
    if (napi_get_array_length(env, keys, &n) == napi_ok) {
        s->n = n;
        return true;
    }
    s->kind = INTEGERS;
    return open_numbers(env, s, keys, "a batch is an array of keys, or of integers");
}

/* ---- batches ---- */

/* Hash values of an array. Their handles are freed after each chunk. */
static bool hash_values(napi_env env, const struct batch_keys *s, const struct filter_object *o,
                        size_t from, size_t n, struct weir_key *keys)
{
    struct key_buffer buffer = {.many = NULL};
    napi_handle_scope scope;
    struct weir_bytes key;
    napi_value value;
    bool ok = true;

    CHECK(env, napi_open_handle_scope(env, &scope), false);
    for (size_t i = 0; ok && i < n; i++) {
        ok = napi_get_element(env, s->values, (uint32_t)(from + i), &value) == napi_ok;
        if (!ok)
            throw_last(env);
        ok = ok && key_read(env, value, &buffer, &key);
        if (ok && !o->filter) /* a getter of the array closed it */
            ok = refuse(env, "closed", "the filter was closed while its keys were read");
        if (ok)
            keys[i] = weir_hash(o->filter, key.data, key.size);
    }
    key_buffer_free(&buffer);
    (void)napi_close_handle_scope(env, scope);
    return ok;
}

static bool hash_chunk(napi_env env, const struct batch_keys *s, const struct filter_object *o,
                       size_t from, size_t n, struct weir_key *keys)
{
    char digits[CHUNK][DIGITS_MAX];
    struct weir_bytes bytes[CHUNK];

    if (s->kind == VALUES)
        return hash_values(env, s, o, from, n, keys);
    for (size_t i = 0; i < n; i++) {
        if (!bytes_at(s, from + i, digits[i], &bytes[i]))
            return refuse(env, "invalid-offsets", "the offsets changed while they were read");
    }
    weir_hash_many(o->filter, bytes, n, keys);
    return true;
}

napi_value call_with_batch(napi_env env, napi_callback_info info)
{
    struct weir_key keys[CHUNK];
    napi_value argv[3], buffer, out;
    enum operation operation;
    struct filter_object *o = call_read(env, info, 3, argv, &operation);
    struct batch_keys s;
    bool in_pairs = false;
    void *data;

    if (!o)
        return NULL;
    CHECK(env, napi_get_value_bool(env, argv[2], &in_pairs), NULL);
    if (!open_batch(env, &s, argv[0], argv[1], in_pairs))
        return NULL;
    CHECK(env, napi_create_arraybuffer(env, s.n, &data, &buffer), NULL);
    CHECK(env, napi_create_typedarray(env, napi_uint8_array, s.n, buffer, 0, &out), NULL);
    for (size_t i = 0; i < s.n; i += CHUNK) {
        size_t n = s.n - i < CHUNK ? s.n - i : CHUNK;
        uint8_t *verdicts = (uint8_t *)data + i;

        if (!hash_chunk(env, &s, o, i, n, keys))
            return NULL;
        if (operation == OBSERVE)
            weir_observe_many(o->filter, keys, n, verdicts);
        else
            weir_ask_many(o->filter, keys, n, verdicts);
    }
    return out;
}
