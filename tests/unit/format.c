/* format.c - the format of saved filters: golden files, parts and sinks. */
#include "support/golden.h"
#include "support/sealed.h"

#ifdef WEIR_DEBUG
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct blob golden_read(const char *name)
{
    const char *root = getenv("WEIR_SOURCE");
    char path[SPEC];

    snprintf(path, sizeof path, "%s/tests/golden/%s.weir", root ? root : ".", name);
    return blob_read(path);
}

static weir_filter *load(const void *data, size_t size, size_t *used)
{
    struct weir_error error;
    weir_filter *w;

    if (weir_load_buffer(&w, data, size, used, NULL, &error) != WEIR_OK)
        fail_msg("%s", error.text);
    return w;
}

/* ---- golden files ---- */

/* The note is at the end of the file. */
static void ends_in(struct blob file, size_t used, const char *note)
{
    struct weir_part part;

    assert_int_equal(weir_part_read(file.data + used, file.size - used, &part, sizeof part, NULL),
                     WEIR_OK);
    assert_int_equal(part.kind, WEIR_PART_NOTE);
    assert_int_equal(used + part.size, file.size);
    assert_int_equal(part.body_size, strlen(note));
    assert_memory_equal(part.body, note, part.body_size);
}

static void with_every_golden_file(void (*check)(const char *name, struct blob file))
{
    for (size_t i = 0; golden_name(i); i++) {
        struct blob file = golden_read(golden_name(i));

        check(golden_name(i), file);
        blob_free(file);
    }
}

static void tells_the_same(const char *name, struct blob file)
{
    size_t used = 0;
    weir_filter *w = load(file.data, file.size, &used);
    char note[GOLDEN_NOTE];

    golden_note(w, note);
    assert_memory_equal(note, name, strcspn(note, " "));
    ends_in(file, used, note);
    weir_close(w);
}

static void is_saved_the_same(const char *name, struct blob file)
{
    size_t used = 0;
    weir_filter *w = load(file.data, file.size, &used);
    struct blob saved = blob_of(w);

    (void)name;
    assert_int_equal(saved.size, used);
    assert_memory_equal(saved.data, file.data, used);
    blob_free(saved);
    weir_close(w);
}

static void is_made_the_same(const char *name, struct blob file)
{
    weir_filter *w = golden_filter(name);
    struct blob saved = blob_of(w);

    assert_true(saved.size <= file.size);
    assert_memory_equal(saved.data, file.data, saved.size);
    blob_free(saved);
    weir_close(w);
}

TEST(golden_sketches_are_unchanged)
{
    for (size_t i = 0; golden_sketch(i); i++) {
        struct blob file = golden_read(golden_sketch(i)->name);
        weir_sketch *made = golden_counted(golden_sketch(i)), *loaded;
        char note[GOLDEN_NOTE];
        size_t used = 0;

        assert_int_equal(weir_sketch_load_buffer(&loaded, file.data, file.size, &used, NULL, NULL),
                         WEIR_OK);
        golden_sketch_note(loaded, note);
        ends_in(file, used, note);
        struct blob saved = sketch_blob(loaded);
        assert_int_equal(saved.size, used);
        assert_memory_equal(saved.data, file.data, used);
        assert_same_sketch(made, loaded);
        blob_free(saved);
        blob_free(file);
        weir_sketch_close(made);
        weir_sketch_close(loaded);
    }
}

/* The head describes a file, whatever follows. */
static void assert_told(struct blob file, const char *config)
{
    struct weir_part part;

    assert_int_equal(weir_part_head(file.data, file.size, &part, sizeof part, NULL), WEIR_OK);
    assert_int_equal(part.spec_size, strlen(config));
    assert_memory_equal(part.spec, config, part.spec_size);
}

static void filter_is_told(const char *name, struct blob file)
{
    weir_filter *w = load(file.data, file.size, NULL);
    char config[WEIR_SPEC_MAX];

    (void)name;
    weir_config(w, config, sizeof config);
    assert_told(file, config);
    weir_close(w);
}

