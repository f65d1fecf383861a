/* audit.c - see audit.h.
 *
 * False positives. A new record is reported as seen with the filter's current error rate e. So n
 * records reported as new mean n / (1 - e) new ones, of which n e / (1 - e) were lost. The rate is
 * measured each time the number of records has grown by a sixteenth, because a measurement reads
 * the whole filter. In between it is interpolated. The upper bound is the 99 % quantile of a
 * Poisson variable, and interpolates linearly, which is higher. Keys that the filter evicted count
 * as new again, so both figures are too high rather than too low.
 *
 * Digests. A regular file is read a second time when its last batch is written: the bytes of the
 * first pass were already divided into records, or decompressed. */
#include "cmd/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sodium/crypto_hash_sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/print.h"
#include "cli/messages.h"
#include "cli/progress.h"
#include "cmd/run.h"
#include "pipe/read.h"
#include "state/replace.h"
#include "store/magic.h"

#define GROWTH 16      /* measure again after a sixteenth more records, */
#define FEWEST 16384   /* and not before this many; both chosen */
#define STEPS 64       /* of an integration; chosen */
#define DIGEST_ROOM 65 /* of a SHA-256 as text */

_Static_assert(STATE_OUTCOMES == OUTCOMES, "a state has a sum for each outcome");

/* ---- errors ---- */

/* The mean error rate between two points: a power of the fill, which approaches 1 exponentially, as
 * in a Bloom filter. */
static double mean_error(const struct error_point *from, const struct error_point *to)
{
    double e0 = fmin(from->error, 0.999), e1 = fmin(to->error, 0.999), sum = 0;

    if (!(to->fill > from->fill) || !(e1 > e0) || to->fill >= 1)
        return (e0 + e1) / 2;
    double power = e0 > 0 && from->fill > 0 ? log(e1 / e0) / log(to->fill / from->fill)
                                            : log(e1) / log(to->fill);
    double at = log1p(-from->fill), end = log1p(-to->fill);
    for (int i = 0; i < STEPS; i++)
        sum += pow(-expm1(at + (end - at) * (i + 0.5) / STEPS) / to->fill, power);
    return fmin(e1 * sum / STEPS, e1);
}

/* Bring the sums up to date; no batch is under way. */
static void measure(struct audit *a)
{
    const struct verdict *v = &a->run->verdict;
    struct error_point now;

    if (!a->path || !v->error)
        return;
    now = v->error(v->context);
    if (!now.grows)
        now.new_keys = a->judged_new;
    double n = (double)(now.new_keys - a->point.new_keys), mean = mean_error(&a->point, &now);
    double chord = fmax(mean, fmin((a->point.error + now.error) / 2, 0.999));

    a->sums.false_positives += n * mean / (1 - mean);
    a->sums.most_false_positives += n * chord / (1 - chord);
    a->point = now;
    a->measured_at = a->sums.records;
}

/* The least k with P(X <= k) >= 0.99, X Poisson with this mean; by the normal approximation where
 * the sum has too many terms. */
static double poisson_99(double mean)
{
    double term = exp(-mean), sum = term;
    double k = 0;

    if (mean > 500)
        return ceil(mean + 2.3263 * sqrt(mean) + 1);
    for (; sum < 0.99; sum += term)
        term *= mean / ++k;
    return k;
}

/* ---- inputs ---- */

static bool is_audited(const struct stat *st, const struct audited *f)
{
    return S_ISREG(st->st_mode) && (uint64_t)st->st_dev == f->device &&
           (uint64_t)st->st_ino == f->inode;
}

/* Hash the first bytes of a file. False if it is shorter or cannot be read. */
static bool digest(int fd, uint64_t size, char text[DIGEST_ROOM])
{
    static unsigned char block[1 << 16];
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;

    crypto_hash_sha256_init(&state);
    for (uint64_t at = 0; at < size;) {
        size_t some = size - at < sizeof block ? (size_t)(size - at) : sizeof block;
        ssize_t n = read_at(fd, block, some, at);

        if (n != (ssize_t)some)
            return false;
        crypto_hash_sha256_update(&state, block, some);
        at += some;
    }
    crypto_hash_sha256_final(&state, hash);
    for (size_t i = 0; i < sizeof hash; i++)
        snprintf(text + 2 * i, 3, "%02x", hash[i]);
    return true;
}

