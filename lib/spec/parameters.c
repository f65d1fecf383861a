/* parameters.c - see parameters.h. */
#include "spec/parameters.h"

const char *const parameter_hashes[] = {"xxh3", "sip", NULL};

uint64_t *parameter_number(const struct parameter_row *row, void *record)
{
    return (uint64_t *)(void *)((char *)record + row->offset);
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

static bool read_word(const struct parameter_row *row, struct span text, uint64_t *out)
{
    for (*out = 0; row->words[*out]; ++*out)
        if (span_is(text, row->words[*out]))
            return true;
    return false;
}

static bool read_number(const struct parameter_row *row, struct span text, uint64_t *out)
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

bool parameter_read(const struct parameter_row *row, struct span text, void *record)
{
    void *value = (char *)record + row->offset;

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

/* ---- writing ---- */

void parameter_write(struct text *t, const struct parameter_row *row, const void *record)
{
    const void *at = (const char *)record + row->offset;
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
