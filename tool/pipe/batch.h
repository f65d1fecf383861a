/* batch.h - the records of one read(), with columns that the stages fill, one row per record:
 *
 *   read   data, ends, input     pick   key, importance, bad, event.time, event.ttl
 *   hash   hash                  clock  event.time, begun, clock
 *   give   good, verdict
 *
 * Record i is data[begin .. end), with its delimiter at end. A record in which a stage finds a
 * fault is marked bad, and the later stages skip it. If the run is to stop there, the batch ends
 * before it: n is reduced, and failure contains the reason. */
#ifndef WEIR_PIPE_BATCH_H
#define WEIR_PIPE_BATCH_H

#include <weir.h>

#include "pipe/position.h"

/* Limits of one batch. A build can make them tiny, so that tests reach them with little
 * input (tool/meson.build). */
#ifndef RECORDS_MAX
#define RECORDS_MAX 16384
#endif
#ifndef BLOCK
#define BLOCK ((size_t)128 << 10) /* bytes requested by one read() */
#endif
#define MARGIN 64 /* bytes past the end that vector code may touch */

#define VERDICT_NONE 2    /* the record is bad */
#define VERDICT_KEYLESS 3 /* it has no key, and passes */
#define VERDICT_UNKNOWN 4 /* the store did not answer */

#define NO_TIME UINT64_MAX
#define LOOK_AHEAD 4 /* records that must confirm a jump in time; chosen */

struct arena_chunk;
struct time_format;

struct arena {
    struct arena_chunk *chunk;
};

#define NOTES_MAX 8

/* Why the first records of a batch are bad (--explain). */
struct fault_notes {
    struct fault_note {
        char text[200];
        bool missing; /* a field is missing, which stops the run */
    } note[NOTES_MAX];
};

/* The keys of the good records, with their times and verdicts. */
struct good_keys {
    uint32_t n;
    struct weir_key *key;
    uint64_t *time; /* NULL: records have no time */
    uint64_t *ttl;  /* NULL: nor a TTL */
    uint8_t *verdict;
};

/* Where the bytes of a batch come from. */
struct batch_input {
    const char *name;                /* of the file, for messages; NULL if none was open */
    uint32_t file;                   /* its index in the list of inputs */
    uint64_t offset, line;           /* of the start of data */
    uint64_t next_offset, next_line; /* of the first record after this batch */
    bool seekable;                   /* the file is a regular one */
    struct trace before;             /* of the file up to offset */
    uint64_t unfinished;             /* bytes of a last record without delimiter, or 0 */
};

/* The event times of records, in milliseconds since 1970. */
struct batch_times {
    bool timed;   /* records have a time */
    bool has_ttl; /* and a TTL, in milliseconds */
    uint64_t *ttl;
    uint64_t *time;                   /* as written; after the clock, that of the verdict */
    const struct time_format *format; /* NULL: unknown */
    uint64_t ahead[LOOK_AHEAD];       /* times of the records after the batch, */
    uint32_t aheads;                  /* this many, if its last records depend on them */
    uint64_t begun, clock;            /* the clock at the first record, and at the last */
    uint32_t late;                    /* late records that were accepted, */
    uint64_t most_late;               /* by up to this many milliseconds */
};

/* The record that a near-duplicate resembles most. */
struct similar {
    uint64_t record; /* number, from 1 */
    double jaccard, error;
    uint32_t bands;
};

struct batch {
    uint64_t number;  /* in the order of reading */
    uint64_t first;   /* number of the first record, from 1; set before it is written */
    uint64_t ticket;  /* of the verdict, if it has tickets */
    uint64_t read_at; /* milliseconds since 1970 */

    /* read */
    char *data;
    size_t room;      /* size of data, without MARGIN */
    size_t used;      /* bytes of whole records */
    uint64_t dropped; /* bytes read before them, of a record that is too long */
    bool headless;    /* the first record is the end of such a record */
    uint32_t n;       /* records */
    uint32_t *ends;   /* ends[0]: just before the first record; ends[i + 1]: of record i */
    struct batch_input input;

    /* pick */
    struct weir_bytes *key;
    uint32_t *importance;
    bool important; /* records have one */
    uint8_t *bad;   /* BAD_...; undefined if bads is 0 */
    uint32_t bads;
    uint32_t unparsed;          /* values that --key-as could not parse */
    uint32_t masked;            /* networks with bits after their prefix, the first of them in */
    uint32_t first_masked;      /* this record */
    struct fault_notes *faults; /* for --explain, else NULL: then no fault ends the batch */
    struct arena arena;         /* for keys that are not part of data */

