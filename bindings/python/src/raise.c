/* raise.c - the library's statuses as exceptions, with the library's message. */
#include "binding.h"

#include <string.h>

/* One per status; each is a weir.Error and what Python has for such a case. */
static struct {
    enum weir_status status;
    const char *name;
    PyObject **beside;
    const char *doc;
    PyObject *type;
} errors[] = {
    {WEIR_BAD_CONFIG, "ConfigError", &PyExc_ValueError, "The spec is invalid.", NULL},
    {WEIR_NO_MEMORY, "NoMemoryError", &PyExc_MemoryError,
     "Not enough memory, or more than max_bytes.", NULL},
    {WEIR_BAD_DATA, "DataError", &PyExc_ValueError, "The bytes are not a saved handle, or damaged.",
     NULL},
    {WEIR_MISMATCH, "MismatchError", &PyExc_ValueError, "Different specs or seeds.", NULL},
    {WEIR_UNSUPPORTED, "UnsupportedError", &PyExc_TypeError,
     "This filter, sketch or screen cannot do that.", NULL},
    {WEIR_WRITE_FAILED, "WriteError", &PyExc_OSError, "Bytes could not be written.", NULL},
    {WEIR_FULL, "FullError", &PyExc_ValueError, "No room for a key.", NULL},
};

#define ERRORS (sizeof errors / sizeof errors[0])

static PyObject *base;

static PyObject *make(const char *name, const char *doc, PyObject *bases)
{
    char full[64];

    PyOS_snprintf(full, sizeof full, "weir.%s", name);
    return PyErr_NewExceptionWithDoc(full, doc, bases, NULL);
}

bool errors_add(PyObject *module)
{
    base = make("Error", "Base class of all errors that the library reports.", NULL);
    if (!base || PyModule_AddObjectRef(module, "Error", base) < 0)
        return false;
    for (size_t i = 0; i < ERRORS; i++) {
        PyObject *bases = PyTuple_Pack(2, base, *errors[i].beside);

        errors[i].type = bases ? make(errors[i].name, errors[i].doc, bases) : NULL;
        Py_XDECREF(bases);
        if (!errors[i].type || PyModule_AddObjectRef(module, errors[i].name, errors[i].type) < 0)
            return false;
    }
    return true;
}

PyObject *raise_status(enum weir_status status, const char *text)
{
    PyObject *type = base;
    PyObject *spec = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");

    for (size_t i = 0; i < ERRORS; i++) {
        if (errors[i].status == status)
            type = errors[i].type;
    }
    if (spec)
        PyErr_SetObject(type, spec);
    Py_XDECREF(spec);
    return NULL;
}

PyObject *raise_error(const struct weir_error *error)
{
    return raise_status((enum weir_status)error->status, error->text);
}
