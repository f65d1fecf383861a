/* ask_store.h - a store is asked for keys of a batch, through a screen, and
 * records that it gives no answer for are dealt with. */
#ifndef WEIR_VERDICT_ASK_STORE_H
#define WEIR_VERDICT_ASK_STORE_H

#include <weir/screen.h>

#include "cli/option_groups.h"
#include "cli/records.h"
#include "pipe/batch.h"
#include "store/store.h"
#include "verdict/verdict.h"

struct asker;

/* The store of a URL, for the keys of these records, which have to live as long. NULL after
 * a message. */
struct asker *asker_open(const char *url, const struct store_patience *p, const struct records *r);
void asker_close(struct asker *a);
struct store *asker_store(const struct asker *a);

/* Its URL as it may be shown. */
const char *asker_name(const struct asker *a);

/* About how many keys it holds; false if it cannot tell. */
bool asker_size(const struct asker *a, uint64_t *keys);

/* weir_screen_check() of keys that have a time each: as if weir_screen_advance() were called before
 * each of them, but all of one step of the screen's time together. */
struct timed_keys {
    uint32_t n;
    const struct weir_bytes *key;
    const uint64_t *time;
};
size_t screen_check_at(weir_screen *screen, const struct timed_keys *k, uint64_t span,
                       weir_screen_store store, void *context, uint8_t *answers);

/* Give records a verdict of the store, WEIR_SEEN for members and WEIR_NEW for others:
 * all that are not bad, or only those whose verdict is WEIR_SEEN so far. Where it
 * does not answer, the batch fails there, or the verdict is VERDICT_UNKNOWN, as
 * --on-store-error says. span: of the screen, which is told the time of each record; 0: it
 * takes no notice. */
void asker_ask_all(struct asker *a, weir_screen *screen, struct batch *b, uint64_t span);
void asker_ask_seen(struct asker *a, weir_screen *screen, struct batch *b);

/* Say how many records it did not answer for, if any. */
void asker_report(const struct asker *a, uint64_t unanswered);

/* Where the store is asked for a filter's hits: were half of them or more refuted, so that
 * asker_doubt() may have something to report? */
bool asker_refuted_most(const struct asker *a);

/* Warn if more hits were refuted than false positives explain. others: records that are no
 * members; error: the filter's error rate. */
void asker_doubt(const struct asker *a, uint64_t others, double error);

/* The libraries that stores are reached by, and their versions: a text. */
void ask_store_libraries(char *text, size_t size);

/* ---- a filter whose hits the store confirms ---- */

struct confirming {
    struct asker *asker;
    weir_screen *screen; /* lets all keys through, each once per batch */
};

/* Open the store of a URL. False after a message; it is to be closed then too. */
bool confirming_open(struct confirming *c, const char *url, const struct store_patience *p,
                     const struct records *r);
void confirming_close(struct confirming *c);

/* The verdicts of a filter, confirmed. */
struct verdict verdict_confirmed(struct verdict filter, struct confirming *c);

#endif
