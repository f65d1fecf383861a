/* lock.h - one writer per file.
 *
 * Two runs that go on from one state file would each save without what the
 * other has seen. So whoever means to replace a file claims it first, before
 * reading it. */
#ifndef WEIR_STATE_LOCK_H
#define WEIR_STATE_LOCK_H

#include <stdbool.h>

/* Claim a file, there or not. False after a message if another run has it, or
 * if it is no longer the file that was claimed before. Devices and pipes belong
 * to all. A run claims one file. */
bool lock_file(const char *path);

/* The claimed file is replaced by another: hold that before it gets the name,
 * and let go of the old one after. lock_move takes fd over, and closes it. */
void lock_next(int fd);
void lock_move(int fd);

/* Give it back, before the process ends. */
void lock_end(void);

#endif
