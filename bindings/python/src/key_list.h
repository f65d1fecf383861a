/* key_list.h - copies of keys, for calls that take them as bytes while the GIL is
 * released. */
#ifndef KEY_LIST_H
#define KEY_LIST_H

#include "key_reader.h"

struct key_list {
    struct weir_bytes *keys;
    size_t n, keys_room;
    char *bytes;
    size_t used, bytes_room;
};

void key_list_close(struct key_list *l);

/* Empty it, then take keys of a source, at most `most` and some megabytes of them: 1 if there
 * may be more, 0 if that was all, -1 with an exception; those before it are there. *done
 * counts keys of a buffer that were taken. */
int key_list_fill(struct key_list *l, struct key_source *s, size_t most, size_t *done);

#endif
