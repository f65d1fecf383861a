/* ask_store.c - see ask_store.h. */
#include "verdict/ask_store.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "pipe/fold_case.h"
#include "cli/messages.h"
#include "cli/signals.h"

static bool interrupted(void)
{
    return signals_caught() != 0;
}

struct consult *consult_open(const char *url, const struct store_patience *p, bool nul,
                             bool ignore_case)
{
    struct consult *c = calloc(1, sizeof *c);
    struct store_options options = {.timeout = p->timeout,
                                    .attempts = p->retries + 1,
                                    .nul = nul,
                                    .fold = ignore_case ? fold_case : NULL,
                                    .interrupted = interrupted};
    char why[1024] = "memory is short";

    signal(SIGPIPE, SIG_IGN); /* a store that hangs up; of the output, write.c sees EPIPE */
    if (ignore_case)
        fold_case_open();
    if (c)
        c->oracle = store_open(url, &options, why, sizeof why);
    if (c && c->oracle && weir_screen_open(&c->screen, "none", NULL) == WEIR_OK) {
        c->silence = p->silence;
        return c;
    }
    fail("%s", why);
    consult_close(c);
    return NULL;
}

void consult_close(struct consult *c)
{
    if (!c)
        return;
    store_close(c->oracle);
    weir_screen_close(c->screen);
    free(c);
}

/* A weir_oracle. Once a silence is to end the run, nobody is asked again. */
static void ask(void *context, const struct weir_bytes *keys, size_t n, uint8_t *answers)
{
    struct consult *c = context;

    memset(answers, WEIR_UNANSWERED, n);
    if (c->stopped)
        return;
    store_answer(c->oracle, keys, n, answers);
    c->stopped =
        (c->silence == SILENCE_STOPS || interrupted()) && memchr(answers, WEIR_UNANSWERED, n);
}

/* The run ends before record i; after a signal that needs no words. */
static void stop_at(const struct consult *c, struct batch *b, uint32_t i)
{
    batch_fault(
        b, i, false,
        "not checked, nor any record after it: %.240s; --on-oracle-error pass or drop goes on "
        "without",
        store_failure(c->oracle));
    if (interrupted())
        *b->failure = '\0';
}

static void consult(struct consult *c, struct batch *b, uint32_t n)
{
    weir_screen_check(c->screen, c->key, n, ask, c, c->answer);
    for (uint32_t j = 0; j < n; j++) {
        if (c->answer[j] == WEIR_UNANSWERED && c->stopped) {
            stop_at(c, b, c->origin[j]);
            return;
        }
        b->verdict[c->origin[j]] = c->answer[j] == WEIR_UNANSWERED ? VERDICT_UNKNOWN : c->answer[j];
    }
}

void consult_all(struct consult *c, struct batch *b)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->n; i++) {
        c->key[n] = b->key[i];
        c->origin[n] = i;
        n += !b->bads || !b->bad[i];
        b->verdict[i] = VERDICT_NONE;
    }
    consult(c, b, n);
}

void consult_seen(struct consult *c, struct batch *b)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->n; i++) {
        c->key[n] = b->key[i];
        c->origin[n] = i;
        n += b->verdict[i] == WEIR_SEEN;
    }
    consult(c, b, n);
}

void consult_tell(const struct consult *c, uint64_t unanswered)
{
    if (unanswered)
        note("%llu records could not be checked and were %s: %s", (unsigned long long)unanswered,
             c->silence == SILENCE_PASSES ? "passed" : "dropped", store_failure(c->oracle));
}
