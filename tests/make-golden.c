/* make-golden.c - writes the files of tests/golden/; golden.h says when.
 *
 *     make-golden FOLDER [NAME] */
#include "golden.h"
#include "screened.h"

#include <stdio.h>
#include <string.h>

static bool to_file(void *context, const void *data, size_t size)
{
    return fwrite(data, 1, size, context) == size;
}

static bool make(const char *folder, const char *name)
{
    char path[SENTENCE], note[GOLDEN_NOTE];
    weir *w = golden_filter(name);

    snprintf(path, sizeof path, "%s/%s.weir", folder, name);
    FILE *file = fopen(path, "wb");
    golden_note(w, note);
    bool ok = file && weir_write(w, to_file, file) == WEIR_OK &&
              weir_part_write(WEIR_PART_NOTE, note, strlen(note), to_file, file) == WEIR_OK;
    ok = file && fclose(file) == 0 && ok;
    weir_close(w);
    if (!ok)
        perror(path);
    return ok;
}

static bool make_screen(const char *folder, const char *name)
{
    char path[SENTENCE], note[GOLDEN_NOTE];
    weir_screen *w = golden_screen(name);

    snprintf(path, sizeof path, "%s/screen-%s.weir", folder, name);
    FILE *file = fopen(path, "wb");
    golden_screen_note(w, note, sizeof note);
    bool ok = file && weir_screen_write(w, to_file, file) == WEIR_OK &&
              weir_part_write(WEIR_PART_NOTE, note, strlen(note), to_file, file) == WEIR_OK;
    ok = file && fclose(file) == 0 && ok;
    weir_screen_close(w);
    if (!ok)
        perror(path);
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

    for (size_t i = 0; ok && weir_about(i); i++)
        if (argc == 2 || strcmp(argv[2], weir_about(i)->name) == 0)
            ok = make(argv[1], weir_about(i)->name);
    for (size_t i = 0; ok && weir_screen_about(i); i++)
        if (argc == 2 || is_screen(argv[2], weir_screen_about(i)->name))
            ok = make_screen(argv[1], weir_screen_about(i)->name);
    return !ok;
}
