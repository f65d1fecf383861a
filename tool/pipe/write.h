/* write.h - the last stage: record and verdict -> bytes on the output. */
#ifndef WEIR_PIPE_WRITE_H
#define WEIR_PIPE_WRITE_H

#include "cli/option_groups.h"
#include "cli/records.h"
#include "pipe/batch.h"

struct writer {
    const char *name;
    int fd;
    int error;                     /* errno of the write that failed, or 0 */
    bool mute;                     /* nothing is to be written */
    bool tags;                     /* all records, each with its verdict before it, or */
    const struct answers *answers; /* these words alone */
    bool objects;                  /* a JSON object for each record that passes, made of */
    const struct records *records; /* what is read like this, with */
    bool fields;                   /* several in a key */
    uint8_t passes;                /* a bit for each verdict: 1 << WEIR_SEEN, ... */
    const char *const *words;      /* for the verdicts, where there are tags or objects */
    char joint;                    /* between verdict and record */
    char *buffer;
    size_t used;
    uint64_t bytes;  /* written so far; for a file its length */
    uint64_t passed; /* records */
};

/* Open for records that pass with these verdicts: bits as in struct writer. The first bytes of a
 * regular file stay, `length` of them; the rest is cut off. False after a message. */
bool write_open(struct writer *w, const struct output *o, uint8_t passes, uint64_t length);

/* Does each record get an answer of one line, also where it is malformed? */
bool write_answers_all(const struct output *o);

/* The bits for that: one verdict, or all where each record gets its answer; and
 * those of records that were not answered for? */
uint8_t write_passes(const struct output *o, enum weir_verdict verdict, bool unanswered);

/* False if it failed; then w->error says why, and nothing more is written. */
bool write_header(struct writer *w, const char *header, size_t size);
bool write_batch(struct writer *w, const struct batch *b);
bool write_text(struct writer *w, const char *text, size_t size);
bool write_flush(struct writer *w);
bool write_sync(struct writer *w);  /* flush, and on to the disk */
bool write_close(struct writer *w); /* may be called again */

#endif
