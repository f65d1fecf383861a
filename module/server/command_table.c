/* command_table.c - see server.h. */
#include "server/server.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <weir.h>

#define ARGS_MAX 16
#define PARTS_MAX 3 /* of an argument that is several words */
#define TEXT_MAX 512

static const struct rm_info_version info_version = {
    1, sizeof(struct rm_history), sizeof(struct rm_key_spec), sizeof(struct rm_arg)};

static const struct rm_key_spec first_read = {
    .flags = RM_KEY_RO | RM_KEY_ACCESS,
    .begin = RM_BEGIN_INDEX,
    .from.index.position = 1,
    .find = RM_FIND_RANGE,
    .keys.range = {0, 1, 0},
};

static const struct rm_key_spec first_changed = {
    .flags = RM_KEY_RW | RM_KEY_ACCESS | RM_KEY_UPDATE,
    .begin = RM_BEGIN_INDEX,
    .from.index.position = 1,
    .find = RM_FIND_RANGE,
    .keys.range = {0, 1, 0},
};

static const struct rm_key_spec counted_read = {
    .flags = RM_KEY_RO | RM_KEY_ACCESS,
    .begin = RM_BEGIN_INDEX,
    .from.index.position = 2,
    .find = RM_FIND_NUMBER,
    .keys.counted = {0, 1, 1},
};

struct command_doc {
    struct rm_arg args[ARGS_MAX + 1], parts[ARGS_MAX + 1][PARTS_MAX + 1];
    char text[TEXT_MAX];
};

static void describe_type(struct rm_arg *arg)
{
    if (*arg->name == '#' || *arg->name == '%')
        arg->type = *arg->name++ == '#' ? RM_ARG_INTEGER : RM_ARG_DOUBLE;
}

/* Names with commas between them form a block that is named after the first. */
static void describe_parts(char *words, struct rm_arg *arg, struct rm_arg *parts)
{
    char *rest = words;

    for (int i = 0; rest && i < PARTS_MAX; i++) {
        parts[i] = (struct rm_arg){.name = strsep(&rest, ","), .key_spec = -1};
        describe_type(&parts[i]);
        parts[i + 1] = (struct rm_arg){0};
    }
    arg->type = RM_ARG_BLOCK;
    arg->name = parts[0].name;
    arg->inner = parts;
}

/* Describe one word of a command's arguments. Modifies the word. */
static void describe(char *word, struct rm_arg *arg, struct rm_arg *parts)
{
    size_t size = strlen(word);

    *arg = (struct rm_arg){.name = word, .type = RM_ARG_STRING, .key_spec = -1};
    for (; size > 0 && strchr("?+", word[size - 1]); word[--size] = '\0')
        arg->flags |= word[size - 1] == '?' ? RM_ARG_OPTIONAL : RM_ARG_MULTIPLE;
    if (word[0] == '!') {
        arg->type = RM_ARG_TOKEN;
        arg->name = arg->token = word + 1;
        return;
    }
    char *name = strchr(word, '=');
    if (name) {
        *name++ = '\0';
        arg->token = word;
        arg->name = name;
    }
    if (strchr(arg->name, ','))
        describe_parts(name ? name : word, arg, parts);
    else
        describe_type(arg);
}

static void describe_all(const struct module_command *c, struct command_doc *d)
{
    struct rm_arg *args = d->args;
    int n = 1;

    args[0] = (struct rm_arg){.name = "key", .type = RM_ARG_KEY, .key_spec = 0};
    if (c->arity == -1)
        args[0].flags = RM_ARG_OPTIONAL;
    snprintf(d->text, TEXT_MAX, "%s", c->arguments);
    for (char *word = strtok(d->text, " "); word && n < ARGS_MAX; word = strtok(NULL, " "), n++)
        describe(word, &args[n], d->parts[n]);
    if (c->keys == KEYS_COUNTED) { /* after their number */
        args[2].type = RM_ARG_KEY;
        args[2].key_spec = 1;
    }
    args[n] = (struct rm_arg){0};
}

static int inform(struct rm_command *command, const struct module_command *c)
{
    struct rm_key_spec specs[3] = {c->keys == KEY_READ ? first_read : first_changed,
                                   c->keys == KEYS_COUNTED ? counted_read : (struct rm_key_spec){0},
                                   {0}};
    struct command_doc d;
    struct rm_command_info info = {
        .version = &info_version,
        .summary = c->summary,
        .complexity = c->complexity,
        .since = WEIR_VERSION,
        .arity = c->arity,
        .key_specs = specs,
        .args = d.args,
    };

    describe_all(c, &d);
    return rm.SetCommandInfo(command, &info);
}

bool commands_create(struct rm_ctx *ctx, const struct module_command *list, const char *category)
{
    bool own = rm.AddACLCategory && rm.AddACLCategory(ctx, category) == RM_OK;

    for (const struct module_command *c = list; c->name; c++) {
        struct rm_command *command;
        char categories[64];

        if (rm.CreateCommand(ctx, c->name, c->call, c->flags, 1, 1, 1) != RM_OK)
            return false;
        command = rm.GetCommand(ctx, c->name);
        if (!command || inform(command, c) != RM_OK)
            rm.Log(ctx, "warning", "cannot set COMMAND DOCS for %s", c->name);
        snprintf(categories, sizeof categories, "%s %s %s", c->keys == KEY_READ ? "read" : "write",
                 strstr(c->flags, "fast") ? "fast" : "slow", own ? category : "");
        if (command && rm.SetCommandACLCategories)
            rm.SetCommandACLCategories(command, categories);
    }
    return true;
}
