/* write.h - the last stage: write records and verdicts to the output. */
#ifndef WEIR_PIPE_WRITE_H
#define WEIR_PIPE_WRITE_H

#include "cli/option_groups.h"
#include "cli/inputs.h"
#include "pipe/batch.h"

enum write_form {
    WRITE_NOTHING, /* records are only counted */
    WRITE_RECORDS, /* as they are */
    WRITE_TAGGED,  /* all records, each after its verdict */
    WRITE_WORDS,   /* a word for each record, instead of it */
    WRITE_OBJECTS  /* a JSON object per record */
};

struct writer {
    const char *name;
    int fd;
    int error; /* errno of the write that failed, or 0 */
    enum write_form form;
    bool rejects;   /* objects have the record's number and the reason */
    uint8_t passes; /* verdicts of the records to write, as bits: 1 << WEIR_SEEN, ... */
    const struct answers *answers; /* the words of WRITE_WORDS */
    const struct records *records; /* how records were read, for objects */
    const char *const *words;      /* by verdict, for tags and objects */
    char joint;                    /* between verdict and record */
    bool headed;                   /* the header is written, or must not be */
    char *buffer;
    size_t used;
    uint64_t bytes;  /* bytes written so far; for a file, its length */
    uint64_t passed; /* records */
};

/* Open the output for records with these verdicts, as bits. A regular file is cut to `length`
 * bytes. Returns false after a message. */
bool write_open(struct writer *w, const struct output *o, uint8_t passes, uint64_t length);

/* Open the file for all other records. */
bool write_open_rejects(struct writer *w, const struct output *o, uint8_t passes, uint64_t length);

/* Was the file renamed or removed, so that its path names another file or none? */
bool write_is_rotated(const struct writer *w);

/* Open the file at its path again, at its end; the header is written again if it is empty. Returns
 * false if it failed; w->error is the reason. */
bool write_reopen(struct writer *w);

/* Does each record get one output line, even if it is malformed? */
bool write_answers_all(const struct output *o);

/* The bits for that: one verdict, or all if each record gets a line; and those of records without
 * an answer? */
uint8_t write_passes(const struct output *o, enum weir_verdict verdict, bool unanswered);

/* Returns false if it failed; w->error is then the reason, and nothing more is written. */
bool write_header(struct writer *w, const char *header, size_t size);
bool write_batch(struct writer *w, const struct batch *b);
bool write_text(struct writer *w, const char *text, size_t size);
bool write_flush(struct writer *w);
bool write_sync(struct writer *w);  /* flush, and fsync */
bool write_close(struct writer *w); /* may be called again */

#endif