TEST(a_file_is_described_without_loading_it)
{
    struct blob note = {NULL, 0};

    with_every_golden_file(filter_is_told);
    for (size_t i = 0; golden_sketch(i); i++) {
        struct blob file = golden_read(golden_sketch(i)->name);
        char config[WEIR_SPEC_MAX];
        weir_sketch *s;

        assert_int_equal(weir_sketch_load_buffer(&s, file.data, file.size, NULL, NULL, NULL),
                         WEIR_OK);
        weir_sketch_config(s, config, sizeof config);
        assert_told(file, config);
        weir_sketch_close(s);
        blob_free(file);
    }
    assert_int_equal(weir_part_write(WEIR_PART_NOTE, "hello", 5, blob_sink, &note, NULL), WEIR_OK);
    assert_told(note, "");
    blob_free(note);
}

TEST(golden_files_are_unchanged)
{
    with_every_golden_file(tells_the_same);
}

TEST(golden_files_are_saved_byte_for_byte)
{
    with_every_golden_file(is_saved_the_same);
}

TEST(golden_files_equal_filters_of_their_streams)
{
    with_every_golden_file(is_made_the_same);
}

/* The first bytes of a file, written by hand from docs/format.md. */
TEST(the_head_is_as_documented)
{
    struct blob b = golden_read("bloom");
    static const char config[] = "bloom memory=200 k=4 hash=xxh3 seed=2012";
    uint8_t head[64 + 40 + 16 + 8] = "WEIR\3\0\1";
    const uint8_t *cells = b.data + sizeof head, *sums = cells + 256;

    bits_store64(head + 8, sizeof head + 256 + 64); /* the whole part */
    bits_store32(head + 16, sizeof head);
    bits_store32(head + 20, 40);  /* bytes of the spec */
    bits_store64(head + 24, 256); /* of cells: 200 in lines of 64 */
    bits_store32(head + 36, 1);   /* shard 0 of 1 */
    bits_store32(head + 56, 2);   /* words: */
    memcpy(head + 64, config, 40);
    bits_store64(head + 104, 300); /* observed */
    bits_store64(head + 112, bits_load64(b.data + 112));
    bits_store64(head + 48, XXH3_64bits(head, sizeof head));
    assert_memory_equal(b.data, head, sizeof head);
    assert_int_equal(bits_load64(sums), XXH3_64bits_withSeed(cells, 256, 0));
    assert_memory_equal(sums + 64, "WEIR\3\0\2\0", 8);
    blob_free(b);
}

/* ---- buffers and sinks ---- */

TEST(a_buffer_that_is_too_small_is_not_written)
{
    weir_filter *w = open_filter("bloom memory=64 seed=1");
    uint8_t buffer[512];
    size_t size = weir_saved_size(w);

    memset(buffer, 0xee, sizeof buffer);
    assert_int_equal(weir_save_buffer(w, buffer, size - 1, NULL), 0);
    assert_int_equal(weir_save_buffer(w, NULL, 0, NULL), 0);
    assert_int_equal(buffer[0], 0xee);
    assert_int_equal(weir_save_buffer(w, buffer, sizeof buffer, NULL), size);
    assert_int_equal(buffer[size], 0xee);
    weir_close(w);
}

/* Accepts this many writes, then fails; no write may follow. */
struct failing_sink {
    struct blob taken;
    size_t left;
    bool refused, called_again;
};

static bool take_some(void *context, const void *data, size_t size)
{
    struct failing_sink *sink = context;

    sink->called_again |= sink->refused;
    sink->refused = sink->left == 0;
    if (sink->refused)
        return false;
    sink->left--;
    return blob_sink(&sink->taken, data, size);
}

static void assert_sink_fails_well(const weir_filter *w, struct blob whole)
{
    for (size_t n = 0;; n++) {
        struct failing_sink sink = {{NULL, 0}, n, false, false};
        enum weir_status status = weir_save_stream(w, take_some, &sink, NULL);

        assert_int_equal(status, sink.refused ? WEIR_WRITE_FAILED : WEIR_OK);
        assert_false(sink.called_again);
        if (sink.taken.size)
            assert_memory_equal(sink.taken.data, whole.data, sink.taken.size);
        assert_true((sink.taken.size == whole.size) == !sink.refused);
        blob_free(sink.taken);
        if (!sink.refused)
            return;
        assert_true(n < 100000);
    }
}

