/* job.h - work on large values in a thread, while the server serves other clients.
 *
 * A command with more than JOB_SMALL bytes of work blocks its client and runs in a thread, which
 * reads values and builds new ones but does not touch the keyspace. Until the command has
 * finished, commands that would change one of these values reply WEIRBUSY. A value that is deleted
 * meanwhile is freed at the end. The result takes effect on the server's thread, in finish(), if
 * all keys still have the same values in the same state.
 *
 * In MULTI and in scripts, where a client cannot be blocked, the work is done at once if it is at
 * most JOB_ATOMIC bytes. Commands from a master or an AOF are always carried out at once.
 *
 * COPY of a large value returns at once. A thread copies the contents; until it has finished,
 * reads of the new value use the old one, and commands that would change either reply WEIRBUSY.
 * Commands from a master or an AOF wait for the thread. */
#ifndef MODULE_JOB_H
#define MODULE_JOB_H

#include "value/value.h"

#define JOB_SMALL ((uint64_t)8 << 20)
#define JOB_ATOMIC ((uint64_t)64 << 20)

struct job_input {
    int argument;        /* index of the key in the command */
    struct value *value; /* NULL: there must be no such key */
    uint64_t changes;
};

/* Begins the structure of a command. The functions are set by the caller of job_open(). */
struct job {
    /* In a thread, if `threaded`. */
    void (*run)(struct job *job);

    /* Reply, and put the result in place. Not called if an input has changed. */
    void (*finish)(struct rm_ctx *ctx, struct rm_string **argv, int argc, struct job *job);

    /* Free what finish() did not use; may be NULL. */
    void (*discard)(struct job *job);

    bool reads; /* it changes no key, so a replica may finish it */
    bool threaded;
    struct rm_blocked *client;
    struct job_input *inputs;
    size_t n, room;
};

/* A zeroed job of this size, for at most n inputs. NULL after an error reply. */
void *job_open(struct rm_ctx *ctx, size_t size, size_t n);
void job_add_input(struct job *job, int argument, struct value *v);
void job_close(struct job *job);

/* Run, finish and close a job that works on this many bytes. */
int job_start(struct rm_ctx *ctx, struct rm_string **argv, int argc, struct job *job,
              uint64_t bytes);

/* A new value whose contents a thread copies from this one; NULL if out of memory. */
struct value *copy_start(struct value *from);

#endif
