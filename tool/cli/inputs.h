/* inputs.h - what a command reads: its files ("-" is standard input), and how their records and
 * keys are parsed. */
#ifndef WEIR_CLI_INPUTS_H
#define WEIR_CLI_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* ---- files ---- */

struct inputs {
    char *const *file;
    uint32_t count; /* 0: standard input */
};

/* The name to use in messages. */
const char *input_name(const char *file);

/* Open a regular file or standard input to inspect it before it is read; -1 for anything else. A
 * named pipe must not be opened twice: its writer would lose its reader. */
int input_inspect(const char *file);
void input_inspected(int fd);

/* Is one of them standard input, and a terminal? */
bool inputs_are_typed(const struct inputs *in);

/* Bytes of all files; 0 unless all are regular files. */
uint64_t inputs_size(char *const *files, uint32_t count);

/* pread() until `size` bytes are read. Returns fewer only at the end of the file; -1 and errno if
 * it failed. */
ssize_t read_at(int fd, void *bytes, size_t size, uint64_t offset);

/* write() until everything is written. False and errno if it failed. */
bool write_all(int fd, const void *bytes, size_t size);

static inline bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* ---- records ---- */

#define KEY_JOINT '\x1f' /* separates the fields of a key; printed and read as a tab */
#define GRAM_MAX 16      /* maximum of --ngrams */

enum format { FORMAT_LINES, FORMAT_CSV, FORMAT_TSV, FORMAT_JSONL, FORMAT_DELIMITED };

/* For a record without a field of the key: --on-missing. */
enum on_missing { MISSING_IS_MALFORMED, MISSING_STOPS, MISSING_SKIPS, MISSING_PASSES };

/* The event time of records: --time. */
struct event_time {
    const char *field;  /* as for a key; NULL: use the system clock */
    const char *format; /* NULL: detect it */
    bool limited;       /* --lateness was given: */
    double lateness;    /* seconds */
    uint64_t span;      /* milliseconds, of the filter, sketch or screen; set by the command */
};

/* What is compared: whole keys, or parts of a text (weir dedup --parts). */
enum text_parts { PARTS_NONE, PARTS_PARAGRAPH, PARTS_LINE, PARTS_NGRAM };

struct records {
    enum format format;
    bool plain;     /* do not decompress, do not reject files by their type */
    bool nul;       /* records end with NUL, not with a line break */
    char delimiter; /* of fields; 0: blanks */
    bool header;
    const char *key, *importance;
    const char *ttl;    /* the field of the TTL, or NULL */
    const char *weight; /* for counting: the field to add */
    struct event_time time;
    const char *key_as; /* transforms of the fields of a key, or NULL */
    bool cidr;          /* keys are IP addresses and networks (pick/network.h) */
    bool ignore_case, ignore_space;
    enum text_parts parts; /* normalized one by one, not by the picker */
    uint32_t gram;         /* words of an n-gram */
    bool keep_cr;          /* a CR before the line break is part of the key */
    uint64_t max_record;
    bool skip;           /* skip malformed records instead of stopping */
    bool on_error_given; /* values that key_as cannot parse are malformed */
    enum on_missing missing;
};

/* The numeric field: importance or weight; or NULL. */
static inline const char *records_measure(const struct records *r)
{
    return r->weight ? r->weight : r->importance;
}

/* Is a CR at the end of a record removed from its key? */
static inline bool records_strip_cr(const struct records *r)
{
    return !r->nul && !r->keep_cr;
}

/* The option of keys that --cidr excludes, or NULL. */
const char *records_not_with_cidr(const struct records *r);

/* Are records without a key skipped? */
bool records_skip_missing(const struct records *r);

/* Does a key have several fields? */
bool records_have_fields(const struct records *r);

/* The format of a file of keys for these records: one key per line, its fields separated by tabs.
 */
struct records records_of_keys(const struct records *r);

/* Describe how keys are made, for filter files. Filters with equal descriptions have comparable
 * keys, whichever fields of whichever format. Empty for a single unmodified field or record. */
void records_describe_keys(const struct records *r, char *text, size_t size);

/* Describe records and keys completely, for state files. */
void records_describe(const struct records *r, char *text, size_t size);

#endif
