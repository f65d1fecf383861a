/* traces_in.c - see traces_in.h. */
#include "rivals/traces_in.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static size_t records_most(void)
{
    return is_quick() ? 100000 : SIZE_MAX;
}

static void read_records(struct trace *t, FILE *in)
{
    char *line = NULL;
    size_t room = 0;

    while (getline(&line, &room, in) > 0)
        if (t->n < records_most())
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

size_t traces_read(struct trace traces[TRACES_MOST])
{
    const char *folder = getenv("WEIR_TRACES");
    glob_t found = {0};
    size_t n = 0;

    if (folder && *folder) {
        find(folder, ".tsv", 0, &found);
        find(folder, ".tsv.xz", GLOB_APPEND, &found);
        for (size_t i = 0; i < found.gl_pathc && n < TRACES_MOST; i++)
            read_trace(&traces[n++], found.gl_pathv[i]);
        globfree(&found);
    }
    if (n == 0) /* cmocka's own skip() says "not ok" in TAP */
        puts("1..0 # SKIP WEIR_TRACES names no folder with *.tsv or *.tsv.xz");
    return n;
}

void traces_free(struct trace *traces, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t r = 0; r < traces[i].n; r++)
            free((char *)traces[i].record[r].key);
        free(traces[i].record);
    }
}
