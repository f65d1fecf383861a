/* load.c - any bytes given to the functions that load (from memory or a source), view, verify and
 * merge give a usable filter, sketch or screen, or an error.
 *
 * Each input is tried as a file, which must pass the checksums, and as a forged part of every kind:
 * its spec, words and cells with correct lengths and checksums. A source must give the same result
 * as memory. What was loaded is used in every way, merged with its clone and with an empty one,
 * saved and loaded again. */
#include "fuzz.h"
#include <weir/saved.h>
#include <weir/screen.h>
#include <weir/shared.h>
#include <weir/sketch.h>

#include <stdlib.h>
#include <string.h>

#include "format/part.h"

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

/* The bytes of a source. */
struct stretch {
    const uint8_t *at;
    size_t left;
};

static bool take(void *context, void *data, size_t size)
{
    struct stretch *s = context;

    if (size > s->left)
        return false;
    memcpy(data, s->at, size);
    s->at += size;
    s->left -= size;
    return true;
}

static const struct weir_options allowed = {.size = sizeof allowed, .max_bytes = 1 << 24};

/* ---- filters ---- */

static bool learns(const weir_filter *w)
{
    char config[WEIR_SPEC_MAX];

    weir_config(w, config, sizeof config);
    return weir_find_algorithm(WEIR_KIND_FILTER, config)->traits & WEIR_CAN_OBSERVE;
}

static void observe_keys(weir_filter *w)
{
    struct weir_key keys[12];
    uint8_t verdicts[12];

    for (size_t i = 0; i < 12; i++) {
        keys[i] = weir_hash(w, &i, sizeof i);
        keys[i].importance = (uint32_t)(i * 0x2345678u);
    }
    if (learns(w)) {
        for (size_t i = 0; i < 6; i++)
            weir_observe(w, keys[i]);
        weir_observe_many(w, keys, 12, verdicts);
    }
    weir_ask_many(w, keys, 12, verdicts);
    for (size_t i = 0; i < 12; i++)
        require(verdicts[i] == (uint8_t)weir_ask(w, keys[i]));
    weir_forget(w, keys[0], NULL, NULL);
}

static void save_and_load(const weir_filter *w)
{
    struct bytes b = {NULL, 0};
    weir_filter *again;

    require(weir_save_stream(w, append, &b, NULL) == WEIR_OK && b.size == weir_saved_size(w));
    require(weir_load_buffer(&again, b.data, b.size, NULL, NULL, NULL) == WEIR_OK);
    weir_close(again);
    free(b.data);
}

static void use(weir_filter *w)
{
    struct weir_stats stats = weir_stats_of(w);
    weir_filter *twin = weir_clone(w, NULL), *empty;
    char config[WEIR_SPEC_MAX];

    require(stats.fill >= 0 && stats.fill <= 1.000001);
    require(stats.error >= 0 && stats.error <= 1.000001);
    require(weir_config(w, config, sizeof config) < sizeof config);
    require(weir_open(&empty, config, NULL) == WEIR_OK || !learns(w));
    if (empty)
        require(weir_merge(empty, w, NULL) != WEIR_MISMATCH);
    if (empty)
        observe_keys(empty);
    weir_close(empty);
    observe_keys(w);
    if (twin)
        require(weir_merge(w, twin, NULL) != WEIR_MISMATCH);
    if (stats.observed < UINT64_C(1) << 60) /* counts after 2^62 observations are not checked */
        save_and_load(w);
    weir_clear(w);
    save_and_load(w);
    weir_close(twin);
}

/* ---- sketches ---- */

/* Merging into an empty sketch copies everything. */
static void merge_sketch(const weir_sketch *s)
{
    char config[WEIR_SPEC_MAX];
    weir_sketch *empty;

    require(weir_sketch_config(s, config, sizeof config) < sizeof config);
    require(weir_sketch_open(&empty, config, NULL) == WEIR_OK);
    require(weir_sketch_merge(empty, s, NULL) != WEIR_MISMATCH);
    weir_sketch_add(empty, (struct weir_bytes){"key", 3}, 1);
    weir_sketch_close(empty);
}

