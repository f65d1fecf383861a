/* refuse_files.h - files that hold no records, known by their first bytes: refused before anything
 * is done, with the call that is meant. What comes through a pipe is refused when it is read. */
#ifndef WEIR_CMD_REFUSE_FILES_H
#define WEIR_CMD_REFUSE_FILES_H

#include "cli/inputs.h"

/* Are these files to be read as records? False after a message. */
bool files_hold_records(const char *command, const struct inputs *inputs);

#endif
