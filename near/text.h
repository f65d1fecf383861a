/* text.h - text -> words -> hashes of shingles.
 *
 * A word is a run of letters, marks and digits. Case is folded and characters are decomposed
 * canonically, so that NFC and NFD give equal hashes. Everything else separates words. Scripts
 * without spaces (Han, kana, Thai, Lao, Burmese, Khmer) have one word per character. Bytes that
 * are not UTF-8 count as letters. */
#ifndef WEIR_NEAR_TEXT_H
#define WEIR_NEAR_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/near.h>

#define MARKS_MAX 32 /* longer runs of combining marks are not reordered across this limit */

struct shingles {
    const uint8_t *at, *begin, *end;
    uint64_t seed, rolling, oldest_power;
    uint64_t word[WEIR_NEAR_SHINGLE_MAX]; /* the last ones, in a ring */
    uint32_t width, next;
    uint64_t words;
    int32_t queue[MARKS_MAX]; /* decomposed characters not yet read */
    int queued, taken;
    uint32_t pending; /* a character that was read, but begins the next word; 0: none */
    bool done;
};

/* Build the table of characters. Call once before any text is read; later calls do nothing. */
void text_prepare(void);

void shingles_start(struct shingles *s, const void *text, size_t size, uint32_t width,
                    uint64_t seed);

/* The next hashes, at most max; 0 at the end. A text of fewer words than a shingle has one shingle.
 * So has a text without words: all of its bytes. */
size_t shingles_next(struct shingles *s, uint64_t *out, size_t max);

static inline uint64_t near_mix(uint64_t x)
{
    x = (x ^ (x >> 32)) * UINT64_C(0xD6E8FEB86659FD93);
    x = (x ^ (x >> 32)) * UINT64_C(0xD6E8FEB86659FD93);
    return x ^ (x >> 32);
}

#endif
