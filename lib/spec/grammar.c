/* grammar.c - see grammar.h. */
#include "spec/grammar.h"

#include <string.h>
#include <unistd.h>

#include "spec/error.h"

/* ---- words ---- */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The next word; an empty one at the end. */
static struct span next_word(const char **at)
{
    while (is_space(**at))
        ++*at;
    struct span word = {*at, 0};
    while (**at && !is_space(**at))
        ++*at;
    word.n = (size_t)(*at - word.s);
    return word;
}

/* Split "parameter=value". Returns false if the word has another form. */
static bool split(struct span word, struct span *name, struct span *value)
{
    const char *equals = memchr(word.s, '=', word.n);

    if (!equals)
        return false;
    *name = (struct span){word.s, (size_t)(equals - word.s)};
    *value = (struct span){equals + 1, word.n - name->n - 1};
    return true;
}

/* A word of the caller for a message: truncated, with unprintable bytes replaced. */
struct quote {
    char text[48];
};

static struct quote quote(struct span a)
{
    struct quote q;
    size_t n = a.n < sizeof q.text - 4 ? a.n : sizeof q.text - 4;

    for (size_t i = 0; i < n; i++)
        q.text[i] = a.s[i] >= ' ' && a.s[i] <= '~' ? a.s[i] : '?';
    strcpy(q.text + n, n < a.n ? "..." : "");
    return q;
}

/* ---- names ---- */

/* Consume and return the first word if it is a name; otherwise return an empty word. */
static struct span name_in(const char **at)
{
    const char *start = *at;
    struct span word = next_word(at);

    if (word.n == 0 || !memchr(word.s, '=', word.n))
        return word;
    *at = start;
    return (struct span){start, 0};
}

static const struct named *find(const struct grammar *g, struct span name)
{
    if (name.n == 0)
        return g->nameless ? g->names[0] : NULL;
    for (size_t i = 0; g->names[i]; i++)
        if (span_is(name, g->names[i]->about.name))
            return g->names[i];
    return NULL;
}

const struct named *spec_named(const struct grammar *g, const char *text)
{
    const char *at = text ? text : "";

    return find(g, name_in(&at));
}

struct names spec_names(const struct grammar *g, uint64_t trait)
{
    struct names list;
    struct text t = text_in(list.text, sizeof list.text);

    for (size_t i = 0; g->names[i]; i++) {
        if ((g->names[i]->about.traits & trait) != trait)
            continue;
        text_add(&t, *list.text ? ", " : "");
        text_add(&t, g->names[i]->about.name);
    }
    return list;
}

static bool refuse_name(const struct grammar *g, struct span name, struct weir_error *error)
{
    return error_refuse(error, WEIR_ERROR_UNKNOWN_ALGORITHM, "there is no ", g->noun, " '",
                        quote(name).text, "'; there are ", spec_names(g, 0).text, NULL);
}

/* ---- reading ---- */

static bool refuse_parameter(const struct grammar *g, const struct named *of, struct span name,
                             struct weir_error *error)
{
    char list[160];
    struct text t = text_in(list, sizeof list);

    for (int i = 0; i < g->n; i++) {
        if (!(of->parameters & HAS(i)))
            continue;
        text_add(&t, *list ? ", " : "");
        text_add(&t, g->rows[i].about.name);
    }
    return error_refuse(error, WEIR_ERROR_UNKNOWN_PARAMETER, of->about.name, " has no parameter '",
                        quote(name).text, "'; it takes ", list, NULL);
}

int spec_row(const struct grammar *g, const struct named *of, struct span parameter)
{
    for (int i = 0; i < g->n; i++)
        if ((of->parameters & HAS(i)) && span_is(parameter, g->rows[i].about.name))
            return i;
    return -1;
}

static bool read_word(const struct grammar *g, struct span word, struct spec *s,
                      struct weir_error *error)
{
    struct span name, value;

    if (!split(word, &name, &value))
        return error_refuse(error, WEIR_ERROR_BAD_CONFIG, "'", quote(word).text,
                            "' is not of the form parameter=value, such as ", g->example, NULL);
    int i = spec_row(g, s->of, name);
    if (i < 0)
        return refuse_parameter(g, s->of, name, error);
    const struct weir_parameter *about = &g->rows[i].about;
    if (spec_has(s, i))
        return error_refuse(error, WEIR_ERROR_REPEATED_PARAMETER, about->name, " is given twice",
                            NULL);
    if (!parameter_read(&g->rows[i], value, s))
        return error_refuse(error, WEIR_ERROR_INVALID_VALUE, about->name, "=", quote(value).text,
                            ": invalid value; use ", about->takes, NULL);
    s->given |= HAS(i);
    return true;
}

bool spec_read(const struct grammar *g, const char *text, void *record, struct weir_error *error)
{
    struct spec *s = record;
    const char *at = text ? text : "";
    struct span name = name_in(&at);

    *s = (struct spec){.of = find(g, name)};
    if (!s->of)
        return refuse_name(g, name, error);
    g->begin(record);
    for (struct span word; (word = next_word(&at)).n;)
        if (!read_word(g, word, record, error))
            return false;
    return true;
}

/* ---- completing ---- */

enum weir_status spec_complete(const struct grammar *g, const char *text, void *record,
                               struct weir_error *error)
{
    if (!spec_read(g, text, record, error))
        return WEIR_BAD_CONFIG;
    uint64_t *seed = parameter_number(&g->rows[g->seed], record);
    if (!spec_has(record, g->seed) && getentropy(seed, sizeof *seed) != 0)
        return error_say(error, WEIR_ERROR_NO_MEMORY,
                         "the system provides no random seed; set seed=", NULL);
    return g->plan(record, error) ? WEIR_OK : WEIR_BAD_CONFIG;
}

