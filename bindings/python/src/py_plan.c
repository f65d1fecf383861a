/* py_plan.c - predictions and specs: weir.predict(), weir.algorithms(), weir.complete(), and the
 * calls that weir.plan() uses. */
#include "binding.h"

#include <string.h>
#define WEIR_UNSTABLE
#include <weir/plan.h>

/* ---- predictions ---- */

static PyObject *classes_of(const struct weir_prediction *p)
{
    PyObject *out = PyTuple_New((Py_ssize_t)p->classes);

    for (uint32_t i = 0; out && i < p->classes; i++) {
        PyObject *one = Py_BuildValue("(dd)", p->class_share[i + 1], p->class_fnr[i + 1]);

        if (!one)
            Py_CLEAR(out);
        else
            PyTuple_SetItem(out, (Py_ssize_t)i, one);
    }
    return out;
}

static PyObject *prediction_of(const struct weir_prediction *p)
{
    return support_call("Prediction", "(sKddddddddddN)", p->config, p->memory, p->fpr, p->fnr,
                        p->fill, p->error, p->stable, p->paper, p->remembered, p->least_fnr,
                        p->lru_fnr, p->rank, classes_of(p));
}

static bool read_stream(struct weir_stream *s, const char *spec)
{
    struct weir_error error;
    bool ok = weir_stream_read(s, sizeof *s, spec, &error) == WEIR_OK;

    if (!ok)
        raise_error(&error);
    return ok;
}

static PyObject *predict(PyObject *module, PyObject *args, PyObject *named)
{
    static char *names[] = {"spec", "stream", NULL};
    const char *spec, *stream = "endless";
    struct weir_prediction p;
    struct weir_stream s;
    struct weir_error error;
    enum weir_status status;

    if (!PyArg_ParseTupleAndKeywords(args, named, "s|s", names, &spec, &stream) ||
        !read_stream(&s, stream))
        return NULL;
    Py_BEGIN_ALLOW_THREADS status = weir_predict(&p, sizeof p, spec, &s, &error);
    Py_END_ALLOW_THREADS return status == WEIR_OK ? prediction_of(&p) : raise_error(&error);
}

/* choose(filter, stream, memory, fpr, fnr, sizing): zeros are defaults. */
static PyObject *choose(PyObject *module, PyObject *args)
{
    const char *filter, *stream;
    unsigned long long memory;
    struct weir_plan_request wish = {.size = sizeof wish};
    struct weir_prediction p;
    struct weir_stream s;
    struct weir_error error;
    enum weir_status status;
    int sizing;

    if (!PyArg_ParseTuple(args, "ssKddp", &filter, &stream, &memory, &wish.fpr, &wish.fnr,
                          &sizing) ||
        !read_stream(&s, stream))
        return NULL;
    wish.memory = memory;
    Py_BEGIN_ALLOW_THREADS status =
        (sizing ? weir_min_memory : weir_choose)(&p, sizeof p, filter, &s, &wish, &error);
    Py_END_ALLOW_THREADS return status == WEIR_OK ? prediction_of(&p) : raise_error(&error);
}

/* ---- specs ---- */

static bool read_kind(const char *name, enum weir_kind *kind)
{
    static const char *const kinds[] = {"filter", "sketch", "screen"};

    for (int i = 0; i < 3; i++) {
        if (strcmp(name, kinds[i]) == 0) {
            *kind = (enum weir_kind)i;
            return true;
        }
    }
    PyErr_Format(PyExc_ValueError, "there are no %ss; there are filter, sketch and screen", name);
    return false;
}

static PyObject *algorithms(PyObject *module, PyObject *args, PyObject *named)
{
    static char *names[] = {"kind", NULL};
    const char *name = "filter";
    const struct weir_algorithm *about;
    enum weir_kind kind;
    PyObject *list;

    if (!PyArg_ParseTupleAndKeywords(args, named, "|s", names, &name) || !read_kind(name, &kind))
        return NULL;
    list = PyList_New(0);
    for (size_t i = 0; list && (about = weir_algorithm_at(kind, i)); i++) {
        PyObject *one = support_call("algorithm", "(ssK)", about->name, about->idea, about->traits);

        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

static PyObject *complete(PyObject *module, PyObject *args, PyObject *named)
{
    static char *names[] = {"spec", "kind", NULL};
    const char *spec, *name = "filter";
    char text[WEIR_SPEC_MAX];
    struct weir_error error;
    enum weir_kind kind;

    if (!PyArg_ParseTupleAndKeywords(args, named, "s|s", names, &spec, &name) ||
        !read_kind(name, &kind))
        return NULL;
    if (weir_spec_complete(kind, spec, text, sizeof text, &error) != WEIR_OK)
        return raise_error(&error);
    return PyUnicode_FromString(text);
}

static PyObject *read_size(PyObject *module, PyObject *text)
{
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, NULL);
    uint64_t bytes;

    if (!utf8)
        return NULL;
    if (weir_parse_size(utf8, &bytes))
        return PyLong_FromUnsignedLongLong(bytes);
    PyErr_Format(PyExc_ValueError,
                 "memory=%U: invalid size; use a number with K, M or G, for example 64M", text);
    return NULL;
}

static PyMethodDef functions[] = {
    {"predict", METHOD(predict), METH_VARARGS | METH_KEYWORDS,
     "predict($module, /, spec, stream='endless')\n--\n\n"
     "Predict a filter's errors on a stream (docs/planning.md), a weir.Prediction.\n\n"
     ">>> p = predict('rlbsbf memory=256K k=2', 'uniform:n=1M,distinct=60%')\n"
     ">>> 0 < p.fpr < 1, p.memory\n"
     "(True, 262144)\n"},
    {"_choose", choose, METH_VARARGS, "For weir.plan()."},
    {"algorithms", METHOD(algorithms), METH_VARARGS | METH_KEYWORDS,
     "algorithms($module, /, kind='filter')\n--\n\n"
     "The algorithms of a kind ('filter', 'sketch', 'screen'), the default first.\n\n"
     ">>> algorithms()[0].name\n"
     "'recent'\n"},
    {"complete", METHOD(complete), METH_VARARGS | METH_KEYWORDS,
     "complete($module, /, spec, kind='filter')\n--\n\n"
     "The spec with every parameter filled in; opens nothing.\n\n"
     ">>> complete('bloom memory=1K seed=7')\n"
     "'bloom memory=1024 k=4 hash=xxh3 seed=7'\n"},
    {"_size", read_size, METH_O, "A size in bytes, of its text."},
    {NULL, NULL, 0, NULL}};

bool plan_add(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}
