/* cmd_list.c - weir list: the filters and their knobs. */
#include <stdio.h>
#include <string.h>
#include <weir.h>

#include "commands.h"
#include "say.h"

static void print_filter(size_t i)
{
    const struct weir_knob *knob;

    printf("%s\n    %s\n", weir_about(i)->name, weir_about(i)->idea);
    for (size_t j = 0; (knob = weir_about_knob(i, j)); j++)
        printf("    %-12s %s: %s\n", knob->name, knob->does, knob->takes);
}

int cmd_list(const struct options *o)
{
    bool found = false;

    for (size_t i = 0; weir_about(i); i++) {
        if (o->operands && strcmp(o->operand[0], weir_about(i)->name) != 0)
            continue;
        print_filter(i);
        found = true;
    }
    return found ? EXIT_FINE
                 : fail("there is no filter '%s'; 'weir list' shows all", o->operand[0]);
}