void spec_divide(const struct grammar *g, void *record, uint64_t by)
{
    struct spec *s = record;

    for (int i = 0; i < g->n; i++) {
        const struct parameter_row *row = &g->rows[i];
        uint64_t *number = parameter_number(row, record);

        if (!(s->of->parameters & g->divided & HAS(i)) || *number == 0)
            continue;
        bool bytes = row->kind == A_SIZE && *number % 8 == 0;
        *number = bytes ? *number / 8 / by * 8 : *number / by;
        *number = *number < row->min ? row->min : *number;
        s->given |= HAS(i);
    }
}

void spec_multiply(const struct grammar *g, void *record, uint64_t by)
{
    const struct spec *s = record;

    for (int i = 0; i < g->n; i++) {
        const struct parameter_row *row = &g->rows[i];
        uint64_t *number = parameter_number(row, record);

        if (s->of->parameters & g->divided & HAS(i))
            *number = *number <= row->max / by ? *number * by : row->max;
    }
}

/* ---- writing ---- */

static bool is_kept(const struct grammar *g, const void *record, int i)
{
    const struct spec *s = record;
    const void *value = (const char *)record + g->rows[i].offset;

    return (s->of->parameters & ~g->wishes & HAS(i)) &&
           (!(g->if_set & HAS(i)) || *(const uint64_t *)value != 0);
}

static size_t write_parameters(const struct grammar *g, const void *record, uint32_t which,
                               char *buffer, size_t size)
{
    char full[WEIR_SPEC_MAX];
    struct text t = text_in(full, sizeof full);

    text_add(&t, ((const struct spec *)record)->of->about.name);
    for (int i = 0; i < g->n; i++) {
        if ((which & HAS(i)) && is_kept(g, record, i)) {
            text_add(&t, " ");
            parameter_write(&t, &g->rows[i], record);
        }
    }
    text_copy(buffer, size, full);
    return (size_t)(t.at - full);
}

size_t spec_write(const struct grammar *g, const void *record, char *buffer, size_t size)
{
    return write_parameters(g, record, UINT32_MAX, buffer, size);
}

size_t spec_describe(const struct grammar *g, const void *record, char *buffer, size_t size)
{
    uint32_t given = ((const struct spec *)record)->given;

    return write_parameters(g, record, ~g->chance | given, buffer, size);
}

bool spec_restore(const struct grammar *g, const char *text, void *record)
{
    char again[WEIR_SPEC_MAX];

    if (!spec_read(g, text, record, NULL) || !spec_has(record, g->seed) || !g->plan(record, NULL))
        return false;
    spec_write(g, record, again, sizeof again);
    return strcmp(text, again) == 0;
}

bool spec_differ(const struct grammar *g, const void *a, const void *b, char *of_a, char *of_b)
{
    const struct named *of = ((const struct spec *)a)->of;

    strcpy(of_a, of->about.name);
    strcpy(of_b, ((const struct spec *)b)->of->about.name);
    if (strcmp(of_a, of_b) != 0)
        return true;
    for (int i = 0; i < g->n; i++) {
        struct text ta = text_in(of_a, 64), tb = text_in(of_b, 64);

        if (!(of->parameters & ~g->wishes & ~g->ignored & HAS(i)))
            continue;
        parameter_write(&ta, &g->rows[i], a);
        parameter_write(&tb, &g->rows[i], b);
        if (strcmp(of_a, of_b) != 0)
            return true;
    }
    return false;
}

enum weir_error_code spec_mismatch(const char *of_a)
{
    return strncmp(of_a, "seed=", 5) == 0 || strncmp(of_a, "hash=", 5) == 0
               ? WEIR_ERROR_SEED_MISMATCH
               : WEIR_ERROR_SPEC_MISMATCH;
}

/* ---- one parameter of a text ---- */

/* The value of a parameter in a spec; empty if there is none. */
static struct span value_of(const char *spec, const char *parameter)
{
    struct span name, value;

    for (struct span word; (word = next_word(&spec)).n;)
        if (split(word, &name, &value) && span_is(name, parameter))
            return value;
    return (struct span){"", 0};
}

size_t weir_spec_get(const char *spec, const char *parameter, char *buffer, size_t size)
{
    struct span value = value_of(spec, parameter);

    if (size > 0) {
        struct text t = text_in(buffer, size);

        text_add_span(&t, value.s, value.n);
    }
    return value.n;
}

bool weir_spec_number(const char *spec, const char *parameter, uint64_t *number)
{
    struct span value = value_of(spec, parameter);
    size_t digits = 0;

    while (digits < value.n && value.s[digits] >= '0' && value.s[digits] <= '9')
        digits++;
    struct span unit = {value.s + digits, value.n - digits};
    bool bits = span_is(unit, "bit");
    if (!span_whole((struct span){value.s, digits}, number) ||
        !(unit.n == 0 || bits || span_is(unit, "ms")))
        return false;
    *number = bits ? *number / 8 + (*number % 8 != 0) : *number;
    return true;
}

bool weir_parse_size(const char *text, uint64_t *bytes)
{
    uint64_t bits;

    if (!span_size((struct span){text, strlen(text)}, &bits) || bits % 8)
        return false;
    *bytes = bits / 8;
    return true;
}
