/* store.h - a store from inside: what each kind of it does, and what all of them
 * share. A store says how one attempt goes; trying again, pausing, giving up and
 * telling are written once, in oracle.c. */
#ifndef WEIR_STORE_KIND_H
#define WEIR_STORE_KIND_H

#include "oracle.h"
#include "url.h"

enum outcome {
    STORE_OK,
    STORE_AGAIN,  /* may go well another time: lost, late, busy */
    STORE_REFUSED /* will not: no such table, wrong password */
};

struct oracle {
    const struct store *store;
    void *own; /* what the store keeps */
    struct oracle_options options;
    struct url url;
    double deadline; /* of this attempt, by oracle_now() */
    bool gave_up;    /* the last time */
    bool unlisted;   /* list=no */
    struct oracle_stats stats;
    char failure[640];

    struct weir_bytes *pending; /* keys not yet answered, */
    uint8_t *answer;            /* what is said of them, */
    uint32_t *origin;           /* and whose they are */
    size_t room;
};

struct store {
    const char *scheme;                   /* "sqlite", with its colon a prefix of URLs */
    const char *also;                     /* another spelling, or NULL */
    const char *form;                     /* "sqlite:FILE?table=T&column=C" */
    const char *const *parameters;        /* names after the question mark; ends with NULL */
    bool (*knows)(const char *parameter); /* of further names; may be NULL */

    bool (*open)(struct oracle *o);            /* own, from the URL; asks nobody */
    enum outcome (*connect)(struct oracle *o); /* unless it is; and look whether all is there */
    void (*disconnect)(struct oracle *o);
    enum outcome (*answer)(struct oracle *o, const struct weir_bytes *keys, size_t n,
                           uint8_t *answers); /* sets those that it knows */
    enum outcome (*size)(struct oracle *o, uint64_t *keys);
    enum outcome (*list)(struct oracle *o, oracle_taker take, void *context);
    void (*close)(struct oracle *o); /* frees own */
};

extern const struct store store_sqlite, store_postgres, store_redis, store_keys;

double oracle_now(void); /* seconds of a clock that never jumps */

/* Note why it failed, without secrets and line breaks; returns the outcome. */
enum outcome oracle_fail(struct oracle *o, enum outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Is this attempt's time over? Then that is the failure. */
bool oracle_late(struct oracle *o);

/* More time, since something was achieved. */
void oracle_extend(struct oracle *o);

/* Wait for a descriptor: the events that came. 0 after oracle_fail(). */
int oracle_wait(struct oracle *o, int fd, int events);

#endif
