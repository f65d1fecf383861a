/* json.c - fields of a JSON record, by pointer (RFC 6901).
 *
 * jansson reads the whole record, which also says whether it is JSON at all.
 * A string gives its text, anything else its shortest JSON, so that the number
 * 7 and the string "7" are one key. */
#include "pipe/fields.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One step of a pointer, ~1 and ~0 undone; *at moves behind it. */
static bool next_step(const char **at, char *step, size_t size)
{
    const char *p = *at + 1; /* past the slash */
    size_t n = 0;

    for (; *p && *p != '/'; p++) {
        if (n + 1 == size)
            return false;
        char c = *p;
        if (c == '~' && (p[1] == '0' || p[1] == '1'))
            c = *++p == '0' ? '~' : '/';
        step[n++] = c;
    }
    step[n] = '\0';
    *at = p;
    return true;
}

static const json_t *follow(const json_t *value, const char *pointer)
{
    char step[256];

    while (value && *pointer) {
        if (!next_step(&pointer, step, sizeof step))
            return NULL;
        if (json_is_array(value)) {
            char *end;
            unsigned long i = strtoul(step, &end, 10);

            value = *step >= '0' && *step <= '9' && !*end ? json_array_get(value, i) : NULL;
        } else {
            value = json_object_get(value, step);
        }
    }
    return value;
}

static bool text_of(const json_t *value, struct arena *a, struct weir_bytes *out)
{
    const size_t flags = JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS;
    size_t size =
        json_is_string(value) ? json_string_length(value) : json_dumpb(value, NULL, 0, flags);
    char *bytes = arena_take(a, size);

    if (!bytes)
        return false;
    if (json_is_string(value))
        memcpy(bytes, json_string_value(value), size);
    else
        json_dumpb(value, bytes, size, flags);
    *out = (struct weir_bytes){bytes, size};
    return true;
}

/* What jansson cannot hold may be JSON all the same. */
static const char *reproach(const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);

    return code == json_error_numeric_overflow || code == json_error_stack_overflow
               ? "JSON beyond what can be read: "
               : "not JSON: ";
}

static const char *said(struct arena *a, const char *before, const char *text)
{
    size_t size = strlen(before) + strlen(text) + 1;
    char *s = arena_take(a, size);

    if (!s)
        return "memory is short";
    snprintf(s, size, "%s%s", before, text);
    return s;
}

const char *json_fields_of(const struct picker *p, struct arena *a, const char *record, size_t size,
                           struct weir_bytes *wanted)
{
    json_error_t error;
    json_t *root = json_loadb(record, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    const char *fault = NULL;

    if (!root)
        return said(a, reproach(&error), error.text);
    for (uint32_t i = 0; i < p->columns && !fault; i++) {
        const json_t *value = follow(root, p->column[i].name);

        if (!value)
            fault = said(a, "the record has no ", p->column[i].name);
        else if (!text_of(value, a, &wanted[i]))
            fault = "memory is short";
    }
    json_decref(root);
    return fault;
}
