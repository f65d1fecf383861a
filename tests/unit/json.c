/* json.c - the JSON picker of the tool: what is JSON and what is not, and which
 * text a pointer gives. jansson is asked the same; it differs by intention in one
 * thing, numbers: they may be of any size and keep their text. Built twice: for
 * this processor, and with SCAN_PLAIN for those without its vectors. */
#include "support/support.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "pipe/json.h"

/* A record in memory of exactly the size that is promised to be readable, so that
 * the sanitizer sees every byte too many. */
static char *record_of(const char *text, size_t size, char delimiter)
{
    char *record = malloc(size + 64);

    assert_non_null(record);
    memcpy(record, text, size);
    record[size] = delimiter;
    memset(record + size + 1, '"', 63); /* what would be taken for more of it */
    return record;
}

static bool accepts(const char *text, size_t size, char delimiter)
{
    char *record = record_of(text, size, delimiter);
    struct json_paths none = {.n = 0};
    struct json_fault fault = {0};
    bool fine = json_scan(&none, record, size, NULL, &fault);

    if (!fine) {
        assert_non_null(fault.text);
        assert_true(fault.at <= size);
    }
    free(record);
    return fine;
}

static bool jansson_accepts(const char *text, size_t size)
{
    json_t *root = json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

    json_decref(root);
    return root;
}

/* The same from both, whatever follows the text. */
static void assert_json(const char *text, size_t size, bool expected)
{
    if (accepts(text, size, '\n') != expected || accepts(text, size, '\0') != expected)
        fail_msg("%.60s is %s", text, expected ? "refused" : "taken");
    if (jansson_accepts(text, size) != expected)
        fail_msg("jansson thinks otherwise of %.60s", text);
}

/* ---- texts ---- */

static const char *const valid[] = {
    "{}",
    "[]",
    "0",
    "-0",
    "7",
    "-1.5e+10",
    "1E5",
    "1e-2",
    "0.0",
    "0e0",
    "true",
    "false",
    "null",
    "\"\"",
    " 1 ",
    "\t[\r 1 ,\n2 ]  ",
    "{ \"a\" : 1 , \"b\" : [ ] }",
    "[[],{},[{}]]",
    "{\"a\":1,\"a\":2}",
    "{\"\":0}",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\"",
    "\"\\u0000\"",
    "\"\\ud83d\\ude00\"",
    "\"\\uD83D\\uDE00\"",
    "\"\\uffff\"",
    "\"\x7f\"",
    "\"\xc2\x80\xdf\xbf\"",
    "\"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\"",
    "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"",
    "{\"\xc3\xa9\":\"\xe2\x82\xac\"}",
    "\"a string that is longer than one vector of sixteen or thirty-two bytes, by far\"",
    "\"one with \\\" and \xe2\x82\xac behind many others: "
    "0123456789012345678901234567890123456789\"",
    "[1234567890123456,0.12345678901234567890,-12345678901234567,9223372036854775807]",
};

