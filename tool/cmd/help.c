/* help.c - weir help [COMMAND], and what `weir` alone says. */
#include <stdio.h>

#include "cmd/commands.h"
#include "cli/messages.h"

static void print_commands(void)
{
    printf("usage: weir COMMAND [OPTIONS] [FILE...]\n\n"
           "Have I seen this before? On streams without end, in memory that never grows.\n\n");
    for (unsigned i = 0; command_at(i); i++)
        printf("  %-9s %s\n", command_at(i)->name, command_at(i)->does);
    printf("\n"
           "  weir dedup access.log                    each line once\n"
           "  weir dedup --csv -k email users.csv      each address once\n"
           "  tail -f app.log | weir dedup -m 256M     for as long as you like\n\n"
           "'weir help COMMAND' lists the options of a command.\n");
}

int cmd_help(const struct options *o)
{
    if (o->operands == 0) {
        print_commands();
        return EXIT_FINE;
    }
    if (!command_find(o->operand[0]))
        return fail("there is no command '%s'; 'weir help' lists them", o->operand[0]);
    options_print(o->operand[0]);
    return EXIT_FINE;
}
