/* snapshot.c - filter <-> bytes. This file alone knows the format, which
 * docs/format.md draws:
 *
 *   part    = "WEIR" version kind length body checksum
 *   filter  = config shown seen registers sample planes
 *
 * Loading is total. Nothing is believed before its checksum holds; then the
 * configuration goes through the same reader and planner as a person's, and the
 * body must have exactly the length that it implies, before memory is asked
 * for. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string.h>

#include "base/text.h"
#include "handle.h"

#define MAGIC "WEIR"
#define VERSION 1
#define HEAD 16 /* bytes before the body: magic, version, kind, length */
#define TAIL 8  /* after it: the checksum */

/* ---- writing ---- */

struct writer {
    weir_sink sink;
    void *context;
    bool ok;
    XXH3_state_t sum;
};

static void put(struct writer *out, const void *data, size_t size)
{
    XXH3_64bits_update(&out->sum, data, size);
    if (out->ok && size > 0)
        out->ok = out->sink(out->context, data, size);
}

static void put32(struct writer *out, uint32_t value)
{
    uint8_t bytes[4];

    bits_store32(bytes, value);
    put(out, bytes, sizeof bytes);
}

static void put64(struct writer *out, uint64_t value)
{
    uint8_t bytes[8];

    bits_store64(bytes, value);
    put(out, bytes, sizeof bytes);
}

static void put_head(struct writer *out, uint32_t kind, uint64_t length)
{
    XXH3_64bits_reset(&out->sum);
    put(out, MAGIC, 4);
    put32(out, VERSION | kind << 16);
    put64(out, length);
}

static enum weir_status put_tail(struct writer *out)
{
    put64(out, XXH3_64bits_digest(&out->sum));
    return out->ok ? WEIR_OK : WEIR_WRITE_FAILED;
}

static uint64_t plane_size(const struct shape *s)
{
    return cells_size(s->cells, s->width);
}

static uint64_t body_size(size_t config_length, uint32_t sampled, const struct shape *s)
{
    return 4 + config_length + 16 + UINT64_C(8) * s->registers + 4 + UINT64_C(4) * sampled +
           s->planes * plane_size(s);
}

/* The room of a full sample is kept, so that the size never changes. */
static uint32_t sample_room(const struct config *c)
{
    bool used = c->ops->knobs & HAS(KNOB_IMPORTANCE) && importance_samples(&c->importance);

    return used ? SAMPLE_SIZE : 0;
}

static void put_body(struct writer *out, const weir *w, const char *config, size_t length)
{
    uint32_t room = sample_room(&w->config);

    put32(out, (uint32_t)length);
    put(out, config, length);
    put64(out, w->shown);
    put64(out, w->seen);
    for (uint32_t i = 0; i < w->shape.registers; i++)
        put64(out, w->reg[i]);
    put32(out, w->sample.n);
    for (uint32_t i = 0; i < room; i++)
        put32(out, i < w->sample.n ? w->sample.value[i] : 0);
    for (uint32_t i = 0; i < w->shape.planes; i++)
        put(out, plane(w, i).bytes, (size_t)plane_size(&w->shape));
}

enum weir_status weir_write(const weir *w, weir_sink sink, void *context)
{
    struct writer out = {.sink = sink, .context = context, .ok = true};
    char config[CONFIG_SIZE];
    size_t length = config_write(&w->config, config, sizeof config);

    put_head(&out, WEIR_PART_FILTER, body_size(length, sample_room(&w->config), &w->shape));
    put_body(&out, w, config, length);
    return put_tail(&out);
}

enum weir_status weir_part_write(uint32_t kind, const void *body, size_t size, weir_sink sink,
                                 void *context)
{
    struct writer out = {.sink = sink, .context = context, .ok = true};

    put_head(&out, kind, size);
    put(&out, body, size);
    return put_tail(&out);
}

size_t weir_saved_size(const weir *w)
{
    char config[CONFIG_SIZE];
    size_t length = config_write(&w->config, config, sizeof config);

    return (size_t)(HEAD + body_size(length, sample_room(&w->config), &w->shape) + TAIL);
}

struct buffer {
    uint8_t *at;
};

static bool into_buffer(void *context, const void *data, size_t size)
{
    struct buffer *buffer = context;

    memcpy(buffer->at, data, size);
    buffer->at += size;
    return true;
}

size_t weir_save(const weir *w, void *buffer, size_t size)
{
    struct buffer out = {buffer};
    size_t needed = weir_saved_size(w);

    if (size < needed)
        return 0;
    weir_write(w, into_buffer, &out);
    return needed;
}

/* ---- reading ---- */

static enum weir_status bad(struct weir_error *error, const char *why)
{
    return error_say(error, WEIR_BAD_DATA, why, NULL);
}