static void use_sketch(weir_sketch *s)
{
    struct bytes b = {NULL, 0};
    struct weir_heavy list[8];
    weir_sketch *again;

    merge_sketch(s);
    weir_sketch_advance(s, 1000);
    for (size_t i = 0; i < 20; i++)
        weir_sketch_add(s, (struct weir_bytes){&i, sizeof i}, i % 5);
    for (size_t i = weir_sketch_top(s, list, 8); i-- > 0;)
        require(list[i].error <= list[i].count || list[i].error == WEIR_NO_BOUND);
    weir_sketch_advance(s, 1000000);
    weir_sketch_stats_of(s);
    require(weir_sketch_save_stream(s, append, &b, NULL) == WEIR_OK &&
            b.size == weir_sketch_saved_size(s));
    require(weir_sketch_load_buffer(&again, b.data, b.size, NULL, NULL, NULL) == WEIR_OK);
    require(weir_sketch_merge(s, again, NULL) != WEIR_MISMATCH);
    weir_sketch_clear(s);
    weir_sketch_close(again);
    free(b.data);
}

/* A sketch of few keys may have been opened with any memory size. That is no error, but exceeds the
 * fuzzer's memory. */
static bool asks_for_much(const uint8_t *data, size_t size)
{
    static const char parameter[] = " memory=";
    const uint8_t *at = memmem(data, size, parameter, sizeof parameter - 1);
    size_t digits = 0;

    if (!at)
        return false;
    for (at += sizeof parameter - 1;
         at + digits < data + size && at[digits] >= '0' && at[digits] <= '9';)
        digits++;
    return digits > 7;
}

static void try_sketch(const uint8_t *data, size_t size)
{
    struct stretch from = {data, size};
    struct weir_error error;
    weir_sketch *s, *sourced;

    if (asks_for_much(data, size))
        return;
    bool loads = weir_sketch_load_buffer(&s, data, size, NULL, NULL, &error) == WEIR_OK;
    require((s != NULL) == loads && (loads || error.text[0]));
    require((weir_sketch_load_stream(&sourced, take, &from, &allowed, &error) == WEIR_OK) == loads);
    require((sourced != NULL) == loads && (loads || error.text[0]));
    if (loads) {
        require(weir_sketch_saved_size(s) == weir_sketch_saved_size(sourced));
        use_sketch(s);
        use_sketch(sourced);
    }
    weir_sketch_close(s);
    weir_sketch_close(sourced);
}

/* ---- screens ---- */

/* Every second key is a member; the store fails for every seventh. */
static bool answer(void *context, const struct weir_bytes *keys, size_t n, uint8_t *answers)
{
    (void)context;
    for (size_t i = 0; i < n; i++) {
        size_t key;

        memcpy(&key, keys[i].data, sizeof key);
        answers[i] = key % 7 ? key % 2 : WEIR_UNANSWERED;
    }
    return true;
}

/* Merging into a clone and into an empty screen copies everything. */
static void merge_screen(const weir_screen *s)
{
    char config[WEIR_SPEC_MAX];
    weir_screen *twin = weir_screen_clone(s, NULL), *empty;

    require(twin && weir_screen_config(s, config, sizeof config) < sizeof config);
    require(weir_screen_open(&empty, config, NULL) == WEIR_OK);
    require(weir_screen_merge(empty, s, NULL) != WEIR_MISMATCH);
    require(weir_screen_merge(twin, s, NULL) != WEIR_MISMATCH);
    weir_screen_stats_of(twin);
    weir_screen_advance(twin, UINT64_MAX);
    weir_screen_clear(twin);
    weir_screen_close(twin);
    weir_screen_close(empty);
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
    merge_screen(s);
    weir_screen_add_members(s, keys, 3);
    require(weir_screen_check(s, keys, 20, answer, NULL, answers) <= 20);
    if (stats.checked < UINT64_C(1) << 60) {
        require(weir_screen_save_stream(s, append, &b, NULL) == WEIR_OK &&
                b.size == weir_screen_saved_size(s));
        require(weir_screen_load_buffer(&again, b.data, b.size, NULL, NULL, NULL) == WEIR_OK);
        weir_screen_close(again);
    }
    free(b.data);
}

