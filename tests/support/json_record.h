/* json_record.h - a record for the JSON picker of the tool, and no byte more. */
#ifndef WEIR_TESTS_JSON_RECORD_H
#define WEIR_TESTS_JSON_RECORD_H

#include "support/support.h"

#include <stdlib.h>
#include <string.h>

/* A record in memory of exactly the size that is promised to be readable, so that
 * the sanitizer sees every byte too many. */
static inline char *record_of(const char *text, size_t size, char delimiter)
{
    char *record = malloc(size + 64);

    assert_non_null(record);
    memcpy(record, text, size);
    record[size] = delimiter;
    memset(record + size + 1, '"', 63); /* what would be taken for more of it */
    return record;
}

#endif
