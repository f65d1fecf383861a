/* bera.c - see bera.h. */
#include "papers/bera.h"

#include <stdio.h>
#include <string.h>

bool read_rows(const char *file, struct row rows[ROWS])
{
    FILE *f = fopen(file, "r");
    size_t n = 0;

    if (!f || fscanf(f, "%*[^\n]") != 0)
        return false;
    for (struct row *r = rows; n < ROWS; n++, r++) {
        if (fscanf(f, "%u %lf %lf %lf %u %15s %lf %lf", &r->table, &r->n, &r->distinct, &r->mib,
                   &r->k, r->filter, &r->printed.fpr, &r->printed.fnr) != 8)
            break;
        r->distinct /= 100;
        r->printed.fpr /= 100;
        r->printed.fnr /= 100;
    }
    fclose(f);
    return n == ROWS;
}

void filter_of(const struct row *r, char name[48])
{
    if (strcmp(r->filter, "sbf") == 0)
        strcpy(name, "sbf k=2 cell=1 decay=4");
    else
        snprintf(name, 48, "%s%s k=%u", r->filter, strcmp(r->filter, "rsbf") == 0 ? "-tables" : "",
                 r->k);
}
