/* ask.h - weir ask of one filter, and of many. */
#ifndef WEIR_CMD_ASK_H
#define WEIR_CMD_ASK_H

#include "cmd/run.h"

/* Are the files of keys there, from this operand on? A key on the command line is the
 * likeliest mistake. False after a message. */
bool ask_files_there(const struct options *o, int from);

/* Print each record of these files with its answer; the exit status. */
int ask_run(const struct options *o, int from, struct verdict verdict);

/* --which and --any. */
int ask_many(const struct options *o);

#endif
