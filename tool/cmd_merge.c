#include "commands.h"
#include "say.h"
int cmd_merge(const struct options *o)
{
    return fail("%s is not here yet", o->command);
}
