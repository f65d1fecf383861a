/* unpack.h - a compressed file, read as what was compressed: from a regular file or a pipe, as
 * much as is there, in memory that does not depend on how large it becomes. */
#ifndef WEIR_UNPACK_UNPACK_H
#define WEIR_UNPACK_UNPACK_H

#include <sys/types.h>

#include "unpack/magic.h"

#define UNPACK_BLOCK                                                                               \
    ((size_t)128 << 10) /* bytes of one read(), and of one piece that is handed on */

struct unpack;

/* Of a descriptor, whose first bytes have been read already (UNPACK_BLOCK at most). waits: it is
 * no regular file, reading may take for ever. On a thread of its own, if wanted and this process
 * may use more than one processor. NULL if memory is short. */
struct unpack *unpack_open(int fd, bool waits, enum file_kind kind, const void *head, size_t size,
                           bool thread);
void unpack_close(struct unpack *u);

/* The next bytes; how many, or */
#define UNPACK_END 0
#define UNPACK_FAILED (-1) /* unpack_failure() says why */
#define UNPACK_WAIT (-2)   /* there are none yet: when unpack_waits_for() can be read, try again */
ssize_t unpack_read(struct unpack *u, void *to, size_t most);
int unpack_waits_for(const struct unpack *u);

/* What is wrong, behind the name of the file: "is cut short: ..." */
const char *unpack_failure(const struct unpack *u);

/* errno if reading or memory failed; 0 if the data are damaged or end too early. */
int unpack_error(const struct unpack *u);

#endif
