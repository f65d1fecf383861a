/* py_screen.c - weir.Screen: is a key a member of a slow store's set? The store is a Python
 * function. An exception that it raises ends the check and is raised again from there. */
#include "binding.h"

#include <stdlib.h>
#include <string.h>
#include <weir/screen.h>

struct screen_object {
    struct handle_object base;
    PyObject *store; /* a callable, or None */
};

/* ---- life ---- */

HANDLE_CALLS(weir_screen, weir_screen)

static const struct handle_class screen_class = {
    .name = "Screen",
    .what = "screen",
    .closed = "this screen is closed",
    .arguments = "open_screen",
    .parts = 1u << WEIR_PART_SCREEN,
    HANDLE_INIT,
};

static int traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((struct screen_object *)self)->store);
    return 0;
}

static int clear_references(PyObject *self)
{
    Py_CLEAR(((struct screen_object *)self)->store);
    return 0;
}

static void dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    clear_references(self);
    object_dealloc(self);
}

static PyObject *with_store(PyObject *self, PyObject *store)
{
    if (self)
        ((struct screen_object *)self)->store = Py_NewRef(store);
    return self;
}

static PyObject *new_screen(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *store;
    PyObject *self = object_new(type, &screen_class, args, named, &store);

    if (self)
        ((struct screen_object *)self)->store = store;
    return self;
}

static PyObject *load(PyObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = {"source", "store", NULL};
    PyObject *source, *store = Py_None, *checked, *self;

    if (!PyArg_ParseTupleAndKeywords(args, named, "O|O", names, &source, &store))
        return NULL;
    checked = support_call("checked_store", "(O)", store);
    self = checked ? object_load((PyTypeObject *)type, &screen_class, source, true, false) : NULL;
    Py_XDECREF(checked);
    return with_store(self, store);
}

static PyObject *copy(PyObject *self, PyObject *memo)
{
    return with_store(object_copy(self, memo), ((struct screen_object *)self)->store);
}

static PyObject *reduce(PyObject *self, PyObject *none)
{
    return support_call("reduce", "(OsO)", self, "", ((struct screen_object *)self)->store);
}

/* ---- the store ---- */

/* A check on its way. */
struct checking {
    PyObject *store;
    PyThreadState *thread; /* without the GIL */
};

static PyObject *list_of_keys(const struct weir_bytes *keys, size_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);

    for (size_t i = 0; list && i < n; i++) {
        PyObject *key = PyBytes_FromStringAndSize(keys[i].data, (Py_ssize_t)keys[i].size);

        if (!key)
            Py_CLEAR(list);
        else
            PyList_SetItem(list, (Py_ssize_t)i, key);
    }
    return list;
}

/* The answers of a failed store are ignored. */
static bool ask_store(void *context, const struct weir_bytes *keys, size_t n, uint8_t *answers)
{
    struct checking *c = context;
    PyObject *list, *answered;

    PyEval_RestoreThread(c->thread);
    list = list_of_keys(keys, n);
    answered = list ? support_call("ask", "(ON)", c->store, list) : NULL;
    if (answered)
        memcpy(answers, PyBytes_AsString(answered), n);
    else
        memset(answers, WEIR_UNANSWERED, n);
    Py_XDECREF(answered);
    c->thread = PyEval_SaveThread();
    return answered != NULL;
}

/* ---- check ---- */

static bool check_list(PyObject *self, const struct key_list *l, uint8_t *answers)
{
    struct screen_object *o = (struct screen_object *)self;
    struct checking c;

    if (!object_enter(self))
        return false;
    c.store = Py_NewRef(o->store);
    c.thread = PyEval_SaveThread();
    weir_screen_check(o->base.handle, l->keys, l->n, ask_store, &c, answers);
    PyEval_RestoreThread(c.thread);
    object_leave(self);
    Py_DECREF(c.store);
    return !PyErr_Occurred();
}

static PyObject *answer_of(uint8_t answer)
{
    return answer == WEIR_UNANSWERED ? Py_NewRef(Py_None) : PyBool_FromLong(answer == WEIR_MEMBER);
}

/* The answers of a batch. */
struct checked {
    PyObject *list;
    uint8_t answers[WEIR_SCREEN_BATCH];
};

static bool check_many_of(PyObject *self, struct key_list *l, void *context)
{
    struct checked *c = context;

    if (!check_list(self, l, c->answers))
        return false;
    for (size_t i = 0; i < l->n; i++) {
        PyObject *one = answer_of(c->answers[i]);
        int failed = PyList_Append(c->list, one);

        Py_DECREF(one);
        if (failed < 0)
            return false;
    }
    return true;
}

static PyObject *check_many(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"keys", "size", NULL};
    PyObject *keys, *size = Py_None;
    struct checked c;

    if (!PyArg_ParseTupleAndKeywords(args, named, "O|$O", names, &keys, &size))
        return NULL;
    c.list = PyList_New(0);
    if (c.list && !key_lists_run(self, keys, size, WEIR_SCREEN_BATCH, check_many_of, &c))
        Py_CLEAR(c.list);
    return c.list;
}

