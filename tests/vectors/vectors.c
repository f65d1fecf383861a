/* vectors.c - the C library returns the hashes, verdicts and bytes of tests/vectors (README.md
 * there). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/hash.h>

#include "support/support.h"

#define SEED 7

static FILE *open_vectors(const char *name)
{
    const char *root = getenv("WEIR_SOURCE");
    char path[512];
    FILE *file;

    snprintf(path, sizeof path, "%s/tests/vectors/%s", root ? root : ".", name);
    file = fopen(path, "r");
    assert_non_null(file);
    return file;
}

/* One row of keys.tsv. */
struct row {
    uint8_t key[512];
    size_t size;
    char xxh3[33], sip[33];
    int seen;
};

static bool read_row(FILE *file, struct row *row)
{
    char line[4096], *rest = line, *field[6];

    if (!fgets(line, sizeof line, file))
        return false;
    for (int i = 0; i < 6; i++)
        field[i] = strsep(&rest, "\t\n");
    assert_non_null(field[5]);
    row->size = strlen(field[2]) / 2;
    for (size_t i = 0; i < row->size; i++) {
        char digits[3] = {field[2][2 * i], field[2][2 * i + 1], '\0'};

        row->key[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    strcpy(row->xxh3, field[3]);
    strcpy(row->sip, field[4]);
    row->seen = atoi(field[5]);
    return true;
}

static void assert_hash(uint32_t kind, const struct row *row, const char *expected)
{
    struct weir_key key = weir_hash_bytes(kind, SEED, row->key, row->size);
    char text[33];

    snprintf(text, sizeof text, "%016llx%016llx", (unsigned long long)key.lo,
             (unsigned long long)key.hi);
    assert_string_equal(text, expected);
}

TEST(hashes_verdicts_and_saved_bytes_are_those_of_the_file)
{
    FILE *file = open_vectors("keys.tsv");
    weir_filter *w = open_filter("recent memory=4K seed=7");
    char heading[128], path[512];
    struct blob expected, saved;
    struct row row;
    int rows = 0;

    assert_non_null(fgets(heading, sizeof heading, file));
    for (; read_row(file, &row); rows++) {
        assert_hash(WEIR_HASH_XXH3, &row, row.xxh3);
        assert_hash(WEIR_HASH_SIP, &row, row.sip);
        assert_int_equal(weir_observe_bytes(w, row.key, row.size), row.seen);
    }
    fclose(file);
    assert_true(rows > 200);
    snprintf(path, sizeof path, "%s/tests/vectors/keys.weir", getenv("WEIR_SOURCE"));
    expected = blob_read(path);
    saved = blob_of(w);
    assert_same_blob(saved, expected);
    blob_free(expected);
    blob_free(saved);
    weir_close(w);
}

RUN_TESTS("tests")
