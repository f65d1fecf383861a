/* filter_value.c - the value of a key of WEIR.*: see weir_commands.h. The image is the filter's
 * part, which weir(1) can read as a file, then the producers of ONCE. */
#include "filter/weir_commands.h"

#include "server/server.h"
#include "value/value.h"

struct filter_value *filter_value_of(weir_filter *w, uint64_t bytes)
{
    struct filter_value *f = server_take(sizeof *f);
    char spec[WEIR_SPEC_MAX], span[32];
    uint64_t traits = 0;

    if (!f) {
        weir_close(w);
        return NULL;
    }
    weir_config(w, spec, sizeof spec);
    f->is.family = &family_filter;
    f->w = w;
    f->is.bytes = server_bytes(f) + bytes;
    weir_spec_traits(WEIR_KIND_FILTER, spec, &traits, NULL);
    f->fixed = !(traits & WEIR_CAN_OBSERVE);
    f->expires = traits & WEIR_CAN_TTL;
    f->timed = f->expires || weir_spec_get(spec, "span", span, sizeof span) > 0;
    return f;
}

static bool write(const struct value *v, weir_sink sink, void *context)
{
    const struct filter_value *f = (const struct filter_value *)v;

    return (image_passes(sink, context, weir_saved_size(f->w)) ||
            weir_save_stream(f->w, sink, context, NULL) == WEIR_OK) &&
           (!f->once || once_write(f->once, sink, context));
}

/* Other parts, such as notes of weir(1), are skipped. */
static bool read_part(struct image_in *in, uint32_t kind, struct once **once,
                      struct weir_error *error)
{
    struct weir_part part;
    void *data = image_part(in, &part, error);
    bool good = data;

    if (data && kind == PART_ONCE) {
        once_free(*once);
        *once = once_read((struct weir_bytes){part.body, part.body_size}, error);
        good = *once;
    }
    server_give(data);
    return good;
}

static struct value *finish(weir_filter *w, uint64_t bytes, struct once *once,
                            struct weir_error *error)
{
    struct filter_value *f = filter_value_of(w, bytes);

    if (!f) {
        once_free(once);
        image_no_memory(error);
        return NULL;
    }
    f->once = once;
    f->is.bytes += once_memory(once);
    return &f->is;
}

static void refuse_shards(struct weir_error *error)
{
    image_refuse(error, "the file contains a filter in several shards and a key holds a whole "
                        "filter; build it with --shards 1, or use 'weir load --at'");
    error->status = WEIR_UNSUPPORTED;
}

static struct value *read(const struct family *family, struct image_in *in,
                          struct weir_error *error)
{
    weir_filter *w = NULL;
    struct once *once = NULL;
    uint64_t bytes = 0;
    bool good = true;
    uint32_t kind;

    while (good && (kind = image_kind(in)) != 0) {
        if (kind == UINT32_MAX)
            good = false, image_refuse(error, "not a weir file, or truncated");
        else if (kind == WEIR_PART_FILTER && w)
            good = false, image_refuse(error, "the file contains several filters; a key holds one");
        else if (kind == WEIR_PART_FILTER && image_shards(in) > 1)
            good = false, refuse_shards(error);
        else if (kind == WEIR_PART_FILTER)
            good = filter_load(&w, image_get, in, in->most, &bytes, error) == WEIR_OK;
        else
            good = read_part(in, kind, &once, error);
    }
    if (good && w)
        return finish(w, bytes, once, error);
    if (good)
        image_refuse(error, "the file contains no filter");
    weir_close(w);
    once_free(once);
    return NULL;
}

static void free_filter(struct value *v)
{
    struct filter_value *f = (struct filter_value *)v;

    weir_close(f->w);
    once_free(f->once);
    server_give(f);
}

static struct value *copy(const struct value *v)
{
    const struct filter_value *from = (const struct filter_value *)v;
    weir_filter *w = weir_clone(from->w, NULL);
    struct filter_value *f = w ? filter_value_of(w, 0) : NULL;

    if (f && from->once && !(f->once = once_copy(from->once))) {
        free_filter(&f->is);
        return NULL;
    }
    return f ? &f->is : NULL;
}

const struct family family_filter = {
    .type = "weir-filt",
    .encoding = IMAGE_ENCODING,
    .size = sizeof(struct filter_value),
    .write = write,
    .read = read,
    .copy = copy,
    .free = free_filter,
};
