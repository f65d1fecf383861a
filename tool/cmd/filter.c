/* filter.c - weir filter and weir ask: look up keys in a filter. */
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/signals.h"
#include "cmd/at.h"
#include "cmd/commands.h"
#include "cmd/run.h"
#include "cmd/sets.h"
#include "pipe/write.h"
#include "state/files.h"
#include "verdict/ask_store.h"
#include "verdict/by_filter.h"

/* ---- weir filter ---- */

/* To read the keys of a file, one per line. */
static struct run run_of_keys(const struct options *o, struct inputs inputs)
{
    struct run r = {.command = o->command,
                    .inputs = inputs,
                    .records = records_of_keys(&o->records),
                    .verbosity = {.quiet = o->verbosity.quiet, .stats = STATS_NONE},
                    .threads = o->threads,
                    .is_list = true,
                    .output = {.mute = true}};

    r.records.skip = o->records.skip;
    return r;
}

/* Nothing is added to this set: the filter is fixed unless another filter or a size is
 * requested. */
static bool is_fixed(const struct options *o)
{
    return keyset_is_fixed(o) ||
           !(o->filter.algorithm || o->filter.memory || o->filter.sets || o->filter.importance);
}

static bool build(const struct options *o, struct shards *shards, struct prefix_lengths *prefixes)
{
    const char *path;
    char *file;
    struct inputs inputs = {&file, 1};
    struct run r = run_of_keys(o, inputs);

    if (!list_of_keys(o->set.keys, &r.records, &path))
        return false;
    file = (char *)(uintptr_t)path;
    return keyset_build(o, &r, is_fixed(o), shards, prefixes);
}

static bool open_set(struct options *o, struct stored *stored, struct prefix_lengths *prefixes)
{
    const char *path;

    if (o->set.keys)
        return build(o, &stored->shards, o->records.cidr ? prefixes : NULL);
    if (request_anything(&o->filter) || o->shards)
        return reject("the filter file determines the filter; -a, -m, -e, -S, --seed and --shards "
                      "apply only to --keys");
    path = keyset_file(o);
    return path && keyset_load(o, path, stored, prefixes);
}

/* Of a set. */
static const char *const words[] = {"other", "member", [VERDICT_UNKNOWN] = "unknown"};

static double error_of(const struct shards *shards, const struct prefix_lengths *prefixes)
{
    double error = file_error(shards);

    return prefixes_count(prefixes) ? prefixes_error(prefixes, error) : error;
}

static int pass(const struct options *o, struct shards *shards, struct prefix_lengths *prefixes)
{
    struct filtering filtering = {.shards = shards,
                                  .operation = WEIR_SHARED_ASK,
                                  .prefixes = o->records.cidr ? prefixes : NULL,
                                  .threads = o->threads};
    struct run r = run_asked(o, o->set.keys ? 0 : 1);

    r.verdict = verdict_by_filter(&filtering);
    r.words = words;
    r.passes = write_passes(&r.output, o->set.invert ? WEIR_NEW : WEIR_SEEN,
                            o->patience.silence == SILENCE_PASSES);
    if (!o->set.strict)
        return run(&r, NULL);

    struct confirming confirming;
    struct tally tally = {0};
    int status = EXIT_ERROR;

    if (!o->verbosity.quiet && !o->records.cidr)
        networks_report_store(o->set.strict);
    if (confirming_open(&confirming, o->set.strict, &o->patience, &o->records)) {
        r.verdict = verdict_confirmed(r.verdict, &confirming);
        if (!o->verbosity.quiet)
            asker_tell_list(confirming.asker);
        status = run(&r, &tally);
        asker_report(confirming.asker, tally.unanswered);
        if (asker_refuted_most(confirming.asker))
            asker_doubt(confirming.asker, tally.records - tally.seen, error_of(shards, prefixes));
    }
    confirming_close(&confirming);
    return status;
}

/* The set lives in servers. */
static int filter_at(const struct options *o)
{
    struct run r = run_asked(o, 0);

    if (o->set.keys || o->set.strict)
        return fail("--%s cannot be combined with --at, which names the filter",
                    o->set.keys ? "keys" : "strict");
    r.words = words;
    r.passes = write_passes(&r.output, o->set.invert ? WEIR_NEW : WEIR_SEEN, false);
    return at_once(o, &r, true, NULL);
}

