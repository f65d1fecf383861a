/* whole_file.c - see whole_file.h. */
#include "state/whole_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"

/* Twice as much room; NULL if there is none, and the old is freed. */
static uint8_t *grow(uint8_t *data, size_t *room)
{
    uint8_t *more = *room <= SIZE_MAX / 4 ? realloc(data, 2 * *room) : NULL;

    if (!more)
        free(data);
    *room *= 2;
    return more;
}

static uint8_t *read_all(FILE *file, size_t *size)
{
    size_t room = 1 << 16, n;
    uint8_t *data = malloc(room);

    *size = 0;
    while (data && (n = fread(data + *size, 1, room - *size, file)) > 0) {
        *size += n;
        if (*size == room)
            data = grow(data, &room);
    }
    return data;
}

uint8_t *whole_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = file ? read_all(file, size) : NULL;
    bool failed = data && ferror(file);

    if (!file || failed)
        fail("cannot read %s: %s", path, strerror(errno));
    else if (!data)
        fail("cannot read %s: memory is short", path);
    if (failed)
        free(data);
    if (file)
        fclose(file);
    return failed ? NULL : data;
}
