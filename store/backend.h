/* backend.h - a store from inside: what each kind of it does, and what all of them
 * share. A store says how one attempt goes; trying again, pausing, giving up and
 * telling are written once, in api.c. */
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
    void *own; /* what the store keeps */
    struct store_options options;
    struct url url;
    double deadline; /* of this attempt, by store_now() */
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
    const char *scheme;                   /* "sqlite", with its colon a prefix of URLs */
    const char *also;                     /* another spelling, or NULL */
    const char *form;                     /* "sqlite:FILE?table=T&column=C" */
    const char *const *parameters;        /* names after the question mark; ends with NULL */
    bool (*knows)(const char *parameter); /* of further names; may be NULL */

    bool (*open)(struct store *o);            /* own, from the URL; asks nobody */
    enum outcome (*connect)(struct store *o); /* unless it is; and look whether all is there */
    void (*disconnect)(struct store *o);
    enum outcome (*answer)(struct store *o, const struct weir_bytes *keys, size_t n,
                           uint8_t *answers); /* sets those that it knows */
    enum outcome (*size)(struct store *o, uint64_t *keys);
    enum outcome (*list)(struct store *o, store_taker take, void *context);
    void (*close)(struct store *o); /* frees own */
};

extern const struct backend backend_sqlite, backend_postgres, backend_redis, backend_keys;

double store_now(void); /* seconds of a clock that never jumps */

/* Note why it failed, without secrets and line breaks; returns the outcome. */
enum outcome store_fail(struct store *o, enum outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Is this attempt's time over? Then that is the failure. */
bool store_late(struct store *o);

/* More time, since something was achieved. */
void store_extend(struct store *o);

/* Wait for a descriptor: the events that came. 0 after store_fail(). */
int store_wait(struct store *o, int fd, int events);

#endif
