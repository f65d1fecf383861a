/* libraries.c - the libraries through which stores are asked. */
#include <hiredis/hiredis.h>
#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdio.h>

#include "store.h"

/* hiredis tells its version when it is compiled against only. */
void store_libraries(char *text, size_t size)
{
    int pq = PQlibVersion();

    snprintf(text, size, "SQLite %s, libpq %d.%d, hiredis %d.%d.%d", sqlite3_libversion(),
             pq / 10000, pq % 10000, HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH);
}
