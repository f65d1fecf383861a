/* none.c - no screen: every key is asked for. What the others are measured
 * against; of a batch it still asks for each different key once. */
#include "screen/screen.h"

static bool plan(struct screen_config *c, struct screen_shape *shape, struct weir_error *error)
{
    (void)c, (void)shape, (void)error;
    return true;
}

static uint8_t decide(const weir_screen *s, struct weir_key key)
{
    (void)s, (void)key;
    return WEIR_UNANSWERED;
}

const struct screen_ops screen_none = {
    .is.about = {"none", "asks the store for every key",
                 WEIR_CAN_MERGE | WEIR_CAN_RUN_FOREVER | WEIR_CAN_CONFIRM},
    .is.parameters = SCREEN_ALWAYS,
    .plan = plan,
    .decide = decide,
};
