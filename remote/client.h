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
 * One thread sends and receives (lanes.c); the others put commands into lanes and wait. One lock
 * guards everything here. */
#ifndef WEIR_REMOTE_CLIENT_H
#define WEIR_REMOTE_CLIENT_H

#include <pthread.h>

#include "remote.h"
#include "store/connection.h"
#include "store/url.h"

#define SLOTS 16384
#define REMOTE_DIGITS 16 /* of a number */
#define IN_FLIGHT 16     /* commands of a lane: servers remember this many numbers of a producer */
#define KEYS_MOST_ONCE 8192 /* keys of a command that has a number */
#define NODES_MOST 1024
#define REMOTE_PROTOCOL 1 /* of weir.so: see WEIR.INFO in docs/module.md */
#define FIRST_PAUSE 0.05  /* seconds before another attempt, then twice as long, up to */
#define LONGEST_PAUSE 1.0

enum command_state { COMMAND_QUEUED, COMMAND_SENT, COMMAND_ANSWERED, COMMAND_DONE };

struct remote_command {
    struct remote_command *next; /* in its lane */
    struct lane *lane;
    const char *text; /* serialized */
    size_t size;
    uint8_t *verdicts; /* NULL: a call, which has a reply */
    uint32_t n;
    redisReply *reply;
    uint32_t *outstanding; /* decremented when it is done */
    size_t number_at;      /* offset of its number in the text; 0: it has none */
    enum command_state state;
    bool writes;    /* wait for replicas */
    bool refusable; /* an error reply ends it without a reply: see refusal */
    bool restart;   /* refused, because its transfer was interrupted: begin that again */
    uint32_t sends; /* attempts that may have been carried out: not those with an error reply */
    double since;   /* when it became first of its lane; 0: not yet */

    struct remote_command *next_answered; /* on its connection: waits for replicas, */
    uint64_t wait;                        /* the WAIT that confirms them */
};

struct lane {
    char *key;
    uint32_t slot;
    struct remote_command *first, **end;
    uint32_t under_way;  /* sent, without a reply */
    uint32_t unfinished; /* those, and the ones that wait for replicas */
    bool again;          /* some must be sent again */
    bool answered;       /* a command succeeded since the start or the last resend */
    bool lost;           /* the key no longer exists */
    bool timed;          /* the time was sent at least once */
    struct node *asked;  /* the slot is migrating to this node (ASK); or NULL */
    double not_before, pause;
    uint64_t number; /* of the last numbered command */
};

/* The request of the next reply. */
struct expected_reply {
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
    struct remote_command *command;
    uint64_t wait; /* number of the WAIT on this node */
};

struct node {
    char *host;
    int port;      /* 0: host is the path of a socket */
    char name[96]; /* host and port, for messages */
    struct connection connection;
    struct expected_reply *expected; /* a ring buffer of `room` entries */
    size_t first, count, room;
    double alive;    /* time of the last reply, or of the first request after it */
    bool good;       /* at least one valid reply arrived */
    bool understood; /* the protocol of this connection is ours */
    unsigned attempts;
    double not_before, pause; /* of connecting */
    bool unwaited;            /* commands were sent since the last WAIT */
    uint64_t waits;
    struct remote_command *answered; /* waiting for replicas */
};

struct remote {
    struct url url;
    char *password;
    struct tls *tls; /* NULL: without TLS */
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
    bool registered;   /* this client created the register */

    double clock, last; /* seconds, without suspensions; the system clock at the last reading */
    struct node **node;
    uint32_t nodes, turn;
    struct node *owner[SLOTS]; /* NULL: unknown */
    bool known;                /* the owners were received */
    bool alone;                /* not a cluster */
    bool asking_slots;
    double slots_at; /* time of the next CLUSTER SLOTS */
    double asked_at; /* time of the last one */

    struct lane *lane; /* the first for the register, then one for each shard */
    uint32_t lanes;
    char spec[WEIR_SPEC_MAX]; /* of a shard; empty: unknown */
    char producer[40];
    struct remote_figures figures;
};

