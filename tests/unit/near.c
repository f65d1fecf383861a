/* near.c - near-duplicates compared with exact Jaccard similarities of shingles of word numbers,
 * which are computed here from the edits and not from the text. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/near.h>

#define WORDS_MAX 1500
#define SHINGLE 5
#define BANDS 12
#define ROWS 7 /* of the threshold 0.8 */

static uint64_t random_state;

static uint32_t below(uint32_t n)
{
    random_state += 0x9e3779b97f4a7c15ull;
    uint64_t x = (random_state ^ random_state >> 30) * 0xbf58476d1ce4e5b9ull;

    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return (uint32_t)(((x ^ x >> 31) >> 32) * n >> 32);
}

struct document {
    uint32_t word[WORDS_MAX];
    uint32_t n;
};

static void make_document(struct document *d, uint32_t n)
{
    d->n = n;
    for (uint32_t i = 0; i < n; i++)
        d->word[i] = below(50000);
}

static void replace_words(struct document *d, uint32_t edits)
{
    for (uint32_t i = 0; i < edits; i++)
        d->word[below(d->n)] = 50000 + below(50000);
}

static void sketch_document(const weir_near *n, const struct document *d,
                            struct weir_near_sketch *s)
{
    static char text[WORDS_MAX * 8];
    size_t size = 0;

    for (uint32_t i = 0; i < d->n; i++)
        size += (size_t)sprintf(text + size, "w%u%s", d->word[i], i % 7 ? " " : ",\n");
    weir_near_sketch_text(n, text, size, s);
}

static int compare_shingles(const void *a, const void *b)
{
    return memcmp(a, b, SHINGLE * sizeof(uint32_t));
}

static uint32_t shingle_set(const struct document *d, uint32_t set[][SHINGLE])
{
    uint32_t n = d->n - SHINGLE + 1, left = 0;

    for (uint32_t i = 0; i < n; i++)
        memcpy(set[i], d->word + i, sizeof set[i]);
    qsort(set, n, sizeof *set, compare_shingles);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || compare_shingles(set[i], set[left - 1]) != 0)
            memmove(set[left++], set[i], sizeof set[i]);
    return left;
}

static double exact_jaccard(const struct document *a, const struct document *b)
{
    static uint32_t x[WORDS_MAX][SHINGLE], y[WORDS_MAX][SHINGLE];
    uint32_t m = shingle_set(a, x), n = shingle_set(b, y), common = 0;

    for (uint32_t i = 0, j = 0; i < m && j < n;) {
        int order = compare_shingles(x[i], y[j]);

        common += order == 0;
        i += order <= 0;
        j += order >= 0;
    }
    return (double)common / (m + n - common);
}

static weir_near *open_near(size_t memory, uint64_t seed)
{
    struct weir_near_options o = {.size = sizeof o, .memory = memory, .seed = seed};
    weir_near *n;

    assert_int_equal(weir_near_open(&n, &o, NULL), WEIR_OK);
    return n;
}

static struct weir_near_stats stats_of(const weir_near *n)
{
    struct weir_near_stats stats;

    weir_near_measure(n, &stats, sizeof stats);
    return stats;
}

/* ---- sketches ---- */

static void estimates_have_the_stated_error(void **state)
{
    static const uint32_t sizes[] = {30, 120, WORDS_MAX};
    static struct document a, b;
    weir_near *n = open_near(1 << 20, 7);

    random_state = 1;
    for (int k = 0; k < 3; k++) {
        double bias = 0, squares = 0, stated = 0;
        int pairs = 600;

        for (int i = 0; i < pairs; i++) {
            struct weir_near_sketch s, t;

            make_document(&a, sizes[k]);
            b = a;
            replace_words(&b, below(sizes[k] / 8) + 1);
            sketch_document(n, &a, &s);
            sketch_document(n, &b, &t);
            double j = exact_jaccard(&a, &b), error = weir_near_similarity(&s, &t) - j;
            bias += error / pairs;
            squares += error * error / pairs;
            stated += weir_near_error(j) * weir_near_error(j) / pairs;
        }
        if (fabs(bias) > 0.006 || sqrt(squares / stated) > 1.1 || sqrt(squares / stated) < 0.5)
            fail_msg("%u words: bias %.4f, error %.4f, stated %.4f", sizes[k], bias, sqrt(squares),
                     sqrt(stated));
    }
    weir_near_close(n);
}

