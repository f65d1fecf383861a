/* module.c - the entry point: registers types, commands, settings and statistics with the server.
 */
#include <string.h>

#include "server/server.h"
#include "value/value.h"

#define VERSION_NUMBER 1
#define REDISBLOOM_VERSION 20820 /* whose commands and replies weir has */

/* ACL categories. */
#define CATEGORY_DEFAULT "weir"
#define BF_CATEGORY_DEFAULT "bloom"
#define CF_CATEGORY_DEFAULT "cuckoo"

int RedisModule_OnLoad(struct rm_ctx *ctx, struct rm_string **argv, int argc);

/* Clients look for a module `bf`, and skip commands that its version does not have. */
static int version_number(void)
{
    return strcmp(settings_now()->name, "bf") == 0 ? REDISBLOOM_VERSION : VERSION_NUMBER;
}

static void set_options(struct rm_ctx *ctx)
{
    int options = RM_OPTION_HANDLE_IO_ERRORS | RM_OPTION_ASYNC_LOAD;

    if (rm.GetModuleOptionsAll)
        options |= rm.GetModuleOptionsAll() & RM_OPTION_SLOT_MIGRATION;
    rm.SetModuleOptions(ctx, options);
}

/* Another module may have registered these names, as in Redis 8. */
static void create_if_free(struct rm_ctx *ctx, const struct module_command *list,
                           const char *category)
{
    if (!commands_create(ctx, list, category))
        rm.Log(ctx, "warning", "another module has registered %s; weir leaves this family to it",
               list->name);
}

__attribute__((visibility("default"))) int RedisModule_OnLoad(struct rm_ctx *ctx,
                                                              struct rm_string **argv, int argc)
{
    const char *missing = server_find_calls(ctx), *why;

    if (missing) {
        if (rm.Log)
            rm.Log(ctx, "warning", "weir needs Redis 7.0 or later, or Valkey: %s is missing",
                   missing);
        return RM_ERR;
    }
    why = settings_read(argv, argc);
    if (rm.IsModuleNameBusy(settings_now()->name))
        why = "a module with this NAME is loaded already; choose another NAME";
    rm.SetModuleAttribs(ctx, settings_now()->name, version_number(), RM_API_VERSION);
    if (why) {
        rm.Log(ctx, "warning", "%s", why);
        return RM_ERR;
    }
    set_options(ctx);
    if (types_create(ctx) != RM_OK || !commands_create(ctx, commands_weir, CATEGORY_DEFAULT))
        return RM_ERR;
    create_if_free(ctx, commands_bf, BF_CATEGORY_DEFAULT);
    create_if_free(ctx, commands_cf, CF_CATEGORY_DEFAULT);
    create_if_free(ctx, commands_cms, "cms");
    create_if_free(ctx, commands_topk, "topk");
    return stats_register(ctx) == RM_OK ? settings_register(ctx) : RM_ERR;
}
