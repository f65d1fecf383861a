/* make_golden.c - writes the files of tests/golden/ (golden.h).
 *
 *    make-golden DIRECTORY [NAME] */
#include "support/golden.h"
#include "support/screened.h"

#include <stdio.h>
#include <string.h>

static bool to_file(void *context, const void *data, size_t size)
{
    return fwrite(data, 1, size, context) == size;
}

static FILE *open_file(const char *folder, const char *name)
{
    char path[2 * SPEC];

    snprintf(path, sizeof path, "%s/%s.weir", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file)
        perror(path);
    return file;
}

/* The note ends the file. */
static bool finish(FILE *file, bool ok, const char *note)
{
    ok = ok && weir_part_write(WEIR_PART_NOTE, note, strlen(note), to_file, file, NULL) == WEIR_OK;
    return fclose(file) == 0 && ok;
}

static bool make(const char *folder, const char *name)
{
    char note[GOLDEN_NOTE];
    weir_filter *w = golden_filter(name);
    FILE *file = open_file(folder, name);

    golden_note(w, note);
    bool ok = file && finish(file, weir_save_stream(w, to_file, file, NULL) == WEIR_OK, note);
    weir_close(w);
    return ok;
}

static bool make_sketch(const char *folder, const struct golden_sketch *g)
{
    char note[GOLDEN_NOTE];
    weir_sketch *s = golden_counted(g);
    FILE *file = open_file(folder, g->name);

    golden_sketch_note(s, note);
    bool ok =
        file && finish(file, weir_sketch_save_stream(s, to_file, file, NULL) == WEIR_OK, note);
    weir_sketch_close(s);
    return ok;
}

static bool make_screen(const char *folder, const char *name)
{
    char file_name[SPEC], note[GOLDEN_NOTE];
    weir_screen *w = golden_screen(name);

    snprintf(file_name, sizeof file_name, "screen-%s", name);
    FILE *file = open_file(folder, file_name);
    golden_screen_note(w, note, sizeof note);
    bool ok =
        file && finish(file, weir_screen_save_stream(w, to_file, file, NULL) == WEIR_OK, note);
    weir_screen_close(w);
    return ok;
}

/* screen-NAME */
static bool is_screen(const char *file, const char *name)
{
    return strncmp(file, "screen-", 7) == 0 && strcmp(file + 7, name) == 0;
}

int main(int argc, char **argv)
{
    bool ok = argc == 2 || argc == 3;

    for (size_t i = 0; ok && golden_name(i); i++)
        if (argc == 2 || strcmp(argv[2], golden_name(i)) == 0)
            ok = make(argv[1], golden_name(i));
    for (size_t i = 0; ok && golden_sketch(i); i++)
        if (argc == 2 || strcmp(argv[2], golden_sketch(i)->name) == 0)
            ok = make_sketch(argv[1], golden_sketch(i));
    for (size_t i = 0; ok && weir_algorithm_at(WEIR_KIND_SCREEN, i); i++)
        if (argc == 2 || is_screen(argv[2], weir_algorithm_at(WEIR_KIND_SCREEN, i)->name))
            ok = make_screen(argv[1], weir_algorithm_at(WEIR_KIND_SCREEN, i)->name);
    return !ok;
}