/* The file on the disk: all bytes of a compressed file, otherwise those that were read. Null for a
 * pipe, or if the name refers to another file now. */
static void add_digest(json_t *entry, const struct audited *f)
{
    int fd = f->regular ? input_inspect(f->path) : -1;
    enum file_kind kind = KIND_RECORDS;
    char text[DIGEST_ROOM] = "";
    uint64_t size = f->offset;
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && is_audited(&st, f) && magic_of_file(fd, &kind)) {
        if (magic_is_packed(kind)) {
            size = (uint64_t)st.st_size;
            json_object_set_new(entry, "unpacked_bytes", json_integer((json_int_t)f->offset));
        }
        if (!digest(fd, size, text))
            *text = '\0';
    }
    if (fd >= 0)
        input_inspected(fd);
    json_object_set_new(entry, "bytes", json_integer((json_int_t)size));
    json_object_set_new(entry, "sha256", *text ? json_string(text) : json_null());
}

/* The entry of the file that is being read. */
static void update_entry(struct audit *a, bool ended)
{
    const struct audited *f = &a->file;
    json_t *e = a->open;

    if (!e)
        return;
    json_object_set_new(e, "bytes", json_integer((json_int_t)f->offset));
    json_object_set_new(e, "lines", json_integer((json_int_t)(f->line - 1)));
    json_object_set_new(e, "records", json_integer((json_int_t)f->records));
    json_object_set_new(e, "complete", json_boolean(ended));
    json_object_set_new(e, "sha256", json_null());
    if (ended)
        add_digest(e, f);
}

static void add_entry(struct audit *a)
{
    json_t *e = json_pack("{s:o,s:I}", "file", utf8_string(a->file.name), "first_record",
                          (json_int_t)a->file.first);

    a->open = e && json_array_append_new(a->inputs, e) == 0 ? e : NULL;
}

/* Files without a batch: they are empty. */
static void add_empty(struct audit *a, uint32_t until)
{
    for (; a->next_file < until; a->next_file++) {
        struct stat st;
        const char *name = a->reader->files[a->next_file];
        bool looked = strcmp(name, "-") != 0 && stat(name, &st) == 0;

        a->file = (struct audited){
            .name = input_name(name), .path = name, .line = 1, .first = audit_next(a)};
        if (looked) {
            a->file.regular = S_ISREG(st.st_mode);
            a->file.device = (uint64_t)st.st_dev;
            a->file.inode = (uint64_t)st.st_ino;
        }
        add_entry(a);
        update_entry(a, true);
        a->open = NULL;
    }
}

/* An entry that is not marked as complete yet. */
static void end_file(struct audit *a)
{
    if (a->open && !json_is_true(json_object_get(a->open, "complete")))
        update_entry(a, true);
    a->open = NULL;
}

/* The entry of a file in which an earlier run stopped is continued. */
static void begin_file(struct audit *a, const struct batch *b)
{
    const char *operand = a->reader->files[b->input.file];
    bool listed = b->input.name == input_name(operand); /* not an older file in its place */

    if (!(a->open && a->unresumed && b->input.offset > 0)) {
        end_file(a);
        add_empty(a, b->input.file);
        a->file = (struct audited){.first = audit_next(a)};
    }
    a->unresumed = false;
    a->file.name = b->input.name;
    a->file.path = listed ? operand : b->input.name;
    if (!a->open) {
        add_entry(a);
    } else { /* the file has grown, and may have been renamed */
        json_object_set_new(a->open, "file", utf8_string(b->input.name));
        json_object_set_new(a->open, "complete", json_false());
    }
    if (a->next_file <= b->input.file)
        a->next_file = b->input.file + listed;
}

static void audit_file(struct audit *a, const struct batch *b)
{
    struct audited *f = &a->file;

    if (!b->input.name)
        return;
    if (!a->open || f->name != b->input.name)
        begin_file(a, b);
    f->regular = b->input.seekable;
    f->device = b->input.before.device;
    f->inode = b->input.before.inode;
    f->offset = b->input.next_offset;
    f->line = b->input.next_line;
    f->records += b->n;
}

/* ---- a run ---- */

uint64_t audit_next(const struct audit *a)
{
    return a->sums.records + 1;
}

