/* ask.c - weir ask: what does a filter say of these keys? */
#include "cmd/ask.h"

#include <string.h>
#include <unistd.h>

#include "cmd/at.h"
#include "cmd/sets.h"
#include "cli/messages.h"
#include "pipe/write.h"
#include "state/files.h"

bool ask_files_there(const struct options *o, int from)
{
    const char *how = o->ask.which ? "--which " : o->ask.any ? "--any " : "";

    for (int i = from; i < o->operands; i++)
        if (strcmp(o->operand[i], "-") != 0 && access(o->operand[i], F_OK) != 0)
            return reject("there is no file '%s'; keys are read from files or standard input: "
                          "echo '%s' | weir ask %s%s%s",
                          o->operand[i], o->operand[i], how, o->operand[0], from > 1 ? " ..." : "");
    return true;
}

/* Each record with its answer. */
static struct run run_of_questions(const struct options *o, int from)
{
    struct run r = run_asked(o, from);

    r.output.mute = o->verbosity.quiet;
    if (!r.output.count_only)
        r.output.emit = EMIT_ALL;
    r.passes = write_passes(&r.output, WEIR_SEEN, false);
    return r;
}

static int status_of(const struct options *o, const struct tally *t, int status)
{
    bool all_seen = t->records > 0 && t->seen == t->records;

    return status == EXIT_FINE && o->verbosity.quiet && !all_seen ? EXIT_ANSWER_NO : status;
}

int ask_run(const struct options *o, int from, struct verdict verdict)
{
    struct run r = run_of_questions(o, from);
    struct tally tally = {0};
    int status;

    r.verdict = verdict;
    status = run(&r, &tally);
    return status_of(o, &tally, status);
}

/* The filter lives in servers. */
static int ask_at(const struct options *o)
{
    struct run r = run_of_questions(o, 0);
    struct tally tally = {0};
    struct at at;
    int status = at_open(&at, o, false) ? at_run(&at, &r, true, NULL, &tally) : EXIT_ERROR;

    at_close(&at);
    return status_of(o, &tally, status);
}

int cmd_ask(const struct options *o)
{
    static struct stored stored;
    const char *path;
    int status = EXIT_ERROR;

    if (o->at.url && (o->ask.which || o->ask.any))
        return fail("--%s asks files; --at asks one filter, in servers",
                    o->ask.which ? "which" : "any");
    if (o->at.url)
        return ask_at(o);
    if (o->ask.which || o->ask.any)
        return ask_many(o);
    path = keyset_file(o);
    if (path && ask_files_there(o, 1) && keyset_load(o, path, &stored)) {
        struct filtering filtering = {.shards = &stored.shards,
                                      .answer = keyset_answer(&stored.shards)};

        status = ask_run(o, 1, verdict_by_filter(&filtering));
    }
    shards_close(&stored.shards);
    return status;
}
