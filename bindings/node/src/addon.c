/* addon.c - the native class Filter of the Node package: errors, life time, calls with one key, and
 * calls on the whole filter.
 *
 * index.js derives the public class from this one. It checks options, numbers and paths. */
#include "addon.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <weir/saved.h>

/* Marks the objects of this class, so that arguments can be checked. */
static const napi_type_tag tag = {0x1d7a6f3c5b9e4820, 0x9c42e85fa3617bd4};

/* ---- errors ---- */

void throw_last(napi_env env)
{
    const napi_extended_error_info *last = NULL;
    const char *text =
        napi_get_last_error_info(env, &last) == napi_ok ? last->error_message : "failed";

    (void)napi_throw_error(env, NULL, text); /* does nothing if an exception is pending */
}

/* Throw an Error with the name of a library error as its `code`. */
static void *throw_weir(napi_env env, const struct weir_error *error)
{
    (void)napi_throw_error(env, weir_error_name(error->code), error->text);
    return NULL;
}

/* ---- the filter of an object ---- */

/* The filter of an argument. */
static struct filter_object *argument_filter(napi_env env, napi_value value)
{
    bool is_ours = false;
    void *o = NULL;

    if (napi_check_object_type_tag(env, value, &tag, &is_ours) == napi_ok && is_ours &&
        napi_unwrap(env, value, &o) == napi_ok && ((struct filter_object *)o)->filter)
        return o;
    (void)napi_throw_type_error(env, "invalid-argument", "the argument must be an open Filter");
    return NULL;
}

/* V8 calls methods of the class only on its objects, so the type of `this` is known. */
struct filter_object *call_read(napi_env env, napi_callback_info info, size_t argc,
                                napi_value *argv, enum operation *operation)
{
    struct filter_object *o;
    napi_value self;
    void *data, *does;

    CHECK(env, napi_get_cb_info(env, info, &argc, argv, &self, &does), NULL);
    CHECK(env, napi_unwrap(env, self, &data), NULL);
    o = data;
    if (operation)
        *operation = (enum operation)(uintptr_t)does;
    if (o->filter && (o->observes || (uintptr_t)does == ASK))
        return o;
    (void)napi_throw_error(env, o->filter ? "unsupported" : "closed",
                           o->filter ? "a fixed set cannot be changed; build another one"
                                     : "the filter is closed");
    return NULL;
}

static void set_filter(napi_env env, struct filter_object *o, weir_filter *filter)
{
    char config[WEIR_SPEC_MAX];
    uint64_t bytes = filter ? weir_saved_size(filter) : 0, traits = 0;
    int64_t unused;

    weir_close(o->filter);
    o->filter = filter;
    if (filter) {
        weir_config(filter, config, sizeof config);
        (void)weir_spec_traits(WEIR_KIND_FILTER, config, &traits, NULL);
    }
    o->observes = traits & WEIR_CAN_OBSERVE;
    (void)napi_adjust_external_memory(env, (int64_t)bytes - (int64_t)o->bytes, &unused);
    o->bytes = bytes;
}

static void free_object(napi_env env, void *data, void *hint)
{
    (void)hint;
    set_filter(env, data, NULL);
    free(data);
}

/* Load the first filter; a state of the command has a note before it. The keys of some files
 * were changed before they were hashed. */
static enum weir_status load(weir_filter **out, struct weir_bytes bytes, struct weir_error *error)
{
    char keys[128];
    struct weir_part part;

    if (weir_saved_key_description(bytes.data, bytes.size, keys, sizeof keys) > 0) {
        error->code = WEIR_ERROR_MISMATCH;
        snprintf(error->text, sizeof error->text,
                 "the keys in this file were made with %s, but here keys are used as given", keys);
        return WEIR_MISMATCH;
    }
    while (weir_part_head(bytes.data, bytes.size, &part, sizeof part, NULL) == WEIR_OK &&
           part.kind == WEIR_PART_NOTE && part.size < bytes.size)
        bytes = (struct weir_bytes){(const char *)bytes.data + part.size, bytes.size - part.size};
    return weir_load_buffer(out, bytes.data, bytes.size, NULL, NULL, error);
}

