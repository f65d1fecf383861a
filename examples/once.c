/* once.c - print each line once, as weir dedup does.
 *
 *     cc once.c $(pkg-config --cflags --libs weir) -o once
 *     ./once < access.log */
#include <stdio.h>
#include <stdlib.h>
#include <weir.h>

int main(int argc, char **argv)
{
    const char *spec = argc > 1 ? argv[1] : "recent memory=64M fpr=0.1%";
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    weir_filter *w;
    struct weir_error error;

    if (weir_open(&w, spec, &error) != WEIR_OK) {
        fprintf(stderr, "once: %s\n", error.text);
        return 2;
    }
    while ((length = getline(&line, &size, stdin)) > 0)
        if (weir_observe_bytes(w, line, (size_t)length) == WEIR_NEW)
            fwrite(line, 1, (size_t)length, stdout);
    free(line);
    weir_close(w);
    return ferror(stdin) || fflush(stdout) != 0 ? 1 : 0;
}
