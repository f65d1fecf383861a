/* store.h - exact stores behind one small interface, opened by URL.
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
#ifndef WEIR_STORE_STORE_H
#define WEIR_STORE_STORE_H

#include <weir/screen.h>

struct store;

struct store_options {
    double timeout;    /* seconds for one call */
    unsigned attempts; /* before it gives up; after that one per call until an answer comes */
    bool nul;          /* keys: those in a file end with NUL, not with a line break */
    bool strip_cr;     /* keys: a CR at the end of a line is no part of the key */
    /* keys: what is made of all of them first, up to twice as long and 8; or NULL */
    size_t (*fold)(const void *how, const char *text, size_t size, char *to);
    const void *how;
    bool (*interrupted)(void); /* whether to give up at once; may be NULL */
};

/* NULL and one message if there is no such store, or it cannot be reached. A
 * name that is no URL is that of a file of keys. */
struct store *store_open(const char *url, const struct store_options *options, char *why,
                         size_t size);
void store_close(struct store *store);

/* The URL as it may be shown: without user and password. */
const char *store_name(const struct store *store);

/* About how many keys it holds; false if it cannot tell. */
bool store_size(struct store *store, uint64_t *keys);

/* All keys, in batches; some may come twice, as when the store had to be asked
 * again. False if it cannot be listed, or failed. */
typedef void (*store_taker)(void *context, const struct weir_bytes *keys, size_t n);
bool store_list(struct store *store, store_taker take, void *context);

/* Answer n different keys, as a weir_screen_store does; asked is a struct store. */
void store_answer(void *asked, const struct weir_bytes *keys, size_t n, uint8_t *answers);

/* Why the latest call failed: a spec that begins with the name. */
const char *store_failure(const struct store *store);

struct store_stats {
    uint64_t calls;   /* batches asked for */
    uint64_t keys;    /* in them */
    uint64_t retries; /* that were needed */
    double seconds;   /* spent waiting */
};
struct store_stats store_stats(const struct store *store);

/* The libraries of others that stores need, with their versions, on one line. */
void store_libraries(char *text, size_t size);

#endif
