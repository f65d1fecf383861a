/* recent_predict.c - what the filter recent will do on a stream: its lines, as
 * theory/recent.h wants them. */
#include <math.h>

#include "theory/recent.h"
#include "filter/recent/recent.h"

/* Time, importance and insertion depth are not in the model. */
bool recent_predict(const struct config *c, const struct shape *s, const struct stream_model *m,
                    struct prediction *p)
{
    struct slots f = {.lines = (double)(s->cells / LINE_BYTES),
                      .window = c->window ? (double)c->window : INFINITY};

    if (c->span || c->importance.mode != IMPORTANCE_NONE || c->enter)
        return false;
    do {
        f.width[f.widths] = line_width[f.widths];
        f.room[f.widths] = slots_at(c, f.widths);
    } while (f.width[f.widths++] > c->width);
    slots_predict(&f, m, p);
    return true;
}
