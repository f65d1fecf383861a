/* help.c - weir help, weir list and weir version. */
#include <jansson.h>
#include <lzma.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weir.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#include "cli/messages.h"
#include "cli/print.h"
#include "cmd/commands.h"
#include "verdict/ask_store.h"

/* ---- weir help ---- */

static void print_commands(void)
{
    printf("usage: weir COMMAND [OPTIONS] [FILE...]\n\n");
    print_wrapped("Deduplicate, filter and count unbounded streams in constant memory.", 0);
    printf("\n");
    for (unsigned i = 0; command_at(i); i++) {
        printf("  %-9s ", command_at(i)->name);
        print_wrapped(command_at(i)->does, 12);
    }
    printf("\n"
           "  weir dedup access.log                    each line once\n"
           "  weir dedup --csv -k email users.csv      each address once\n"
           "  tail -f app.log | weir dedup -m 256M     an unbounded stream\n\n"
           "'weir help COMMAND' lists the options of a command.\n");
}

/* Without arguments: print a few commands to try. */
void print_welcome(void)
{
    printf("weir %s: deduplicate, filter and count unbounded streams in constant memory\n\n"
           "  weir dedup access.log                    each line once\n"
           "  tail -f app.log | weir dedup -m 256M     an unbounded stream\n"
           "  weir top access.log                      the most frequent lines\n"
           "  weir build -o bad.weir hosts.txt         a set of lines in a small file\n"
           "  weir filter bad.weir -k 3 proxy.log      records whose field 3 is in the set\n"
           "  weir eval access.log --report out.html   recommend a filter and its memory\n\n"
           "To try it without data, count the distinct lines of a million:\n\n"
           "  weir gen uniform:n=1M,distinct=60%% | weir dedup --count-only\n\n"
           "usage: weir COMMAND [OPTIONS] [FILE...]\n"
           "'weir help' lists the commands, 'weir help COMMAND' its options.\n",
           weir_version());
}

int cmd_help(struct options *o)
{
    if (o->operands == 0) {
        print_commands();
        return EXIT_FINE;
    }
    if (!command_find(o->operand[0]))
        return command_reject(o->operand[0]);
    options_print(o->operand[0]);
    return EXIT_FINE;
}

/* ---- weir list ---- */

static const struct listed {
    enum weir_kind kind;
    const char *singular, *plural, *heading;
    int indent;
} kinds[] = {
    {WEIR_KIND_FILTER, "filter", "filters", "", 0},
    {WEIR_KIND_SKETCH, "sketch", "sketches", "  sketches, for 'weir count' and 'weir top':\n", 2},
    {WEIR_KIND_SCREEN, "screen", "screens", "  screens, for 'weir check --screen':\n", 2},
};

#define KINDS (sizeof kinds / sizeof *kinds)

/* The algorithm at an index of a kind: only that of this name, unless it is NULL. *end: there are
 * no more. */
static const struct weir_algorithm *listed_at(enum weir_kind kind, size_t i, const char *name,
                                              bool *end)
{
    const struct weir_algorithm *about = weir_algorithm_at(kind, i);

    *end = !about;
    return about && (!name || strcmp(name, about->name) == 0) ? about : NULL;
}

static void join_parameters(enum weir_kind kind, size_t i, const char *between, char text[512])
{
    const struct weir_parameter *parameter;
    size_t used = strlen(text);

    for (size_t j = 0; (parameter = weir_parameter_at(kind, i, j)) && used < 512; j++)
        used +=
            (size_t)snprintf(text + used, 512 - used, "%s%s", j ? between : "", parameter->name);
}

/* The names of its parameters; each with an explanation if it is the only one that is printed. */
static void print_algorithm(const struct listed *of, size_t i, const struct weir_algorithm *about,
                            bool explain)
{
    const struct weir_parameter *parameter;
    char text[512] = "parameters: ";
    int indent = of->indent + 4;

    printf("%*s%s\n%*s", of->indent, "", about->name, indent, "");
    print_wrapped(about->idea, indent);
    for (size_t j = 0; explain && (parameter = weir_parameter_at(of->kind, i, j)); j++) {
        snprintf(text, sizeof text, "%s: %s", parameter->does, parameter->takes);
        printf("%*s%-12s ", indent, "", parameter->name);
        print_wrapped(text, indent + 13);
    }
    if (explain)
        return;
    join_parameters(of->kind, i, ", ", text);
    printf("%*s", indent, "");
    print_wrapped(text, indent + 7);
}

