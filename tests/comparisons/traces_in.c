/* traces_in.c - see traces_in.h. */
#include "comparisons/traces_in.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct trace traces[TRACES_MAX];
size_t trace_count;

static void stop(const char *name, const char *why)
{
    printf("Bail out! %s: %s\n", name, why);
    exit(1);
}

static void read_record(struct trace *t, char *line)
{
    char *tab = strchr(line, '\t');

    if (!tab)
        stop(t->name, "a line without a tab");
    if ((t->n & (t->n - 1)) == 0) { /* at powers of two */
        t->record = realloc(t->record, (t->n ? 2 * t->n : 1) * sizeof *t->record);
        if (!t->record)
            stop(t->name, "no memory");
    }
    t->record[t->n++] = (struct record){
        .key = strndup(line, (size_t)(tab - line)),
        .size = (uint32_t)(tab - line),
        .importance = (uint32_t)strtoul(tab + 1, NULL, 10),
    };
}

static size_t records_max(void)
{
    return is_quick() ? 100000 : SIZE_MAX;
}

static void read_records(struct trace *t, FILE *in)
{
    char *line = NULL;
    size_t room = 0;

    while (getline(&line, &room, in) > 0)
        if (t->n < records_max())
            read_record(t, line);
    free(line);
}

static void read_trace(struct trace *t, const char *path)
{
    char command[4200];
    bool packed = strcmp(path + strlen(path) - 3, ".xz") == 0;

    snprintf(t->name, sizeof t->name, "%s", strrchr(path, '/') + 1);
    *strchr(t->name, '.') = '\0';
    if (strchr(path, '\''))
        stop(path, "a quote in the path");
    snprintf(command, sizeof command, "%s '%s'", packed ? "xz -dc" : "cat", path);
    FILE *in = popen(command, "r");
    if (!in)
        stop(path, "no shell to read it");
    read_records(t, in);
    if (pclose(in) != 0 || t->n == 0)
        stop(path, "cannot be read");
    trace_complete(t);
}

static void find(const char *folder, const char *ending, int flags, glob_t *found)
{
    char pattern[4096];

    snprintf(pattern, sizeof pattern, "%s/*%s", folder, ending);
    glob(pattern, flags, NULL, found);
}

bool traces_read(void)
{
    const char *folder = getenv("WEIR_TRACES");
    glob_t found = {0};

    if (folder && *folder) {
        find(folder, ".tsv", 0, &found);
        find(folder, ".tsv.xz", GLOB_APPEND, &found);
        while (trace_count < found.gl_pathc && trace_count < TRACES_MAX) {
            read_trace(&traces[trace_count], found.gl_pathv[trace_count]);
            trace_count++;
        }
        globfree(&found);
    }
    if (trace_count == 0) /* skip() of cmocka prints "not ok" in TAP */
        puts("1..0 # SKIP WEIR_TRACES is not a directory with *.tsv or *.tsv.xz");
    return trace_count > 0;
}

int traces_free(void **state)
{
    for (size_t i = 0; i < trace_count; i++) {
        for (size_t r = 0; r < traces[i].n; r++)
            free((char *)traces[i].record[r].key);
        free(traces[i].record);
    }
    return 0;
}
