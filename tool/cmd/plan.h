/* plan.h - weir plan, in its parts. */
#ifndef WEIR_CMD_PLAN_H
#define WEIR_CMD_PLAN_H

#define WEIR_UNSTABLE
#include <weir/plan.h>

#include "cmd/commands.h"

/* The stream of --stream, of which there is a model. False after a message. */
bool plan_stream(const struct options *o, struct weir_stream *s);

#define FAR_MORE 4 /* times the least memory: what needs more is not listed */

struct plan {
    const struct options *options;
    struct weir_stream stream;
    struct weir_plan_request wish;
    bool sizing;   /* the memory is what is asked for */
    bool windowed; /* or that for a window, */
    bool set;      /* or for a set of keys */
    struct weir_prediction *p;
    size_t n;
    size_t chosen; /* of one filter: its best settings */
};

/* What a key takes; NaN if none is kept. */
double plan_bits_per_key(const struct plan *p, const struct weir_prediction *one);

/* Bytes of the filter's name, where its spec begins. */
size_t plan_name_size(const struct weir_prediction *p);

/* Why the first is the first, in one message. */
void plan_say_why(const struct plan *p, char *text, size_t size);
void plan_print_words(const struct plan *p);

/* False after a message. */
bool plan_print_table(const struct plan *p);

/* weir plan --gap; the exit status. */
int plan_gap(const struct options *o);

/* weir plan --screen; the exit status. */
int plan_screen(const struct options *o);

#endif
