/* spill.h - storage for the keys of a fixed filter while it is built: memory first, then an unnamed
 * file in TMPDIR, which disappears with the process. */
#ifndef WEIR_STATE_SPILL_H
#define WEIR_STATE_SPILL_H

#include <weir/build.h>

#define SPILL_KEPT ((uint64_t)32 << 20) /* bytes of memory for all shards */

struct spill {
    uint8_t *memory;
    uint64_t kept, room; /* max bytes in memory; bytes allocated */
    int fd;              /* -1: no file yet */
    int error;           /* errno, if something failed */
    bool opening;        /* creating the file failed */
};

/* Open with a limit of bytes in memory. */
void spill_open(struct spill *a, uint64_t kept);
void spill_close(struct spill *a);

/* The callbacks for the library. */
struct weir_spill spill_room(struct spill *a);

/* The message of a failure. */
const char *spill_failure(const struct spill *a);

#endif
