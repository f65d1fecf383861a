/* module.c - random commands to weir.so in a simulated server: the parser of every command, and the
 * loaders, with correct checksums. Afterwards a replica, an RDB, an AOF and a copy must have the
 * same bytes, and no memory may be leaked.
 *
 * A command is a byte with the number of its words. A word is a byte: below 64, that many bytes
 * follow; otherwise a word of the list, the last reply, the last reply with one byte changed, or
 * the assembled image. */
#include <stdlib.h>
#include <string.h>
#include <weir.h>

#include "fuzz.h"
#include "input.h"
#include "support/stand_in.h"
#include "value/value.h"

static const char *const words[] = {
    "a",
    "b",
    "c",
    "d",
    "item",
    "0",
    "1",
    "2",
    "5",
    "100",
    "0.01",
    "0.5",
    "4294967295",
    "9223372036854775807",
    "-1",
    "recent memory=256 seed=1",
    "bloom memory=128 seed=1",
    "counting memory=128 seed=1",
    "recent memory=256 span=1s seed=2",
    "NX",
    "AT",
    "ONCE",
    "WEIGHTED",
    "HASHED",
    "ITEMS",
    "CHUNK",
    "EXPANSION",
    "NONSCALING",
    "CAPACITY",
    "ERROR",
    "SEED",
    "TIGHTENING",
    "NOCREATE",
    "WEIGHTS",
    "WITHCOUNT",
    "VALIDATESCALETO",
    "WEIR.CREATE",
    "WEIR.OBSERVE",
    "WEIR.ASK",
    "WEIR.FORGET",
    "WEIR.MERGE",
    "WEIR.INFO",
    "WEIR.SAVE",
    "WEIR.LOAD",
    "BF.RESERVE",
    "BF.ADD",
    "BF.MADD",
    "BF.INSERT",
    "BF.EXISTS",
    "BF.MEXISTS",
    "BF.CARD",
    "BF.INFO",
    "BF.DEBUG",
    "BF.SCANDUMP",
    "BF.LOADCHUNK",
    "CMS.INITBYDIM",
    "CMS.INITBYPROB",
    "CMS.INCRBY",
    "CMS.QUERY",
    "CMS.MERGE",
    "CMS.INFO",
    "TOPK.RESERVE",
    "TOPK.ADD",
    "TOPK.INCRBY",
    "TOPK.QUERY",
    "TOPK.COUNT",
    "CF.RESERVE",
    "CF.ADD",
    "CF.ADDNX",
    "CF.INSERT",
    "CF.INSERTNX",
    "CF.EXISTS",
    "CF.COUNT",
    "CF.DEL",
    "CF.INFO",
    "CF.SCANDUMP",
    "CF.LOADCHUNK",
    "TOPK.LIST",
    "TOPK.INFO",
    "DEL",
    "CF.COMPACT",
    "FILTERS",
    "TTL",
    "TTLS",
    "TIMED",
    "recent memory=256 ttl=1s-9s importance=log seed=3",
};

#define WORDS (sizeof words / sizeof *words)

/* ---- an image of parts with correct checksums ---- */

static uint8_t image[1 << 14];
static size_t image_size;

static bool add(void *context, const void *data, size_t size)
{
    (void)context;
    if (size > sizeof image - image_size)
        return false;
    memcpy(image + image_size, data, size);
    image_size += size;
    return true;
}

static void add_part(struct input *in)
{
    static const uint32_t kinds[] = {PART_ONCE, PART_BLOOM, PART_TOP, PART_COUNTS, PART_CUCKOO, 2};
    uint8_t which = byte(in);
    size_t before = image_size;
    struct weir_bytes body;
    weir_filter *w;

    if (which % 8 > 5) {
        if (weir_open(&w, words[15 + which / 8 % 4], NULL) != WEIR_OK)
            return;
        if (weir_save_stream(w, add, NULL, NULL) != WEIR_OK)
            image_size = before;
        weir_close(w);
        return;
    }
    body = bytes(in, byte(in));
    if (weir_part_write(kinds[which % 8], body.data, body.size, add, NULL, NULL) != WEIR_OK)
        image_size = before;
}

/* ---- commands ---- */

static struct weir_bytes word(struct input *in)
{
    static uint8_t changed[1 << 14];
    uint8_t code = byte(in);

    if (code < 64)
        return bytes(in, code);
    if ((size_t)code - 64 < WORDS)
        return (struct weir_bytes){words[code - 64], strlen(words[code - 64])};
    if (code < 200)
        return stand_in_last();
    if (code < 230)
        return (struct weir_bytes){image, image_size};
    struct weir_bytes last = stand_in_last();
    memcpy(changed, last.data, last.size);
    if (last.size > 0)
        changed[(byte(in) << 8 | byte(in)) % last.size] ^= code;
    return (struct weir_bytes){changed, last.size};
}

static void command(struct input *in)
{
    uint8_t n = byte(in);
    struct weir_bytes list[16];
    size_t many = n % 16;

    if (n >= 240) {
        add_part(in);
    } else if (n >= 224) {
        stand_in_restore("r", n, image, image_size, 1 + byte(in) * 16);
        image_size = 0;
    } else {
        for (size_t i = 0; i < many; i++)
            list[i] = word(in);
        stand_in_say(list, many);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const arguments[] = {"LARGEST", "64kb", "DEFAULT", "memory=256"};
    static bool loaded;
    struct input in = {data, size};

    if (!loaded)
        require(loaded = stand_in_load(arguments, 4));
    image_size = 0;
    for (int i = 0; i < 24 && in.left > 0; i++)
        command(&in);
    stand_in_defrag();
    require(stand_in_copies_alike());
    return 0;
}
