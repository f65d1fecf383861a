/* json_scan.c - see json.h.
 *
 * A loop from token to token. Long runs, the text of strings and the digits of numbers, are skipped
 * 16 or 32 bytes at a time (SSE2, AVX2) or 8 (arithmetic on a word). A token costs a few branches,
 * which are predicted well because most records of a stream have the same structure. The byte after
 * the text is a line break or NUL, which ends every run, so no length is checked.
 *
 * An index of all structural bytes, as in simdjson (Langdale and Lemire 2019), pays off for large
 * documents, not for lines of a few hundred bytes (docs/design.md). */
#include "pick/json.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* ---- runs of bytes ---- */

#if defined(__x86_64__) && !defined(SCAN_PLAIN)
#include <immintrin.h>

/* The first byte that is not plain text of a string: a quote, a backslash, a
 * control character (below 32) or one that is not ASCII (below 0, signed). */
INLINE const char *text_end(const char *at)
{
    for (;; at += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i stop = _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')),
                                    _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
        stop = _mm_or_si128(stop, _mm_cmplt_epi8(x, _mm_set1_epi8(' ')));
        int mask = _mm_movemask_epi8(stop);

        if (mask)
            return at + __builtin_ctz((unsigned)mask);
    }
}

INLINE const char *digits_end(const char *at)
{
    for (;; at += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i digit = _mm_sub_epi8(x, _mm_set1_epi8('0'));
        __m128i is = _mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit);
        int mask = _mm_movemask_epi8(is) ^ 0xffff;

        if (mask)
            return at + __builtin_ctz((unsigned)mask);
    }
}
#else
#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

INLINE uint64_t load8(const char *at)
{
    uint64_t word = 0;

    for (int i = 0; i < 8; i++)
        word |= (uint64_t)(uint8_t)at[i] << (8 * i);
    return word;
}

INLINE const char *text_end(const char *at)
{
    for (;; at += 8) {
        uint64_t x = load8(at), quote = x ^ EACH('"'), backslash = x ^ EACH('\\');
        uint64_t stop = (quote - EACH(1)) | (backslash - EACH(1)) | (x - EACH(' ')) | x;

        stop &= EACH(0x80); /* the lowest is exact: nothing is borrowed from below it */
        if (stop)
            return at + __builtin_ctzll(stop) / 8;
    }
}

INLINE const char *digits_end(const char *at)
{
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}
#endif

/* ---- the walk ---- */

/* A container that is open. */
struct level {
    const char *begin;
    uint64_t index;      /* of the current element, in an array */
    uint32_t ends, live; /* paths that end with it, and that lead through it */
    char close;
};

struct json_walk {
    const char *end;
    const struct json_paths *paths;
    struct json_value *found;
    uint32_t here; /* paths that lead to or through the next value */
    uint32_t depth;
    struct json_string string; /* the current string */
    const char *fault, *fault_at;
    struct level level[JSON_DEPTH_MAX + 1];
};

/* All functions below get the position of the next byte and return the position after what they
 * parsed, or NULL. */
static const char *refuse(struct json_walk *w, const char *at, const char *fault)
{
    w->fault = at >= w->end ? "not JSON: the text ends too early" : fault;
    w->fault_at = at;
    return NULL;
}

INLINE bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The byte after the end may be a line break, which must not be skipped. */
INLINE const char *skip_blanks(const struct json_walk *w, const char *at)
{
    if ((unsigned char)*at <= ' ')
        while (at < w->end && is_blank(*at))
            at++;
    return at;
}

/* ---- strings ---- */

INLINE const char *skip_string(struct json_walk *w, const char *at)
{
    w->string.escaped = w->string.zero = false;
    at = text_end(at + 1);
    while (*at != '"') {
        const char *behind = json_skip_odd(&w->string, at);

        if (!behind)
            return refuse(w, w->string.fault_at, w->string.fault);
        at = text_end(behind);
    }
    return at + 1;
}

/* ---- numbers and words ---- */

INLINE bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

INLINE const char *skip_digits(struct json_walk *w, const char *at)
{
    if (!is_digit(*at))
        return refuse(w, at, "not JSON: digits expected in a number");
    return digits_end(at + 1);
}

INLINE const char *skip_number(struct json_walk *w, const char *at)
{
    at += *at == '-';
    at = *at == '0' ? at + 1 : skip_digits(w, at);
    if (at && *at == '.')
        at = skip_digits(w, at + 1);
    if (at && (*at | 32) == 'e')
        at = skip_digits(w, at + 1 + (at[1] == '+' || at[1] == '-'));
    return at;
}

INLINE const char *skip_word(struct json_walk *w, const char *at)
{
    if (memcmp(at, "true", 4) == 0 || memcmp(at, "null", 4) == 0)
        return at + 4;
    if (memcmp(at, "false", 5) == 0)
        return at + 5;
    return refuse(w, at, "not JSON: a value is expected");
}

/* ---- what is wanted ---- */

static void note(struct json_walk *w, uint32_t which, const char *begin, const char *end)
{
    for (; which; which &= which - 1)
        w->found[__builtin_ctz(which)] =
            (struct json_value){begin, (size_t)(end - begin), w->string.escaped};
}

