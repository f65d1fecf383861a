/* whole_file.h - all bytes of a file, in memory. */
#ifndef WEIR_STATE_WHOLE_FILE_H
#define WEIR_STATE_WHOLE_FILE_H

#include <stddef.h>
#include <stdint.h>

/* To be freed; NULL after a message. */
uint8_t *whole_file(const char *path, size_t *size);

#endif
