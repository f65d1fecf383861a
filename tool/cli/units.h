/* units.h - parse and format numbers with units. Sizes use powers of 1024, counts powers of 1000,
 * rates fractions or percentages. Parsers fail unless the whole word is valid. */
#ifndef WEIR_CLI_UNITS_H
#define WEIR_CLI_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool read_whole(const char *word, uint64_t *out);
bool read_number(const char *word, uint32_t *out, uint32_t most); /* 1 to most */
bool read_size(const char *word, uint64_t *bytes);                /* 64K, 1MB, 2GiB, 64m */
bool read_count(const char *word, uint64_t *out);                 /* 500, 10k, 1M */
bool read_seconds(const char *word, double *seconds);             /* 30s, 5m, 1h, 10ms */
bool read_rate(const char *word, double *out);                    /* 0.3, 30%, 3/10; 0..1 */

struct shown {
    char text[24];
};

struct shown show_count(double n);          /* 12.3M */
struct shown show_bytes(double n);          /* 64.0 MiB */
struct shown show_chance(double p);         /* 1.25 %, 1 in 23.1M */
struct shown show_time(double seconds);     /* 1:02:03 */
struct shown show_duration(double seconds); /* 1.5 hours, 250 ms */

#endif
