/* handle_use.c - who is in a call of a handle. The flag is read and written under the GIL;
 * the lock is only there to be waited for by those who have let go of the GIL. */
#include "binding.h"

bool handle_use_open(struct handle_use *u)
{
    *u = (struct handle_use){.lock = PyThread_allocate_lock()};
    if (!u->lock)
        PyErr_NoMemory();
    return u->lock != NULL;
}

void handle_use_close(struct handle_use *u)
{
    if (u->lock)
        PyThread_free_lock(u->lock);
    u->lock = NULL;
}

static void wait_without_gil(PyThread_type_lock lock)
{
    Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(lock, WAIT_LOCK);
    PyThread_release_lock(lock);
    Py_END_ALLOW_THREADS
}

bool handle_wait(struct handle_use *u)
{
    while (u->taken) {
        if (u->owner == PyThread_get_thread_ident()) {
            PyErr_SetString(PyExc_RuntimeError, "a store cannot use the screen that is asking it");
            return false;
        }
        wait_without_gil(u->lock);
    }
    return true;
}

bool handle_take(struct handle_use *u)
{
    if (!handle_wait(u))
        return false;
    u->taken = true;
    u->owner = PyThread_get_thread_ident();
    PyThread_acquire_lock(u->lock, WAIT_LOCK); /* one who waited may have it for an instant */
    return true;
}

void handle_give(struct handle_use *u)
{
    u->taken = false;
    PyThread_release_lock(u->lock);
}
