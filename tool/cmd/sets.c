/* sets.c - see sets.h. */
#include "cmd/sets.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/signals.h"
#include "cli/units.h"
#include "state/files.h"
#include "state/replace.h"
#include "unpack/unpack.h"

#define FPR_FOR_SETS "0.001"
#define PREFIXES_FOR_RATE 32
#define WORTH_TELLING 0.95 /* of the size: smaller savings are not reported; chosen, as are */
#define KEYS_TO_TELL 1000  /* sets below this are not worth a note */

static bool sized(const struct filter_request *w)
{
    return w->memory || request_sets(w, "memory") || request_sets(w, "capacity");
}

/* Count delimiters from here to the end. False after a message, or a signal. */
static bool count_delimiters(struct unpacked_file *f, const char *path, char delimiter,
                             uint64_t *sum)
{
    static char block[1 << 16];
    ssize_t n;

    while ((n = unpacked_read(f, block, sizeof block)) > 0)
        for (ssize_t i = 0; i < n; i++)
            *sum += block[i] == delimiter;
    return n < 0 ? reject("%s %s", path, f->failure) : !signals_caught();
}

/* The number of records in a file, or a few more: line breaks inside CSV fields count too. */
static bool count_records(const char *path, const struct records *r, uint64_t *sum)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct unpacked_file f;
    bool counted;

    if (fd < 0)
        return reject("cannot open %s: %s", path, strerror(errno));
    counted = unpacked_open(&f, fd, r->plain) ? count_delimiters(&f, path, r->nul ? 0 : '\n', sum)
                                              : reject("%s %s", path, f.failure);
    unpacked_close(&f);
    ++*sum; /* the last may have no line break */
    close(fd);
    return counted;
}

/* Can they all be read twice? */
static bool are_files(const struct inputs *files)
{
    struct stat st;

    for (uint32_t i = 0; i < files->count; i++)
        if (strcmp(files->file[i], "-") == 0 ||
            (stat(files->file[i], &st) == 0 && !S_ISREG(st.st_mode)))
            return false;
    return files->count > 0;
}

static bool count_all(const struct inputs *files, const struct records *r, uint64_t *sum)
{
    if (!signals_watch())
        return false;
    for (uint32_t i = 0; i < files->count; i++)
        if (!count_records(files->file[i], r, sum))
            return false;
    return true;
}

/* Theory predicts the mean error. That of one filter varies: at k = 7 its
 * standard deviation is that of 1 / (4 sqrt(n)) more or fewer keys, and shards get unequal
 * parts. With capacity for sqrt(n) more keys, -e is the maximum of this very filter. A filter with
 * a fixed number of slots (it keeps all keys and cannot be merged) rejects keys if a shard is full:
 * room for four standard deviations, which one shard in 30,000 exceeds. */
static uint64_t spread_of(uint64_t keys, uint32_t shards, const char *name)
{
    uint64_t traits = weir_find_algorithm(WEIR_KIND_FILTER, name)->traits;
    bool has_slots = (traits & WEIR_CAN_KEEP_ALL) && !(traits & WEIR_CAN_MERGE);

    return (uint64_t)ceil((has_slots && shards > 1 ? 4 : 1) * sqrt((double)keys * shards));
}

/* An address is looked up once per prefix length, so the rate of a lookup is lower than that of an
 * address. More lengths of one family than this are rare. NULL if there is no rate. */
static const char *rate_of_lookup(const struct options *o, const char *rate, char text[32])
{
    double value;

    if (!o->records.cidr || !rate || !read_rate(rate, &value))
        return rate;
    snprintf(text, 32, "%.9g", value / PREFIXES_FOR_RATE);
    return text;
}

