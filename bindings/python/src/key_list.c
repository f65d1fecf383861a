/* key_list.c - keys one after the other in one block. Until all are there the block may
 * move, so places are kept as offsets first. */
#include "key_list.h"

#include <stdlib.h>
#include <string.h>

#define BYTES_MOST ((size_t)8 << 20) /* guessed: bounds the copy, far more than keys take */

void key_list_close(struct key_list *l)
{
    free(l->keys);
    free(l->bytes);
    *l = (struct key_list){NULL};
}

static bool grow(void **block, size_t *room, size_t wanted, size_t size)
{
    size_t n = *room ? *room : 64;
    void *grown;

    while (n < wanted)
        n *= 2;
    if (*room >= wanted && *block)
        return true;
    grown = realloc(*block, n * size);
    if (!grown) {
        PyErr_NoMemory();
        return false;
    }
    *block = grown;
    *room = n;
    return true;
}

/* data becomes the offset. */
static bool add(struct key_list *l, struct weir_bytes key)
{
    void *keys = l->keys, *bytes = l->bytes;
    bool ok = grow(&keys, &l->keys_room, l->n + 1, sizeof *l->keys);

    l->keys = keys;
    ok = ok && grow(&bytes, &l->bytes_room, l->used + key.size + 1, 1);
    l->bytes = bytes;
    if (!ok)
        return false;
    memcpy(l->bytes + l->used, key.data, key.size);
    l->keys[l->n++] = (struct weir_bytes){(const void *)(uintptr_t)l->used, key.size};
    l->used += key.size;
    return true;
}

static int add_next(struct key_list *l, struct key_source *s, size_t *done)
{
    PyObject *object = NULL;
    struct key_view key;
    int got;

    if (s->is_fixed) {
        if (*done == s->n)
            return 0;
        return add(l, key_source_fixed(s, (*done)++)) ? 1 : -1;
    }
    got = key_source_next(s, &object);
    if (got > 0 && !key_read(object, &s->room, &key)) {
        got = -1;
    } else if (got > 0) {
        got = add(l, key.bytes) ? 1 : -1;
        key_release(&key);
    }
    Py_XDECREF(object);
    return got;
}

int key_list_fill(struct key_list *l, struct key_source *s, size_t most, size_t *done)
{
    int got = 1;

    l->n = l->used = 0;
    while (l->n < most && l->used < BYTES_MOST && got > 0)
        got = add_next(l, s, done);
    for (size_t i = 0; i < l->n; i++)
        l->keys[i].data = l->bytes + (uintptr_t)l->keys[i].data;
    return got;
}