static bool same_sketch(const weir_near *n, const char *a, size_t a_size, const char *b,
                        size_t b_size)
{
    struct weir_near_sketch s, t;

    weir_near_sketch_text(n, a, a_size, &s);
    weir_near_sketch_text(n, b, b_size, &t);
    return memcmp(&s, &t, sizeof s) == 0;
}

static void words_are_compared_without_case_form_and_punctuation(void **state)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"The quick brown fox", "the  QUICK\tbrown... (fox)", true},
        {"don\xe2\x80\x99t stop \xe2\x80\x9cnow\xe2\x80\x9d", "don't stop \"now\"", true},
        {"caf\xc3\xa9 cr\xc3\xa8me br\xc3\xbbl\xc3\xa9"
         "e",
         "cafe\xcc\x81 cre\xcc\x80me bru\xcc\x82le\xcc\x81"
         "e",
         true},
        {"a\xcc\xa3\xcc\x87", "a\xcc\x87\xcc\xa3", true},               /* order of marks */
        {"\xd0\x9c\xd0\x98\xd0\xa0", "\xd0\xbc\xd0\xb8\xd1\x80", true}, /* Cyrillic */
        {"STRASSE",
         "stra\xc3\x9f"
         "e",
         true},
        {"Ayr\xc4\xb1nt\xc4\xb1", "AYRINTI", true},                     /* Turkish */
        {"\xed\x95\x9c", "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab", true}, /* Hangul */
        {"\xe3\x81\x8c", "\xe3\x81\x8b\xe3\x82\x99", true},             /* kana with a mark */
        {"co\xc2\xadop", "coop", true},                                 /* soft hyphen */
        {"a\xe2\x80\x94"
         "b",
         "a b", true}, /* dash */
        {"caf\xc3\xa9", "cafe", false},
        {"a b", "ab", false},
        {"a b", "b a", false},
        {"", "!", false}, /* without words: bytes */
        {"!!", "!?", false},
        {"\xff", "\xfe", false}, /* not UTF-8 */
        {"x\xe4", "x\xf6", false},
    };
    weir_near *n = open_near(1 << 20, 7);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (same_sketch(n, cases[i].a, strlen(cases[i].a), cases[i].b, strlen(cases[i].b)) !=
            cases[i].same)
            fail_msg("case %zu", i);
    /* One word per character: the same 8 shingles, spaced or not. */
    static const char han
        [] = "\xe4\xb8\x80\xe4\xba\x8c\xe4\xb8\x89\xe5\x9b\x9b\xe4\xba\x94\xe5\x85\xad",
     spaced[] =
         "\xe4\xb8\x80 \xe4\xba\x8c\xe4\xb8\x89 \xe5\x9b\x9b\xe4\xba\x94\xe3\x80\x82\xe5\x85\xad";
    assert_true(same_sketch(n, han, sizeof han - 1, spaced, sizeof spaced - 1));
    weir_near_close(n);
}

/* Letters of 1, 2 and 3 bytes, small and composed, then capital and decomposed. */
static const struct {
    const char *composed, *decomposed;
} letters[] = {{"a", "A"},
               {"7", "7"},
               {"\xc3\xa9", "E\xcc\x81"},
               {"\xd0\xb6", "\xd0\x96"},
               {"\xe1\xbb\x87", "E\xcc\xa3\xcc\x82"}};

/* Words of up to 30 letters cross the blocks of 8 bytes that are hashed together. */
static void words_of_any_length_are_compared_by_letters(void **state)
{
    weir_near *n = open_near(1 << 20, 7);

    random_state = 11;
    for (int i = 0; i < 3000; i++) {
        char text[3][1000] = {"", "", ""};
        uint32_t size = 1 + below(30), other = below(size);

        for (uint32_t j = 0; j < size; j++) {
            uint32_t letter = below(5);

            strcat(text[0], letters[letter].composed);
            strcat(text[1], letters[letter].decomposed);
            strcat(text[2], letters[(letter + (j == other)) % 5].composed);
        }
        for (int j = 0; j < 3; j++)
            strcat(text[j], below(2) ? "" : ", ");
        if (!same_sketch(n, text[0], strlen(text[0]), text[1], strlen(text[1])) ||
            same_sketch(n, text[0], strlen(text[0]), text[2], strlen(text[2])))
            fail_msg("%s, %s and %s", text[0], text[1], text[2]);
    }
    weir_near_close(n);
}

