/* near_library.c - processor time of near-duplicate detection, compared with shingling alone.
 *
 *   near-library FILE [ROUNDS]
 *
 * FILE has texts that end with NUL. Both run in turn; the minimum of all rounds counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <weir/near.h>

#include "near/text.h"

#define SHINGLE 5 /* words */

struct file {
    char *data;
    size_t size;
    uint64_t texts;
};

static void fail(const char *why)
{
    fprintf(stderr, "near-library: %s\n", why);
    exit(1);
}

static struct file read_file(const char *path)
{
    struct file f = {NULL, 0, 0};
    FILE *from = fopen(path, "rb");

    if (!from || fseek(from, 0, SEEK_END) != 0)
        fail("cannot read the file");
    f.size = (size_t)ftell(from);
    f.data = malloc(f.size);
    rewind(from);
    if (!f.data || fread(f.data, 1, f.size, from) != f.size || !f.size || f.data[f.size - 1])
        fail("cannot read the file, or its last text has no NUL");
    fclose(from);
    return f;
}

static double processor_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t shingle_all(struct file *f)
{
    uint64_t hash[256], sum = 0;

    f->texts = 0;
    for (const char *at = f->data; at < f->data + f->size; at += strlen(at) + 1, f->texts++) {
        struct shingles s;
        size_t n;

        shingles_start(&s, at, strlen(at), SHINGLE, 1);
        while ((n = shingles_next(&s, hash, 256)) > 0)
            for (size_t i = 0; i < n; i++)
                sum += hash[i];
    }
    return sum;
}

static uint64_t observe_all(struct file *f)
{
    weir_near *n;
    uint64_t number = 0, dropped = 0;

    if (weir_near_open(&n, NULL, NULL) != WEIR_OK)
        fail("out of memory");
    for (const char *at = f->data; at < f->data + f->size; at += strlen(at) + 1)
        dropped += weir_near_observe_text(n, at, strlen(at), ++number, NULL);
    weir_near_close(n);
    return dropped;
}

int main(int argc, char **argv)
{
    struct file f = read_file(argc > 1 ? argv[1] : "");
    int rounds = argc > 2 ? atoi(argv[2]) : 5;
    double best[2] = {1e9, 1e9};
    uint64_t result[2] = {0, 0};

    text_prepare();
    for (int i = 0; i < rounds; i++)
        for (int way = 0; way < 2; way++) {
            double began = processor_time();

            result[way] = (way ? observe_all : shingle_all)(&f);
            double took = processor_time() - began;
            best[way] = took < best[way] ? took : best[way];
        }
    printf("texts\tdropped\tMB/s\tshingling_MB/s\tx_shingling\n%llu\t%llu\t%.0f\t%.0f\t%.2f\n",
           (unsigned long long)f.texts, (unsigned long long)result[1],
           (double)f.size / best[1] / 1e6, (double)f.size / best[0] / 1e6, best[1] / best[0]);
    free(f.data);
    return result[0] == 0; /* keeps the compiler from removing it */
}
