/* signals.h - signals that end a run: SIGINT, SIGTERM and, unless it is ignored, SIGHUP. The first
 * one is recorded; a second SIGINT or SIGTERM kills. SIGUSR1 asks to open outputs again. */
#ifndef WEIR_CLI_SIGNALS_H
#define WEIR_CLI_SIGNALS_H

#include <stdbool.h>

bool signals_watch(void); /* false after a message */
int signals_caught(void); /* the signal, or 0 */

/* Has SIGUSR1 arrived since the last call of signals_reopened()? It wakes no waiting thread. */
bool signals_reopen(void);
void signals_reopened(void);

/* Wait until fd is readable, a signal arrives, or the time is up. */
enum waited { WAIT_READY, WAIT_SIGNAL, WAIT_TIMEOUT };
enum waited signals_wait(int fd, int milliseconds);

/* Call `tidy` when the process ends, normally or by signals_obey(). */
void signals_at_end(void (*tidy)(void));

/* End the process by that signal. */
void signals_obey(int number);

#endif
