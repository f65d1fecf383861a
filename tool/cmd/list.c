/* list.c - weir list: the filters, the sketches and their knobs. Names of
 * filters stand at the start of a line, those of sketches behind two blanks:
 * scripts can tell which -a of which command takes them. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cli/messages.h"

static const char *indent_of(enum weir_kind kind)
{
    return kind == WEIR_KIND_FILTER ? "" : "  ";
}

static void print_knobs(enum weir_kind kind, size_t i, bool explain)
{
    const char *indent = indent_of(kind);
    const struct weir_knob *knob;

    if (!explain)
        printf("%s    knobs: ", indent);
    for (size_t j = 0; (knob = weir_listed_knob(kind, i, j)); j++) {
        if (explain)
            printf("%s    %-12s %s: %s\n", indent, knob->name, knob->does, knob->takes);
        else
            printf("%s%s", j ? ", " : "", knob->name);
    }
    if (!explain)
        putchar('\n');
}

/* All, or the one of that name; whether there was any. */
static bool print_kind(enum weir_kind kind, const char *name)
{
    const char *indent = indent_of(kind);
    const struct weir_about *about;
    bool found = false;

    for (size_t i = 0; (about = weir_listed(kind, i)); i++) {
        if (name && strcmp(name, about->name) != 0)
            continue;
        printf("%s%s\n%s    %s\n", indent, about->name, indent, about->idea);
        print_knobs(kind, i, name != NULL);
        found = true;
    }
    return found;
}

int cmd_list(const struct options *o)
{
    const char *name = o->operands ? o->operand[0] : NULL;
    bool found = print_kind(WEIR_KIND_FILTER, name);

    if (!name)
        printf("  sketches, for 'weir count' and 'weir top':\n");
    found |= print_kind(WEIR_KIND_SKETCH, name);
    if (found && !name && isatty(1))
        note("'weir list NAME' explains the knobs");
    return found ? EXIT_FINE
                 : fail("there is no filter or sketch '%s'; 'weir list' shows all", name);
}
