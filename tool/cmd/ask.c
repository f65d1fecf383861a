/* ask.c - weir ask: what does a filter say of these keys? */
#include <string.h>
#include <unistd.h>

#include "cmd/sets.h"
#include "cli/messages.h"
#include "pipe/write.h"
#include "state/files.h"

/* A key on the command line is the likeliest mistake. */
static bool files_there(const struct options *o)
{
    for (int i = 1; i < o->operands; i++)
        if (strcmp(o->operand[i], "-") != 0 && access(o->operand[i], F_OK) != 0)
            return reject("there is no file '%s'; keys are read from files or standard input: "
                          "echo '%s' | weir ask %s",
                          o->operand[i], o->operand[i], o->operand[0]);
    return true;
}

int cmd_ask(const struct options *o)
{
    static struct stored stored;
    const char *path = keyset_file(o);
    struct tally tally = {0};
    int status = EXIT_ERROR;

    if (path && files_there(o) && keyset_load(o, path, &stored)) {
        struct run r = run_asked(o, 1);

        r.verdict =
            verdict_by_filter(&(struct filtering){&stored.shards, keyset_answer(&stored.shards)});
        r.output.mute = o->verbosity.quiet;
        if (!r.output.count_only)
            r.output.emit = EMIT_ALL; /* each record with its answer */
        r.passes = write_passes(&r.output, WEIR_SEEN, false);
        status = run(&r, &tally);
        if (status == EXIT_FINE && o->verbosity.quiet &&
            (tally.records == 0 || tally.seen < tally.records))
            status = EXIT_ANSWER_NO;
    }
    shards_close(&stored.shards);
    return status;
}
