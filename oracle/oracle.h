/* oracle.h - exact stores behind one small interface, opened by URL.
 *
 *   sqlite:FILE?table=T&column=C            a file of SQLite, read only
 *   postgres://HOST/DATABASE?table=T&column=C
 *   redis://HOST:PORT/KEY                   a set of Redis or Valkey
 *   keys:FILE                               a file of keys, one per line
 *
 * Keys are bytes, and equal only byte for byte. Every store may be asked, and
 * most can tell how many keys they hold and list them (list=no: not to be done).
 *
 * A call that fails is tried again with growing pauses, on a new connection
 * where that helps. What cannot be answered is left WEIR_UNANSWERED: nothing is
 * ever guessed. No text that comes out of here holds a password.
 *
 * Threads: one at a time. */
#ifndef WEIR_ORACLE_H
#define WEIR_ORACLE_H

#include <weir/screen.h>

struct oracle;

struct oracle_options {
    double timeout;    /* seconds for one call */
    unsigned attempts; /* before it gives up; after that one per call until an answer comes */
    bool nul;          /* keys: those in a file end with NUL, not with a line break */
    size_t (*fold)(const char *text, size_t size, char *to); /* keys: made of them first, or NULL;
                                                                up to twice as long, and 8 */
    bool (*interrupted)(void); /* whether to give up at once; may be NULL */
};

/* NULL and one sentence if there is no such store, or it cannot be reached. A
 * name that is no URL is that of a file of keys. */
struct oracle *oracle_open(const char *url, const struct oracle_options *options, char *why,
                           size_t size);
void oracle_close(struct oracle *o);

/* The URL as it may be shown: without user and password. */
const char *oracle_name(const struct oracle *o);

/* About how many keys it holds; false if it cannot tell. */
bool oracle_size(struct oracle *o, uint64_t *keys);

/* All keys, in batches; some may come twice, as when the store had to be asked
 * again. False if it cannot be listed, or failed. */
typedef void (*oracle_taker)(void *context, const struct weir_bytes *keys, size_t n);
bool oracle_list(struct oracle *o, oracle_taker take, void *context);

/* Answer n different keys: a weir_oracle, of which an oracle is the context. */
void oracle_answer(void *oracle, const struct weir_bytes *keys, size_t n, uint8_t *answers);

/* Why the latest call failed: a sentence that begins with the name. */
const char *oracle_failure(const struct oracle *o);

struct oracle_stats {
    uint64_t calls;   /* batches asked for */
    uint64_t keys;    /* in them */
    uint64_t retries; /* that were needed */
    double seconds;   /* spent waiting */
};
struct oracle_stats oracle_stats(const struct oracle *o);

#endif
