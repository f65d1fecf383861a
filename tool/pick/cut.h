/* cut.h - rewrite a record without some ranges of its key. */
#ifndef WEIR_PICK_CUT_H
#define WEIR_PICK_CUT_H

#include "pick/json.h"

struct cut_range {
    uint32_t begin, end; /* bytes of the key */
};

/* Write record i of a batch without n ranges of its key, in ascending order. field: the pointer of
 * the key, a string; NULL: the key is the record. All other bytes stay as they are, including the
 * escapes of strings. The result is in the arena, without delimiter. Returns false if memory is
 * exhausted. */
bool record_cut(struct batch *b, uint32_t i, const struct json_paths *field,
                const struct cut_range *range, uint32_t n, struct weir_bytes *out);

#endif
