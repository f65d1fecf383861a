/* text.c - see text.h.
 *
 * A table has the folded form and the class of each character below U+10000 that stays one
 * character. The others (accents, Hangul, higher planes) are decomposed by utf8proc, and their
 * combining marks sorted into canonical order. */
#include "near/text.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>

#include <utf8proc.h>

#define WORD_FACTOR UINT64_C(0x9FB21C651E98DF25)
#define SHINGLE_FACTOR UINT64_C(0xC2B2AE3D27D4EB4F)
#define NOT_UTF8 0x110000 /* plus the byte */
#define DOTLESS_I 0x131   /* its capital is I, which folds to i */

enum char_kind { SEPARATES, LETTER, ALONE, IGNORED };

/* table[c]: the folded character, and its class from bit 24 on; SEVERAL: ask utf8proc. */
#define TABLE 0x10000
#define SEVERAL UINT32_MAX
static uint32_t table[TABLE];
static pthread_once_t prepared = PTHREAD_ONCE_INIT;

static bool has_no_spaces(int32_t c)
{
    static const int32_t ranges[][2] = {
        {0x0E00, 0x0EFF}, /* Thai, Lao */
        {0x1000, 0x109F}, /* Burmese */
        {0x1780, 0x17FF}, /* Khmer */
        {0x3040, 0x30FF}, /* kana */
        {0x31F0, 0x31FF},   {0x3400, 0x4DBF}, {0x4E00, 0x9FFF},
        {0xF900, 0xFAFF},   {0xFF66, 0xFF9F}, /* half-width kana */
        {0x20000, 0x3FFFF},                   /* Han */
    };

    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    return false;
}

static enum char_kind kind_of(int32_t c)
{
    if (c >= NOT_UTF8)
        return LETTER;
    if (c >= 0x2000 && c <= 0x206F)
        return SEPARATES;
    utf8proc_category_t category = utf8proc_category(c);
    if (category == UTF8PROC_CATEGORY_CF)
        return IGNORED;
    if ((category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_ZP) ||
        category == UTF8PROC_CATEGORY_CC)
        return SEPARATES;
    return has_no_spaces(c) ? ALONE : LETTER;
}

static bool is_mark(int32_t c)
{
    return c < NOT_UTF8 && utf8proc_get_property(c)->combining_class > 0;
}

/* The case-folded, decomposed form of c. Returns its length. */
static int decompose(int32_t c, int32_t *to, int most)
{
    int boundary = 0;

    if (c >= NOT_UTF8 || (c >= 0x2000 && c <= 0x206F) || c == DOTLESS_I) {
        *to = c == DOTLESS_I ? 'i' : c;
        return 1;
    }
    utf8proc_ssize_t n = utf8proc_decompose_char(
        c, to, most, UTF8PROC_DECOMPOSE | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE, &boundary);
    return n < 0 || n > most ? 0 : (int)n;
}

static void fill_table(void)
{
    for (int32_t c = 0; c < TABLE; c++) {
        int32_t form[8];
        int n = decompose(c, form, 8);

        if (n == 0)
            table[c] = (uint32_t)IGNORED << 24;
        else if (n == 1 && !is_mark(form[0]))
            table[c] = (uint32_t)kind_of(form[0]) << 24 | (uint32_t)form[0];
        else
            table[c] = SEVERAL;
    }
}

void text_prepare(void)
{
    pthread_once(&prepared, fill_table);
}

/* ---- characters ---- */

static const uint8_t *read_character(const uint8_t *at, const uint8_t *end, int32_t *c)
{
    utf8proc_ssize_t n = utf8proc_iterate(at, end - at, c);

    if (n > 0)
        return at + n;
    *c = NOT_UTF8 + *at;
    return at + 1;
}

/* Insertion sort: runs of marks are short. Marks of one class keep their order. */
static void sort_marks(int32_t *c, int n)
{
    for (int i = 1; i < n; i++) {
        int32_t moved = c[i];
        int class = utf8proc_get_property(moved)->combining_class, j = i;

        while (is_mark(moved) && j > 0 &&
               utf8proc_get_property(c[j - 1])->combining_class > class) {
            c[j] = c[j - 1];
            j--;
        }
        c[j] = moved;
    }
}

/* Decompose c and the marks that follow it into the queue. */
static void fill_queue(struct shingles *s, int32_t c)
{
    s->taken = 0;
    s->queued = decompose(c, s->queue, MARKS_MAX);
    while (s->at < s->end && *s->at >= 0x80 && s->queued + 8 <= MARKS_MAX) {
        const uint8_t *behind = read_character(s->at, s->end, &c);

        if (!is_mark(c))
            break;
        s->queued += decompose(c, s->queue + s->queued, MARKS_MAX - s->queued);
        s->at = behind;
    }
    sort_marks(s->queue, s->queued);
}

/* The next character with its class, as in the table. False at the end. */
static inline bool next_character(struct shingles *s, uint32_t *entry)
{
    while (s->taken == s->queued) {
        int32_t c;

        if (s->at == s->end)
            return false;
        if (*s->at < 0x80) {
            *entry = table[*s->at++];
            return true;
        }
        s->at = read_character(s->at, s->end, &c);
        if (c < TABLE && table[c] != SEVERAL) {
            *entry = table[c];
            return true;
        }
        fill_queue(s, c);
    }
    int32_t c = s->queue[s->taken++];
    *entry = (uint32_t)kind_of(c) << 24 | (uint32_t)c;
    return true;
}

