/* slot.c - see slot.h. CRC-16 as of XMODEM (polynomial 0x1021, from 0), which is what Redis and
 * Valkey cluster take; bit by bit, since it is done once for each key of a run. */
#include "slot.h"

#include <string.h>

static uint32_t crc16(const char *bytes, size_t size)
{
    uint32_t crc = 0;

    for (size_t i = 0; i < size; i++) {
        crc ^= (uint32_t)(unsigned char)bytes[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1;
    }
    return crc & 0xffff;
}

uint32_t slot_of(const char *key, size_t size)
{
    const char *open = memchr(key, '{', size);
    const char *close = open ? memchr(open, '}', size - (size_t)(open - key)) : NULL;

    if (close && close > open + 1)
        return crc16(open + 1, (size_t)(close - open) - 1) % SLOTS;
    return crc16(key, size) % SLOTS;
}
