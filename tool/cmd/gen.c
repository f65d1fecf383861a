/* gen.c - weir gen: print a stream to try things on. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cli/messages.h"
#include "cli/signals.h"
#include "eval/synthetic.h"

#define ROOM (1 << 17)

static bool print(struct stream *s)
{
    char *line = malloc((size_t)s->spec.length + 16);
    bool ok = line != NULL;

    for (uint64_t i = 0; (i < s->spec.n || !s->spec.n) && ok; i++) {
        struct synthetic_arrival a = stream_next(s);
        size_t n = (size_t)s->spec.length;

        stream_key(s, a.id, line);
        if (s->spec.important)
            n += (size_t)sprintf(line + n, "\t%u", a.importance);
        line[n++] = '\n';
        ok = fwrite_unlocked(line, 1, n, stdout) == n;
    }
    free(line);
    return ok && fflush(stdout) == 0;
}

int cmd_gen(const struct options *o)
{
    struct stream s;

    if (o->operands != 1)
        return fail("'weir gen' needs one stream, such as uniform:n=1M,distinct=60%%");
    if (!stream_open(&s, o->operand[0]))
        return EXIT_ERROR;
    setvbuf(stdout, NULL, _IOFBF, ROOM);
    if (print(&s))
        return EXIT_FINE;
    if (errno == EPIPE)
        signals_obey(SIGPIPE);
    fail("cannot write standard output: %s", strerror(errno));
    exit(EXIT_ERROR); /* without a second complaint */
}
