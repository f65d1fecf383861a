/* py_module.c - the module weir._weir: exceptions, records and the list of types. */
#include "binding.h"

#include <stdarg.h>
#include <string.h>

/* One exception per status. Each is a weir.Error and inherits from a builtin exception. */
static struct {
    enum weir_status status;
    const char *name;
    PyObject **builtin;
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

static PyObject *base, *saturation_warning;

static PyObject *make(const char *name, const char *doc, PyObject *bases)
{
    char full[64];

    PyOS_snprintf(full, sizeof full, "weir.%s", name);
    return PyErr_NewExceptionWithDoc(full, doc, bases, NULL);
}

static bool errors_add(PyObject *module)
{
    base = make("Error", "Base class of all errors that the library reports.", NULL);
    if (!base || PyModule_AddObjectRef(module, "Error", base) < 0)
        return false;
    for (size_t i = 0; i < ERRORS; i++) {
        PyObject *bases = PyTuple_Pack(2, base, *errors[i].builtin);

        errors[i].type = bases ? make(errors[i].name, errors[i].doc, bases) : NULL;
        Py_XDECREF(bases);
        if (!errors[i].type || PyModule_AddObjectRef(module, errors[i].name, errors[i].type) < 0)
            return false;
    }
    saturation_warning =
        make("SaturationWarning",
             "A filter exceeds its maximum false-positive rate: it holds too many keys.",
             PyExc_RuntimeWarning);
    return saturation_warning &&
           PyModule_AddObjectRef(module, "SaturationWarning", saturation_warning) == 0;
}

bool warn_saturated(const char *text)
{
    return PyErr_WarnEx(saturation_warning, text, 1) == 0;
}

static PyObject *raise_code(enum weir_status status, int32_t code, const char *text)
{
    PyObject *type = base, *exception = NULL, *name = NULL;
    PyObject *message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");

    for (size_t i = 0; i < ERRORS; i++) {
        if (errors[i].status == status)
            type = errors[i].type;
    }
    if (message && (name = PyUnicode_FromString(weir_error_name(code))) &&
        (exception = PyObject_CallFunctionObjArgs(type, message, NULL)) &&
        PyObject_SetAttrString(exception, "code", name) == 0)
        PyErr_SetObject(type, exception);
    Py_XDECREF(exception);
    Py_XDECREF(name);
    Py_XDECREF(message);
    return NULL;
}

PyObject *raise_status(enum weir_status status, const char *text)
{
    return raise_code(status, 100 * (int32_t)status, text);
}

PyObject *raise_error(const struct weir_error *error)
{
    return raise_code((enum weir_status)error->status, error->code, error->text);
}

PyTypeObject *type_add(PyObject *module, PyType_Spec *spec, const char *name)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);

    if (type && PyModule_AddObjectRef(module, name, type) == 0)
        return (PyTypeObject *)type;
    Py_XDECREF(type);
    return NULL;
}

PyTypeObject *record_add(PyObject *module, PyStructSequence_Desc *desc, const char *name)
{
    PyTypeObject *type = PyStructSequence_NewType(desc);

    if (type && PyModule_AddObjectRef(module, name, (PyObject *)type) == 0)
        return type;
    Py_XDECREF((PyObject *)type);
    return NULL;
}

PyObject *record_of(PyTypeObject *type, const char *format, ...)
{
    PyObject *values, *record;
    va_list arguments;

    va_start(arguments, format);
    values = Py_VaBuildValue(format, arguments);
    va_end(arguments);
    record = values ? PyObject_CallFunctionObjArgs((PyObject *)type, values, NULL) : NULL;
    Py_XDECREF(values);
    return record;
}

static bool fill(PyObject *module)
{
    return errors_add(module) && batch_add(module) && filter_add(module) && builder_add(module) &&
           sketch_add(module) && screen_add(module) && plan_add(module) && unique_add(module) &&
           near_add(module) &&
           PyModule_AddStringConstant(module, "__version__", weir_version()) == 0;
}

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "weir._weir",
                                        "The extension of the package weir.",
                                        -1,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

PyMODINIT_FUNC PyInit__weir(void);

PyMODINIT_FUNC PyInit__weir(void)
{
    PyObject *module = PyModule_Create(&definition);

    if (module && !fill(module))
        Py_CLEAR(module);
    return module;
}
