/* dabf_means.c - the means that Busnel and Gillet 2019 plot, for make reproduce:
 *
 *    dabf_means SET RECORDS ALPHA STREAMS EVERY SPEC
 *
 * 10^4 keys, of which SET random ones are members; STREAMS Zipf streams of RECORDS. Prints
 * precision, recall, fpr, fnr and calls after every EVERY records. */
#include <stdio.h>
#include <stdlib.h>

#include "papers/screen_runs.h"

#define UNIVERSE 10000

static size_t count(const char *word)
{
    return strtoull(word, NULL, 10);
}

int main(int argc, char **argv)
{
    if (argc != 7)
        return fprintf(stderr, "usage: dabf_means SET RECORDS ALPHA STREAMS EVERY SPEC\n"), 2;

    struct screen_run t = {UNIVERSE, count(argv[1]), count(argv[2]), strtod(argv[3], NULL)};
    size_t streams = count(argv[4]), every = count(argv[5]);
    size_t points = every ? t.records / every : 0;
    struct outcome *means = points && streams ? calloc(points, sizeof *means) : NULL;

    if (!means)
        return fprintf(stderr, "dabf_means: numbers must be above 0\n"), 2;
    screen_run_means(&t, streams, argv[6], every, means);
    printf("n\tprecision\trecall\tfpr\tfnr\tcalls\n");
    for (size_t i = 0; i < points; i++)
        printf("%zu\t%.6g\t%.6g\t%.6g\t%.6g\t%.6g\n", (i + 1) * every, means[i].precision,
               means[i].recall, means[i].fpr, means[i].fnr, means[i].calls);
    free(means);
    return 0;
}
