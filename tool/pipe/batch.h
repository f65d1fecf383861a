/* batch.h - what travels down the pipe: the bytes of one read(), and columns
 * that the stages fill from left to right, one row per record.
 *
 *   read   data, ends       pick   key, importance, time, bad
 *   clock  time             hash   hash, origin             give   verdict
 *
 * Record i lies in data[begin .. end), its delimiter at end. A record in which
 * a stage finds a fault is marked bad (and left out by all that follow) or, if
 * the run is to stop there, ends the batch: n is cut, failure says why. */
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

#define VERDICT_NONE 2    /* of a record that is bad */
#define VERDICT_KEYLESS 3 /* of one that has no key, and is passed on */
#define VERDICT_UNKNOWN 4 /* of one that a store could not tell of */

#define NO_TIME UINT64_MAX
#define LOOK_AHEAD 4 /* records that are asked whether a leap in time is right; a guess */

struct arena_chunk;
struct time_format;

struct arena {
    struct arena_chunk *chunk;
};

#define NOTES_MAX 8

/* Why the first records of a batch are bad, for --explain. */
struct fault_notes {
    struct fault_note {
        char text[200];
        bool missing; /* a field is, and that stops the run */
    } note[NOTES_MAX];
};

struct batch {
    uint64_t number;  /* in the order of reading */
    uint64_t ticket;  /* the verdict's own number of it, if it has one */
    uint64_t read_at; /* when: milliseconds since 1970 */

    char *data;
    size_t room;      /* bytes that data can hold, MARGIN apart */
    size_t used;      /* bytes of whole records, from the start of data */
    uint64_t dropped; /* bytes read before them, of a record that is too long */
    uint32_t n;       /* records */
    uint32_t *ends;   /* ends[0]: just before the first record; ends[i + 1]: of record i */

    const char *name; /* of the file, NULL if none was open; in the list it is number: */
    uint32_t file;
    uint64_t offset, line;           /* in the file, of the start of data */
    uint64_t next_offset, next_line; /* of the first record after this batch */
    bool seekable;                   /* the file is a regular one */
    struct trace before;             /* of the file, up to offset */
    uint64_t unfinished; /* bytes of the last record, if its file ends without a delimiter */

    struct weir_bytes *key;
    uint32_t *importance;
    bool important; /* records have one */
    uint8_t *bad;   /* 1, or BAD_KEYLESS */
    uint32_t bads;
    struct fault_notes *faults; /* with --explain, else NULL: no fault cuts the batch */

    bool timed;     /* records have a time: in milliseconds since 1970, as it is */
    uint64_t *time; /* written, and after the clock the one at which it is judged */
    const struct time_format *format; /* NULL: not known */
    uint64_t ahead[LOOK_AHEAD];       /* the times of records after the last one, */
    uint32_t aheads;                  /* of so many: where the last ones cannot do without */
    uint64_t begun, clock;            /* what time it is at the first record, and at the last */
    uint32_t late;                    /* records that were, */
    uint64_t most_late;               /* the latest by so much */

    struct arena arena; /* for keys that are not a stretch of data */

    uint16_t *shard;       /* of each record; unused if !dealt */
    struct weir_key *raw;  /* record by record; with one shard the same as */
    struct weir_key *hash; /* shard by shard; without bad records */
    uint32_t *origin;      /* record that hash[j] belongs to; unused if !dealt */
    uint64_t *at;          /* time of hash[j]; unused if !timed */
    uint32_t *first;       /* first[s] .. first[s + 1]: the part of shard s in hash */
    uint8_t *answer;       /* to hash[j] */
    bool dealt;

    uint8_t *verdict; /* enum weir_verdict per record, or VERDICT_... */
    uint8_t *has; /* where many filters are asked: their answers, as they lie there; else NULL */
    const char *tags; /* what stands before each record, one after the other; NULL: its verdict */

    bool failed; /* the run ends after this batch */
    char failure[512];
};

struct batch *batch_open(uint32_t shards);
void batch_close(struct batch *b);

/* Make it empty again. */
void batch_reset(struct batch *b);

/* Room for at least so many bytes of data. */
bool batch_grow(struct batch *b, size_t room);

/* Memory that lasts until the next reset; NULL if there is none. */
void *arena_take(struct arena *a, size_t size);
void arena_close(struct arena *a);

/* The line of the file in which record i begins. */
uint64_t batch_line(const struct batch *b, uint32_t i);

/* Record i has no key and is passed on as it is. */
#define BAD_KEYLESS 2
void batch_keyless(struct batch *b, uint32_t i);

/* Note the fault of record i: cut the batch there, or only mark the record. */
void batch_fault(struct batch *b, uint32_t i, bool skip, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static inline size_t record_begin(const struct batch *b, uint32_t i)
{
    return (uint32_t)(b->ends[i] + 1);
}

static inline size_t record_end(const struct batch *b, uint32_t i)
{
    return b->ends[i + 1];
}

#endif
