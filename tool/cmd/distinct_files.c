/* distinct_files.c - no run writes a file that it reads, or one file twice.
 *
 * Checked for all commands in one place, before anything is opened. Files are compared by device
 * and inode, and files that do not exist yet by their path without links. Standard input and
 * standard output count if they are regular files: 'weir dedup log >> log' would never end. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/messages.h"
#include "cmd/commands.h"
#include "state/place.h"

#define URL_MOST 4096

static bool is_standard_output(const char *path)
{
    return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

/* ---- what is read ---- */

static bool is_same(const char *input, const struct stat *out)
{
    struct stat in;
    int failed = strcmp(input, "-") == 0 ? fstat(0, &in) : stat(input, &in);

    return !failed && in.st_dev == out->st_dev && in.st_ino == out->st_ino;
}

/* The file of a store: keys:FILE, sqlite:FILE?table=... or FILE. */
static bool is_in_store(const char *url, const struct stat *out)
{
    char path[URL_MOST];
    size_t scheme = strncmp(url, "keys:", 5) == 0 ? 5 : strncmp(url, "sqlite:", 7) == 0 ? 7 : 0;

    snprintf(path, sizeof path, "%.*s", (int)strcspn(url + scheme, "?"), url + scheme);
    return is_same(path, out) || is_same(url + scheme, out);
}

/* add and forget write the filter file that is their first operand. */
static bool changes_operand(const struct options *o)
{
    return (strcmp(o->command, "add") == 0 || strcmp(o->command, "forget") == 0) && !o->at.url &&
           o->operands > 0;
}

/* The input that is this file, or NULL. */
static const char *find_input(const struct options *o, const struct stat *out)
{
    const char *const options[] = {o->set.keys, o->count.query};
    const char *const stores[] = {o->set.strict, o->check.store};

    for (int i = changes_operand(o); i < o->operands; i++)
        if (is_same(o->operand[i], out))
            return o->operand[i];
    for (int i = 0; i < 2; i++)
        if (options[i] && is_same(options[i], out))
            return options[i];
    for (int i = 0; i < 2; i++)
        if (stores[i] && is_in_store(stores[i], out))
            return stores[i];
    return is_same("-", out) ? "-" : NULL;
}

static bool spares_inputs(const struct options *o, const struct stat *out)
{
    const char *input = S_ISREG(out->st_mode) ? find_input(o, out) : NULL;

    return !input || reject("%s is input and output at once; write to another file and rename it",
                            input_name(input));
}

/* ---- what is written ---- */

struct written {
    const char *path, *as;
};

static bool spares_others(const struct written *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (w[i].path && place_same(w[i].path, w[n].path))
            return reject("%s cannot be %s and %s at once; name two files", w[n].path, w[i].as,
                          w[n].as);
    return true;
}

/* Do records, answers or a table go to standard output? */
static bool prints(const struct options *o, const struct command *c)
{
    bool to_file = c->takes & TAKES_OUTPUT && o->output.path && !is_standard_output(o->output.path);

    return c->takes & (TAKES_OUTPUT | TAKES_SKETCH | TAKES_TRUTH) && !to_file;
}

bool files_are_distinct(const struct options *o, const struct command *c)
{
    bool named = o->output.path && !is_standard_output(o->output.path);
    const struct written w[] = {
        {named ? o->output.path : NULL, "output"},
        {o->state.path, "state"},
        {o->verbosity.metrics, "--metrics"},
        {o->measures.report, "--report"},
        {changes_operand(o) ? o->operand[0] : NULL, "filter"},
    };
    bool reads = c->takes & TAKES_RECORDS, printed = prints(o, c);
    struct stat out, file;

    if (printed && (fstat(1, &out) != 0 || !S_ISREG(out.st_mode)))
        printed = false;
    if (printed && reads && !spares_inputs(o, &out))
        return false;
    for (size_t i = 0; i < sizeof w / sizeof *w; i++) {
        if (!w[i].path)
            continue;
        if (!spares_others(w, i))
            return false;
        if (stat(w[i].path, &file) != 0)
            continue;
        if (reads && !spares_inputs(o, &file))
            return false;
        if (printed && file.st_dev == out.st_dev && file.st_ino == out.st_ino)
            return reject("%s cannot be standard output and %s at once; name two files", w[i].path,
                          w[i].as);
    }
    return true;
}
