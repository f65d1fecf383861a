/* json_record.h - a JSON record in memory without a byte to spare. */
#ifndef WEIR_TESTS_JSON_RECORD_H
#define WEIR_TESTS_JSON_RECORD_H

#include "support/support.h"

#include <stdlib.h>
#include <string.h>

/* A record in memory of exactly the size that the JSON scanner may read, so that the sanitizer
 * detects every access beyond it. */
static inline char *record_of(const char *text, size_t size, char delimiter)
{
    char *record = malloc(size + 64);

    assert_non_null(record);
    memcpy(record, text, size);
    record[size] = delimiter;
    memset(record + size + 1, '"', 63); /* bytes that would continue the record */
    return record;
}

#endif
