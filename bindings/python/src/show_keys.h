/* show_keys.h - batches of hashed keys: gathered with the GIL, shown without it. */
#ifndef SHOW_KEYS_H
#define SHOW_KEYS_H

#include "key_reader.h"
#include "numbers.h"

/* What keys are shown to. enter() and leave() are called with the GIL, show() between them
 * without it. */
struct shown_to {
    PyObject *self;
    struct hasher hash;
    bool (*enter)(PyObject *self); /* false with an exception */
    void (*leave)(PyObject *self);
    enum weir_status (*show)(PyObject *self, const struct weir_key *keys, const uint64_t *times,
                             size_t n, uint8_t *verdicts, struct weir_error *error);
};

/* What was given for a batch; NULL stands for None. */
struct batch_given {
    PyObject *keys, *size, *importance, *times;
};

/* Show a batch: a verdict for each key as bytes, or NULL with an exception. If a key cannot
 * be read, or the iterable raises, those before it have been shown. With wants_verdicts
 * false, None. */
PyObject *show_keys(const struct shown_to *to, const struct batch_given *given,
                    bool wants_verdicts);

#endif
