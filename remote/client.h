/* client.h - the inside of the client of remote.h.
 *
 * A lane is the queue of all commands for one key. They are sent in order, several at once, to
 * the node that owns the key's slot, and answered in order. A command is sent again after a
 * redirection, a transient error or a lost connection, and those behind it in the lane after it.
 * Commands that change something have a number (ONCE): if one was carried out already, the
 * server returns its first reply.
 *
 * Each connection begins with WEIR.INFO, which reports the protocol of the module. Lanes send
 * nothing to a node before the protocol is known to be REMOTE_PROTOCOL.
 *
 * One thread sends and receives (loop.c); the others put commands into lanes and wait. One lock
 * guards everything here. */
#ifndef WEIR_REMOTE_CLIENT_H
#define WEIR_REMOTE_CLIENT_H

#include <pthread.h>

#include "connection.h"
#include "remote.h"
#include "slot.h"
#include "store/url.h"

#define REMOTE_DIGITS 16    /* of a number */
#define IN_FLIGHT 16        /* commands of a lane: so many numbers of a producer are remembered */
#define KEYS_MOST_ONCE 8192 /* keys of a command that has a number */
#define NODES_MOST 1024
#define REMOTE_PROTOCOL 1 /* of weir.so: see WEIR.INFO in docs/module.md */
#define FIRST_PAUSE 0.05  /* seconds before another attempt, then twice as long, up to */
#define LONGEST_PAUSE 1.0

enum command_state { COMMAND_QUEUED, COMMAND_SENT, COMMAND_ANSWERED, COMMAND_DONE };

struct command {
    struct command *next; /* in its lane */
    struct lane *lane;
    const char *text; /* as it is sent */
    size_t size;
    uint8_t *verdicts; /* NULL: a call, which has a reply */
    uint32_t n;
    redisReply *reply;
    uint32_t *outstanding; /* counted down when it is done */
    size_t number_at; /* where its number stands in the text, of REMOTE_DIGITS; 0: it has none */
    enum command_state state;
    bool writes;    /* replicas are waited for */
    bool refusable; /* an error reply ends it without a reply: see refusal */
    uint32_t sends; /* how often it was sent */
    double since;   /* when it was its turn; 0: it was not yet */

    struct command *next_answered; /* on its connection: waits for replicas, */
    uint64_t wait;                 /* of which this WAIT will tell */
};

struct lane {
    char *key;
    uint32_t slot;
    struct command *first, **end;
    uint32_t under_way;  /* sent, and without a reply */
    uint32_t unfinished; /* those, and the ones that wait for replicas */
    bool again;          /* some are to be sent once more */
    bool lost;           /* the key is not there any more */
    bool told;           /* what time it is, at least once */
    struct node *asked;  /* the slot is on its way to this node; or NULL */
    double not_before, pause;
    uint64_t number; /* of the last command that has one */
};

/* What a reply is to. */
struct expected {
    enum expected_kind {
        TO_COMMAND,
        TO_LOGIN,
        TO_PROTOCOL,
        TO_GETKEYS,
        TO_ASKING,
        TO_CREATE,
        TO_WAIT,
        TO_SLOTS
    } kind;
    struct command *command;
    uint64_t wait; /* its number, of the node's */
};

struct node {
    char *host;
    int port;
    char name[96]; /* host and port, for people */
    struct connection connection;
    struct expected *expected; /* a ring of room entries */
    size_t first, count, room;
    double alive;    /* when something came last, or was first waited for */
    bool good;       /* at least one valid reply arrived */
    bool understood; /* the protocol of this connection is ours */
    unsigned attempts;
    double not_before, pause; /* of connecting */
    bool unwaited;            /* commands were sent since the last WAIT */
    uint64_t waits;
    struct command *answered; /* waiting for replicas */
};

struct remote {
    struct url url;
    char *password;
    struct remote_options options;

    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int wake; /* an eventfd */
    bool closing, failed;
    bool answered; /* some node has sent a valid reply */
    char failure[480];
    char problem[400]; /* the latest transient error */
    char refusal[480]; /* error reply to a refusable command; empty: none */
    bool registered;   /* the register is there because of us */

