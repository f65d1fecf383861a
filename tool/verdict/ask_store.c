/* ask_store.c - see ask_store.h. */
#include "verdict/ask_store.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/hash.h>

#include "cli/normalize.h"
#include "pick/key_as.h"
#include "cli/messages.h"
#include "cli/signals.h"
#include "cli/units.h"
#include "state/state.h"

#define REFUTED_BITS (1 << 20)
#define SCRATCH_BYTES 65536 /* bytes of converted keys before memory is freed */
#define UNLIKELY 13.8       /* -ln of a chance of 1e-6 */
#define SCREEN_STEPS 64     /* in which time passes for a screen, in a span */

struct asker {
    struct store *store;
    enum silence silence;
    bool stopped;                        /* it did not answer, and this ends the run */
    struct network_list_counts networks; /* with --cidr */
    uint64_t skipped;                    /* lines of a file of keys */

    uint64_t hits, refuted;                /* answers, and the number of "other" among them */
    uint64_t different;                    /* lower limit of the keys that were refuted: bits of */
    uint8_t refuted_bit[REFUTED_BITS / 8]; /* one for each of them, by its hash */

    uint32_t n; /* records that are asked for: */
    struct weir_bytes key[RECORDS_MAX];
    uint64_t time[RECORDS_MAX];
    uint32_t origin[RECORDS_MAX];
    uint8_t answer[RECORDS_MAX];
};

static bool interrupted(void)
{
    return signals_caught() != 0;
}

/* Apply --key-as to each field of each key. Returns a copy, or NULL if out of memory. */
static char *convert_fields(const struct records *r, const char *text, size_t *size)
{
    const char *end = text + *size, line_end = r->nul ? '\0' : '\n';
    const char separator = records_have_fields(r) ? KEY_JOINT : line_end;
    const char *failed, *freed = text;
    struct arena scratch = {0};
    char *copy = NULL;
    struct key_as as;
    FILE *out = key_as_open(&as, r->key_as) ? open_memstream(&copy, size) : NULL;
    bool ok = out != NULL;

    for (const char *at = text, *next; ok && at < end; at = next + 1) {
        for (next = at; next < end && *next != line_end && *next != separator;)
            next++;
        bool cr = records_strip_cr(r) && next > at && next[-1] == '\r' &&
                  (next == end || *next == line_end);
        struct weir_bytes field = {at, (size_t)(next - at) - cr};
        ok = key_as_apply(&as, &scratch, &field, &failed) != KEY_AS_NO_MEMORY;
        fwrite(field.data, 1, field.size, out);
        if (next < end)
            fputc(*next, out);
        if (next - freed < SCRATCH_BYTES)
            continue;
        arena_close(&scratch);
        freed = next;
    }
    arena_close(&scratch);
    if (out && fclose(out) == 0 && ok)
        return copy;
    free(copy);
    return NULL;
}

static char *fold_text(const char *text, size_t *size)
{
    char *to = malloc(FOLD_CASE_ROOM(*size));

    if (to)
        *size = fold_case(text, *size, to);
    return to;
}

/* `next` replaces `text`, which is freed. */
static char *replace_text(char *text, char *next)
{
    free(text);
    return next;
}

/* Convert all keys of a file as pick.c converts the keys of records. If keys have several fields,
 * the file has tabs between them. */
static char *unify_keys(const void *how, const char *text, size_t *size)
{
    const struct records *r = how;
    const char ends[2] = {r->nul ? '\0' : '\n', KEY_JOINT};
    char *to = malloc(*size + 1);

    if (!to)
        return NULL;
    if (*size)
        memcpy(to, text, *size);
    for (size_t i = 0; records_have_fields(r) && i < *size; i++)
        to[i] = (char)(to[i] == '\t' ? KEY_JOINT : to[i]);
    if (r->ignore_space)
        *size = squeeze_space_between(to, *size, to, ends);
    if (r->key_as)
        to = replace_text(to, convert_fields(r, to, size));
    return to && r->ignore_case ? replace_text(to, fold_text(to, size)) : to;
}

static bool unifies(const struct records *r)
{
    return r->key_as || r->ignore_case || r->ignore_space || records_have_fields(r);
}

/* An index has hashes of keys: those of records must have been made in the same way. */
static bool has_same_keys(const struct store *store, const struct records *r)
{
    static struct state state;
    char keys[WEIR_KEY_DESCRIPTION_MAX];
    size_t size;
    const char *note = store_note(store, &size);

    if (!note || size == 0)
        return true;
    records_describe_keys(r, keys, sizeof keys);
    if (note[size - 1] != '\0' || !state_read(note, &state))
        return reject("%s: not an index of weir dedup; name another", store_name(store));
    return strcmp(state.keys, keys) == 0 ||
           reject("%s: created with other keys (%s; now %s); give the same options for keys",
                  store_name(store), *state.keys ? state.keys : "whole records",
                  *keys ? keys : "whole records");
}

