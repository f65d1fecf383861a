/* help.c - weir help [COMMAND], and what `weir` alone says. */
#include <stdio.h>
#include <weir.h>

#include "cmd/commands.h"
#include "cli/messages.h"
#include "cli/print.h"

static void print_commands(void)
{
    printf("usage: weir COMMAND [OPTIONS] [FILE...]\n\n");
    print_wrapped("Have I seen this before? On streams without end, in memory that never grows.",
                  0);
    printf("\n");
    for (unsigned i = 0; command_at(i); i++) {
        printf("  %-9s ", command_at(i)->name);
        print_wrapped(command_at(i)->does, 12);
    }
    printf("\n"
           "  weir dedup access.log                    each line once\n"
           "  weir dedup --csv -k email users.csv      each address once\n"
           "  tail -f app.log | weir dedup -m 256M     for as long as you like\n\n"
           "'weir help COMMAND' lists the options of a command.\n");
}

/* For who has just installed it: what it is for, in lines that can be tried. */
void print_welcome(void)
{
    printf("weir %s: have I seen this before? On streams without end, in memory that\n"
           "never grows.\n\n"
           "  weir dedup access.log                    each line once\n"
           "  tail -f app.log | weir dedup -m 256M     for as long as you like\n"
           "  weir top access.log                      the lines that come most often\n"
           "  weir build -o bad.weir hosts.txt         a set of lines, as a small file\n"
           "  weir filter bad.weir -k 3 proxy.log      the records whose field 3 is in it\n"
           "  weir eval access.log --report out.html   which filter, how much memory\n\n"
           "Nothing at hand? A million lines, and how many of them are different:\n\n"
           "  weir gen uniform:n=1M,distinct=60%% | weir dedup --count-only\n\n"
           "usage: weir COMMAND [OPTIONS] [FILE...]\n"
           "'weir help' lists the commands, 'weir help COMMAND' its options.\n",
           weir_version());
}

int cmd_help(const struct options *o)
{
    if (o->operands == 0) {
        print_commands();
        return EXIT_FINE;
    }
    if (!command_find(o->operand[0]))
        return command_refuse(o->operand[0]);
    options_print(o->operand[0]);
    return EXIT_FINE;
}
