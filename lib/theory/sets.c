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

double cuckoo_error(uint64_t bits, double load)
{
    return -expm1(8 * load * log1p(-1 / (ldexp(1, (int)bits) - 1)));
}

bool cuckoo_predict(uint64_t bits, double capacity, double slots, const struct stream_model *m,
                    struct prediction *p)
{
    double load = m->n / slots;

    if (!(m->n <= capacity * (1 + 1e-9)))
        return false;
    p->fpr = cuckoo_error(bits, load / 2); /* nearly a straight line: its mean */
    p->error = p->paper = cuckoo_error(bits, load);
    p->fnr = model_distinct(m, m->n) < m->n * (1 - 1e-9) ? 0 : NAN;
    p->fill = load;
    return true;
}