static void try_screen(const uint8_t *data, size_t size)
{
    struct stretch from = {data, size};
    struct weir_error error;
    weir_screen *s, *sourced;
    bool loads = weir_screen_load_buffer(&s, data, size, NULL, NULL, &error) == WEIR_OK;

    require((s != NULL) == loads && (loads || error.text[0]));
    require((weir_screen_load_stream(&sourced, take, &from, &allowed, &error) == WEIR_OK) == loads);
    require((sourced != NULL) == loads && (loads || error.text[0]));
    if (loads)
        use_screen(s);
    weir_screen_close(s);
    weir_screen_close(sourced);
}

/* ---- files ---- */

/* A source gives the same result as memory. */
static void try_source(const uint8_t *data, size_t size, bool loads)
{
    struct stretch from = {data, size};
    struct weir_error error;
    weir_filter *w;

    require((weir_load_stream(&w, take, &from, &allowed, &error) == WEIR_OK) == loads);
    require((w != NULL) == loads && (loads || error.text[0]));
    weir_close(w);
}

/* A view is saved with its cells and checksums, damaged or not. */
static void write_view(const weir_filter *v, const uint8_t *data, size_t size)
{
    struct bytes b = {NULL, 0};
    struct weir_part from, to;

    require(weir_save_stream(v, append, &b, NULL) == WEIR_OK && b.size == weir_saved_size(v));
    require(weir_part_head(data, size, &from, sizeof from, NULL) == WEIR_OK);
    require(weir_part_head(b.data, b.size, &to, sizeof to, NULL) == WEIR_OK);
    size_t cells = (size_t)part_lines(from.body_size), sums = 8 * part_blocks(from.body_size);
    require(to.body_size == from.body_size && memcmp(to.body, from.body, from.body_size) == 0);
    require(memcmp((const char *)to.body + cells, (const char *)from.body + cells, sums) == 0);
    free(b.data);
}

/* What can be loaded can be viewed and reports the same; what can be viewed can be queried. */
static void try_view(const uint8_t *data, size_t size, const weir_filter *loaded)
{
    struct weir_error error;
    struct weir_key keys[12];
    uint8_t verdicts[12];
    weir_filter *v;

    if (weir_view_buffer(&v, data, size, NULL, NULL, &error) != WEIR_OK) {
        require(!loaded && v == NULL && error.text[0]);
        return;
    }
    for (size_t i = 0; i < 12; i++)
        keys[i] = weir_hash(v, &i, sizeof i);
    weir_ask_many(v, keys, 12, verdicts);
    for (size_t i = 0; i < 12; i++)
        require((uint8_t)weir_ask(v, keys[i]) == verdicts[i] &&
                (!loaded || (uint8_t)weir_ask(loaded, keys[i]) == verdicts[i]));
    weir_stats_of(v);
    write_view(v, data, size);
    weir_clear(v);
    require(!weir_clone(v, NULL));
    require(weir_merge(v, v, NULL) == WEIR_UNSUPPORTED);
    weir_close(v);
}

static void close_all(weir_filter **shards, uint32_t n)
{
    while (n > 0)
        weir_close(shards[--n]);
}