TEST(a_failing_sink_stops_the_writing)
{
    for (size_t i = 0; weir_algorithm_at(WEIR_KIND_FILTER, i); i++) {
        weir_filter *w = golden_filter(weir_algorithm_at(WEIR_KIND_FILTER, i)->name);
        struct blob whole = blob_of(w);

        assert_sink_fails_well(w, whole);
        blob_free(whole);
        weir_close(w);
    }
}

TEST(a_refused_note_has_an_error)
{
    for (size_t n = 0; n < 4; n++) {
        struct failing_sink sink = {{NULL, 0}, n, false, false};

        assert_int_equal(weir_part_write(WEIR_PART_NOTE, "abc", 3, take_some, &sink, NULL),
                         WEIR_WRITE_FAILED);
        assert_false(sink.called_again);
        blob_free(sink.taken);
    }
}

/* ---- notes on keys ---- */

/* The note in a file that contains it and a filter. */
static void assert_described(const char *note, const char *keys)
{
    weir_filter *w = golden_filter("bloom");
    struct blob file = {NULL, 0};
    char text[WEIR_KEY_DESCRIPTION_MAX], few[4];

    assert_int_equal(weir_part_write(WEIR_PART_NOTE, note, strlen(note), blob_sink, &file, NULL),
                     WEIR_OK);
    assert_int_equal(weir_save_stream(w, blob_sink, &file, NULL), WEIR_OK);
    assert_int_equal(weir_saved_key_description(file.data, file.size, text, sizeof text),
                     strlen(keys));
    assert_string_equal(text, keys);
    weir_saved_key_description(file.data, file.size, few, sizeof few);
    assert_int_equal(strlen(few), strlen(keys) < 3 ? strlen(keys) : 3);
    assert_int_equal(weir_saved_key_description(file.data, file.size, NULL, 0), strlen(keys));
    ((char *)file.data)[70] ^= 1; /* a damaged note describes nothing */
    assert_int_equal(weir_saved_key_description(file.data, file.size, text, sizeof text), 0);
    assert_int_equal(weir_saved_key_description(file.data, 10, text, sizeof text), 0);
    blob_free(file);
    weir_close(w);
}

TEST(a_file_describes_how_its_keys_were_made)
{
    char text[WEIR_KEY_DESCRIPTION_MAX] = "x", longest[WEIR_KEY_DESCRIPTION_MAX + 200],
         *keys = longest + strlen(WEIR_KEYS_NOTE);

    assert_described(WEIR_KEYS_NOTE "2 fields --ignore-case", "2 fields --ignore-case");
    assert_described("weir state 1\nrecords=lines\nkeys=--keep-cr\ninput=a\nkeys=b", "--keep-cr");
    assert_described("weir state 1\nkeys=\nkeys=x", "");
    assert_described("another program\nkeys=x", "");
    assert_described(WEIR_KEYS_NOTE "a\x1b[2J\xff", "a?[2J?");
    memset(longest, 'k', sizeof longest);
    memcpy(longest, WEIR_KEYS_NOTE, strlen(WEIR_KEYS_NOTE));
    longest[sizeof longest - 1] = '\0';
    char *expected = strndup(keys, WEIR_KEY_DESCRIPTION_MAX - 1);
    assert_described(longest, expected);
    free(expected);
    assert_int_equal(weir_saved_key_description("", 0, text, sizeof text), 0);
    assert_string_equal(text, "");
}

/* ---- parts ---- */

