/* json.c - see json.h. */
#include "pick/json.h"

#include <stdlib.h>
#include <string.h>

#include "pipe/csv.h"

/* ---- pointers ---- */

/* Parse the step that begins at the slash; its name is written to *to, which advances. */
static const char *read_step(const char *slash, struct json_step *step, char **to)
{
    const char *p = slash + 1;
    char *name = *to, *end = name;

    for (; *p && *p != '/'; p++) {
        bool escape = *p == '~' && (p[1] == '0' || p[1] == '1');

        p += escape;
        *end++ = !escape ? *p : *p == '0' ? '~' : '/';
    }
    *end = '\0';
    *to = end + 1;
    *step = (struct json_step){name, (size_t)(end - name), UINT64_MAX};
    if (step->size > 0 && step->size < 19 && strspn(name, "0123456789") == step->size)
        step->index = strtoull(name, NULL, 10);
    return p;
}

/* One allocation: the steps, followed by their names. */
bool json_add(struct json_paths *p, const char *pointer)
{
    struct json_path *path = &p->path[p->n];
    size_t steps = 0, size = strlen(pointer) + 1;

    for (const char *c = pointer; *c; c++)
        steps += *c == '/';
    if (p->n == JSON_PATHS_MAX)
        return false;
    path->step = malloc(steps * sizeof *path->step + size);
    if (!path->step)
        return false;
    char *names = (char *)(path->step + steps);
    path->steps = (uint32_t)steps;
    for (size_t i = 0; i < steps; i++)
        pointer = read_step(pointer, &path->step[i], &names);
    p->n++;
    return true;
}

void json_close(struct json_paths *p)
{
    for (uint32_t i = 0; i < p->n; i++)
        free(p->path[i].step);
    p->n = 0;
}

/* ---- values ---- */

static bool unescape(const struct json_value *v, struct arena *a, struct weir_bytes *out)
{
    const char *at = v->at + 1, *end = v->at + v->size - 1;
    char *to = arena_take(a, v->size);
    size_t n = 0;

    if (!to)
        return false;
    while (at < end)
        n += json_character(&at, to + n);
    *out = (struct weir_bytes){to, n};
    return true;
}

static bool compact(const struct json_value *v, struct arena *a, struct weir_bytes *out)
{
    char *to = arena_take(a, v->size);

    if (to)
        *out = (struct weir_bytes){to, json_compact(v->at, to)};
    return to && out->size > 0;
}

/* Most keys are a range of the record: nothing is copied. */
static bool text_of(const struct json_value *v, struct arena *a, struct weir_bytes *out)
{
    if (!v->at) {
        *out = (struct weir_bytes){NULL, 0};
        return true;
    }
    if (*v->at == '{' || *v->at == '[')
        return compact(v, a, out);
    if (v->escaped)
        return unescape(v, a, out);
    size_t quote = *v->at == '"';
    *out = (struct weir_bytes){v->at + quote, v->size - 2 * quote};
    return true;
}

/* ---- records ---- */

static bool is_blank_text(const char *text, size_t size)
{
    while (size > 0 && (*text == ' ' || *text == '\t' || *text == '\r' || *text == '\n')) {
        text++;
        size--;
    }
    return size == 0;
}

enum json_result json_fields(const struct json_paths *p, struct arena *a, const char *record,
                             size_t size, struct weir_bytes *field, struct json_fault *fault)
{
    struct json_value value[JSON_PATHS_MAX];
    size_t mark = csv_mark(record, size);

    if (is_blank_text(record + mark, size - mark)) {
        for (uint32_t i = 0; i < p->n; i++)
            field[i] = (struct weir_bytes){"", 0};
        return JSON_FINE;
    }
    if (!json_scan(p, record + mark, size - mark, value, fault)) {
        fault->at += mark;
        return JSON_REFUSED;
    }
    for (uint32_t i = 0; i < p->n; i++)
        if (!text_of(&value[i], a, &field[i]))
            return JSON_NO_MEMORY;
    return JSON_FINE;
}

/* ---- strings ---- */

static const char *refuse(struct json_string *s, const char *at, const char *fault)
{
    s->fault = fault;
    s->fault_at = at;
    return NULL;
}

