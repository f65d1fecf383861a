/* json_compact.c - an object or array in one canonical form (json.h).
 *
 * Values are written from left to right. At the end of an object, its members are adjacent in the
 * output and are sorted if necessary. In the worst case, this copies the content once per level of
 * nesting. The output never exceeds the input: an escape that remains is as long as before. */
#include "pick/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct member {
    const char *name; /* in the input, after its quote */
    size_t begin, size;
};

struct compact_writer {
    const char *at; /* next byte to read */
    char *to;
    size_t n; /* bytes written */
    struct member *member;
    size_t members, room; /* of all open objects, the innermost last */
    bool failed;          /* out of memory */
};

static void put(struct compact_writer *w, char c)
{
    w->to[w->n++] = c;
}

static void skip_blanks(struct compact_writer *w)
{
    while (*w->at == ' ' || *w->at == '\t' || *w->at == '\n' || *w->at == '\r')
        w->at++;
}

/* ---- strings ---- */

/* Escape only what JSON requires, in the shortest form. */
static void put_character(struct compact_writer *w, char c)
{
    static const char control[] = "\b\f\n\r\t", letter[] = "bfnrt";
    const char *found = c ? strchr(control, c) : NULL;

    if (c == '"' || c == '\\') {
        put(w, '\\');
        put(w, c);
    } else if (found) {
        put(w, '\\');
        put(w, letter[found - control]);
    } else if ((unsigned char)c < ' ') {
        char code[8];

        w->n += (size_t)snprintf(code, sizeof code, "\\u%04X", (unsigned)c);
        memcpy(w->to + w->n - 6, code, 6);
    } else {
        put(w, c);
    }
}

static void put_string(struct compact_writer *w)
{
    put(w, *w->at++);
    while (*w->at != '"') {
        char bytes[4];
        size_t n = json_character(&w->at, bytes);

        for (size_t i = 0; i < n; i++)
            put_character(w, bytes[i]);
    }
    put(w, *w->at++);
}

/* ---- members in order ---- */

/* The unescaped bytes of a string, one by one. */
struct said {
    const char *at;
    char bytes[4];
    size_t n, next;
};

static int next_byte(struct said *s)
{
    if (s->next == s->n) {
        if (*s->at == '"')
            return -1;
        s->n = json_character(&s->at, s->bytes);
        s->next = 0;
    }
    return (unsigned char)s->bytes[s->next++];
}

static int compare_names(const char *a, const char *b)
{
    struct said left = {.at = a}, right = {.at = b};
    int x, y;

    do {
        x = next_byte(&left);
        y = next_byte(&right);
    } while (x == y && x >= 0);
    return x - y;
}

static int compare_members(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    int order = compare_names(a->name, b->name);

    return order ? order : (a->begin > b->begin) - (a->begin < b->begin);
}

static bool in_order(const struct member *m, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (compare_names(m[i - 1].name, m[i].name) >= 0)
            return false;
    return true;
}

/* The members m[0..n) start at `begin`, a comma after each. */
static void sort_members(struct compact_writer *w, struct member *m, size_t n, size_t begin)
{
    char *old = malloc(w->n - begin);

    if (!old) {
        w->failed = true;
        return;
    }
    memcpy(old, w->to + begin, w->n - begin);
    qsort(m, n, sizeof *m, compare_members);
    w->n = begin;
    for (size_t i = 0; i < n; i++) {
        if (i + 1 < n && compare_names(m[i].name, m[i + 1].name) == 0)
            continue; /* of equal names, the last one is kept */
        memcpy(w->to + w->n, old + (m[i].begin - begin), m[i].size);
        w->n += m[i].size;
    }
    free(old);
}

static void add_member(struct compact_writer *w, struct member m)
{
    if (w->members == w->room) {
        size_t room = w->room ? 2 * w->room : 64;
        struct member *more = realloc(w->member, room * sizeof *more);

        if (!more) {
            w->failed = true;
            return;
        }
        w->member = more;
        w->room = room;
    }
    w->member[w->members++] = m;
}

/* ---- values ---- */

static void put_value(struct compact_writer *w);

static void put_name(struct compact_writer *w)
{
    put_string(w);
    skip_blanks(w);
    put(w, *w->at++); /* the colon */
}

/* A member or an element, followed by a comma. */
static void put_item(struct compact_writer *w, bool named)
{
    struct member m = {.name = w->at + 1, .begin = w->n};

    if (named)
        put_name(w);
    put_value(w);
    put(w, ',');
    m.size = w->n - m.begin;
    if (named)
        add_member(w, m);
}

static void end_object(struct compact_writer *w, size_t first, size_t begin)
{
    size_t n = w->members - first;

    if (!w->failed && n > 1 && !in_order(w->member + first, n))
        sort_members(w, w->member + first, n, begin);
    w->members = first;
}

/* The last comma becomes the closing bracket. */
static void put_container(struct compact_writer *w)
{
    bool object = *w->at == '{';
    size_t first = w->members, begin = w->n + 1;

    put(w, *w->at++);
    skip_blanks(w);
    while (*w->at != '}' && *w->at != ']') {
        put_item(w, object);
        skip_blanks(w);
        w->at += *w->at == ',';
        skip_blanks(w);
    }
    if (object)
        end_object(w, first, begin);
    w->n -= w->n > begin;
    put(w, *w->at++);
}

static void put_value(struct compact_writer *w)
{
    skip_blanks(w);
    if (*w->at == '{' || *w->at == '[')
        put_container(w);
    else if (*w->at == '"')
        put_string(w);
    else
        while (!strchr(" \t\r\n,]}", *w->at))
            put(w, *w->at++);
}

size_t json_compact(const char *value, char *to)
{
    struct compact_writer w = {.at = value, .to = to};

    put_value(&w);
    free(w.member);
    return w.failed ? 0 : w.n;
}
