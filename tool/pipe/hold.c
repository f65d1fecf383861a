/* hold.c - see hold.h. */
#include "pipe/hold.h"

#include "cli/signals.h"

#define PAUSE 1000 /* milliseconds after which an input pauses; a guess */

bool hold_all(struct reader *r, struct batch *b)
{
    return r->hold.wait && !r->heads && b->n <= LOOK_AHEAD && r->hold.wait(r->hold.context, b);
}

int hold_patience(struct reader *r, const struct batch *b)
{
    int patience = r->bytes.patience;

    if (b->n > 0)
        r->bytes.patience = r->hold.at_once ? 0 : PAUSE;
    return patience;
}

/* The records from this one on are left in the bytes that are given back. */
static void cut(struct reader *r, struct batch *b, uint32_t n)
{
    size_t end = record_begin(b, n);

    for (uint32_t i = n; b->bads && i < b->n; i++) {
        b->bads -= b->bad[i];
        b->bad[i] = 0;
    }
    b->n = n;
    r->scanned = end;
    r->csv = (struct csv_scan){.at = end, .start = end, .field = end};
}

/* All that the file has is in the batch. */
static bool is_all(const struct reader *r, const struct batch *b, size_t filled)
{
    return r->bytes.ended && record_begin(b, b->n) >= filled && bytes_left(&r->bytes) == 0;
}

void hold_back(struct reader *r, struct batch *b, size_t filled, bool came)
{
    bool more = (came || signals_caught()) && !is_all(r, b, filled) && b->n > 0 && !b->failed;

    b->aheads = 0;
    if (more && r->hold.wait && r->hold.wait(r->hold.context, b)) {
        uint32_t held = b->n < LOOK_AHEAD ? b->n : LOOK_AHEAD;

        for (uint32_t i = 0; i < held; i++)
            b->ahead[i] = r->hold.time(r->hold.context, b, b->n - held + i);
        b->aheads = held;
        cut(r, b, b->n - held);
    }
}
