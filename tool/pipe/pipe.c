/* pipe.c - the loop, and the only place where the stages meet. */
#include "pipe/pipe.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipe/threads.h"
#include "pipe/inputs.h"
#include "pipe/pick.h"
#include "pipe/read.h"
#include "cli/messages.h"
#include "cli/signals.h"
#include "state/files.h"
#include "pipe/write.h"

#define PATIENCE 200     /* milliseconds, where something is to be done meanwhile */
#define FILL_EVERY 1.0   /* seconds; counting cells takes milliseconds */
#define SAVING_SHARE 0.1 /* of the time may go into checkpoints, at most */

struct flow {
    const struct job *job;
    struct reader reader;
    struct picker picker;
    struct writer writer;
    struct progress progress;
    struct tally tally;
    bool headed; /* the output has it */
    bool failed; /* for a reason that has been told, or will be: */
    char failure[512];

    struct position position; /* behind the last record written; where a failed run ends */
    uint64_t unsaved;         /* records since the last checkpoint */
    double next_save;

    struct gauge {
        _Atomic double fill;
        double next;
    } gauge[SHARDS_MAX];
};

/* ---- the stages, as the threads calls them ---- */

/* The time that filters with span= go by: that of reading. */
static enum read_result do_read(void *context, struct batch *b)
{
    struct flow *f = context;
    enum read_result result = read_batch(&f->reader, b);

    b->read_at = time_of_day();
    if (!pick_learn(&f->picker, f->reader.header, f->reader.header_size, b)) {
        f->headed = true; /* a header nobody knew is not passed */
        return READ_BATCH;
    }
    return result;
}

static void do_prepare(void *context, struct batch *b)
{
    struct flow *f = context;

    pick_batch(&f->picker, b);
    f->job->judge.prepare(&f->job->judge, b, f->picker.important);
}

static void look_at_fill(struct flow *f, uint32_t part)
{
    double at = now();

    if (at < f->gauge[part].next)
        return;
    f->gauge[part].fill = f->job->judge.fill(&f->job->judge, part);
    f->gauge[part].next = at + FILL_EVERY;
}

static void do_judge(void *context, struct batch *b, uint32_t part)
{
    struct flow *f = context;

    f->job->judge.judge(&f->job->judge, b, part);
    if (f->progress.bar)
        look_at_fill(f, part);
}

static void count(struct flow *f, const struct batch *b)
{
    uint64_t seen = 0, none = 0, unknown = 0;

    for (uint32_t i = 0; i < b->n; i++) {
        seen += b->verdict[i] & 1;
        none += b->verdict[i] >> 1 & 1;
        unknown += b->verdict[i] >> 2;
    }
    f->tally.records += b->n - none;
    f->tally.seen += seen;
    f->tally.unanswered += unknown;
    f->tally.skipped += none;
    f->tally.bytes += b->used;
    f->unsaved += b->n;
    if (b->name)
        f->position = (struct position){b->seekable, b->file, b->next_offset, b->next_line};
}

static void draw(struct flow *f)
{
    double fill = 0;

    if (!progress_due(&f->progress))
        return;
    for (uint32_t i = 0; i < f->job->judge.parts; i++)
        fill += f->gauge[i].fill / f->job->judge.parts;
    progress_draw(&f->progress, &f->tally, fill);
}

static bool pass_header(struct flow *f)
{
    if (!f->reader.header || f->headed)
        return true;
    f->headed = true;
    return write_header(&f->writer, f->reader.header, f->reader.header_size);
}

static bool do_write(void *context, struct batch *b)
{
    struct flow *f = context;

    if (!pass_header(f))
        return false;
    if (f->job->store)
        consult_seen(f->job->store, b);
    if (!write_batch(&f->writer, b) || !write_flush(&f->writer))
        return false;
    count(f, b);
    draw(f);
    f->failed = b->failed;
    if (b->failed)
        memcpy(f->failure, b->failure, sizeof f->failure);
    return !b->failed;
}

/* ---- saving ---- */

