/* replace.h - atomic replacement of files. */
#ifndef WEIR_STATE_REPLACE_H
#define WEIR_STATE_REPLACE_H

#include <weir.h>

/* Check that a file can be saved, and lock it, before the work starts. False after a message. */
bool replace_possible(const char *path);

/* May the existing file be replaced? A regular file that is not empty must start with `begin`, and
 * contain `within` (unless NULL) in its first 1024 bytes. False after a message "not `kind`". */
bool replace_spares(const char *path, const char *begin, const char *within, const char *kind);
#define REPLACES_FILTER "WEIR", NULL, "a filter file"
#define REPLACES_REPORT "<!DOCTYPE html>", "<title>weir: ", "a report of weir"
#define REPLACES_AUDIT "{\n  \"weir_audit\": ", NULL, "an audit file"
#define REPLACES_METRICS "# HELP weir_", NULL, "metrics of weir"

/* Replace a file by the output of `write`, keeping owner and mode. Devices and pipes are written
 * to. False after a message; if `write` returns WEIR_BAD_DATA, it has printed the message itself.
 */
typedef enum weir_status (*writes_to_sink)(const void *what, weir_sink sink, void *into);
bool replace_file(const char *path, writes_to_sink write, const void *what);

/* Replace a file by a text, without locking. durable: fsync it first. Returns false and errno
 * without a message. */
bool replace_text(const char *path, const char *text, size_t size, bool durable);

#endif
