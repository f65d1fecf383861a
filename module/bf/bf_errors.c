/* bf_errors.c - the error texts of BF.*, as RedisBloom or as valkey-bloom has them. */
#include <string.h>

#include "bf/bf.h"
#include "server/settings.h"

static const struct {
    const char *redis, *valkey;
} texts[] = {
    {"Bad error rate", "ERR bad error rate"},
    {"Bad capacity", "ERR bad capacity"},
    {"Bad expansion", "ERR bad expansion"},
    {"Unknown argument received", "ERR unknown argument received"},
    {"Invalid information value", "ERR invalid information value"},
    {"ERR error rate must be in the range (0.000000, 1.000000)", "ERR (0 < error rate range < 1)"},
    {"ERR capacity must be in the range [1, 1073741824]", "ERR bad capacity"},
    {"ERR expansion must be in the range [0, 32768]", "ERR bad expansion"},
    {"ERR tightening ratio should be in the range (0, 1)", "ERR (0 < tightening ratio range < 1)"},
    {"ERR Insufficient memory to create filter", "ERR operation exceeds bloom object memory limit"},
    {"ERR provided VALIDATESCALETO is larger than what a nonscaling filter can hold",
     "ERR cannot use NONSCALING and VALIDATESCALETO options together"},
};

int bf_refuse(struct rm_ctx *ctx, const char *text)
{
    for (size_t i = 0; settings_valkey() && i < sizeof texts / sizeof *texts; i++)
        if (strcmp(text, texts[i].redis) == 0)
            return rm.ReplyWithError(ctx, texts[i].valkey);
    return rm.ReplyWithError(ctx, text);
}
