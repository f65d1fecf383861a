/* options.c - see options.h. The options themselves are in option_table.c. */
#include "cli/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/messages.h"
#include "cli/print.h"
#include "cli/units.h"

#define DEFAULT_THREADS_MAX 16
#define HELP 1000
#define HELP_COLUMN 30 /* of descriptions */
#define HELP_NARROW 8  /* the same on narrow terminals, below the option */
#define NARROW 60      /* columns of a narrow terminal */

/* ---- reading the command line ---- */

static bool takes(const struct command *c, const struct option_row *row)
{
    return (c->takes & row->who) && !(c->takes & row->without);
}

static void make_tables(const struct command *c, struct option *longs, char *shorts)
{
    *shorts++ = ':';
    for (int i = 0; i < option_count; i++) {
        if (!takes(c, &option_rows[i]))
            continue;
        *longs++ =
            (struct option){option_rows[i].name, option_rows[i].takes ? 1 : 0, NULL, HELP + 1 + i};
        if (option_rows[i].letter)
            *shorts++ = option_rows[i].letter;
        if (option_rows[i].letter && option_rows[i].takes)
            *shorts++ = ':';
    }
    *longs++ = (struct option){"help", 0, NULL, HELP};
    *shorts++ = 'h';
    *shorts = '\0';
    *longs = (struct option){0};
}

static const struct option_row *row_of(const struct command *c, int code)
{
    if (code > HELP)
        return &option_rows[code - HELP - 1];
    for (int i = 0; i < option_count; i++)
        if (option_rows[i].letter == code && takes(c, &option_rows[i]))
            return &option_rows[i];
    return NULL;
}

/* The index of a word in "stop|pass|drop". */
static bool read_word(const char *words, const char *value, unsigned *number)
{
    size_t size = strlen(value);

    for (*number = 0; words; ++*number) {
        if (size && strncmp(words, value, size) == 0 && strchr("|", words[size]))
            return true;
        const char *end = strchr(words, '|');
        words = end ? end + 1 : NULL;
    }
    return false;
}

static bool is_within(const struct option_row *row, double value)
{
    return value >= row->least && value <= row->most;
}

static bool read_value(struct options *o, const struct option_row *row, const char *value)
{
    void *at = (char *)o + row->offset;
    uint64_t whole = 0;

    if (row->read)
        return row->read(o, value);
    switch (row->kind) {
    case VALUE_SWITCH:
        *(bool *)at = true;
        return true;
    case VALUE_WORD:
        if (!read_word(row->takes, value, at))
            return false;
        *(unsigned *)at += (unsigned)row->least;
        return true;
    case VALUE_NUMBER:
        if (!read_whole(value, &whole) || !is_within(row, (double)whole))
            return false;
        *(uint32_t *)at = (uint32_t)whole;
        return true;
    case VALUE_SIZE:
        return read_size(value, at) && is_within(row, (double)*(uint64_t *)at);
    case VALUE_TIME:
        return read_seconds(value, at) && is_within(row, *(double *)at);
    case VALUE_RATE:
        return read_rate(value, at) && is_within(row, *(double *)at);
    default:
        *(const char **)at = value;
        return true;
    }
}

static int set_option(struct options *o, const struct option_row *row, const char *value,
                      bool *given)
{
    if (*given && row->takes && !row->repeats)
        return fail("--%s: given twice; give it once", row->name);
    *given = true;
    if (read_value(o, row, value))
        return 0;
    if (!value)
        return fail("--%s: another record format was given before; choose one", row->name);
    return fail("--%s %s: invalid value; expected %s", row->name, value,
                row->expected ? row->expected : row->takes);
}

/* Is it the name, or NAME=VALUE? */
static bool is_word(const char *word, const char *name)
{
    size_t size = strlen(name);

    return strncmp(word, name, size) == 0 && (word[size] == '\0' || word[size] == '=');
}

static int refuse(const struct command *c, const char *word)
{
    const char *names[OPTION_ROWS_MAX + 1];
    const char *near, *bare = word + strspn(word, "-");
    int n = 0;

    for (int i = 0; i < option_count; i++) {
        if (takes(c, &option_rows[i]))
            names[n++] = option_rows[i].name;
        else if (word[1] == '-' && is_word(bare, option_rows[i].name))
            return fail("--%s: not an option of 'weir %s'%s; 'weir help %s' lists its options",
                        option_rows[i].name, c->name,
                        option_rows[i].who == TAKES_TIME ? ", which does not use time" : "",
                        c->name);
    }
    names[n] = NULL;
    near = word[1] == '-' ? nearest(bare, names) : NULL;
    if (near)
        return fail("%s: unknown option of 'weir %s'; did you mean --%s?", word, c->name, near);
    return fail("%s: unknown option of 'weir %s'; 'weir help %s' lists its options", word, c->name,
                c->name);
}