/* Saved detectors depend on it. */
static void sketches_are_the_same_in_all_versions(void **state)
{
    static const char text[] = "Les crêpes de Zoë -- 1,000 THINGS; уникальность 日本語 \xff!";
    static const uint64_t bits[] = {0xb043b124ceb8735d, 0x9655da3845b475df},
                          band[] = {0x9da6ffdca41aae47, 0x9ef15e9691cc84b9};
    weir_near *n = open_near(1 << 20, 7);
    struct weir_near_sketch s;

    weir_near_sketch_text(n, text, sizeof text - 1, &s);
    if (s.bits[0] != bits[0] || s.bits[7] != bits[1] || s.band[0] != band[0] ||
        s.band[11] != band[1])
        fail_msg("%016llx %016llx, %016llx %016llx", (unsigned long long)s.bits[0],
                 (unsigned long long)s.bits[7], (unsigned long long)s.band[0],
                 (unsigned long long)s.band[11]);
    weir_near_close(n);
}

/* Also if it is so long that shingles are kept only once. */
static void repeats_within_a_text_do_not_count(void **state)
{
    static char text[400000];
    weir_near *n = open_near(1 << 20, 7);

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = "ab cd "[i % 6];
    assert_true(same_sketch(n, text, 6 * 10, text, sizeof text - 4));
    assert_false(same_sketch(n, text, 6 * 10, text, 6));
    weir_near_close(n);
}

static void any_bytes_are_sketched(void **state)
{
    weir_near *n = open_near(1 << 20, 7);
    struct weir_near_sketch s;

    random_state = 3;
    for (int i = 0; i < 3000; i++) {
        size_t size = below(200);
        uint8_t *text = malloc(size + 1);

        assert_non_null(text);
        for (size_t j = 0; j < size; j++)
            text[j] = (uint8_t)(i % 2 ? (int)below(256)
                                      : "\xcc\x81\xe1\x84\x92"
                                        "a\xf0"[below(7)]);
        uint8_t *exact = size ? realloc(text, size) : text; /* for the sanitizer */
        weir_near_sketch_text(n, exact, size, &s);
        free(exact);
    }
    weir_near_close(n);
}

static void equal_seeds_give_equal_sketches(void **state)
{
    static struct document d;
    struct weir_near_sketch s[3];

    random_state = 4;
    make_document(&d, 300);
    for (int i = 0; i < 3; i++) {
        weir_near *n = open_near(1 << 20, i == 2 ? 8 : 7);

        sketch_document(n, &d, &s[i]);
        weir_near_close(n);
    }
    assert_memory_equal(&s[0], &s[1], sizeof *s);
    assert_true(weir_near_similarity(&s[0], &s[2]) < 0.2);
}

/* ---- verdicts ---- */

/* The stated error is that of independent minima; that of this sketch is smaller. */
#define MEASURED_ERROR 0.84

static double chance_of_drop(double j)
{
    double shared = 1 - pow(1 - pow(j, ROWS), BANDS);

    return shared * 0.5 * erfc((0.8 - j) / (MEASURED_ERROR * weir_near_error(j)) / sqrt(2));
}

/* Pairs of known edits: drops must be as frequent as the exact similarity predicts. */
static void pairs_are_dropped_as_often_as_predicted(void **state)
{
    static struct document a, b;
    weir_near *n = open_near(16 << 20, 7);
    double expected[11] = {0}, dropped[11] = {0}, of[11] = {0}, relevant = 0, found = 0, wrong = 0;

    random_state = 5;
    for (uint32_t i = 0; i < 8000; i++) {
        struct weir_near_sketch s, t;

        make_document(&a, 100 + below(300));
        b = a;
        replace_words(&b, below(a.n / 15) + 1);
        sketch_document(n, &a, &s);
        sketch_document(n, &b, &t);
        assert_false(weir_near_observe(n, &s, 2 * i + 1, NULL));
        struct weir_near_match match;
        bool drop = weir_near_observe(n, &t, 2 * i + 2, &match);
        double j = exact_jaccard(&a, &b);
        int tenth = (int)(j * 10);
        assert_true(!drop || match.number == 2 * i + 1);
        expected[tenth] += chance_of_drop(j);
        dropped[tenth] += drop;
        of[tenth]++;
        relevant += j >= 0.8;
        found += drop && j >= 0.8;
        wrong += drop && j < 0.7;
    }
    for (int i = 5; i < 10; i++)
        if (of[i] < 300 || fabs(expected[i] - dropped[i]) > 0.02 * of[i])
            fail_msg("J from 0.%d: %.0f of %.0f dropped, expected %.0f", i, dropped[i], of[i],
                     expected[i]);
    if (found < 0.9 * relevant || wrong > 0.001 * 16000)
        fail_msg("recall %.4f, %.0f wrong", found / relevant, wrong);
    weir_near_close(n);
}

