/* replace.h - a file replaced in one step: at every moment it is complete, the old
 * one or the new. */
#ifndef WEIR_STATE_REPLACE_H
#define WEIR_STATE_REPLACE_H

#include <weir.h>

/* Can a file be saved here, and by us alone? Asked before the work, not after it.
 * False after a message on why not. */
bool replace_possible(const char *path);

/* May what is there be replaced? A regular file that is not empty must begin as ours do, and have
 * `within` (or NULL) in its first 1024 bytes. False after a message that calls it not `kind`. */
bool replace_spares(const char *path, const char *begin, const char *within, const char *kind);
#define REPLACES_FILTER "WEIR", NULL, "a filter file"
#define REPLACES_REPORT "<!DOCTYPE html>", "<title>weir: ", "a report of weir"
#define REPLACES_METRICS "# HELP weir_", NULL, "metrics of weir"

/* Replace a file by what write gives to the sink. It keeps owner and mode. A
 * device or pipe is written to instead. False after a message; write says it itself where it
 * returns WEIR_BAD_DATA: what it writes from has failed. */
typedef enum weir_status (*writes_to_sink)(const void *what, weir_sink sink, void *into);
bool replace_file(const char *path, writes_to_sink write, const void *what);

/* The same for a text that need not outlive a crash and has no lock: not written to the disk
 * at once. False without a spec; errno says why. */
bool replace_text(const char *path, const char *text, size_t size);

#endif
