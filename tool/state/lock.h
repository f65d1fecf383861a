/* lock.h - one writer per file.
 *
 * Two runs that continue from one state file would each save without the keys of the other. A run
 * therefore locks a file that it will replace, before reading it. */
#ifndef WEIR_STATE_LOCK_H
#define WEIR_STATE_LOCK_H

#include <stdbool.h>

/* Lock a file, which may not exist yet. False after a message if another run has locked it, or if
 * the file was replaced since an earlier call. Devices and pipes are not locked. A run locks one
 * file. */
bool lock_file(const char *path);

/* Replace the locked file: lock the new file before it gets the name, and release the old one
 * after. lock_move() takes ownership of fd. */
void lock_next(int fd);
void lock_move(int fd);

/* Release the lock before the process ends. */
void lock_end(void);

#endif