static void short_texts_must_be_equal(void **state)
{
    static const char *const texts[] = {"yes", "no", "yes we can", "can we yes",
                                        "one two three four"};
    weir_near *n = open_near(1 << 20, 7);
    struct weir_near_sketch s;

    for (int again = 0; again < 2; again++)
        for (int i = 0; i < 5; i++) {
            weir_near_sketch_text(n, texts[i], strlen(texts[i]), &s);
            assert_int_equal(weir_near_observe(n, &s, 1, NULL), again);
        }
    weir_near_close(n);
}

/* Ten times the capacity of different texts: none is dropped, the newest are found again, and a
 * text that keeps arriving is never evicted. */
static void the_oldest_texts_are_evicted(void **state)
{
    static struct document d, popular;
    weir_near *n = open_near(256 << 10, 7);
    uint64_t capacity = stats_of(n).capacity, found = 0;
    struct weir_near_sketch s, *all = calloc(10 * capacity, sizeof *all);

    assert_non_null(all);
    random_state = 6;
    make_document(&popular, 200);
    sketch_document(n, &popular, &s);
    assert_false(weir_near_observe(n, &s, 1, NULL));
    for (uint64_t i = 0; i < 10 * capacity; i++) {
        make_document(&d, 60);
        sketch_document(n, &d, &all[i]);
        assert_false(weir_near_observe(n, &all[i], i + 2, NULL));
        if (i % 100 == 0)
            assert_true(weir_near_observe(n, &s, i + 2, NULL));
    }
    assert_int_equal(stats_of(n).texts, capacity);
    assert_true(stats_of(n).evicted >= 9 * capacity);
    for (uint64_t i = 9 * capacity + capacity / 4; i < 10 * capacity; i++)
        found += weir_near_observe(n, &all[i], 1, NULL);
    assert_true(found > 0.74 * (double)capacity);
    for (uint64_t i = 0; i < 100; i++)
        assert_false(weir_near_observe(n, &all[i], 1, NULL));
    weir_near_close(n);
    free(all);
}

/* ---- files ---- */

struct saved {
    uint8_t *data;
    size_t size;
};

static bool collect(void *into, const void *data, size_t size)
{
    struct saved *s = into;

    s->data = realloc(s->data, s->size + size);
    memcpy(s->data + s->size, data, size);
    s->size += size;
    return true;
}

static weir_near *load(const uint8_t *data, size_t size)
{
    weir_near *n;
    struct weir_error error = {.status = WEIR_OK};
    enum weir_status status = weir_near_load_buffer(&n, data, size, &error);

    assert_int_equal(status, n ? WEIR_OK : WEIR_BAD_DATA);
    assert_int_equal(error.status, status);
    return n;
}

static void a_loaded_one_continues(void **state)
{
    static struct document d[400];
    weir_near *n = open_near(256 << 10, 7), *loaded;
    struct saved first = {NULL, 0}, both[2] = {{NULL, 0}, {NULL, 0}};
    struct weir_near_sketch s;

    random_state = 8;
    for (uint32_t i = 0; i < 4000; i++) {
        struct document *x = &d[below(400)];

        make_document(x, 100);
        sketch_document(n, x, &s);
        weir_near_observe(n, &s, i + 1, NULL);
    }
    assert_int_equal(weir_near_save_stream(n, collect, &first, NULL), WEIR_OK);
    loaded = load(first.data, first.size);
    assert_non_null(loaded);
    for (uint32_t i = 0; i < 3000; i++) {
        struct document *x = &d[below(400)];
        struct weir_near_match a, b;

        replace_words(x, below(5));
        sketch_document(n, x, &s);
        assert_int_equal(weir_near_observe(n, &s, i + 4001, &a),
                         weir_near_observe(loaded, &s, i + 4001, &b));
        assert_true(a.number == b.number && a.similarity == b.similarity && a.bands == b.bands);
    }
    assert_int_equal(weir_near_save_stream(n, collect, &both[0], NULL), WEIR_OK);
    assert_int_equal(weir_near_save_stream(loaded, collect, &both[1], NULL), WEIR_OK);
    assert_int_equal(both[0].size, both[1].size);
    assert_memory_equal(both[0].data, both[1].data, both[0].size);
    weir_near_close(loaded);
    weir_near_close(n);
    for (uint32_t i = 0; i < 300; i++) { /* damaged and truncated */
        size_t at = i < 200 ? i : below((uint32_t)first.size);

        first.data[at] ^= 1;
        assert_null(load(first.data, first.size));
        first.data[at] ^= 1;
        assert_null(load(first.data, at));
    }
    free(first.data);
    free(both[0].data);
    free(both[1].data);
}

