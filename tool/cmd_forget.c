/* cmd_forget.c - weir forget: take keys out of a filter file. */
#include "commands.h"
#include "keyset.h"

int cmd_forget(const struct options *o)
{
    return keyset_change(o, judge_by_forgetting);
}
