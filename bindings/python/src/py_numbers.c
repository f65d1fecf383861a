/* py_numbers.c - importances, amounts and times of keys: one number for all, an array (read in
 * place) or an iterable. Times are integers (milliseconds), datetime or datetime64; times without a
 * time zone are UTC, as in numpy. */
#include "binding.h"

#include <string.h>
#include <time.h>

uint64_t latest_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return ((uint64_t)t.tv_sec + 24 * 3600) * 1000;
}

static bool refuse_range(const char *what, uint64_t max)
{
    bool is_time = strncmp(what, "time", 4) == 0 && max < UINT64_MAX;

    PyErr_Format(PyExc_ValueError, "%s is out of range; use a whole number from 0 to %llu%s", what,
                 (unsigned long long)max,
                 is_time ? ": milliseconds, at most a day ahead of this machine's clock" : "");
    return false;
}

bool number_read(PyObject *o, const char *what, uint64_t max, uint64_t *out)
{
    PyObject *whole = PyNumber_Index(o);

    if (!whole) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear();
            PyErr_Format(
                PyExc_TypeError, "%s is not a whole number, nor an array of them%s", what,
                strncmp(what, "time", 4) == 0 ? "; use milliseconds, datetime or datetime64" : "");
        }
        return false;
    }
    *out = PyLong_AsUnsignedLongLong(whole);
    Py_DECREF(whole);
    if (PyErr_Occurred()) {
        PyErr_Clear(); /* negative, or above 64 bits */
        return refuse_range(what, max);
    }
    return *out <= max || refuse_range(what, max);
}

bool time_read(PyObject *o, uint64_t max, uint64_t *out)
{
    PyObject *ms = PyLong_Check(o) ? Py_NewRef(o) : support_call("milliseconds", "(O)", o);
    bool ok = ms && number_read(ms, "time", max, out);

    Py_XDECREF(ms);
    return ok;
}

/* ---- numbers of a batch ---- */

/* 1: an array; 0: a single number with a buffer (numpy scalars); -1 with an exception. */
static int open_array(struct numbers *n, PyObject *o)
{
    const Py_buffer *b = &n->buffer;

    if (PyObject_GetBuffer(o, &n->buffer, PyBUF_RECORDS_RO) < 0)
        return -1;
    if (b->ndim == 0) {
        PyBuffer_Release(&n->buffer);
        return 0;
    }
    n->is_array = true;
    n->type = integers_of(b->format, b->itemsize);
    if (b->format && strcmp(b->format, "?") == 0)
        n->type = (struct integers){1, false, false};
    if (n->type.size && b->ndim == 1)
        return 1;
    PyErr_Format(PyExc_TypeError, "%s must be one column of integers, not %d dimensions of '%s'",
                 n->what, b->ndim, b->format ? b->format : "B");
    numbers_close(n);
    return -1;
}

static bool open_object(struct numbers *n, PyObject *o)
{
    int array = PyObject_CheckBuffer(o) ? open_array(n, o) : 0;

    n->is_same = array == 0;
    if (array != 0)
        return array > 0;
    if (PyLong_Check(o) || PyIndex_Check(o))
        return n->is_time ? time_read(o, n->max, &n->same)
                          : number_read(o, n->what, n->max, &n->same);
    n->is_same = false;
    n->iterator = PyObject_GetIter(o);
    if (n->iterator || !n->is_time)
        return n->iterator != NULL;
    PyErr_Clear();
    n->is_same = true;
    return time_read(o, n->max, &n->same);
}

bool numbers_open(struct numbers *n, PyObject *o, const char *what, uint64_t otherwise,
                  uint64_t max)
{
    PyObject *array = NULL;
    bool ok;

    *n = (struct numbers){.what = what,
                          .max = max,
                          .given = o != Py_None,
                          .is_same = true,
                          .is_time = strncmp(what, "time", 4) == 0,
                          .same = otherwise};
    if (!n->given)
        return true;
    array = PyLong_Check(o) ? Py_NewRef(o) : support_call("numbers_of", "(O)", o);
    ok = array && open_object(n, array);
    Py_XDECREF(array);
    return ok;
}

bool times_open(struct numbers *n, PyObject *o)
{
    return numbers_open(n, o, "times", 0, latest_time());
}

void numbers_close(struct numbers *n)
{
    if (n->is_array)
        PyBuffer_Release(&n->buffer);
    n->is_array = false;
    Py_CLEAR(n->iterator);
}

static bool refuse_short(const struct numbers *n)
{
    PyErr_Format(PyExc_ValueError, "%s has fewer numbers than there are keys", n->what);
    return false;
}

static bool next_of_array(struct numbers *n, uint64_t *out)
{
    bool negative;

    if (n->at >= n->buffer.shape[0])
        return refuse_short(n);
    *out = integer_read(n->type, (const char *)n->buffer.buf + n->at * n->buffer.strides[0],
                        &negative);
    n->at++;
    return (!negative && *out <= n->max) || refuse_range(n->what, n->max);
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
    ok = n->is_time ? time_read(o, n->max, out) : number_read(o, n->what, n->max, out);
    Py_DECREF(o);
    return ok;
}

bool numbers_end(struct numbers *n)
{
    PyObject *more = NULL;

    if (n->is_array && n->at < n->buffer.shape[0])
        more = Py_NewRef(Py_None);
    else if (n->iterator)
        more = PyIter_Next(n->iterator);
    if (more)
        PyErr_Format(PyExc_ValueError, "%s has more numbers than there are keys", n->what);
    Py_XDECREF(more);
    return !PyErr_Occurred();
}
