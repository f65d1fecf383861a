/* records.c - see records.h. */
#include "cli/records.h"

#include <stdio.h>
#include <string.h>

static size_t count_fields(const struct records *r)
{
    size_t n = 1;

    for (const char *c = r->key ? r->key : ""; *c; c++)
        n += *c == ',';
    return n;
}

bool records_have_fields(const struct records *r)
{
    return count_fields(r) > 1;
}

/* "1,2,3" for so many fields; more than there are is refused elsewhere. */
static const char *all_fields(size_t n)
{
    static char text[64];
    size_t used = 0;

    for (size_t i = 1; i <= n && used + 4 < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, i > 1 ? ",%zu" : "%zu", i);
    return text;
}

bool records_skip_missing(const struct records *r)
{
    return r->missing == MISSING_SKIPS || (r->missing == MISSING_IS_MALFORMED && r->skip);
}

struct records records_of_keys(const struct records *r)
{
    struct records keys = {.plain = r->plain,
                           .nul = r->nul,
                           .ignore_case = r->ignore_case,
                           .ignore_space = r->ignore_space,
                           .keep_cr = r->keep_cr,
                           .max_record = r->max_record};

    if (records_have_fields(r)) {
        keys.format = FORMAT_TSV;
        keys.delimiter = '\t';
        keys.key = all_fields(count_fields(r));
    }
    return keys;
}

void records_describe_keys(const struct records *r, char *text, size_t size)
{
    char fields[32] = "";

    if (records_have_fields(r))
        snprintf(fields, sizeof fields, " %zu fields", count_fields(r));
    snprintf(text, size, "%s%s%s%s", fields, r->ignore_case ? " --ignore-case" : "",
             r->ignore_space ? " --ignore-space" : "", r->keep_cr && !r->nul ? " --keep-cr" : "");
    memmove(text, text + (*text == ' '), strlen(text + (*text == ' ')) + 1);
}

/* Once a number was a key by its value, now it is one by its text. */
static const char *number_keys(const struct records *r)
{
    return r->format == FORMAT_JSONL && r->key ? " (numbers as written)" : "";
}

void records_describe(const struct records *r, char *text, size_t size)
{
    static const char *const names[] = {"lines", "--csv", "--tsv", "--jsonl", "lines"};
    char delimiter[8] = "";

    if (r->format == FORMAT_DELIMITED || (r->format == FORMAT_CSV && r->delimiter != ','))
        snprintf(delimiter, sizeof delimiter, " -d %c", r->delimiter);
    snprintf(text, size, "%s%s%s%s%s%s%s%s%s%s%s%s%s%s", names[r->format], number_keys(r),
             r->nul ? " -z" : "", delimiter, r->header ? " --header" : "", r->key ? " -k " : "",
             r->key ? r->key : "", r->importance ? " -i " : "", r->importance ? r->importance : "",
             r->time.field ? " --time " : "", r->time.field ? r->time.field : "",
             r->ignore_case ? " --ignore-case" : "", r->ignore_space ? " --ignore-space" : "",
             r->keep_cr && !r->nul ? " --keep-cr" : "");
}
