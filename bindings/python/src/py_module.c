/* py_module.c - the module weir._weir: its types, and the calls of weir/_support.py. */
#include "binding.h"

#include <stdarg.h>
#include <string.h>

static PyObject *support; /* the module weir._support */

PyObject *support_apply(const char *name, PyObject *args, PyObject *named)
{
    PyObject *function = PyObject_GetAttrString(support, name);
    PyObject *out = function ? PyObject_Call(function, args, named) : NULL;

    Py_XDECREF(function);
    return out;
}

PyObject *support_call(const char *name, const char *format, ...)
{
    PyObject *args, *out;
    va_list values;

    va_start(values, format);
    args = Py_VaBuildValue(format, values);
    va_end(values);
    out = args ? support_apply(name, args, NULL) : NULL;
    Py_XDECREF(args);
    return out;
}

static PyObject *raise_code(enum weir_status status, int32_t code, const char *text)
{
    return support_call("fail", "(isN)", (int)status, weir_error_name(code),
                        PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace"));
}

PyObject *raise_status(enum weir_status status, const char *text)
{
    return raise_code(status, 100 * (int32_t)status, text);
}

PyObject *raise_error(const struct weir_error *error)
{
    return raise_code((enum weir_status)error->status, error->code, error->text);
}

PyTypeObject *type_add(PyObject *module, PyType_Spec *spec, const char *name, PyTypeObject *base)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, (PyObject *)base);

    if (type && PyModule_AddObjectRef(module, name, type) == 0)
        return (PyTypeObject *)type;
    Py_XDECREF(type);
    return NULL;
}

static bool fill(PyObject *module)
{
    support = PyImport_ImportModule("weir._support");
    return support && handle_add(module) && batch_add(module) && filter_add(module) &&
           builder_add(module) && sketch_add(module) && screen_add(module) && plan_add(module) &&
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