/* The paths that end at the current value. Values of an earlier member with the same name are
 * discarded. */
static uint32_t arrive(struct json_walk *w)
{
    uint32_t ends = 0;

    for (uint32_t left = w->here; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left);

        w->found[i].at = NULL;
        ends |= (uint32_t)(w->paths->path[i].steps == w->depth) << i;
    }
    return ends;
}

INLINE uint32_t match_name(const struct json_walk *w, uint32_t live, const char *name, size_t size)
{
    uint32_t here = 0;

    for (; live; live &= live - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(live);
        const struct json_step *step = &w->paths->path[i].step[w->depth - 1];
        bool same = w->string.escaped ? json_stands_for(name, name + size, step->name, step->size)
                                      : size == step->size && memcmp(name, step->name, size) == 0;

        here |= (uint32_t)same << i;
    }
    return here;
}

static uint32_t match_index(const struct json_walk *w, uint32_t live, uint64_t index)
{
    uint32_t here = 0;

    for (; live; live &= live - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(live);

        here |= (uint32_t)(w->paths->path[i].step[w->depth - 1].index == index) << i;
    }
    return here;
}

/* ---- structure ---- */

/* Advance to the value of the next member or element. */
INLINE const char *next_item(struct json_walk *w, struct level *l, const char *at)
{
    at = skip_blanks(w, at);
    if (l->close == ']') {
        w->here = l->live ? match_index(w, l->live, l->index++) : 0;
        return at;
    }
    const char *name = at + 1;
    if (*at != '"')
        return refuse(w, at, "not JSON: a member's name in quotes is expected");
    at = skip_string(w, at);
    if (!at)
        return NULL;
    if (w->string.zero)
        return refuse(w, name, "not JSON: \\u0000 in a member's name");
    w->here = l->live ? match_name(w, l->live, name, (size_t)(at - 1 - name)) : 0;
    at = skip_blanks(w, at);
    if (*at != ':')
        return refuse(w, at, "not JSON: a colon is expected");
    return skip_blanks(w, at + 1);
}

INLINE const char *take_scalar(struct json_walk *w, const char *begin)
{
    uint32_t ends = w->here ? arrive(w) : 0;
    const char *at;

    if (*begin == '"') {
        at = skip_string(w, begin);
    } else {
        w->string.escaped = false;
        at = is_digit(*begin) || *begin == '-' ? skip_number(w, begin) : skip_word(w, begin);
    }
    if (ends && at)
        note(w, ends, begin, at);
    return at;
}

/* Advance to its first value, or to the closing bracket. */
INLINE const char *open_level(struct json_walk *w, const char *at, bool *empty)
{
    uint32_t ends = w->here ? arrive(w) : 0;
    struct level *l = &w->level[++w->depth];

    l->begin = at;
    l->index = 0;
    l->ends = ends;
    l->live = w->here & ~ends;
    l->close = *at == '{' ? '}' : ']';
    at = skip_blanks(w, at + 1);
    *empty = *at == l->close;
    if (*empty)
        return at;
    if (w->depth == JSON_DEPTH_MAX)
        return refuse(w, at, "JSON nested too deeply: values in 2048 others or more are not read");
    return next_item(w, l, at);
}

INLINE const char *close_level(struct json_walk *w, const char *at)
{
    struct level *l = &w->level[w->depth--];

    w->string.escaped = false;
    if (l->ends)
        note(w, l->ends, l->begin, at + 1);
    return at + 1;
}

/* A value has ended: close the containers that end with it, and advance to the next value. At depth
 * 0 there is none. */
INLINE const char *end_value(struct json_walk *w, const char *at)
{
    for (;;) {
        struct level *l = &w->level[w->depth];

        at = skip_blanks(w, at);
        if (w->depth == 0)
            return at == w->end ? at : refuse(w, at, "not JSON: text after the value");
        if (*at == ',')
            return next_item(w, l, at + 1);
        if (*at != l->close)
            return refuse(w, at, "not JSON: a comma or a closing bracket is expected");
        at = close_level(w, at);
    }
}

static bool walk(struct json_walk *w, const char *at)
{
    at = skip_blanks(w, at);
    do {
        if (*at == '{' || *at == '[') {
            bool empty;

            at = open_level(w, at, &empty);
            if (at && !empty)
                continue;
        } else {
            at = take_scalar(w, at);
        }
        if (at)
            at = end_value(w, at);
    } while (at && w->depth > 0);
    return at;
}

bool json_scan(const struct json_paths *paths, const char *text, size_t size,
               struct json_value *found, struct json_fault *fault)
{
    struct json_walk w;

    w.end = text + size;
    w.paths = paths;
    w.found = found;
    w.here = (uint32_t)((UINT64_C(1) << paths->n) - 1);
    w.depth = 0;
    for (uint32_t i = 0; i < paths->n; i++)
        found[i].at = NULL;
    if (walk(&w, text))
        return true;
    *fault = (struct json_fault){w.fault, (size_t)(w.fault_at - text)};
    return false;
}