int cmd_filter(struct options *o)
{
    static struct stored stored;
    struct prefix_lengths prefixes = {{0}};
    int status = EXIT_ERROR;

    if (o->at.url)
        return filter_at(o);
    if (open_set(o, &stored, &prefixes))
        status = pass(o, &stored.shards, &prefixes);

    shards_close(&stored.shards);
    return status;
}

/* ---- weir ask ---- */

/* Are the files of keys there, from this operand on? A key on the command line is the
 * likeliest mistake. False after a message. */
static bool ask_files_there(const struct options *o, int from)
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

/* Print each record of these files with its answer; the exit status. */
static int ask_run(const struct options *o, int from, struct verdict verdict)
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
    int status = at_once(o, &r, true, &tally);

    return status_of(o, &tally, status);
}

/* ---- --which, --any: many filters ---- */

#define FILTERS_MOST 65536
#define FILES_BESIDES 32 /* that a run has open in addition to the filters; chosen */

/* Each mapped filter has an open file. If the limit cannot be raised, opening a file reports it. */
static void allow_files(int filters)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)filters + FILES_BESIDES;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur =
        limit.rlim_max == RLIM_INFINITY || limit.rlim_max > wanted ? wanted : limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static bool check(const struct options *o, int filters)
{
    const char *how = o->ask.which ? "--which" : "--any";

    if (o->ask.which && o->ask.any)
        return reject("--which and --any cannot be combined; use one of them");
    if (filters < 1 || filters > FILTERS_MOST)
        return reject("%s takes 1 to %d filter files, then -- and files of keys: weir ask %s "
                      "A.weir B.weir -- KEYS",
                      how, FILTERS_MOST, how);
    for (int i = 0; i < filters && o->behind < 0; i++)
        if (access(o->operand[i], R_OK) == 0 && !file_is_ours(o->operand[i]))
            return reject("%s is not a filter file; files of keys come after --: weir ask %s "
                          "A.weir B.weir -- %s",
                          o->operand[i], how, o->operand[i]);
    return true;
}

/* Names must be separable in the output. */
static bool check_names(const struct options *o, int filters, char separator)
{
    const struct records *r = &o->records;
    bool fields = r->format == FORMAT_CSV || r->format == FORMAT_DELIMITED;
    const char marks[] = {separator, fields ? r->delimiter : '\t', '\n', '"', '\0'};

    for (int i = 0; i < filters && !o->verbosity.quiet && !o->output.count_only; i++)
        if (strpbrk(o->operand[i], marks))
            return reject("the name '%s' has a character that separates names or fields in what "
                          "--which prints (%c, a tab or delimiter, a line break, a quote); link "
                          "it to another name, or ask with --any",
                          o->operand[i], separator);
    return true;
}

static int ask_many(const struct options *o)
{
    static struct many_filters many;
    char keys[WEIR_KEY_DESCRIPTION_MAX];
    int filters = o->operands - (o->behind > 0 ? o->behind : 0), status = EXIT_ERROR;
    bool whole = o->verbosity.stats == STATS_TEXT || o->verbosity.stats == STATS_JSON;
    bool quoted = o->output.format == RECORDS_JSON;
    char separator = !quoted && o->records.delimiter == ',' ? ';' : ',';

    if (!check(o, filters) || (o->ask.which && !quoted && !check_names(o, filters, separator)) ||
        !ask_files_there(o, filters) || !many_open(&many, (uint32_t)filters, o->threads, whole))
        return EXIT_ERROR;
    allow_files(filters);
    records_describe_keys(&o->records, keys, sizeof keys);
    many.keys = o->keys_differ ? NULL : keys;
    many.named = o->ask.which;
    many.quoted = quoted;
    many.separator = separator;
    while (many.count < (uint32_t)filters && many_add(&many, o->operand[many.count]))
        ;
    if (many.count == (uint32_t)filters)
        status = ask_run(o, filters, verdict_by_filters(&many));
    many_close(&many);
    return status;
}

/* ---- the command ---- */

int cmd_ask(struct options *o)
{
    static struct stored stored;
    struct prefix_lengths prefixes;
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
    if (path && ask_files_there(o, 1) && keyset_load(o, path, &stored, &prefixes)) {
        struct filtering filtering = {.shards = &stored.shards,
                                      .operation = WEIR_SHARED_ASK,
                                      .prefixes = o->records.cidr ? &prefixes : NULL,
                                      .threads = o->threads};

        status = ask_run(o, 1, verdict_by_filter(&filtering));
    }
    shards_close(&stored.shards);
    return status;
}
