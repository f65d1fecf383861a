/* addon.h - shared declarations of the Node addon.
 *
 * The addon uses Node-API version 8, so one build works with Node 18 and all later versions. It has
 * no global state, so each worker thread can load it.
 *
 * A function that fails throws a JavaScript exception and returns false or NULL. */
#ifndef ADDON_H
#define ADDON_H

#define NAPI_VERSION 8
#include <node_api.h>
#include <weir.h>

/* Return `failed` with an exception if a call of Node-API did not succeed. */
#define CHECK(env, call, failed)                                                                   \
    do {                                                                                           \
        if ((call) != napi_ok) {                                                                   \
            throw_last(env);                                                                       \
            return failed;                                                                         \
        }                                                                                          \
    } while (0)

/* Throw the exception of a failed call of Node-API, unless one is pending. */
void throw_last(napi_env env);

struct filter_object {
    weir_filter *filter; /* NULL: closed */
    uint64_t bytes;      /* reported to the garbage collector */
    bool observes;       /* false: a fixed set */
};

/* What a method does, from its entry in the class: ASK does not change the filter. */
enum operation { ASK, OBSERVE, FORGET };

/* Get the filter of `this` and the arguments. Throws if the filter is closed, or if the method
 * would change a fixed set. `operation` may be NULL. */
struct filter_object *call_read(napi_env env, napi_callback_info info, size_t argc,
                                napi_value *argv, enum operation *operation);

/* A buffer for the bytes of a key. */
struct key_buffer {
    char few[1024];
    char *many; /* allocated for longer text, or NULL */
};

/* Get the bytes of a key, valid until the next call with this buffer or until JavaScript runs. */
bool key_read(napi_env env, napi_value value, struct key_buffer *b, struct weir_bytes *key);
void key_buffer_free(struct key_buffer *b);

/* Get the data of a Uint8Array. False without an exception if the value is not one. */
bool bytes_read(napi_env env, napi_value value, struct weir_bytes *bytes);

/* observeBatch() and askBatch(): (keys, layout, in pairs) to a Uint8Array of verdicts. */
napi_value call_with_batch(napi_env env, napi_callback_info info);

#endif
