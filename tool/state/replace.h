/* replace.h - a file replaced in one step: at every moment it is complete, the old
 * one or the new. */
#ifndef WEIR_STATE_REPLACE_H
#define WEIR_STATE_REPLACE_H

#include <weir.h>

/* Can a file be saved here, and by us alone? Asked before the work, not after it.
 * False after a sentence on why not. */
bool replace_possible(const char *path);

/* Replace a file by what write gives to the sink. It keeps owner and mode. A
 * device or pipe is written to instead. False after a sentence; write says it itself where it
 * returns WEIR_BAD_DATA: what it writes from has failed. */
typedef enum weir_status (*writes_to_sink)(const void *what, weir_sink sink, void *into);
bool replace_file(const char *path, writes_to_sink write, const void *what);

/* The same for a text that need not outlive a crash and has no lock: not written to the disk
 * at once. False without a sentence; errno says why. */
bool replace_text(const char *path, const char *text, size_t size);

#endif
