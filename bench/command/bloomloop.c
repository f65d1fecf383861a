/* bloomloop.c - copyloop.c with a Bloom filter of libbloom, sized for RECORDS keys at an error rate
 * of 0.1 %.
 *
 *     bloomloop RECORDS < FILE */
#include <bloom.h>
#include <stdio.h>
#include <stdlib.h>

static int pass_new_lines(struct bloom *bloom)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    int ok = 1;

    while (ok && (n = getline(&line, &room, stdin)) > 0)
        if (bloom_add(bloom, line, (int)n) == 0)
            ok = fwrite(line, 1, (size_t)n, stdout) == (size_t)n;
    free(line);
    return ok && fflush(stdout) == 0;
}

int main(int argc, char **argv)
{
    struct bloom bloom;
    int records = argc > 1 ? atoi(argv[1]) : 0;

    if (records < 1000 || bloom_init(&bloom, records, 0.001) != 0) {
        fprintf(stderr, "usage: bloomloop RECORDS < FILE\n");
        return 2;
    }
    int ok = pass_new_lines(&bloom);
    bloom_free(&bloom);
    return ok ? 0 : 1;
}
