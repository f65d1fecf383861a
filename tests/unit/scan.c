/* scan.c - the command's vector scan, compared with a plain loop on random bytes. Built for this
 * processor and without its vector instructions. */
#include "pipe/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 4000

static const char marks[3] = {',', '"', '\n'};

static size_t plain(const char *data, size_t from, size_t to, const char *wanted, size_t bytes,
                    uint32_t *out, size_t max)
{
    size_t n = 0;

    for (size_t i = from; i < to && n < max; i++)
        if (memchr(wanted, data[i], bytes))
            out[n++] = (uint32_t)i;
    return n;
}

/* The rarer the delimiters, the longer the records. */
static void fill(char *data, size_t size)
{
    int rarity = 3 + rand() % 120;

    for (size_t i = 0; i < size; i++) {
        int x = rand() % rarity;

        data[i] = x < 3 ? marks[x] : (char)rand();
    }
}

static int differs(const uint32_t *a, size_t n, const uint32_t *b, size_t m)
{
    return n != m || memcmp(a, b, n * sizeof *a) != 0;
}

int main(void)
{
    static char data[MOST + 64];
    static uint32_t got[MOST + 64], expected[MOST];

    srand(1);
    for (int round = 0; round < 5000; round++) {
        size_t to = (size_t)(rand() % MOST), from = to ? (size_t)rand() % to : 0;
        size_t max = rand() % 2 ? MOST : 1 + (size_t)(rand() % 50), n, m;

        fill(data, sizeof data);
        n = scan_one(data, from, to, '\n', got, max);
        m = plain(data, from, to, "\n", 1, expected, max);
        if (differs(got, n, expected, m))
            return fprintf(stderr, "scan_one differs in round %d\n", round), 1;
        n = scan_three(data, from, to, marks, got, max);
        m = plain(data, from, to, marks, 3, expected, max);
        if (differs(got, n, expected, m))
            return fprintf(stderr, "scan_three differs in round %d\n", round), 1;
    }
    return 0;
}
