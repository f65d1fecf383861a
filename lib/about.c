/* about.c - filters, sketches and screens that are not open: which there are, what
 * a sentence comes to, what can be asked of what it opens. */
#include "filter/filter.h"
#include "screen/screen.h"
#include "sentence/error.h"
#include "sketch/sketch.h"

static const struct grammar *const grammars[] = {
    [WEIR_KIND_FILTER] = &filter_grammar,
    [WEIR_KIND_SKETCH] = &sketch_grammar,
    [WEIR_KIND_SCREEN] = &screen_grammar,
};

/* What a sentence of any kind is read into. */
union record {
    struct planned filter;
    struct sketch_config sketch;
    struct screen_config screen;
};

const struct weir_about *weir_listed(enum weir_kind kind, size_t i)
{
    return sentence_about(grammars[kind], i);
}

const struct weir_knob *weir_listed_knob(enum weir_kind kind, size_t i, size_t j)
{
    return sentence_about_knob(grammars[kind], i, j);
}

const struct weir_about *weir_find(enum weir_kind kind, const char *sentence)
{
    return sentence_find(grammars[kind], sentence);
}

const struct weir_knob *weir_find_knob(enum weir_kind kind, const char *sentence, const char *knob)
{
    return sentence_find_knob(grammars[kind], sentence, knob);
}

static enum weir_status hand_over(const struct grammar *g, const union record *r, char *buffer,
                                  size_t size, struct weir_error *error)
{
    if (sentence_tell(g, r, buffer, size) < size)
        return WEIR_OK;
    return error_say(error, WEIR_BAD_CONFIG, "the buffer is too small for the sentence; one of ",
                     "WEIR_SENTENCE bytes takes any", NULL);
}

enum weir_status weir_complete(enum weir_kind kind, const char *sentence, char *buffer, size_t size,
                               struct weir_error *error)
{
    union record r;
    enum weir_status status = sentence_complete(grammars[kind], sentence, &r, error);

    return status == WEIR_OK ? hand_over(grammars[kind], &r, buffer, size, error) : status;
}

enum weir_status weir_traits(enum weir_kind kind, const char *sentence, uint64_t *traits,
                             struct weir_error *error)
{
    union record r;
    enum weir_status status = sentence_complete(grammars[kind], sentence, &r, error);

    if (status == WEIR_OK)
        *traits = grammars[kind]->traits(&r);
    return status;
}

enum weir_status weir_divide(const char *sentence, uint32_t n, char *buffer, size_t size,
                             struct weir_error *error)
{
    const struct grammar *g = &filter_grammar;
    union record r;
    char count[24], least[24];
    struct text tc = text_in(count, sizeof count), tl = text_in(least, sizeof least);
    enum weir_status status = sentence_complete(g, sentence, &r, error);

    if (status != WEIR_OK)
        return status;
    if (sentence_divide(g, &r, n))
        return hand_over(g, &r, buffer, size, error);
    text_add_u64(&tc, n);
    text_add_u64(&tl, n * UINT64_C(64));
    return error_say(error, WEIR_BAD_CONFIG, count,
                     " shards of at least 64 bytes do not fit into the memory; give it ", least,
                     " bytes or more, or fewer threads or shards", NULL);
}

/* ---- by room ---- */

const struct weir_about *weir_about(size_t i)
{
    return weir_listed(WEIR_KIND_FILTER, i);
}

const struct weir_knob *weir_about_knob(size_t i, size_t j)
{
    return weir_listed_knob(WEIR_KIND_FILTER, i, j);
}

const struct weir_about *weir_sketch_about(size_t i)
{
    return weir_listed(WEIR_KIND_SKETCH, i);
}

const struct weir_knob *weir_sketch_about_knob(size_t i, size_t j)
{
    return weir_listed_knob(WEIR_KIND_SKETCH, i, j);
}

const struct weir_about *weir_screen_about(size_t i)
{
    return weir_listed(WEIR_KIND_SCREEN, i);
}

const struct weir_knob *weir_screen_about_knob(size_t i, size_t j)
{
    return weir_listed_knob(WEIR_KIND_SCREEN, i, j);
}
