/* key_access.h - a key that a command opens: look, answer what is wrong, close. */
#ifndef MODULE_KEY_ACCESS_H
#define MODULE_KEY_ACCESS_H

#include "value/value.h"

struct opened {
    struct rm_key *key;
    void *value;  /* of the family asked for, or NULL */
    bool wrong;   /* there is something else */
    bool loading; /* it is being loaded in chunks, and can do nothing yet */
};

/* Open the key of a command, argv[1] as a rule. */
struct opened key_open(struct rm_ctx *ctx, struct rm_string *name, int mode,
                       const struct family *family);

/* Did the server call a command just to know its keys: a destination, their number and as many
 * sources? Then it was told. A cluster of Redis 7.0 takes it from here alone. */
bool keys_were_asked(struct rm_ctx *ctx, struct rm_string **argv, int argc);

/* Close it; returns RM_OK, to end a command with. */
int key_close(struct opened *o);

/* Answer a key of another kind and close it. */
int key_refuse(struct rm_ctx *ctx, struct opened *o);

/* A change is complete: tell the replicas the command as it came, and those who listen to
 * the key. */
void key_changed(struct rm_ctx *ctx, struct rm_string *name, struct value *v, const char *event);

/* The same where the replicas were told already. */
void key_told(struct rm_ctx *ctx, struct rm_string *name, struct value *v, const char *event);

#endif
