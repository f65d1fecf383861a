/* numbers.c - importances, amounts and times of keys. */
#include "key_reader.h"

#include <string.h>
#include <time.h>

uint64_t numbers_latest_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return ((uint64_t)t.tv_sec + 24 * 3600) * 1000;
}

static bool refuse_range(const char *what, uint64_t most)
{
    bool is_time = strncmp(what, "time", 4) == 0 && most < UINT64_MAX;

    PyErr_Format(PyExc_ValueError, "%s is a whole number from 0 to %llu%s", what,
                 (unsigned long long)most,
                 is_time ? ": milliseconds, at most a day ahead of this machine's clock" : "");
    return false;
}

bool number_read(PyObject *o, const char *what, uint64_t most, uint64_t *out)
{
    PyObject *whole = PyNumber_Index(o);

    if (!whole) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear();
            PyErr_Format(PyExc_TypeError, "%s is a whole number, or a buffer or iterable of them",
                         what);
        }
        return false;
    }
    *out = PyLong_AsUnsignedLongLong(whole);
    Py_DECREF(whole);
    if (PyErr_Occurred()) {
        PyErr_Clear(); /* below 0, or above 64 bits */
        return refuse_range(what, most);
    }
    return *out <= most || refuse_range(what, most);
}

/* The code of a native integer, or 0. */
static char code_of(const Py_buffer *b)
{
    const char *f = b->format ? b->format : "B";

    if (*f == '@' || *f == '=')
        f++;
#if PY_LITTLE_ENDIAN
    if (*f == '<')
        f++;
#endif
    return strlen(f) == 1 && strchr("bBhHiIlLqQnN?", *f) ? *f : 0;
}

/* 1: it is one; 0: it is a number that has a buffer, as numpy's have; -1 with an exception. */
static int open_array(struct numbers *n, PyObject *o)
{
    if (PyObject_GetBuffer(o, &n->buffer, PyBUF_RECORDS_RO) < 0)
        return -1;
    if (n->buffer.ndim == 0) {
        PyBuffer_Release(&n->buffer);
        return 0;
    }
    n->is_array = true;
    n->code = code_of(&n->buffer);
    if (n->code && n->buffer.ndim == 1)
        return 1;
    PyErr_Format(PyExc_TypeError, "%s takes a buffer of one row of integers, not of format '%s'",
                 n->what, n->buffer.format ? n->buffer.format : "B");
    numbers_close(n);
    return -1;
}

bool numbers_open(struct numbers *n, PyObject *o, const char *what, uint64_t otherwise,
                  uint64_t most)
{
    *n = (struct numbers){
        .what = what, .most = most, .given = o != Py_None, .is_same = true, .same = otherwise};
    if (!n->given)
        return true;
    if (PyObject_CheckBuffer(o)) {
        int array = open_array(n, o);

        n->is_same = array == 0;
        if (array != 0)
            return array > 0;
    }
    if (PyIndex_Check(o))
        return number_read(o, what, most, &n->same);
    n->is_same = false;
    n->iterator = PyObject_GetIter(o);
    return n->iterator != NULL;
}

void numbers_close(struct numbers *n)
{
    if (n->is_array)
        PyBuffer_Release(&n->buffer);
    n->is_array = false;
    Py_CLEAR(n->iterator);
}

/* As it lies there; *negative if it is below 0. */
static uint64_t item(const struct numbers *n, bool *negative)
{
    const char *at = (const char *)n->buffer.buf + n->at * n->buffer.strides[0];
    bool is_signed = strchr("bhilqn", n->code) != NULL;
    uint64_t raw = 0;
    int bits = (int)(8 * n->buffer.itemsize);

#if PY_LITTLE_ENDIAN
    memcpy(&raw, at, (size_t)n->buffer.itemsize);
#else
    memcpy((char *)&raw + sizeof raw - (size_t)n->buffer.itemsize, at, (size_t)n->buffer.itemsize);
#endif
    *negative = is_signed && raw >> (bits - 1) & 1;
    return raw;
}

static bool refuse_short(const struct numbers *n)
{
    PyErr_Format(PyExc_ValueError, "%s has fewer numbers than there are keys", n->what);
    return false;
}

static bool next_of_array(struct numbers *n, uint64_t *out)
{
    bool negative;

    if (n->at >= n->buffer.len / n->buffer.itemsize)
        return refuse_short(n);
    *out = item(n, &negative);
    n->at++;
    return (!negative && *out <= n->most) || refuse_range(n->what, n->most);
}

bool numbers_next(struct numbers *n, uint64_t *out)
{
    if (n->is_same) {
        *out = n->same;
        return true;
    }
    if (n->is_array)
        return next_of_array(n, out);

    PyObject *o = PyIter_Next(n->iterator);
    bool ok;

    if (!o)
        return PyErr_Occurred() ? false : refuse_short(n);
    ok = number_read(o, n->what, n->most, out);
    Py_DECREF(o);
    return ok;
}

bool numbers_end(struct numbers *n)
{
    PyObject *more = NULL;

    if (n->is_array && n->at < n->buffer.len / n->buffer.itemsize)
        more = Py_NewRef(Py_None);
    else if (n->iterator)
        more = PyIter_Next(n->iterator);
    if (more)
        PyErr_Format(PyExc_ValueError, "%s has more numbers than there are keys", n->what);
    Py_XDECREF(more);
    return !PyErr_Occurred();
}
