/* dabf_theory.c - see dabf_theory.h. */
#include "papers/dabf_theory.h"

#include <math.h>

#include "theory/bloom.h"

double dabf_missed(struct dabf_filter asked, struct dabf_filter members)
{
    return bloom_error(asked.cells, asked.keys, asked.k) * (1 - dabf_false_again(members));
}

double dabf_false(struct dabf_filter asked, struct dabf_filter members)
{
    return bloom_error(asked.cells, asked.keys, asked.k) * dabf_false_again(members);
}

double dabf_false_again(struct dabf_filter members)
{
    return bloom_error(members.cells, members.keys, members.k);
}

double dabf_taken_for_known(double cells, uint64_t k, uint64_t d)
{
    double sum = 0, empty = (double)k * log1p(-1 / cells); /* of one more key, as a logarithm */

    for (uint64_t i = 1; i <= d; i++)
        sum += pow(-expm1((double)i * empty), (double)k);
    return sum;
}

double dabf_false_bound(struct dabf_filter asked, double cells, uint64_t k, uint64_t d)
{
    double known = pow(-expm1((double)asked.k * log1p(-1 / asked.cells)), (double)asked.k);

    return bloom_error(cells, (double)d * (1 - known), k);
}

double dabf_calls_least(double cells, uint64_t k, double d)
{
    double least = d * (1 - pow((double)k * d / cells, (double)k));

    return least > 0 ? least : 0;
}
