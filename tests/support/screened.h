/* screened.h - a store for the tests of screens: it has an exact set, records what it is asked, and
 * can fail. */
#ifndef WEIR_TESTS_SUPPORT_SCREENED_H
#define WEIR_TESTS_SUPPORT_SCREENED_H

#include "support/sketches.h"

#include <weir/screen.h>

/* Every fifth of the stream's keys is a member. Keys are identified by their address in the names
 * of a struct counted. */
struct store {
    const struct counted *counted;
    uint64_t calls, asked;
    bool fails;           /* member or not */
    uint64_t fails_at;    /* it fails for keys whose number this divides; 0: never */
    uint64_t shift;       /* shifts the set of members */
    uint64_t *batch_seen; /* per key, the last batch that asked for it */
    uint64_t batch;
    bool batches_are_long; /* the screen divides them */
};

struct store store_of(const struct counted *c);
void store_free(struct store *s);

bool store_has(const struct store *s, uint64_t key);

/* The weir_screen_store; context is a struct store. Fails the test if a key is asked for twice in a
 * batch. */
bool store_answer(void *context, const struct weir_bytes *keys, size_t n, uint8_t *answers);

/* Open a screen or fail the test; builds the set if the screen uses it. */
weir_screen *open_screen(const char *spec, const struct store *s);

/* Check draws from..to in batches; answers[i] is the answer for draw i. Returns how many keys got
 * no answer. */
size_t screen_draws(weir_screen *w, struct store *s, size_t from, size_t to, size_t batch,
                    uint8_t *answers);

struct blob screen_blob(const weir_screen *w);
void assert_same_screen(const weir_screen *a, const weir_screen *b);

/* The screen of this name for its golden file, and its stats then (golden.h). */
weir_screen *golden_screen(const char *name);
void golden_screen_note(const weir_screen *w, char *note, size_t size);

#endif
