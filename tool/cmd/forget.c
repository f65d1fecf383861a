/* forget.c - weir forget: take keys out of a filter file. */
#include "cmd/commands.h"
#include "cmd/sets.h"

int cmd_forget(const struct options *o)
{
    return keyset_change(o, answer_by_forgetting);
}
