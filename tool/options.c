/* options.c - see options.h. One table holds every option: how it is spelt,
 * who takes it, what help says of it, and where its value goes. */
#include "options.h"

#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "counting.h"
#include "say.h"
#include "shards.h"
#include "units.h"

#define RECORD_MOST ((uint64_t)1 << 30)
#define NUMBER_MOST 100000000
#define THREADS_MOST 16 /* unless told */

struct option_row {
    const char *name;
    char letter;
    const char *takes; /* NULL: a switch */
    unsigned who;      /* TAKES_... of commands.h */
    const char *help;
    bool (*read)(struct options *o, const char *value); /* NULL: a text or switch at: */
    size_t at;
    const char *fits; /* what takes does not tell, where a value does not fit */
};

/* ---- readers of values; false: the value does not fit ---- */

static bool read_set(struct options *o, const char *value)
{
    if (o->sets == SETS_MAX)
        return false;
    o->set[o->sets++] = value;
    return strchr(value, '=') != NULL;
}

static bool read_listed(struct list *list, const char **last, const char *value)
{
    *last = value;
    if (list->n == LIST_MAX)
        return false;
    list->at[list->n++] = value;
    return true;
}

static bool read_algorithm(struct options *o, const char *value)
{
    return read_listed(&o->algorithms, &o->algorithm, value);
}

static bool read_memory(struct options *o, const char *value)
{
    return read_listed(&o->memories, &o->memory, value);
}

static bool set_format(struct options *o, enum format format, char delimiter)
{
    if (o->format != FORMAT_LINES && o->format != format)
        return false;
    o->format = format;
    if (delimiter && !o->delimiter)
        o->delimiter = delimiter;
    return true;
}

static bool read_csv(struct options *o, const char *value)
{
    (void)value;
    if (o->format == FORMAT_DELIMITED) /* --csv -d ';' in either order */
        o->format = FORMAT_CSV;
    return set_format(o, FORMAT_CSV, ',');
}

static bool read_tsv(struct options *o, const char *value)
{
    (void)value;
    return set_format(o, FORMAT_TSV, '\t');
}

static bool read_jsonl(struct options *o, const char *value)
{
    (void)value;
    return set_format(o, FORMAT_JSONL, '\0');
}

static bool read_delimiter(struct options *o, const char *value)
{
    char c = strcmp(value, "\\t") == 0 ? '\t' : *value;

    if (!c || (value[1] && c != '\t') || c == '\n' || c == '"')
        return false;
    o->delimiter = c;
    return o->format == FORMAT_CSV || set_format(o, FORMAT_DELIMITED, c);
}

static bool read_max_record(struct options *o, const char *value)
{
    return read_size(value, &o->max_record) && o->max_record > 0 && o->max_record <= RECORD_MOST;
}

static bool read_on_error(struct options *o, const char *value)
{
    o->skip = strcmp(value, "skip") == 0;
    return o->skip || strcmp(value, "stop") == 0;
}

static bool one_of(const char *value, const char *const *words, int *index)
{
    for (*index = 0; words[*index]; ++*index)
        if (strcmp(value, words[*index]) == 0)
            return true;
    return false;
}

static bool read_emit(struct options *o, const char *value)
{
    static const char *const words[] = {"unique", "duplicates", "all", NULL};
    int i;
    bool fits = one_of(value, words, &i);

    o->emit = (enum emit)i;
    return fits;
}

static bool read_stats(struct options *o, const char *value)
{
    static const char *const words[] = {"", "text", "json", "none", NULL};
    int i;
    bool fits = *value && one_of(value, words, &i);

    o->stats = fits ? (enum stats_style)i : STATS_DEFAULT;
    return fits;
}

static bool read_checkpoint(struct options *o, const char *value)
{
    o->checkpoint_seconds = 0;
    o->checkpoint = true;
    return (read_seconds(value, &o->checkpoint_seconds) && o->checkpoint_seconds > 0) ||
           (read_count(value, &o->checkpoint_records) && o->checkpoint_records > 0);
}

static bool read_threads(struct options *o, const char *value)
{
    return read_number(value, &o->threads, SHARDS_MAX);
}

static bool read_shards(struct options *o, const char *value)
{
    return read_number(value, &o->shards, SHARDS_MAX);
}

static bool read_truth_memory(struct options *o, const char *value)
{
    return read_size(value, &o->truth_memory) && o->truth_memory > 0;
}

static bool read_table(struct options *o, const char *value)
{
    static const char *const words[] = {"table", "tsv", "json", NULL};
    int i;
    bool fits = one_of(value, words, &i);

    o->table = (enum table_style)i;
    return fits;
}

