/* intake.h - the short pipe: read, pick, take. For commands that count records
 * instead of passing them. */
#ifndef WEIR_PIPE_INTAKE_H
#define WEIR_PIPE_INTAKE_H

#include "pipe/batch.h"
#include "pipe/inputs.h"
#include "cli/records.h"

struct intake {
    const char *command;
    struct inputs inputs;
    const struct records *records;
    bool quiet;
    void (*take)(void *context, struct batch *b); /* each batch, in order; may fail it */
    void (*look)(void *context);                  /* after each batch, and while waiting; or NULL */
    void *context;
};

/* Run it; the exit status, after a sentence if it is EXIT_ERROR. What came
 * before a failure has been taken. */
int intake_run(const struct intake *in);

#endif
