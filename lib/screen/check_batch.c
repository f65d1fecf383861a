/* check_batch.c - checks a batch of keys, in order.
 *
 * The answer to one key can affect those after it, and nothing may be recorded before the store
 * has answered. So a batch is processed in rounds. Keys are settled in order as long as memory or
 * the store's answers suffice. At the first key for which they do not, all remaining keys are
 * examined, and the store is asked, in one call, for every key that memory cannot answer at this
 * moment. Most batches need one such call. A second one is needed only if a key that was cached at
 * the time of the call is evicted before its turn.
 *
 * The result is that of checking one key after the other. Only the lookups differ. A key that
 * occurs twice is looked up once. A key that an earlier key of the batch would have answered (by a
 * false match) is looked up unnecessarily, and its answer is not used. */
#include <string.h>

#include "screen/screen.h"

#define AHEAD 16 /* keys prefetched before their turn */

struct round {
    weir_screen *s;
    const struct weir_bytes *keys;
    size_t n;
    weir_screen_store store;
    void *context;
    bool ended;    /* the store must not be asked again */
    size_t asked;  /* distinct keys so far */
    uint32_t mask; /* for the part of the table that is used */
};

/* ---- which keys have been asked for ---- */

static bool is_same(const struct round *b, size_t i, size_t j)
{
    const struct weir_key *x = &b->s->scratch->key[i], *y = &b->s->scratch->key[j];

    return x->lo == y->lo && x->hi == y->hi && b->keys[i].size == b->keys[j].size &&
           (b->keys[i].size == 0 || memcmp(b->keys[i].data, b->keys[j].data, b->keys[i].size) == 0);
}

/* The entry of key i in the table, or the free one where it belongs. */
static uint16_t *entry_of(const struct round *b, size_t i)
{
    struct scratch *t = b->s->scratch;
    uint32_t at = (uint32_t)t->key[i].lo & b->mask;

    while (t->table[at] && !is_same(b, i, t->first[t->table[at] - 1]))
        at = (at + 1) & b->mask;
    return &t->table[at];
}

static void prefetch(const struct round *b, size_t i)
{
    if (b->s->ops->prefetch && i < b->n)
        b->s->ops->prefetch(b->s, b->s->scratch->key[i]);
}

/* Ask the store for all keys from i on that memory cannot answer now. */
static void ask_ahead(struct round *b, size_t i)
{
    struct scratch *t = b->s->scratch;
    size_t before = b->asked;

    for (; i < b->n; i++) {
        prefetch(b, i + AHEAD);
        if (b->s->ops->decide(b->s, t->key[i]) != WEIR_UNANSWERED)
            continue;
        uint16_t *entry = entry_of(b, i);
        if (*entry)
            continue;
        t->asked[b->asked] = b->keys[i];
        t->first[b->asked] = (uint16_t)i;
        t->answer[b->asked] = WEIR_UNANSWERED;
        *entry = (uint16_t)++b->asked;
    }
    b->ended = !b->store(b->context, t->asked + before, b->asked - before, t->answer + before);
}

/* The store's answer to key i. Asks the store if it was not asked yet, and may be. */
static uint8_t store_answer(struct round *b, size_t i)
{
    uint16_t number = *entry_of(b, i);

    if (!number && b->ended)
        return WEIR_UNANSWERED;
    if (!number) {
        ask_ahead(b, i);
        number = *entry_of(b, i);
    }
    uint8_t answer = b->s->scratch->answer[number - 1];
    return answer <= WEIR_MEMBER ? answer : WEIR_UNANSWERED;
}

/* ---- one key, many keys ---- */

/* Returns false if the check ends before this key. */
static bool check_one(struct round *b, size_t i, uint8_t *out)
{
    weir_screen *s = b->s;
    struct weir_key key = s->scratch->key[i];
    uint8_t answer = s->ops->decide(s, key);
    bool from_store = answer == WEIR_UNANSWERED;

    if (from_store)
        answer = store_answer(b, i);
    if (answer == WEIR_UNANSWERED && b->ended)
        return false;
    if (answer != WEIR_UNANSWERED && s->ops->settle)
        s->ops->settle(s, key, answer, from_store);
    s->count.checked++;
    s->count.asked += from_store && answer != WEIR_UNANSWERED;
    s->count.unanswered += answer == WEIR_UNANSWERED;
    s->count.members += answer == WEIR_MEMBER;
    *out = answer;
    return true;
}

/* Returns the number of keys checked: all, unless the store ended the check. */
static size_t check_batch(struct round *b, uint8_t *answers)
{
    struct scratch *t = b->s->scratch;

    while (b->mask < 2 * b->n - 1)
        b->mask = 2 * b->mask + 1;
    memset(t->table, 0, (b->mask + 1) * sizeof *t->table);
    for (size_t i = 0; i < b->n; i++)
        t->key[i] = screen_hash(b->s, b->keys[i]);
    for (size_t i = 0; i < b->n && i < AHEAD; i++)
        prefetch(b, i);
    for (size_t i = 0; i < b->n; i++) {
        prefetch(b, i + AHEAD);
        if (!check_one(b, i, &answers[i]))
            return i;
    }
    return b->n;
}

size_t weir_screen_check(weir_screen *s, const struct weir_bytes *keys, size_t n,
                         weir_screen_store store, void *context, uint8_t *answers)
{
    uint64_t before = s->count.unanswered;

    struct round b = {.s = s, .store = store, .context = context};
    size_t done = 0;

    do {
        b.keys = keys + done;
        b.n = n - done < WEIR_SCREEN_BATCH ? n - done : WEIR_SCREEN_BATCH;
        b.asked = b.mask = 0;
        size_t checked = b.n > 0 ? check_batch(&b, answers + done) : 0;
        done += checked;
        if (checked < b.n)
            break;
    } while (done < n);
    if (done < n)
        memset(answers + done, WEIR_UNANSWERED, n - done);
    return (size_t)(s->count.unanswered - before) + (n - done);
}

/* ---- the set ---- */

bool weir_screen_needs_set(const weir_screen *s)
{
    return screen_holds_set(s) && s->count.learned == 0 && !s->attached;
}

void weir_screen_add_members(weir_screen *s, const struct weir_bytes *keys, size_t n)
{
    if (!s->ops->learn)
        return;
    s->count.learned += n;
    for (size_t now; n > 0; n -= now, keys += now) {
        now = n < WEIR_SCREEN_BATCH ? n : WEIR_SCREEN_BATCH;
        for (size_t i = 0; i < now; i++)
            s->scratch->key[i] = screen_hash(s, keys[i]);
        s->ops->learn(s, s->scratch->key, now);
    }
}

void weir_screen_clear_set(weir_screen *s)
{
    if (s->ops->forget)
        s->ops->forget(s);
    s->count.learned = 0;
    s->attached = NULL;
}

enum weir_status weir_screen_attach_set(weir_screen *s, const weir_filter *set,
                                        struct weir_error *error)
{
    if (!screen_holds_set(s))
        return error_say(error, WEIR_ERROR_UNSUPPORTED, "the screen ", s->config.is.of->about.name,
                         " has no set; ", spec_names(&screen_grammar, WEIR_CAN_HOLD_SET).text,
                         " have one", NULL);
    if (set->config.seed != s->config.seed || set->config.hash != s->config.hash)
        return error_say(error, WEIR_ERROR_SEED_MISMATCH,
                         "the set and the screen have different seed= or hash=; use the same for "
                         "both",
                         NULL);
    s->attached = set;
    return WEIR_OK;
}
