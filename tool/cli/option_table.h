/* option_table.h - every option: how it is spelt, who takes it, what help says of
 * it, and where its value goes. */
#ifndef WEIR_CLI_OPTION_TABLE_H
#define WEIR_CLI_OPTION_TABLE_H

#include "cli/options.h"

struct option_row {
    const char *name;
    char letter;
    const char *takes; /* NULL: a switch */
    unsigned who;      /* TAKES_... of commands.h */
    const char *help;
    bool (*read)(struct options *o, const char *value); /* NULL: the value goes to at, as a */
    bool is_word;  /* number of the word in takes, "stop|pass|drop", */
    uint32_t most; /* number from 1 to so many, if not 0, or as text; or it is a switch */
    size_t at;
    const char *fits; /* what takes does not tell, where a value does not fit */
    unsigned without; /* commands that take these have a row of their own */
    bool repeats;     /* may be given again with another value: read() joins or collects them */
};

#define OPTION_ROWS_MOST 128

extern const struct option_row option_rows[];
extern const int option_count; /* of them */

#endif
