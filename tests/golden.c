/* golden.c - see golden.h. */
#include "golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAM 300

weir *golden_filter(const char *name)
{
    weir *w = open_filtered("%s memory=200 seed=2012", name);
    struct weir_key *keys = stream_of(w, STREAM, 3);

    for (size_t i = 0; i < STREAM; i++)
        weir_observe(w, keys[i]);
    free(keys);
    return w;
}

void golden_note(const weir *w, char note[GOLDEN_NOTE])
{
    struct weir_stats stats = weir_stats(w);
    int n = (int)weir_config(w, note, GOLDEN_NOTE);

    n += snprintf(note + n, (size_t)(GOLDEN_NOTE - n),
                  "\nmemory %d shown %d seen %d fresh %d fill %.4f error %.4f\n", (int)stats.memory,
                  (int)stats.shown, (int)stats.seen, (int)stats.fresh, stats.fill, stats.error);
    for (uint64_t i = 0; i < 100; i++) /* of the stream's last, if they were new, and others */
        note[n++] = (char)('0' + weir_ask(w, numbered(w, UINT64_C(3) << 32 | (i + STREAM - 50))));
    strcpy(note + n, "\n");
}
