/* settings.c - see server.h. */
#include "server/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <weir.h>

#define LARGEST_DEFAULT (1LL << 30)
#define NAME_DEFAULT "weir"
#define SPEC_DEFAULT "memory=1M"

static struct settings now = {
    .name = NAME_DEFAULT,
    .spec = SPEC_DEFAULT,
    .largest = LARGEST_DEFAULT,
    .bf_error = 0.01,
    .bf_capacity = 100,
    .bf_expansion = 2,
    .cf_capacity = 1024,
    .cf_bucket_size = 2,
    .cf_moves = 20,
    .cf_expansion = 1,
    .cf_max_filters = 32,
};

static const char *dialects[] = {"redis", "valkey"};
static const int dialect_values[] = {0, 1};

/* Those of RedisBloom have its names and limits. */
static const struct number_setting {
    const char *name;
    long long *value, min, max;
    unsigned flags;
} numbers[] = {
    {"largest", &now.largest, 0, INT64_MAX, RM_CONFIG_MEMORY},
    {"bf-initial-size", &now.bf_capacity, 1, 1LL << 30, RM_CONFIG_DEFAULT},
    {"bf-expansion-factor", &now.bf_expansion, 0, 32768, RM_CONFIG_DEFAULT},
    {"cf-initial-size", &now.cf_capacity, 2, 1LL << 40, RM_CONFIG_DEFAULT},
    {"cf-bucket-size", &now.cf_bucket_size, 1, 255, RM_CONFIG_DEFAULT},
    {"cf-max-iterations", &now.cf_moves, 1, 65535, RM_CONFIG_DEFAULT},
    {"cf-expansion-factor", &now.cf_expansion, 0, 32768, RM_CONFIG_DEFAULT},
    {"cf-max-expansions", &now.cf_max_filters, 1, 65535, RM_CONFIG_DEFAULT},
};

const struct settings *settings_now(void)
{
    return &now;
}

uint64_t settings_largest(void)
{
    return (uint64_t)now.largest;
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
        return "DEFAULT: this filter cannot add keys; use one that can, for example recent";
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

            if (bytes > (unsigned long long)INT64_MAX >> shift)
                break;
            now.largest = (long long)bytes << shift;
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

/* The server does not free what a getter of a string returns. */
static struct rm_string *returned(const char *text)
{
    static struct rm_string *last;

    if (last)
        rm.FreeString(NULL, last);
    last = rm.CreateString(NULL, text, strlen(text));
    return last;
}

static int refused(const char *why, struct rm_string **error)
{
    if (why)
        *error = rm.CreateString(NULL, why, strlen(why));
    return why ? RM_ERR : RM_OK;
}

static struct rm_string *get_spec(const char *name, void *data)
{
    return returned(now.spec);
}

static int set_spec_string(const char *name, struct rm_string *value, void *data,
                           struct rm_string **error)
{
    size_t size;
    const char *text = rm.StringPtrLen(value, &size);

    return refused(set_spec(text, size), error);
}

static struct rm_string *get_error_rate(const char *name, void *data)
{
    char text[32];

    snprintf(text, sizeof text, "%g", now.bf_error);
    return returned(text);
}

static int set_error_rate(const char *name, struct rm_string *value, void *data,
                          struct rm_string **error)
{
    double rate;

    if (rm.StringToDouble(value, &rate) != RM_OK || !(rate > 0 && rate < 1))
        return refused("bf-error-rate: expected a number above 0 and below 1", error);
    now.bf_error = rate;
    return RM_OK;
}

static long long get_number_setting(const char *name, void *data)
{
    return *(long long *)data;
}

static int set_number_setting(const char *name, long long value, void *data,
                              struct rm_string **error)
{
    *(long long *)data = value;
    return RM_OK;
}

static int get_dialect(const char *name, void *data)
{
    return now.dialect;
}

static int set_dialect_value(const char *name, int value, void *data, struct rm_string **error)
{
    now.dialect = value;
    return RM_OK;
}

int settings_register(struct rm_ctx *ctx)
{
    bool good = true;

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const struct number_setting *n = &numbers[i];

        good = good && rm.RegisterNumericConfig(ctx, n->name, *n->value, n->flags, n->min, n->max,
                                                get_number_setting, set_number_setting, NULL,
                                                n->value) == RM_OK;
    }
    if (!good ||
        rm.RegisterStringConfig(ctx, "default", now.spec, RM_CONFIG_DEFAULT, get_spec,
                                set_spec_string, NULL, NULL) != RM_OK ||
        rm.RegisterStringConfig(ctx, "bf-error-rate", "0.01", RM_CONFIG_DEFAULT, get_error_rate,
                                set_error_rate, NULL, NULL) != RM_OK ||
        rm.RegisterEnumConfig(ctx, "dialect", now.dialect, RM_CONFIG_DEFAULT, dialects,
                              dialect_values, 2, get_dialect, set_dialect_value, NULL,
                              NULL) != RM_OK)
        return RM_ERR;
    return rm.LoadConfigs(ctx);
}
