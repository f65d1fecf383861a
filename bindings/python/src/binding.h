/* binding.h - what all files of the extension see: CPython's limited API, the
 * exceptions, and the rule for the GIL.
 *
 * The rule: whatever touches a Python object holds the GIL. Calls of the library that
 * may take long are made without it, between typed_handle_enter() and typed_handle_leave(), so that
 * another thread that wants the same handle waits, and one that closes it too. Calls
 * that are over in a microsecond keep the GIL, and need only typed_handle_ready(). */
#ifndef BINDING_H
#define BINDING_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <pythread.h>
#include <stdbool.h>
#include <stdint.h>
#include <weir.h>

/* ---- exceptions ---- */

/* Make the exceptions and put them into the module. */
bool errors_add(PyObject *module);

/* Set the exception of this error; always NULL. */
PyObject *raise_error(const struct weir_error *error);

/* Set the one for a status, with a spec of our own. */
PyObject *raise_status(enum weir_status status, const char *text);

/* ---- small things ---- */

/* How keys are hashed for a spec that is complete. */
struct hasher {
    uint32_t kind;
    uint64_t seed;
};

struct hasher hasher_of(const char *config);

/* A method of any signature as PyMethodDef wants it. */
#define METHOD(f) ((PyCFunction)(void (*)(void))(f))

/* Make a type and put it into the module under its name; a new reference, or NULL. */
PyTypeObject *type_add(PyObject *module, PyType_Spec *spec, const char *name);

/* A named tuple of these fields, likewise. */
PyTypeObject *record_add(PyObject *module, PyStructSequence_Desc *desc, const char *name);

/* One of them: its values as Py_BuildValue() takes them, "(KKd)". */
PyObject *record_of(PyTypeObject *type, const char *format, ...);

/* The names of each file's own functions for module.c. */
bool filter_add(PyObject *module);
bool shared_add(PyObject *module);
bool builder_add(PyObject *module);
bool sketch_add(PyObject *module);
bool screen_add(PyObject *module);
bool plan_add(PyObject *module);
bool unique_add(PyObject *module);

#endif