static bool read_curve(struct options *o, const char *value)
{
    return read_number(value, &o->curve, 10000);
}

static bool read_permutations(struct options *o, const char *value)
{
    return read_number(value, &o->permutations, 10000);
}

static bool read_ngrams(struct options *o, const char *value)
{
    return read_number(value, &o->ngrams, GRAM_MAX);
}

static bool read_top_number(struct options *o, const char *value)
{
    return o->share == 0 && read_number(value, &o->number, NUMBER_MOST);
}

static bool read_share(struct options *o, const char *value)
{
    return !o->number && read_rate(value, &o->share) && o->share > 0;
}

/* ---- the table ---- */

_Static_assert(SHARDS_MAX == 256, "the table says so");

#define AT(member) .at = offsetof(struct options, member)

/* clang-format off */
static const struct option_row rows[] = {
    {"algorithm", 'a', "NAME", TAKES_FILTER, "the filter; 'weir list' shows them (eval: a,b,...)", .read = read_algorithm},
    {"memory", 'm', "SIZE", TAKES_FILTER | TAKES_SKETCH, "memory to use: 64M (default; top: 1M), 1G (eval: 1M,1G,...)", .read = read_memory},
    {"fpr", 'e', "RATE", TAKES_FILTER, "ceiling of false positives: 0.01, 1%", NULL, AT(fpr)},
    {"set", 'S', "KNOB=VALUE", TAKES_FILTER | TAKES_SKETCH, "any other knob; may be repeated", .read = read_set},
    {"seed", 0, "NUMBER", TAKES_FILTER | TAKES_SKETCH, "seed of hashing and chance: same seed, same result", NULL, AT(seed)},
    {"key", 'k', "FIELD", TAKES_RECORDS, "the key: 2, 1,3, a column's name, /json/pointer (default: whole record)", NULL, AT(key)},
    {"importance", 'i', "FIELD", TAKES_IMPORTANCE, "how much a record matters: a field, as for --key", NULL, AT(importance)},
    {"weight", 'w', "FIELD", TAKES_SKETCH, "count as many as this field says: a whole number below 2^32", NULL, AT(weight)},
    {"ngrams", 0, "N", TAKES_SKETCH, "keys are every N words in a row of the key", .read = read_ngrams},
    {"query", 0, "FILE", TAKES_QUERY, "tell the counts of the keys in this file, one per line", NULL, AT(query)},
    {"number", 'n', "N", TAKES_TOP, "list so many keys (20)", .read = read_top_number},
    {"share", 0, "RATE", TAKES_TOP, "list all keys of so large a share: 0.001, 0.1%", .read = read_share},
    {"csv", 0, NULL, TAKES_RECORDS, "records are CSV (RFC 4180)", .read = read_csv},
    {"tsv", 0, NULL, TAKES_RECORDS, "fields are separated by tabs", .read = read_tsv},
    {"jsonl", 0, NULL, TAKES_RECORDS, "each line is a JSON text", .read = read_jsonl},
    {"delimiter", 'd', "C", TAKES_RECORDS, "fields are separated by this character", .read = read_delimiter, .fits = "one byte, or \\t"},
    {"null", 'z', NULL, TAKES_RECORDS, "records end with NUL, not with a line break", NULL, AT(nul)},
    {"header", 0, NULL, TAKES_RECORDS, "the first record of each file is a header: passed, not counted", NULL, AT(header)},
    {"ignore-case", 0, NULL, TAKES_RECORDS, "upper and lower case are the same", NULL, AT(ignore_case)},
    {"max-record", 0, "SIZE", TAKES_RECORDS, "longest record (64M)", .read = read_max_record, .fits = "a size up to 1G, such as 64K or 256M"},
    {"on-error", 0, "stop|skip", TAKES_RECORDS, "at a malformed record (stop)", .read = read_on_error},
    {"emit", 0, "unique|duplicates|all", TAKES_STATE, "records to pass; all: each tagged new or seen", .read = read_emit},
    {"invert", 0, NULL, TAKES_KEYS, "pass the records whose key is not in the filter", NULL, AT(invert)},
    {"keys", 0, "FILE", TAKES_KEYS, "build the filter from this file of keys, one per line", NULL, AT(keys)},
    {"strict", 0, "KEYFILE", TAKES_KEYS, "confirm each hit in this file of keys: nothing false passes", NULL, AT(strict)},
    {"count-only", 0, NULL, TAKES_OUTPUT, "print only how many records would pass", NULL, AT(count_only)},
    {"output", 'o', "FILE", TAKES_OUTPUT, "write here instead of to standard output", NULL, AT(output)},
    {"output", 'o', "FILE", TAKES_FILE, "the file to write; needed", NULL, AT(output)},
    {"state", 0, "FILE", TAKES_STATE | TAKES_SKETCH, "remember between runs: load if it is there, save at the end", NULL, AT(state)},
    {"checkpoint", 0, "30s|1M", TAKES_STATE, "save the state this often too: a time or a count of records (30s)", .read = read_checkpoint},
    {"resume", 0, NULL, TAKES_STATE, "go on in the input files where the state stopped", NULL, AT(resume)},
    {"synthetic", 0, "SPEC", TAKES_TRUTH, "a stream of 'weir gen' instead of files", NULL, AT(synthetic)},
    {"truth-memory", 0, "SIZE", TAKES_TRUTH, "most that exact truth may take (4G)", .read = read_truth_memory},
    {"format", 0, "table|tsv|json", TAKES_TRUTH, "how to print (table)", .read = read_table},
    {"by-importance", 0, NULL, TAKES_TRUTH, "a row per filter and importance, or tenth of it", NULL, AT(by_importance)},
    {"curve", 0, "N", TAKES_TRUTH, "N rows per filter, over the stream", .read = read_curve, .fits = "a number from 1 to 10000"},
    {"permutations", 0, "N", TAKES_TRUTH, "average over N shuffled orders of the stream", .read = read_permutations, .fits = "a number from 1 to 10000"},
    {"report", 0, "FILE", TAKES_TRUTH, "write a page: what to choose and why, with charts", NULL, AT(report)},
    {"threads", 'j', "N", TAKES_THREADS | TAKES_TRUTH, "work with N threads, on as many shards (eval: filters)", .read = read_threads, .fits = "a number from 1 to 256"},
    {"shards", 0, "N", TAKES_THREADS, "number of shards, apart from the threads", .read = read_shards, .fits = "a number from 1 to 256"},
    {"stats", 0, "text|json|none", TAKES_STATS, "report to standard error (text on a terminal, else none)", .read = read_stats},
    {"json", 0, NULL, TAKES_JSON, "print JSON", NULL, AT(json)},
    {"quiet", 'q', NULL, TAKES_QUIET, "no progress bar, no report, no notes", NULL, AT(quiet)},
};
/* clang-format on */