/* Without branches: they would be mispredicted if new and seen keys mix. */
static void count_verdicts(const struct batch *b, uint32_t n[VERDICT_UNKNOWN + 1])
{
    uint32_t seen = 0, none = 0, keyless = 0, unknown = 0;

    for (uint32_t i = 0; i < b->n; i++) {
        seen += b->verdict[i] == WEIR_SEEN;
        none += b->verdict[i] == VERDICT_NONE;
        keyless += b->verdict[i] == VERDICT_KEYLESS;
        unknown += b->verdict[i] == VERDICT_UNKNOWN;
    }
    n[WEIR_SEEN] = seen;
    n[VERDICT_NONE] = none;
    n[VERDICT_KEYLESS] = keyless;
    n[VERDICT_UNKNOWN] = unknown;
    n[WEIR_NEW] = b->n - seen - none - keyless - unknown;
}

void audit_batch(struct audit *a, const struct batch *b, uint8_t passes)
{
    struct state_sums *s = &a->sums;
    uint32_t n[VERDICT_UNKNOWN + 1];

    if (a->path)
        audit_file(a, b);
    count_verdicts(b, n);
    for (uint32_t v = 0; v <= VERDICT_UNKNOWN; v++) {
        if (v == VERDICT_KEYLESS || passes >> v & 1)
            s->passed += n[v];
        else if (v != VERDICT_NONE)
            s->rejected[v == VERDICT_UNKNOWN ? OUTCOME_UNKNOWN : v] += n[v];
    }
    for (uint32_t i = 0; i < b->n && n[VERDICT_NONE] && !(passes >> VERDICT_NONE & 1); i++)
        if (b->verdict[i] == VERDICT_NONE)
            s->rejected[batch_outcome(b, i)]++;
    a->judged_new += n[WEIR_NEW];
    s->records += b->n;
    if (a->path && s->records - a->measured_at >= FEWEST + a->measured_at / GROWTH)
        measure(a);
}

static json_t *time_now(void)
{
    time_t at = time(NULL);
    struct tm t;
    char text[32];

    gmtime_r(&at, &t);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &t);
    return json_string(text);
}

static json_t *first_items(const json_t *list, uint64_t n)
{
    json_t *first = json_array();

    for (size_t i = 0; i < json_array_size(list) && i < n; i++)
        json_array_append(first, json_array_get(list, i));
    return first;
}

/* The lists of the audit file, up to the state that is resumed: the file may be newer. */
static bool load_lists(struct audit *a, const struct state_sums *s)
{
    json_error_t error;
    json_t *all = json_load_file(a->path, 0, &error);
    json_t *inputs = json_object_get(all, "inputs");
    bool good = json_is_array(inputs) && json_array_size(inputs) >= s->inputs;

    if (good) {
        a->inputs = first_items(inputs, s->inputs);
        a->resumed = first_items(json_object_get(all, "resumed"), s->runs - 1);
    }
    json_decref(all);
    return good || reject("%s: not the audit file of the run that %s continues; restore it, or "
                          "start from scratch with another --state file",
                          a->path, a->run->save);
}

/* Continue the last entry if it is the file in which the state's run stopped. */
static void resume_entry(struct audit *a, const struct state *s)
{
    size_t n = json_array_size(a->inputs);
    json_t *e = n ? json_array_get(a->inputs, n - 1) : NULL;
    const char *name = json_string_value(json_object_get(e, "file"));
    json_t *input = utf8_string(input_name(s->input));
    uint64_t first = (uint64_t)json_integer_value(json_object_get(e, "first_record"));

    a->unresumed = true;
    a->next_file =
        a->reader->file == s->position.file ? (uint32_t)s->sums.next_file : a->reader->file;
    if (name && input && strcmp(name, json_string_value(input)) == 0 && first > 0) {
        a->open = e;
        a->file = (struct audited){.name = "",
                                   .path = s->input,
                                   .regular = s->position.known,
                                   .device = s->mark.device,
                                   .inode = s->mark.inode,
                                   .offset = s->position.offset,
                                   .line = s->position.line,
                                   .first = first,
                                   .records = s->sums.records + 1 - first};
    }
    json_decref(input);
    json_array_append_new(a->resumed, json_pack("{s:o,s:I}", "time", time_now(), "record",
                                                (json_int_t)audit_next(a)));
}

