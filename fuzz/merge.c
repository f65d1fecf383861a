/* merge.c - two sketches of one spec survive any calls: add, subtract, advance to any time, merge,
 * save, load, forge. They stay usable and keep their size. Until something is forged, their counts
 * are within the guaranteed bounds.
 *
 * Forged: bytes of the saved part are changed, and its checksums are corrected. Input: the spec and
 * a line break, then the calls: one byte selects the call, its arguments follow. */
#include "fuzz.h"
#include <weir.h>
#include <weir/sketch.h>

#include <sanitizer/allocator_interface.h>
#include <stdlib.h>
#include <string.h>

#include "format/part.h"

#define OPENED_MAX (UINT64_C(1) << 20) /* bytes */
#define SMALL_MAX (UINT64_C(64) << 10) /* larger sketches are slow and get few calls */
#define ALLOCATION_MAX                                                                             \
    (UINT64_C(64) << 20) /* bytes of one allocation, whatever a file contains                      \
                          */
#define CALLS_SMALL 64
#define CALLS_LARGE 8
#define KEYS 16
#define TOP 8

int LLVMFuzzerInitialize(int *argc, char ***argv);
/* ---- memory ---- */

static bool watching;

static void watch_taken(const volatile void *memory, size_t size)
{
    (void)memory;
    if (watching && size > ALLOCATION_MAX)
        abort();
}

static void watch_given_back(const volatile void *memory)
{
    (void)memory;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    require(__sanitizer_install_malloc_and_free_hooks(watch_taken, watch_given_back) > 0);
    return 0;
}

/* ---- a sketch and its exact counts ---- */

struct subject {
    weir_sketch *sketch;
    bool honest; /* the counts are those that were added */
    uint64_t count[KEYS];
};

struct input {
    const uint8_t *at, *end;
};