static const char *const invalid[] = {
    "",
    " ",
    "{",
    "}",
    "[",
    "]",
    "[}",
    "{]",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[1 2]",
    "[1]]",
    "{}{}",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{,}",
    "{\"a\" 1}",
    "{\"a\":1 \"b\":2}",
    "{1:2}",
    "{a:1}",
    "{\"a\":1",
    "{\"a",
    "{\"a\"",
    "{\"a\":",
    "{\"a\":1,",
    "{\"a\":1,\"",
    "\"",
    "\"a",
    "\"\\",
    "\"\\\"",
    "1 2",
    "null null",
    "nul",
    "nulll",
    "True",
    "tru",
    "truefalse",
    "+1",
    "-",
    "01",
    "-01",
    "00",
    "1.",
    ".5",
    "1.e5",
    "1e",
    "1e+",
    "1e-",
    "1.5.5",
    "--1",
    "0x1",
    "1a",
    "Infinity",
    "NaN",
    "-a",
    "'a'",
    "\"\\a\"",
    "\"\\u\"",
    "\"\\u12\"",
    "\"\\u123g\"",
    "\"\\u 123\"",
    "\"\\U0041\"",
    "\"\\x41\"",
    "\"\\ud800\"",
    "\"\\udc00\"",
    "\"\\ud800\\u0041\"",
    "\"\\ud800x\"",
    "\"\\ud800\\ud800\"",
    "\"\\ud800\\n\"",
    "\"\\ud800\\udc0\"",
    "{\"\\u0000\":1}",
    "{\"a\\u0000b\":1}",
    "\"a\tb\"",
    "\"a\nb\"",
    "\"a\rb\"",
    "\"\x01\"",
    "\"\x1f\"",
    "{\"a\tb\":1}",
    "\"\x80\"",
    "\"\xc0\x80\"",
    "\"\xc1\xbf\"",
    "\"\xc2\"",
    "\"\xc2\x41\"",
    "\"\xe0\x9f\xbf\"",
    "\"\xe2\x82\"",
    "\"\xe2\x28\xa1\"",
    "\"\xed\xa0\x80\"",
    "\"\xed\xbf\xbf\"",
    "\"\xf0\x8f\xbf\xbf\"",
    "\"\xf0\x90\x80\"",
    "\"\xf4\x90\x80\x80\"",
    "\"\xf5\x80\x80\x80\"",
    "\"\xff\"",
    "\"\xfe\"",
    "\xc3\xa9",
    "{\xc3\xa9:1}",
    "\xef\xbb\xbf{}",
    "{}\x01",
    "[1\x0b]",
    "/**/1",
    "[1]//",
};

static void what_is_json_is_taken(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof valid / sizeof *valid; i++)
        assert_json(valid[i], strlen(valid[i]), true);
}

static void what_is_not_json_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++)
        assert_json(invalid[i], strlen(invalid[i]), false);
    assert_json("\"a\0b\"", 5, false);
    assert_false(accepts("1\0", 2, '\n')); /* jansson overlooks some NULs */
    assert_false(accepts("1\0\0]", 4, '\n'));
}

static void no_part_of_a_text_is_one(void **state)
{
    const char *text =
        "{\"a\":[true,\"\\ud83d\\ude00\xe2\x82\xac\",-1.5e7,{\"b\":null}],\"c\":\"\"}";

    (void)state;
    for (size_t n = 0; n < strlen(text); n++)
        assert_json(text, n, false);
    assert_json(text, strlen(text), true);
}

/* At each place of a text longer than a vector, each byte there is. */
static void every_byte_is_judged_at_every_place(void **state)
{
    const char *text = "{\"name\":\"0123456789abcdef0123456789abcdef\",\"n\":[105,1.5e3]}";
    size_t size = strlen(text);
    char changed[128];

    (void)state;
    for (size_t at = 0; at < size; at++)
        for (int c = 0; c < 256; c++) {
            memcpy(changed, text, size);
            changed[at] = (char)c;
            if (c > 0)
                assert_json(changed, size, jansson_accepts(changed, size));
            else
                assert_false(accepts(changed, size, '\n')); /* jansson overlooks some */
        }
}

static char *nested(size_t depth, const char *inside, bool objects, size_t *size)
{
    const char *open = objects ? "{\"a\":" : "[";
    char *text = malloc(depth * 6 + 8), *to = text;

    assert_non_null(text);
    for (size_t i = 0; i < depth; i++)
        to = stpcpy(to, open);
    to = stpcpy(to, inside);
    memset(to, objects ? '}' : ']', depth);
    *size = (size_t)(to - text) + depth;
    return text;
}

