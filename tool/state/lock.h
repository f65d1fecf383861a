/* lock.h - one writer per file.
 *
 * Two runs that go on from one state file would each save without what the
 * other has seen. So whoever means to replace a file claims it first, before
 * reading it. */
#ifndef WEIR_STATE_LOCK_H
#define WEIR_STATE_LOCK_H

#include <stdbool.h>

/* Claim a file, there or not. False after a sentence if another run has it.
 * Devices and pipes belong to all. */
bool lock_file(const char *path);

/* Give it back, before the process ends. */
void lock_end(void);

#endif
