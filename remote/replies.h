/* replies.h - replies of a server, of which nothing is believed: every array and every reply
 * has a most. An array of verdicts goes straight to where it is wanted, without an object
 * for each. */
#ifndef WEIR_REMOTE_REPLIES_H
#define WEIR_REMOTE_REPLIES_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

/* What the next reply is to be. */
struct reply_wish {
    uint8_t *verdicts; /* NULL: any reply, as an object */
    uint32_t n;
    bool taking; /* an array of n has begun */
    bool wrong;  /* something in it is no verdict */
};

struct reply_reader {
    redisReader *reader;
    struct reply_wish wish;
    size_t came; /* bytes since the last whole reply */
    bool begun;  /* a reply is under way */
};

bool reply_open(struct reply_reader *r);
void reply_close(struct reply_reader *r);

/* Take bytes that came. False if memory is short, or a reply would be longer than any of
 * ours. */
bool reply_feed(struct reply_reader *r, const char *bytes, size_t size);

/* The next whole reply, which is to be what the wish says. REPLY_VERDICTS: they are where
 * they were wanted. REPLY_OBJECT: an error of the server, or whatever else it said; to be
 * freed. */
enum reply_kind { REPLY_NONE, REPLY_VERDICTS, REPLY_OBJECT, REPLY_GARBAGE };
enum reply_kind reply_next(struct reply_reader *r, redisReply **object);

#endif
