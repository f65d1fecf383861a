/* page.h - words, numbers and style for a page of HTML. */
#ifndef WEIR_REPORT_PAGE_H
#define WEIR_REPORT_PAGE_H

#include <stdio.h>

#include "cli/inputs.h"
#include "cli/records.h"
#include "cli/units.h"

/* Text from anywhere, so that it is shown as it is and never taken for HTML:
 * what is no character becomes a question mark. */
void page_text(FILE *page, const char *text);

/* A word for the shell, quoted where it needs to be; not yet for HTML. */
void shell_word(FILE *out, const char *word);

/* The options on records, and the files, as one would type them. */
void shell_records(FILE *out, const struct records *r, bool with_importance);
void shell_files(FILE *out, struct inputs inputs);

struct shown show_percent(double fraction); /* 12.3 %, 0.047 %; - for none */
struct shown show_whole(double n);          /* 113,872 */
struct shown show_size(uint64_t bytes);     /* 64K, as -m takes it */
struct shown show_room(uint64_t bytes);     /* 64 KiB */

/* ---- how it looks: on a screen of any width, light or dark, and on paper ---- */

/* The head of the page; the name of the stream stands between them. */
extern const char page_head[], page_style[];

/* The hue of a filter (see chart.h), the same in every chart of every report. */
int hue_of(const char *filter);

#endif