bool audit_open(struct audit *a, const struct run *run, const struct reader *reader,
                const struct state *resumed)
{
    *a = (struct audit){.path = run->output.audit, .run = run, .reader = reader, .began = now()};
    if (resumed)
        a->sums = resumed->sums;
    a->sums.runs++;
    a->sums.audited = a->path != NULL;
    a->before = a->sums.records;
    if (!a->path)
        return true;
    a->measured_at = a->sums.records;
    if (run->verdict.error)
        a->point = run->verdict.error(run->verdict.context);
    if (!a->point.grows)
        a->point.new_keys = 0;
    if (!replace_spares(a->path, REPLACES_AUDIT) ||
        (resumed && resumed->sums.audited && !load_lists(a, &resumed->sums)))
        return false;
    a->inputs = a->inputs ? a->inputs : json_array();
    a->resumed = a->resumed ? a->resumed : json_array();
    if (!a->inputs || !a->resumed)
        return reject("out of memory");
    if (resumed)
        resume_entry(a, resumed);
    return audit_write(a, "running");
}

void audit_close(struct audit *a)
{
    json_decref(a->inputs);
    json_decref(a->resumed);
    a->inputs = a->resumed = NULL;
}

/* ---- the file ---- */

static json_t *describe_rejected(const struct audit *a)
{
    const char *const *words = a->run->words ? a->run->words : a->run->verdict.words;
    const char *const names[OUTCOMES] = {words[WEIR_NEW], words[WEIR_SEEN], "unknown",
                                         "malformed",     "missing key",    "late"};
    json_t *all = json_object();

    for (int i = 0; i < OUTCOMES && all; i++)
        json_object_set_new(all, names[i], json_integer((json_int_t)a->sums.rejected[i]));
    return all;
}

static json_t *describe_false(const struct audit *a)
{
    return a->run->verdict.error ? json_pack("{s:f,s:f}", "expected", a->sums.false_positives,
                                             "upper_99", poisson_99(a->sums.most_false_positives))
                                 : json_null();
}

static json_t *describe(struct audit *a, const char *status)
{
    const struct verdict *v = &a->run->verdict;
    const struct state_sums *s = &a->sums;
    struct tally tally = {.records = s->records, .seconds = now() - a->began};
    uint64_t rejected = 0;
    char seed[32] = "";

    for (int i = 0; i < OUTCOMES; i++)
        rejected += s->rejected[i];
    weir_spec_get(v->config, "seed", seed, sizeof seed);
    json_t *all = json_pack(
        "{s:i,s:s,s:s,s:s,s:o,s:I,s:O,s:O,s:{s:I,s:I,s:I,s:o},s:s,s:s,s:o,s:o}", "weir_audit", 1,
        "version", weir_version(), "command", a->run->command, "status", status, "written",
        time_now(), "runs", (json_int_t)s->runs, "resumed", a->resumed, "inputs", a->inputs,
        "records", "in", (json_int_t)s->records, "passed", (json_int_t)s->passed, "rejected",
        (json_int_t)rejected, "reasons", describe_rejected(a), "spec", v->config, "seed", seed,
        "false_positives", describe_false(a), "first_eviction",
        s->evicted_from ? json_integer((json_int_t)s->evicted_from) : json_null());
    json_t *own = all && v->summary ? v->summary->describe(v->context, &tally) : NULL;

    if (own)
        json_object_update_missing(all, own);
    json_decref(own);
    return all;
}

bool audit_write(struct audit *a, const char *status)
{
    const struct verdict *v = &a->run->verdict;
    bool ended = strcmp(status, "complete") == 0;
    uint64_t evicted = 0;

    if (!a->path)
        return true;
    measure(a);
    if (!a->sums.evicted_from && v->evicted_from && (evicted = v->evicted_from(v->context)) > 0)
        a->sums.evicted_from = a->before + evicted;
    if (ended) {
        end_file(a);
        add_empty(a, a->reader->count);
    } else if (!a->unresumed) {
        update_entry(a, false);
    }
    a->sums.inputs = json_array_size(a->inputs);
    a->sums.next_file = a->next_file;
    json_t *all = describe(a, status);
    char *text = json_text(all, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    size_t size = text ? strlen(text) : 0;

    if (text)
        text[size] = '\n'; /* instead of its end */
    bool ok = text && replace_text(a->path, text, size + 1, true);
    if (!ok)
        fail("cannot write %s: %s", a->path, text ? strerror(errno) : "out of memory");
    free(text);
    json_decref(all);
    return ok;
}
