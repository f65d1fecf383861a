/* backend.h - a store from inside: what each kind of it does, and what all of them
 * share. A backend says how one attempt goes; trying again, pausing and giving up are
 * written once, in retry.c, what is said of a failure in failure.c. */
#ifndef WEIR_STORE_BACKEND_H
#define WEIR_STORE_BACKEND_H

#include "store.h"
#include "url.h"

enum outcome {
    STORE_OK,
    STORE_AGAIN,  /* may go well another time: lost, late, busy */
    STORE_REFUSED /* will not: no such table, wrong password */
};

struct store {
    const struct backend *backend;
    void *own; /* what the backend keeps */
    struct store_options options;
    struct url url;
    double deadline; /* of this attempt, by store_now() */
    bool opened;     /* it was there, once */
    bool gave_up;    /* the last time */
    bool unlisted;   /* list=no */
    struct store_stats stats;
    char failure[640];

    struct weir_bytes *pending; /* keys not yet answered, */
    uint8_t *answer;            /* what is said of them, */
    uint32_t *origin;           /* and whose they are */
    size_t room;
};

struct backend {
    const char *scheme;                   /* "sqlite", with its colon a prefix of addresses */
    const char *also;                     /* another spelling, or NULL */
    const char *form;                     /* "sqlite:FILE?table=T&column=C" */
    bool network;                         /* its place is //HOST/PATH, not a file */
    const char *const *parameters;        /* names that may be shown; ends with NULL */
    bool (*knows)(const char *parameter); /* of further names; may be NULL */

    bool (*open)(struct store *store);            /* own, from the address; asks nobody */
    enum outcome (*connect)(struct store *store); /* unless it is; and look if all is there */
    void (*disconnect)(struct store *store);
    enum outcome (*answer)(struct store *store, const struct weir_bytes *keys, size_t n,
                           uint8_t *answers); /* sets those that it knows */
    enum outcome (*size)(struct store *store, uint64_t *keys);
    enum outcome (*list)(struct store *store, store_taker take, void *context);
    void (*close)(struct store *store); /* frees own */
};

extern const struct backend backend_sqlite, backend_postgres, backend_redis, backend_keys;

/* ---- failure.c ---- */

/* Note why it failed, without secrets and line breaks; returns the outcome. */
enum outcome store_fail(struct store *store, enum outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, for good: false. */
bool store_refuse(struct store *store, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Add how often it was tried, if more than once. */
void store_count_tries(struct store *store, unsigned tries);

/* ---- retry.c ---- */

double store_now(void); /* seconds of a clock that never jumps */

/* Is this attempt's time over? Then that is the failure. */
bool store_late(struct store *store);

/* More time, since something was achieved. */
void store_extend(struct store *store);

/* Wait for a descriptor: the events that came. 0 after store_fail(). */
int store_wait(struct store *store, int fd, int events);

/* Connect and act, again and again until that goes well or is given up. */
typedef enum outcome (*attempt)(struct store *store, void *work);
bool store_try(struct store *store, attempt act, void *work);

#endif
