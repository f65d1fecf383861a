/* knobs.c - see knobs.h. */
#include "sentence/knobs.h"

#include <string.h>

#include "sentence/error.h"

const char *const knob_hashes[] = {"xxh3", "sip", NULL};

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct span sentence_word(const char **at)
{
    while (is_space(**at))
        ++*at;
    struct span word = {*at, 0};
    while (**at && !is_space(**at))
        ++*at;
    word.n = (size_t)(*at - word.s);
    return word;
}

struct span sentence_name(const char **at)
{
    const char *start = *at;
    struct span word = sentence_word(at);

    if (word.n == 0 || !memchr(word.s, '=', word.n))
        return word;
    *at = start;
    return (struct span){start, 0};
}

struct quote quote(struct span a)
{
    struct quote q;
    size_t n = a.n < sizeof q.text - 4 ? a.n : sizeof q.text - 4;

    for (size_t i = 0; i < n; i++)
        q.text[i] = a.s[i] >= ' ' && a.s[i] <= '~' ? a.s[i] : '?';
    strcpy(q.text + n, n < a.n ? "..." : "");
    return q;
}

/* ---- reading ---- */

static bool read_share(struct span text, uint64_t *billionths)
{
    double share;

    if (!span_rate(text, &share) || share > 1)
        return false;
    *billionths = (uint64_t)(share * 1e9 + 0.5);
    return true;
}

static bool read_word(const struct knob_row *row, struct span text, uint64_t *out)
{
    for (*out = 0; row->words[*out]; ++*out)
        if (span_is(text, row->words[*out]))
            return true;
    return false;
}

static bool read_number(const struct knob_row *row, struct span text, uint64_t *out)
{
    if (row->kind == A_SIZE    ? !span_size(text, out)
        : row->kind == A_SHARE ? !read_share(text, out)
        : row->kind == A_TIME  ? !span_time(text, out)
                               : !span_count(text, out))
        return false;
    return *out >= row->min && *out <= row->max;
}

static bool read_rate(struct span text, double *out)
{
    return span_rate(text, out) && *out > 0 && *out < 1;
}

static bool read_value(const struct knob_row *row, struct span text, void *into)
{
    void *value = (char *)into + row->offset;

    switch (row->kind) {
    case A_RATE:
        return read_rate(text, value);
    case A_WORD:
        return read_word(row, text, value);
    case ITS_OWN:
        return row->read(text, value);
    default:
        return read_number(row, text, value);
    }
}

static bool refuse_knob(const struct knobs *k, struct span name, struct weir_error *error)
{
    char list[160];
    struct text t = text_in(list, sizeof list);
    const char *between = "";

    for (int i = 0; i < k->n; i++) {
        if (!(k->has & 1u << i))
            continue;
        text_add(&t, between);
        text_add(&t, k->rows[i].about.name);
        between = ", ";
    }
    error_say(error, WEIR_BAD_CONFIG, k->owner, " has no parameter '", quote(name).text,
              "'; it takes ", list, NULL);
    return false;
}

static bool read_knob(const struct knobs *k, struct span word, void *into, uint32_t *given,
                      struct weir_error *error)
{
    const char *equals = memchr(word.s, '=', word.n);
    int i = 0;

    if (!equals) {
        error_say(error, WEIR_BAD_CONFIG, "'", quote(word).text,
                  "' is not of the form parameter=value, such as memory=64M", NULL);
        return false;
    }
    struct span name = {word.s, (size_t)(equals - word.s)};
    struct span value = {equals + 1, word.n - name.n - 1};
    while (i < k->n && !span_is(name, k->rows[i].about.name))
        i++;
    if (i == k->n || !(k->has & 1u << i))
        return refuse_knob(k, name, error);
    const struct weir_knob *about = &k->rows[i].about;
    if (*given & 1u << i) {
        error_say(error, WEIR_BAD_CONFIG, about->name, " is given twice", NULL);
        return false;
    }
    if (!read_value(&k->rows[i], value, into)) {
        error_say(error, WEIR_BAD_CONFIG, about->name, "=", quote(value).text,
                  " does not fit: it takes ", about->takes, NULL);
        return false;
    }
    *given |= 1u << i;
    return true;
}

bool knobs_read(const struct knobs *k, const char *at, void *into, uint32_t *given,
                struct weir_error *error)
{
    for (struct span word; (word = sentence_word(&at)).n;)
        if (!read_knob(k, word, into, given, error))
            return false;
    return true;
}

/* ---- writing ---- */

void knobs_write(struct text *t, const struct knob_row *row, const void *from)
{
    const void *at = (const char *)from + row->offset;
    uint64_t value = row->kind == ITS_OWN || row->kind == A_RATE ? 0 : *(const uint64_t *)at;

    text_add(t, row->about.name);
    text_add(t, "=");
    switch (row->kind) {
    case A_SIZE:
        text_add_u64(t, value % 8 ? value : value / 8);
        text_add(t, value % 8 ? "bit" : "");
        break;
    case A_SHARE:
        text_add_rate(t, value);
        break;
    case A_TIME:
        text_add_u64(t, value);
        text_add(t, "ms");
        break;
    case A_RATE:
        text_add_double(t, *(const double *)at);
        break;
    case A_WORD:
        text_add(t, row->words[value]);
        break;
    case ITS_OWN:
        row->write(t, at);
        break;
    case A_COUNT:
        text_add_u64(t, value);
    }
}
