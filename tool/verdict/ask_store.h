/* ask_store.h - look up the keys of a batch in a store, through a screen, and handle records for
 * which the store has no answer. */
#ifndef WEIR_VERDICT_ASK_STORE_H
#define WEIR_VERDICT_ASK_STORE_H

#include <weir/screen.h>

#include "cli/option_groups.h"
#include "cli/inputs.h"
#include "pipe/batch.h"
#include "store/store.h"
#include "verdict/verdict.h"
#include "cli/filter_request.h"

struct asker;

/* Open the store of a URL, for the keys of these records, which must outlive it. NULL after a
 * message. */
struct asker *asker_open(const char *url, const struct store_patience *p, const struct records *r);
void asker_close(struct asker *a);
struct store *asker_store(const struct asker *a);

/* The file of keys of --keys: FILE, or keys:FILE?field=1&delimiter=:, which changes how its lines
 * are read. False after a message. */
bool list_of_keys(const char *text, struct records *lines, const char **path);

/* Print notes on the lines of a file of keys that were left out. */
void asker_tell_list(const struct asker *a);

/* Its URL without secrets. */
const char *asker_name(const struct asker *a);

/* About how many keys it holds; false if unknown. */
bool asker_size(const struct asker *a, uint64_t *keys);

/* weir_screen_check() for keys with a time each: as if weir_screen_advance() were called before
 * each key, but keys in one step of the screen's time are checked together. */
struct timed_keys {
    uint32_t n;
    const struct weir_bytes *key;
    const uint64_t *time;
};
size_t screen_check_at(weir_screen *screen, const struct timed_keys *k, uint64_t span,
                       weir_screen_store store, void *context, uint8_t *answers);

/* Set the store's verdict for records, WEIR_SEEN for members and WEIR_NEW for others: for all good
 * records, or only for those whose verdict is WEIR_SEEN so far. If the store does not answer, --on-
 * store-error selects whether the batch fails there or the verdict is VERDICT_UNKNOWN. span: the
 * screen's, to advance it to the time of each record; 0: it has none. */
void asker_ask_all(struct asker *a, weir_screen *screen, struct batch *b, uint64_t span);
void asker_ask_seen(struct asker *a, weir_screen *screen, struct batch *b);

/* Print how many records it did not answer, if any. */
void asker_report(const struct asker *a, uint64_t unanswered);

/* If the store confirms a filter's hits: were at least half of them refuted, so that asker_doubt()
 * may have something to report? */
bool asker_refuted_most(const struct asker *a);

/* Warn if more hits were refuted than false positives explain. others: records that are no
 * members; error: the filter's error rate. */
void asker_doubt(const struct asker *a, uint64_t others, double error);

/* The names and versions of the libraries for stores, as text. */
void ask_store_libraries(char *text, size_t size);

/* ---- a filter whose hits the store confirms ---- */

struct confirming {
    struct asker *asker;
    weir_screen *screen; /* asks the store for all keys, each once per batch */
};

/* Open the store of a URL. False after a message; it is to be closed then too. */
bool confirming_open(struct confirming *c, const char *url, const struct store_patience *p,
                     const struct records *r);
void confirming_close(struct confirming *c);

/* The verdicts of a filter, confirmed. */
struct verdict verdict_confirmed(struct verdict filter, struct confirming *c);

/* ---- a file of networks as an exact set, for filter --strict and check with --cidr:
 * network_list.c ---- */

/* What was read. */
struct network_list_counts {
    const struct records *records; /* how lines are read */
    uint64_t networks, skipped, masked;
    uint64_t skipped_line, masked_line; /* the first */
};

/* For store_options.set, with `how` a struct network_list_counts. A key is in the set if its
 * address or network is inside one network of the file. */
extern const struct store_set network_list_set;

/* Print notes on skipped and masked lines. */
void network_list_tell(const struct network_list_counts *c, const char *name);

/* ---- the verdicts of 'weir check': by_screen.c ---- */

struct screening {
    struct asker *asker;
    weir_screen *screen;
    char config[WEIR_SPEC_MAX];      /* of the screen */
    struct weir_screen_stats before; /* counts of earlier runs, with a state */
    uint64_t loaded;                 /* keys loaded before the run */
    double loading;                  /* seconds that took */
    weir_filter *set;                /* all keys of the store, if they are stored separately */
    uint64_t span;                   /* milliseconds after which verdicts are old; 0: never */
};

/* Use both. Loads all keys of the store if the screen holds a set. False after a message. */
bool screening_open(struct screening *s, struct asker *asker, weir_screen *screen);
void screening_close(struct screening *s); /* the screen too */

/* Warn if the store refuted more hits of the set than its error rate explains. */
void screening_doubt(const struct screening *s, const struct tally *t);

struct verdict verdict_by_screen(struct screening *s);

#endif