TEST(parts_can_follow_each_other)
{
    weir_filter *a = golden_filter("bloom"), *b = golden_filter("apbf");
    struct blob file = {NULL, 0};
    struct weir_part part;
    size_t at = 0, used;

    assert_int_equal(weir_save_stream(a, blob_sink, &file, NULL), WEIR_OK);
    assert_int_equal(weir_part_write(WEIR_PART_NOTE, "hello", 5, blob_sink, &file, NULL), WEIR_OK);
    assert_int_equal(weir_part_write(77, "", 0, blob_sink, &file, NULL),
                     WEIR_OK); /* of a later version */
    assert_int_equal(weir_save_stream(b, blob_sink, &file, NULL), WEIR_OK);
    weir_filter *first = load(file.data, file.size, &used);
    assert_same_state(a, first);
    at += used;
    assert_int_equal(weir_part_read(file.data + at, file.size - at, &part, sizeof part, NULL),
                     WEIR_OK);
    assert_int_equal(part.kind, WEIR_PART_NOTE);
    assert_int_equal(part.body_size, 5);
    assert_memory_equal(part.body, "hello", 5);
    at += part.size;
    assert_int_equal(weir_part_read(file.data + at, file.size - at, &part, sizeof part, NULL),
                     WEIR_OK);
    assert_int_equal(part.kind, 77);
    assert_int_equal(part.body_size, 0);
    at += part.size;
    weir_filter *second = load(file.data + at, file.size - at, &used);
    assert_same_state(b, second);
    assert_int_equal(at + used, file.size);
    weir_close(a);
    weir_close(b);
    weir_close(first);
    weir_close(second);
    blob_free(file);
}

/* ---- shards ---- */

static struct blob three_shards(uint32_t first, uint32_t second, uint32_t third)
{
    const uint32_t order[] = {first, second, third};
    weir_filter *w = golden_filter("bloom");
    struct blob file = {NULL, 0};

    for (size_t i = 0; i < 3; i++) {
        weir_observe(w, numbered(w, i));
        assert_int_equal(weir_save_shard(w, order[i], 3, blob_sink, &file, NULL), WEIR_OK);
    }
    weir_close(w);
    return file;
}

static void assert_shards_refused(struct blob file, uint32_t most, const char *expected)
{
    struct weir_error error = {0};
    size_t used = 4711;
    uint32_t n = 4711;
    weir_filter *w[3];

    assert_int_equal(weir_load_shards(w, most, &n, file.data, file.size, &used, NULL, &error),
                     WEIR_BAD_DATA);
    assert_int_equal(n, 0);
    assert_int_equal(used, 4711);
    assert_string_equal(error.text, expected);
}

TEST(shards_are_loaded_together)
{
    struct blob file = three_shards(0, 1, 2);
    size_t used = 0;
    weir_filter *w[3];
    uint32_t n;

    assert_int_equal(weir_part_write(WEIR_PART_NOTE, "abc", 3, blob_sink, &file, NULL), WEIR_OK);
    assert_int_equal(weir_load_shards(w, 3, &n, file.data, file.size, &used, NULL, NULL), WEIR_OK);
    assert_int_equal(n, 3);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(weir_stats_of(w[i]).observed, 301 + i);
        weir_close(w[i]);
    }
    ends_in(file, used, "abc");
    blob_free(file);
}

TEST(an_impossible_shard_is_not_written)
{
    weir_filter *w = golden_filter("bloom");
    struct blob b = {NULL, 0};
    struct weir_error error;

    assert_int_equal(weir_save_shard(w, 3, 3, blob_sink, &b, &error), WEIR_UNSUPPORTED);
    assert_string_equal(
        error.text, "invalid shard number; of n shards, at most 65536, the numbers are 0 to n - 1");
    assert_int_equal(weir_save_shard(w, 0, 0, blob_sink, &b, NULL), WEIR_UNSUPPORTED);
    assert_int_equal(weir_save_shard(w, 0, WEIR_SHARDS_MAX + 1, blob_sink, &b, NULL),
                     WEIR_UNSUPPORTED);
    assert_int_equal(b.size, 0);
    weir_close(w);
}

TEST(a_whole_filter_is_its_only_shard)
{
    weir_filter *w = golden_filter("bloom"), *all[1];
    struct blob b = blob_of(w);
    size_t used = 0;
    uint32_t n;

    assert_int_equal(weir_load_shards(all, 1, &n, b.data, b.size, &used, NULL, NULL), WEIR_OK);
    assert_int_equal(n, 1);
    assert_int_equal(used, b.size);
    assert_same_state(w, all[0]);
    weir_close(w);
    weir_close(all[0]);
    blob_free(b);
}

