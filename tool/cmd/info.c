/* info.c - weir info: describe a filter, sketch or state file. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weir/hash.h>

#include "cmd/at.h"
#include "cmd/commands.h"
#include "index/index.h"
#include "cli/messages.h"
#include "cli/print.h"
#include "pick/network.h"
#include "state/files.h"
#include "cli/units.h"

/* Wrapped only on terminals. */
static void print_spec(const char *label, const char *spec)
{
    printf("%-12s", label);
    if (isatty(1))
        print_wrapped(spec, 12);
    else
        printf("%s\n", spec);
}

static void print_state(const struct state *s)
{
    printf("records     %s\n", s->records);
    if (s->position.known)
        printf("input       %s, next record at byte %llu, line %llu\n", s->input,
               (unsigned long long)s->position.offset, (unsigned long long)s->position.line);
}

static void print_text(const struct stored *s, const struct weir_stats *f)
{
    char lengths[PREFIXES_TEXT];
    struct prefix_lengths prefixes;

    print_spec("filter", s->shards.config);
    printf("shards      %u\n", s->shards.count);
    printf("memory      %s\n", show_bytes((double)f->memory).text);
    printf("observed    %llu keys: %llu new, %llu seen\n", (unsigned long long)f->observed,
           (unsigned long long)f->new_keys, (unsigned long long)f->seen);
    printf("fill        %.2f %%\n", f->fill * 100);
    printf("error       %s (false-positive rate)\n", show_chance(f->error).text);
    if (f->overflow)
        printf("overflow    %llu keys were not added because the filter was full\n",
               (unsigned long long)f->overflow);
    if (s->has_state)
        print_state(&s->state);
    else if (*s->keys)
        printf("keys        %s\n", s->keys);
    if (prefixes_read(&prefixes, s->note)) {
        prefixes_print(&prefixes, lengths);
        printf("prefixes    %s; up to %u lookups per address, false-positive rate %s\n",
               *lengths ? lengths : "none", prefixes_count(&prefixes),
               show_chance(prefixes_error(&prefixes, f->error)).text);
    }
}

static int print_data(const struct options *o, json_t *all)
{
    bool printed = o->format == PRINT_TSV ? json_print_tsv(all) : json_print(all, 0);

    return printed ? EXIT_FINE : EXIT_ERROR;
}

static json_t *describe(const struct stored *s, const struct weir_stats *f)
{
    char lengths[PREFIXES_TEXT];
    struct prefix_lengths prefixes;
    json_t *all = json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:f,s:f,s:I}", "config", s->shards.config,
                            "shards", (json_int_t)s->shards.count, "memory", (json_int_t)f->memory,
                            "observed", (json_int_t)f->observed, "new", (json_int_t)f->new_keys,
                            "seen", (json_int_t)f->seen, "fill", f->fill, "error", f->error,
                            "overflow", (json_int_t)f->overflow);

    if (s->has_state)
        all = json_with(all, "records", utf8_string(s->state.records));
    if (*s->keys)
        all = json_with(all, "keys", json_string(s->keys));
    if (prefixes_read(&prefixes, s->note)) {
        prefixes_print(&prefixes, lengths);
        all = json_with(all, "prefixes", json_string(lengths));
    }
    if (s->has_state && s->state.position.known) {
        all = json_with(all, "input", utf8_string(s->state.input));
        all = json_with(all, "offset", json_integer((json_int_t)s->state.position.offset));
        all = json_with(all, "line", json_integer((json_int_t)s->state.position.line));
    }
    return all;
}

static int print_sketch(const struct options *o)
{
    weir_sketch *s = file_load_sketch(o->operand[0]);
    struct weir_sketch_stats stats;
    char config[WEIR_SPEC_MAX];

    if (!s)
        return EXIT_ERROR;
    stats = weir_sketch_stats_of(s);
    weir_sketch_config(s, config, sizeof config);
    weir_sketch_close(s);
    if (!print_is_text(o->format))
        return print_data(
            o, json_pack("{s:s,s:I,s:I,s:I,s:o,s:f,s:I}", "config", config, "memory",
                         (json_int_t)stats.memory, "total", (json_int_t)stats.total, "keys",
                         (json_int_t)stats.keys, "error",
                         stats.error == WEIR_NO_BOUND ? json_null()
                                                      : json_integer((json_int_t)stats.error),
                         "confidence", stats.confidence, "too_long", (json_int_t)stats.too_long));
    print_spec("sketch", config);
    printf("memory      %s\n", show_bytes((double)stats.memory).text);
    printf("counted     %llu\n", (unsigned long long)stats.total);
    if (stats.keys)
        printf("keys        %llu stored\n", (unsigned long long)stats.keys);
    if (stats.error == WEIR_NO_BOUND)
        printf("error       unbounded\n");
    else
        printf("error       at most %llu, with probability %.4g %%\n",
               (unsigned long long)stats.error, stats.confidence * 100);
    return EXIT_FINE;
}