static bool open_filter(const struct options *o, struct inputs files, struct shards *s)
{
    struct filter_request w = o->filter;
    const char *name = w.algorithm ? w.algorithm : DEFAULT_FOR_SETS;
    char spec[WEIR_SPEC_MAX], number[24], parameter[PARAMETER_MAX], lookup_rate[32];
    struct weir_error error;
    uint64_t keys = 0;
    bool fits =
        are_files(&files) && !sized(&w) && weir_find_parameter(WEIR_KIND_FILTER, name, "capacity");

    if (fits && !count_all(&files, &o->records, &keys))
        return false;
    w.fpr = rate_of_lookup(o, w.fpr, lookup_rate);
    if (fits) {
        keys += spread_of(keys, shards_wanted(o->shards, o->threads, name), name);
        snprintf(number, sizeof number, "%llu", (unsigned long long)keys);
        request_add(&w, parameter, "capacity", number);
        w.fpr = w.fpr ? w.fpr : rate_of_lookup(o, FPR_FOR_SETS, lookup_rate);
    }
    if (!request_complete(&w, WEIR_KIND_FILTER, DEFAULT_FOR_SETS, NULL, spec))
        return false;
    return shards_open(s, spec, shards_wanted(o->shards, o->threads, spec), &error) == WEIR_OK ||
           reject("%s", error.text);
}

/* ---- fixed sets ---- */

/* Is the requested filter a fixed one? */
static bool names_fixed(const struct options *o)
{
    const struct weir_algorithm *about =
        o->filter.algorithm ? weir_find_algorithm(WEIR_KIND_FILTER, o->filter.algorithm) : NULL;

    return about && !(about->traits & WEIR_CAN_OBSERVE);
}

bool keyset_is_fixed(const struct options *o)
{
    return o->set.fixed || names_fixed(o);
}

static bool check_fixed(const struct options *o)
{
    if (o->filter.algorithm && !names_fixed(o) &&
        weir_find_algorithm(WEIR_KIND_FILTER, o->filter.algorithm)) /* others the library refuses */
        return reject("%s is not fixed; remove --fixed, or -a", o->filter.algorithm);
    if (sized(&o->filter))
        return reject("the size of a fixed filter follows from its keys and -e; remove -m, memory= "
                      "and capacity=");
    return true;
}

static bool begin_fixed(const struct options *o, struct building *b, struct shards *s)
{
    struct filter_request w = o->filter;
    char complete[WEIR_SPEC_MAX], spec[SPEC_MAX], seed[32], lookup_rate[32];

    if (!check_fixed(o))
        return false;
    if (!w.fpr && !request_sets(&w, "bits") && !request_sets(&w, "fpr"))
        w.fpr = FPR_FOR_SETS;
    w.fpr = rate_of_lookup(o, w.fpr, lookup_rate);
    if (!request_complete(&w, WEIR_KIND_FILTER, DEFAULT_FOR_FIXED, NULL, complete))
        return false;
    weir_spec_get(complete, "seed", seed, sizeof seed);
    return request_spec(&w, DEFAULT_FOR_FIXED, seed, spec) &&
           building_open(b, spec, shards_wanted(o->shards, o->threads, spec), s);
}

bool keyset_build(const struct options *o, struct run *r, bool fixed, struct shards *shards,
                  struct prefix_lengths *prefixes)
{
    struct filtering filtering = {.shards = shards,
                                  .operation = WEIR_SHARED_OBSERVE,
                                  .must_fit = r->save != NULL,
                                  .prefixes = prefixes};
    struct building building = {0};

    if (!fixed)
        return open_filter(o, r->inputs, shards) &&
               run_filter(r, filtering, &o->filter, false) == EXIT_FINE;
    bool built = begin_fixed(o, &building, shards);

    if (built) {
        building.prefixes = prefixes;
        r->verdict = verdict_by_builder(&building);
        built = run(r, NULL) == EXIT_FINE &&
                (r->save || (!signals_caught() && building_finish(&building)));
    }
    building_close(&building);
    return built;
}

/* The size of a fixed filter with the same keys and error rate; 0 if unknown. */
static uint64_t fixed_size(const struct weir_stats *f, const char *error)
{
    char spec[SPEC_MAX], complete[WEIR_SPEC_MAX];
    uint64_t memory = 0;

    snprintf(spec, sizeof spec, DEFAULT_FOR_FIXED " capacity=%llu fpr=%s",
             (unsigned long long)(f->new_keys ? f->new_keys : 1), error);
    if (weir_spec_complete(WEIR_KIND_FILTER, spec, complete, sizeof complete, NULL) == WEIR_OK)
        weir_spec_number(complete, "memory", &memory);
    return memory;
}

