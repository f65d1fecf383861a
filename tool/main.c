/* main.c - weir(1): find the command, read its options, run it. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cli/messages.h"
#include "cli/print.h"
#include "cli/signals.h"

#define CHANGES (TAKES_RECORDS | TAKES_IMPORTANCE | TAKES_THREADS | TAKES_STATS | TAKES_QUIET)
#define PASSES (CHANGES | TAKES_OUTPUT)
#define COUNTS (TAKES_RECORDS | TAKES_TIME | TAKES_SKETCH | TAKES_QUIET)

#define DEDUP_MORE                                                                                 \
    "  weir dedup access.log                    each line once\n"                                  \
    "  weir dedup --csv -k email users.csv      each address once\n"                               \
    "  weir dedup --once-per 1h --time 4 -k 1,7 access.log   per hour and visitor\n"               \
    "  weir dedup --state s.weir today.log >> new   lines that no earlier run passed\n"
#define BUILD_MORE                                                                                 \
    "  weir build -o bad.weir hosts.txt         a set of lines\n"                                  \
    "  weir build --fixed -o bad.weir hosts.txt   the same, smaller, read-only\n"                  \
    "  weir build --exact bad.exact hosts.txt   an exact set on disk\n"
#define FILTER_MORE                                                                                \
    "  weir filter bad.weir -k 3 proxy.log      records whose field 3 is in the set\n"             \
    "  weir filter --keys hosts.txt proxy.log   build the set first\n"
#define CHECK_MORE                                                                                 \
    "  weir check --store 'sqlite:bad.db?table=hosts&column=name' -k 3 proxy.log\n"                \
    "  weir check --store 'postgres://db/net?table=bad&column=ip' access.log\n"                    \
    "  weir check --store redis://localhost/bad --screen cache -m 512K access.log\n"
#define ASK_MORE                                                                                   \
    "  echo example.org | weir ask bad.weir     prints seen or new before each key\n"              \
    "  echo example.org | weir ask -q bad.weir  exit status 0 if all were seen\n"                  \
    "  weir ask --which eth*.weir -- ips.txt    prints which filters have each key\n"
#define ADD_MORE                                                                                   \
    "  echo example.org | weir add bad.weir     add one key\n"                                     \
    "  weir add bad.weir new-hosts.txt          add the keys of a file\n"
#define FORGET_MORE "  echo example.org | weir forget bad.weir  remove one key\n"
#define COUNT_MORE                                                                                 \
    "  weir count access.log                    each line and its count\n"                         \
    "  weir count --query few.txt -k 1 access.log   only these keys\n"
#define TOP_MORE                                                                                   \
    "  weir top access.log                      the 20 most frequent lines\n"                      \
    "  weir top -n 5 -k 1 --weight 10 access.log   the 5 addresses with most bytes\n"              \
    "  tail -f access.log | weir top -k 1       live, on a terminal\n"
#define INFO_MORE "  weir info bad.weir                       spec, fill and error rate\n"
#define MERGE_MORE "  weir merge -o all.weir a.weir b.weir     built with the same -m and --seed\n"
#define GROW_MORE "  weir grow seen.weir -m 256M -o larger.weir   keeps all keys\n"
#define SAVE_MORE "  weir save --at redis://127.0.0.1/seen -o seen.weir\n"
#define LOAD_MORE "  weir load --at redis://127.0.0.1/seen seen.weir\n"
#define LIST_MORE "  weir list recent                         one filter and its parameters\n"
#define EVAL_MORE                                                                                  \
    "  weir eval access.log --report out.html            recommend a filter\n"                     \
    "  weir eval -a recent,bloom -m 1M,16M access.log    compare error rates\n"                    \
    "  weir eval --synthetic uniform:n=1M -m 1M          use a stream of 'weir gen'\n"             \
    "  weir eval --store keys:bad.txt -k 3 proxy.log     compare screens\n"
#define PLAN_MORE                                                                                  \
    "  weir plan -m 64M --stream uniform:n=100M,distinct=60%   compare filters\n"                  \
    "  weir plan --stream zipf:n=10M,fresh=10% -e 1% --fnr 5%  find the memory\n"                  \
    "  weir plan -m 1M -a rlbsbf -S k=2 --stream endless       predict one filter\n"
#define GEN_MORE                                                                                   \
    "  weir gen uniform:n=1M,distinct=60%                   all keys equally likely\n"             \
    "  weir gen zipf:n=1M,universe=100k,alpha=1.1,seed=7    few keys are frequent\n\n"             \
    "Other parameters: fresh=30%, length=19,\n"                                                    \
    "importance=1-50, drift=10%/100k,\n"                                                           \
    "bias=direct|inverse|none.\n"

static const struct command commands[] = {
    {"dedup", "[OPTIONS] [FILE...]", "Pass each record the first time its key is seen",
     TAKES_FILTER | TAKES_FULL | TAKES_STATE | TAKES_DEDUP | TAKES_TIME | TAKES_AT | TAKES_WAIT |
         TAKES_MADE | TAKES_REJECTS | PASSES,
     cmd_dedup, DEDUP_MORE},
    {"build", "-o F|--exact DIR [OPTIONS] [FILE...]", "Build a filter file from keys",
     TAKES_FILTER | TAKES_FULL | TAKES_FILE | TAKES_FIXED | CHANGES, cmd_build, BUILD_MORE},
    {"filter", "[OPTIONS] F|--keys KEYFILE|--at URL [FILE...]",
     "Pass the records whose key is in a filter",
     TAKES_FILTER | TAKES_KEYS | TAKES_STORE | TAKES_AT | TAKES_MADE | TAKES_REJECTS | PASSES,
     cmd_filter, FILTER_MORE},
    {"check", "--store URL [OPTIONS] [FILE...]", "Pass the records whose key is in a slow store",
     TAKES_CHECK | TAKES_STORE | TAKES_RECORDS | TAKES_TIME | TAKES_OUTPUT | TAKES_REJECTS |
         TAKES_STATE | TAKES_STATS | TAKES_QUIET,
     cmd_check, CHECK_MORE},
    {"ask", "[OPTIONS] F|--at URL [FILE...] | --which F... [-- FILE...]",
     "Look up each key in a filter: seen or new", PASSES | TAKES_ASK | TAKES_AT | TAKES_MADE,
     cmd_ask, ASK_MORE},
    {"add", "[OPTIONS] F|--at URL [FILE...]", "Add keys to a filter file",
     CHANGES | TAKES_FULL | TAKES_AT | TAKES_WAIT | TAKES_MADE, cmd_add, ADD_MORE},
    {"forget", "[OPTIONS] F [FILE...]", "Remove keys from a filter file", CHANGES | TAKES_MADE,
     cmd_forget, FORGET_MORE},
    {"count", "[OPTIONS] [--query KEYS] [FILE...]", "Count how many times each key occurs",
     COUNTS | TAKES_QUERY, cmd_count, COUNT_MORE},
    {"top", "[OPTIONS] [FILE...]", "List the most frequent keys", COUNTS | TAKES_TOP, cmd_top,
     TOP_MORE},
    {"info", "[OPTIONS] F|--at URL", "Describe a filter, sketch or state file",
     TAKES_INFO | TAKES_AT, cmd_info, INFO_MORE},
    {"merge", "-o F A B...", "Merge filter or sketch files with equal specs and seeds",
     TAKES_FILE | TAKES_QUIET | TAKES_MADE, cmd_merge, MERGE_MORE},
    {"grow", "F -m SIZE -o G", "Move a filter or state file to more memory without losing keys",
     TAKES_FILE | TAKES_QUIET | TAKES_GROW, cmd_grow, GROW_MORE},
    {"save", "--at URL -o F", "Save a filter in servers to a file",
     TAKES_AT | TAKES_FILE | TAKES_QUIET, cmd_save, SAVE_MORE},
    {"load", "--at URL F", "Load a filter file into servers", TAKES_AT | TAKES_QUIET, cmd_load,
     LOAD_MORE},
    {"eval", "[OPTIONS] [FILE...|--synthetic SPEC]", "Measure error rates of filters on a stream",
     TAKES_FILTER | TAKES_RECORDS | TAKES_IMPORTANCE | TAKES_STATS | TAKES_QUIET | TAKES_TRUTH |
         TAKES_TIME,
     cmd_eval, EVAL_MORE},
    {"plan", "[OPTIONS] [--stream SPEC]", "Predict error rates of filters on a stream",
     TAKES_FILTER | TAKES_PLAN | TAKES_QUIET, cmd_plan, PLAN_MORE},
    {"gen", "SPEC", "Print a synthetic stream", 0, cmd_gen, GEN_MORE},
    {"list", "[OPTIONS] [NAME]", "List filters, sketches, screens and their parameters", TAKES_LIST,
     cmd_list, LIST_MORE},
    {"help", "[COMMAND]", "Print the usage of a command", 0, cmd_help, NULL},
    {"version", "[--verbose]", "Print the version", TAKES_VERSION, cmd_version, NULL},
};

#define COMMANDS (sizeof commands / sizeof *commands)

const struct command *command_at(unsigned i)
{
    return i < COMMANDS ? &commands[i] : NULL;
}

const struct command *command_find(const char *name)
{
    for (unsigned i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/* Names that other programs use for these commands. */