static int print_screen(const struct options *o)
{
    static struct stored_screen stored;
    struct weir_screen_stats f;
    char config[WEIR_SPEC_MAX];

    if (!file_load_screen(&stored, o->operand[0]))
        return EXIT_ERROR;
    f = weir_screen_stats_of(stored.screen);
    weir_screen_config(stored.screen, config, sizeof config);
    weir_screen_close(stored.screen);
    if (!print_is_text(o->format))
        return print_data(o,
                          json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:f,s:f,s:s}", "config", config,
                                    "memory", (json_int_t)f.memory, "checked",
                                    (json_int_t)f.checked, "asked", (json_int_t)f.asked, "saved",
                                    (json_int_t)f.saved, "members", (json_int_t)f.members, "fill",
                                    f.fill, "error", f.error, "records", stored.state.records));
    print_spec("screen", config);
    printf("memory      %s\n", show_bytes((double)f.memory).text);
    printf("checked     %llu keys: %llu by the store, %llu saved; %llu members\n",
           (unsigned long long)f.checked, (unsigned long long)f.asked, (unsigned long long)f.saved,
           (unsigned long long)f.members);
    printf("fill        %.2f %%\n", f.fill * 100);
    printf("error       %s (false-positive rate)\n", show_chance(f.error).text);
    if (stored.has_state)
        print_state(&stored.state);
    return EXIT_FINE;
}

/* The directory of weir dedup --exact, as of its last commit. */
static int print_index(const struct options *o)
{
    static struct state state;
    char why[INDEX_MESSAGE];
    size_t size = 0;
    struct index *x = exact_open(
        o->operand[0], &(struct index_options){.memory = INDEX_MEMORY_MIN, .read_only = true}, why);

    if (!x)
        return fail("%s", why);
    struct index_figures f = exact_figures(x);
    const char *note = exact_note(x, &size), *hash = f.hash == WEIR_HASH_SIP ? "sip" : "xxh3";
    bool known = size > 0 && note[size - 1] == '\0' && state_read(note, &state);

    if (!known)
        fail("%s: not an index of weir dedup", o->operand[0]);
    else if (!print_is_text(o->format))
        known = print_data(o, json_pack("{s:s,s:I,s:I,s:I,s:f,s:s}", "hash", hash, "keys",
                                        (json_int_t)f.keys, "bytes", (json_int_t)f.bytes, "runs",
                                        (json_int_t)f.runs, "keep", (double)f.keep / 1000,
                                        "records", state.records)) == EXIT_FINE;
    else {
        printf("index       exact hash=%s\n", hash);
        printf("keys        %llu in %s on disk, %u runs\n", (unsigned long long)f.keys,
               show_bytes((double)f.bytes).text, f.runs);
        printf("keep        %s\n", f.keep ? show_duration((double)f.keep / 1000).text : "forever");
        print_state(&state);
    }
    exact_close(x);
    return known ? EXIT_FINE : EXIT_ERROR;
}

static bool is_directory(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int cmd_info(struct options *o)
{
    static struct stored stored;
    struct weir_stats stats;
    int status = EXIT_FINE;

    if (o->at.url && (o->operands > 0 || o->verify))
        return fail("--at: the filter is in servers; remove the file and --verify");
    if (o->at.url)
        return at_info(o);
    if (o->operands != 1)
        return fail("weir info: expected one filter, sketch or state file");
    if (is_directory(o->operand[0]))
        return print_index(o);
    if (o->verify && !file_verify(o->operand[0]))
        return EXIT_ERROR;
    if (file_has_sketch(o->operand[0]))
        return print_sketch(o);
    if (file_has_screen(o->operand[0]))
        return print_screen(o);
    if (!file_load(&stored, o->operand[0]))
        return EXIT_ERROR;
    stats = shards_stats(&stored.shards);
    if (!print_is_text(o->format))
        status = print_data(o, describe(&stored, &stats));
    else
        print_text(&stored, &stats);
    shards_close(&stored.shards);
    return status;
}