#define ROWS ((int)(sizeof rows / sizeof *rows))
#define HELP 1000

/* ---- reading the command line ---- */

static bool takes(const struct command *c, const struct option_row *row)
{
    return (c->takes & row->who) != 0;
}

static void make_tables(const struct command *c, struct option *longs, char *shorts)
{
    *shorts++ = ':';
    for (int i = 0; i < ROWS; i++) {
        if (!takes(c, &rows[i]))
            continue;
        *longs++ = (struct option){rows[i].name, rows[i].takes ? 1 : 0, NULL, HELP + 1 + i};
        if (rows[i].letter)
            *shorts++ = rows[i].letter;
        if (rows[i].letter && rows[i].takes)
            *shorts++ = ':';
    }
    *longs++ = (struct option){"help", 0, NULL, HELP};
    *shorts++ = 'h';
    *shorts = '\0';
    *longs = (struct option){0};
}

static const struct option_row *row_of(int code)
{
    if (code > HELP)
        return &rows[code - HELP - 1];
    for (int i = 0; i < ROWS; i++)
        if (rows[i].letter == code)
            return &rows[i];
    return NULL;
}

static int set_option(struct options *o, const struct option_row *row, const char *value)
{
    char *base = (char *)o;

    if (row->read)
        return row->read(o, value) ? 0
               : value             ? fail("--%s %s does not fit: it takes %s", row->name, value,
                              row->fits ? row->fits : row->takes)
                       : fail("--%s does not go with another format of records", row->name);
    if (row->takes)
        *(const char **)(void *)(base + row->at) = value;
    else
        *(bool *)(base + row->at) = true;
    return 0;
}

static int refuse(const struct command *c, const char *word)
{
    const char *names[ROWS + 1];
    const char *near, *bare = word + strspn(word, "-");
    int n = 0;

    for (int i = 0; i < ROWS; i++) {
        if (takes(c, &rows[i]))
            names[n++] = rows[i].name;
        else if (word[1] == '-' && strcmp(bare, rows[i].name) == 0)
            return fail("'weir %s' has no use for --%s; 'weir help %s' lists its options", c->name,
                        bare, c->name);
    }
    names[n] = NULL;
    near = word[1] == '-' ? nearest(bare, names) : NULL;
    if (near)
        return fail("'weir %s' has no option %s; did you mean --%s?", c->name, word, near);
    return fail("'weir %s' has no option %s; 'weir help %s' lists them", c->name, word, c->name);
}

