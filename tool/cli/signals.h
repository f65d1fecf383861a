/* signals.h - signals that end a run: SIGINT, SIGTERM and, unless it is ignored, SIGHUP. The first
 * one is recorded; a second SIGINT or SIGTERM kills. */
#ifndef WEIR_CLI_SIGNALS_H
#define WEIR_CLI_SIGNALS_H

#include <stdbool.h>

bool signals_watch(void);
int signals_caught(void); /* the signal, or 0 */

/* Wait until fd can be read, a signal came, or the time is over. */
enum waited { WAIT_READY, WAIT_SIGNAL, WAIT_TIMEOUT };
enum waited signals_wait(int fd, int milliseconds);

/* What is to be done when the process ends, by itself or by signals_obey(). Once. */
void signals_at_end(void (*tidy)(void));

/* End as that signal would have ended the process. */
void signals_obey(int number);

#endif