static bool is_due(void *context)
{
    struct flow *f = context;
    const struct state_options *s = f->job->state;

    draw(f);
    if (!s || f->unsaved == 0)
        return false;
    return (s->records && f->unsaved >= s->records) || (s->seconds > 0 && now() >= f->next_save);
}

/* What a state file says of this moment, when nothing is under way. */
static void describe(struct flow *f, struct state *s)
{
    struct position position = f->failed ? f->position : read_position(&f->reader);
    const char *file = f->reader.files[position.file];
    struct stat st;

    memset(s, 0, sizeof *s);
    snprintf(s->config, sizeof s->config, "%s", f->job->judge.config);
    snprintf(s->records, sizeof s->records, "%s", f->job->keys);
    s->position = position;
    if (s->position.known) {
        snprintf(s->input, sizeof s->input, "%s", file);
        state_tail(f->job->judge.hasher, file, s->position.offset, s->tail);
    }
    s->cut = f->job->output->path && fstat(f->writer.fd, &st) == 0 && S_ISREG(st.st_mode);
    s->output = f->writer.bytes;
}

static bool save(struct flow *f)
{
    static struct state state; /* large, and only one is saved at a time */
    static char note[NOTE_MAX];

    if (!write_sync(&f->writer))
        return false;
    if (f->job->state) {
        describe(f, &state);
        state_write(&state, note);
    } else {
        snprintf(note, sizeof note, "%s", f->job->note ? f->job->note : "");
    }
    bool saved = f->job->judge.save(&f->job->judge, f->job->save, note);
    f->failed |= !saved;
    return saved;
}

static bool do_rest(void *context)
{
    struct flow *f = context;
    double began = now(), took;

    if (!save(f))
        return false;
    took = now() - began;
    f->unsaved = 0;
    f->next_save = now() + fmax(took / SAVING_SHARE, f->job->state->seconds);
    return true;
}

/* ---- opening ---- */

/* An output that is an input too would be emptied, or never end; a filter saved
 * there would replace it. */
static bool apart(const struct flow *f)
{
    const struct output *o = f->job->output;
    struct stat out;

    if (!f->job->mute && (o->path ? stat(o->path, &out) : fstat(1, &out)) == 0 &&
        S_ISREG(out.st_mode) && inputs_hold(f->reader.files, f->reader.count, &out))
        return false;
    if (f->job->state && o->path && strcmp(o->path, f->job->save) == 0)
        return fail("%s cannot be output and state at once; name two files", o->path) == 0;
    return !f->job->save || stat(f->job->save, &out) != 0 || !S_ISREG(out.st_mode) ||
           !inputs_hold(f->reader.files, f->reader.count, &out);
}

static bool same_input(struct flow *f, const struct state *s)
{
    const char *file = s->position.file < f->reader.count ? f->reader.files[s->position.file] : "";
    char tail[40];

    if (!s->position.known)
        return fail("%s holds no place to resume at: its input was not a regular file; leave "
                    "--resume out to read from the start",
                    f->job->save) == 0;
    if (strcmp(file, s->input) != 0)
        return fail("%s stopped in file %u, %s, which is not that file here; give the same files, "
                    "or leave --resume out",
                    f->job->save, s->position.file + 1, s->input) == 0;
    state_tail(f->job->judge.hasher, file, s->position.offset, tail);
    if (strcmp(tail, s->tail) != 0)
        return fail("%s is not the file that %s was reading: it differs before byte %llu; leave "
                    "--resume out to read it from the start",
                    input_name(file), f->job->save, (unsigned long long)s->position.offset) == 0;
    return true;
}

static bool resume(struct flow *f)
{
    const struct state *s = f->job->resume;
    struct batch *scratch;
    bool ok;

    if (!s)
        return true;
    if (!same_input(f, s))
        return false;
    scratch = batch_open(1);
    if (!scratch)
        return fail("memory is short") == 0;
    batch_reset(scratch);
    ok = read_seek(&f->reader, &s->position, scratch);
    if (!ok)
        fail("%s", scratch->failure);
    batch_close(scratch);
    f->position = s->position;
    f->progress.start = s->position.offset;
    f->headed = true;
    return ok && (!s->cut || !f->job->output->path || write_cut(&f->writer, s->output));
}

