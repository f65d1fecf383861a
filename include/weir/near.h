/* weir/near.h - near-duplicate texts of an unbounded stream, in bounded memory.
 *
 *     weir_near *n;
 *     struct weir_near_options options = {.size = sizeof options, .threshold = 0.8};
 *     if (weir_near_open(&n, &options, &error) != WEIR_OK)
 *         die(error.text);
 *     if (weir_near_observe_text(n, text, size, number, NULL) == WEIR_NEW)
 *         puts(text);
 *     weir_near_close(n);
 *
 * Two texts are near-duplicates if the Jaccard similarity of their shingles reaches a threshold. A
 * shingle is a run of consecutive words. Case, Unicode normalization form, punctuation and white
 * space do not matter. Each text becomes a sketch of fixed size. The sketches of texts that were
 * new are remembered, 132 bytes each; when memory is full, the oldest is evicted. docs/near.md has
 * the method and its errors.
 *
 * Link with -lweir-near (pkg-config weir-near). The library needs libweir and libutf8proc.
 *
 * Threads: any number of threads may sketch texts with one handle. One thread at a time may call
 * everything else. Different handles share nothing.
 *
 * Two handles cannot be merged: the remembered sketches do not contain what is needed to find them
 * in another handle. */
#ifndef WEIR_NEAR_H
#define WEIR_NEAR_H

#include <weir.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_near weir_near;

/* ---- open and close near-duplicate detectors ---- */

#define WEIR_NEAR_SHINGLE_MAX 16          /* words of a shingle, at most */
#define WEIR_NEAR_MEMORY_MIN 65536        /* bytes */
#define WEIR_NEAR_MEMORY_MAX 137438953472 /* bytes */

struct weir_near_options {
    size_t size;      /* sizeof this struct, which may grow */
    double threshold; /* similarity of near-duplicates, 0.5 to 0.99; 0: 0.8 */
    uint64_t memory;  /* bytes; 0: 64 MiB */
    uint64_t seed;    /* of hashing; equal seeds give equal sketches and verdicts */
    uint32_t shingle; /* words, 1 to WEIR_NEAR_SHINGLE_MAX; 0: 5 */
    uint32_t reserved;
};

/* Open a detector. NULL options are all defaults.
 * Returns WEIR_OK. On failure *out is NULL.
 * Errors: WEIR_BAD_CONFIG, WEIR_NO_MEMORY. */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_near_open(weir_near **out, const struct weir_near_options *options, struct weir_error *error);

/* Free a detector. NULL is allowed. */
WEIR_API void weir_near_close(weir_near *n);

/* Copy a detector with its remembered sketches.
 * Returns NULL on failure.
 * Errors: WEIR_NO_MEMORY. */
WEIR_API WEIR_MUST_CHECK weir_near *weir_near_clone(const weir_near *n, struct weir_error *error);

/* ---- sketch and observe texts ---- */

/* A text, for detectors with the same threshold, shingle and seed. */
struct weir_near_sketch {
    uint64_t bits[8];  /* 256 samples of two bits */
    uint64_t band[12]; /* hashes of groups of samples */
};

/* What a text resembles most. */
struct weir_near_match {
    uint64_t number;   /* of the remembered text; 0: none was compared */
    double similarity; /* the estimated Jaccard similarity */
    double error;      /* its standard error */
    uint32_t bands;    /* that agree, of 12 */
    uint32_t reserved;
};

/* Sketch a text in UTF-8. Bytes that are not UTF-8 count as letters. Never fails.
 * Cost: proportional to the text; 130 KiB of stack. */
WEIR_API void weir_near_sketch_text(const weir_near *n, const void *text, size_t size,
                                    struct weir_near_sketch *out);

/* Report whether a near-duplicate of a text is remembered. If so, that one stays remembered longer;
 * otherwise this text is remembered. number: of the text, from 1, which later matches report.
 * match: NULL, or where to write what the text resembles most; also for a new text.
 * Returns WEIR_SEEN or WEIR_NEW. */
WEIR_API enum weir_verdict weir_near_observe(weir_near *n, const struct weir_near_sketch *sketch,
                                             uint64_t number, struct weir_near_match *match);

/* Sketch and observe a text. */
WEIR_API enum weir_verdict weir_near_observe_text(weir_near *n, const void *text, size_t size,
                                                  uint64_t number, struct weir_near_match *match);

/* Estimate the Jaccard similarity of two texts.
 * Returns the similarity, 0 to 1. */
WEIR_API double weir_near_similarity(const struct weir_near_sketch *a,
                                     const struct weir_near_sketch *b);

/* Return the standard error of an estimated similarity. */
WEIR_API double weir_near_error(double similarity);

/* ---- statistics of near-duplicate detectors ---- */

struct weir_near_stats {
    uint64_t texts;    /* remembered now */
    uint64_t capacity; /* texts that fit into memory */
    uint64_t evicted;  /* texts that were forgotten because memory was full */
    uint64_t observed; /* texts */
    uint64_t seen;     /* of them: near-duplicates */
    uint64_t unsure;   /* of those: within one standard error of the threshold */
    uint64_t records;  /* set by weir_near_count() */
};

/* Write the statistics to *out, of `size` bytes, as weir_measure() does. */
WEIR_API void weir_near_measure(const weir_near *n, struct weir_near_stats *out, size_t size);

/* Write the options, with the defaults, to *out. out->size is set by the caller. */
WEIR_API void weir_near_configuration(const weir_near *n, struct weir_near_options *out);

/* Set the number of records read, for callers that number texts and continue from a file. */
WEIR_API void weir_near_count(weir_near *n, uint64_t records);

/* ---- save and load near-duplicate detectors ---- */

/* Write the detector to a sink. The format depends on the byte order of the machine.
 * Returns WEIR_OK.
 * Errors: WEIR_WRITE_FAILED, WEIR_NO_MEMORY. */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_near_save_stream(const weir_near *n, weir_sink sink, void *context, struct weir_error *error);

/* Load the detector that data consists of. Untrusted data is safe; the detector's memory is at most
 * 1,130 times `size`.
 * Returns WEIR_OK. On failure *out is NULL.
 * Errors: WEIR_BAD_DATA, also for data of another byte order; WEIR_NO_MEMORY. */
WEIR_API WEIR_MUST_CHECK enum weir_status
weir_near_load_buffer(weir_near **out, const void *data, size_t size, struct weir_error *error);

#ifdef __cplusplus
}
#endif

#endif
