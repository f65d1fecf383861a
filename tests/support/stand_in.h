/* stand_in.h - a small server for the module, in the process of a test.
 *
 * It has what abi.h asks for and nothing more: strings, keys in a few databases, types, replies
 * that it checks for their shape, commands that are replicated, RDB and AOF in memory, memory
 * that may run short and blocks that move. So the module runs under the sanitizers, under the
 * fuzzer, and where a real server would not bring it. */
#ifndef SUPPORT_STAND_IN_H
#define SUPPORT_STAND_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <weir.h>

/* Databases: the one of clients, its replica, and one to load into. */
enum { STAND_IN_MASTER, STAND_IN_REPLICA, STAND_IN_LOADED, STAND_IN_DATABASES };

/* Load the module with arguments; true if it took them. Once in a process. */
bool stand_in_load(const char *const *arguments, int n);

/* Let a client say words; what it is told, as text: 1, "bytes", -error, nil, [a b]. It is there up
 * to the next call. What the command replicates is carried out on the replica. */
const char *stand_in_say(const struct weir_bytes *words, size_t n);

/* The same of words that end with NULL. */
const char *stand_in_tell(const char *first, ...);

/* Is every key of two databases the same, by its digest? */
bool stand_in_alike(int a, int b);

/* Save the master's keys and load them into STAND_IN_LOADED: as an RDB, as an AOF. */
void stand_in_reload(void);
void stand_in_rewrite(void);

/* Load bytes as the RDB of a value of the i-th type, in pieces: was it taken? */
bool stand_in_restore(const char *key, size_t i, const void *data, size_t size, size_t piece);

/* The last bytes that were an answer; as many as there was room for. */
struct weir_bytes stand_in_last(void);

/* Copy and defragment every key of the master; each must stay what it was. */
void stand_in_copy(void);
void stand_in_defrag(void);

/* From now on the n-th allocation fails, and those after it; 0: none. */
void stand_in_fail(size_t n);
size_t stand_in_allocations(void); /* since stand_in_fail() */

/* Bytes that the module holds. */
size_t stand_in_held(void);

/* Set the server's wall clock ahead. */
void stand_in_set_clock(long long milliseconds);

/* No keys any more. */
void stand_in_flush(void);

#endif
