/* theory/sets.c - see sets.h. */
#include "theory/sets.h"

#include <math.h>

double fuse_error(uint64_t bits)
{
    return ldexp(1, -(int)bits);
}

bool fuse_predict(uint64_t bits, double capacity, double places, const struct stream_model *m,
                  struct prediction *p)
{
    double keys = model_distinct(m, m->n);

    if (!(keys <= capacity * (1 + 1e-9)))
        return false;
    p->fpr = p->error = p->paper = fuse_error(bits);
    p->fnr = keys < m->n * (1 - 1e-9) ? 0 : NAN;
    p->fill = keys / places;
    return true;
}
