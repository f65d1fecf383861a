/* under_way.c - see under_way.h. Two parts: the note, and one of our own, whose first byte says
 * whether the run was going on. */
#include "state/under_way.h"

#include <stdlib.h>
#include <string.h>

#include "cli/messages.h"
#include "state/replace.h"
#include "state/whole_file.h"

#define PART_UNDER_WAY 0x5780

struct writing_contents {
    const char *note;
    const uint8_t *body;
    size_t size;
};

static enum weir_status write_contents(const void *what, weir_sink sink, void *into)
{
    const struct writing_contents *c = what;
    enum weir_status status =
        weir_part_write(WEIR_PART_NOTE, c->note, strlen(c->note), sink, into, NULL);

    if (status == WEIR_OK)
        status = weir_part_write(PART_UNDER_WAY, c->body, c->size, sink, into, NULL);
    return status;
}

bool under_way_save(const char *path, const char *note, const struct under_way *u)
{
    uint8_t *body = malloc(u->size + 1);
    bool saved;

    if (!body)
        return reject("cannot save %s: memory is short", path);
    body[0] = u->going;
    if (u->size)
        memcpy(body + 1, u->data, u->size);
    saved = replace_file(path, write_contents, &(struct writing_contents){note, body, u->size + 1});
    free(body);
    return saved;
}

/* ---- loading ---- */

static bool take_note(const struct weir_part *part, struct state *s)
{
    static char note[NOTE_MAX];

    if (part->kind != WEIR_PART_NOTE || part->body_size >= sizeof note)
        return false;
    memcpy(note, part->body, part->body_size);
    note[part->body_size] = '\0';
    return state_read(note, s);
}

static bool take_rest(const struct weir_part *part, struct under_way *u)
{
    const uint8_t *body = part->body;
    uint8_t *copy;

    if (part->kind != PART_UNDER_WAY || part->body_size < 1)
        return false;
    copy = malloc(part->body_size);
    if (!copy)
        return false;
    memcpy(copy, body + 1, part->body_size - 1);
    *u = (struct under_way){copy, part->body_size - 1, body[0]};
    return true;
}

bool under_way_load(const char *path, struct state *s, struct under_way *u)
{
    struct weir_part part;
    size_t size;
    uint8_t *data = whole_file(path, &size);

    if (!data)
        return false;
    bool good =
        weir_part_read(data, size, &part, sizeof part, NULL) == WEIR_OK && take_note(&part, s);
    size_t first = good ? part.size : 0;
    good = good &&
           weir_part_read(data + first, size - first, &part, sizeof part, NULL) == WEIR_OK &&
           take_rest(&part, u);
    free(data);
    return good || reject("%s is no state of a run with --at, or it is damaged; name another, or "
                          "remove it to start anew",
                          path);
}
