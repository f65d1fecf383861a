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
#include "state/files.h"
#include "state/lock.h"
#include "unpack/file.h"

#define FPR_FOR_SETS "0.001"

static bool sized(const struct wanted *w)
{
    return w->memory || wanted_sets(w, "memory") || wanted_sets(w, "capacity");
}

/* Delimiters from here to the end. False after a sentence, or a signal. */
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

/* Records of a file, or a few more: line breaks inside CSV count too. */
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
        return reject("the system is short of memory or files");
    for (uint32_t i = 0; i < files->count; i++)
        if (!count_records(files->file[i], r, sum))
            return false;
    return true;
}

/* Theory tells the error on average. That of one filter is as chance has it: at k = 7 its
 * standard deviation is that of 1 / (4 sqrt(n)) more or fewer keys, and shards get unequal
 * parts. With room for sqrt(n) more, -e is a ceiling of this very filter. */
static uint64_t spread_of(uint64_t keys, uint32_t shards)
{
    return (uint64_t)ceil(sqrt((double)keys * shards));
}

bool keyset_open(const struct options *o, struct inputs files, struct shards *s)
{
    struct wanted w = o->wanted;
    const char *name = w.algorithm ? w.algorithm : DEFAULT_FOR_SETS;
    char sentence[WEIR_SENTENCE], number[24], knob[KNOB_MAX];
    struct weir_error error;
    uint64_t keys = 0;
    bool fits =
        are_files(&files) && !sized(&w) && weir_find_knob(WEIR_KIND_FILTER, name, "capacity");

    if (fits && !count_all(&files, &o->records, &keys))
        return false;
    keys += spread_of(keys, o->shards ? o->shards : o->threads);
    snprintf(number, sizeof number, "%llu", (unsigned long long)keys);
    if (fits) {
        wanted_add(&w, knob, "capacity", number);
        w.fpr = w.fpr ? w.fpr : FPR_FOR_SETS;
    }
    if (!wanted_complete(&w, WEIR_KIND_FILTER, DEFAULT_FOR_SETS, NULL, sentence))
        return false;
    return shards_open(s, sentence, o->shards ? o->shards : o->threads, &error) == WEIR_OK ||
           reject("%s", error.text);
}

const char *keyset_file(const struct options *o)
{
    if (o->operands > 0)
        return o->operand[0];
    fail("'weir %s' needs a filter file; 'weir build -o F KEYS' makes one", o->command);
    return NULL;
}

/* False after the library's sentence. */
static bool can_forget(const struct shards *s)
{
    uint64_t traits;
    struct weir_error error;

    if (weir_traits(WEIR_KIND_FILTER, s->config, &traits, &error) == WEIR_OK &&
        (traits & WEIR_CAN_FORGET))
        return true;
    weir_forget(s->w[0], weir_hash(s->w[0], "", 0), NULL, &error);
    return reject("%s", error.text);
}

bool keyset_load(const struct options *o, const char *path, struct stored *s)
{
    bool told = o->verbosity.stats == STATS_TEXT || o->verbosity.stats == STATS_JSON;

    return told ? file_load(s, path) : file_view(s, path);
}

answer_keys keyset_answer(const struct shards *s)
{
    return s->viewed ? answer_by_viewing : answer_by_asking;
}

int keyset_change(const struct options *o, answer_keys answer)
{
    static struct stored stored;
    const char *path = keyset_file(o);
    int status = EXIT_ERROR;

    if (path && lock_file(path) && file_load(&stored, path) &&
        (answer != answer_by_forgetting || can_forget(&stored.shards))) {
        struct run r = run_asked(o, 1);

        r.verdict = verdict_by_filter(&(struct filtering){&stored.shards, answer});
        r.output = (struct output){.mute = true};
        r.save = path;
        r.note = stored.note;
        status = run(&r, NULL);
    }
    shards_close(&stored.shards);
    return status;
}