/* Parts with correct checksums, but any content: as head, the numbers of a file, of which some are
 * changed, then random bytes of the expected size. */
static void forged_data_is_refused_or_usable(void **state)
{
    static struct document d;
    weir_near *n = open_near(WEIR_NEAR_MEMORY_MIN, 7), *forged;
    struct saved first = {NULL, 0};
    uint64_t head[10], loaded = 0;
    struct weir_part part;

    assert_int_equal(weir_near_save_stream(n, collect, &first, NULL), WEIR_OK);
    assert_int_equal(weir_part_read(first.data, first.size, &part, sizeof part, NULL), WEIR_OK);
    assert_true(part.body_size >= sizeof head);
    random_state = 10;
    for (int i = 0; i < 400; i++) {
        struct saved s = {NULL, 0};
        uint8_t *body = malloc(part.body_size), *rest;
        uint64_t used = below(500), lines = 496 * 12 * 5 / 4 / 16, bitmap = (lines + 7) / 8;
        size_t size = used * 72 + bitmap + lines * 64;

        memcpy(body, part.body, part.body_size);
        memcpy(head, body, sizeof head);
        head[4] = used; /* texts that were remembered */
        if (i % 4 == 0)
            head[1 + below(9)] = below(2) ? UINT64_MAX - below(3) : below(100);
        memcpy(body, head, sizeof head);
        rest = malloc(size);
        for (size_t j = 0; j < size; j++)
            rest[j] = (uint8_t)below(256);
        memset(rest + used * 72, 0xFF, bitmap);
        rest[used * 72 + bitmap - 1] = (uint8_t)(0xFF >> (bitmap * 8 - lines));
        assert_int_equal(weir_part_write(part.kind, body, part.body_size, collect, &s, NULL),
                         WEIR_OK);
        assert_int_equal(weir_part_write(part.kind + 1, rest, size, collect, &s, NULL), WEIR_OK);
        forged = load(s.data, s.size);
        loaded += forged != NULL;
        for (uint32_t j = 0; forged && j < 50; j++) {
            struct weir_near_sketch k;

            make_document(&d, 30);
            sketch_document(forged, &d, &k);
            weir_near_observe(forged, &k, j, NULL);
        }
        weir_near_close(forged);
        free(s.data);
        free(body);
        free(rest);
    }
    if (loaded < 200)
        fail_msg("%llu loaded", (unsigned long long)loaded);
    weir_near_close(n);
    free(first.data);
}

/* A small file that requests 128 GiB is refused before memory is allocated, which would fail. An
 * empty detector is the smallest file for its memory. */
static void memory_is_limited_by_the_size_of_the_file(void **state)
{
    weir_near *n = open_near(64 << 20, 7), *loaded;
    uint64_t memory[] = {64 << 20, 65 << 20, WEIR_NEAR_MEMORY_MAX};
    struct saved first = {NULL, 0};
    struct weir_part part;

    assert_int_equal(weir_near_save_stream(n, collect, &first, NULL), WEIR_OK);
    assert_int_equal(weir_part_read(first.data, first.size, &part, sizeof part, NULL), WEIR_OK);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) {
        struct saved s = {NULL, 0};
        uint8_t body[256];

        memcpy(body, part.body, part.body_size);
        memcpy(body + 16, &memory[i], sizeof *memory);
        assert_int_equal(weir_part_write(part.kind, body, part.body_size, collect, &s, NULL),
                         WEIR_OK);
        collect(&s, first.data + part.size, first.size - part.size);
        loaded = load(s.data, s.size);
        assert_int_equal(loaded != NULL, i == 0);
        weir_near_close(loaded);
        free(s.data);
    }
    weir_near_close(n);
    free(first.data);
}