/* Make the filter of new Filter(spec), of saved bytes, or a copy of a Filter. */
static weir_filter *make_filter(napi_env env, napi_value from)
{
    char spec[4 * WEIR_SPEC_MAX];
    weir_filter *filter = NULL;
    struct filter_object *o;
    struct weir_error error;
    struct weir_bytes bytes;
    napi_valuetype type;
    size_t size;

    CHECK(env, napi_typeof(env, from, &type), NULL);
    if (type == napi_string) {
        CHECK(env, napi_get_value_string_utf8(env, from, spec, sizeof spec, &size), NULL);
        (void)weir_open(&filter, spec, &error);
    } else if (bytes_read(env, from, &bytes)) {
        (void)load(&filter, bytes, &error);
    } else {
        o = argument_filter(env, from);
        if (!o)
            return NULL;
        filter = weir_clone(o->filter, &error);
    }
    return filter ? filter : throw_weir(env, &error);
}

static napi_value construct(napi_env env, napi_callback_info info)
{
    napi_value self, from, target = NULL;
    struct filter_object *o;
    weir_filter *filter;
    size_t argc = 1;

    CHECK(env, napi_get_cb_info(env, info, &argc, &from, &self, NULL), NULL);
    CHECK(env, napi_get_new_target(env, info, &target), NULL);
    filter = target ? make_filter(env, from) : NULL;
    if (!filter)
        return NULL;
    o = calloc(1, sizeof *o);
    if (!o || napi_wrap(env, self, o, free_object, NULL, NULL) != napi_ok) {
        throw_last(env);
        weir_close(filter);
        free(o);
        return NULL;
    }
    set_filter(env, o, filter);
    CHECK(env, napi_type_tag_object(env, self, &tag), NULL);
    return self;
}

/* ---- calls with one key ---- */

static napi_value call_with_key(napi_env env, napi_callback_info info)
{
    struct key_buffer buffer = {.many = NULL};
    struct weir_error error = {.code = WEIR_ERROR_NONE};
    enum operation operation;
    napi_value value, out = NULL;
    struct filter_object *o = call_read(env, info, 1, &value, &operation);
    struct weir_bytes key;
    bool found = false;

    if (o && key_read(env, value, &buffer, &key)) {
        if (operation == OBSERVE)
            found = weir_observe_bytes(o->filter, key.data, key.size) == WEIR_SEEN;
        else if (operation == ASK)
            found = weir_ask_bytes(o->filter, key.data, key.size) == WEIR_SEEN;
        else
            (void)weir_forget(o->filter, weir_hash(o->filter, key.data, key.size), &found, &error);
        if (error.code != WEIR_ERROR_NONE)
            throw_weir(env, &error);
        else
            (void)napi_get_boolean(env, found, &out);
    }
    key_buffer_free(&buffer);
    return out;
}

/* ---- calls on the whole filter ---- */

/* advanceTo(milliseconds) */
static napi_value advance_to(napi_env env, napi_callback_info info)
{
    napi_value value;
    struct filter_object *o = call_read(env, info, 1, &value, NULL);
    int64_t now;

    if (!o)
        return NULL;
    CHECK(env, napi_get_value_int64(env, value, &now), NULL);
    weir_advance(o->filter, now > 0 ? (uint64_t)now : 0);
    return NULL;
}

static napi_value clear(napi_env env, napi_callback_info info)
{
    struct filter_object *o = call_read(env, info, 0, NULL, NULL);

    if (o)
        weir_clear(o->filter);
    return NULL;
}

static napi_value close_filter(napi_env env, napi_callback_info info)
{
    napi_value self;
    void *o;

    CHECK(env, napi_get_cb_info(env, info, NULL, NULL, &self, NULL), NULL);
    CHECK(env, napi_unwrap(env, self, &o), NULL);
    set_filter(env, o, NULL);
    return NULL;
}

