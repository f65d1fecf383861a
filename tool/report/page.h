/* page.h - an HTML page: its text, numbers, tables and style. */
#ifndef WEIR_REPORT_PAGE_H
#define WEIR_REPORT_PAGE_H

#include <stdio.h>

#include "cli/table.h"
#include "cli/units.h"
#include "cli/options.h"

/* Write a page about the stream of `o`, in full, and save it as the file of --report. put: writes
 * its body; false after a message. False after a message. */
bool page_save(const struct options *o, bool (*put)(const void *what, FILE *page),
               const void *what);

/* Write untrusted text, escaped for HTML. Invalid characters become question marks. */
void page_text(FILE *page, const char *text);

/* Write the name of the stream. */
void page_stream(FILE *page, const struct options *o);

/* Write a table without its empty columns. best: the row to mark; others: none. */
void page_table(FILE *page, const struct table *t, int digits, size_t best);

/* Write a word quoted for the shell, not escaped for HTML. */
void shell_word(FILE *out, const char *word);

/* Write the options on records, and the files, of a command line. */
void shell_records(FILE *out, const struct records *r, bool with_importance);
void shell_files(FILE *out, struct inputs inputs);

struct shown show_percent(double fraction); /* 12.3 %, 0.047 %; - for none */
struct shown show_whole(double n);          /* 113,872 */
struct shown show_size(uint64_t bytes);     /* 64K, as -m accepts it */
struct shown show_room(uint64_t bytes);     /* 64 KiB */

/* The hue of a filter (see chart.h), the same in every chart of every report. */
int hue_of(const char *filter);

#endif