static int refuse_code(const struct command *c, int code, char **argv)
{
    char letter[3] = {'-', (char)optopt, '\0'};
    bool by_letter = optopt > 0 && optopt < HELP;
    const char *word = by_letter ? letter : argv[optind - 1];

    if (code == ':')
        return fail("%s needs a value: %s", word, row_of(optopt)->takes);
    if (optopt > HELP)
        return fail("%s takes no value", word);
    return refuse(c, word);
}

/* ---- what goes together ---- */

static bool is_pointer(const char *field)
{
    return field && *field == '/';
}

static bool is_name(const char *fields)
{
    return fields && strspn(fields, "0123456789,") != strlen(fields);
}

/* A key that can only mean one thing says what the records are. */
static void infer(struct options *o)
{
    if (o->format == FORMAT_LINES && (is_pointer(o->key) || is_pointer(options_measure(o))))
        o->format = FORMAT_JSONL;
    if (o->format != FORMAT_JSONL && (is_name(o->key) || is_name(options_measure(o))))
        o->header = true;
}

static int check(const struct options *o)
{
    if (o->resume && !o->state)
        return fail("--resume needs --state FILE, which says where to go on");
    if (o->checkpoint && !o->state)
        return fail("--checkpoint needs --state FILE, where it is saved");
    if (o->nul && o->format == FORMAT_CSV)
        return fail("-z does not go with --csv: CSV records end with line breaks");
    if (o->header && o->format == FORMAT_JSONL)
        return fail("--header does not go with --jsonl: JSON lines have no header");
    return 0;
}

/* A report measures many filters and tells no times but theirs: it takes all
 * processors unless told. */
static uint32_t default_threads(const struct options *o)
{
    long online = o->report ? sysconf(_SC_NPROCESSORS_ONLN) : 1;

    return online < 1 ? 1 : online > THREADS_MOST ? THREADS_MOST : (uint32_t)online;
}

int options_read(struct options *o, int argc, char **argv, bool *done)
{
    const struct command *c = command_find(o->command);
    struct option longs[ROWS + 2];
    char shorts[2 * ROWS + 4];
    int code, status = 0;

    make_tables(c, longs, shorts);
    opterr = 0;
    while (status == 0 && (code = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
        if (code == 'h' || code == HELP) {
            *done = true;
            options_print(o->command);
            return 0;
        }
        status = code == '?' || code == ':' ? refuse_code(c, code, argv)
                                            : set_option(o, row_of(code), optarg);
    }
    o->operand = argv + optind;
    o->operands = argc - optind;
    o->threads = o->threads ? o->threads : default_threads(o);
    infer(o);
    return status ? status : check(o);
}

void options_describe_records(const struct options *o, char *buffer, unsigned long size)
{
    static const char *const names[] = {"lines", "--csv", "--tsv", "--jsonl", "lines"};
    char delimiter[8] = "";

    if (o->format == FORMAT_DELIMITED || (o->format == FORMAT_CSV && o->delimiter != ','))
        snprintf(delimiter, sizeof delimiter, " -d %c", o->delimiter);
    snprintf(buffer, size, "%s%s%s%s%s%s%s%s%s", names[o->format], o->nul ? " -z" : "", delimiter,
             o->header ? " --header" : "", o->key ? " -k " : "", o->key ? o->key : "",
             o->importance ? " -i " : "", o->importance ? o->importance : "",
             o->ignore_case ? " --ignore-case" : "");
}

void options_print(const char *command)
{
    const struct command *c = command_find(command);

    printf("usage: weir %s%s%s\n\n%s.\n", c->name, *c->operands ? " " : "", c->operands, c->does);
    if (c->more)
        printf("\n%s", c->more);
    if (c->takes)
        printf("\noptions:\n");
    for (int i = 0; i < ROWS; i++) {
        char left[64];

        if (!takes(c, &rows[i]))
            continue;
        snprintf(left, sizeof left, "%s%c%s--%s%s%s", rows[i].letter ? "-" : " ",
                 rows[i].letter ? rows[i].letter : ' ', rows[i].letter ? ", " : "  ", rows[i].name,
                 rows[i].takes ? " " : "", rows[i].takes ? rows[i].takes : "");
        printf("  %-32s %s\n", left, rows[i].help);
    }
    printf("\n'man weir-%s' tells more.\n", c->name);
}
