/* explain.c - --explain: how the first records of the input are read, instead of running the
 * command. Prints the input, its format, the key, importance and time, then each record with
 * the exact key that a filter would be given. Reads the input and opens nothing else. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/units.h"
#include "cli/messages.h"
#include "cli/signals.h"
#include "cli/normalize.h"
#include "cmd/commands.h"
#include "cmd/sets.h"
#include "pipe/source.h"
#include "verdict/ask_store.h"

#define EXPLAINED 5  /* records */
#define TEXT_MAX 160 /* bytes of a record, header, key field or message that are printed */

struct explaining {
    const struct records *asked; /* as the command reads them, but with every fault reported */
    struct file_source source;
    struct fault_notes faults;
    const char *name;           /* of the input whose format was printed */
    uint32_t records;           /* explained so far, */
    char key[EXPLAINED][64];    /* the beginnings of their keys, */
    size_t key_size[EXPLAINED]; /* their sizes */
    unsigned long long line[EXPLAINED];
};

/* ---- texts ---- */

/* Control characters, and bytes that are not UTF-8, as \t, \r or \xNN. */
static void print_text(const char *text, size_t size, char quote)
{
    size_t shown = size < TEXT_MAX ? size : TEXT_MAX;

    for (size_t i = 0; i < shown;) {
        size_t n = utf8_printable(text + i, size - i);

        if (text[i] == '\t' || text[i] == '\r' || text[i] == '\n')
            printf("\\%c", text[i] == '\t' ? 't' : text[i] == '\r' ? 'r' : 'n');
        else if (n == 0)
            printf("\\x%02x", (unsigned char)text[i]);
        else
            printf("%s%.*s", quote && (text[i] == quote || text[i] == '\\') ? "\\" : "", (int)n,
                   text + i);
        i += n ? n : 1;
    }
    if (shown < size)
        printf("... (%zu bytes)", size);
}

/* Each field of the key in quotes. */
static void print_key_fields(const struct weir_bytes *key, uint32_t fields)
{
    const char *at = key->data, *end = at + key->size;

    for (uint32_t i = 0; i < fields; i++) {
        const char *joint = i + 1 < fields ? memchr(at, KEY_JOINT, (size_t)(end - at)) : NULL;
        size_t size = (size_t)((joint ? joint : end) - at);

        printf(" \"");
        print_text(at, size, '"');
        printf("\"");
        at += size + (joint != NULL);
    }
}

/* ---- the format ---- */

static void print_format(const struct explaining *e)
{
    static const char *const names[] = {"lines", "CSV", "TSV", "JSON lines", "lines"};
    const struct records *r = e->asked;
    const struct reader *reader = &e->source.reader;
    enum file_kind kind = reader->bytes.kind;

    printf("input: ");
    print_text(e->name, strlen(e->name), '\0');
    if (magic_is_packed(kind))
        printf(" (%s)", magic_name(kind));
    printf("\n");
    printf("format: %s%s", names[r->format], r->nul ? " that end with NUL" : "");
    if (r->delimiter) {
        printf(", delimiter '");
        print_text(&r->delimiter, 1, '\'');
        printf("'");
    } else if (e->source.picker.way == PICK_BLANKS) {
        printf(", fields separated by blanks");
    }
    if (reader->header) {
        printf(", header: ");
        print_text(reader->header, reader->header_size - 1, '\0');
    }
    printf("\n");
}

/* Columns `from` to `to` of the picker: by name and number, number or pointer. */
static void print_picked(const struct picker *p, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        const struct column *c = &p->column[i];

        printf("%s", i > from ? ", " : "");
        if (c->name)
            print_text(c->name, strlen(c->name), '\0');
        if (c->name && c->number)
            printf(" (field %u)", c->number);
        else if (!c->name)
            printf("field %u", c->number);
    }
}

static void print_key_format(const struct explaining *e, uint32_t ngrams)
{
    const struct picker *p = &e->source.picker;

    printf("key: %s", p->keys ? "" : "whole record");
    print_picked(p, 0, p->keys);
    if (ngrams)
        printf(", every %u words in a row", ngrams);
    printf("%s%s%s%s\n", e->asked->key_as ? ", as " : "", e->asked->key_as ? e->asked->key_as : "",
           e->asked->ignore_case ? ", ignoring case" : "",
           e->asked->ignore_space ? ", ignoring white space" : "");
    if (p->important) {
        printf("%s: ", p->measure);
        print_picked(p, p->keys, p->keys + 1);
        printf("\n");
    }
    if (p->times) {
        printf("time: ");
        print_picked(p, p->keys + p->important, p->columns);
        printf(", %s\n",
               e->source.formed ? time_format_words(&e->source.format) : "format not known yet");
    }
}

/* Before the records of an input. */
static void print_head(struct explaining *e, const char *name, uint32_t ngrams)
{
    printf("%s", e->name ? "\n" : "");
    e->name = name;
    print_format(e);
    if (!e->source.refused_header)
        print_key_format(e, ngrams);
}

/* ---- the records ---- */

static void print_time(uint64_t milliseconds)
{
    time_t seconds = (time_t)(milliseconds / 1000);
    struct tm tm;
    char text[40];

    if (milliseconds != NO_TIME && gmtime_r(&seconds, &tm) &&
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm))
        printf(", time %s.%03uZ", text, (unsigned)(milliseconds % 1000));
    else
        printf(", no time (read as of now)");
}

static const char *fate_of_missing(const struct records *r)
{
    return r->missing == MISSING_PASSES ? "passed on without a verdict (--on-missing pass)"
           : records_skip_missing(r)    ? "the record is skipped"
                                        : "the run stops here; --on-missing skip or pass continues";
}