/* What can be loaded as shards can be viewed as shards, and becomes a shared filter. */
static void try_shards(const uint8_t *data, size_t size)
{
    struct weir_error error;
    weir_filter *shards[3], *views[3];
    weir_shared *shared;
    uint32_t n, seen;
    bool loads = weir_load_shards(shards, 3, &n, data, size, NULL, NULL, &error) == WEIR_OK;

    require(loads ? n > 0 : n == 0 && error.text[0]);
    if (weir_view_shards(views, 3, &seen, data, size, NULL, NULL, &error) != WEIR_OK)
        require(!loads && seen == 0 && error.text[0]);
    bool joins = weir_shared_load_buffer(&shared, data, size, NULL, NULL, &error) == WEIR_OK;
    require((shared != NULL) == joins && (joins || error.text[0]));
    require(!loads || joins);
    for (uint32_t i = 0; i < seen; i++)
        weir_ask_bytes(views[i], "key", 3);
    if (joins)
        weir_shared_ask(shared, weir_shared_hash(shared, "key", 3));
    close_all(shards, n);
    close_all(views, seen);
    weir_shared_close(shared);
}

static void try_file(const uint8_t *data, size_t size)
{
    struct weir_error error;
    weir_filter *w;
    bool loads = weir_load_buffer(&w, data, size, NULL, NULL, &error) == WEIR_OK;

    try_source(data, size, loads);
    try_view(data, size, w);
    try_shards(data, size);
    require(!loads || weir_verify(data, size, NULL) == WEIR_OK || size > weir_saved_size(w));
    if (loads)
        use(w);
    else
        require(w == NULL && error.text[0]);
    weir_close(w);
}

static void put_bytes(const void *what, struct part_writer *out)
{
    const struct weir_bytes *bytes = what;

    part_put(out, bytes->data, bytes->size);
}

/* The input as a part of one kind: lengths come from its head as far as there are bytes for them;
 * the rest are cells. */
static void forge(const uint8_t *data, size_t size, struct part_head h, struct bytes *part)
{
    size_t left = size - PART_LINE, words;

    h.spec = (const char *)data + PART_LINE;
    h.length = bits_load32(data + 20) % 1024;
    h.length = h.length < left ? h.length : (uint32_t)left;
    size_t at = (h.length + 7) / 8 * 8;
    words = bits_load32(data + 56) % 256;
    for (; h.words < words && at + 8 <= left; at += 8)
        part_word(&h, bits_load64(data + PART_LINE + at));
    at = part_head_size(&h) < size ? part_head_size(&h) : size;
    h.cells = bits_load64(data + 24);
    h.cells = h.cells < size - at ? h.cells : size - at;
    part_write(&h, put_bytes, &(struct weir_bytes){data + at, (size_t)h.cells}, append, part, NULL);
}

static void try_forged(const uint8_t *data, size_t size, uint32_t kind,
                       void (*try)(const uint8_t *data, size_t size))
{
    struct bytes part = {NULL, 0};

    forge(data, size, (struct part_head){.kind = kind, .shards = 1}, &part);
    require(weir_verify(part.data, part.size, NULL) == WEIR_OK);
    try(part.data, part.size);
    free(part.data);
}

/* Two equal shards, and one of them alone. */
static void try_forged_shards(const uint8_t *data, size_t size)
{
    struct bytes parts = {NULL, 0};
    weir_filter *w;

    for (uint32_t i = 0; i < 2; i++)
        forge(data, size, (struct part_head){WEIR_PART_FILTER, .shard = i, .shards = 2}, &parts);
    require(weir_verify(parts.data, parts.size, NULL) == WEIR_OK);
    try_shards(parts.data, parts.size);
    require(weir_load_buffer(&w, parts.data, parts.size, NULL, NULL, NULL) == WEIR_BAD_DATA && !w);
    free(parts.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char keys[WEIR_KEY_DESCRIPTION_MAX];

    require(weir_saved_key_description(data, size, keys, sizeof keys) == strlen(keys));
    try_file(data, size);
    try_sketch(data, size);
    try_screen(data, size);
    if (size < PART_LINE)
        return 0;
    try_forged(data, size, WEIR_PART_FILTER, try_file);
    try_forged_shards(data, size);
    try_forged(data, size, WEIR_PART_COUNTS, try_sketch);
    try_forged(data, size, WEIR_PART_TOP, try_sketch);
    try_forged(data, size, WEIR_PART_SCREEN, try_screen);
    return 0;
}
