/* sets.c - see sets.h. */
#include "cmd/sets.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state/lock.h"
#include "cli/messages.h"
#include "state/files.h"

#define FOR_SETS "bloom"
#define FPR_FOR_SETS "0.001"

static bool has_knob(const char *filter, const char *name)
{
    const struct weir_knob *knob;

    for (size_t i = 0; weir_about(i); i++)
        for (size_t j = 0; (knob = weir_about_knob(i, j)); j++)
            if (strcmp(weir_about(i)->name, filter) == 0 && strcmp(knob->name, name) == 0)
                return true;
    return false;
}

static bool sized(const struct wanted *w)
{
    return w->memory || wanted_sets(w, "memory") || wanted_sets(w, "capacity");
}

/* Records of a file, or a few more: line breaks inside CSV count too. */
static bool count_records(const char *path, char delimiter, uint64_t *sum)
{
    static char block[1 << 16];
    struct stat st;
    int fd = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n;

    if (fd < 0)
        return false;
    while ((n = read(fd, block, sizeof block)) > 0)
        for (ssize_t i = 0; i < n; i++)
            *sum += block[i] == delimiter;
    ++*sum; /* the last may have no line break */
    close(fd);
    return n == 0;
}

bool keyset_open(const struct options *o, struct inputs files, struct shards *s)
{
    struct wanted w = o->wanted;
    char sentence[SENTENCE_MAX], capacity[40];
    struct weir_error error;
    uint64_t keys = 0;
    bool fits = files.count > 0 && !sized(&w) && w.sets < SETS_MAX &&
                has_knob(w.algorithm ? w.algorithm : FOR_SETS, "capacity");

    for (uint32_t i = 0; i < files.count && fits; i++)
        fits = count_records(files.file[i], o->records.nul ? '\0' : '\n', &keys);
    if (fits) {
        snprintf(capacity, sizeof capacity, "capacity=%llu", (unsigned long long)keys);
        w.set[w.sets++] = capacity;
        w.fpr = w.fpr ? w.fpr : FPR_FOR_SETS;
    }
    if (!wanted_sentence(&w, FOR_SETS, NULL, sentence))
        return fail("the options of the filter are too long") == 0;
    return shards_open(s, sentence, o->shards ? o->shards : o->threads, &error) == WEIR_OK ||
           fail("%s", error.text) == 0;
}

const char *keyset_file(const struct options *o)
{
    if (o->operands > 0)
        return o->operand[0];
    fail("'weir %s' needs a filter file; 'weir build -o F KEYS' makes one", o->command);
    return NULL;
}

/* Can a filter of this kind forget? Tried on a small one. */
static bool can_forget(const struct shards *s)
{
    char name[64];
    struct weir_error error;
    weir *small;
    bool can;

    snprintf(name, sizeof name, "%.*s", (int)strcspn(s->config, " "), s->config);
    if (weir_open(&small, name, &error) != WEIR_OK)
        return fail("%s", error.text) == 0;
    can = weir_forget(small, weir_hash(small, "", 0), NULL, &error) == WEIR_OK;
    weir_close(small);
    return can || fail("%s", error.text) == 0;
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
