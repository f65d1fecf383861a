/* cmd_count.c - weir count: how often did these keys come? */
#include <stdio.h>

#include "commands.h"
#include "counting.h"
#include "say.h"

struct asking {
    const weir_sketch *sketch;
    char end; /* of a line */
};

static void answer(void *context, struct batch *b)
{
    const struct asking *a = context;

    for (uint32_t i = 0; i < b->n; i++) {
        if (b->bads && b->bad[i])
            continue;
        fwrite(b->key[i].data, 1, b->key[i].size, stdout);
        printf("\t%llu%c", (unsigned long long)weir_sketch_ask(a->sketch, b->key[i]).count, a->end);
    }
}

/* The file of keys: one per line, whatever the records are. */
static int answer_all(const struct options *o, weir_sketch *s)
{
    struct asking a = {s, o->nul ? '\0' : '\n'};
    struct options plain = {.command = o->command,
                            .nul = o->nul,
                            .ignore_case = o->ignore_case,
                            .max_record = o->max_record,
                            .quiet = o->quiet};
    char *file = (char *)(uintptr_t)o->query;

    return intake_run(&(struct intake){
        .options = &plain, .files = &file, .count = 1, .take = answer, .context = &a});
}

static void tell_bound(const weir_sketch *s)
{
    struct weir_sketch_stats stats = weir_sketch_stats(s);

    note("%llu counted in all; a count is never too low, and too high by at most %llu with a "
         "chance of %.4g %%",
         (unsigned long long)stats.total, (unsigned long long)stats.error, stats.confidence * 100);
}

int cmd_count(const struct options *o)
{
    static const char *const kinds[] = {"count-min", NULL};
    weir_sketch *s;
    int status, asked = EXIT_FINE;

    if (!o->query && !o->state)
        return fail(
            "'weir count' keeps no keys: give --query FILE, the keys to tell the counts of, "
            "or --state FILE to count now and ask later; 'weir top' finds the frequent ones");
    s = counting_open(o, kinds);
    if (!s)
        return EXIT_ERROR;
    status = counting_run(o, s, NULL, NULL);
    if (o->query)
        asked = answer_all(o, s);
    if (!o->quiet && status == EXIT_FINE && asked == EXIT_FINE)
        tell_bound(s);
    weir_sketch_close(s);
    return status ? status : asked;
}
