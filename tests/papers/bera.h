/* bera.h - the rows of the tables of Bera et al. 2012, bera2012.tsv. */
#ifndef WEIR_TESTS_PAPERS_BERA_H
#define WEIR_TESTS_PAPERS_BERA_H

#include "papers/stream.h"

#define ROWS 165

struct row {
    unsigned table;
    double n, distinct, mib;
    unsigned k;
    char filter[16];
    struct rates printed;
};

/* Returns false if the file is invalid. */
bool read_rows(const char *file, struct row rows[ROWS]);

/* The filter of a row under its name in weir. Two columns of the paper are interpreted: its `rsbf`
 * is rsbf-tables, and its `sbf` has K=2, one bit and P=4. */
void filter_of(const struct row *r, char name[48]);

#endif