static int refuse_code(const struct command *c, int code, char **argv)
{
    char letter[3] = {'-', (char)optopt, '\0'};
    bool by_letter = optopt > 0 && optopt < HELP;
    const char *word = by_letter ? letter : argv[optind - 1];

    if (code == ':')
        return fail("%s: no value; add %s", word, row_of(c, optopt)->takes);
    if (optopt > HELP)
        return fail("%s: takes no value; remove it", word);
    return refuse(c, word);
}

/* ---- defaults and combinations ---- */

static bool is_pointer(const char *field)
{
    return field && *field == '/';
}

static bool is_name(const char *fields)
{
    return fields && strspn(fields, "0123456789,") != strlen(fields);
}

static bool ends_with(const char *text, size_t size, const char *ending)
{
    size_t n = strlen(ending);

    return size > n && strncmp(text + size - n, ending, n) == 0;
}

/* By the ending of users.csv or users.csv.gz; FORMAT_LINES if it is unknown. */
static enum format format_of(const char *file)
{
    static const char *const packed[] = {".gz", ".zst", ".xz"};
    static const struct {
        const char *ending;
        enum format format;
    } known[] = {{".csv", FORMAT_CSV}, {".tsv", FORMAT_TSV}, {".jsonl", FORMAT_JSONL}};
    size_t size = strlen(file);

    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++)
        if (ends_with(file, size, packed[i])) {
            size -= strlen(packed[i]);
            break;
        }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (ends_with(file, size, known[i].ending))
            return known[i].format;
    return FORMAT_LINES;
}

static const char *const format_options[] = {
    [FORMAT_CSV] = "--csv", [FORMAT_TSV] = "--tsv", [FORMAT_JSONL] = "--jsonl"};

/* If a key is a column name, the format follows from the ending of the last file. Other files with
 * a known ending must agree; one may be a filter file. */
static void infer_by_name(struct options *o)
{
    const char *last = o->operands ? o->operand[o->operands - 1] : "";
    enum format format = format_of(last);

    for (int i = 0; i < o->operands; i++)
        if (format_of(o->operand[i]) != FORMAT_LINES && format_of(o->operand[i]) != format)
            return;
    if (format == FORMAT_LINES)
        return;
    o->records.format = format;
    o->records.delimiter = format == FORMAT_CSV ? ',' : format == FORMAT_TSV ? '\t' : '\0';
    if (!o->verbosity.quiet)
        note("%s: reading with %s, because of its name", last, format_options[format]);
}

/* Field numbers are valid for every format, but fields separated by blanks are unlikely in .csv. */
static void doubt_by_name(const struct options *o)
{
    const char *last = o->operands ? o->operand[o->operands - 1] : "";

    if (!o->verbosity.quiet && format_of(last) != FORMAT_LINES)
        note("%s: reading lines with fields separated by blanks; did you mean %s?", last,
             format_options[format_of(last)]);
}

/* Names imply a header, JSON pointers imply JSON. */
static void infer(struct options *o)
{
    const struct records *r = &o->records;
    bool named =
        is_name(r->key) || is_name(records_measure(r)) || is_name(r->ttl) || is_name(r->time.field);
    bool pointed = is_pointer(r->key) || is_pointer(records_measure(r)) || is_pointer(r->ttl) ||
                   is_pointer(r->time.field);

    if (r->format == FORMAT_LINES && named && !pointed)
        infer_by_name(o);
    else if (r->format == FORMAT_LINES && r->key && !pointed)
        doubt_by_name(o);
    if (r->format == FORMAT_LINES && pointed)
        o->records.format = FORMAT_JSONL;
    if (r->format != FORMAT_JSONL && named)
        o->records.header = true;
}