/* ---- nodes.c; the lock is held ---- */

/* Find or add the node at this address; NULL if out of memory. */
struct node *node_at(struct remote *r, const char *host, int port);

/* Connect unless it is connected, or has to pause. */
void node_connect(struct remote *r, struct node *n);
bool node_is_ready(const struct node *n);

/* Close the connection, with a reason. Commands in flight are sent again. node_lose() uses the
 * reason of the connection. If that will not pass, and no server has replied yet, the client fails.
 */
void node_lose(struct remote *r, struct node *n, const char *what);
void node_drop(struct remote *r, struct node *n, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void node_free(struct node *n);

/* Queue these bytes and expect a reply. False if out of memory. */
bool node_put(struct node *n, const char *bytes, size_t size, struct expected_reply e);

/* The same for a command in the format of hiredis, such as "AUTH %s". */
bool node_ask(struct node *n, struct expected_reply e, const char *format, ...);

/* Ask a node for the owners of all slots, if it is time. */
void slots_ask(struct remote *r);
void slots_soon(struct remote *r);

/* If a node does not reply, other nodes may own its slots: ask every second. */
void slots_doubt(struct remote *r);
bool slots_take(struct remote *r, const struct node *from, const redisReply *reply);

/* The slot of a key: the hash of the text between its first { and the next }, or of the whole key
 * if that is empty. */
uint32_t slot_of(const char *key, size_t size);

/* ---- lanes.c; the lock is held ---- */

/* Send a command again, after a pause or at once. */
void lane_again(struct remote *r, struct remote_command *c, bool pause);

/* Finish a command. */
void command_done(struct remote *r, struct remote_command *c);

/* ---- answers.c; the lock is held ---- */

/* Handle the replies that have arrived. False: the node was dropped. */
bool answers_take(struct remote *r, struct node *n);

/* ---- lanes.c ---- */

void *remote_loop(void *remote);

/* Count all time since the last reading of the clock as waiting. */
void remote_has_waited(struct remote *r);

/* Fail the client and wake all waiting threads. Secrets are removed from the text. */
void remote_give_up(struct remote *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same without the lock held. Returns false. */
bool remote_fail(struct remote *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- lanes.c; the lock is not held ---- */

/* A command that is sent as an array of words. */
struct call {
    struct remote_command command;
    char *text;
    uint32_t outstanding;
};
/* Put it into a lane. sizes: of the words; NULL: they are NUL-terminated. refusable: an error reply
 * does not fail the client. False if out of memory. */
bool call_begin(struct remote *r, struct call *c, uint32_t lane, int n, const char *const *words,
                const size_t *sizes, bool refusable);

/* Wait for its reply; NULL if the client failed. */
redisReply *call_finish(struct remote *r, struct call *c);
void call_free(struct call *c);

/* Wait until *outstanding is 0. False if the client failed. */
bool remote_wait(struct remote *r, const uint32_t *outstanding);

/* The keys of a batch. */
struct remote_batch {
    struct remote *r;
    struct remote_command *command;
    uint32_t commands, room;
    uint32_t outstanding;
    bool sent;
    char *text;
    size_t text_room;
    uint32_t *origin, *first; /* sorted by shard: index of each key; start of each shard */
    uint64_t *hash;           /* lo and hi of each */
    uint16_t *shard;
    uint8_t *verdict;
    uint32_t n, keys, keys_room; /* records; those that have a key */
};

/* Set the command's number: the time, but above the last number of its lane. A server that has
 * evicted producers requires numbers above theirs, which were made from clocks too. Numbers are
 * set when a command is first sent, so they increase in the order of the lane. */
#define REMOTE_NUMBER_MOST UINT64_C(9000000000000000)
void command_number(struct remote_command *c);

/* Put commands into their lanes, in order, and wake the thread. */
void remote_put(struct remote *r, struct remote_command *list, size_t count);

#endif
