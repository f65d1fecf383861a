/* plan.h - what the files of weir plan share. */
#ifndef WEIR_CMD_PLAN_H
#define WEIR_CMD_PLAN_H

#define WEIR_UNSTABLE
#include <weir/plan.h>

#include "cmd/commands.h"

/* Read --stream. False after a message, also if there is no model. */
bool plan_stream(const struct options *o, struct weir_stream *s);

#define FAR_MORE 4 /* times the least memory; filters that need more are not listed */

struct plan {
    const struct options *options;
    struct weir_stream stream;
    struct weir_plan_request wish;
    bool sizing;   /* find the memory for the limits */
    bool windowed; /* or for a window, */
    bool set;      /* or for a set of keys */
    struct weir_prediction *p;
    size_t n;
    size_t chosen; /* index of the best settings of one filter */
};

/* Does it keep both limits? */
bool plan_meets(const struct plan *p, const struct weir_prediction *one);

/* The explanation of the table. */
void plan_print_words(const struct plan *p);

/* False after a message. */
bool plan_print_table(const struct plan *p);

/* weir plan --gap; the exit status. */
int plan_gap(const struct options *o);

/* weir plan -S ttl=; the exit status. */
int plan_ttl(const struct options *o);

/* weir plan --screen; the exit status. */
int plan_screen(const struct options *o);

#endif