static bool can_hold_networks(const struct store *store, const struct records *r)
{
    return !r->cidr || strncmp(store_name(store), "keys:", 5) == 0 ||
           reject("%s: --cidr needs a file of networks; export them, and use keys:FILE",
                  store_name(store));
}

bool list_of_keys(const char *text, struct records *lines, const char **path)
{
    static struct keys_address address; /* the run uses its texts until the end */
    char why[1024];

    *path = text;
    if (strncasecmp(text, "keys:", 5) != 0)
        return true;
    if (!store_parse_keys(text, &address, why, sizeof why))
        return reject("%s", why);
    if (!address.path)
        return reject("out of memory");
    *path = address.path;
    if (address.field) {
        lines->key = address.field;
        lines->format = address.delimiter == ',' ? FORMAT_CSV
                        : address.delimiter      ? FORMAT_DELIMITED
                                                 : FORMAT_LINES;
        lines->delimiter = address.delimiter;
    }
    return true;
}

void asker_tell_list(const struct asker *a)
{
    if (a->skipped)
        note("%s: %llu line%s without the field left out", store_name(a->store),
             (unsigned long long)a->skipped, a->skipped == 1 ? "" : "s");
    network_list_tell(&a->networks, store_name(a->store));
}

struct asker *asker_open(const char *url, const struct store_patience *p, const struct records *r)
{
    struct asker *a = calloc(1, sizeof *a);
    char why[1024] = "out of memory";

    if (!a) {
        fail("%s", why);
        return NULL;
    }
    a->networks.records = r;
    struct store_options options = {.timeout = p->timeout,
                                    .attempts = p->retries + 1,
                                    .nul = r->nul,
                                    .strip_cr = records_strip_cr(r),
                                    .skipped = r->skip ? &a->skipped : NULL,
                                    .fold = unifies(r) ? unify_keys : NULL,
                                    .how = r,
                                    .set = r->cidr ? &network_list_set : NULL,
                                    .set_how = &a->networks,
                                    .interrupted = interrupted};
    signal(SIGPIPE, SIG_IGN); /* a store that hangs up; of the output, write.c sees EPIPE */
    a->store = store_open(url, &options, why, sizeof why);
    if (a->store && !(can_hold_networks(a->store, r) && has_same_keys(a->store, r))) {
        asker_close(a);
        return NULL;
    }
    if (a->store) {
        a->silence = p->silence;
        return a;
    }
    fail("%s", why);
    asker_close(a);
    return NULL;
}

void asker_close(struct asker *a)
{
    if (a)
        store_close(a->store);
    free(a);
}

struct store *asker_store(const struct asker *a)
{
    return a->store;
}

const char *asker_name(const struct asker *a)
{
    return store_name(a->store);
}

bool asker_size(const struct asker *a, uint64_t *keys)
{
    return store_size(a->store, keys);
}

/* A key that occurs often is one false positive, not many. */
static void count_refuted(struct asker *a, struct weir_bytes key)
{
    uint64_t bit = weir_hash_bytes(WEIR_HASH_XXH3, 0, key.data, key.size).lo % REFUTED_BITS;
    uint8_t mask = (uint8_t)(1 << bit % 8);

    a->refuted++;
    a->different += !(a->refuted_bit[bit / 8] & mask);
    a->refuted_bit[bit / 8] |= mask;
}

/* A weir_screen_store. If the store does not answer and the run is to end then, it ends the
 * check. */
static bool ask_store(void *context, const struct weir_bytes *keys, size_t n, uint8_t *answers)
{
    struct asker *a = context;

    memset(answers, WEIR_UNANSWERED, n);
    if (a->stopped) /* by a batch before this one */
        return false;
    store_answer(a->store, keys, n, answers);
    for (size_t i = 0; i < n; i++) {
        a->hits += answers[i] != WEIR_UNANSWERED;
        if (answers[i] == WEIR_OTHER)
            count_refuted(a, keys[i]);
    }
    a->stopped =
        (a->silence == SILENCE_STOPS || interrupted()) && memchr(answers, WEIR_UNANSWERED, n);
    return !a->stopped;
}

/* The run ends before record i; without a message after a signal. */
static void stop_at(const struct asker *a, struct batch *b, uint32_t i)
{
    batch_fault(b, i, false,
                "not checked, nor any record after it: %.240s; --on-store-error pass or drop "
                "continues without",
                store_failure(a->store));
    if (interrupted())
        *b->failure = '\0';
}

