/* stand_in.h - a minimal server that runs the module inside a test process.
 *
 * It implements the calls in abi.h: strings, keys in a few databases, types, replies whose
 * structure it checks, replicated commands, RDB and AOF in memory, allocation failures, and
 * defragmentation that moves blocks. So the module runs under sanitizers and the fuzzer, and in
 * states that a real server rarely reaches. */
#ifndef SUPPORT_STAND_IN_H
#define SUPPORT_STAND_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <weir.h>

/* Databases: the clients', the replica's, and one to load into. */
enum { STAND_IN_MASTER, STAND_IN_REPLICA, STAND_IN_LOADED, STAND_IN_DATABASES };

/* Load the module with these arguments; call it once per process. Returns false if the module
 * rejects them. */
bool stand_in_load(const char *const *arguments, int n);

/* Run a command line as a client. Returns the reply as text: 1, "bytes", -error, nil, [a b]; it is
 * valid until the next call. What the command replicates runs on the replica. */
const char *stand_in_say(const struct weir_bytes *words, size_t n);

/* The same with words that end with NULL. */
const char *stand_in_tell(const char *first, ...);

/* Returns true if all keys of two databases are equal, compared by digest. */
bool stand_in_alike(int a, int b);

/* Save the master's keys and load them into STAND_IN_LOADED, as RDB or as AOF. */
void stand_in_reload(void);
void stand_in_rewrite(void);

/* Load bytes in pieces as the RDB value of the i-th type. Returns false if they are rejected. */
bool stand_in_restore(const char *key, size_t i, const void *data, size_t size, size_t piece);

/* The same from the fields of a value, in a type by name; a number is a field of 8 bytes. */
bool stand_in_restore_fields(const char *key, const char *type, const struct weir_bytes *fields,
                             size_t n);

/* The bytes of the last reply, at most as many as fit in the buffer. */
struct weir_bytes stand_in_last(void);

/* Copy and defragment every key of the master, and check that its content does not change. */
void stand_in_copy(void);
void stand_in_defrag(void);

/* Do the replica and the copies by RDB, AOF and COPY have the master's keys? Deletes all keys; then
 * the module must hold no memory. */
bool stand_in_copies_alike(void);

/* From now on the n-th allocation and all later ones fail; 0: none. */
void stand_in_fail(size_t n);
size_t stand_in_allocations(void); /* since stand_in_fail() */

/* Bytes that the module has allocated. */
size_t stand_in_held(void);

/* Advance the server's system clock. */
void stand_in_set_clock(long long milliseconds);

/* Delete all keys. */
void stand_in_flush(void);

#endif