static void nesting_has_a_limit(void **state)
{
    static const struct {
        size_t depth;
        const char *inside;
        bool objects, fine;
    } rows[] = {
        {JSON_DEPTH_MAX - 1, "1", false, true}, {JSON_DEPTH_MAX - 1, "[]", false, true},
        {JSON_DEPTH_MAX, "1", false, false},    {JSON_DEPTH_MAX - 1, "{}", true, true},
        {JSON_DEPTH_MAX, "1", true, false},     {JSON_DEPTH_MAX + 1, "", false, false},
        {JSON_DEPTH_MAX, "", false, true},      {100000, "1", false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t size;
        char *text = nested(rows[i].depth, rows[i].inside, rows[i].objects, &size);

        assert_json(text, size, rows[i].fine);
        free(text);
    }
}

/* jansson has no number for these. */
static void numbers_of_any_size_are_taken(void **state)
{
    static const char *const numbers[] = {
        "18446744073709551616",
        "-9223372036854775809",
        "1e400",
        "-1.5e99999",
        "123456789012345678901234567890123456789012345678901234567890",
    };

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_true(accepts(numbers[i], strlen(numbers[i]), '\n'));
}

/* ---- fields ---- */

static void assert_fields(const char *text, const char *const *pointer, const char *const *expected,
                          uint32_t n)
{
    char *record = record_of(text, strlen(text), '\n');
    struct json_paths paths = {.n = 0};
    struct weir_bytes field[JSON_PATHS_MAX];
    struct json_fault fault;
    struct arena arena = {0};

    for (uint32_t i = 0; i < n; i++)
        assert_true(json_add(&paths, pointer[i]));
    assert_int_equal(json_fields(&paths, &arena, record, strlen(text), field, &fault), JSON_FINE);
    for (uint32_t i = 0; i < n; i++) {
        bool same = expected[i] ? field[i].data && field[i].size == strlen(expected[i]) &&
                                      memcmp(field[i].data, expected[i], field[i].size) == 0
                                : !field[i].data;
        if (!same)
            fail_msg("%s in %s gives '%.*s', not '%s'", pointer[i], text, (int)field[i].size,
                     field[i].data ? (const char *)field[i].data : "",
                     expected[i] ? expected[i] : "none");
    }
    arena_close(&arena);
    json_close(&paths);
    free(record);
}

static void assert_field(const char *text, const char *pointer, const char *expected)
{
    assert_fields(text, &pointer, &expected, 1);
}

static void a_pointer_leads_to_its_value(void **state)
{
    const char *text =
        "{\"x\":[{\"user\":0}],\"user\":{\"name\":{\"id\":9},\"id\":7,\"ok\":true,"
        "\"no\":null},\"id\":8,\"\":1,\"a/b\":[10,[20,30]],\"~\":\"t\",\"0\":\"zero\"}";

    (void)state;
    assert_field(text, "/user/id", "7");
    assert_field(text, "/user/name/id", "9");
    assert_field(text, "/id", "8");
    assert_field(text, "/", "1");
    assert_field(text, "/user/ok", "true");
    assert_field(text, "/user/no", "null");
    assert_field(text, "/a~1b/0", "10");
    assert_field(text, "/a~1b/1/1", "30");
    assert_field(text, "/a~1b/2", NULL);
    assert_field(text, "/a~1b/x", NULL);
    assert_field(text, "/a~1b/-", NULL);
    assert_field(text, "/a~1b/99999999999999999999", NULL);
    assert_field(text, "/~0", "t");
    assert_field(text, "/0", "zero");
    assert_field(text, "/user/i", NULL);
    assert_field(text, "/user/id/x", NULL);
    assert_field(text, "/x/0/user", "0");
    assert_field("7", "/a", NULL);
    assert_field("[[1,2],[3,4]]", "/1/0", "3");
}

static void strings_give_what_they_say(void **state)
{
    (void)state;
    assert_field("{\"k\":\"plain\"}", "/k", "plain");
    assert_field("{\"k\":\"\"}", "/k", "");
    assert_field("{\"k\":\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\"}", "/k", "a\"\\/\b\f\n\r\tA");
    assert_field("{\"k\":\"\\u00e9\\u20ac\\ud83d\\ude00\"}", "/k",
                 "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_field("{\"k\":\"\xc3\xa9\"}", "/k", "\xc3\xa9");
}

static void a_zero_in_a_string_is_a_byte_of_its_key(void **state)
{
    const char *text = "{\"k\":\"a\\u0000b\"}";
    char *record = record_of(text, strlen(text), '\n');
    struct json_paths paths = {.n = 0};
    struct arena arena = {0};
    struct weir_bytes field;
    struct json_fault fault;

    (void)state;
    assert_true(json_add(&paths, "/k"));
    assert_int_equal(json_fields(&paths, &arena, record, strlen(text), &field, &fault), JSON_FINE);
    assert_int_equal(field.size, 3);
    assert_memory_equal(field.data, "a\0b", 3);
    arena_close(&arena);
    json_close(&paths);
    free(record);
}

static void names_are_compared_by_what_they_say(void **state)
{
    (void)state;
    assert_field("{\"\\u0061b\":1}", "/ab", "1");
    assert_field("{\"\\u00e9\":1}", "/\xc3\xa9", "1");
    assert_field("{\"a\\/b\":1}", "/a~1b", "1");
    assert_field("{\"a\\\"\":1}", "/a\"", "1");
    assert_field("{\"\\u0061b\":1}", "/a", NULL);
    assert_field("{\"\\u0061\":1}", "/ab", NULL);
}

static void numbers_keep_their_text(void **state)
{
    static const char *const numbers[] = {"1",
                                          "1.0",
                                          "1e0",
                                          "1E+0",
                                          "0.1",
                                          "-0",
                                          "1e400",
                                          "18446744073709551616",
                                          "0.30000000000000000000001"};

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char text[128];

        snprintf(text, sizeof text, "{\"k\": %s }", numbers[i]);
        assert_field(text, "/k", numbers[i]);
        snprintf(text, sizeof text, "{\"k\":{ \"n\" : [ %s ] }}", numbers[i]);
        char inside[128];
        snprintf(inside, sizeof inside, "{\"n\":[%s]}", numbers[i]);
        assert_field(text, "/k", inside);
    }
}

static void of_equal_names_the_last_counts(void **state)
{
    (void)state;
    assert_field("{\"k\":1,\"k\":2}", "/k", "2");
    assert_field("{\"u\":{\"k\":1},\"u\":{}}", "/u/k", NULL);
    assert_field("{\"u\":{\"k\":1},\"u\":5}", "/u/k", NULL);
    assert_field("{\"u\":5,\"u\":{\"k\":1}}", "/u/k", "1");
    assert_field("{\"u\":[1,2],\"u\":[3]}", "/u/1", NULL);
    assert_field("{\"k\":\"a\\n\",\"\\u006b\":\"b\"}", "/k", "b");
    assert_field("{\"k\":{\"k\":1},\"k\":{\"k\":{\"k\":3}}}", "/k/k", "{\"k\":3}");
}

static void containers_are_compact_and_sorted(void **state)
{
    (void)state;
    assert_field("{\"k\": { } }", "/k", "{}");
    assert_field("{\"k\": [ ] }", "/k", "[]");
    assert_field("{\"k\": [ 1 , [ ] , { } , \"a b\" ] }", "/k", "[1,[],{},\"a b\"]");
    assert_field("{\"k\": { \"b\" : 1 , \"a\" : { \"d\" : 2 , \"c\" : 3 } } }", "/k",
                 "{\"a\":{\"c\":3,\"d\":2},\"b\":1}");
    assert_field("{\"k\":{\"b\":1,\"a\":2,\"b\":3}}", "/k", "{\"a\":2,\"b\":3}");
    assert_field("{\"k\":{\"ab\":1,\"a\":2,\"\":3,\"\\u0061c\":4,\"\xc3\xa9\":5,\"\\u00e8\":6}}",
                 "/k", "{\"\":3,\"a\":2,\"ab\":1,\"ac\":4,\"\xc3\xa8\":6,\"\xc3\xa9\":5}");
    assert_field("{\"k\":[\"\\u0022\\/\\u001f\\u000a\\u00e9\\u007f\\\\\"]}", "/k",
                 "[\"\\\"/\\u001F\\n\xc3\xa9\x7f\\\\\"]");
}

static void several_pointers_are_followed_at_once(void **state)
{
    const char *const pointers[] = {"/u/id", "/u", "/t", "/u/id", "/none", "/u/l/1"};
    const char *const expected[] = {"7", "{\"id\":7,\"l\":[1,2]}", "x", "7", NULL, "2"};

    (void)state;
    assert_fields("{\"u\": {\"l\": [1,2], \"id\": 7}, \"t\": \"x\"}", pointers, expected, 6);
}

static void blank_records_and_byte_order_marks_pass(void **state)
{
    (void)state;
    assert_field("", "/k", "");
    assert_field(" \t\r", "/k", "");
    assert_field("\xef\xbb\xbf", "/k", "");
    assert_field("\xef\xbb\xbf{\"k\":1}", "/k", "1");
}

/* ---- against jansson's own text of a value ---- */

static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 16) % below;
}

