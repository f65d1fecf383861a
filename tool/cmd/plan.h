/* plan.h - weir plan, in its parts. */
#ifndef WEIR_CMD_PLAN_H
#define WEIR_CMD_PLAN_H

#include <weir/plan.h>

#include "cmd/commands.h"

/* The stream of --stream, of which there is a model. False after a sentence. */
bool plan_stream(const struct options *o, struct weir_stream *s);

/* weir plan --gap; the exit status. */
int plan_gap(const struct options *o);

/* weir plan --screen; the exit status. */
int plan_screen(const struct options *o);

#endif