static uint8_t next(struct input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

/* Small numbers and those near powers of two. */
static uint64_t next_number(struct input *in)
{
    uint8_t shift = next(in), more = next(in);

    return (UINT64_C(1) << shift % 64) - 1 + (shift & 64 ? more : UINT64_C(0) - more);
}

static struct weir_bytes key_of(unsigned i)
{
    static const char letters[KEYS + 1] = "abcdefghijklmnop";

    return (struct weir_bytes){letters + i % KEYS, 1 + i / 2 % 4 % (KEYS - i % KEYS)};
}

static uint64_t sum(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

static void add(struct subject *s, struct input *in)
{
    unsigned i = next(in) % KEYS;
    uint64_t amount = next_number(in);

    weir_sketch_add(s->sketch, key_of(i), amount);
    s->count[i] = sum(s->count[i], amount);
}

static void add_all(struct subject *s)
{
    struct weir_bytes keys[KEYS];

    for (unsigned i = 0; i < KEYS; i++) {
        keys[i] = key_of(i);
        s->count[i] = sum(s->count[i], 1);
    }
    weir_sketch_add_many(s->sketch, keys, NULL, KEYS);
}

static void add_hashed(struct subject *s, struct input *in)
{
    unsigned i = next(in) % KEYS;
    uint64_t amount = next_number(in);
    struct weir_bytes key = key_of(i);
    struct weir_key hashed = weir_sketch_hash(s->sketch, key.data, key.size);

    if (weir_sketch_add_hashed(s->sketch, &hashed, &amount, 1, NULL) == WEIR_OK)
        s->count[i] = sum(s->count[i], amount);
}

static void take(struct subject *s, struct input *in)
{
    unsigned i = next(in) % KEYS;

    if (weir_sketch_take(s->sketch, key_of(i), next_number(in), NULL) == WEIR_OK)
        s->honest = false;
}

static void merge(struct subject *into, const struct subject *from)
{
    struct weir_error error = {0};
    enum weir_status status = weir_sketch_merge(into->sketch, from->sketch, &error);

    if (status != WEIR_OK) {
        require(status == WEIR_UNSUPPORTED || status == WEIR_MISMATCH);
        require(status == WEIR_UNSUPPORTED || !into->honest || !from->honest);
        require(*error.text);
        return;
    }
    into->honest &= from->honest;
    for (unsigned i = 0; i < KEYS; i++)
        into->count[i] = sum(into->count[i], from->count[i]);
}

/* ---- files ---- */

struct file {
    uint8_t *data;
    size_t size, room;
};

static bool keep(void *context, const void *data, size_t size)
{
    struct file *f = context;

    require(size <= f->room - f->size);
    memcpy(f->data + f->size, data, size);
    f->size += size;
    return true;
}

static struct file save(const weir_sketch *s)
{
    struct file f = {.room = weir_sketch_saved_size(s)};

    f.data = malloc(f.room);
    require(f.data && weir_sketch_save_stream(s, keep, &f, NULL) == WEIR_OK && f.size == f.room);
    return f;
}

/* A loaded sketch is saved as the same bytes. */
static void save_and_load(struct subject *s)
{
    struct file first = save(s->sketch), second;
    size_t used;

    weir_sketch_close(s->sketch);
    require(weir_sketch_load_buffer(&s->sketch, first.data, first.size, &used, NULL, NULL) ==
            WEIR_OK);
    require(used == first.size);
    second = save(s->sketch);
    require(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
    free(first.data);
    free(second.data);
}

static void change(uint8_t *body, size_t size, struct input *in)
{
    for (unsigned n = 1 + next(in) % 4; n > 0 && size > 0; n--) {
        size_t at = (size_t)next(in) << 8;

        at = (at + next(in)) % size;
        body[at] = next(in);
    }
}

static void put_bytes(const void *what, struct part_writer *out)
{
    const struct weir_bytes *bytes = what;

    part_put(out, bytes->data, bytes->size);
}

/* Cells and words, with the same spec. */
static void forge(struct subject *s, struct input *in)
{
    struct file first = save(s->sketch), forged = {.room = first.size};
    struct part_head h;
    weir_sketch *other = NULL;

    require(weir_verify(first.data, first.size, NULL) == WEIR_OK);
    require(part_find(first.data, first.size, &h, NULL) == WEIR_OK);
    uint8_t *cells = first.data + part_head_size(&h);
    forged.data = malloc(forged.room);
    require(forged.data);
    change(cells, (size_t)h.cells, in);
    if (next(in) % 4 == 0)
        change((uint8_t *)h.word, h.words * sizeof *h.word, in);
    require(part_write(&h, put_bytes, &(struct weir_bytes){cells, (size_t)h.cells}, keep, &forged,
                       NULL) == WEIR_OK);
    if (weir_sketch_load_buffer(&other, forged.data, forged.size, NULL, NULL, NULL) == WEIR_OK) {
        weir_sketch_close(s->sketch);
        s->sketch = other;
        s->honest = false;
    }
    free(forged.data);
    free(first.data);
}

static void copy(struct subject *s)
{
    weir_sketch *copied = weir_sketch_clone(s->sketch, NULL);

    require(copied != NULL);
    weir_sketch_close(s->sketch);
    s->sketch = copied;
}

/* ---- guarantees ---- */

static void require_top(const weir_sketch *s)
{
    struct weir_heavy heavy[TOP];
    size_t n = weir_sketch_top(s, heavy, TOP);

    require(n <= TOP);
    for (size_t i = 0; i < n; i++) {
        require(i == 0 || heavy[i - 1].count >= heavy[i].count);
        require(heavy[i].error == WEIR_NO_BOUND || heavy[i].error <= heavy[i].count);
    }
}

static void require_promises(const struct subject *s)
{
    char config[WEIR_SPEC_MAX];
    struct weir_sketch_stats stats = weir_sketch_stats_of(s->sketch);
    uint64_t memory = 0;

    weir_sketch_config(s->sketch, config, sizeof config);
    require(weir_spec_number(config, "memory", &memory) && stats.memory <= memory);
    uint64_t max = strstr(config, "counter=32") ? UINT32_MAX : UINT64_MAX;
    bool kept = strncmp(config, "top", 3) == 0;
    for (unsigned i = 0; i < KEYS; i++) {
        struct weir_estimate e = weir_sketch_ask(s->sketch, key_of(i));

        if (e.error == WEIR_NO_BOUND)
            continue;
        require(e.error <= e.count || !kept);
        if (!s->honest || strstr(config, "half-life"))
            continue;
        require(e.count >= (s->count[i] < max ? s->count[i] : max));
        require(!kept || e.count - e.error <= s->count[i]);
    }
    require_top(s->sketch);
}

/* ---- calls ---- */

static void call(struct subject *subject, struct input *in)
{
    uint8_t which = next(in);
    struct subject *s = &subject[which & 1], *other = &subject[!(which & 1)];

    switch (which >> 1 & 15) {
    case 0:
    case 1:
        add(s, in);
        break;
    case 2:
        add_all(s);
        break;
    case 3:
        add_hashed(s, in);
        break;
    case 4:
        take(s, in);
        break;
    case 5:
    case 6:
        weir_sketch_advance(s->sketch, next_number(in));
        break;
    case 7:
    case 8:
        merge(s, other);
        break;
    case 9:
        save_and_load(s);
        break;
    case 10:
    case 11:
        forge(s, in);
        break;
    case 12:
        copy(s);
        break;
    case 13:
        weir_sketch_clear(s->sketch);
        memset(s->count, 0, sizeof s->count);
        break;
    default:
        require_promises(s);
    }
}

/* The number of calls for such sketches; 0 if there are none, or if they are too large. */
static int calls_for(const char *spec)
{
    char config[WEIR_SPEC_MAX];
    uint64_t memory;

    if (weir_spec_complete(WEIR_KIND_SKETCH, spec, config, sizeof config, NULL) != WEIR_OK ||
        !weir_spec_number(config, "memory", &memory) || memory > OPENED_MAX)
        return 0;
    return memory <= SMALL_MAX ? CALLS_SMALL : CALLS_LARGE;
}

static void run(const char *spec, int calls, struct input in)
{
    struct subject subject[2] = {{.honest = true}, {.honest = true}};

    for (int i = 0; i < 2; i++)
        require(weir_sketch_open(&subject[i].sketch, spec, NULL) == WEIR_OK);
    for (; calls > 0 && in.at < in.end; calls--)
        call(subject, &in);
    for (int i = 0; i < 2; i++) {
        require_promises(&subject[i]);
        save_and_load(&subject[i]);
        weir_sketch_close(subject[i].sketch);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *line = memchr(data, '\n', size);
    char spec[WEIR_SPEC_MAX] = "";

    if (!line || line - data > WEIR_SPEC_MAX - 32)
        return 0;
    memcpy(spec, data, (size_t)(line - data));
    if (strlen(spec) != (size_t)(line - data))
        return 0;
    if (!strstr(spec, "seed="))
        strcat(spec, " seed=1");
    if (!strstr(spec, "memory=") && !strstr(spec, "width=") && !strstr(spec, "error="))
        strcat(spec, " memory=4k");
    int calls = calls_for(spec);
    if (calls == 0)
        return 0;
    watching = true;
    run(spec, calls, (struct input){line + 1, data + size});
    watching = false;
    return 0;
}