/* ---- words ----
 *
 * The hash of a word is that of its folded characters: one byte of an ASCII character and three of
 * another, of which only the last one has its high bit set. They are hashed in blocks of 8 bytes,
 * and the last block is filled up with zeros. */

struct word {
    uint64_t hash, block;
    uint32_t bits; /* of the block that are used */
    bool begun;
};

static inline void append(struct word *w, uint64_t bytes, uint32_t bits)
{
    if (bits == 0)
        return;
    w->begun = true;
    w->block |= bytes << w->bits;
    w->bits += bits;
    if (w->bits < 64)
        return;
    w->hash = (w->hash ^ near_mix(w->block)) * WORD_FACTOR;
    w->bits -= 64;
    w->block = w->bits ? bytes >> (bits - w->bits) : 0;
}

/* The next 8 bytes, the first one lowest; zeros behind the end. */
static inline uint64_t load8(const uint8_t *at, const uint8_t *end)
{
    uint64_t bytes = 0;

    if (end - at >= 8)
        memcpy(&bytes, at, 8);
    else if (at < end)
        memcpy(&bytes, at, (size_t)(end - at));
    return le64toh(bytes);
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The high bit of each byte that is an ASCII letter or digit. */
static inline uint64_t letters_and_digits(uint64_t bytes)
{
    uint64_t low = bytes & EACH(0x7F), small = low | EACH(0x20);
    uint64_t letters = (small + EACH(0x80 - 'a')) & ~(small + EACH(0x7F - 'z'));
    uint64_t digits = (low + EACH(0x80 - '0')) & ~(low + EACH(0x7F - '9'));

    return (letters | digits) & ~bytes & EACH(0x80);
}

/* Append ASCII letters and digits. Bit 0x20 makes a letter small, and every digit has it. */
static inline void append_ascii(struct shingles *s, struct word *w)
{
    uint32_t bits;

    do {
        uint64_t bytes = load8(s->at, s->end), others = ~letters_and_digits(bytes) & EACH(0x80);

        bits = others ? (uint32_t)__builtin_ctzll(others) & 0x78 : 64;
        bytes |= EACH(0x20);
        append(w, bits < 64 ? bytes & ((UINT64_C(1) << bits) - 1) : bytes, bits);
        s->at += bits / 8;
    } while (bits == 64);
}

static void append_character(struct word *w, uint32_t c)
{
    if (c < 0x80)
        append(w, c, 8);
    else
        append(w, (c & 0x7F) | (c & 0x3F80) << 1 | (c >> 14) << 16 | 0x800000, 24);
}

static bool next_word(struct shingles *s, uint64_t *hash)
{
    struct word w = {.hash = s->seed};
    uint32_t entry;

    for (;;) {
        if (!s->pending && s->taken == s->queued) {
            append_ascii(s, &w);
            if (s->at < s->end && *s->at < 0x80) { /* separates */
                s->at++;
                if (w.begun)
                    break;
                continue;
            }
        }
        if (s->pending)
            entry = s->pending;
        else if (!next_character(s, &entry))
            break;
        s->pending = 0;
        enum char_kind kind = entry >> 24;
        if (kind == SEPARATES && w.begun)
            break;
        if (kind == IGNORED || kind == SEPARATES)
            continue;
        if (kind == ALONE && w.begun) {
            s->pending = entry;
            break;
        }
        append_character(&w, entry & 0xFFFFFF);
        if (kind == ALONE)
            break;
    }
    *hash = near_mix(w.hash ^ w.block);
    return w.begun;
}

/* ---- shingles ---- */

void shingles_start(struct shingles *s, const void *text, size_t size, uint32_t width,
                    uint64_t seed)
{
    memset(s, 0, sizeof *s);
    s->begin = s->at = text;
    s->end = s->at + size;
    s->width = width;
    s->seed = seed;
    s->oldest_power = 1;
    for (uint32_t i = 0; i < width; i++)
        s->oldest_power *= SHINGLE_FACTOR;
}

/* The hash of a shingle is a polynomial of its words; the next one costs one step. */
static void add_word(struct shingles *s, uint64_t word)
{
    s->rolling = s->rolling * SHINGLE_FACTOR + word - s->word[s->next] * s->oldest_power;
    s->word[s->next] = word;
    s->next = s->next + 1 == s->width ? 0 : s->next + 1;
    s->words++;
}

static uint64_t hash_bytes(const struct shingles *s)
{
    uint64_t h = ~s->seed;

    for (const uint8_t *at = s->begin; at < s->end; at++)
        h = (h ^ *at) * WORD_FACTOR;
    return near_mix(h);
}

size_t shingles_next(struct shingles *s, uint64_t *out, size_t max)
{
    uint64_t word;
    size_t n = 0;

    while (n < max && next_word(s, &word)) {
        add_word(s, word);
        if (s->words >= s->width)
            out[n++] = near_mix(s->rolling);
    }
    if (n < max && !s->done) {
        s->done = true;
        if (s->words < s->width)
            out[n++] = s->words ? near_mix(s->rolling + s->words) : hash_bytes(s);
    }
    return n;
}
