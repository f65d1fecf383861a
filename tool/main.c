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
    "  weir dedup --state s.weir today.log >> new   what no run before has passed\n"
#define BUILD_MORE                                                                                 \
    "  weir build -o bad.weir hosts.txt         a set of lines\n"                                  \
    "  weir build --fixed -o bad.weir hosts.txt   the same, smaller, never changed\n"
#define FILTER_MORE                                                                                \
    "  weir filter bad.weir -k 3 proxy.log      whose third field is in the set\n"                 \
    "  weir filter --keys hosts.txt proxy.log   the set made on the fly\n"
#define CHECK_MORE                                                                                 \
    "  weir check --store 'sqlite:bad.db?table=hosts&column=name' -k 3 proxy.log\n"                \
    "  weir check --store 'postgres://db/net?table=bad&column=ip' access.log\n"                    \
    "  weir check --store redis://localhost/bad --screen cache -m 512K access.log\n"
#define ASK_MORE                                                                                   \
    "  echo example.org | weir ask bad.weir     prints seen or new before each key\n"              \
    "  echo example.org | weir ask -q bad.weir  exit status 0 if all were seen\n"                  \
    "  weir ask --which eth*.weir -- ips.txt    prints which filters have each key\n"
#define ADD_MORE                                                                                   \
    "  echo example.org | weir add bad.weir     one key more\n"                                    \
    "  weir add bad.weir new-hosts.txt          and those of a file\n"
#define FORGET_MORE "  echo example.org | weir forget bad.weir  it is no longer in the set\n"
#define COUNT_MORE                                                                                 \
    "  weir count access.log                    every line, and how often it came\n"               \
    "  weir count --query few.txt -k 1 access.log   of these keys only\n"
#define TOP_MORE                                                                                   \
    "  weir top access.log                      the 20 lines that come most often\n"               \
    "  weir top -n 5 -k 1 --weight 10 access.log   the 5 addresses with most bytes\n"              \
    "  tail -f access.log | weir top -k 1       live, on a terminal\n"
#define INFO_MORE "  weir info bad.weir                       what it is, how full, its error\n"
#define MERGE_MORE "  weir merge -o all.weir a.weir b.weir     built with the same -m and --seed\n"
#define SAVE_MORE "  weir save --at redis://127.0.0.1/seen -o seen.weir\n"
#define LOAD_MORE "  weir load --at redis://127.0.0.1/seen seen.weir\n"
#define LIST_MORE "  weir list recent                           one of them, with every parameter\n"
#define EVAL_MORE                                                                                  \
    "  weir eval access.log --report out.html            what to choose, and why\n"                \
    "  weir eval -a recent,bloom -m 1M,16M access.log      which errs how often here\n"            \
    "  weir eval --synthetic uniform:n=1M -m 1M          on a stream of 'weir gen'\n"              \
    "  weir eval --store keys:bad.txt -k 3 proxy.log    which screen for this set\n"
#define PLAN_MORE                                                                                  \
    "  weir plan -m 64M --stream uniform:n=100M,distinct=60%   which filter for it\n"              \
    "  weir plan --stream zipf:n=10M,fresh=10% -e 1% --fnr 5%  what memory it needs\n"             \
    "  weir plan -m 1M -a rlbsbf -S k=2 --stream endless       what to expect of one\n"
#define GEN_MORE                                                                                   \
    "  weir gen uniform:n=1M,distinct=60%                   every key as likely\n"                 \
    "  weir gen zipf:n=1M,universe=100k,alpha=1.1,seed=7    few keys come often\n\n"               \
    "Other parameters: fresh=30%, length=19,\n"                                                    \
    "importance=1-50, drift=10%/100k,\n"                                                           \
    "bias=direct|inverse|none.\n"

