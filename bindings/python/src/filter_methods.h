/* filter_methods.h - methods of weir.Filter that filter_saved.c has, and the text of help()
 * for all of them. The examples are run by the tests. */
#ifndef FILTER_METHODS_H
#define FILTER_METHODS_H

#include "binding.h"

PyObject *filter_save(PyObject *self, PyObject *path);
PyObject *filter_tobytes(PyObject *self, PyObject *none);
PyObject *filter_load(PyObject *type, PyObject *args, PyObject *named);
PyObject *filter_view(PyObject *type, PyObject *args, PyObject *named);
PyObject *filter_reduce(PyObject *self, PyObject *none);

#define FILTER_DOC                                                                                 \
    "Filter(spec='', *, max_bytes=0)\n--\n\n"                                                      \
    "Reports for each key whether it was observed before, in fixed memory.\n\n"                    \
    "spec: 'NAME parameter=value ...', as in docs/filters.md; the name is optional.\n"             \
    "max_bytes: the most memory it may use; 0 means no limit.\n\n"                                 \
    ">>> f = Filter('memory=64K seed=1')\n"                                                        \
    ">>> f.observe('apple'), f.observe('apple')\n"                                                 \
    "(False, True)\n"                                                                              \
    ">>> b'apple' in f, 'pear' in f\n"                                                             \
    "(True, False)\n"

#define OBSERVE_DOC                                                                                \
    "observe($self, key, /, *, importance=None, time=None)\n--\n\n"                                \
    "Report whether a key was probably observed before, then record it.\n\n"                       \
    "importance: 0 to 4294967295, for filters with importance=. time: milliseconds of\n"           \
    "one clock, for filters with span=; see advance().\n\n"                                        \
    ">>> f = Filter('memory=64K seed=1')\n"                                                        \
    ">>> f.observe(b'a'), f.observe(b'a')\n"                                                       \
    "(False, True)\n"

#define OBSERVE_MANY_DOC                                                                           \
    "observe_many($self, /, keys, *, size=None, importance=None, times=None)\n--\n\n"              \
    "Observe keys in order. Returns bytes: 1 for each key that was seen, 0 for each new one.\n\n"  \
    "keys: an iterable of bytes and str, or a buffer of keys of one size: an array, whose\n"       \
    "items (or rows) are the keys, or bytes cut by size=. importance and times: one number\n"      \
    "for all, or an array or iterable with one for each key. If the iterable raises, the\n"        \
    "keys before that have been observed.\n\n"                                                     \
    ">>> f = Filter('memory=64K seed=1')\n"                                                        \
    ">>> list(f.observe_many(['a', 'b', 'a']))\n"                                                  \
    "[0, 0, 1]\n"                                                                                  \
    ">>> list(f.observe_many(b'aabbcc', size=2))\n"                                                \
    "[0, 0, 0]\n"

#define ASK_DOC                                                                                    \
    "ask($self, key, /)\n--\n\n"                                                                   \
    "Report whether a key was probably observed; records nothing. The same as key in filter.\n\n"  \
    ">>> Filter('memory=64K seed=1').ask('a')\n"                                                   \
    "False\n"

#define ASK_MANY_DOC                                                                               \
    "ask_many($self, /, keys, *, size=None)\n--\n\n"                                               \
    "Ask for keys. Returns bytes: 1 for each key that was seen. keys, size: see "                  \
    "observe_many().\n\n"                                                                          \
    ">>> f = Filter('memory=64K seed=1')\n"                                                        \
    ">>> f.observe('a')\n"                                                                         \
    "False\n"                                                                                      \
    ">>> list(f.ask_many(['a', 'b']))\n"                                                           \
    "[1, 0]\n"

#define COUNT_DOC                                                                                  \
    "count($self, key, /)\n--\n\n"                                                                 \
    "How many observations of a key are stored: 0 or 1 except for cuckoo."

#define FORGET_DOC                                                                                 \
    "forget($self, key, /)\n--\n\n"                                                                \
    "Remove one observation of a key. Returns whether it was present.\n\n"                         \
    ">>> f = Filter('counting memory=64K seed=1')\n"                                               \
    ">>> f.observe('a'), f.forget('a'), 'a' in f\n"                                                \
    "(False, True, False)\n"

#define ADVANCE_DOC                                                                                \
    "advance($self, time, /)\n--\n\n"                                                              \
    "Set the current time in milliseconds, for filters with span=. Earlier times are ignored."

#define CLEAR_DOC                                                                                  \
    "clear($self, /)\n--\n\n"                                                                      \
    "Return to the state after opening, with the same seed."

#define MERGE_DOC                                                                                  \
    "merge($self, other, /)\n--\n\n"                                                               \
    "Add the keys of another filter of the same spec and seed.\n\n"                                \
    ">>> a, b = Filter('bloom memory=64K seed=1'), Filter('bloom memory=64K seed=1')\n"            \
    ">>> b.observe('a')\n"                                                                         \
    "False\n"                                                                                      \
    ">>> a.merge(b)\n"                                                                             \
    ">>> 'a' in a\n"                                                                               \
    "True\n"

#define COPY_DOC                                                                                   \
    "copy($self, /)\n--\n\n"                                                                       \
    "A second filter in the same state."

#define STATS_DOC                                                                                  \
    "stats($self, /)\n--\n\n"                                                                      \
    "Statistics, a weir.Stats.\n\n"                                                                \
    ">>> f = Filter('memory=64K seed=1')\n"                                                        \
    ">>> f.observe('a')\n"                                                                         \
    "False\n"                                                                                      \
    ">>> f.stats().observed, f.stats().memory\n"                                                   \
    "(1, 65536)\n"

#define SAVE_DOC                                                                                   \
    "save($self, path, /)\n--\n\n"                                                                 \
    "Save to a file, replaced in one step: after a crash it is the old one or the new one."

#define TOBYTES_DOC                                                                                \
    "tobytes($self, /)\n--\n\n"                                                                    \
    "What save() would write, as bytes.\n\n"                                                       \
    ">>> f = Filter('memory=64K seed=1')\n"                                                        \
    ">>> f.observe('a')\n"                                                                         \
    "False\n"                                                                                      \
    ">>> 'a' in Filter.load(f.tobytes())\n"                                                        \
    "True\n"

#define LOAD_DOC                                                                                   \
    "load($type, source, /, *, keys_differ=False)\n--\n\n"                                         \
    "Load a saved filter, from a path (str or os.PathLike) or from bytes. A file whose\n"          \
    "keys were made with --ignore-case or of several fields is refused unless keys_differ\n"       \
    "is true; its keys attribute describes them."

#define VIEW_DOC                                                                                   \
    "view($type, source, /, *, keys_differ=False)\n--\n\n"                                         \
    "Open a saved filter read-only, without loading it: only the bytes needed are read. From a\n"  \
    "path, or from bytes, which it keeps. A view cannot observe keys."

#define CLOSE_DOC                                                                                  \
    "close($self, /)\n--\n\n"                                                                      \
    "Free its memory. Waits for other threads that are in a call of it."

#endif
