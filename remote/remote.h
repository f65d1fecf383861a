/* remote.h - a filter in Redis or Valkey servers with weir.so: one server, or a cluster.
 *
 * The filter NAME consists of shards: the keys NAME:{0}, NAME:{1}, ..., each a filter with its
 * share of the memory, spread over the slots of a cluster. The key NAME is the register, a text
 * with the number of shards and the spec. The first client sets it; all others use it. Keys are
 * hashed here, once, and sent as hashes.
 *
 * The client retries until it succeeds or times out: it follows redirections and reconnects.
 * Commands that insert keys are numbered, so that none is carried out twice. No text that is
 * returned contains a password.
 *
 * Thread safety: remote_batch_send() in the order of the stream; all other calls from any thread,
 * a batch from one at a time. */
#ifndef WEIR_REMOTE_REMOTE_H
#define WEIR_REMOTE_REMOTE_H

#include <weir/saved.h>

#define REMOTE_SHARDS_MOST 1024
#define REMOTE_FORM                                                                                \
    "redis://USER:PASSWORD@HOST:PORT/NAME, rediss:// for TLS or redis+unix:///SOCKET/NAME"

struct remote;

struct remote_options {
    double timeout;            /* seconds without a reply before it gives up */
    uint32_t replicas;         /* that must acknowledge a write; 0: none */
    bool (*interrupted)(void); /* whether to stop early; may be NULL */
};

/* Connect. NULL and one message if the address is invalid. An address may list several hosts,
 * separated by commas. */
struct remote *remote_open(const char *url, const struct remote_options *options, char *why,
                           size_t size);
void remote_close(struct remote *r);

/* Stop sending and receiving: batches and calls in flight may be freed afterwards. */
void remote_stop(struct remote *r);

/* The address without user and password. */
const char *remote_name(const struct remote *r);
const char *remote_key(const struct remote *r); /* the NAME in it */
bool remote_is_cluster(const struct remote *r);

/* The message of the failure that ended the client; empty if there was none. */
const char *remote_failure(const struct remote *r);

/* ---- the filter ---- */

/* The register: the complete spec of the whole filter, and its shards. */
struct remote_filter {
    char spec[WEIR_SPEC_MAX];
    uint32_t shards;
    char keys[WEIR_KEY_DESCRIPTION_MAX]; /* see weir_saved_key_description(); no semicolon */
};

/* Read the register: f->shards is 0 if there is none. False if the client failed. */
bool remote_look(struct remote *r, struct remote_filter *f);

/* Write the register unless another client was first: read it again afterwards. False if the
 * client failed. */
bool remote_register(struct remote *r, const struct remote_filter *f);

/* Use the filter of this register. `make`: create missing shards; otherwise they are a failure.
 * Checks the spec of every shard. False if the client failed. */
bool remote_attach(struct remote *r, const struct remote_filter *f, bool make);

/* Statistics of one shard. */
struct remote_shard {
    char node[96]; /* that has it: host and port */
    uint64_t memory, bytes, observed, seen, new_keys;
    double fill, error;
};
bool remote_measure(struct remote *r, struct remote_shard *list);

/* ---- keys ---- */

struct remote_batch;
struct remote_batch *remote_batch_open(struct remote *r); /* NULL: out of memory */
void remote_batch_close(struct remote_batch *b);

/* Keys to insert or to query. */
struct remote_keys {
    const struct weir_key *keys;
    const uint8_t *skip; /* nonzero: this record has no key; NULL: all have one */
    uint32_t n;
    bool weighted;         /* send the importance of each key */
    bool ask;              /* query without inserting */
    const uint64_t *times; /* of each, in milliseconds; NULL: use the servers' clocks */
    uint64_t begun;        /* with times: the start time of the stream */
    const uint64_t *ttls;  /* of each, in milliseconds; NULL: the longest */
};

/* Format their commands. False if out of memory. */
bool remote_batch_fill(struct remote_batch *b, const struct remote_keys *keys);
void remote_batch_send(struct remote_batch *b);

/* Wait for the verdicts and store each at the index of its key; other elements are unchanged. False
 * if the client has failed; then nothing is stored. */
bool remote_batch_take(struct remote_batch *b, uint8_t *verdicts);

/* ---- a client that has failed ---- */

/* A buffer from which a later run settles the commands that were sent. */
struct remote_kept {
    uint8_t *data;
    size_t size, room;
};

/* After a failure, append a batch that was sent; batches in the order of the stream. False if
 * out of memory. */
bool remote_keep(struct remote_kept *k, const struct remote_batch *b);

/* Verdicts of the keys of these batches, in the order of the stream. */
struct remote_settled {
    struct remote_verdict {
        uint64_t lo, hi; /* of the key */
        uint8_t verdict;
    } * list;
    size_t n;
};

/* Append the verdicts from index `from` on, before any batch: their records were not passed yet.
 * False if out of memory. */
bool remote_keep_settled(struct remote_kept *k, const struct remote_settled *s, size_t from);

/* Send the commands without a reply again, with their numbers: the server returns the first reply
 * of those that it carried out. False if the client failed, or the data is invalid (then the
 * failure is empty). The caller frees the list. */
bool remote_settle(struct remote *r, const uint8_t *data, size_t size, struct remote_settled *s);

/* ---- files ---- */

/* Fetch a shard as a weir file. The buffer is reused by the next call; the caller frees it at the
 * end. False if the client failed. */
bool remote_fetch(struct remote *r, uint32_t shard, struct remote_kept *image);

/* Create a filter from files: set the number of shards, then load each shard. */
void remote_expect(struct remote *r, uint32_t shards);
bool remote_bring(struct remote *r, uint32_t shard, const uint8_t *data, size_t size);

/* ---- counters ---- */

struct remote_figures {
    uint64_t commands;     /* that inserted or queried keys */
    uint64_t retries;      /* sent again */
    uint64_t redirections; /* MOVED and ASK */
    uint64_t reconnects;
    uint64_t lost; /* shards that were lost and created again, empty */
};
struct remote_figures remote_figures(struct remote *r);

#endif
