/* inputs.c - see inputs.h. */
#include "cli/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- files ---- */

const char *input_name(const char *file)
{
    return strcmp(file, "-") == 0 ? "standard input" : file;
}

int input_inspect(const char *file)
{
    struct stat st;

    if (strcmp(file, "-") == 0)
        return 0;
    if (stat(file, &st) != 0 || !S_ISREG(st.st_mode))
        return -1;
    return open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

void input_inspected(int fd)
{
    if (fd > 0)
        close(fd);
}

bool inputs_are_typed(const struct inputs *in)
{
    bool standard = in->count == 0;

    for (uint32_t i = 0; i < in->count && !standard; i++)
        standard = strcmp(in->file[i], "-") == 0;
    return standard && isatty(0);
}

uint64_t inputs_size(char *const *files, uint32_t count)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct stat st;
        int failed = strcmp(files[i], "-") == 0 ? fstat(0, &st) : stat(files[i], &st);

        if (failed || !S_ISREG(st.st_mode))
            return 0;
        total += (uint64_t)st.st_size;
    }
    return total;
}

/* On a network file system or after a signal pread() may return less than requested. */
ssize_t read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
    size_t got = 0;

    while (got < size) {
        ssize_t n = pread(fd, (char *)bytes + got, size - got, (off_t)(offset + got));

        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return -1;
        got += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)got;
}

bool write_all(int fd, const void *bytes, size_t size)
{
    const char *at = bytes, *end = at + size;

    while (at < end) {
        ssize_t n = write(fd, at, (size_t)(end - at));

        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? n : 0;
    }
    return true;
}

/* ---- records ---- */

static size_t count_fields(const struct records *r)
{
    size_t n = 1;

    for (const char *c = r->key ? r->key : ""; *c; c++)
        n += *c == ',';
    return n;
}

bool records_have_fields(const struct records *r)
{
    return count_fields(r) > 1;
}

const char *records_not_with_cidr(const struct records *r)
{
    return records_have_fields(r) ? "key with several fields"
           : r->key_as            ? "key-as"
           : r->ignore_case       ? "ignore-case"
           : r->ignore_space      ? "ignore-space"
           : r->keep_cr           ? "keep-cr"
                                  : NULL;
}

/* "1,2,3" for n = 3. Keys with too many fields are rejected elsewhere. */
static const char *all_fields(size_t n)
{
    static char text[64];
    size_t used = 0;

    for (size_t i = 1; i <= n && used + 4 < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, i > 1 ? ",%zu" : "%zu", i);
    return text;
}

bool records_skip_missing(const struct records *r)
{
    return r->missing == MISSING_SKIPS || (r->missing == MISSING_IS_MALFORMED && r->skip);
}

struct records records_of_keys(const struct records *r)
{
    struct records keys = {.plain = r->plain,
                           .nul = r->nul,
                           .key_as = r->key_as,
                           .cidr = r->cidr,
                           .ignore_case = r->ignore_case,
                           .ignore_space = r->ignore_space,
                           .keep_cr = r->keep_cr,
                           .max_record = r->max_record};

    if (records_have_fields(r)) {
        keys.format = FORMAT_TSV;
        keys.delimiter = '\t';
        keys.key = all_fields(count_fields(r));
    }
    return keys;
}

/* The options that change how keys are compared, each with a blank before it. */
static void describe_options(const struct records *r, char *text, size_t size)
{
    static const char *const parts[] = {"", " --parts paragraph", " --parts line",
                                        " --parts ngram --shingle "};
    int n =
        snprintf(text, size, "%s%s%s%s%s%s%s", r->cidr ? " --cidr" : "",
                 r->key_as ? " --key-as " : "", r->key_as ? r->key_as : "",
                 r->ignore_case ? " --ignore-case" : "", r->ignore_space ? " --ignore-space" : "",
                 r->keep_cr && !r->nul ? " --keep-cr" : "", parts[r->parts]);

    if (r->parts == PARTS_NGRAM && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, "%u", r->gram);
}

void records_describe_keys(const struct records *r, char *text, size_t size)
{
    size_t n = 0;

    if (records_have_fields(r))
        n = (size_t)snprintf(text, size, " %zu fields", count_fields(r));
    describe_options(r, text + n, size - n);
    memmove(text, text + (*text == ' '), strlen(text + (*text == ' ')) + 1);
}

void records_describe(const struct records *r, char *text, size_t size)
{
    static const char *const names[] = {"lines", "--csv", "--tsv", "--jsonl", "lines"};
    char delimiter[8] = "";

    if (r->format == FORMAT_DELIMITED || (r->format == FORMAT_CSV && r->delimiter != ','))
        snprintf(delimiter, sizeof delimiter, " -d %c", r->delimiter);
    size_t n = (size_t)snprintf(
        text, size, "%s%s%s%s%s%s%s%s%s%s%s%s", names[r->format], r->nul ? " -z" : "", delimiter,
        r->header ? " --header" : "", r->key ? " -k " : "", r->key ? r->key : "",
        r->importance ? " -i " : "", r->importance ? r->importance : "", r->ttl ? " --ttl " : "",
        r->ttl ? r->ttl : "", r->time.field ? " --time " : "", r->time.field ? r->time.field : "");

    if (n < size)
        describe_options(r, text + n, size - n);
}
