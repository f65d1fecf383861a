/* filter_saved.c - filters saved, loaded, looked at where they lie, pickled. */
#include "filter_methods.h"
#include "filter_type.h"

#include <string.h>
#include <weir/saved.h>

static enum weir_status write_filter(void *handle, weir_sink sink, void *context,
                                     struct weir_error *error)
{
    return weir_save_stream(handle, sink, context, error);
}

PyObject *filter_save(PyObject *self, PyObject *path)
{
    struct filter_object *f = (struct filter_object *)self;
    PyObject *out;

    if (!filter_ready(f) || !handle_take(&f->use))
        return NULL;
    out = saved_write(path, f->keys, write_filter, f->w);
    handle_give(&f->use);
    return out;
}

PyObject *filter_tobytes(PyObject *self, PyObject *none)
{
    struct filter_object *f = (struct filter_object *)self;
    PyObject *out;

    (void)none;
    if (!filter_ready(f) || !handle_take(&f->use))
        return NULL;
    out = saved_bytes_of(f->keys, write_filter, f->w, weir_saved_size(f->w));
    handle_give(&f->use);
    return out;
}

/* Where the filter lies in what was saved, if it is whole. */
static bool find_filter(const struct saved_bytes *s, const void **data, size_t *size)
{
    uint32_t shards = 1;

    if (!saved_find(s, 1u << WEIR_PART_FILTER, "filter", data, size, &shards))
        return false;
    if (shards > 1)
        raise_status(WEIR_UNSUPPORTED, "this filter was saved in shards: weir.Shared.load() loads "
                                       "them, weir.Shared.view() asks them");
    return shards <= 1;
}

/* The object, once it knows how its keys were made. */
static PyObject *with_keys(PyObject *filter, const char keys[WEIR_KEY_DESCRIPTION_MAX])
{
    if (filter)
        memcpy(((struct filter_object *)filter)->keys, keys, WEIR_KEY_DESCRIPTION_MAX);
    return filter;
}

PyObject *filter_load(PyObject *type, PyObject *args, PyObject *named)
{
    char keys[WEIR_KEY_DESCRIPTION_MAX];
    struct saved_bytes saved;
    struct weir_error error;
    const void *data;
    size_t size;
    enum weir_status status = WEIR_BAD_DATA;
    weir_filter *w = NULL;
    bool found;

    (void)type;
    if (!saved_open_filter(&saved, args, named, keys))
        return NULL;
    found = find_filter(&saved, &data, &size);
    if (found) {
        Py_BEGIN_ALLOW_THREADS status = weir_load_buffer(&w, data, size, NULL, NULL, &error);
        Py_END_ALLOW_THREADS
    }
    saved_close(&saved);
    if (status == WEIR_OK)
        return with_keys(filter_wrap(w, NULL), keys);
    return found ? raise_error(&error) : NULL;
}

PyObject *filter_view(PyObject *type, PyObject *args, PyObject *named)
{
    char keys[WEIR_KEY_DESCRIPTION_MAX];
    struct saved_bytes saved;
    struct weir_error error;
    const void *data;
    size_t size;
    weir_filter *w = NULL;

    (void)type;
    if (!saved_open_filter(&saved, args, named, keys))
        return NULL;
    if (!find_filter(&saved, &data, &size)) {
        saved_close(&saved);
        return NULL;
    }
    if (weir_view_buffer(&w, data, size, NULL, NULL, &error) != WEIR_OK) {
        saved_close(&saved);
        return raise_error(&error);
    }
    return with_keys(filter_wrap(w, &saved), keys);
}

PyObject *filter_reduce(PyObject *self, PyObject *none)
{
    PyObject *bytes = filter_tobytes(self, none);
    PyObject *load =
        bytes ? saved_loader((PyObject *)filter_type, ((struct filter_object *)self)->keys) : NULL;
    PyObject *out = load ? Py_BuildValue("O(O)", load, bytes) : NULL;

    Py_XDECREF(load);
    Py_XDECREF(bytes);
    return out;
}