static void a_copy_continues_on_its_own(void **state)
{
    static struct document d, e;
    weir_near *n = open_near(256 << 10, 7), *copy;
    struct weir_near_sketch s, t;
    struct saved a = {NULL, 0}, b = {NULL, 0};

    random_state = 9;
    make_document(&d, 100);
    make_document(&e, 100);
    sketch_document(n, &d, &s);
    sketch_document(n, &e, &t);
    assert_int_equal(weir_near_observe(n, &s, 1, NULL), WEIR_NEW);
    copy = weir_near_clone(n, NULL);
    assert_non_null(copy);
    assert_int_equal(weir_near_save_stream(n, collect, &a, NULL), WEIR_OK);
    assert_int_equal(weir_near_save_stream(copy, collect, &b, NULL), WEIR_OK);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    assert_int_equal(weir_near_observe(copy, &t, 2, NULL), WEIR_NEW);
    assert_int_equal(weir_near_observe(copy, &s, 3, NULL), WEIR_SEEN);
    assert_int_equal(weir_near_observe(n, &t, 2, NULL), WEIR_NEW);
    weir_near_close(n);
    assert_int_equal(weir_near_observe(copy, &s, 4, NULL), WEIR_SEEN);
    weir_near_close(copy);
    free(a.data);
    free(b.data);
}

/* A program that was compiled with a smaller or larger struct than the library's. */
static void structs_of_other_versions_are_accepted(void **state)
{
    struct {
        struct weir_near_options options;
        uint64_t later;
    } o = {.options = {.size = offsetof(struct weir_near_options, memory), .memory = 1}};
    struct {
        struct weir_near_stats stats;
        uint64_t later;
    } f = {.later = 1};
    weir_near *n;

    assert_int_equal(weir_near_open(&n, &o.options, NULL), WEIR_OK); /* .memory is not read */
    assert_int_equal(weir_near_observe_text(n, "a b", 3, 1, NULL), WEIR_NEW);
    weir_near_measure(n, &f.stats, sizeof f);
    assert_int_equal(f.later, 0);
    assert_int_equal(f.stats.observed, 1);
    f.stats.capacity = 77;
    weir_near_measure(n, &f.stats, offsetof(struct weir_near_stats, capacity));
    assert_int_equal(f.stats.capacity, 77);
    o.options.size = sizeof o;
    weir_near_configuration(n, &o.options);
    assert_int_equal(o.options.size, sizeof o);
    assert_int_equal(o.options.memory, 64 << 20);
    assert_int_equal(o.options.shingle, 5);
    weir_near_close(n);
    assert_int_equal(weir_near_open(&n, NULL, NULL), WEIR_OK);
    weir_near_close(n);
}

static void options_out_of_range_are_refused(void **state)
{
    static const struct {
        struct weir_near_options options;
        const char *word;
    } bad[] = {
        {{.threshold = 0.49}, "threshold 0.49"},
        {{.threshold = 1}, "threshold 1"},
        {{.threshold = (double)NAN}, "threshold nan"},
        {{.memory = 1000}, "memory 1000"},
        {{.memory = UINT64_MAX}, "memory 18446744073709551615"},
        {{.shingle = 17}, "shingle 17"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct weir_near_options o = bad[i].options;
        struct weir_error error;
        weir_near *n;

        o.size = sizeof o;
        assert_int_equal(weir_near_open(&n, &o, &error), WEIR_BAD_CONFIG);
        assert_null(n);
        assert_non_null(strstr(error.text, bad[i].word));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimates_have_the_stated_error),
        cmocka_unit_test(words_are_compared_without_case_form_and_punctuation),
        cmocka_unit_test(words_of_any_length_are_compared_by_letters),
        cmocka_unit_test(sketches_are_the_same_in_all_versions),
        cmocka_unit_test(repeats_within_a_text_do_not_count),
        cmocka_unit_test(any_bytes_are_sketched),
        cmocka_unit_test(equal_seeds_give_equal_sketches),
        cmocka_unit_test(pairs_are_dropped_as_often_as_predicted),
        cmocka_unit_test(short_texts_must_be_equal),
        cmocka_unit_test(the_oldest_texts_are_evicted),
        cmocka_unit_test(a_loaded_one_continues),
        cmocka_unit_test(forged_data_is_refused_or_usable),
        cmocka_unit_test(memory_is_limited_by_the_size_of_the_file),
        cmocka_unit_test(a_copy_continues_on_its_own),
        cmocka_unit_test(structs_of_other_versions_are_accepted),
        cmocka_unit_test(options_out_of_range_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
