/* settings.c - see server.h. */
#include "server/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <weir.h>

#define LARGEST_DEFAULT (UINT64_C(1) << 30)
#define NAME_DEFAULT "weir"
#define SPEC_DEFAULT "memory=1M"

static struct {
    char name[64];
    char spec[WEIR_SPEC_MAX];
    uint64_t largest;
    int dialect;
} now = {NAME_DEFAULT, SPEC_DEFAULT, LARGEST_DEFAULT, 0};

static const char *dialects[] = {"redis", "valkey"};
static const int dialect_values[] = {0, 1};

const char *settings_name(void)
{
    return now.name;
}

const char *settings_spec(void)
{
    return now.spec;
}

uint64_t settings_largest(void)
{
    return now.largest;
}

bool settings_valkey(void)
{
    return now.dialect == 1;
}

/* ---- values ---- */

static const char *set_spec(const char *text, size_t size)
{
    static char why[400];
    char spec[WEIR_SPEC_MAX], whole[WEIR_SPEC_MAX];
    struct weir_error error;
    uint64_t traits = 0;

    if (size >= sizeof spec || memchr(text, '\0', size))
        return "DEFAULT: invalid spec; at most 511 characters and no NUL";
    memcpy(spec, text, size);
    spec[size] = '\0';
    if (weir_spec_complete(WEIR_KIND_FILTER, spec, whole, sizeof whole, &error) != WEIR_OK) {
        snprintf(why, sizeof why, "DEFAULT: invalid spec: %s", error.text);
        return why;
    }
    weir_spec_traits(WEIR_KIND_FILTER, whole, &traits, NULL);
    if (!(traits & WEIR_CAN_OBSERVE))
        return "DEFAULT: this filter takes no new keys; use one that does, for example recent";
    memcpy(now.spec, spec, size + 1);
    return NULL;
}

static const char *set_largest(const char *text)
{
    char *end;
    unsigned long long bytes = strtoull(text, &end, 10);
    static const char *const units[] = {"", "kb", "mb", "gb", "k", "m", "g"};

    for (int i = 0; i < 7; i++)
        if (end > text && *text != '-' && strcasecmp(end, units[i]) == 0) {
            int shift = 10 * (i > 3 ? i - 3 : i);

            if (bytes > (uint64_t)INT64_MAX >> shift)
                break;
            now.largest = (uint64_t)bytes << shift;
            return NULL;
        }
    return "LARGEST: invalid size; use bytes, for example 512mb or 1gb, or 0 for no limit";
}

static const char *set_dialect(const char *text)
{
    for (int i = 0; i < 2; i++)
        if (strcasecmp(text, dialects[i]) == 0) {
            now.dialect = i;
            return NULL;
        }
    return "DIALECT: expected redis or valkey";
}

static const char *set_name(const char *text)
{
    if (*text == '\0' || strlen(text) >= sizeof now.name)
        return "NAME: expected 1 to 63 characters";
    snprintf(now.name, sizeof now.name, "%s", text);
    return NULL;
}

const char *settings_read(struct rm_string **argv, int argc)
{
    const char *why = NULL;

    for (int i = 0; i < argc && !why; i += 2) {
        size_t size;
        const char *word = rm.StringPtrLen(argv[i], NULL);
        const char *value = i + 1 < argc ? rm.StringPtrLen(argv[i + 1], &size) : NULL;

        if (!value)
            why = "a module argument has no value; expected NAME, DEFAULT, LARGEST or DIALECT and "
                  "a value";
        else if (strcasecmp(word, "NAME") == 0)
            why = set_name(value);
        else if (strcasecmp(word, "DEFAULT") == 0)
            why = set_spec(value, size);
        else if (strcasecmp(word, "LARGEST") == 0)
            why = set_largest(value);
        else if (strcasecmp(word, "DIALECT") == 0)
            why = set_dialect(value);
        else
            why = "unknown module argument; expected NAME, DEFAULT, LARGEST or DIALECT";
    }
    return why;
}

/* ---- CONFIG ---- */

static struct rm_string *get_spec_setting(const char *name, void *data)
{
    static struct rm_string *told; /* the server does not free it */

    (void)name;
    (void)data;
    if (told)
        rm.FreeString(NULL, told);
    told = rm.CreateString(NULL, now.spec, strlen(now.spec));
    return told;
}

static int set_spec_setting(const char *name, struct rm_string *value, void *data,
                            struct rm_string **error)
{
    size_t size;
    const char *text = rm.StringPtrLen(value, &size);
    const char *why = set_spec(text, size);

    (void)name;
    (void)data;
    if (why)
        *error = rm.CreateString(NULL, why, strlen(why));
    return why ? RM_ERR : RM_OK;
}

static long long get_largest_setting(const char *name, void *data)
{
    (void)name;
    (void)data;
    return (long long)now.largest;
}

static int set_largest_setting(const char *name, long long value, void *data,
                               struct rm_string **error)
{
    (void)name;
    (void)data;
    (void)error;
    now.largest = (uint64_t)value;
    return RM_OK;
}

static int get_dialect_setting(const char *name, void *data)
{
    (void)name;
    (void)data;
    return now.dialect;
}

static int set_dialect_setting(const char *name, int value, void *data, struct rm_string **error)
{
    (void)name;
    (void)data;
    (void)error;
    now.dialect = value;
    return RM_OK;
}

int settings_register(struct rm_ctx *ctx)
{
    if (rm.RegisterStringConfig(ctx, "default", now.spec, RM_CONFIG_DEFAULT, get_spec_setting,
                                set_spec_setting, NULL, NULL) != RM_OK ||
        rm.RegisterNumericConfig(ctx, "largest", (long long)now.largest, RM_CONFIG_MEMORY, 0,
                                 INT64_MAX, get_largest_setting, set_largest_setting, NULL,
                                 NULL) != RM_OK ||
        rm.RegisterEnumConfig(ctx, "dialect", now.dialect, RM_CONFIG_DEFAULT, dialects,
                              dialect_values, 2, get_dialect_setting, set_dialect_setting, NULL,
                              NULL) != RM_OK)
        return RM_ERR;
    return rm.LoadConfigs(ctx);
}
