/* no_chance.c - seeds that the library would choose are the same in each run: what was found once
 * is found again. It stands before the C library's own. */
#include <string.h>
#include <unistd.h>

__attribute__((visibility("default"))) int getentropy(void *bytes, size_t size)
{
    memset(bytes, 1, size);
    return 0;
}