enum weir_status weir_part_read(const void *data, size_t size, struct weir_part *part,
                                struct weir_error *error)
{
    const uint8_t *p = data;

    if (size < 4 || memcmp(p, MAGIC, 4) != 0)
        return bad(error, "this is not saved by weir: it does not begin with WEIR");
    if (size < HEAD + TAIL)
        return bad(error, "the data is cut off in its first bytes");
    if ((bits_load32(p + 4) & 0xffff) != VERSION)
        return bad(error, "this was saved by another version of weir: only format 1 is known here");
    uint64_t length = bits_load64(p + 8);
    if (length > size - HEAD - TAIL)
        return bad(error, "the data is cut off: it says that it is longer than it is");
    if (XXH3_64bits(p, HEAD + (size_t)length) != bits_load64(p + HEAD + length))
        return bad(error, "the data is damaged: its checksum does not match");
    *part = (struct weir_part){bits_load32(p + 4) >> 16, p + HEAD, (size_t)length,
                               HEAD + (size_t)length + TAIL};
    return WEIR_OK;
}

struct reader {
    const uint8_t *at;
    size_t left;
};

static const uint8_t *get(struct reader *in, uint64_t size)
{
    const uint8_t *at = in->at;

    if (size > in->left)
        return NULL;
    in->at += size;
    in->left -= (size_t)size;
    return at;
}

/* The configuration text, terminated. */
static bool get_config(struct reader *in, char *config)
{
    const uint8_t *p = get(in, 4);
    uint32_t length = p ? bits_load32(p) : CONFIG_SIZE;

    if (length >= CONFIG_SIZE || !(p = get(in, length)))
        return false;
    memcpy(config, p, length);
    config[length] = '\0';
    return strlen(config) == length;
}

/* Everything after the configuration; its length has been checked. */
static void get_state(struct reader *in, weir *w, uint32_t room)
{
    w->shown = bits_load64(get(in, 8));
    w->seen = bits_load64(get(in, 8));
    for (uint32_t i = 0; i < w->shape.registers; i++)
        w->reg[i] = bits_load64(get(in, 8));
    w->sample.n = bits_load32(get(in, 4));
    for (uint32_t i = 0; i < room; i++)
        w->sample.value[i] = bits_load32(get(in, 4));
    for (uint32_t i = 0; i < w->shape.planes; i++) {
        uint64_t size = plane_size(&w->shape);

        memcpy(plane(w, i).bytes, get(in, size), (size_t)size);
    }
}

/* Arrivals have numbers: from this one on, the next would have none. */
#define SHOWN_MOST (UINT64_C(1) << 62)

static bool state_valid(const weir *w)
{
    return w->seen <= w->shown && w->shown <= SHOWN_MOST &&
           w->sample.n <= sample_room(&w->config) && sample_valid(&w->sample) &&
           (!w->ops->check || w->ops->check(w));
}

/* A saved configuration is complete: the seed is there, and planning it again
 * changes nothing. */
static bool plan_again(const char *text, struct config *config, struct shape *shape)
{
    char again[CONFIG_SIZE];

    if (!config_read(text, config, NULL) || !config_has(config, KNOB_SEED) ||
        !config->ops->plan(config, shape, NULL))
        return false;
    config_write(config, again, sizeof again);
    return strcmp(text, again) == 0;
}

static enum weir_status load_body(weir **out, const struct weir_part *part,
                                  struct weir_error *error)
{
    struct reader in = {part->body, part->body_size};
    struct config config;
    struct shape shape = {0};
    char text[CONFIG_SIZE];

    if (!get_config(&in, text) || !plan_again(text, &config, &shape))
        return bad(error, "the saved configuration is not one that this version of weir writes");
    if (part->body_size != body_size(strlen(text), sample_room(&config), &shape))
        return bad(error, "the saved filter is not of the size that its configuration asks for");
    *out = handle_open(&config, &shape);
    if (!*out)
        return handle_refuse_memory(&config, error);
    get_state(&in, *out, sample_room(&config));
    if (state_valid(*out))
        return WEIR_OK;
    weir_close(*out);
    *out = NULL;
    return bad(error, "the saved filter is in a state that cannot be");
}

enum weir_status weir_load(weir **out, const void *data, size_t size, size_t *used,
                           struct weir_error *error)
{
    struct weir_part part;
    enum weir_status status = weir_part_read(data, size, &part, error);

    *out = NULL;
    if (status != WEIR_OK)
        return status;
    if (part.kind != WEIR_PART_FILTER)
        return bad(error, "this part is not a filter");
    status = load_body(out, &part, error);
    if (status == WEIR_OK && used)
        *used = part.size;
    return status;
}