static int check(const struct options *o)
{
    if ((o->exact.keep > 0 || o->exact.disk) && !o->exact.dir)
        return fail("--%s: no exact index; add --exact DIR", o->exact.disk ? "disk" : "keep");
    if (o->near.shingle && o->near.threshold == 0 && o->records.parts != PARTS_NGRAM)
        return fail("--shingle: no words to compare; add --near 0.8 or --parts ngram");
    if (o->near.on_flood && o->near.threshold == 0 && !o->records.parts)
        return fail("--on-flood: no texts to compare; add --near 0.8 or --parts paragraph");
    if ((o->parts.drop_above > 0 || o->parts.against) && !o->records.parts)
        return fail("--%s: no parts to compare; add --parts paragraph",
                    o->parts.against ? "against" : "drop-above");
    if (o->state.resume && !o->state.path && !o->exact.dir)
        return fail("--resume: no state to continue from; add --state FILE");
    if (o->state.checkpoint && !o->state.path && !o->exact.dir)
        return fail("--checkpoint: no state to save; add --state FILE");
    if ((o->output.append || o->output.overwrite) && !o->output.path)
        return fail("--%s: no file to write; add -o FILE",
                    o->output.append ? "append" : "overwrite");
    if (o->output.append && o->output.overwrite)
        return fail("--append and --overwrite exclude each other; choose one");
    if (o->shards > SHARDS_MAX && !o->at.url)
        return fail(
            "--shards %u: invalid value; expected a number from 1 to 256, with --at to 1024",
            o->shards);
    if (o->records.cidr && (o->at.url || o->ask.which || o->ask.any))
        return fail("--cidr: only a single filter file is looked up; remove --%s", o->at.url ? "at"
                                                                                   : o->ask.which
                                                                                       ? "which"
                                                                                       : "any");
    if (o->records.cidr && records_not_with_cidr(&o->records))
        return fail("--cidr: keys are IP addresses and networks; remove --%s",
                    records_not_with_cidr(&o->records));
    if (o->at.replicas && !o->at.url)
        return fail("--wait: no servers; add --at URL");
    if (!o->records.time.field && (o->records.time.format || o->records.time.limited))
        return fail("--%s: no event time; add --time FIELD",
                    o->records.time.format ? "time-format" : "lateness");
    if (o->records.nul && o->records.format == FORMAT_CSV)
        return fail("-z: CSV records end with line breaks; remove -z or --csv");
    if (o->records.header && o->records.format == FORMAT_JSONL)
        return fail("--header: JSON lines have no header; remove it");
    if (o->output.answers && (o->output.count_only || o->set.invert))
        return fail("--words: prints a word for every record; remove --%s",
                    o->output.count_only ? "count-only" : "invert");
    if (o->output.answers && o->output.emit == EMIT_DUPLICATES)
        return fail("--words: prints a word for every record; remove --emit");
    if (o->output.format == RECORDS_JSON && (o->output.answers || o->output.count_only))
        return fail("--format json: writes an object for each record; remove --%s",
                    o->output.answers ? "words" : "count-only");
    return 0;
}

/* ---- notes about probable mistakes ---- */

#define MEMORY_MIN 64         /* bytes: the library rejects less */
#define MEMORY_LITTLE 4096    /* bytes: a missing unit is likely below this */
#define CHECKPOINT_OFTEN 3600 /* records: a number up to this may be meant as seconds */

/* -m 64 is 64 bytes. Commands that measure and predict print the bytes that they use. */
static void hint_memory(const struct options *o, const struct command *c)
{
    const char *word = o->filter.memory;
    uint64_t bytes;

    if (!word || (c->takes & (TAKES_TRUTH | TAKES_PLAN)) || !read_size(word, &bytes) ||
        bytes < MEMORY_MIN || bytes >= MEMORY_LITTLE)
        return;
    size_t digits = strspn(word, "0123456789.");
    note("-m %s is %s; -m %.*sM would be %.*s MiB", word, show_bytes((double)bytes).text,
         (int)digits, word, (int)digits, word);
}

static void hint_checkpoint(const struct options *o)
{
    const char *word = o->state.checkpoint;

    if (word && o->state.records && o->state.records <= CHECKPOINT_OFTEN &&
        strspn(word, "0123456789") == strlen(word))
        note("--checkpoint %s saves after every %s records; --checkpoint %ss would save every %s "
             "seconds",
             word, word, word, word);
}

static void hint(const struct options *o, const struct command *c)
{
    if (o->verbosity.quiet)
        return;
    hint_memory(o, c);
    hint_checkpoint(o);
}

/* ---- reading all options ---- */

/* weir eval uses all processors: its results do not depend on the number of threads. With a store
 * or a sketch, a second thread reads while the first waits or counts. */
static uint32_t default_threads(const struct command *c)
{
    if (c->takes & (TAKES_CHECK | TAKES_SKETCH))
        return 2;
    long online = c->takes & TAKES_TRUTH ? sysconf(_SC_NPROCESSORS_ONLN) : 1;

    return online < 1 ? 1 : online > DEFAULT_THREADS_MAX ? DEFAULT_THREADS_MAX : (uint32_t)online;
}

static bool has_option(const struct command *c, const char *word, bool own)
{
    for (int i = 0; i < option_count; i++)
        if (takes(c, &option_rows[i]) == own && is_word(word, option_rows[i].name))
            return true;
    return false;
}

