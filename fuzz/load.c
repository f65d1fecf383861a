/* load.c - any bytes given to weir_load(), weir_sketch_load() or
 * weir_screen_load() end in a usable filter, sketch or screen, or an error.
 *
 * Each input is tried twice: as a file, which must get past the checksum, and
 * as the body of a part whose head and checksum are right. What loads is used
 * in every way, and what it then saves must load again. */
#include <weir.h>
#include <weir/screen.h>
#include <weir/sketch.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
    uint8_t *data;
    size_t size;
};

static bool append(void *context, const void *data, size_t size)
{
    struct bytes *b = context;

    b->data = realloc(b->data, b->size + size);
    memcpy(b->data + b->size, data, size);
    b->size += size;
    return true;
}

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void show_keys(weir *w)
{
    struct weir_key keys[12];
    uint8_t verdicts[12];

    for (size_t i = 0; i < 12; i++) {
        keys[i] = weir_hash(w, &i, sizeof i);
        keys[i].importance = (uint32_t)(i * 0x2345678u);
    }
    for (size_t i = 0; i < 6; i++)
        weir_observe(w, keys[i]);
    weir_observe_many(w, keys, 12, verdicts);
    weir_ask_many(w, keys, 12, verdicts);
    for (size_t i = 0; i < 12; i++)
        require(verdicts[i] == (uint8_t)weir_ask(w, keys[i]));
    weir_forget(w, keys[0], NULL, NULL);
}

static void save_and_load(const weir *w)
{
    struct bytes b = {NULL, 0};
    weir *again;

    require(weir_write(w, append, &b) == WEIR_OK && b.size == weir_saved_size(w));
    require(weir_load(&again, b.data, b.size, NULL, NULL) == WEIR_OK);
    weir_close(again);
    free(b.data);
}

static void use(weir *w)
{
    struct weir_stats stats = weir_stats_of(w);
    weir *twin = weir_clone(w);
    char config[512];

    require(stats.fill >= 0 && stats.fill <= 1.000001);
    require(stats.error >= 0 && stats.error <= 1.000001);
    require(weir_config(w, config, sizeof config) < sizeof config);
    show_keys(w);
    if (twin)
        weir_merge(w, twin, NULL);
    if (stats.shown < UINT64_C(1) << 60) /* what comes after 2^62 arrivals nobody will know */
        save_and_load(w);
    weir_clear(w);
    save_and_load(w);
    weir_close(twin);
}

static void use_sketch(weir_sketch *s)
{
    struct bytes b = {NULL, 0};
    struct weir_heavy list[8];
    weir_sketch *again;

    weir_sketch_advance(s, 1000);
    for (size_t i = 0; i < 20; i++)
        weir_sketch_add(s, (struct weir_bytes){&i, sizeof i}, i % 5);
    for (size_t i = weir_sketch_top(s, list, 8); i-- > 0;)
        require(list[i].error <= list[i].count || list[i].error == WEIR_NO_BOUND);
    weir_sketch_advance(s, 1000000);
    weir_sketch_stats_of(s);
    require(weir_sketch_write(s, append, &b) == WEIR_OK && b.size == weir_sketch_saved_size(s));
    require(weir_sketch_load(&again, b.data, b.size, NULL, NULL) == WEIR_OK);
    require(weir_sketch_merge(s, again, NULL) != WEIR_MISMATCH);
    weir_sketch_close(again);
    free(b.data);
}

/* A sketch of few keys may have been opened with any memory: that is no fault, but
 * more than a fuzzer is given. */
static bool asks_for_much(const uint8_t *data, size_t size)
{
    static const char knob[] = " memory=";
    const uint8_t *at = memmem(data, size, knob, sizeof knob - 1);
    size_t digits = 0;

    if (!at)
        return false;
    for (at += sizeof knob - 1;
         at + digits < data + size && at[digits] >= '0' && at[digits] <= '9';)
        digits++;
    return digits > 7;
}

static void try_sketch(const uint8_t *data, size_t size)
{
    struct weir_error error;
    weir_sketch *s;

    if (asks_for_much(data, size))
        return;
    if (weir_sketch_load(&s, data, size, NULL, &error) == WEIR_OK)
        use_sketch(s);
    else
        require(s == NULL && error.text[0]);
    weir_sketch_close(s);
}

/* Every second key is a member, every seventh cannot be told. */
static void answer(void *context, const struct weir_bytes *keys, size_t n, uint8_t *answers)
{
    (void)context;
    for (size_t i = 0; i < n; i++) {
        size_t key;

        memcpy(&key, keys[i].data, sizeof key);
        answers[i] = key % 7 ? key % 2 : WEIR_UNANSWERED;
    }
}

static void use_screen(weir_screen *s)
{
    struct bytes b = {NULL, 0};
    struct weir_screen_stats stats = weir_screen_stats_of(s);
    struct weir_bytes keys[20];
    size_t names[20];
    uint8_t answers[20];
    weir_screen *again;

    require(stats.fill >= 0 && stats.fill <= 1.000001);
    require(stats.error >= 0 && stats.error <= 1.000001);
    for (size_t i = 0; i < 20; i++) {
        names[i] = i % 13;
        keys[i] = (struct weir_bytes){&names[i], sizeof *names};
    }
    weir_screen_learn_set(s, keys, 3);
    require(weir_screen_check(s, keys, 20, answer, NULL, answers) <= 20);
    if (stats.checked < UINT64_C(1) << 60) {
        require(weir_screen_write(s, append, &b) == WEIR_OK && b.size == weir_screen_saved_size(s));
        require(weir_screen_load(&again, b.data, b.size, NULL, NULL) == WEIR_OK);
        weir_screen_close(again);
    }
    free(b.data);
}

static void try_screen(const uint8_t *data, size_t size)
{
    struct weir_error error;
    weir_screen *s;

    if (weir_screen_load(&s, data, size, NULL, &error) == WEIR_OK)
        use_screen(s);
    else
        require(s == NULL && error.text[0]);
    weir_screen_close(s);
}

static void try_file(const uint8_t *data, size_t size)
{
    struct weir_error error;
    weir *w;

    if (weir_load(&w, data, size, NULL, &error) == WEIR_OK)
        use(w);
    else
        require(w == NULL && error.text[0]);
    weir_close(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes part = {NULL, 0};

    try_file(data, size);
    weir_part_write(WEIR_PART_FILTER, data, size, append, &part);
    try_file(part.data, part.size);
    free(part.data);
    try_sketch(data, size);
    for (uint32_t kind = WEIR_PART_COUNTS; kind <= WEIR_PART_TOP; kind++) {
        part = (struct bytes){NULL, 0};
        weir_part_write(kind, data, size, append, &part);
        try_sketch(part.data, part.size);
        free(part.data);
    }
    try_screen(data, size);
    part = (struct bytes){NULL, 0};
    weir_part_write(WEIR_PART_SCREEN, data, size, append, &part);
    try_screen(part.data, part.size);
    free(part.data);
    return 0;
}