void keyset_tell_fixed(const struct options *o, const struct shards *s)
{
    struct weir_stats f = shards_stats(s);
    uint64_t fixed;

    if (o->verbosity.quiet || o->filter.algorithm || sized(&o->filter))
        return;
    fixed = fixed_size(&f, o->filter.fpr ? o->filter.fpr : FPR_FOR_SETS);
    if (fixed > 0 && f.new_keys >= KEYS_TO_TELL && (double)fixed < WORTH_TELLING * (double)f.memory)
        note("--fixed would take %s instead of %s, for a set to which nothing is added later",
             show_bytes((double)fixed).text, show_bytes((double)f.memory).text);
}

const char *keyset_file(const struct options *o)
{
    if (o->operands > 0)
        return o->operand[0];
    fail("'weir %s' needs a filter file; 'weir build -o F KEYS' makes one", o->command);
    return NULL;
}

/* False after the library's message. */
static bool can_forget(const struct shards *s)
{
    uint64_t traits;
    struct weir_error error;

    if (weir_spec_traits(WEIR_KIND_FILTER, s->config, &traits, &error) == WEIR_OK &&
        (traits & WEIR_CAN_FORGET))
        return true;
    weir_forget(s->w[0], weir_hash(s->w[0], "", 0), NULL, &error);
    return reject("%s; 'weir build -a NAME -o F KEYS' makes one", error.text);
}

/* If the file is a set of networks, read keys as --cidr does. */
static bool find_networks(struct options *o, const char *path, const struct stored *s,
                          struct prefix_lengths *prefixes)
{
    bool networks = strcmp(s->keys, "--cidr") == 0;
    const char *excluded = networks ? records_not_with_cidr(&o->records) : NULL;

    if (!networks)
        return !o->records.cidr ||
               reject("%s is not a set of networks; 'weir build --cidr -o F LIST' builds one",
                      path);
    if (excluded)
        return reject("%s is a set of networks, and keys are IP addresses; remove --%s", path,
                      excluded);
    o->records.cidr = true;
    return prefixes_read(prefixes, s->note) || reject("%s: damaged: no prefix lengths", path);
}

/* Are its keys made like those of the options, or is --keys-differ given? */
static bool same_keys(const struct options *o, const char *path, const struct stored *s)
{
    char keys[WEIR_KEY_DESCRIPTION_MAX];

    records_describe_keys(&o->records, keys, sizeof keys);
    return o->keys_differ || file_same_keys(s, path, keys);
}

bool keyset_load(struct options *o, const char *path, struct stored *s,
                 struct prefix_lengths *prefixes)
{
    bool told = o->verbosity.stats == STATS_TEXT || o->verbosity.stats == STATS_JSON ||
                o->verbosity.metrics || o->output.audit;

    return (told ? file_load(s, path) : file_view(s, path)) &&
           find_networks(o, path, s, prefixes) && same_keys(o, path, s);
}

/* Keys cannot be added to a fixed filter. */
static bool can_learn(const struct shards *s, const char *path)
{
    const struct weir_algorithm *about = weir_find_algorithm(WEIR_KIND_FILTER, s->config);

    return about->traits & WEIR_CAN_OBSERVE ||
           reject("%s is fixed: no key can be added to %s; 'weir build --fixed -o F KEYS' builds "
                  "it again from "
                  "all keys, 'weir build -o F KEYS' one that can be added to",
                  path, about->name);
}

int keyset_change(struct options *o, enum weir_shared_operation operation)
{
    static struct stored stored;
    struct prefix_lengths prefixes;
    const char *path = keyset_file(o);
    int status = EXIT_ERROR;

    if (path && lock_file(path) && file_load(&stored, path) &&
        find_networks(o, path, &stored, &prefixes) && same_keys(o, path, &stored) &&
        (operation == WEIR_SHARED_FORGET ? can_forget(&stored.shards)
                                         : can_learn(&stored.shards, path))) {
        struct run r = run_asked(o, 1);

        struct filtering filtering = {.shards = &stored.shards,
                                      .operation = operation,
                                      .must_fit = true,
                                      .overflow = shards_stats(&stored.shards).overflow,
                                      .prefixes = o->records.cidr ? &prefixes : NULL};

        r.is_list = operation != WEIR_SHARED_FORGET;
        r.output = (struct output){.mute = true};
        r.save = path;
        r.note = stored.note;
        r.verdict = verdict_by_filter(&filtering);
        status = operation == WEIR_SHARED_FORGET ? run(&r, NULL)
                                                 : run_filter(&r, filtering, &o->filter, true);
    }
    shards_close(&stored.shards);
    return status;
}