static napi_value merge(napi_env env, napi_callback_info info)
{
    napi_value value;
    struct filter_object *into = call_read(env, info, 1, &value, NULL);
    struct filter_object *from = into ? argument_filter(env, value) : NULL;
    struct weir_error error;

    if (from && weir_merge(into->filter, from->filter, &error) != WEIR_OK)
        throw_weir(env, &error);
    return NULL;
}

static napi_value config(napi_env env, napi_callback_info info)
{
    char text[WEIR_SPEC_MAX];
    struct filter_object *o = call_read(env, info, 0, NULL, NULL);
    napi_value out;

    if (!o)
        return NULL;
    weir_config(o->filter, text, sizeof text);
    CHECK(env, napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &out), NULL);
    return out;
}

/* numbers(): the statistics, in the order of index.js. */
static napi_value numbers(napi_env env, napi_callback_info info)
{
    struct filter_object *o = call_read(env, info, 0, NULL, NULL);
    napi_value out, value;

    if (!o)
        return NULL;

    struct weir_stats s = weir_stats_of(o->filter);
    const double fields[] = {
        (double)s.memory, (double)s.bytes,    (double)s.observed,
        (double)s.seen,   (double)s.new_keys, s.fill,
        s.error,          (double)s.lost,     (double)s.overflow,
    };

    CHECK(env, napi_create_array(env, &out), NULL);
    for (uint32_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        CHECK(env, napi_create_double(env, fields[i], &value), NULL);
        CHECK(env, napi_set_element(env, out, i, value), NULL);
    }
    return out;
}

/* saveTo(path); index.js checks that it has no NUL. */
static napi_value save_to(napi_env env, napi_callback_info info)
{
    napi_value value;
    struct filter_object *o = call_read(env, info, 1, &value, NULL);
    struct weir_error error;
    char path[PATH_MAX + 4];
    size_t size;

    if (!o)
        return NULL;
    CHECK(env, napi_get_value_string_utf8(env, value, path, sizeof path, &size), NULL);
    return weir_save_file(o->filter, path, &error) == WEIR_OK ? NULL : throw_weir(env, &error);
}

static napi_value to_buffer(napi_env env, napi_callback_info info)
{
    struct filter_object *o = call_read(env, info, 0, NULL, NULL);
    struct weir_error error;
    napi_value out;
    size_t size;
    void *data;

    if (!o)
        return NULL;
    size = weir_saved_size(o->filter);
    CHECK(env, napi_create_buffer(env, size, &data, &out), NULL);
    return weir_save_buffer(o->filter, data, size, &error) ? out : throw_weir(env, &error);
}

/* ---- the module ---- */

#define METHOD(name, call, operation)                                                              \
    {                                                                                              \
        name, NULL, call, NULL, NULL, NULL, napi_default_method, (void *)(uintptr_t)(operation)    \
    }

NAPI_MODULE_INIT()
{
    const napi_property_descriptor methods[] = {
        METHOD("observe", call_with_key, OBSERVE),
        METHOD("ask", call_with_key, ASK),
        METHOD("has", call_with_key, ASK),
        METHOD("forget", call_with_key, FORGET),
        METHOD("observeBatch", call_with_batch, OBSERVE),
        METHOD("askBatch", call_with_batch, ASK),
        METHOD("advanceTo", advance_to, ASK),
        METHOD("clear", clear, FORGET),
        METHOD("close", close_filter, ASK),
        METHOD("merge", merge, OBSERVE),
        METHOD("config", config, ASK),
        METHOD("numbers", numbers, ASK),
        METHOD("saveTo", save_to, ASK),
        METHOD("toBuffer", to_buffer, ASK),
    };
    const size_t n = sizeof methods / sizeof *methods;
    napi_value class;

    CHECK(env,
          napi_define_class(env, "Filter", NAPI_AUTO_LENGTH, construct, NULL, n, methods, &class),
          NULL);
    CHECK(env, napi_set_named_property(env, exports, "Filter", class), NULL);
    return exports;
}