static PyObject *check(PyObject *self, PyObject *object)
{
    struct text_room room;
    struct key_view key;
    uint8_t answer = WEIR_UNANSWERED;
    bool ok = false;

    text_room_open(&room);
    if (key_read(object, &room, &key)) {
        struct key_list l = {.keys = &key.bytes, .n = 1};

        ok = check_list(self, &l, &answer);
        key_release(&key);
    }
    text_room_close(&room);
    return ok ? answer_of(answer) : NULL;
}

/* ---- the set ---- */

static bool add_list(PyObject *self, struct key_list *l, void *unused)
{
    if (!object_enter(self))
        return false;
    Py_BEGIN_ALLOW_THREADS weir_screen_add_members(((struct handle_object *)self)->handle, l->keys,
                                                   l->n);
    Py_END_ALLOW_THREADS object_leave(self);
    return true;
}

static PyObject *add_members(PyObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"keys", "size", NULL};
    PyObject *keys, *size = Py_None;

    return PyArg_ParseTupleAndKeywords(args, named, "O|$O", names, &keys, &size) &&
                   key_lists_run(self, keys, size, WEIR_SCREEN_BATCH, add_list, NULL)
               ? Py_NewRef(Py_None)
               : NULL;
}

static PyObject *clear_set(PyObject *self, PyObject *none)
{
    weir_screen *s = object_ready(self);

    if (!s)
        return NULL;
    weir_screen_clear_set(s);
    Py_RETURN_NONE;
}

static PyObject *needs_set(PyObject *self, void *unused)
{
    weir_screen *s = object_ready(self);

    return s ? PyBool_FromLong(weir_screen_needs_set(s)) : NULL;
}

static PyObject *stats(PyObject *self, PyObject *none)
{
    weir_screen *s = object_ready(self);
    struct weir_screen_stats m;

    if (!s)
        return NULL;
    weir_screen_measure(s, &m, sizeof m);
    return support_call("ScreenStats", "(KKKKKKKdd)", m.memory, m.bytes, m.checked, m.asked,
                        m.saved, m.unanswered, m.members, m.fill, m.error);
}

/* ---- the type ---- */

static PyMethodDef methods[] = {
    {"check", check, METH_O,
     "check($self, key, /)\n--\n\nWhether a key is a member: True, False, or None if the store "
     "could not answer."},
    {"check_many", METHOD(check_many), METH_VARARGS | METH_KEYWORDS,
     "check_many($self, /, keys, *, size=None)\n--\n\n"
     "Return a list with the answer for each key. The store is asked for many keys in one call.\n"
     "If it raises, the exception is raised here; earlier answers stay recorded."},
    {"add_members", METHOD(add_members), METH_VARARGS | METH_KEYWORDS,
     "add_members($self, /, keys, *, size=None)\n--\n\nAdd members of the set to a screen that "
     "holds "
     "it (1bf, strict)."},
    {"clear_set", clear_set, METH_NOARGS,
     "clear_set($self, /)\n--\n\nRemove the set, to add its members again from scratch."},
    {"stats", stats, METH_NOARGS, "stats($self, /)\n--\n\nReturn statistics, a weir.ScreenStats."},
    {"load", METHOD(load), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "load($type, /, source, store=None)\n--\n\nLoad a saved screen, from a path or from bytes, "
     "with this store."},
    METHODS_OF_COPY(copy),
    {"__reduce__", reduce, METH_NOARGS, "Pickle support."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef properties[] = {
    {"needs_set", needs_set, NULL, "Whether add_members() must be called first.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

#define SCREEN_DOC                                                                                 \
    "Screen(spec='', store=None, *, max_bytes=0, **parameters)\n--\n\n"                            \
    "A small in-memory filter in front of a slow, exact store.\n\n"                                \
    "store: a function that takes a list of keys (bytes) and returns True, False or None\n"        \
    "for each. docs/screens.md lists the specs.\n\n"                                               \
    ">>> members = {b'a', b'c'}\n"                                                                 \
    ">>> s = Screen('memory=64K seed=1', lambda keys: [k in members for k in keys])\n"             \
    ">>> s.check_many(['a', 'b', 'a'])\n"                                                          \
    "[True, False, True]\n"                                                                        \
    ">>> s.stats().asked\n"                                                                        \
    "2\n"

static PyType_Slot slots[] = {{Py_tp_new, new_screen},    {Py_tp_dealloc, dealloc},
                              {Py_tp_traverse, traverse}, {Py_tp_clear, clear_references},
                              {Py_tp_doc, SCREEN_DOC},    {Py_tp_methods, methods},
                              {Py_tp_getset, properties}, {0, NULL}};

static PyType_Spec spec = {"weir.Screen", sizeof(struct screen_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
                           slots};

bool screen_add(PyObject *module)
{
    return type_add(module, &spec, "Screen", single_type) != NULL;
}
