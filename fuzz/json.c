/* json.c - JSON records are accepted or rejected as jansson does, and a pointer selects the same
 * value.
 *
 * The first byte selects the pointer. Intended differences: numbers may have any size and keep
 * their text; NUL outside of a string is rejected, which jansson sometimes accepts. */
#include "fuzz.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "pick/json.h"

static const char *const pointers[] = {"/a", "/a/b",  "/0",        "/a/1",
                                       "/",  "/a~1b", "/\xc3\xa9", "/a/b/c"};

/* ---- jansson ---- */

static const json_t *step_into(const json_t *value, const struct json_step *step)
{
    if (json_is_array(value))
        return step->index < json_array_size(value) ? json_array_get(value, step->index) : NULL;
    return json_object_get(value, step->name);
}

static const json_t *follow(const json_t *value, const struct json_path *path)
{
    for (uint32_t i = 0; value && i < path->steps; i++)
        value = step_into(value, &path->step[i]);
    return value;
}

/* Numbers are parsed again, because their text may differ. */
static void require_same_value(const json_t *value, struct weir_bytes field)
{
    json_t *ours = json_loadb(field.data, field.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    const size_t flags = JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS;
    char *text = json_dumps(value, flags), *again = ours ? json_dumps(ours, flags) : NULL;

    require(text && again && strcmp(text, again) == 0);
    if (!strpbrk(text, "0123456789"))
        require(strlen(text) == field.size && memcmp(text, field.data, field.size) == 0);
    free(text);
    free(again);
    json_decref(ours);
}

static void require_same(const json_t *value, struct weir_bytes field)
{
    require((value != NULL) == (field.data != NULL));
    if (json_is_string(value))
        require(field.size == json_string_length(value) &&
                memcmp(field.data, json_string_value(value), field.size) == 0);
    else if (value)
        require_same_value(value, field);
}

/* ---- weir ---- */

static bool is_blank(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!memchr(" \t\r\n", text[i], 4))
            return false;
    return true;
}

static void compare(const struct json_paths *paths, const char *record, size_t size)
{
    struct arena arena = {0};
    struct weir_bytes field = {0};
    struct json_fault fault = {0};
    json_error_t error;
    enum json_result result = json_fields(paths, &arena, record, size, &field, &fault);
    json_t *root = json_loadb(record, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);

    require(result != JSON_NO_MEMORY);
    require(result != JSON_REFUSED || (fault.text && fault.at <= size));
    if (root && result == JSON_FINE)
        require_same(follow(root, &paths->path[0]), field);
    else if (root)
        require(memchr(record, '\0', size));
    else if (result == JSON_FINE)
        require(json_error_code(&error) == json_error_numeric_overflow || is_blank(record, size) ||
                memcmp(record, "\xef\xbb\xbf", 3) == 0);
    json_decref(root);
    arena_close(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_paths paths = {.n = 0};
    char *record = malloc(size + 63);

    if (size == 0 || !record || !json_add(&paths, pointers[*data % 8])) {
        free(record);
        return 0;
    }
    memcpy(record, data + 1, size - 1);
    record[size - 1] = *data & 8 ? '\n' : '\0';
    memset(record + size, *data & 16 ? '"' : '1', 63); /* the readable size */
    compare(&paths, record, size - 1);
    json_close(&paths);
    free(record);
    return 0;
}