static int print_text(const char *name)
{
    const struct weir_algorithm *about;
    bool end = false;

    for (size_t k = 0; k < KINDS; k++, end = false) {
        fputs(name ? "" : kinds[k].heading, stdout);
        for (size_t i = 0; !end; i++)
            if ((about = listed_at(kinds[k].kind, i, name, &end)))
                print_algorithm(&kinds[k], i, about, name != NULL);
    }
    if (!name && isatty(1))
        note("'weir list NAME' explains the parameters");
    return EXIT_FINE;
}

/* ---- JSON: an object with a list per kind; TSV: a row per algorithm ---- */

static json_t *describe_parameters(enum weir_kind kind, size_t i)
{
    json_t *all = json_array();
    const struct weir_parameter *parameter;

    for (size_t j = 0; (parameter = weir_parameter_at(kind, i, j)); j++)
        all = json_appended(all, json_pack("{s:s,s:s,s:s}", "name", parameter->name, "takes",
                                           parameter->takes, "does", parameter->does));
    return all;
}

static int print_data(const char *name, bool tsv)
{
    const struct weir_algorithm *about;
    json_t *all = tsv ? json_array() : json_object();
    bool end = false;

    for (size_t k = 0; k < KINDS; k++, end = false) {
        json_t *some = tsv ? NULL : json_array();

        for (size_t i = 0; !end; i++) {
            char names[512] = "";

            if (!(about = listed_at(kinds[k].kind, i, name, &end)))
                continue;
            join_parameters(kinds[k].kind, i, ",", names);
            if (tsv)
                all = json_appended(all, json_pack("{s:s,s:s,s:s,s:s}", "kind", kinds[k].singular,
                                                   "name", about->name, "idea", about->idea,
                                                   "parameters", names));
            else
                some = json_appended(some, json_pack("{s:s,s:s,s:o}", "name", about->name, "idea",
                                                     about->idea, "parameters",
                                                     describe_parameters(kinds[k].kind, i)));
        }
        if (!tsv)
            all = json_with(all, kinds[k].plural, some);
    }
    return (tsv ? json_print_tsv(all) : json_print(all, 0)) ? EXIT_FINE : EXIT_ERROR;
}

int cmd_list(struct options *o)
{
    const char *name = o->operands ? o->operand[0] : NULL, *near = NULL;
    bool known = !name;

    for (size_t k = 0; k < KINDS && name; k++) {
        known |= weir_find_algorithm(kinds[k].kind, name) && !strchr(name, ' ');
        near = near ? near : wanted_nearest(kinds[k].kind, name);
    }
    if (!known)
        return fail("%s: unknown filter, sketch or screen; %s%s%s", name,
                    near ? "did you mean " : "'weir list' lists all", near ? near : "",
                    near ? "?" : "");
    return print_is_text(o->format) ? print_text(name) : print_data(name, o->format == PRINT_TSV);
}

/* ---- weir version ---- */

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZER ", with the address sanitizer"
#elif defined(__SANITIZE_THREAD__)
#define SANITIZER ", with the thread sanitizer"
#else
#define SANITIZER ""
#endif

/* The same choice as in the library, lib/base/processor.h. */
static const char *processor_path(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2"))
        return "x86-64 with AVX-512, which the filter recent uses";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2"))
        return "x86-64 with AVX2, which the filter recent uses";
    return "x86-64 without AVX2: plain code";
#else
    return "plain code";
#endif
}

static void print_libraries(void)
{
    char stores[128];
    unsigned xx = XXH_versionNumber();

    ask_store_libraries(stores, sizeof stores);
    printf("libraries   xxHash %u.%u.%u, libsodium %s, jansson %s\n", xx / 10000, xx / 100 % 100,
           xx % 100, sodium_version_string(), jansson_version_str());
    printf("            zlib %s, zstd %s, xz %s\n", zlibVersion(), ZSTD_versionString(),
           lzma_version_string());
    printf("            %s\n", stores);
}

int cmd_version(struct options *o)
{
    if (o->operands > 0)
        return fail("%s: unexpected argument of 'weir version'; remove it", o->operand[0]);
    printf("weir %s\n", weir_version());
    if (!o->verbose)
        return EXIT_FINE;
    printf("build       " BUILD_TYPE ", compiler %s%s\n", __VERSION__, SANITIZER);
    printf("processor   %s\n", processor_path());
    print_libraries();
    return EXIT_FINE;
}
