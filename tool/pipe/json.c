/* json.c - see json.h. */
#include "pipe/json.h"

#include <stdlib.h>
#include <string.h>

#include "pipe/csv.h"
#include "pipe/json_string.h"

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
