/* filter_type.h - weir.Filter, for those that make one or show it keys. */
#ifndef FILTER_TYPE_H
#define FILTER_TYPE_H

#include "binding.h"
#include "saved_file.h"

struct filter_object {
    PyObject_HEAD weir_filter *w; /* NULL once it is closed */
    struct handle_use use;
    struct hasher hash;
    bool learns; /* can be shown keys: neither a view nor a fixed set */
    bool is_view;
    struct saved_bytes lent;             /* what a view looks at */
    char keys[WEIR_KEY_DESCRIPTION_MAX]; /* how its keys were made, of the file it was in; or "" */
};

/* weir.Filter; there from filter_add() on. */
extern PyTypeObject *filter_type;

/* Make an object of a handle, which is its own from then on; closed if that fails. With
 * lent (else NULL) it is a view of these bytes, which are the object's too. */
PyObject *filter_wrap(weir_filter *w, struct saved_bytes *lent);

/* Its handle when nobody is in a call; NULL with an exception if it is closed. */
weir_filter *filter_ready(struct filter_object *f);

/* The same of one that is to be shown keys. */
weir_filter *filter_learning(struct filter_object *f);

/* weir.Stats of figures. */
PyObject *stats_record(const struct weir_stats *stats);

#endif
