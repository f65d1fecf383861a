/* predict_screen.c - what a screen before a store will do on a stream described in words. */
#include <math.h>

#include "base/hand_out.h"
#include "plan/predict.h"
#include "screen/screen.h"

static enum weir_status refuse(const struct screen_config *c, struct weir_error *error)
{
    return error_say(error, WEIR_ERROR_NO_MODEL, "there is no model of the screen ",
                     c->is.of->about.name,
                     c->window ? " with window="
                     : c->span ? " with span="
                               : "",
                     "; 'weir eval --store' measures screens", NULL);
}

enum weir_status weir_predict_screen(struct weir_screen_prediction *p, size_t size,
                                     const char *screen, const struct weir_stream *s,
                                     double members, struct weir_error *error)
{
    struct weir_screen_prediction known = {.memory = 0};
    struct screen_config c;
    struct stream_model m;

    if (!spec_read(&screen_grammar, screen, &c, error) || !screen_grammar.plan(&c, error))
        return WEIR_BAD_CONFIG;
    enum weir_status status = stream_model(s, &m, error);
    if (status != WEIR_OK)
        return status;
    if (isinf(m.n))
        return error_say(error, WEIR_ERROR_INVALID_ARGUMENT,
                         "a screen is foretold for a stream that ends: give it n=", NULL);
    if (!c.ops->predict || !c.ops->predict(&c, &m, members, &known))
        return refuse(&c, error);
    spec_describe(&screen_grammar, &c, known.config, sizeof known.config);
    for (uint32_t i = 0; i < c.shape.areas; i++)
        known.memory += cells_size(c.shape.area[i].cells, (uint32_t)c.shape.area[i].width);
    known.distinct = model_distinct(&m, m.n);
    known.members = members * known.distinct;
    hand_out(p, size, &known, sizeof known);
    return WEIR_OK;
}
