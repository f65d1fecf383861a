/* aside.h - room for keys on their way into a fixed filter: some memory first, then a file
 * without a name in TMPDIR, which is gone with the process, however that ends. */
#ifndef WEIR_STATE_ASIDE_H
#define WEIR_STATE_ASIDE_H

#include <weir/build.h>

struct aside {
    uint8_t *memory;
    uint64_t kept, room; /* bytes that go into memory at most, and those it has room for */
    int fd;              /* -1 before the file is needed */
    int error;           /* errno, if something failed */
    bool opening;        /* that was the file itself */
};

/* A room that keeps so many bytes in memory. */
void aside_open(struct aside *a, uint64_t kept);
void aside_close(struct aside *a);

/* As the library takes it. */
struct weir_aside aside_room(struct aside *a);

/* Why it failed, for a person. */
const char *aside_failure(const struct aside *a);

#endif
