/* time_text.h - the time of a record, as microseconds since 1970, UTC.
 *
 * Read without a locale and without the time zone of the machine: a text that
 * names no zone is UTC. A leap second is the first second of the next minute. */
#ifndef WEIR_PICK_TIME_TEXT_H
#define WEIR_PICK_TIME_TEXT_H

#include <weir.h>

enum time_form {
    TIME_SECONDS,      /* 1714557600, 1714557600.25 */
    TIME_MILLISECONDS, /* 1714557600250 */
    TIME_MICROSECONDS,
    TIME_RFC3339,    /* 2024-05-01T10:00:00.25Z, 2024-05-01 10:00:00,250 +02:00 */
    TIME_COMMON_LOG, /* [01/May/2024:10:00:00 +0200] */
    TIME_PATTERN,    /* as strptime has it */
};

struct time_format {
    enum time_form form;
    const char *pattern; /* not copied; NULL for the other forms */
    bool guessed;        /* detected in another text: a number must look like this form */
};

/* Parse a value of --time-format: s, ms, us, rfc3339, clf, or a pattern. Returns NULL, or the
 * error. A pattern may contain Y y m d e j H I p M S f b B h a A z F T R D n t and %, each after a
 * %. Names are English; %f is a fraction of a second; a zone is +hhmm, +hh:mm or Z. The pattern
 * must determine the day: year, month and day, or year and j. */
const char *time_format_read(const char *text, struct time_format *f);

/* In words, for messages. */
const char *time_format_words(const struct time_format *f);

/* The only form that matches a text; false if there is none. Numbers are distinguished by their
 * digits, which is correct from 1973 to 2286. */
bool time_guess(struct weir_bytes text, struct time_format *f);

/* Returns false if the text is not such a time. next is the field after it ({NULL, 0} if there is
 * none). If a text of RFC 3339 or a common log has no zone and next is one, such as -0700], that
 * zone is used. */
bool time_read(const struct time_format *f, struct weir_bytes text, struct weir_bytes next,
               int64_t *microseconds);

#endif
