/* json.c - the command's JSON scanner accepts valid JSON and nothing else. jansson must agree,
 * except for numbers: these may have any size and keep their text. Built for this processor, and
 * with SCAN_PLAIN without its vector instructions. */
#include "support/json_record.h"

#include <jansson.h>

#include "pick/json.h"

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

/* Both agree, whatever follows the text. */
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

TEST(valid_json_is_accepted)
{
    for (size_t i = 0; i < sizeof valid / sizeof *valid; i++)
        assert_json(valid[i], strlen(valid[i]), true);
}

TEST(invalid_json_is_refused)
{
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++)
        assert_json(invalid[i], strlen(invalid[i]), false);
    assert_json("\"a\0b\"", 5, false);
    assert_false(accepts("1\0", 2, '\n')); /* jansson accepts some NULs */
    assert_false(accepts("1\0\0]", 4, '\n'));
}

TEST(a_prefix_of_json_is_refused)
{
    const char *text =
        "{\"a\":[true,\"\\ud83d\\ude00\xe2\x82\xac\",-1.5e7,{\"b\":null}],\"c\":\"\"}";

    for (size_t n = 0; n < strlen(text); n++)
        assert_json(text, n, false);
    assert_json(text, strlen(text), true);
}

/* Every byte, at each position of a text that is longer than a vector. */
TEST(every_byte_is_checked_at_every_position)
{
    const char *text = "{\"name\":\"0123456789abcdef0123456789abcdef\",\"n\":[105,1.5e3]}";
    size_t size = strlen(text);
    char changed[128];

    for (size_t at = 0; at < size; at++)
        for (int c = 0; c < 256; c++) {
            memcpy(changed, text, size);
            changed[at] = (char)c;
            if (c > 0)
                assert_json(changed, size, jansson_accepts(changed, size));
            else
                assert_false(accepts(changed, size, '\n')); /* jansson accepts some of these */
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

TEST(nesting_has_a_limit)
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

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t size;
        char *text = nested(rows[i].depth, rows[i].inside, rows[i].objects, &size);

        assert_json(text, size, rows[i].fine);
        free(text);
    }
}

/* jansson has no such numbers. */
TEST(numbers_of_any_size_are_accepted)
{
    static const char *const numbers[] = {
        "18446744073709551616",
        "-9223372036854775809",
        "1e400",
        "-1.5e99999",
        "123456789012345678901234567890123456789012345678901234567890",
    };

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_true(accepts(numbers[i], strlen(numbers[i]), '\n'));
}

RUN_TESTS("json")