static bool within(char c, uint8_t least, uint8_t most)
{
    return (uint8_t)c >= least && (uint8_t)c <= most;
}

static bool continues(char c)
{
    return within(c, 0x80, 0xbf);
}

/* One character of two to four bytes, as in table 3-7 of the Unicode standard: not overlong, not a
 * surrogate, not above U+10FFFF. */
static const char *skip_character(struct json_string *s, const char *at)
{
    uint8_t first = (uint8_t)*at;

    if (first < 0xe0) {
        if (first >= 0xc2 && continues(at[1]))
            return at + 2;
    } else if (first < 0xf0) {
        if (within(at[1], first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf) &&
            continues(at[2]))
            return at + 3;
    } else if (first < 0xf5) {
        if (within(at[1], first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf) &&
            continues(at[2]) && continues(at[3]))
            return at + 4;
    }
    return refuse(s, at, "not JSON: bytes that are not UTF-8");
}

static int hex(char c)
{
    char small = (char)(c | 32);

    if (c >= '0' && c <= '9')
        return c - '0';
    return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/* The number of \uXXXX, or -1 if there is none. */
static int32_t code_unit(const char *at)
{
    int32_t code = 0;

    if (at[0] != '\\' || at[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        int digit = hex(at[i]);

        if (digit < 0)
            return -1;
        code = code << 4 | digit;
    }
    return code;
}

static const char *skip_code(struct json_string *s, const char *at)
{
    int32_t code = code_unit(at);
    bool high = code >= 0xd800 && code < 0xdc00, low = code >= 0xdc00 && code < 0xe000;
    int32_t next = high ? code_unit(at + 6) : 0;

    if (code < 0)
        return refuse(s, at, "not JSON: \\u without four hexadecimal digits");
    if (low || (high && (next < 0xdc00 || next >= 0xe000)))
        return refuse(s, at, "not JSON: half of a surrogate pair");
    s->zero |= code == 0;
    return at + (high ? 12 : 6);
}

/* Non-ASCII characters usually occur in runs. */
static const char *skip_characters(struct json_string *s, const char *at)
{
    while (at && *at & 0x80)
        at = skip_character(s, at);
    return at;
}

const char *json_skip_odd(struct json_string *s, const char *at)
{
    if (*at & 0x80)
        return skip_characters(s, at);
    if (*at != '\\')
        return refuse(s, at, "not JSON: a control character in a string");
    s->escaped = true;
    if (at[1] == 'u')
        return skip_code(s, at);
    if (at[1] == '\0' || !strchr("\"\\/bfnrt", at[1]))
        return refuse(s, at, "not JSON: a backslash before a character that cannot be escaped");
    return at + 2;
}

size_t json_character(const char **at, char to[4])
{
    static const char names[] = "\"\\/bfnrt", stand_for[] = "\"\\/\b\f\n\r\t";
    const char *p = *at;

    if (*p != '\\') {
        *to = *(*at)++;
        return 1;
    }
    if (p[1] != 'u') {
        *to = stand_for[strchr(names, p[1]) - names];
        *at += 2;
        return 1;
    }
    uint32_t code = (uint32_t)code_unit(p);
    *at += 6;
    if (code >= 0xd800 && code < 0xdc00) {
        code = 0x10000 + ((code - 0xd800) << 10) + ((uint32_t)code_unit(p + 6) - 0xdc00);
        *at += 6;
    }
    if (code < 0x80)
        return to[0] = (char)code, 1;
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    to[0] = (char)(0xff00u >> (more + 1) | code >> (6 * more));
    for (int i = 1; i <= more; i++)
        to[i] = (char)(0x80 | (code >> (6 * (more - i)) & 0x3f));
    return (size_t)more + 1;
}

bool json_stands_for(const char *at, const char *end, const char *text, size_t size)
{
    size_t n = 0;

    while (at < end) {
        char bytes[4];
        size_t more = json_character(&at, bytes);

        if (n + more > size || memcmp(text + n, bytes, more) != 0)
            return false;
        n += more;
    }
    return n == size;
}
