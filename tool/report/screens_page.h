/* screens_page.h - weir eval --store --report: which screen to take, and the figures. */
#ifndef WEIR_REPORT_SCREENS_PAGE_H
#define WEIR_REPORT_SCREENS_PAGE_H

#include "eval/screens.h"

/* Can the page be written? False after a message. */
bool report_screens_possible(const struct eval_request *o);

/* Write it to the file of --report. False after a message. */
bool report_screens(const struct screens *s);

/* Its first words, for the terminal; true. */
bool report_screens_say(const struct screens *s);

#endif