    /* pick, then clock */
    struct batch_times event;

    /* hash and give */
    struct weir_key *hash;     /* of each record */
    void *sketch;              /* of each record's text, in the arena (by_near.c) */
    struct similar *similar;   /* of those with the verdict seen; or NULL */
    struct batch_parts *parts; /* of the records' texts (by_parts.c), in the arena; or NULL */
    struct weir_bytes
        *rewritten;         /* record i without its seen parts, if .data is not NULL; or NULL */
    float *share;           /* of each text: seen before; NULL: texts have no parts */
    struct good_keys good;  /* see keys_select() */
    struct good_keys dense; /* buffers for those of a batch with bad records */
    uint32_t *origin;       /* the record that dense.key[j] belongs to */
    uint8_t *verdict;       /* enum weir_verdict, or VERDICT_... */
    uint8_t *has;           /* answers of many filters (by_filters.c); NULL: one filter */
    const char *tags;       /* their names for each record, one after the other; or NULL */

    bool failed; /* the run ends after this batch */
    char failure[512];
};

struct batch *batch_open(void);
void batch_close(struct batch *b);

/* Empty a batch for the next read. */
void batch_reset(struct batch *b);

/* Enlarge data to hold this many bytes of data. Returns false if memory is exhausted. */
bool batch_grow(struct batch *b, size_t room);

/* Allocate memory until the next reset. Returns NULL if there is none. */
void *arena_take(struct arena *a, size_t size);

/* The same for n elements of this size, aligned to 8 bytes. */
void *arena_array(struct arena *a, size_t n, size_t size);
/* Give back all but `used` bytes of memory, if nothing was taken after it. */
void arena_trim(struct arena *a, const char *at, size_t size, size_t used);
void arena_close(struct arena *a);

/* The line of the file in which record i begins, from 1. */
uint64_t batch_line(const struct batch *b, uint32_t i);

/* Why a record is bad: values of b->bad. */
#define BAD_MALFORMED 1
#define BAD_KEYLESS 2 /* it has no key, and is passed on as it is */
#define BAD_MISSING 3 /* it lacks a field */
#define BAD_LATE 4

/* What became of a record: a verdict, or why it has none. */
enum record_outcome {
    OUTCOME_NEW = WEIR_NEW,
    OUTCOME_SEEN = WEIR_SEEN,
    OUTCOME_UNKNOWN,
    OUTCOME_MALFORMED,
    OUTCOME_MISSING,
    OUTCOME_LATE,
    OUTCOMES
};

static inline enum record_outcome batch_outcome(const struct batch *b, uint32_t i)
{
    if (b->verdict[i] != VERDICT_NONE)
        return b->verdict[i] == VERDICT_UNKNOWN ? OUTCOME_UNKNOWN
                                                : (enum record_outcome)b->verdict[i];
    return b->bad[i] == BAD_MISSING ? OUTCOME_MISSING
           : b->bad[i] == BAD_LATE  ? OUTCOME_LATE
                                    : OUTCOME_MALFORMED;
}

/* Record i, if it is bad, is so for this reason. */
static inline void batch_blame(struct batch *b, uint32_t i, uint8_t reason)
{
    if (b->bads && b->bad[i])
        b->bad[i] = reason;
}

void batch_keyless(struct batch *b, uint32_t i);

/* Record i has a fault: end the batch before it, or only mark it (skip). */
void batch_fault(struct batch *b, uint32_t i, bool skip, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- hashed keys ---- */

/* How the keys of a filter of this spec are hashed. */
struct trace_hash hash_of_spec(const char *config);

/* Hash the keys of a batch. Any thread. */
void keys_hash(struct trace_hash hash, struct batch *b);

/* The good records, when it is known which are bad: the columns of the batch itself if all are
 * good, otherwise dense copies. keys_return() copies their verdicts back. */
const struct good_keys *keys_select(struct batch *b);
void keys_return(struct batch *b);

/* ---- records ---- */

static inline size_t record_begin(const struct batch *b, uint32_t i)
{
    return (uint32_t)(b->ends[i] + 1);
}

static inline size_t record_end(const struct batch *b, uint32_t i)
{
    return b->ends[i + 1];
}

#endif
