/* cmd_list.c - weir list: the filters and their knobs. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <weir.h>

#include "commands.h"
#include "say.h"

static void print_knobs(size_t i, bool explain)
{
    const struct weir_knob *knob;

    for (size_t j = 0; (knob = weir_about_knob(i, j)); j++) {
        if (explain)
            printf("    %-12s %s: %s\n", knob->name, knob->does, knob->takes);
        else
            printf("%s%s", j ? ", " : "    knobs: ", knob->name);
    }
    if (!explain)
        putchar('\n');
}

int cmd_list(const struct options *o)
{
    bool found = false;

    for (size_t i = 0; weir_about(i); i++) {
        if (o->operands && strcmp(o->operand[0], weir_about(i)->name) != 0)
            continue;
        printf("%s\n    %s\n", weir_about(i)->name, weir_about(i)->idea);
        print_knobs(i, o->operands > 0);
        found = true;
    }
    if (found && !o->operands && isatty(1))
        note("'weir list NAME' explains the knobs");
    return found ? EXIT_FINE
                 : fail("there is no filter '%s'; 'weir list' shows all", o->operand[0]);
}
