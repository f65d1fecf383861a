/* records.c - see records.h. */
#include "cli/records.h"

#include <stdio.h>

struct records records_of_keys(const struct records *r)
{
    return (struct records){.plain = r->plain,
                            .nul = r->nul,
                            .ignore_case = r->ignore_case,
                            .ignore_space = r->ignore_space,
                            .max_record = r->max_record};
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
    snprintf(text, size, "%s%s%s%s%s%s%s%s%s%s%s", names[r->format], number_keys(r),
             r->nul ? " -z" : "", delimiter, r->header ? " --header" : "", r->key ? " -k " : "",
             r->key ? r->key : "", r->importance ? " -i " : "", r->importance ? r->importance : "",
             r->ignore_case ? " --ignore-case" : "", r->ignore_space ? " --ignore-space" : "");
}
