/* spill.h - room for keys on their way into a fixed filter: some memory first, then a file
 * without a name in TMPDIR, which is gone with the process, however that ends. */
#ifndef WEIR_STATE_SPILL_H
#define WEIR_STATE_SPILL_H

#include <weir/build.h>

#define SPILL_KEPT ((uint64_t)32 << 20) /* bytes of memory, of all shards */

struct spill {
    uint8_t *memory;
    uint64_t kept, room; /* bytes that go into memory at most, and those it has room for */
    int fd;              /* -1 before the file is needed */
    int error;           /* errno, if something failed */
    bool opening;        /* that was the file itself */
};

/* A room that keeps so many bytes in memory. */
void spill_open(struct spill *a, uint64_t kept);
void spill_close(struct spill *a);

/* As the library takes it. */
struct weir_spill spill_room(struct spill *a);

/* Why it failed, for a person. */
const char *spill_failure(const struct spill *a);

#endif
