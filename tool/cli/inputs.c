/* inputs.c - see inputs.h. */
#include "cli/inputs.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *input_name(const char *file)
{
    return strcmp(file, "-") == 0 ? "standard input" : file;
}

int input_look(const char *file)
{
    struct stat st;

    if (strcmp(file, "-") == 0)
        return 0;
    if (stat(file, &st) != 0 || !S_ISREG(st.st_mode))
        return -1;
    return open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

void input_looked(int fd)
{
    if (fd > 0)
        close(fd);
}

bool inputs_are_typed(const struct inputs *in)
{
    bool standard = in->count == 0;

    for (uint32_t i = 0; i < in->count && !standard; i++)
        standard = strcmp(in->file[i], "-") == 0;
    return standard && isatty(0);
}

uint64_t inputs_size(char *const *files, uint32_t count)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct stat st;
        int failed = strcmp(files[i], "-") == 0 ? fstat(0, &st) : stat(files[i], &st);

        if (failed || !S_ISREG(st.st_mode))
            return 0;
        total += (uint64_t)st.st_size;
    }
    return total;
}
