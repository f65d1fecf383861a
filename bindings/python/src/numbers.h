/* numbers.h - a whole number for each key of a batch: one for all, a buffer of integers,
 * or an iterable of them. */
#ifndef NUMBERS_H
#define NUMBERS_H

#include "binding.h"

struct numbers {
    const char *what; /* "importance", for specs */
    uint64_t most;
    bool given;    /* not None */
    bool is_same;  /* one for all */
    bool is_array; /* a buffer */
    uint64_t same;
    Py_buffer buffer;
    char code; /* of the struct module */
    PyObject *iterator;
    Py_ssize_t at;
};

/* Numbers from 0 to most; None are `otherwise` each. */
bool numbers_open(struct numbers *n, PyObject *o, const char *what, uint64_t otherwise,
                  uint64_t most);
void numbers_close(struct numbers *n);

/* The next: false with an exception if there is none, or it does not fit. */
bool numbers_next(struct numbers *n, uint64_t *out);

/* That none is left. */
bool numbers_end(struct numbers *n);

/* The largest time of a record, for `most`: one wrong date must not evict all keys. advance() takes
 * any. */
uint64_t numbers_latest_time(void);

/* One number alone. */
bool number_read(PyObject *o, const char *what, uint64_t most, uint64_t *out);

#endif
