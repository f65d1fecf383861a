/* option_table.c - see option_table.h. */
#include "cli/command.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/units.h"

#define RECORD_MOST (1 << 30)
#define NUMBER_MOST 100000000

/* ---- parsers of values; false if a value is invalid ---- */

static bool read_set(struct options *o, const char *value)
{
    if (o->filter.sets == SETS_MAX)
        return false;
    o->filter.set[o->filter.sets++] = value;
    return strchr(value, '=') != NULL;
}

/* -k 1 -k 3 is the same as -k 1,3. */
static bool read_key(struct options *o, const char *value)
{
    struct records *r = &o->records;
    size_t used = r->key ? strlen(r->key) : 0;

    if (!r->key) {
        r->key = value;
        return true;
    }
    if (used + 1 + strlen(value) >= sizeof o->keys)
        return false;
    if (r->key != o->keys)
        memcpy(o->keys, r->key, used);
    o->keys[used] = ',';
    strcpy(o->keys + used + 1, value);
    r->key = o->keys;
    return true;
}

static bool read_listed(struct values *list, const char **last, const char *value)
{
    *last = value;
    if (list->n == LIST_MAX)
        return false;
    list->at[list->n++] = value;
    return true;
}

static bool read_algorithm(struct options *o, const char *value)
{
    return read_listed(&o->measures.algorithms, &o->filter.algorithm, value);
}

static bool read_memory(struct options *o, const char *value)
{
    return read_listed(&o->measures.memories, &o->filter.memory, value);
}

static bool set_format(struct options *o, enum format format, char delimiter)
{
    if (o->records.format != FORMAT_LINES && o->records.format != format)
        return false;
    o->records.format = format;
    if (delimiter && !o->records.delimiter)
        o->records.delimiter = delimiter;
    return true;
}

static bool read_csv(struct options *o, const char *value)
{
    (void)value;
    if (o->records.format == FORMAT_DELIMITED) /* --csv -d ';' in either order */
        o->records.format = FORMAT_CSV;
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
    o->records.delimiter = c;
    return o->records.format == FORMAT_CSV || set_format(o, FORMAT_DELIMITED, c);
}

static bool read_on_error(struct options *o, const char *value)
{
    o->records.skip = strcmp(value, "skip") == 0;
    o->records.on_error_given = true;
    return o->records.skip || strcmp(value, "stop") == 0;
}

/* NEW,SEEN or NEW,SEEN,ELSE */
static bool read_words(struct options *o, const char *value)
{
    struct answers *a = &o->answers;
    int n = 0;

    if (strlen(value) >= sizeof a->text || strpbrk(value, "\n"))
        return false;
    *a = (struct answers){.word = {NULL, NULL, "skipped"}};
    strcpy(a->text, value);
    for (char *at = a->text; at; n++) {
        char *comma = strchr(at, ',');

        if (n == 3 || at == comma || !*at)
            return false;
        if (comma)
            *comma++ = '\0';
        a->word[n] = at;
        at = comma;
    }
    o->output.answers = a;
    return n >= 2;
}

static bool read_max_wait(struct options *o, const char *value)
{
    o->check.waits = true;
    return read_seconds(value, &o->check.max_wait) && o->check.max_wait <= 3600;
}

static bool read_timeout(struct options *o, const char *value)
{
    bool fits = read_seconds(value, &o->patience.timeout) && o->patience.timeout >= 0.001 &&
                o->patience.timeout <= 86400;

    o->at.timeout = o->patience.timeout;
    return fits;
}

static bool read_checkpoint(struct options *o, const char *value)
{
    o->state.seconds = 0;
    o->state.checkpoint = value;
    return (read_seconds(value, &o->state.seconds) && o->state.seconds > 0) ||
           (read_count(value, &o->state.records) && o->state.records > 0);
}

static bool read_top_number(struct options *o, const char *value)
{
    return o->count.share == 0 && read_number(value, &o->count.number, NUMBER_MOST);
}

static bool read_share(struct options *o, const char *value)
{
    return !o->count.number && read_rate(value, &o->count.share) && o->count.share > 0;
}

