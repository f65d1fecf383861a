/* list.c - weir list: the filters, the sketches and their knobs. Names of
 * filters stand at the start of a line, those of sketches behind two blanks:
 * scripts can tell which -a of which command takes them. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <weir/sketch.h>

#include "cmd/commands.h"
#include "cli/messages.h"

/* Filters or sketches, by number. */
struct kind {
    const struct weir_about *(*about)(size_t i);
    const struct weir_knob *(*knob)(size_t i, size_t j);
    const char *indent;
};

static const struct kind filters = {weir_about, weir_about_knob, ""};
static const struct kind sketches = {weir_sketch_about, weir_sketch_about_knob, "  "};

static void print_knobs(const struct kind *k, size_t i, bool explain)
{
    const struct weir_knob *knob;

    if (!explain)
        printf("%s    knobs: ", k->indent);
    for (size_t j = 0; (knob = k->knob(i, j)); j++) {
        if (explain)
            printf("%s    %-12s %s: %s\n", k->indent, knob->name, knob->does, knob->takes);
        else
            printf("%s%s", j ? ", " : "", knob->name);
    }
    if (!explain)
        putchar('\n');
}

/* All, or the one of that name; whether there was any. */
static bool print_kind(const struct kind *k, const char *name)
{
    bool found = false;

    for (size_t i = 0; k->about(i); i++) {
        if (name && strcmp(name, k->about(i)->name) != 0)
            continue;
        printf("%s%s\n%s    %s\n", k->indent, k->about(i)->name, k->indent, k->about(i)->idea);
        print_knobs(k, i, name != NULL);
        found = true;
    }
    return found;
}

int cmd_list(const struct options *o)
{
    const char *name = o->operands ? o->operand[0] : NULL;
    bool found = print_kind(&filters, name);

    if (!name)
        printf("  sketches, for 'weir count' and 'weir top':\n");
    found |= print_kind(&sketches, name);
    if (found && !name && isatty(1))
        note("'weir list NAME' explains the knobs");
    return found ? EXIT_FINE
                 : fail("there is no filter or sketch '%s'; 'weir list' shows all", name);
}
