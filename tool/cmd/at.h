/* at.h - filters that live in servers (--at). */
#ifndef WEIR_CMD_AT_H
#define WEIR_CMD_AT_H

#include "cmd/run.h"
#include "remote/remote.h"
#include "verdict/by_remote.h"

#define AT_NOT_ON_FULL "--on-full stop does not go with --at; 'weir info --at' tells how full it is"

/* The note of a file of weir save: this, the spec of the whole, and "\nkeys=" with how keys
 * were made, if that is to be said. */
#define AT_NOTE_HEAD "weir at 1\nconfig="

struct at {
    struct remote *remote;
    struct remote_filter filter;
    bool found; /* it was there before this run */
};

/* Connect, and find the filter. make: as the options want it, if it is not there. False after a
 * message. */
bool at_connect(struct at *a, const struct options *o); /* without looking for it */
bool at_open(struct at *a, const struct options *o, bool make);
void at_close(struct at *a);

/* Run it with verdicts of that filter, which is shown the keys or only asked. settled: of the first
 * records, by at_resume(); or NULL. */
int at_run(struct at *a, struct run *r, bool ask, struct remote_settled *settled,
           struct tally *tally);

/* Go on where the run of a state file stopped: what it had sent is settled first. False after a
 * message. */
struct at_state {
    struct state state;
    bool begun;      /* it says where to go on */
    char keys[1536]; /* how they are made, and where the filter is */
    struct remote_settled settled;
};
bool at_resume(const struct at *a, const struct options *o, struct run *r, struct at_state *s);

/* weir info --at. */
int at_info(const struct options *o);

#endif
