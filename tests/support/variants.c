/* variants.c - see variants.h. */
#include "support/variants.h"

#include <stdio.h>
#include <string.h>

#define SEED " seed=11"

/* The parameter that is varied, or ""; the rest of the spec; its memory. */
static const struct {
    const char *parameter, *rest;
    size_t memory;
} kinds[] = {
    {"", "memory=4K", 4096},
    {"", "memory=64", 64},
    {"", "memory=1237bit", 155},
    {"", "memory=40001bit hash=sip", 5001},
    {"k", "memory=64 k=1", 64},
    {"k", "memory=2K k=7", 2048},
    {"k", "memory=4999bit k=32", 625},
    {"fpr", "memory=4K fpr=0.2", 4096},
    {"fpr", "memory=16K fpr=5%", 16384},
    {"capacity", "capacity=500 memory=1K", 1024},
    {"capacity", "capacity=500 fpr=0.01", 0},
    {"cell", "memory=1K cell=1", 1024},
    {"cell", "memory=777bit cell=2", 98},
    {"cell", "memory=3K cell=5", 3072},
    {"cell", "memory=64 cell=8", 64},
    {"decay", "memory=512 decay=1", 512},
    {"decay", "memory=64 decay=70", 64},
    {"p-star", "memory=200 p-star=0", 200},
    {"p-star", "memory=200 p-star=1", 200},
    {"p-star", "memory=64 p-star=20%", 64},
    {"window", "memory=1K window=1", 1024},
    {"window", "memory=1K window=100", 1024},
    {"window", "window=333", 0},
    {"span", "memory=1K span=1m", 1024},
    {"ttl", "memory=1K ttl=1m-2h", 1024},
    {"ttl", "memory=1K ttl=1s width=8 importance=log", 1024},
    {"ttl", "memory=64 ttl=4ms-60s width=9 refresh=no", 64},
    {"expire", "memory=2K ttl=1s-128s expire=late importance=percentile", 2048},
    {"refresh", "memory=1K window=100 refresh=no", 1024},
    {"refresh", "memory=64 span=1m refresh=no width=9", 64},
    {"slices", "memory=1K slices=1", 1024},
    {"slices", "memory=500 slices=96", 500},
    {"width", "memory=1K width=8", 1024},
    {"width", "memory=2K width=32", 2048},
    {"slots", "memory=1K slots=3", 1024},
    {"bits", "memory=2K bits=4", 2048},
    {"bits", "memory=3001 bits=13", 3001},
    {"bits", "memory=8K bits=32", 8192},
    {"bits", "capacity=3000 fpr=0.2%", 0},
    {"importance", "memory=1K importance=1-50", 1024},
    {"importance", "memory=1K importance=log", 1024},
    {"importance", "memory=1001bit importance=percentile", 126},
    {"importance", "memory=64 importance=capped", 64},
    {"enter", "memory=1K enter=10%", 1024},
    {"enter", "memory=2K enter=25% width=12", 2048},
    {"enter", "memory=64 enter=50% width=9", 64},
};

static bool has_parameter(size_t filter, const char *name)
{
    const struct weir_parameter *parameter;

    for (size_t j = 0; (parameter = weir_parameter_at(WEIR_KIND_FILTER, filter, j)); j++)
        if (strcmp(parameter->name, name) == 0)
            return true;
    return *name == '\0';
}

static struct variant running;

int print_variant(void **state)
{
    (void)state;
    if (*running.spec)
        print_error("it was: %s\n", running.spec);
    *running.spec = '\0';
    return 0;
}

static void run_filter(size_t i, void (*property)(const struct variant *v))
{
    for (size_t j = 0; j < sizeof kinds / sizeof *kinds; j++) {
        if (!has_parameter(i, kinds[j].parameter))
            continue;
        running = (struct variant){.name = weir_algorithm_at(WEIR_KIND_FILTER, i)->name,
                                   .memory = kinds[j].memory};
        snprintf(running.spec, sizeof running.spec, "%s %s" SEED, running.name, kinds[j].rest);
        property(&running);
        *running.spec = '\0';
    }
}

void for_each_variant_of(const char *filter, void (*property)(const struct variant *v))
{
    for (size_t i = 0; weir_algorithm_at(WEIR_KIND_FILTER, i); i++)
        if (can_learn(weir_algorithm_at(WEIR_KIND_FILTER, i)->name) &&
            (!filter || strcmp(filter, weir_algorithm_at(WEIR_KIND_FILTER, i)->name) == 0))
            run_filter(i, property);
}

void for_each_variant(void (*property)(const struct variant *v))
{
    for_each_variant_of(NULL, property);
}
