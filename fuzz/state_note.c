/* state_note.c - any text given as the note of a state file is parsed, or rejected as foreign. A
 * note that was parsed or created, then written, parses to the same value.
 *
 * Input: a byte that selects either a note, or the fields of a state: six 8-byte numbers, then the
 * spec, the key description and the name of the input, separated by NULs. */
#include "fuzz.h"
#include "state/state.h"

#include <stdlib.h>
#include <string.h>

#define NUMBERS 6

static bool same_position(const struct position *a, const struct position *b)
{
    return a->known == b->known && a->file == b->file && a->offset == b->offset &&
           a->line == b->line && a->unfinished == b->unfinished;
}

static bool same_mark(const struct input_mark *a, const struct input_mark *b)
{
    return a->device == b->device && a->inode == b->inode && a->head_size == b->head_size &&
           a->tail_size == b->tail_size && strcmp(a->head, b->head) == 0 &&
           strcmp(a->tail, b->tail) == 0;
}

static bool same_output(const struct state_output *a, const struct state_output *b)
{
    return a->used == b->used && a->cut == b->cut && a->length == b->length &&
           strcmp(a->written, b->written) == 0;
}

static void require_read_back(const struct state *s)
{
    static struct state again;
    static char text[NOTE_MAX];

    state_write(s, text);
    require(strlen(text) < NOTE_MAX - 1 && state_read(text, &again));
    require(same_position(&s->position, &again.position) && same_mark(&s->mark, &again.mark));
    require(strcmp(s->config, again.config) == 0 && strcmp(s->records, again.records) == 0);
    require(strcmp(s->input, again.input) == 0);
    require(same_output(&s->output, &again.output) && same_output(&s->rejects, &again.rejects));
    require(memcmp(&s->sums, &again.sums, sizeof s->sums) == 0);
}

/* The next text of the input, truncated to the buffer. */
static void take_text(const uint8_t **at, const uint8_t *end, char *out, size_t room)
{
    size_t n = strnlen((const char *)*at, (size_t)(end - *at));

    memcpy(out, *at, n < room ? n : room - 1);
    out[n < room ? n : room - 1] = '\0';
    *at += n + (*at + n < end);
}

static void make(struct state *s, const uint8_t *at, const uint8_t *end)
{
    uint64_t number[NUMBERS];

    memcpy(number, at, sizeof number);
    at += sizeof number;
    s->position = (struct position){.known = number[0] & 1,
                                    .file = (uint32_t)(number[0] >> 32),
                                    .offset = number[1],
                                    .line = number[2],
                                    .unfinished = number[0] >> 2 & 0xff};
    s->mark = (struct input_mark){.device = number[3],
                                  .inode = number[4],
                                  .head_size = (uint32_t)(number[1] % (TRACE_BYTES + 1)),
                                  .tail_size = (uint32_t)(number[2] % (TRACE_BYTES + 1)),
                                  .head = "00112233445566778899aabbccddeeff",
                                  .tail = "ffeeddccbbaa99887766554433221100"};
    s->output = (struct state_output){.used = true, .cut = number[0] >> 1 & 1, .length = number[5]};
    s->rejects = (struct state_output){
        .used = number[0] >> 2 & 1, .cut = number[0] >> 3 & 1, .length = number[4]};
    s->sums.records = number[3];
    s->sums.audited = number[0] >> 4 & 1;
    s->sums.false_positives = (double)number[2];
    strcpy(s->output.written, number[0] >> 10 & 1 ? "0123456789abcdef0123456789abcdef" : "");
    take_text(&at, end, s->config, sizeof s->config);
    s->config[strcspn(s->config, "\n")] = '\0'; /* a spec has no line break */
    take_text(&at, end, s->records, sizeof s->records);
    take_text(&at, end, s->input, sizeof s->input);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct state s;
    static char text[NOTE_MAX];
    const uint8_t *end = data + size;

    memset(&s, 0, sizeof s);
    if (size == 0)
        return 0;
    if (*data++ % 2) {
        take_text(&data, end, text, sizeof text);
        if (state_read(text, &s))
            require_read_back(&s);
    } else if (size > NUMBERS * sizeof(uint64_t)) {
        make(&s, data, end);
        require_read_back(&s);
    }
    return 0;
}