/* A random value, with blanks in it, names that come twice or are escaped, and
 * numbers that have one text only. */
static char *put_random(char *to, uint32_t *seed, int depth)
{
    static const char *const scalars[] = {"\"a\"", "\"\\u00e9\\n\\/\"", "true", "12", "-3", "null",
                                          "\"\""};
    static const char *const names[] = {
        "\"a\":", "\"\\u0061\" :", "\"ab\":", "\"\\\"\":", "\"\xc3\xa9\":", "\"\\u00e8\": "};
    uint32_t items = draw(seed, 5);

    if (depth == 0 || draw(seed, 4) == 0)
        return stpcpy(to, scalars[draw(seed, 7)]);
    bool object = draw(seed, 2);
    to = stpcpy(to, object ? "{" : "[ ");
    for (uint32_t i = 0; i < items; i++) {
        to = stpcpy(to, i ? ", " : " ");
        if (object)
            to = stpcpy(to, names[draw(seed, 6)]);
        to = put_random(to, seed, depth - 1);
    }
    return stpcpy(to, object ? " }" : "]");
}

static void containers_are_written_as_jansson_writes_them(void **state)
{
    static char text[65536];
    uint32_t seed = 1, compared = 0;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        stpcpy(put_random(stpcpy(text, "{\"k\":"), &seed, 4), "}");
        json_t *root = json_loads(text, 0, NULL);
        json_t *value = json_object_get(root, "k");

        assert_non_null(value);
        if (json_is_object(value) || json_is_array(value)) {
            char *expected = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);

            assert_field(text, "/k", expected);
            free(expected);
            compared++;
        }
        json_decref(root);
    }
    assert_true(compared > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_json_is_taken),
        cmocka_unit_test(what_is_not_json_is_refused),
        cmocka_unit_test(no_part_of_a_text_is_one),
        cmocka_unit_test(every_byte_is_judged_at_every_place),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(numbers_of_any_size_are_taken),
        cmocka_unit_test(a_pointer_leads_to_its_value),
        cmocka_unit_test(strings_give_what_they_say),
        cmocka_unit_test(a_zero_in_a_string_is_a_byte_of_its_key),
        cmocka_unit_test(names_are_compared_by_what_they_say),
        cmocka_unit_test(numbers_keep_their_text),
        cmocka_unit_test(of_equal_names_the_last_counts),
        cmocka_unit_test(containers_are_compact_and_sorted),
        cmocka_unit_test(several_pointers_are_followed_at_once),
        cmocka_unit_test(blank_records_and_byte_order_marks_pass),
        cmocka_unit_test(containers_are_written_as_jansson_writes_them),
    };

    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