static const char *synonym(const char *name)
{
    static const char *const pairs[][2] = {
        {"uniq", "dedup"},        {"unique", "dedup"},    {"distinct", "dedup"},
        {"deduplicate", "dedup"}, {"grep", "filter"},     {"join", "filter"},
        {"create", "build"},      {"make", "build"},      {"query", "ask"},
        {"lookup", "check"},      {"contains", "ask"},    {"insert", "add"},
        {"remove", "forget"},     {"delete", "forget"},   {"union", "merge"},
        {"resize", "grow"},       {"enlarge", "grow"},    {"generate", "gen"},
        {"stats", "info"},        {"measure", "eval"},    {"evaluate", "eval"},
        {"bench", "eval"},        {"show", "info"},       {"predict", "plan"},
        {"choose", "plan"},       {"size", "plan"},       {"filters", "list"},
        {"algorithms", "list"},   {"frequency", "count"}, {"heavy", "top"},
    };

    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(name, pairs[i][0]) == 0)
            return pairs[i][1];
    return NULL;
}

int command_reject(const char *name)
{
    const char *names[COMMANDS + 1] = {NULL};
    const char *near = synonym(name);

    for (unsigned i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    if (!near)
        near = nearest(name, names);
    if (access(name, F_OK) == 0)
        return fail("%s: a file, not a command; did you mean 'weir dedup %s'?", name, name);
    if (*name == '-')
        return fail("%s: no command before the option; use for example: weir dedup %s ...", name,
                    name);
    if (near)
        return fail("%s: unknown command; did you mean '%s'?", name, near);
    return fail("%s: unknown command; 'weir help' lists all", name);
}

static const char *alias(const char *word)
{
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
        return "help";
    if (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0)
        return "version";
    return word;
}

static int finish(int status)
{
    return print_flush() ? status : EXIT_ERROR;
}

/* Replace closed standard streams, so that no file opened later gets their descriptor. Using one
 * fails, as it does with a closed stream. */
static void occupy_streams(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    struct options o = {.records.max_record = 64 << 20,
                        .verbosity.stats = STATS_DEFAULT,
                        .state.seconds = 30,
                        .check.max_wait = 0.01,
                        .patience = {.timeout = 5, .retries = 5},
                        .at.timeout = 30,
                        .measures.baseline_memory = (uint64_t)4 << 30};
    bool done = false;
    int status;

    occupy_streams();
    print_open();
    if (argc < 2) {
        print_welcome();
        return finish(EXIT_ERROR);
    }
    o.command = alias(argv[1]);
    if (!command_find(o.command))
        return command_reject(o.command);
    status = options_read(&o, argc - 1, argv + 1, &done);
    if (status == 0 && !done)
        status = o.explain ? cmd_explain(&o)
                 : files_are_distinct(&o, command_find(o.command))
                     ? command_find(o.command)->run(&o)
                     : EXIT_ERROR;
    status = finish(status);
    if (signals_caught())
        signals_obey(signals_caught());
    return status;
}
