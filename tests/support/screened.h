/* screened.h - what the tests of screens share: a store that knows the truth and
 * keeps account of what it is asked, and can fail. */
#ifndef WEIR_TESTS_SUPPORT_SCREENED_H
#define WEIR_TESTS_SUPPORT_SCREENED_H

#include "support/sketches.h"

#include <weir/screen.h>

/* Every fifth of the stream's keys is a member. Keys are known by where they
 * lie: they are the names of a struct counted. */
struct store {
    const struct counted *counted;
    uint64_t calls, asked;
    bool fails;           /* whatever is asked */
    uint64_t fails_at;    /* the keys whose number this divides; 0: none */
    uint64_t shift;       /* to have other members */
    uint64_t *batch_seen; /* per key, the batch that last asked for it */
    uint64_t batch;
    bool batches_are_long; /* the screen takes them in pieces */
};

struct store store_of(const struct counted *c);
void store_free(struct store *s);

bool store_has(const struct store *s, uint64_t key);

/* The weir_screen_store: context is a struct store. Asserts that no key is asked for
 * twice in a batch. */
bool store_answer(void *context, const struct weir_bytes *keys, size_t n, uint8_t *answers);

/* Must open; learns the set if it wants it. */
weir_screen *open_screen(const char *spec, const struct store *s);

/* Show draws from..to, in batches of a size; answers[i] is that of draw i.
 * Returns how many the screen says were left unanswered. */
size_t screen_draws(weir_screen *w, struct store *s, size_t from, size_t to, size_t batch,
                    uint8_t *answers);

struct blob screen_blob(const weir_screen *w);
void assert_same_screen(const weir_screen *a, const weir_screen *b);

/* The golden screen of this name, and what it says of itself; see golden.h. */
weir_screen *golden_screen(const char *name);
void golden_screen_note(const weir_screen *w, char *note, size_t size);

#endif