static void print_fault(const struct explaining *e, const struct fault_note *fault)
{
    const char *fate = e->asked->skip ? "the record is skipped"
                                      : "the run stops here; --on-error skip drops the record";

    printf("  %s: ", fault->missing ? "missing" : "malformed");
    print_text(fault->text, strlen(fault->text), '\0');
    printf("\n  %s\n", fault->missing ? fate_of_missing(e->asked) : fate);
}

/* Which earlier record has this key; 0: none. Long keys are not compared. */
static unsigned long long line_of_same(const struct explaining *e, const struct weir_bytes *key)
{
    for (uint32_t i = 0; i < e->records; i++)
        if (e->key_size[i] == key->size && key->size <= sizeof e->key[i] &&
            memcmp(e->key[i], key->data, key->size) == 0)
            return e->line[i];
    return 0;
}

static void explain_record(struct explaining *e, const struct batch *b, uint32_t i)
{
    const struct picker *p = &e->source.picker;
    size_t begin = record_begin(b, i);
    bool bad = b->bads && b->bad[i];
    unsigned long long line = batch_line(b, i), same = bad ? 0 : line_of_same(e, &b->key[i]);

    printf("\nline %llu: ", line);
    print_text(b->data + begin, record_end(b, i) - begin, '\0');
    printf("\n");
    e->line[e->records] = line;
    e->key_size[e->records] = SIZE_MAX;
    if (bad) {
        print_fault(e, &e->faults.note[i]);
        return;
    }
    printf("  key");
    print_key_fields(&b->key[i], p->keys ? p->keys : 1);
    if (p->important)
        printf(", %s %u", p->measure, b->importance[i]);
    if (p->has_ttl)
        printf(", TTL %s", b->event.ttl[i] == WEIR_TTL_LONGEST
                               ? "of the longest"
                               : show_duration((double)b->event.ttl[i] / 1000).text);
    if (p->times)
        print_time(b->event.time[i]);
    if (same)
        printf(" (same key as line %llu)", same);
    printf("\n");
    if (b->key[i].size <= sizeof e->key[0]) {
        memcpy(e->key[e->records], b->key[i].data, b->key[i].size);
        e->key_size[e->records] = b->key[i].size;
    }
}

/* ---- the input ---- */

/* Returns false after a message. */
static bool explain_batches(struct explaining *e, struct batch *b, uint32_t ngrams)
{
    struct source source = source_of_files(&e->source);
    enum read_result result;

    do {
        batch_reset(b);
        result = source.read(source.context, b);
        if (b->input.name && (!e->name || strcmp(e->name, b->input.name) != 0))
            print_head(e, b->input.name, ngrams);
        if (b->n && !e->source.refused_header)
            source.prepare(source.context, b);
        for (uint32_t i = 0; i < b->n && e->records < EXPLAINED; i++, e->records++)
            explain_record(e, b, i);
        if (b->failed)
            return *b->failure ? reject("%s", b->failure) : false;
    } while (result != READ_END && e->records < EXPLAINED && !signals_caught());
    if (e->records == 0) {
        if (!e->name)
            print_head(e, input_name(e->source.reader.name), ngrams);
        printf("\nno records\n");
    }
    return true;
}

/* Read on after every fault; missing fields are reported as if they stopped the run. */
static bool explain_inputs(const struct options *o, const struct records *asked,
                           struct inputs inputs)
{
    static struct explaining e;
    struct records records = *asked;
    struct batch *b = batch_open();
    bool ok = b || reject("out of memory");

    records.skip = true;
    records.missing = MISSING_STOPS;
    e = (struct explaining){.asked = asked};
    ok = ok && (records.plain || files_hold_records(o->command, &inputs)) &&
         source_open(&e.source, &records, inputs, o->command, o->verbosity.quiet);
    if (ok) {
        e.source.quiet = true; /* the time format is printed here */
        e.source.reader.hold = (struct holding){0};
        b->faults = &e.faults;
        ok = explain_batches(&e, b, o->count.ngrams);
    }
    source_close(&e.source);
    batch_close(b);
    return ok;
}

/* The first operand that is an input: some commands have a filter file before it. -1 after a
 * message. */
static int first_input(const struct options *o)
{
    bool has_filter = strcmp(o->command, "ask") == 0 || strcmp(o->command, "add") == 0 ||
                      strcmp(o->command, "forget") == 0 ||
                      (strcmp(o->command, "filter") == 0 && !o->set.keys);

    if (o->ask.which || o->ask.any)
        return o->behind < 0 ? o->operands : o->operands - o->behind;
    if (!has_filter || o->at.url)
        return 0;
    return keyset_file(o) ? 1 : -1;
}

int cmd_explain(struct options *o)
{
    const char *list = o->set.keys ? o->set.keys : o->count.query;
    int from = first_input(o);

    if (from < 0)
        return EXIT_ERROR;
    if (o->measures.synthetic)
        return fail("--explain shows how files are read; leave out --synthetic or --explain");
    if (!signals_watch())
        return EXIT_ERROR;
    if (list) {
        struct records keys = records_of_keys(&o->records);
        const char *path = list;

        if (o->set.keys && !list_of_keys(list, &keys, &path))
            return EXIT_ERROR;
        char *file = (char *)(uintptr_t)path;
        if (!explain_inputs(o, &keys, (struct inputs){&file, 1}))
            return EXIT_ERROR;
        printf("\n");
    }
    return explain_inputs(o, &o->records, options_inputs(o, from)) ? EXIT_FINE : EXIT_ERROR;
}