static const struct command commands[] = {
    {"dedup", "[OPTIONS] [FILE...]", "Pass each record the first time its key is seen",
     TAKES_FILTER | TAKES_FULL | TAKES_STATE | TAKES_DEDUP | TAKES_TIME | TAKES_AT | TAKES_WAIT |
         TAKES_MADE | PASSES,
     cmd_dedup, DEDUP_MORE},
    {"build", "-o F [OPTIONS] [FILE...]", "Make a filter file from keys",
     TAKES_FILTER | TAKES_FULL | TAKES_FILE | TAKES_FIXED | CHANGES, cmd_build, BUILD_MORE},
    {"filter", "[OPTIONS] F|--keys KEYFILE|--at URL [FILE...]",
     "Pass the records whose key is in a filter",
     TAKES_FILTER | TAKES_KEYS | TAKES_STORE | TAKES_AT | TAKES_MADE | PASSES, cmd_filter,
     FILTER_MORE},
    {"check", "--store URL [OPTIONS] [FILE...]", "Pass the records whose key is in a slow store",
     TAKES_CHECK | TAKES_STORE | TAKES_RECORDS | TAKES_TIME | TAKES_OUTPUT | TAKES_STATE |
         TAKES_STATS | TAKES_QUIET,
     cmd_check, CHECK_MORE},
    {"ask", "[OPTIONS] F|--at URL [FILE...] | --which F... [-- FILE...]",
     "Say for each key whether a filter has seen it", PASSES | TAKES_ASK | TAKES_AT | TAKES_MADE,
     cmd_ask, ASK_MORE},
    {"add", "[OPTIONS] F|--at URL [FILE...]", "Add keys to a filter file",
     CHANGES | TAKES_FULL | TAKES_AT | TAKES_WAIT | TAKES_MADE, cmd_add, ADD_MORE},
    {"forget", "[OPTIONS] F [FILE...]", "Take keys out of a filter file that can forget",
     CHANGES | TAKES_MADE, cmd_forget, FORGET_MORE},
    {"count", "[OPTIONS] [--query KEYS] [FILE...]", "Tell how often keys came",
     COUNTS | TAKES_QUERY, cmd_count, COUNT_MORE},
    {"top", "[OPTIONS] [FILE...]", "List the keys that come most often", COUNTS | TAKES_TOP,
     cmd_top, TOP_MORE},
    {"info", "[OPTIONS] F|--at URL", "Describe a filter, sketch or state file",
     TAKES_INFO | TAKES_AT, cmd_info, INFO_MORE},
    {"merge", "-o F A B...", "Join filter or sketch files of one configuration and seed",
     TAKES_FILE | TAKES_QUIET | TAKES_MADE, cmd_merge, MERGE_MORE},
    {"save", "--at URL -o F", "Save a filter that lives in servers to a file",
     TAKES_AT | TAKES_FILE | TAKES_QUIET, cmd_save, SAVE_MORE},
    {"load", "--at URL F", "Put a filter file into servers", TAKES_AT | TAKES_QUIET, cmd_load,
     LOAD_MORE},
    {"eval", "[OPTIONS] [FILE...|--synthetic SPEC]", "Measure the errors of filters on a stream",
     TAKES_FILTER | TAKES_RECORDS | TAKES_IMPORTANCE | TAKES_STATS | TAKES_QUIET | TAKES_TRUTH |
         TAKES_TIME,
     cmd_eval, EVAL_MORE},
    {"plan", "[OPTIONS] [--stream SPEC]", "Say what theory expects of filters on a stream",
     TAKES_FILTER | TAKES_PLAN | TAKES_QUIET, cmd_plan, PLAN_MORE},
    {"gen", "SPEC", "Print a stream to try things on", 0, cmd_gen, GEN_MORE},
    {"list", "[OPTIONS] [NAME]", "List the filters, sketches, screens and their parameters",
     TAKES_LIST, cmd_list, LIST_MORE},
    {"help", "[COMMAND]", "Tell how to use a command", 0, cmd_help, NULL},
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

/* Words of others for what is here. */
static const char *synonym(const char *name)
{
    static const char *const pairs[][2] = {
        {"uniq", "dedup"},        {"unique", "dedup"},    {"distinct", "dedup"},
        {"deduplicate", "dedup"}, {"grep", "filter"},     {"join", "filter"},
        {"create", "build"},      {"make", "build"},      {"query", "ask"},
        {"lookup", "check"},      {"contains", "ask"},    {"insert", "add"},
        {"remove", "forget"},     {"delete", "forget"},   {"union", "merge"},
        {"generate", "gen"},      {"stats", "info"},      {"measure", "eval"},
        {"evaluate", "eval"},     {"bench", "eval"},      {"show", "info"},
        {"predict", "plan"},      {"choose", "plan"},     {"size", "plan"},
        {"filters", "list"},      {"algorithms", "list"}, {"frequency", "count"},
        {"heavy", "top"},
    };

    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(name, pairs[i][0]) == 0)
            return pairs[i][1];
    return NULL;
}

int command_refuse(const char *name)
{
    const char *names[COMMANDS + 1] = {NULL};
    const char *near = synonym(name);

    for (unsigned i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    if (!near)
        near = nearest(name, names);
    if (access(name, F_OK) == 0)
        return fail("'%s' is a file, not a command; did you mean 'weir dedup %s'?", name, name);
    if (*name == '-')
        return fail("a command comes first, options after it: weir dedup %s ...", name);
    if (near)
        return fail("there is no command '%s'; did you mean '%s'?", name, near);
    return fail("there is no command '%s'; 'weir help' lists them", name);
}

/* -h, --help and --version work as everywhere. */
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

/* A closed standard stream must not be the number of a file that is opened
 * later. What takes its place fails when it is used, as a closed one does. */
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
        return command_refuse(o.command);
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
