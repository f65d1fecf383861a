/* hand_out.h - a struct that may grow, into a caller's of another version: as much
 * as there is room for, and zeros for what this version does not know. */
#ifndef WEIR_BASE_HAND_OUT_H
#define WEIR_BASE_HAND_OUT_H

#include <string.h>

static inline void hand_out(void *to, size_t room, const void *from, size_t size)
{
    memcpy(to, from, size < room ? size : room);
    if (room > size)
        memset((char *)to + size, 0, room - size);
}

#endif
