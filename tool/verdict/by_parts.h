/* by_parts.h - verdicts of weir dedup --parts: were the paragraphs, lines or n-grams of a text seen
 * before? */
#ifndef WEIR_VERDICT_BY_PARTS_H
#define WEIR_VERDICT_BY_PARTS_H

#include "cli/inputs.h"
#include "pick/cut.h"
#include "verdict/by_filter.h"
#include "verdict/flood.h"

#define PART_SHORT 20 /* bytes: shorter parts pass */

struct parts_figures {
    uint64_t parts, bytes;   /* of all texts */
    uint64_t dropped;        /* records */
    uint64_t cut, cut_bytes; /* parts of records that passed */
};

struct parts_run {
    struct filtering filtering; /* the first member: functions of by_filter.c receive this */
    enum text_parts parts;
    uint32_t gram; /* words */
    bool ignore_case, ignore_space;
    double drop_above;
    const struct json_paths *field; /* the text; NULL: the record */
    struct flood flood;
    struct parts_figures figures;
};

/* filtering: observes the parts, or only asks. */
struct verdict verdict_by_parts(struct parts_run *x, const struct filtering *filtering);

#endif
