/* page.h - text, numbers and style of an HTML page. */
#ifndef WEIR_REPORT_PAGE_H
#define WEIR_REPORT_PAGE_H

#include <stdio.h>

#include "cli/inputs.h"
#include "cli/units.h"

/* Write untrusted text, escaped for HTML. Invalid characters become question marks. */
void page_text(FILE *page, const char *text);

/* Write a word quoted for the shell, not escaped for HTML. */
void shell_word(FILE *out, const char *word);

/* Write the options on records, and the files, of a command line. */
void shell_records(FILE *out, const struct records *r, bool with_importance);
void shell_files(FILE *out, struct inputs inputs);

struct shown show_percent(double fraction); /* 12.3 %, 0.047 %; - for none */
struct shown show_whole(double n);          /* 113,872 */
struct shown show_size(uint64_t bytes);     /* 64K, as -m accepts it */
struct shown show_room(uint64_t bytes);     /* 64 KiB */

/* ---- style, for any screen width, light or dark, and print ---- */

/* The head of the page, before and after the name of the stream. */
extern const char page_head[], page_style[];

/* The hue of a filter (see chart.h), the same in every chart of every report. */
int hue_of(const char *filter);

#endif
