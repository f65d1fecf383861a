/* page.c - see page.h. */
#include "report/page.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "cli/normalize.h"
#include "report/chart.h"
#include "state/replace.h"

/* ---- text ---- */

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
        size_t size = utf8_character(text);
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

void page_stream(FILE *page, const struct options *o)
{
    page_text(page, o->measures.synthetic ? o->measures.synthetic
                    : o->operands == 0    ? "standard input"
                                          : o->operand[0]);
    if (o->operands > 1)
        fprintf(page, " and %u more", o->operands - 1);
}

static void put_row(FILE *page, const struct table *t, size_t row, int digits)
{
    char text[CELL_MAX];

    for (size_t i = 0; t->column[i].name; i++)
        if (!table_is_empty(t, i)) {
            table_show(t, row, i, digits, text);
            fprintf(page, "<td>");
            page_text(page, text);
            fprintf(page, "</td>");
        }
}

void page_table(FILE *page, const struct table *t, int digits, size_t best)
{
    fprintf(page, "<div class=\"scroll\"><table class=\"all\">\n<thead><tr>");
    for (size_t i = 0; t->column[i].name; i++)
        if (!table_is_empty(t, i))
            fprintf(page, "<th>%s</th>", t->column[i].name);
    fprintf(page, "</tr></thead>\n<tbody>\n");
    for (size_t row = 0; row < t->rows; row++) {
        fprintf(page, "<tr%s>", row == best ? " class=\"best\"" : "");
        put_row(page, t, row, digits);
        fprintf(page, "</tr>\n");
    }
    fprintf(page, "</tbody></table></div>\n");
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
    option(out, "--key-as", r->key_as);
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

/* A whole number of the largest unit that allows it. */
struct shown show_size(uint64_t bytes)
{
    static const char *const units[] = {"", "K", "M", "G", "T"};
    struct shown s;
    int unit = 0;

    while (bytes > 0 && bytes % 1024 == 0 && unit < 4) {
        bytes /= 1024;
        unit++;
    }
    snprintf(s.text, sizeof s.text, "%llu%s", (unsigned long long)bytes, units[unit]);
    return s;
}

struct shown show_room(uint64_t bytes)
{
    struct shown size = show_size(bytes), s;
    int digits = (int)strspn(size.text, "0123456789");

    if (size.text[digits])
        snprintf(s.text, sizeof s.text, "%.*s %ciB", digits, size.text, size.text[digits]);
    else
        snprintf(s.text, sizeof s.text, "%.16s bytes", size.text);
    return s;
}

/* ---- style
 *
 * --hue-N is the colour of hue N in chart.h, on light ground and on dark: hues and
 * lightness that people with red-green blindness can distinguish; if two are near,
 * the point shapes differ.
 *
 * The hue of a filter is a hash of its name. SALT was searched so that
 * all filters of lib/filter/list.h have different hues. If a new one has the hue of
 * another, search again and sort the colours by the new hashes. ---- */

#define HUES 24
#define SALT 2197749u

int hue_of(const char *filter)
{
    uint32_t h = SALT;

    for (; *filter; filter++)
        h = (h ^ (unsigned char)*filter) * 16777619u;
    return HUE_FIRST + (int)((h >> 16) % HUES);
}

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<link rel=\"icon\" href=\"data:,\">\n"
    "<title>weir: ";

static const char style[] =
    "</title>\n<style>\n"
    ":root{--ground:#fff;--card:#f3f6f9;--edge:#c9d3dc;--hue-0:#1d2329;--hue-1:#dfe4e9;"
    "--hue-2:#d55e00;--hue-3:#0067a5;--hue-4:#5a4632;--hue-5:#7a3e00;--hue-6:#005f60;"
    "--hue-7:#b0005a;--hue-8:#4a90d9;--hue-9:#4f6d00;--hue-10:#7057c2;--hue-11:#6e7378;"
    "--hue-12:#9c5b4a;--hue-13:#2f7f4f;--hue-14:#1f9e8f;--hue-15:#d55e00;"
    "--hue-16:#cc6fa0;--hue-17:#117733;--hue-18:#8a8f1e;--hue-19:#a63ea0;"
    "--hue-20:#0067a5;--hue-21:#6b6b2a;--hue-22:#8c6d1f;--hue-23:#882255;"
    "--hue-24:#c64f63;--hue-25:#5b7590;--hue-26:#3b2a9b;--hue-27:#c08400}\n"
    "@media screen and (prefers-color-scheme:dark){:root{--ground:#12161a;--card:#1c2329;"
    "--edge:#3b4650;--hue-0:#e4e8ec;--hue-1:#313a42;--hue-2:#ff8b42;--hue-3:#4fb0f5;"
    "--hue-4:#c9ab8c;--hue-5:#e0a06a;--hue-6:#5fc0c2;--hue-7:#ff7ab5;--hue-8:#8fc4ff;"
    "--hue-9:#b4d94a;--hue-10:#b7a6f5;--hue-11:#a9b0b6;--hue-12:#e8a896;--hue-13:#7fd6a0;"
    "--hue-14:#45d0bf;--hue-15:#ff8b42;--hue-16:#f0a3cb;--hue-17:#6ccb7a;"
    "--hue-18:#cfd35a;--hue-19:#e083d9;--hue-20:#4fb0f5;--hue-21:#b8b86a;"
    "--hue-22:#d6b656;--hue-23:#dd6f9f;--hue-24:#ff8f9f;--hue-25:#a8c2da;"
    "--hue-26:#a99bff;--hue-27:#f2b733}}\n"
    "body{margin:0;background:var(--ground);color:var(--hue-0);"
    "font:16px/1.5 system-ui,sans-serif}\n"
    "main{max-width:68rem;margin:0 auto;padding:1rem}\n"
    "h1{font-size:1.5rem;line-height:1.25;overflow-wrap:anywhere}h2{font-size:1.2rem}\n"
    "q{quotes:none}\n"
    "#choice{background:var(--card);border:1px solid var(--edge);border-radius:.5rem;"
    "padding:.25rem 1.25rem}\n"
    ".lead{font-size:1.3rem;margin:.75rem 0}\n"
    "pre{background:var(--ground);border:1px solid var(--edge);border-radius:.3rem;padding:.6rem;"
    "overflow-x:auto}\n"
    "code,pre{font-family:ui-monospace,monospace;font-size:.92em}li "
    "code{display:inline-block;vertical-align:bottom}\n"
    "ul{padding-left:1.2rem}li{margin:.3rem 0}\n"
    ".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));"
    "gap:1.5rem;margin:1.5rem 0}\n"
    "figure{margin:0;min-width:0}figure svg{display:block;width:100%;height:auto;"
    "color:var(--hue-0)}\n"
    "figcaption{font-size:.85rem;line-height:1.4}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.88rem}\n"
    "th,td{padding:.2rem .6rem;text-align:right;border-bottom:1px solid var(--edge);"
    "white-space:nowrap;font-variant-numeric:tabular-nums}\n"
    "th:nth-child(2),td:nth-child(2),.all th:first-child,.all td:first-child{text-align:left}\n"
    "tr.best{font-weight:600;background:var(--card)}summary{cursor:pointer;margin:.75rem 0}\n"
    "@media print{main{max-width:none;padding:0}body{font-size:10pt}figure,#choice,table{"
    "break-inside:avoid}.charts{grid-template-columns:1fr 1fr;gap:.8rem 1.2rem}"
    "figcaption{font-size:7.5pt}pre,#choice,tr.best{background:none}details{display:none}}\n"
    "</style>\n</head>\n<body>\n<main>\n";

/* ---- the file ---- */

bool page_save(const struct options *o, bool (*put)(const void *what, FILE *page), const void *what)
{
    char *text = NULL;
    size_t size;
    FILE *page = open_memstream(&text, &size);
    bool ok = true;

    if (page) {
        fputs(head, page);
        page_stream(page, o);
        fputs(style, page);
        ok = put(what, page);
        fputs("</main>\n</body>\n</html>\n", page);
    }
    if (!page || ferror(page) + fclose(page) != 0)
        ok = ok && reject("out of memory");
    ok = ok && replace_file_by_text(o->measures.report, text, size);
    free(text);
    return ok;
}
