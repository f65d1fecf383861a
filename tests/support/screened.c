/* screened.c - see screened.h. */
#include "support/screened.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct store store_of(const struct counted *c)
{
    return (struct store){.counted = c, .batch_seen = calloc(c->universe, sizeof(uint64_t))};
}

void store_free(struct store *s)
{
    free(s->batch_seen);
}

bool store_has(const struct store *s, uint64_t key)
{
    return (key + s->shift) % 5 == 0;
}

bool store_answer(void *context, const struct weir_bytes *keys, size_t n, uint8_t *answers)
{
    struct store *s = context;

    assert_true(n > 0);
    s->calls++;
    s->asked += n;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = (uint64_t)((const uint64_t *)keys[i].data - s->counted->names);

        assert_true(key < s->counted->universe && keys[i].size == sizeof(uint64_t));
        assert_true(s->batches_are_long || s->batch_seen[key] != s->batch);
        s->batch_seen[key] = s->batch;
        if (s->fails || (s->fails_at && key % s->fails_at == 0))
            answers[i] = WEIR_UNANSWERED;
        else
            answers[i] = store_has(s, key) ? WEIR_MEMBER : WEIR_OTHER;
    }
    return true;
}

weir_screen *open_screen(const char *spec, const struct store *s)
{
    struct weir_error error = {0};
    weir_screen *w;

    if (weir_screen_open(&w, spec, &error) != WEIR_OK)
        fail_msg("'%s' is refused: %s", spec, error.text);
    bool wanted = weir_screen_needs_set(w);
    for (uint64_t key = 0; wanted && key < s->counted->universe; key++) {
        struct weir_bytes name = name_of(s->counted, key);

        if (store_has(s, key))
            weir_screen_add_members(w, &name, 1);
    }
    return w;
}

size_t screen_draws(weir_screen *w, struct store *s, size_t from, size_t to, size_t batch,
                    uint8_t *answers)
{
    struct weir_bytes *keys = calloc(batch, sizeof *keys);
    size_t unanswered = 0;

    s->batches_are_long = batch > WEIR_SCREEN_BATCH;
    for (size_t n; from < to; from += n) {
        n = to - from < batch ? to - from : batch;
        for (size_t i = 0; i < n; i++)
            keys[i] = name_of(s->counted, s->counted->draws[from + i]);
        s->batch++;
        unanswered += weir_screen_check(w, keys, n, store_answer, s, answers + from);
    }
    free(keys);
    return unanswered;
}

struct blob screen_blob(const weir_screen *w)
{
    struct blob b = {NULL, 0};

    assert_int_equal(weir_screen_save_stream(w, blob_sink, &b, NULL), WEIR_OK);
    assert_int_equal(b.size, weir_screen_saved_size(w));
    return b;
}

void assert_same_screen(const weir_screen *a, const weir_screen *b)
{
    assert_same_saved(screen_blob(a), screen_blob(b));
}

/* ---- golden files ---- */

#define GOLDEN_DRAWS 600

weir_screen *golden_screen(const char *name)
{
    struct counted c = counted_of(GOLDEN_DRAWS, 150, 0.8, 2019);
    struct store s = store_of(&c);
    char spec[SPEC];
    uint8_t answers[GOLDEN_DRAWS];

    snprintf(spec, sizeof spec, "%s %s seed=2019", name,
             strcmp(name, "none") == 0 ? "" : "memory=200");
    weir_screen *w = open_screen(spec, &s);
    screen_draws(w, &s, 0, GOLDEN_DRAWS, 77, answers);
    store_free(&s);
    counted_free(c);
    return w;
}

void golden_screen_note(const weir_screen *w, char *note, size_t size)
{
    struct weir_screen_stats t = weir_screen_stats_of(w);
    size_t n = weir_screen_config(w, note, size);

    snprintf(note + n, size - n,
             "\nmemory %d checked %d asked %d saved %d members %d fill %.4f error %.4f\n",
             (int)t.memory, (int)t.checked, (int)t.asked, (int)t.saved, (int)t.members, t.fill,
             t.error);
}
