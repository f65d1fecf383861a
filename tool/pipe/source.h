/* source.h - files as a source: records are read, and their keys picked. */
#ifndef WEIR_PIPE_SOURCE_H
#define WEIR_PIPE_SOURCE_H

#include "pipe/pick.h"
#include "pipe/pipe.h"

struct file_source {
    struct reader reader;
    struct picker picker;
    bool refused_header; /* it lacks a column that is asked for */
};

/* quiet: no word about reading from a terminal, for which command is named. False
 * after a sentence. */
bool source_open(struct file_source *s, const struct records *r, struct inputs inputs,
                 const char *command, bool quiet);
void source_close(struct file_source *s);

/* Come back now and then while no input does. */
void source_hurry(struct file_source *s);

struct source source_of_files(struct file_source *s);

#endif