TEST(a_single_or_misplaced_shard_is_refused)
{
    static const char order[] = "the filter's shards are incomplete or out of order";
    struct blob file = three_shards(0, 1, 2), wrong = three_shards(0, 2, 1);
    struct blob two = {file.data, file.size / 3 * 2},
                late = {file.data + file.size / 3, file.size / 3};
    weir_filter *other = open_filter("bloom memory=200 k=4 seed=1");
    struct blob mixed = {NULL, 0};

    assert_not_loaded(file, "this is shard 1 of 3; load all of them with weir_load_shards() or "
                            "weir_shared_load_file()");
    assert_shards_refused(two, 3, order);
    assert_shards_refused(late, 3, order);
    assert_shards_refused(wrong, 3, order);
    assert_shards_refused(file, 2, "the filter has more shards than the caller allows");
    blob_sink(&mixed, file.data, file.size / 3);
    assert_int_equal(weir_save_shard(other, 1, 3, blob_sink, &mixed, NULL), WEIR_OK);
    assert_shards_refused(mixed, 3, "the filter's shards have different configurations");
    weir_close(other);
    blob_free(mixed);
    blob_free(file);
    blob_free(wrong);
}

/* ---- blocks and sources ---- */

/* Cells of several MiB with a shorter last block: a changed bit in each block is detected. */
TEST(every_block_has_its_checksum)
{
    weir_filter *w = open_filter("bloom memory=3407872 k=4 seed=1"); /* 3.25 MiB */
    struct blob b = blob_of(w);
    struct part_head h = head_of_blob(b);
    uint8_t *cells = b.data + part_head_size(&h);

    for (uint64_t at = 77; at < h.cells; at += PART_BLOCK) {
        cells[at] ^= 16;
        assert_not_loaded(b, "the data is damaged: its checksum does not match");
        assert_int_equal(weir_verify(b.data, b.size, NULL), WEIR_BAD_DATA);
        cells[at] ^= 16;
    }
    memcpy(cells + PART_BLOCK, "moved", 5); /* exchanged blocks are detected */
    seal(b, &h);
    uint8_t *sums = cells + part_lines(h.cells), first[8];
    uint8_t *block = malloc(PART_BLOCK);
    memcpy(block, cells, PART_BLOCK);
    memcpy(cells, cells + PART_BLOCK, PART_BLOCK);
    memcpy(cells + PART_BLOCK, block, PART_BLOCK);
    memcpy(first, sums, 8);
    memcpy(sums, sums + 8, 8);
    memcpy(sums + 8, first, 8);
    assert_int_equal(weir_verify(b.data, b.size, NULL), WEIR_BAD_DATA);
    free(block);
    blob_free(b);
    weir_close(w);
}

struct giving {
    struct blob from;
    size_t at, most; /* bytes in total, and per call */
};

static bool give(void *context, void *data, size_t size)
{
    struct giving *g = context;

    if (size > g->from.size - g->at)
        return false;
    memcpy(data, g->from.data + g->at, size);
    g->at += size;
    g->most = size > g->most ? size : g->most;
    return true;
}

TEST(a_source_gives_the_same_as_memory)
{
    weir_filter *w = open_filter("bloom memory=3407872 k=4 seed=1"), *again;
    struct giving g = {.from = blob_of(w)};
    size_t whole = g.from.size;

    blob_sink(&g.from, "any bytes", 9);
    assert_int_equal(weir_load_stream(&again, give, &g, NULL, NULL), WEIR_OK);
    assert_int_equal(g.at, whole);
    assert_true(g.most <= PART_BLOCK);
    assert_same_state(w, again);
    weir_close(again);
    weir_close(w);
    blob_free(g.from);
}

