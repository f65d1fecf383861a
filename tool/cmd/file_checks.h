/* file_checks.h - checks of input files before and while a run reads them. */
#ifndef WEIR_CMD_FILE_CHECKS_H
#define WEIR_CMD_FILE_CHECKS_H

#include "cli/inputs.h"
#include "pipe/batch.h"

/* Reject files that are not records, recognized by their first bytes (databases, filter files,
 * archives), with the command to use instead. Pipes are checked when they are read. Returns false
 * after a message. files_are_distinct() is in commands.h. */
bool files_hold_records(const char *command, const struct inputs *inputs);

/* Keys such as 10.0.0.0/8 in a list: filters compare text, so such a key does not match the
 * addresses in it. They are counted while a list is read, and reported once. */
struct networks {
    uint64_t count, looked_at;
    const char *name; /* of the input, line and text of the first */
    uint64_t line;
    char text[64];
};

void networks_count(struct networks *n, const struct batch *b);
/* Prints nothing if there are none. fix: how addresses inside would match. */
void networks_report(const struct networks *n, const char *fix);

/* The same for a store that is a file of keys (keys:FILE or FILE): checks its first lines. */
void networks_report_store(const char *url);

#endif