static bool read_lateness(struct options *o, const char *value)
{
    o->records.time.limited = true;
    return read_seconds(value, &o->records.time.lateness) && o->records.time.lateness < 1e12;
}

/* The library parses it again, as span=. */
static bool read_once_per(struct options *o, const char *value)
{
    double seconds;

    o->once_per = value;
    return read_seconds(value, &seconds) && seconds >= 0.004 && seconds <= 36500.0 * 86400 &&
           !strchr(value, '.');
}

/* ---- the table ---- */

_Static_assert(SHARDS_MAX == 256, "the table contains 256");

#define VALUE(type, member) .kind = VALUE_##type, .offset = offsetof(struct options, member)
#define AT(member) VALUE(TEXT, member)
#define SWITCH(member) VALUE(SWITCH, member)
#define WORD(member) VALUE(WORD, member)
#define RANGE(type, member, low, top) VALUE(type, member), .least = (low), .most = (top)
#define NUMBER(member, top) RANGE(NUMBER, member, 1, top)
#define ABOVE_0 DBL_MIN
#define DAY 86400.0

/* clang-format off */
const struct option_row option_rows[] = {
    {"store", 0, "URL", TAKES_CHECK | TAKES_TRUTH, "look up keys in this store: sqlite:, postgres://, redis://, rediss://, redis+unix://, keys: or exact:", AT(check.store)},
    {"screen", 0, "NAME", TAKES_CHECK, "use this screen: cache, dabf, 1bf, strict or none (default: auto)", AT(check.screen)},
    {"screen", 0, "NAME,...", TAKES_TRUTH, "measure these screens in front of the store", AT(check.screen)},
    {"at", 0, "URL", TAKES_AT, "use a filter in servers: redis://USER:PASSWORD@HOST:PORT/NAME, or rediss:// with TLS", AT(at.url)},
    {"wait", 0, "REPLICAS", TAKES_WAIT, "with --at: wait until this many replicas have a record before passing it (default: 0)", NUMBER(at.replicas, 1000), .expected = "a number from 1 to 1000"},
    {"algorithm", 'a', "NAME", TAKES_FILTER, "use this filter; 'weir list' lists them", .read = read_algorithm, .without = TAKES_TRUTH},
    {"algorithm", 'a', "NAME,...", TAKES_TRUTH, "measure these filters; 'weir list' lists them", .read = read_algorithm, .repeats = true},
    {"algorithm", 'a', "NAME", TAKES_TOP, "use this sketch: top (Space-Saving) or heavykeeper (default: top)", .read = read_algorithm},
    {"memory", 'm', "SIZE", TAKES_FILTER | TAKES_QUERY, "use this much memory, e.g. 512K, 1G (default: 64M)", .read = read_memory, .without = TAKES_TRUTH},
    {"memory", 'm', "SIZE", TAKES_TOP | TAKES_CHECK, "use this much memory, e.g. 64K, 1G (default: 1M)", .read = read_memory, .without = TAKES_TRUTH},
    {"memory", 'm', "SIZE", TAKES_GROW, "use this much memory, a multiple of the present size (required)", .read = read_memory},
    {"memory", 'm', "SIZE,...", TAKES_TRUTH, "measure with each of these sizes, e.g. 1M,64M", .read = read_memory, .repeats = true},
    {"fpr", 'e', "RATE", TAKES_FILTER, "limit the false-positive rate, e.g. 0.01, 1%", AT(filter.fpr)},
    {"set", 'S', "PARAMETER=VALUE", TAKES_FILTER | TAKES_SKETCH | TAKES_CHECK, "set any other parameter; may be repeated", .read = read_set, .repeats = true},
    {"seed", 0, "NUMBER", TAKES_FILTER | TAKES_SKETCH | TAKES_CHECK, "set the seed of hashing; equal seeds give equal results (default: random)", AT(filter.seed)},
    {"key", 'k', "FIELD", TAKES_RECORDS, "use this field as the key: 2, 1,3, a column name, /json/pointer (default: the whole record)", .read = read_key, .expected = "fields whose names have at most 1023 bytes in all", .repeats = true},
    {"importance", 'i', "FIELD", TAKES_IMPORTANCE, "read the importance of a record from this field; see --key", AT(records.importance)},
    {"ttl", 0, "FIELD", TAKES_DEDUP, "read the TTL of a record, in seconds or as 90s or 2h, from this field; needs -S ttl=MIN-MAX", AT(records.ttl)},
    {"weight", 'w', "FIELD", TAKES_SKETCH, "count by the number in this field, an integer below 2^32 (default: 1)", AT(records.weight)},
    {"ngrams", 0, "N", TAKES_SKETCH, "count every N consecutive words of the key", NUMBER(count.ngrams, GRAM_MAX), .expected = "a number from 1 to 16"},
    {"query", 0, "FILE", TAKES_QUERY, "print the counts of the keys in this file, one per line", AT(count.query)},
    {"number", 'n', "N", TAKES_TOP, "list this many keys (default: 20)", .read = read_top_number, .expected = "a number from 1 to 100000000, without --share"},
    {"share", 0, "RATE", TAKES_TOP, "list all keys with at least this share, e.g. 0.001, 0.1%", .read = read_share, .expected = "a rate above 0 and at most 1, such as 0.1%, without --number"},
    {"time", 0, "FIELD", TAKES_TIME, "read the event time of a record from this field; see --key", AT(records.time.field)},
    {"time-format", 0, "FORM", TAKES_TIME, "parse times as s, ms, us, rfc3339, clf or by a strptime pattern (default: auto-detect)", AT(records.time.format)},
    {"lateness", 0, "TIME", TAKES_TIME, "treat records later than this as malformed (default: no limit)", .read = read_lateness, .expected = "a time, such as 30s, 10m or 1h"},
    {"exact", 0, "DIR", TAKES_DEDUP | TAKES_FIXED, "keep all keys in DIR on disk, without false positives", AT(exact.dir)},
    {"keep", 0, "AGE", TAKES_DEDUP, "with --exact: forget a key this long after it passed (default: never)", RANGE(TIME, exact.keep, 60, 36500 * DAY), .expected = "a time from 1m to 36500d: 12h, 30d"},
    {"disk", 0, "SIZE", TAKES_DEDUP, "with --exact: forget the oldest keys to stay within SIZE (default: no limit)", RANGE(SIZE, exact.disk, 1, HUGE_VAL), .expected = "a size, such as 20G"},
    {"near", 0, "SIMILARITY", TAKES_DEDUP, "drop texts at least this similar (Jaccard) to an earlier one, e.g. 0.8", RANGE(RATE, near.threshold, 0.5, 0.99), .expected = "a similarity from 0.5 to 0.99, such as 0.8 or 80%"},
    {"shingle", 0, "N", TAKES_DEDUP, "with --near and --parts ngram: compare runs of N words (default: 5; ngram: 13)", NUMBER(near.shingle, 16), .expected = "a number from 1 to 16"},
    {"on-flood", 0, "warn|stop", TAKES_DEDUP, "with --near and --parts: warn or stop when more than half of the last 100,000 records were dropped (default: warn)", WORD(near.on_flood)},
    {"parts", 0, "paragraph|line|ngram", TAKES_DEDUP, "cut the parts of a text that occurred earlier; ngram: only drop", WORD(records.parts), .least = PARTS_PARAGRAPH},
    {"drop-above", 0, "SHARE", TAKES_DEDUP, "with --parts: drop a text if at least this share of it occurred earlier (default: 80%)", RANGE(RATE, parts.drop_above, ABOVE_0, 1), .expected = "a share above 0 and at most 1, such as 80%"},
    {"against", 0, "FILE", TAKES_DEDUP, "with --parts: look up the parts in this filter file, and remember none", AT(parts.against)},
    {"once-per", 0, "TIME", TAKES_DEDUP, "pass each key at most once per TIME, e.g. 1h", .read = read_once_per, .expected = "a time from 4ms to 36500d: 500ms, 10s, 5m, 2h, 1d"},
    {"csv", 0, NULL, TAKES_RECORDS, "read CSV records (RFC 4180)", .read = read_csv},
    {"tsv", 0, NULL, TAKES_RECORDS, "read fields separated by tabs", .read = read_tsv},
    {"jsonl", 0, NULL, TAKES_RECORDS, "read JSON records, one per line", .read = read_jsonl},
    {"delimiter", 'd', "C", TAKES_RECORDS, "read fields separated by this character", .read = read_delimiter, .expected = "one byte, or \\t"},
    {"plain", 0, NULL, TAKES_RECORDS, "read every file as lines, also compressed files, databases and filter files", SWITCH(records.plain)},
    {"null", 'z', NULL, TAKES_RECORDS, "read records that end with NUL, not with a line break", SWITCH(records.nul)},
    {"header", 0, NULL, TAKES_RECORDS, "treat the first record of each file as a header: pass it, do not count it", SWITCH(records.header)},
    {"explain", 0, NULL, TAKES_RECORDS, "print how the first five records are read, and do nothing else", SWITCH(explain)},
    {"key-as", 0, "NAME,...", TAKES_RECORDS, "compare each field of the key as url, host, domain, nfc (Unicode) or ip", AT(records.key_as)},
    {"cidr", 0, NULL, TAKES_FIXED | TAKES_KEYS | TAKES_ASK | TAKES_CHECK, "keys are IP addresses and networks such as 10.0.0.0/8, which contain addresses", SWITCH(records.cidr)},
    {"ignore-case", 0, NULL, TAKES_RECORDS, "compare keys without regard to case", SWITCH(records.ignore_case)},
    {"ignore-space", 0, NULL, TAKES_RECORDS, "trim keys, and treat each run of white space in them as one blank", SWITCH(records.ignore_space)},
    {"keep-cr", 0, NULL, TAKES_RECORDS, "keep a CR before the line break in the key (default: strip it)", SWITCH(records.keep_cr)},
    {"keys-differ", 0, NULL, TAKES_MADE, "use a filter even if its keys were made with other options", SWITCH(keys_differ)},
    {"max-record", 0, "SIZE", TAKES_RECORDS, "reject records longer than this (default: 64M)", RANGE(SIZE, records.max_record, 1, RECORD_MOST), .expected = "a size up to 1G, such as 64K or 256M"},
    {"on-error", 0, "stop|skip", TAKES_RECORDS, "stop at a malformed record, or skip it (default: stop)", .read = read_on_error},
    {"on-missing", 0, "stop|skip|pass", TAKES_RECORDS, "stop at a record without its key or time, skip it or pass it (default: as --on-error)", WORD(records.missing), .least = MISSING_STOPS},
    {"on-full", 0, "warn|stop", TAKES_FULL, "warn or stop when the filter exceeds its error rate or starts to evict keys (default: warn)", WORD(on_full)},
    {"emit", 0, "unique|duplicates|all", TAKES_DEDUP, "select the records to pass; all: each tagged new or seen (default: unique)", WORD(output.emit)},
    {"emit", 0, "members|others|all", TAKES_CHECK, "select the records to pass; all: each tagged member or other (default: members)", WORD(output.emit)},
    {"words", 0, "NEW,SEEN", TAKES_OUTPUT, "print one of these words for each record instead of the record", .read = read_words, .expected = "two words, such as NEW,SEEN, or three: the last for records without an answer"},
    {"invert", 0, NULL, TAKES_KEYS, "pass the records whose key is not in the filter", SWITCH(set.invert)},
    {"which", 0, NULL, TAKES_ASK, "look up keys in many filters and print which have each key", SWITCH(ask.which)},
    {"any", 0, NULL, TAKES_ASK, "look up keys in many filters and print whether any has each key", SWITCH(ask.any)},
    {"keys", 0, "KEYFILE", TAKES_KEYS, "build the filter from the keys in this file, one per line, or the fields of keys:FILE?field=1&delimiter=:", AT(set.keys)},
    {"fixed", 0, NULL, TAKES_FIXED, "build a set that never changes: smaller and faster to look up", SWITCH(set.fixed)},
    {"strict", 0, "URL|KEYFILE", TAKES_KEYS, "confirm each hit in this store or file of keys, so that no false positive passes", AT(set.strict)},
    {"max-wait", 0, "TIME", TAKES_CHECK, "let a record wait at most this long for a batch of lookups (default: 10ms)", .read = read_max_wait, .expected = "a time, such as 5ms or 1s"},
    {"timeout", 0, "TIME", TAKES_STORE, "wait at most this long for a reply of the store (default: 5s)", .read = read_timeout, .expected = "a time, such as 500ms or 10s"},
    {"timeout", 0, "TIME", TAKES_AT, "with --at: wait at most this long for the servers (default: 30s)", .read = read_timeout, .expected = "a time, such as 500ms or 10s", .without = TAKES_STORE},
    {"retries", 0, "N", TAKES_STORE, "retry this many times after a failure, with growing pauses (default: 5)", RANGE(NUMBER, patience.retries, 0, 1000), .expected = "a number from 0 to 1000"},
    {"on-store-error", 0, "stop|pass|drop", TAKES_STORE, "stop at a record that the store could not look up, pass it or drop it (default: stop)", WORD(patience.silence)},
    {"count-only", 0, NULL, TAKES_OUTPUT, "print only how many records would pass", SWITCH(output.count_only)},
    {"output", 'o', "FILE", TAKES_OUTPUT, "write to this file instead of standard output", AT(output.path)},
    {"append", 0, NULL, TAKES_OUTPUT, "with -o: append to the file", SWITCH(output.append)},
    {"overwrite", 0, NULL, TAKES_OUTPUT, "with -o: replace the file even if a state remembers its records", SWITCH(output.overwrite)},
    {"rejects", 0, "FILE", TAKES_REJECTS, "write the records that do not pass to this file", AT(output.rejects)},
    {"rejects-format", 0, "text|json", TAKES_REJECTS, "write rejected records unchanged, or a JSON object with number, record, key and reason for each (default: text)", WORD(output.rejects_format)},
    {"audit", 0, "FILE", TAKES_REJECTS, "write a JSON summary of the run to this file: inputs, records by result, errors", AT(output.audit)},
    {"output", 'o', "FILE", TAKES_FILE, "write this file (required)", AT(output.path)},
    {"state", 0, "FILE", TAKES_STATE | TAKES_SKETCH, "keep the state between runs: load it if it exists, save it at the end", AT(state.path)},
    {"checkpoint", 0, "30s|1M", TAKES_STATE, "also save the state this often: a time or a number of records (default: 30s)", .read = read_checkpoint},
    {"resume", 0, NULL, TAKES_STATE, "continue in the input files where the state stopped", SWITCH(state.resume)},
    {"synthetic", 0, "SPEC", TAKES_TRUTH, "measure a synthetic stream instead of files; see 'weir help gen'", AT(measures.synthetic)},
    {"baseline-memory", 0, "SIZE", TAKES_TRUTH, "limit the memory of the exact baseline (default: 4G)", RANGE(SIZE, measures.baseline_memory, 1, HUGE_VAL), .expected = "a size, such as 512M or 4G"},
    {"stream", 0, "SPEC", TAKES_PLAN, "predict for this stream; see 'weir help gen' (default: endless)", AT(plan.stream)},
    {"screen", 0, "NAME", TAKES_PLAN, "predict this screen (dabf); needs --members", AT(check.screen)},
    {"members", 0, "RATE", TAKES_PLAN, "with --screen: set the share of keys that are in the set, e.g. 30%", AT(plan.members)},
    {"window", 0, "COUNT", TAKES_PLAN, "find filters that never miss a key of the latest COUNT records, and their memory", AT(plan.window)},
    {"count", 0, "N", TAKES_PLAN, "find filters that hold a set of N keys, and their memory", AT(plan.count)},
    {"gap", 0, "COUNT,...", TAKES_PLAN, "predict how often a key is missed whose previous record is this many records back", AT(plan.gap)},
    {"rate", 0, "COUNT", TAKES_PLAN, "with -S ttl=: predict for this many new keys per second, e.g. 10k (default: as many as fit)", AT(plan.rate)},
    {"fnr", 0, "RATE", TAKES_PLAN, "limit the false-negative rate, e.g. 0.01, 1% (default: 5%)", RANGE(RATE, plan.fnr, ABOVE_0, 1), .expected = "a rate above 0: 0.05 or 5%"},
    {"fnr", 0, "RATE", TAKES_TRUTH, "with --report: limit the false-negative rate, e.g. 0.01, 1% (default: 5%)", RANGE(RATE, plan.fnr, ABOVE_0, 1), .expected = "a rate above 0: 0.05 or 5%"},
    {"format", 0, "text|tsv|json", TAKES_TRUTH | TAKES_PLAN | TAKES_INFO | TAKES_LIST | TAKES_SKETCH, "print text, tab-separated values or JSON (default: text)", WORD(format)},
    {"format", 0, "text|json", TAKES_OUTPUT, "write records unchanged, or a JSON object with record, key and verdict for each (default: text)", WORD(output.format)},
    {"wide", 0, NULL, TAKES_TRUTH | TAKES_PLAN, "print all columns of the table", SWITCH(wide)},
    {"by-importance", 0, NULL, TAKES_TRUTH, "print one row per filter and importance class", SWITCH(measures.by_importance)},
    {"curve", 0, "N", TAKES_TRUTH, "print N rows per filter, evenly spaced along the stream", NUMBER(measures.curve, 10000), .expected = "a number from 1 to 10000"},
    {"permutations", 0, "N", TAKES_TRUTH, "average over N shuffled orders of the stream", NUMBER(measures.permutations, 10000), .expected = "a number from 1 to 10000"},
    {"finite", 0, NULL, TAKES_TRUTH, "with --report: assume that the stream ends with these records", SWITCH(measures.finite)},
    {"report", 0, "FILE", TAKES_TRUTH, "write an HTML report: a recommendation, tables and charts", AT(measures.report)},
    {"threads", 'j', "N", TAKES_THREADS, "use N threads and N shards; two threads of a fast filter share one shard", NUMBER(threads, SHARDS_MAX), .expected = "a number from 1 to 256"},
    {"threads", 'j', "N", TAKES_CHECK | TAKES_SKETCH, "use N threads (default: 2)", NUMBER(threads, SHARDS_MAX), .expected = "a number from 1 to 256"},
    {"threads", 'j', "N", TAKES_TRUTH, "use N threads (default: one per processor, at most 16)", NUMBER(threads, SHARDS_MAX), .expected = "a number from 1 to 256"},
    {"shards", 0, "N", TAKES_THREADS, "divide the filter into N shards (default: one per thread)", NUMBER(shards, AT_SHARDS_MAX), .expected = "a number from 1 to 256, with --at to 1024"},
    {"stats", 0, "text|json|none", TAKES_STATS, "print a summary on standard error (default: one line on a terminal, else none)", WORD(verbosity.stats)},
    {"metrics", 0, "FILE", TAKES_OUTPUT, "write metrics for Prometheus to this file every 15 s", AT(verbosity.metrics)},
    {"verify", 0, NULL, TAKES_INFO, "check every byte of the file first", SWITCH(verify)},
    {"verbose", 0, NULL, TAKES_VERSION, "also print build type, compiler, processor and libraries", SWITCH(verbose)},
    {"quiet", 'q', NULL, TAKES_QUIET, "print no progress bar, summary or notes", SWITCH(verbosity.quiet)},
};
/* clang-format on */

const int option_count = sizeof option_rows / sizeof *option_rows;
_Static_assert(sizeof option_rows / sizeof *option_rows <= OPTION_ROWS_MAX,
               "OPTION_ROWS_MAX is too small");