TEST(a_source_that_ends_early_or_is_too_large_is_refused)
{
    weir_filter *w = golden_filter("sbf"), *again;
    struct blob b = blob_of(w);
    struct weir_error error;
    uint64_t bytes = weir_stats_of(w).bytes;

    for (size_t n = 0; n < b.size; n++) {
        struct giving g = {.from = {b.data, n}};

        assert_int_equal(weir_load_stream(&again, give, &g, NULL, &error), WEIR_BAD_DATA);
        assert_null(again);
        assert_string_equal(error.text, "the data is truncated: the source ended early");
    }
    struct giving g = {.from = b};
    struct weir_options options = {.size = sizeof options, .max_bytes = bytes - 1};
    assert_int_equal(weir_load_stream(&again, give, &g, &options, &error), WEIR_NO_MEMORY);
    assert_null(again);
    assert_true(g.at < b.size / 2); /* only the head */
    g.at = 0;
    options.max_bytes = bytes;
    assert_int_equal(weir_load_stream(&again, give, &g, &options, &error), WEIR_OK);
    weir_close(again);
    weir_close(w);
    blob_free(b);
}

/* ---- views ---- */

static void assert_tells_the_same(const weir_filter *a, const weir_filter *b)
{
    for (uint64_t i = 0; i < 1000; i++) {
        struct weir_key key = numbered(a, UINT64_C(3) << 32 | i);

        assert_int_equal(weir_ask(a, key), weir_ask(b, key));
    }
}

/* Builds with WEIR_DEBUG stop here; others answer as weir_ask() does. */
static void assert_observing_is_a_bug(weir_filter *v)
{
#ifdef WEIR_DEBUG
    pid_t child = fork();
    int status;

    if (child == 0) {
        close(STDERR_FILENO);
        weir_observe(v, numbered(v, 999999));
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
#else
    assert_int_equal(weir_observe(v, numbered(v, 999999)), weir_ask(v, numbered(v, 999999)));
#endif
}

TEST(a_view_answers_as_the_filter_does)
{
    for (size_t i = 0; weir_algorithm_at(WEIR_KIND_FILTER, i); i++) {
        weir_filter *w = golden_filter(weir_algorithm_at(WEIR_KIND_FILTER, i)->name), *v;
        struct blob b = blob_of(w), before = blob_of(w);
        size_t used = 0;

        assert_int_equal(weir_view_buffer(&v, b.data, b.size, &used, NULL, NULL), WEIR_OK);
        assert_int_equal(used, b.size);
        assert_tells_the_same(w, v);
        assert_observing_is_a_bug(v);
        weir_clear(v);
        weir_advance(v, 12345);
        assert_int_equal(weir_forget(v, numbered(v, 1), NULL, NULL), WEIR_UNSUPPORTED);
        assert_int_equal(weir_merge(v, w, NULL), WEIR_UNSUPPORTED);
        assert_int_equal(weir_merge(w, v, NULL), WEIR_UNSUPPORTED);
        assert_null(weir_clone(v, NULL));
        assert_same_blob(b, before);
        assert_same_state(v, w);
        weir_close(v);
        weir_close(w);
        blob_free(b);
        blob_free(before);
    }
}

/* With arbitrary cells it answers, and reads nothing else. */
TEST(verify_detects_damaged_cells_in_a_view)
{
    for (size_t i = 0; weir_algorithm_at(WEIR_KIND_FILTER, i); i++) {
        weir_filter *w = golden_filter(weir_algorithm_at(WEIR_KIND_FILTER, i)->name), *v;
        struct blob b = blob_of(w);
        struct part_head h = head_of_blob(b);

        for (uint64_t at = 0; at < h.cells; at++)
            b.data[part_head_size(&h) + at] = (uint8_t)(at * 89 + i);
        assert_int_equal(weir_view_buffer(&v, b.data, b.size, NULL, NULL, NULL), WEIR_OK);
        for (uint64_t j = 0; j < 500; j++)
            weir_ask(v, numbered(v, j));
        assert_int_equal(weir_verify(b.data, b.size, NULL), WEIR_BAD_DATA);
        struct blob copied = blob_of(v); /* which does not repair it */
        assert_same_blob(b, copied);
        blob_free(copied);
        b.data[100] ^= 1; /* but not of a damaged head */
        weir_close(v);
        assert_int_equal(weir_view_buffer(&v, b.data, b.size, NULL, NULL, NULL), WEIR_BAD_DATA);
        assert_null(v);
        weir_close(w);
        blob_free(b);
    }
}

RUN_TESTS("format")
