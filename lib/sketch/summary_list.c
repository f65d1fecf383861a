/* summary_list.c - a summary as a list: the keys with the highest counts, and the saved bytes. */
#include "sketch/half_life.h"
#include "sketch/summary.h"

/* Highest count first; equal counts by lower error, then by bytes. */
static bool ahead_of(const struct weir_heavy *a, const struct weir_heavy *b)
{
    size_t size = a->key.size < b->key.size ? a->key.size : b->key.size;

    if (a->count != b->count)
        return a->count > b->count;
    if (a->error != b->error)
        return a->error < b->error;
    int order = size ? memcmp(a->key.data, b->key.data, size) : 0;
    return order ? order < 0 : a->key.size < b->key.size;
}

/* A heap of the best entries, the worst of them on top. */
static void settle(struct weir_heavy *list, size_t i, size_t n)
{
    struct weir_heavy moved = list[i];

    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && ahead_of(&list[child], &list[child + 1]))
            child++;
        if (!ahead_of(&moved, &list[child]))
            break;
        list[i] = list[child];
    }
    list[i] = moved;
}

static void make_heap(struct weir_heavy *list, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        settle(list, i, n);
}

/* Sort a heap in the order of ahead_of(). */
static void sort_heap(struct weir_heavy *list, size_t n)
{
    for (size_t end = n; end > 1; end--) {
        struct weir_heavy worst = list[0];

        list[0] = list[end - 1];
        list[end - 1] = worst;
        settle(list, 0, end - 1);
    }
}

void summary_sort(struct weir_heavy *list, size_t n)
{
    make_heap(list, n);
    sort_heap(list, n);
}

size_t summary_top(const weir_sketch *s, struct weir_heavy *out, size_t n)
{
    const struct summary *m = summary_of(s);
    size_t found = m->n < n ? m->n : n;

    for (uint32_t i = 0; found > 0 && i < m->n; i++) {
        const struct entry *e = &m->entries[i];
        struct weir_heavy heavy = {key_of(m, e), e->count, head_of(m, e)->error};

        if (i < found) {
            out[i] = heavy;
            if (i + 1 == found)
                make_heap(out, found);
        } else if (ahead_of(&heavy, &out[0])) {
            out[0] = heavy;
            settle(out, 0, found);
        }
    }
    sort_heap(out, found);
    return found;
}

/* Upper bounds are rounded up, lower bounds down. */
void summary_scale(weir_sketch *s, int64_t steps)
{
    struct summary *m = summary_of(s);

    for (uint32_t i = 0; i < m->n; i++) {
        struct entry *e = &m->entries[i];
        struct head *head = head_of(m, e);
        uint64_t least = fade_scale(e->count - head->error, steps, false);

        e->count = fade_scale(e->count, steps, true);
        head->error = e->count - least;
        m->bounds[i >> m->block] = 0; /* unknown until the next sweep */
    }
    for (uint64_t i = 0; i < m->unkept_count; i++)
        m->unkept[i] = fade_scale(m->unkept[i], steps, true);
    m->floor = fade_scale(m->floor, steps, true);
    m->too_long = fade_scale(m->too_long, steps, true);
    m->low = m->cursor = 0;
}

/* ---- saving ---- */

#define SUMMARY_HEAD 20 /* floor, too long, n */
#define ENTRY_HEAD 20   /* count, error, size */

uint64_t summary_size(const weir_sketch *s)
{
    const struct summary *m = summary_of(s);
    uint64_t size = SUMMARY_HEAD + m->unkept_count * sizeof *m->unkept;

    for (uint32_t i = 0; i < m->n; i++)
        size += ENTRY_HEAD + key_of(m, &m->entries[i]).size;
    return size;
}

void summary_put(const weir_sketch *s, struct part_writer *out)
{
    const struct summary *m = summary_of(s);

    part_put64(out, m->floor);
    part_put64(out, m->too_long);
    part_put32(out, m->n);
    for (uint32_t i = 0; i < m->n; i++) {
        struct weir_bytes key = key_of(m, &m->entries[i]);

        part_put64(out, m->entries[i].count);
        part_put64(out, head_of(m, &m->entries[i])->error);
        part_put32(out, (uint32_t)key.size);
        part_put(out, key.data, key.size);
    }
    for (uint64_t i = 0; i < m->unkept_count; i++)
        part_put64(out, m->unkept[i]);
}

/* Load one key. It must be possible, and not be stored yet. */
static bool get_key(weir_sketch *s, struct part_reader *in)
{
    struct summary *m = summary_of(s);
    const uint8_t *p = part_get(in, ENTRY_HEAD), *bytes;

    if (!p || !(bytes = part_get(in, bits_load32(p + 16))))
        return false;
    struct weir_bytes key = {bytes, bits_load32(p + 16)};
    uint64_t hash = sketch_hash(s, key).lo, count = bits_load64(p), error = bits_load64(p + 8);
    if (!arena_takes(m, key.size) || !summary_fits(m, key.size) || count == 0 || error > count ||
        summary_find(m, key, hash))
        return false;
    summary_insert(m, key, hash, count, error);
    return true;
}

static bool get_unkept(struct summary *m, struct part_reader *in)
{
    const uint8_t *p = part_get(in, m->unkept_count * sizeof *m->unkept);

    for (uint64_t i = 0; p && i < m->unkept_count; i++) {
        m->unkept[i] = bits_load64(p + 8 * i);
        if (m->unkept[i] > m->floor)
            return false;
    }
    return p != NULL;
}

bool summary_get(weir_sketch *s, struct part_reader *in)
{
    struct summary *m = summary_of(s);
    const uint8_t *p = part_get(in, SUMMARY_HEAD);

    if (!p)
        return false;
    m->floor = bits_load64(p);
    m->too_long = bits_load64(p + 8);
    for (uint32_t n = bits_load32(p + 16); n > 0; n--)
        if (!get_key(s, in))
            return false;
    return get_unkept(m, in) && m->too_long <= s->total;
}
