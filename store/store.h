/* store.h - exact stores behind one small interface, opened by URL.
 *
 *   sqlite:FILE?table=T&column=C            a file of SQLite, read only
 *   postgres://HOST/DATABASE?table=T&column=C
 *   redis://HOST:PORT/KEY                   a set of Redis or Valkey
 *   keys:FILE                               a file of keys, one per line
 *   keys:FILE?field=1&delimiter=:           fields of its lines
 *   exact:DIR                               the index of weir dedup --exact
 *
 * Keys are bytes, and must be equal byte for byte. Most stores can count and list their keys;
 * list=no in the URL prevents both.
 *
 * Failed calls are retried with growing pauses, on a new connection. Keys without an answer remain
 * WEIR_UNANSWERED; nothing is guessed. No text that is returned contains a password.
 *
 * Thread safety: one call at a time. */
#ifndef WEIR_STORE_STORE_H
#define WEIR_STORE_STORE_H

#include <weir/screen.h>

struct store;

/* Where to write a message. */
struct store_why {
    char *text;
    size_t size;
};

/* Answers for a file of keys, instead of equality of bytes. */
struct store_set {
    /* Make it from the text of the file. NULL after a message. */
    void *(*open)(const void *how, const char *text, size_t size, struct store_why why);
    bool (*contains)(const void *set, struct weir_bytes key);
    void (*close)(void *set);
};

struct store_options {
    double timeout;    /* seconds for one call */
    unsigned attempts; /* per call; after a failure one per call until a call succeeds */
    bool nul;          /* files of keys: keys end with NUL, not with a line break */
    bool strip_cr;     /* files of keys: a CR at the end of a line is not part of the key */
    uint64_t *skipped; /* files of keys: count lines without the field; NULL: they are an error */
    /* files of keys: normalize the text. Returns memory to free and its size, or NULL if out of
     * memory. May be NULL. */
    char *(*fold)(const void *how, const char *text, size_t *size);
    const void *how;
    const struct store_set *set; /* files of keys: answers; others reject it. NULL: equal keys */
    const void *set_how;
    bool (*interrupted)(void); /* whether to stop early; may be NULL */
};

/* Open a store. NULL and one message if the URL is invalid or the store cannot be reached. A name
 * that is not a URL is a file of keys. */
struct store *store_open(const char *url, const struct store_options *options, char *why,
                         size_t size);
void store_close(struct store *store);

/* The parts of keys:FILE?field=1&delimiter=:, for a program that reads the file itself. */
struct keys_address {
    char *path;     /* allocated */
    char *field;    /* allocated; NULL: the whole line */
    char delimiter; /* 0: blanks */
};

/* False and a message if it is invalid. */
bool store_parse_keys(const char *address, struct keys_address *parts, char *why, size_t size);

/* The URL without user and password. */
const char *store_name(const struct store *store);

/* What weir dedup saved with an index (exact:DIR), for state_read(). Returns NULL for other
 * stores. */
const void *store_note(const struct store *store, size_t *size);

/* The approximate number of keys; false if it is unknown. */
bool store_size(struct store *store, uint64_t *keys);

/* Does it answer from filters of its own, so that a screen in front saves nothing? */
bool store_is_hashed(const struct store *store);

/* List all keys, in batches; some may occur twice. False if the store cannot list them, or failed.
 */
typedef void (*store_taker)(void *context, const struct weir_bytes *keys, size_t n);
bool store_list(struct store *store, store_taker take, void *context);

/* Look up n distinct keys; a callback for struct weir_screen_store. `asked` is a struct store. */
void store_answer(void *asked, const struct weir_bytes *keys, size_t n, uint8_t *answers);

/* The message of the latest failure; it begins with the name. */
const char *store_failure(const struct store *store);

struct store_stats {
    uint64_t calls; /* batches */
    uint64_t keys;  /* in them */
    uint64_t retries;
    double seconds; /* spent waiting */
};
struct store_stats store_stats(const struct store *store);

/* The client libraries with their versions, on one line. */
void store_libraries(char *text, size_t size);

#endif
