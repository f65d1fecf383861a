/* json_fields.c - the text that the JSON scanner returns for a pointer, also compared with
 * jansson's text of the same value. Built for this processor, and with SCAN_PLAIN without its
 * vector instructions. */
#include "support/json_record.h"

#include <jansson.h>

#include "pick/json.h"

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

TEST(a_pointer_selects_its_value)
{
    const char *text =
        "{\"x\":[{\"user\":0}],\"user\":{\"name\":{\"id\":9},\"id\":7,\"ok\":true,"
        "\"no\":null},\"id\":8,\"\":1,\"a/b\":[10,[20,30]],\"~\":\"t\",\"0\":\"zero\"}";

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

TEST(strings_are_unescaped)
{
    assert_field("{\"k\":\"plain\"}", "/k", "plain");
    assert_field("{\"k\":\"\"}", "/k", "");
    assert_field("{\"k\":\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\"}", "/k", "a\"\\/\b\f\n\r\tA");
    assert_field("{\"k\":\"\\u00e9\\u20ac\\ud83d\\ude00\"}", "/k",
                 "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    assert_field("{\"k\":\"\xc3\xa9\"}", "/k", "\xc3\xa9");
}

TEST(a_nul_in_a_string_is_a_byte_of_the_key)
{
    const char *text = "{\"k\":\"a\\u0000b\"}";
    char *record = record_of(text, strlen(text), '\n');
    struct json_paths paths = {.n = 0};
    struct arena arena = {0};
    struct weir_bytes field;
    struct json_fault fault;

    assert_true(json_add(&paths, "/k"));
    assert_int_equal(json_fields(&paths, &arena, record, strlen(text), &field, &fault), JSON_FINE);
    assert_int_equal(field.size, 3);
    assert_memory_equal(field.data, "a\0b", 3);
    arena_close(&arena);
    json_close(&paths);
    free(record);
}

TEST(names_are_compared_after_unescaping)
{
    assert_field("{\"\\u0061b\":1}", "/ab", "1");
    assert_field("{\"\\u00e9\":1}", "/\xc3\xa9", "1");
    assert_field("{\"a\\/b\":1}", "/a~1b", "1");
    assert_field("{\"a\\\"\":1}", "/a\"", "1");
    assert_field("{\"\\u0061b\":1}", "/a", NULL);
    assert_field("{\"\\u0061\":1}", "/ab", NULL);
}

TEST(numbers_keep_their_text)
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

TEST(the_last_of_equal_names_counts)
{
    assert_field("{\"k\":1,\"k\":2}", "/k", "2");
    assert_field("{\"u\":{\"k\":1},\"u\":{}}", "/u/k", NULL);
    assert_field("{\"u\":{\"k\":1},\"u\":5}", "/u/k", NULL);
    assert_field("{\"u\":5,\"u\":{\"k\":1}}", "/u/k", "1");
    assert_field("{\"u\":[1,2],\"u\":[3]}", "/u/1", NULL);
    assert_field("{\"k\":\"a\\n\",\"\\u006b\":\"b\"}", "/k", "b");
    assert_field("{\"k\":{\"k\":1},\"k\":{\"k\":{\"k\":3}}}", "/k/k", "{\"k\":3}");
}

TEST(containers_are_compact_and_sorted)
{
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

TEST(several_pointers_are_followed_at_once)
{
    const char *const pointers[] = {"/u/id", "/u", "/t", "/u/id", "/none", "/u/l/1"};
    const char *const expected[] = {"7", "{\"id\":7,\"l\":[1,2]}", "x", "7", NULL, "2"};

    assert_fields("{\"u\": {\"l\": [1,2], \"id\": 7}, \"t\": \"x\"}", pointers, expected, 6);
}

TEST(blank_records_and_byte_order_marks_are_accepted)
{
    assert_field("", "/k", "");
    assert_field(" \t\r", "/k", "");
    assert_field("\xef\xbb\xbf", "/k", "");
    assert_field("\xef\xbb\xbf{\"k\":1}", "/k", "1");
}

/* ---- compared with jansson's text ---- */

static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 16) % below;
}

/* A random value with white space, repeated or escaped names, and numbers that have only one text.
 */
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

TEST(containers_are_written_as_jansson_writes_them)
{
    static char text[65536];
    uint32_t seed = 1, compared = 0;

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

RUN_TESTS("json_fields")
