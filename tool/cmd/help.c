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

int cmd_help(const struct options *o)
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
} kinds[] = {
    {WEIR_KIND_FILTER, "filter", "filters", NULL},
    {WEIR_KIND_SKETCH, "sketch", "sketches", "  sketches, for 'weir count' and 'weir top':\n"},
    {WEIR_KIND_SCREEN, "screen", "screens", "  screens, for 'weir check --screen':\n"},
};

#define KINDS (sizeof kinds / sizeof *kinds)

static const char *indent_of(enum weir_kind kind)
{
    return kind == WEIR_KIND_FILTER ? "" : "  ";
}

static void explain_parameter(const struct weir_parameter *parameter, int indent)
{
    char text[512];

    snprintf(text, sizeof text, "%s: %s", parameter->does, parameter->takes);
    printf("%*s%-12s ", indent, "", parameter->name);
    print_wrapped(text, indent + 13);
}

static void list_parameters(enum weir_kind kind, size_t i, int indent)
{
    const struct weir_parameter *parameter;
    char text[512] = "parameters: ";
    size_t used = strlen(text);

    for (size_t j = 0; (parameter = weir_parameter_at(kind, i, j)) && used < sizeof text; j++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", j ? ", " : "",
                                 parameter->name);
    printf("%*s", indent, "");
    print_wrapped(text, indent + 7);
}

static void print_parameters(enum weir_kind kind, size_t i, bool explain)
{
    int indent = (int)strlen(indent_of(kind)) + 4;
    const struct weir_parameter *parameter;

    for (size_t j = 0; explain && (parameter = weir_parameter_at(kind, i, j)); j++)
        explain_parameter(parameter, indent);
    if (!explain)
        list_parameters(kind, i, indent);
}

/* Print all algorithms of a kind, or those of that name. Returns whether there was any. */
static bool print_kind(enum weir_kind kind, const char *name)
{
    const char *indent = indent_of(kind);
    const struct weir_algorithm *about;
    bool found = false;

    for (size_t i = 0; (about = weir_algorithm_at(kind, i)); i++) {
        if (name && strcmp(name, about->name) != 0)
            continue;
        printf("%s%s\n%s    ", indent, about->name, indent);
        print_wrapped(about->idea, (int)strlen(indent) + 4);
        print_parameters(kind, i, name != NULL);
        found = true;
    }
    return found;
}

/* ---- JSON and TSV; NULL if memory is exhausted ---- */

static json_t *append(json_t *all, json_t *one)
{
    if (json_array_append_new(all, one) == 0)
        return all;
    json_decref(all);
    return NULL;
}

static json_t *describe_parameters(enum weir_kind kind, size_t i)
{
    json_t *all = json_array();
    const struct weir_parameter *parameter;

    for (size_t j = 0; all && (parameter = weir_parameter_at(kind, i, j)); j++)
        all = append(all, json_pack("{s:s,s:s,s:s}", "name", parameter->name, "takes",
                                    parameter->takes, "does", parameter->does));
    return all;
}

static json_t *describe_kind(enum weir_kind kind, const char *name)
{
    json_t *all = json_array();
    const struct weir_algorithm *about;

    for (size_t i = 0; all && (about = weir_algorithm_at(kind, i)); i++)
        if (!name || strcmp(name, about->name) == 0)
            all = append(all, json_pack("{s:s,s:s,s:o}", "name", about->name, "idea", about->idea,
                                        "parameters", describe_parameters(kind, i)));
    return all;
}

static int refuse(const char *name)
{
    const char *near = NULL;

    for (unsigned kind = WEIR_KIND_FILTER; kind <= WEIR_KIND_SCREEN && !near; kind++)
        near = wanted_nearest(kind, name);
    return fail("%s: unknown filter, sketch or screen; %s%s%s", name,
                near ? "did you mean " : "'weir list' lists all", near ? near : "",
                near ? "?" : "");
}

static int print_json(const char *name)
{
    json_t *all = json_object();
    bool complete = true;
    size_t found = 0;

    for (size_t i = 0; i < KINDS; i++) {
        json_t *some = describe_kind(kinds[i].kind, name);

        found += json_array_size(some);
        complete &= json_object_set_new(all, kinds[i].plural, some) == 0;
    }
    if (complete && found)
        return json_print(all, 0) ? EXIT_FINE : EXIT_ERROR;
    json_decref(all);
    return complete ? refuse(name) : fail("out of memory");
}

/* A row per algorithm. */
static int print_tsv(const char *name)
{
    const struct weir_algorithm *about;
    const struct weir_parameter *parameter;
    json_t *all = json_array();

    for (size_t k = 0; k < KINDS; k++)
        for (size_t i = 0; all && (about = weir_algorithm_at(kinds[k].kind, i)); i++) {
            char names[512] = "";
            size_t used = 0;

            if (name && strcmp(name, about->name) != 0)
                continue;
            for (size_t j = 0;
                 (parameter = weir_parameter_at(kinds[k].kind, i, j)) && used < sizeof names; j++)
                used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", j ? "," : "",
                                         parameter->name);
            all = append(all, json_pack("{s:s,s:s,s:s,s:s}", "kind", kinds[k].singular, "name",
                                        about->name, "idea", about->idea, "parameters", names));
        }
    if (all && json_array_size(all) == 0) {
        json_decref(all);
        return refuse(name);
    }
    return json_print_tsv(all) ? EXIT_FINE : EXIT_ERROR;
}

/* ---- text ---- */

static int print_text(const char *name)
{
    bool found = false;

    for (size_t i = 0; i < KINDS; i++) {
        if (!name && kinds[i].heading)
            fputs(kinds[i].heading, stdout);
        found |= print_kind(kinds[i].kind, name);
    }
    if (found && !name && isatty(1))
        note("'weir list NAME' explains the parameters");
    return found ? EXIT_FINE : refuse(name);
}

int cmd_list(const struct options *o)
{
    const char *name = o->operands ? o->operand[0] : NULL;

    return o->format == PRINT_JSON  ? print_json(name)
           : o->format == PRINT_TSV ? print_tsv(name)
                                    : print_text(name);
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

int cmd_version(const struct options *o)
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
