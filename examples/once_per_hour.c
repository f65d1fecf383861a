/* once_per_hour.c - pass each key at most once per hour of event time.
 *
 * Reads lines "TIME KEY" (seconds since 1970, any text). Prints a line
 * unless one with its key was printed in the hour before it (up to 75
 * minutes). Loads the state from the file if it exists, and saves it at
 * the end:
 *
 *     cc once_per_hour.c $(pkg-config --cflags --libs weir) -o once_per_hour
 *     ./once_per_hour seen.weir < events.txt */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir.h>

#define BATCH 1024
#define YEAR_9999 253402300799 /* seconds since 1970 */

static char *line[BATCH];
static struct weir_key key[BATCH];
static uint64_t time_ms[BATCH];
static uint8_t verdict[BATCH];

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "once_per_hour: %s: %s\n", what, why);
    exit(2);
}

static weir_filter *load_or_open(const char *path)
{
    struct weir_error error;
    weir_filter *f;
    enum weir_status status = weir_load_file(&f, path, NULL, &error);

    if (status != WEIR_OK && error.code == WEIR_ERROR_FILE_NOT_FOUND)
        status = weir_open(&f, "recent memory=16M span=1h refresh=no", &error);
    if (status != WEIR_OK)
        fail(path, error.text);
    return f;
}

static void pass_new(weir_filter *f, size_t n)
{
    weir_observe_many_at(f, key, time_ms, n, verdict);
    for (size_t i = 0; i < n; i++) {
        if (verdict[i] == WEIR_NEW)
            fputs(line[i], stdout);
        free(line[i]);
    }
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "seen.weir";
    weir_filter *f = load_or_open(path);
    struct weir_error error;
    char *text = NULL;
    size_t room = 0, n = 0;

    while (getline(&text, &room, stdin) > 0) {
        char *start;
        uint64_t seconds = strtoull(text, &start, 10);

        if (start == text || *start != ' ' || seconds > YEAR_9999)
            fail("input", "expected lines TIME KEY");
        start += 1;
        time_ms[n] = seconds * 1000;
        key[n] = weir_hash(f, start, strcspn(start, "\n"));
        line[n] = strdup(text);
        if (!line[n])
            fail("line", "no memory");
        if (++n == BATCH) {
            pass_new(f, n);
            n = 0;
        }
    }
    pass_new(f, n);
    free(text);
    if (ferror(stdin) || fflush(stdout) != 0)
        fail("lines", "cannot be read or written");
    if (weir_save_file(f, path, &error) != WEIR_OK)
        fail(path, error.text);
    weir_close(f);
    return 0;
}
