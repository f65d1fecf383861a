/* claim.h - one writer per file.
 *
 * Two runs that go on from one state file would each save without what the
 * other has seen. So whoever means to replace a file claims it first, before
 * reading it. */
#ifndef WEIR_CLAIM_H
#define WEIR_CLAIM_H

#include <stdbool.h>

/* Claim a file, there or not. False after a sentence if another run has it.
 * Devices and pipes belong to all. */
bool claim(const char *path);

/* Give it back, before the process ends. */
void claim_end(void);

#endif
