/* remote.h - a filter that lives in Redis or Valkey servers with weir.so: alone, or a cluster.
 *
 * The filter NAME is in shards, the keys NAME:{0}, NAME:{1} and on, each a filter of its
 * part of the memory, spread over the slots of a cluster. The key NAME itself is a text that
 * says how many they are and what they are like: whoever comes first sets it, all others go by
 * it. Keys are hashed here, once, and sent as hashes.
 *
 * Everything is tried again until it goes well or the time is over: redirections are followed,
 * connections made anew. Commands that show keys are numbered, so that none is carried out
 * twice. No text that comes out of here holds a password.
 *
 * Threads: remote_batch_send() in the order of the stream; the rest from any, a batch from one
 * at a time. */
#ifndef WEIR_REMOTE_REMOTE_H
#define WEIR_REMOTE_REMOTE_H

#include <weir/saved.h>

#define REMOTE_SHARDS_MOST 1024
#define REMOTE_FORM "redis://USER:PASSWORD@HOST:PORT/NAME"

struct remote;

struct remote_options {
    double timeout;            /* seconds without an answer, after which it is given up */
    uint32_t replicas;         /* that must have what was shown before it counts; 0: none */
    bool (*interrupted)(void); /* whether the run is to end; may be NULL */
};

/* Connect. NULL and one message if the address is none, or nobody answers there. Several hosts may
 * stand in an address, with commas between. */
struct remote *remote_open(const char *url, const struct remote_options *options, char *why,
                           size_t size);
void remote_close(struct remote *r);

/* Nothing is sent or read any more: what batches and calls have under way may be freed. */
void remote_stop(struct remote *r);

/* The address without user and password. */
const char *remote_name(const struct remote *r);
const char *remote_key(const struct remote *r); /* the NAME in it */
bool remote_is_cluster(const struct remote *r);

/* Why it failed: a spec. From then on nothing goes any more. */
const char *remote_failure(const struct remote *r);

/* ---- the filter ---- */

/* What is there: the spec of the whole, completed, and its shards. */
struct remote_filter {
    char spec[WEIR_SPEC_MAX];
    uint32_t shards;
    char keys[WEIR_KEY_DESCRIPTION_MAX]; /* how keys were made, see weir_saved_key_description();
                                            has no semicolon */
};

/* Look for it: f->shards is 0 if it is not there. False if it failed. */
bool remote_look(struct remote *r, struct remote_filter *f);

/* Say that it is this one, unless another was quicker: look afterwards. False if it failed. */
bool remote_register(struct remote *r, const struct remote_filter *f);

/* Go by what was found. Shards that are not there are made, or that is a failure. Each must be of
 * this filter. False if it failed. */
bool remote_attach(struct remote *r, const struct remote_filter *f, bool make);

/* Figures of one shard. */
struct remote_shard {
    char node[96]; /* where it is */
    uint64_t memory, bytes, observed, seen, new_keys;
    double fill, error;
};
bool remote_measure(struct remote *r, struct remote_shard *list);

/* ---- keys ---- */

struct remote_batch;
struct remote_batch *remote_batch_open(struct remote *r); /* NULL: memory is short */
void remote_batch_close(struct remote_batch *b);

/* What is to be done with keys. */
struct remote_keys {
    const struct weir_key *keys;
    const uint8_t *skip; /* those that are not 0 have no key; NULL: all have one */
    uint32_t n;
    bool weighted;         /* importance counts */
    bool ask;              /* without showing them */
    const uint64_t *times; /* of each, in milliseconds; NULL: the servers' clocks count */
    uint64_t begun;        /* with times: what time it is at the first */
};

/* Make commands of them. False if memory is short. */
bool remote_batch_fill(struct remote_batch *b, const struct remote_keys *keys);
void remote_batch_send(struct remote_batch *b);

/* Wait for the verdicts, and put each where its key was; others are left as they are. False
 * if the client has failed, and none is put. */
bool remote_batch_take(struct remote_batch *b, uint8_t *verdicts);

/* ---- a client that has failed ---- */

/* Bytes by which a later run finds out what became of commands that were sent. */
struct remote_kept {
    uint8_t *data;
    size_t size, room;
};

/* Add a batch that was sent, when the client has failed: batches in the order of the stream.
 * False if memory is short. */
bool remote_keep(struct remote_kept *k, const struct remote_batch *b);

/* Verdicts of the keys of these batches, in the order of the stream. */
struct remote_settled {
    struct remote_verdict {
        uint64_t lo, hi; /* of the key */
        uint8_t verdict;
    } * list;
    size_t n;
};

/* Add those from this one on, before any batch: no record of theirs was passed yet. False if memory
 * is short. */
bool remote_keep_settled(struct remote_kept *k, const struct remote_settled *s, size_t from);

/* Ask for those that are not known, under the numbers they had: what was carried out then is only
 * answered again. False if it failed, or the bytes are none of these (then the failure is empty).
 * The list is to be freed. */
bool remote_settle(struct remote *r, const uint8_t *data, size_t size, struct remote_settled *s);

/* ---- files ---- */

/* A shard as a file of weir, as it is at this moment; the data is used again, and to be freed at
 * the end. False if it failed. */
bool remote_fetch(struct remote *r, uint32_t shard, struct remote_kept *image);

/* Before the filter is there: it will have so many shards; and make one of a file of weir. */
void remote_expect(struct remote *r, uint32_t shards);
bool remote_bring(struct remote *r, uint32_t shard, const uint8_t *data, size_t size);

/* ---- what happened ---- */

struct remote_figures {
    uint64_t commands;     /* that showed or asked keys, */
    uint64_t retries;      /* sent again */
    uint64_t redirections; /* MOVED and ASK */
    uint64_t reconnects;
    uint64_t lost; /* shards that were gone and made anew */
};
struct remote_figures remote_figures(struct remote *r);

#endif
