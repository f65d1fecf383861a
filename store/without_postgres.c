/* without_postgres.c - instead of postgres.c in a build without libpq: explains that there is no
 * such store. */
#include "backend.h"

const char *postgres_library(void)
{
    return "no libpq";
}

static bool knows(const char *parameter)
{
    (void)parameter;
    return true;
}

static bool open_url(struct store *store)
{
    return store_refuse(store, "this weir was built without PostgreSQL; use one built with libpq, "
                               "for example Debian's package");
}

static const char *const parameters[] = {NULL};

const struct backend backend_postgres = {.scheme = "postgres",
                                         .also = {"postgresql"},
                                         .form = "postgres://HOST/DATABASE?table=T&column=C",
                                         .network = true,
                                         .parameters = parameters,
                                         .knows = knows,
                                         .open = open_url};
