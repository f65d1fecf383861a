/* sql_names.c - see sql_names.h. A list: a connection has a few. */
#include "sql_names.h"

#include <string.h>

#include "sql.h"

SQLITE_EXTENSION_INIT3

struct sql_names *sql_names_new(void)
{
    struct sql_names *names = sqlite3_malloc64(sizeof *names);

    if (names)
        *names = (struct sql_names){.users = 1};
    return names;
}

struct sql_names *sql_names_share(struct sql_names *names)
{
    names->users++;
    return names;
}

void sql_names_drop_first(struct sql_names *names)
{
    struct sql_named *n = names->first;

    names->first = n->next;
    weir_close(n->filter);
    if (n->set)
        sql_set_leave(n->set);
    sqlite3_free(n->name);
    sqlite3_free(n->spec);
    sqlite3_free(n);
}

void sql_names_leave(void *any)
{
    struct sql_names *names = any;

    if (--names->users > 0)
        return;
    while (names->first)
        sql_names_drop_first(names);
    sqlite3_free(names);
}

struct sql_named *sql_names_find(const struct sql_names *names, struct weir_bytes name)
{
    for (struct sql_named *n = names->first; n; n = n->next)
        if (strlen(n->name) == name.size && memcmp(n->name, name.data, name.size) == 0)
            return n;
    return NULL;
}

struct sql_named *sql_names_add(struct sql_names *names, struct weir_bytes name, const char *spec)
{
    struct sql_named *n = sqlite3_malloc64(sizeof *n);

    if (!n)
        return NULL;
    *n = (struct sql_named){.next = names->first,
                            .name = sql_copy(name.data, name.size),
                            .spec = sql_copy(spec, strlen(spec))};
    names->first = n;
    if (n->name && n->spec)
        return n;
    sql_names_drop_first(names);
    return NULL;
}
