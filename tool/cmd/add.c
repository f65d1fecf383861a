/* add.c - weir add: show more keys to a filter file. */
#include "cmd/commands.h"
#include "cmd/sets.h"

int cmd_add(const struct options *o)
{
    return keyset_change(o, weir_observe_many);
}