    double clock, last; /* seconds of patience that have gone by; the system's when it was read */
    struct node **node;
    uint32_t nodes, turn;
    struct node *owner[SLOTS]; /* NULL: nobody has it, as far as is known */
    bool known;                /* owners were told */
    bool alone;                /* no cluster */
    bool asking_slots;
    double slots_at; /* when to ask for them next, */
    double asked_at; /* and when that was done last */

    struct lane *lane; /* the first for the name itself, then one for each shard */
    uint32_t lanes;
    char spec[WEIR_SPEC_MAX]; /* of a shard; empty: not known */
    char producer[40];
    struct remote_figures figures;
};

/* ---- nodes.c; the lock is held ---- */

/* The node at this address, which may be a new one; NULL if memory is short. */
struct node *node_at(struct remote *r, const char *host, int port);

/* See to it that there is a connection, or soon will be. */
void node_connect(struct remote *r, struct node *n);
bool node_is_ready(const struct node *n);

/* Close its connection: what was under way goes again. The format says why. */
void node_drop(struct remote *r, struct node *n, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void node_free(struct node *n);

/* Send these bytes, and expect a reply. False if memory is short. */
bool node_put(struct node *n, const char *bytes, size_t size, struct expected e);

/* Ask one of them who has which slots, if it is time for it. */
void slots_ask(struct remote *r);
void slots_soon(struct remote *r);

/* Others may have the slots of a node that does not answer: ask every second. */
void slots_doubt(struct remote *r);
bool slots_take(struct remote *r, const struct node *from, const redisReply *reply);

/* ---- lanes.c; the lock is held ---- */

void lane_add(struct lane *l, struct command *c);
void lane_remove(struct lane *l, struct command *c);

/* Send what can be sent. */
void lane_send(struct remote *r, struct lane *l);

/* It is to be sent once more, after a pause or at once. */
void lane_again(struct remote *r, struct command *c, bool pause);

/* All of a command has been done. */
void command_done(struct remote *r, struct command *c);

/* ---- answers.c; the lock is held ---- */

/* Take the replies that have come. False: the node was dropped. */
bool answers_take(struct remote *r, struct node *n);

/* ---- loop.c ---- */

void *remote_loop(void *remote);

/* All time since the clock was read last was waited for somebody. */
void remote_has_waited(struct remote *r);

/* Fail the client and wake all waiting threads. Secrets are removed from the text. */
void remote_give_up(struct remote *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same text without secrets; NULL if memory is short. */
char *remote_tidy(const struct remote *r, const char *text);

/* ---- calls.c; the lock is not held ---- */

/* A command on a lane: words as they are sent. */
struct call {
    struct command command;
    char *text;
    uint32_t outstanding;
};
bool call_begin(struct remote *r, struct call *c, uint32_t lane, int n, const char *const *words,
                const size_t *sizes);

/* The same, and a server may refuse it. */
bool call_try(struct remote *r, struct call *c, uint32_t lane, int n, const char *const *words,
              const size_t *sizes);

/* Its reply, NULL if the client failed meanwhile. */
redisReply *call_finish(struct remote *r, struct call *c);
void call_free(struct call *c);

/* Wait until all are done. False if the client failed. */
bool remote_wait(struct remote *r, const uint32_t *outstanding);

/* The keys of a batch. */
struct remote_batch {
    struct remote *r;
    struct command *command;
    uint32_t commands, room;
    uint32_t outstanding;
    bool sent;
    char *text;
    size_t text_room;
    uint32_t *origin, *first; /* shard by shard: the place of each key; where shards begin */
    uint64_t *hash;           /* lo and hi of each */
    uint16_t *shard;
    uint8_t *verdict;
    uint32_t n, keys, keys_room; /* records, of which so many have a key */
};

/* Give it a number above this one, and above the last of its lane; the lock is held. */
#define REMOTE_NUMBER_MOST UINT64_C(9000000000000000)
void command_number(struct command *c, uint64_t above);

/* Put commands into their lanes, in order, and wake the thread. */
void remote_put(struct remote *r, struct command *list, size_t count);

#endif
