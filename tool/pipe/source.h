/* source.h - files as a source: records are read, and their keys picked. */
#ifndef WEIR_PIPE_SOURCE_H
#define WEIR_PIPE_SOURCE_H

#include "pipe/pick.h"
#include "pipe/pipe.h"
#include "pipe/time_text.h"

struct file_source {
    struct reader reader;
    struct picker picker;
    bool refused_header; /* it lacks a column that is asked for */

    const struct event_time *time; /* of records that have one, or NULL: */
    struct time_format format;
    bool formed; /* its form is known */
    bool quiet;  /* it is not told */
    struct event_clock clock;
    struct look_behind behind;
};

/* quiet: no word about reading from a terminal, for which command is named. False
 * after a message. */
bool source_open(struct file_source *s, const struct records *r, struct inputs inputs,
                 const char *command, bool quiet);
void source_close(struct file_source *s);

/* Come back now and then while no input does. */
void source_hurry(struct file_source *s);

/* Where records have a time: the clock is this already (NO_TIME: there is none yet); no
 * record waits for others if at_once. */
void source_set_clock(struct file_source *s, uint64_t now, bool at_once);
struct event_clock *source_clock(struct file_source *s); /* NULL: they have none */

struct source source_of_files(struct file_source *s);

#endif
