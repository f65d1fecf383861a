/* backend.h - the interface of a store type. A backend implements one attempt; retry.c retries,
 * pauses and formats failures. */
#ifndef WEIR_STORE_BACKEND_H
#define WEIR_STORE_BACKEND_H

#include <weir.h>

#include "store.h"
#include "url.h"

enum outcome {
    STORE_OK,
    STORE_AGAIN,  /* transient: connection lost, timeout, busy */
    STORE_REFUSED /* permanent: no such table, wrong password */
};

struct store {
    const struct backend *backend;
    void *own; /* data of the backend */
    struct store_options options;
    struct url url;
    double deadline; /* of this attempt, by store_now() */
    bool opened;     /* it was reached once */
    bool gave_up;    /* the last call failed */
    bool unlisted;   /* list=no, or hashed */
    struct store_stats stats;
    char failure[640];
};

struct backend {
    const char *scheme;                   /* "sqlite", with its colon a prefix of addresses */
    const char *also[2];                  /* other spellings, or NULL */
    const char *form;                     /* "sqlite:FILE?table=T&column=C" */
    bool network;                         /* its place is //HOST/PATH, not a file */
    bool hashed;                          /* it has hashes of keys, and filters of its own */
    const char *const *parameters;        /* names whose values are not secret; NULL-terminated */
    bool (*knows)(const char *parameter); /* further names; may be NULL */

    bool (*open)(struct store *store); /* set own from the address; does not connect */
    /* Unless connected; check that the set exists. NULL: nothing to do. */
    enum outcome (*connect)(struct store *store);
    void (*disconnect)(struct store *store); /* or NULL */
    enum outcome (*answer)(struct store *store, const struct weir_bytes *keys, size_t n,
                           uint8_t *answers); /* all, if it succeeds */
    enum outcome (*size)(struct store *store, uint64_t *keys);
    enum outcome (*list)(struct store *store, store_taker take, void *context); /* NULL if hashed */
    const void *(*note)(const struct store *store, size_t *size); /* see store_note(); or NULL */
    void (*close)(struct store *store);                           /* frees own */
};

extern const struct backend backend_sqlite, backend_postgres, backend_redis, backend_keys,
    backend_exact;

/* delimiter= of an open store of this type. */
char keyfile_delimiter(const struct store *store);

/* The name and version of libpq. */
const char *postgres_library(void);

/* ---- retry.c ---- */

/* Record why it failed, without secrets and line breaks. Returns the outcome. */
enum outcome store_fail(struct store *store, enum outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a permanent failure. False. */
#define store_refuse(store, ...) (store_fail(store, STORE_REFUSED, __VA_ARGS__) == STORE_OK)

void store_disconnect(struct store *store);

double store_now(void); /* seconds, monotonic */

/* Has the deadline of this attempt passed? Records that as the failure. */
bool store_late(struct store *store);

/* Extend the deadline after progress. */
void store_extend(struct store *store);

/* Wait for a descriptor. Returns its events; 0 after store_fail(). */
int store_wait(struct store *store, int fd, int events);

/* Connect and act, with retries. False if it failed. */
typedef enum outcome (*attempt)(struct store *store, void *work);
bool store_try(struct store *store, attempt act, void *work);

/* ---- a blocking call on its own thread, such as resolving a host name, so that an attempt can
 * time out: background.c ---- */

struct background;

/* Start act() with a copy of the text. discard() frees its result if nobody takes it. NULL if out
 * of memory. */
struct background *background_start(void *(*act)(const char *text), void (*discard)(void *result),
                                    const char *text);

/* Wait until it ends. False if the deadline of the attempt passes first; then wait again or abandon
 * it. Otherwise the caller owns the result. */
bool background_wait(struct store *store, struct background **work, void **result);

/* Stop waiting; it ends on its own. *work may be NULL. */
void background_abandon(struct background **work);

/* ---- an exact hash table of keys that are not copied, 16 bytes per key: key_index.c ---- */

/* The key of a number. */
typedef struct weir_bytes (*index_key)(const void *context, uint64_t number);

struct key_index {
    struct index_slot *slot;
    size_t mask;
    weir_filter *hasher; /* only for its keyed hash, with a random seed */
    index_key key;
    const void *context;
};

/* Allocate for this number of keys. False if out of memory. */
bool index_open(struct key_index *x, size_t keys, index_key key, const void *context);
void index_close(struct key_index *x);

/* Clear it, and allocate for this number of keys. */
bool index_reset(struct key_index *x, size_t keys);

/* Of equal keys, the first one added is found. */
void index_add(struct key_index *x, uint64_t number);
bool index_find(const struct key_index *x, struct weir_bytes key, uint64_t *number);

/* Compare bytes, as memcmp() does. */
int index_compare(struct weir_bytes a, struct weir_bytes b);

#endif