/* getopt_long() accepts abbreviations. An option of another command is not an abbreviation: weir
 * plan --time is not --timeout. */
static const char *foreign_option(const struct command *c, char *const *argv, int argc)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strncmp(argv[i], "--", 2) == 0 && !has_option(c, argv[i] + 2, true) &&
            has_option(c, argv[i] + 2, false))
            return argv[i];
    return NULL;
}

/* Options of earlier versions; getopt_long() would take --json as short for --jsonl. */
static int refuse_renamed(const struct command *c, char *const *argv, int argc)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        bool long_option = strncmp(argv[i], "--", 2) == 0;

        if (long_option && is_word(argv[i] + 2, "json") && has_option(c, "format", true))
            return fail("--json: unknown option; use --format json%s",
                        has_option(c, "jsonl", true) ? " (--jsonl is for JSON input)" : "");
        if (long_option && is_word(argv[i] + 2, "keys") && c->takes & TAKES_PLAN)
            return fail("--keys: unknown option; use --count N");
        for (int j = 0; j < 2 && long_option && c->takes & TAKES_CHECK; j++) {
            static const char *const parameters[] = {"window", "theta"};

            if (is_word(argv[i] + 2, parameters[j]))
                return fail("%s: unknown option; use -S %s=VALUE", argv[i], parameters[j]);
        }
    }
    return 0;
}

/* The number of words after this one, before getopt_long() reordered them. */
static int words_behind(const char *word, char *const *given, int n)
{
    int at = 0;

    while (at < n && given[at] != word)
        at++;
    return n - at - 1;
}

int options_read(struct options *o, int argc, char **argv, bool *done)
{
    const struct command *c = command_find(o->command);
    struct option longs[OPTION_ROWS_MAX + 2];
    char shorts[2 * OPTION_ROWS_MAX + 4];
    bool set[OPTION_ROWS_MAX] = {false};
    int code, status = 0;
    const char *foreign = foreign_option(c, argv, argc);
    if (refuse_renamed(c, argv, argc) != 0)
        return EXIT_ERROR;
    if (foreign)
        return refuse(c, foreign);
    char **given = malloc((size_t)argc * sizeof *given);
    if (!given)
        return fail("out of memory");
    memcpy(given, argv, (size_t)argc * sizeof *given);
    make_tables(c, longs, shorts);
    opterr = 0;
    while (status == 0 && (code = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        if (code == 'h' || code == HELP) {
            *done = true;
            options_print(o->command);
            break;
        }
        const struct option_row *row = row_of(c, code);
        status =
            row ? set_option(o, row, optarg, &set[row - option_rows]) : refuse_code(c, code, argv);
    }
    o->operand = argv + optind;
    o->operands = argc - optind;
    o->behind = optind > 1 && strcmp(argv[optind - 1], "--") == 0
                    ? words_behind(argv[optind - 1], given, argc)
                    : -1;
    free(given);
    if (*done)
        return 0;
    o->threads = o->threads ? o->threads : default_threads(c);
    infer(o);
    if (o->wide && o->format == PRINT_TEXT)
        o->format = PRINT_WIDE;
    o->filter.importance = o->records.importance != NULL;
    status = status ? status : check(o);
    if (status == 0)
        hint(o, c);
    return status;
}

static int help_column(void)
{
    int columns = print_columns();

    return columns > 0 && columns < NARROW ? HELP_NARROW : HELP_COLUMN;
}

static void print_option(const struct option_row *row)
{
    char left[64];
    int column = help_column();
    int n = snprintf(left, sizeof left, "  %s%c%s--%s%s%s", row->letter ? "-" : " ",
                     row->letter ? row->letter : ' ', row->letter ? ", " : "  ", row->name,
                     row->takes ? " " : "", row->takes ? row->takes : "");

    printf("%-*s", column, left);
    if (n >= column)
        printf("\n%*s", column, "");
    print_wrapped(row->help, column);
}

void options_print(const char *command)
{
    const struct command *c = command_find(command);
    char does[128];

    printf("usage: weir %s%s", c->name, *c->operands ? " " : "");
    print_wrapped(c->operands, (int)strlen("usage: weir  ") + (int)strlen(c->name));
    printf("\n");
    snprintf(does, sizeof does, "%s.", c->does);
    print_wrapped(does, 0);
    if (c->examples)
        printf("\n%s", c->examples);
    if (c->takes)
        printf("\noptions:\n");
    for (int i = 0; i < option_count; i++)
        if (takes(c, &option_rows[i]))
            print_option(&option_rows[i]);
    printf("\nSee man weir-%s.\n", c->name);
}
