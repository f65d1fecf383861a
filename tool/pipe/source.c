/* source.c - see source.h. */
#include "pipe/source.h"

#include <unistd.h>

#include "cli/messages.h"

#define PATIENCE 200 /* milliseconds, where something is to be done meanwhile */

bool source_open(struct file_source *s, const struct records *r, struct inputs inputs,
                 const char *command, bool quiet)
{
    *s = (struct file_source){0};
    read_open(&s->reader, r, inputs);
    if (inputs.count == 0 && isatty(0) && !quiet)
        note("reading from the terminal; Ctrl-D ends, 'weir help %s' explains", command);
    if (!pick_open(&s->picker, r))
        return false;
    s->picker.quiet = quiet;
    return true;
}

void source_close(struct file_source *s)
{
    read_close(&s->reader);
    pick_close(&s->picker);
}

void source_hurry(struct file_source *s)
{
    s->reader.bytes.patience = PATIENCE;
}

/* The time that filters with span= go by: that of reading. */
static enum read_result read_records(void *context, struct batch *b)
{
    struct file_source *s = context;
    enum read_result result = read_batch(&s->reader, b);

    b->read_at = time_of_day();
    if (pick_learn(&s->picker, s->reader.header, s->reader.header_size, b))
        return result;
    s->refused_header = true;
    return READ_BATCH;
}

static void pick_keys(void *context, struct batch *b)
{
    const struct file_source *s = context;

    pick_batch(&s->picker, b);
}

struct source source_of_files(struct file_source *s)
{
    return (struct source){.context = s, .read = read_records, .prepare = pick_keys};
}
