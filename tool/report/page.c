/* page.c - see page.h. */
#include "report/page.h"

#include <math.h>
#include <string.h>

/* ---- text ---- */

/* Bytes of the UTF-8 character that begins here, 0 if none does. */
static size_t character(const unsigned char *at)
{
    size_t size = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;

    if (at[0] > 0xf4 || (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return size;
}

static const char *entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void page_text(FILE *page, const char *text)
{
    while (*text) {
        size_t size = character((const unsigned char *)text);
        bool control = (unsigned char)*text < ' ' || *text == 0x7f;

        if (entity(*text))
            fputs(entity(*text), page);
        else if (size == 0 || control)
            putc('?', page);
        else
            fwrite(text, 1, size, page);
        text += size ? size : 1;
    }
}

/* ---- the shell ---- */

void shell_word(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./:,=%+@";

    if (*word && word[strspn(word, plain)] == '\0') {
        fputs(word, out);
        return;
    }
    putc('\'', out);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", out);
        else
            putc(*word, out);
    putc('\'', out);
}

static void option(FILE *out, const char *name, const char *value)
{
    if (!value)
        return;
    fprintf(out, " %s ", name);
    shell_word(out, value);
}

void shell_records(FILE *out, const struct records *r, bool with_importance)
{
    static const char *const formats[] = {"", " --csv", " --tsv", " --jsonl", ""};
    char delimiter[2] = {r->delimiter, '\0'};
    bool usual = r->format == FORMAT_CSV && r->delimiter == ',';

    fprintf(out, "%s%s%s%s%s%s%s", formats[r->format], r->nul ? " -z" : "",
            r->header ? " --header" : "", r->ignore_case ? " --ignore-case" : "",
            r->ignore_space ? " --ignore-space" : "", r->keep_cr ? " --keep-cr" : "",
            r->skip ? " --on-error skip" : "");
    if (r->format == FORMAT_DELIMITED || (r->format == FORMAT_CSV && !usual))
        option(out, "-d", r->delimiter == '\t' ? "\\t" : delimiter);
    option(out, "-k", r->key);
    option(out, "-i", with_importance ? r->importance : NULL);
}

void shell_files(FILE *out, struct inputs inputs)
{
    for (uint32_t i = 0; i < inputs.count; i++) {
        fputs(i == 0 && *inputs.file[i] == '-' && inputs.file[i][1] ? " -- " : " ", out);
        shell_word(out, inputs.file[i]);
    }
}

/* ---- numbers ---- */

struct shown show_percent(double fraction)
{
    struct shown s;

    if (isnan(fraction))
        snprintf(s.text, sizeof s.text, "-");
    else if (fraction > 0 && fraction < 1e-6)
        snprintf(s.text, sizeof s.text, "under 0.0001 %%");
    else
        snprintf(s.text, sizeof s.text, fraction < 0.1 ? "%.2g %%" : "%.3g %%", 100 * fraction);
    return s;
}

struct shown show_whole(double n)
{
    char digits[24];
    struct shown s;
    size_t size = (size_t)snprintf(digits, sizeof digits, "%.0f", n), used = 0;

    for (size_t i = 0; i < size && used + 2 < sizeof s.text; i++) {
        if (i > 0 && (size - i) % 3 == 0)
            s.text[used++] = ',';
        s.text[used++] = digits[i];
    }
    s.text[used] = '\0';
    return s;
}

/* Whole numbers of the largest unit that allows it. */
static struct shown show_unit(uint64_t bytes, const char *const *units)
{
    struct shown s;
    int unit = 0;

    while (bytes > 0 && bytes % 1024 == 0 && unit < 4) {
        bytes /= 1024;
        unit++;
    }
    snprintf(s.text, sizeof s.text, "%llu%s", (unsigned long long)bytes, units[unit]);
    return s;
}

struct shown show_size(uint64_t bytes)
{
    static const char *const units[] = {"", "K", "M", "G", "T"};

    return show_unit(bytes, units);
}

struct shown show_room(uint64_t bytes)
{
    static const char *const units[] = {" bytes", " KiB", " MiB", " GiB", " TiB"};

    return show_unit(bytes, units);
}
