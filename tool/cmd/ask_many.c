/* ask_many.c - weir ask --which, --any: what do many filters say of these keys? */
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cmd/ask.h"
#include "cli/messages.h"
#include "verdict/by_filters.h"

#define FILTERS_MOST 65536
#define FILES_BESIDES 32 /* that a run has open beside the filters; a guess */

/* Filters that are asked where they lie have a file open each. What cannot be had is told
 * by the file that fails. */
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
        return reject("--which names the filters, --any says whether there is one; ask for one of "
                      "the two");
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

/* Names are told apart in what is printed. */
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

int ask_many(const struct options *o)
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
