/* source.h - files as a source: records are read, and their keys picked. */
#ifndef WEIR_PIPE_SOURCE_H
#define WEIR_PIPE_SOURCE_H

#include "pick/pick.h"
#include "pipe/pipe.h"
#include "pick/time_text.h"

struct file_source {
    struct reader reader;
    struct picker picker;
    bool refused_header; /* it lacks a requested column */

    const struct event_time *time; /* the columns of records; NULL: they have none */
    struct time_format format;
    bool formed; /* the format is known */
    bool quiet;  /* no note about it */
    struct event_clock clock;
    struct look_behind behind;
};

/* quiet: no note about reading from a terminal; it would name the command. Returns false after a
 * message. */
bool source_open(struct file_source *s, const struct records *r, struct inputs inputs,
                 const char *command, bool quiet);
void source_close(struct file_source *s);

/* Return regularly while no input arrives. */
void source_hurry(struct file_source *s);

/* If records have a time: set the clock (NO_TIME: not known yet). at_once: no record waits for
 * later ones. */
void source_set_clock(struct file_source *s, uint64_t now, bool at_once);
struct event_clock *source_clock(struct file_source *s); /* NULL: they have none */

struct source source_of_files(struct file_source *s);

#endif
