/* verdict.c - see verdict.h. */
#include "verdict/verdict.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/json_text.h"
#include "cli/units.h"

void verdict_report_late(const struct tally *t)
{
    if (t->late)
        fprintf(stderr, "weir: %llu %s late, the latest by %s\n", (unsigned long long)t->late,
                t->late == 1 ? "record was" : "records were",
                show_duration((double)t->most_late / 1000).text);
}

void verdict_report(const struct verdict *v, const struct tally *t, enum stats_style style)
{
    json_t *all = style == STATS_JSON ? v->describe(v->context, t) : NULL;
    char *text = json_text(all, JSON_REAL_PRECISION(6));

    if (style == STATS_TEXT)
        v->report(v->context, t);
    if (text)
        fprintf(stderr, "%s\n", text);
    free(text);
    json_decref(all);
}