static void tell_words(struct flow *f)
{
    const struct records *r = f->job->records;
    bool fields = r->format == FORMAT_CSV || r->format == FORMAT_DELIMITED;

    f->progress.seen = f->job->judge.seen;
    f->progress.holder = f->job->judge.holder;
    f->writer.words = f->job->judge.words;
    f->writer.joint = fields ? r->delimiter : '\t';
}

static bool open_stages(struct flow *f)
{
    const struct job *j = f->job;
    bool waits;

    read_open(&f->reader, j->records, j->inputs);
    if (!pick_open(&f->picker, j->records) || !apart(f) ||
        (j->save && !replace_possible(j->save)) ||
        !write_open(&f->writer, j->output, j->passes, j->mute || j->output->count_only, j->resume))
        return false;
    progress_open(&f->progress, j->verbosity.quiet, f->reader.total);
    tell_words(f);
    waits = j->state || f->progress.bar || j->threads > 1;
    f->reader.patience = waits ? PATIENCE : -1;
    f->reader.linger = j->linger;
    f->next_save = now() + (j->state ? j->state->seconds : 0);
    if (j->inputs.count == 0 && isatty(0) && !j->verbosity.quiet)
        note("reading from the terminal; Ctrl-D ends, 'weir help %s' explains", j->command);
    return resume(f);
}

uint8_t passing(const struct output *o, enum weir_verdict verdict, enum silence silence)
{
    unsigned some = o->emit == EMIT_ALL ? 1u << WEIR_NEW | 1u << WEIR_SEEN : 1u << verdict;

    return (uint8_t)(some | (silence == SILENCE_PASSES ? 1u << VERDICT_UNKNOWN : 0));
}

/* ---- running ---- */

static const struct threads_work work = {do_read, do_prepare, do_judge, do_write, is_due, do_rest};

static int refuse_output(const struct flow *f)
{
    if (f->writer.error == EPIPE)
        signals_obey(SIGPIPE);
    return fail("cannot write %s: %s", f->writer.name, strerror(f->writer.error));
}

static bool print_count(struct flow *f)
{
    char text[24];

    if (!f->job->output->count_only)
        return true;
    return write_text(&f->writer, text,
                      (size_t)snprintf(text, sizeof text, "%llu\n",
                                       (unsigned long long)f->writer.passed)) &&
           write_flush(&f->writer);
}

/* What is written is saved, whatever else went wrong. */
static int finish(struct flow *f)
{
    bool save_failed = false;
    bool nothing = f->tally.records == 0 && (f->failed || f->reader.next == 0);

    progress_clear(&f->progress);
    if (!f->writer.error && pass_header(f) && print_count(f) && f->job->save && !nothing)
        save_failed = !save(f);
    if (!write_close(&f->writer) || f->writer.error)
        return refuse_output(f);
    f->tally.passed = f->writer.passed;
    f->tally.skipped += f->reader.skipped;
    f->tally.seconds = now() - f->progress.started;
    if (f->failed && *f->failure)
        fail("%s", f->failure);
    if (!save_failed || signals_caught())
        judge_report(&f->job->judge, &f->tally, stats_style(&f->job->verbosity));
    return f->failed ? EXIT_ERROR : EXIT_FINE;
}

int flow_run(const struct job *job, struct tally *tally)
{
    struct flow *f = calloc(1, sizeof *f);
    int status = EXIT_ERROR;

    if (!f || !signals_watch())
        return fail("the system is short of memory or files");
    f->job = job;
    if (open_stages(f)) {
        if (threads_run(&work, f, job->threads, job->judge.parts))
            status = finish(f);
        else
            fail("memory is short");
    }
    if (tally)
        *tally = f->tally;
    write_close(&f->writer);
    read_close(&f->reader);
    pick_close(&f->picker);
    free(f);
    return status;
}
