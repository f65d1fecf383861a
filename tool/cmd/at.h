/* at.h - filters in servers (--at). */
#ifndef WEIR_CMD_AT_H
#define WEIR_CMD_AT_H

#include "cmd/run.h"
#include "remote/remote.h"
#include "verdict/by_remote.h"

#define AT_NOT_ON_FULL                                                                             \
    "--on-full stop cannot be combined with --at; 'weir info --at' prints how full the filter is"

/* The note of a file of weir save, with the spec of the whole filter and the description of its
 * keys, which may be empty. Returns its length. */
size_t at_note(char *note, size_t size, const char *spec, const char *keys);

/* The spec in such a note; false if it is another one. */
bool at_note_spec(const void *note, size_t size, char spec[WEIR_SPEC_MAX]);

struct at {
    struct remote *remote;
    struct remote_filter filter;
    bool found; /* it existed before this run */
};

/* Connect, and find the filter. make: create it from the options if it does not exist. False after
 * a message. */
bool at_connect(struct at *a, const struct options *o); /* without looking for it */
bool at_open(struct at *a, const struct options *o, bool make);
void at_close(struct at *a);

/* Run with the verdicts of that filter. ask: only look up the keys. settled: verdicts of the first
 * records, from at_resume(); or NULL. */
int at_run(struct at *a, struct run *r, bool ask, struct remote_settled *settled,
           struct tally *tally);

/* Open, run and close: for commands that create no filter and keep no state. */
int at_once(const struct options *o, struct run *r, bool ask, struct tally *tally);

/* Continue where the run of a state file stopped: its unanswered commands are settled first. False
 * after a message. */
struct at_state {
    struct state state;
    bool begun;      /* it has a position */
    char keys[1536]; /* how keys are made, and where the filter is */
    struct remote_settled settled;
};
bool at_resume(const struct at *a, const struct options *o, struct run *r, struct at_state *s);

/* weir info --at. */
int at_info(const struct options *o);

#endif
