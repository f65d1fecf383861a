/* near.c - any bytes given to weir_near_load_buffer() give a usable detector of near-duplicates, or
 * an error; any text is sketched.
 *
 * Each input is tried as a file, which must pass the checksums. Then it forges one: a byte with the
 * number of texts, each a byte of size and its bytes, which a detector observes and saves; then
 * edits of 11 bytes: 3 bytes of offset in the bodies of all parts, 8 bytes that are xored. An edit
 * behind the end cuts the bodies off at its remainder. Checksums are made right again. */
#include "fuzz.h"
#include "input.h"

#include <string.h>

#include <weir/near.h>

#define PARTS 8

struct saved {
    uint8_t *data;
    size_t size;
};

static bool append(void *context, const void *data, size_t size)
{
    struct saved *s = context;

    s->data = realloc(s->data, s->size + size);
    memcpy(s->data + s->size, data, size);
    s->size += size;
    return true;
}

static struct saved save(const weir_near *n)
{
    struct saved s = {NULL, 0};

    require(weir_near_save_stream(n, append, &s, NULL) == WEIR_OK);
    return s;
}

/* Both give the same answers to texts that are parts of the input. */
static void observe(weir_near *n, weir_near *copy, const uint8_t *data, size_t size)
{
    for (uint64_t i = 0; i < 20; i++) {
        size_t begin = size * (i % 7) / 7, length = (size - begin) / (1 + i % 3);
        struct weir_near_match m, of_copy;
        enum weir_verdict v = weir_near_observe_text(n, data + begin, length, i + 1, &m);

        require(v == weir_near_observe_text(copy, data + begin, length, i + 1, &of_copy));
        require(m.number == of_copy.number && m.similarity == of_copy.similarity &&
                m.error == of_copy.error && m.bands == of_copy.bands);
        require(m.similarity >= 0 && m.similarity <= 1 && m.error >= 0 && m.error < 0.1 &&
                m.bands <= 12);
    }
}

/* A detector that was saved and loaded again is the same. */
static void use(weir_near *n, const uint8_t *data, size_t size)
{
    struct saved first = save(n), again;
    struct weir_near_stats stats;
    weir_near *loaded, *copy = weir_near_clone(n, NULL);

    require(copy && weir_near_load_buffer(&loaded, first.data, first.size, NULL) == WEIR_OK);
    again = save(loaded);
    require(again.size == first.size && memcmp(again.data, first.data, first.size) == 0);
    observe(loaded, copy, data, size);
    observe(loaded, copy, data, size);
    weir_near_measure(loaded, &stats, sizeof stats);
    require(stats.texts <= stats.capacity && stats.capacity > 0);
    weir_near_close(loaded);
    weir_near_close(copy);
    free(first.data);
    free(again.data);
}

static void try_file(const uint8_t *data, size_t size)
{
    struct weir_error error = {.status = WEIR_OK};
    weir_near *n;

    enum weir_status status = weir_near_load_buffer(&n, data, size, &error);
    require((status == WEIR_OK) == (n != NULL) && (n || error.text[0]));
    if (n)
        use(n, data, size);
    weir_near_close(n);
}

static weir_near *observe_texts(struct input *in)
{
    struct weir_near_options o = {
        .size = sizeof o, .memory = WEIR_NEAR_MEMORY_MIN, .seed = 1, .shingle = 1 + byte(in) % 5};
    weir_near *n;

    require(weir_near_open(&n, &o, NULL) == WEIR_OK);
    for (uint32_t i = 0, texts = byte(in); i < texts && in->left; i++) {
        struct weir_bytes text = bytes(in, byte(in));

        weir_near_observe_text(n, text.data, text.size, i + 1, NULL);
    }
    return n;
}

static void edit(struct input *in, uint8_t *body, size_t *size)
{
    while (in->left && *size) {
        size_t at = byte(in);

        at |= (size_t)byte(in) << 8;
        at |= (size_t)byte(in) << 16;
        if (at >= *size)
            *size = at % *size;
        for (int i = 0; i < 8; i++, at++) {
            uint8_t difference = byte(in);

            if (at < *size)
                body[at] ^= difference;
        }
    }
}

static void try_forged(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    weir_near *n = observe_texts(&in);
    struct saved file = save(n), bodies = {NULL, 0}, forged = {NULL, 0};
    struct weir_part part[PARTS];
    uint32_t parts = 0;

    for (size_t at = 0; at < file.size; at += part[parts++].size) {
        require(parts < PARTS && weir_part_read(file.data + at, file.size - at, &part[parts],
                                                sizeof *part, NULL) == WEIR_OK);
        append(&bodies, part[parts].body, part[parts].body_size);
    }
    edit(&in, bodies.data, &bodies.size);
    for (size_t i = 0, at = 0; i < parts && at < bodies.size; i++) {
        size_t left = bodies.size - at, all = part[i].body_size < left ? part[i].body_size : left;

        require(weir_part_write(part[i].kind, bodies.data + at, all, append, &forged, NULL) ==
                WEIR_OK);
        at += all;
    }
    try_file(forged.data, forged.size);
    weir_near_close(n);
    free(file.data);
    free(bodies.data);
    free(forged.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_file(data, size);
    try_forged(data, size);
    return 0;
}
