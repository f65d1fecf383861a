/* bytes_out.h - the body of a part that is ours alone: numbers of 8 bytes, and bytes. */
#ifndef MODULE_BYTES_OUT_H
#define MODULE_BYTES_OUT_H

#include <stdbool.h>
#include <weir.h>

/* Grows in server memory; begins as {0}. */
struct bytes_out {
    uint8_t *data;
    size_t size, room;
    bool failed;
};

void put_bytes(struct bytes_out *out, const void *data, size_t size);
void put_number(struct bytes_out *out, uint64_t number);

/* Write it as a part and give its memory back. False if the sink refused, or memory was short. */
bool put_part(struct bytes_out *out, uint32_t kind, weir_sink sink, void *context);

/* Take from the front; false if there is not as much. to may be NULL. */
bool get_bytes(struct weir_bytes *in, void *to, size_t size);
bool get_number(struct weir_bytes *in, uint64_t *number);

#endif
