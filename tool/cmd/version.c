/* version.c - weir version. */
#include <stdio.h>
#include <weir.h>

#include "cmd/commands.h"
#include "cli/messages.h"

int cmd_version(const struct options *o)
{
    (void)o;
    printf("weir %s\n", weir_version());
    return EXIT_FINE;
}
