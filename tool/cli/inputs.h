/* inputs.h - the files on the command line; "-" is standard input. */
#ifndef WEIR_CLI_INPUTS_H
#define WEIR_CLI_INPUTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct inputs {
    char *const *file;
    uint32_t count; /* none: standard input */
};

/* The name to use in messages. */
const char *input_name(const char *file);

/* Open it to look at what it is, before it is read: a regular file, or standard input; else -1. A
 * pipe is not opened twice: who waits to write into it would begin at the first time, and find
 * nobody who reads. */
int input_look(const char *file);
void input_looked(int fd);

/* Is one of them standard input, and that a terminal? */
bool inputs_are_typed(const struct inputs *in);

/* Bytes of all files together, 0 if not all are regular ones. */
uint64_t inputs_size(char *const *files, uint32_t count);

#endif