size_t screen_check_at(weir_screen *screen, const struct timed_keys *k, uint64_t span,
                       weir_screen_store store, void *context, uint8_t *answers)
{
    uint64_t step = span >= SCREEN_STEPS ? span / SCREEN_STEPS : 1;
    size_t unanswered = 0;

    for (uint32_t i = 0, end; i < k->n; i = end) {
        for (end = span ? i + 1 : k->n; end < k->n && k->time[end] / step == k->time[i] / step;)
            end++;
        if (span)
            weir_screen_advance(screen, k->time[i]);
        unanswered += weir_screen_check(screen, k->key + i, end - i, store, context, answers + i);
    }
    return unanswered;
}

static void ask(struct asker *a, weir_screen *screen, struct batch *b, uint64_t span)
{
    screen_check_at(screen, &(struct timed_keys){a->n, a->key, a->time}, span, ask_store, a,
                    a->answer);
    for (uint32_t j = 0; j < a->n; j++) {
        bool answered = a->answer[j] != WEIR_UNANSWERED;

        if (!answered && a->stopped) {
            stop_at(a, b, a->origin[j]);
            return;
        }
        b->verdict[a->origin[j]] = answered ? a->answer[j] : VERDICT_UNKNOWN;
    }
}

static void add(struct asker *a, const struct batch *b, uint32_t i)
{
    a->key[a->n] = b->key[i];
    a->time[a->n] = b->event.timed ? b->event.time[i] : b->read_at;
    a->origin[a->n++] = i;
}

void asker_ask_all(struct asker *a, weir_screen *screen, struct batch *b, uint64_t span)
{
    a->n = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        if (!b->bads || !b->bad[i])
            add(a, b, i);
        b->verdict[i] = VERDICT_NONE;
    }
    ask(a, screen, b, span);
}

void asker_ask_seen(struct asker *a, weir_screen *screen, struct batch *b)
{
    a->n = 0;
    for (uint32_t i = 0; i < b->n; i++)
        if (b->verdict[i] == WEIR_SEEN)
            add(a, b, i);
    ask(a, screen, b, 0);
}

void asker_report(const struct asker *a, uint64_t unanswered)
{
    if (unanswered)
        note("%llu records could not be checked and were %s: %s", (unsigned long long)unanswered,
             a->silence == SILENCE_PASSES ? "passed" : "dropped", store_failure(a->store));
}

bool asker_refuted_most(const struct asker *a)
{
    return a->refuted > 0 && 2 * a->refuted >= a->hits;
}

/* The Chernoff bound of the chance that of n keys at least k are false positives:
 * exp(-n D(k/n || error)), D being the Kullback-Leibler divergence. Equal to error^n for k = n. */
void asker_doubt(const struct asker *a, uint64_t others, double error)
{
    double n = (double)(others > a->different ? others : a->different), k = (double)a->different;
    double share = k / n, p = error > 1e-12 ? error : 1e-12;

    if (!asker_refuted_most(a) || share <= p)
        return;
    double rest = share < 1 ? (1 - share) * log((1 - share) / (1 - p)) : 0;
    if (n * (share * log(share / p) + rest) < UNLIKELY)
        return;
    note("%s: %llu of the filter's %llu hits are not in it, where an error rate of %s explains "
         "about %.2g; do its keys have the same format as the filter's?",
         asker_name(a), (unsigned long long)a->refuted, (unsigned long long)a->hits,
         show_chance(error).text, n * error);
}

void ask_store_libraries(char *text, size_t size)
{
    store_libraries(text, size);
}

/* ---- a filter whose hits the store confirms: the store is asked when all
 * parts of a batch have their verdicts ---- */

#define NO_SCREEN "none"

bool confirming_open(struct confirming *c, const char *url, const struct store_patience *p,
                     const struct records *r)
{
    *c = (struct confirming){.asker = asker_open(url, p, r)};
    if (!c->asker)
        return false;
    return weir_screen_open(&c->screen, NO_SCREEN, NULL) == WEIR_OK || reject("out of memory");
}

void confirming_close(struct confirming *c)
{
    weir_screen_close(c->screen);
    asker_close(c->asker);
}

static void complete(void *completer, struct batch *b)
{
    const struct confirming *c = completer;

    asker_ask_seen(c->asker, c->screen, b);
}

struct verdict verdict_confirmed(struct verdict filter, struct confirming *c)
{
    filter.error = NULL; /* the store refutes false positives */
    filter.complete = complete;
    filter.completer = c;
    return filter;
}
