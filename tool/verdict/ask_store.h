/* ask_store.h - a store beside the pipe: what is asked of it for a batch, through a
 * screen, and what becomes of records that it cannot tell of. */
#ifndef WEIR_VERDICT_ASK_STORE_H
#define WEIR_VERDICT_ASK_STORE_H

#include "store/store.h"
#include "cli/pieces.h"
#include "pipe/batch.h"

struct consult {
    struct store *oracle;
    weir_screen *screen; /* what stands before it; closed with it */
    enum silence silence;
    bool stopped; /* it was silent, and that is to end the run */

    struct weir_bytes key[RECORDS_MAX]; /* of the records asked for, */
    uint32_t origin[RECORDS_MAX];       /* which they are, */
    uint8_t answer[RECORDS_MAX];
};

/* The store of a URL; for now, nothing stands before it. NULL after a sentence. */
struct consult *consult_open(const char *url, const struct store_patience *p, bool nul,
                             bool ignore_case);
void consult_close(struct consult *c);

/* Give every record that is not bad the verdict of the store: WEIR_SEEN for
 * members, WEIR_NEW for others. Where it cannot tell, the batch fails there, or
 * the verdict is VERDICT_UNKNOWN, as --on-oracle-error says. */
void consult_all(struct consult *c, struct batch *b);

/* The same for those whose verdict is WEIR_SEEN. */
void consult_seen(struct consult *c, struct batch *b);

/* Say how many records it could not tell of, if any. */
void consult_tell(const struct consult *c, uint64_t unanswered);

#endif
