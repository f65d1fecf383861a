/* extension.c - weir._weir is loaded: what it has, and what its files share. */
#include "binding.h"

#include <string.h>
#include <weir/hash.h>

struct hasher hasher_of(const char *config)
{
    struct hasher h = {WEIR_HASH_XXH3, 0};
    char kind[16];

    if (weir_spec_get(config, "hash", kind, sizeof kind) && strcmp(kind, "sip") == 0)
        h.kind = WEIR_HASH_SIP;
    (void)weir_spec_number(config, "seed", &h.seed);
    return h;
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

PyObject *record_of(PyTypeObject *type, PyObject *const *values, size_t n)
{
    PyObject *record = PyStructSequence_New(type);
    bool ok = record != NULL;

    for (size_t i = 0; i < n; i++) {
        ok = ok && values[i];
        if (record)
            PyStructSequence_SetItem(record, (Py_ssize_t)i, values[i]);
        else
            Py_XDECREF(values[i]);
    }
    if (!ok)
        Py_CLEAR(record);
    return record;
}

static bool fill(PyObject *module)
{
    return errors_add(module) && filter_add(module) && shared_add(module) && builder_add(module) &&
           sketch_add(module) && screen_add(module) && plan_add(module) && unique_add(module) &&
           PyModule_AddStringConstant(module, "__version__", weir_version()) == 0;
}

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "weir._weir",
                                        "The library, for the package weir.",
                                        -1,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

/* Looked up by the interpreter. */
PyMODINIT_FUNC PyInit__weir(void);

PyMODINIT_FUNC PyInit__weir(void)
{
    PyObject *module = PyModule_Create(&definition);

    if (module && !fill(module))
        Py_CLEAR(module);
    return module;
}
