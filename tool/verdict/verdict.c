/* verdict.c - see verdict.h. */
#include "verdict/verdict.h"

#include <stdio.h>
#include <stdlib.h>

void verdict_report(const struct verdict *v, const struct tally *t, enum stats_style style)
{
    json_t *all = style == STATS_JSON ? v->describe(v->context, t) : NULL;
    char *text = all ? json_dumps(all, JSON_REAL_PRECISION(6)) : NULL;

    if (style == STATS_TEXT)
        v->report(v->context, t);
    if (text)
        fprintf(stderr, "%s\n", text);
    free(text);
    json_decref(all);
}
