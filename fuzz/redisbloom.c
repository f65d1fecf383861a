/* redisbloom.c - values of RedisBloom with forged fields: loaded into weir.so in a simulated
 * server, used by every command, saved, and loaded again. Replica, RDB, AOF and copy must have the
 * same bytes, and no memory may be leaked.
 *
 * The first byte selects the type, or the header of LOADCHUNK. For a type, each field is a byte
 * with its size, 255 for a number of 8 bytes; a second byte with the size of a block of zeros
 * follows 254. The last bytes are items of the commands. */
#include <stdlib.h>
#include <string.h>
#include <weir.h>

#include "fuzz.h"
#include "input.h"
#include "support/stand_in.h"

#define FIELDS 64

static const char *const types[] = {"MBbloom--", "MBbloomCF", "CMSk-TYPE", "TopK-TYPE"};

static void load_fields(struct input *in, const char *type)
{
    static const uint8_t zeros[256 * 64];
    struct weir_bytes fields[FIELDS];
    size_t n = byte(in) % FIELDS;

    for (size_t i = 0; i < n; i++) {
        uint8_t size = byte(in);

        fields[i] = size == 255   ? bytes(in, 8)
                    : size == 254 ? (struct weir_bytes){zeros, (size_t)byte(in) * 64}
                                  : bytes(in, size);
    }
    stand_in_restore_fields("k", type, fields, n);
}

static void load_chunks(struct input *in, const char *command)
{
    struct weir_bytes head = bytes(in, byte(in));
    struct weir_bytes first[] = {{command, strlen(command)}, {"k", 1}, {"1", 1}, head};
    struct weir_bytes second[] = {{command, strlen(command)}, {"k", 1}, {"17", 2}, bytes(in, 16)};

    stand_in_say(first, 4);
    stand_in_say(second, 4);
}

/* A command with an item, a number or both. */
static void use(struct input *in)
{
    static const char *const commands[] = {
        "BF.ADD",      "BF.EXISTS",   "BF.MADD",    "BF.INFO",     "BF.DEBUG",
        "BF.CARD",     "BF.SCANDUMP", "CF.ADD",     "CF.ADDNX",    "CF.EXISTS",
        "CF.COUNT",    "CF.DEL",      "CF.COMPACT", "CF.INFO",     "CF.DEBUG",
        "CF.SCANDUMP", "CMS.INCRBY",  "CMS.QUERY",  "CMS.INFO",    "TOPK.ADD",
        "TOPK.COUNT",  "TOPK.QUERY",  "TOPK.LIST",  "TOPK.INCRBY", "TOPK.INFO",
    };
    static const char *const numbers[] = {"0", "1", "5", "100000", "9223372036854775807"};
    const char *command = commands[byte(in) % (sizeof commands / sizeof *commands)];
    const char *number = numbers[byte(in) % (sizeof numbers / sizeof *numbers)];
    struct weir_bytes item = bytes(in, byte(in) % 32);
    struct weir_bytes words[] = {
        {command, strlen(command)}, {"k", 1}, item, {number, strlen(number)}, item};
    size_t n = 2 + byte(in) % 4;

    if (strstr(command, "SCANDUMP") || n == 5)
        words[2] = words[3];
    stand_in_say(words, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const arguments[] = {"LARGEST", "64kb"};
    static bool loaded;
    struct input in = {data, size};
    uint8_t type = byte(&in) % 6;

    if (!loaded)
        require(loaded = stand_in_load(arguments, 2));
    if (type < 4)
        load_fields(&in, types[type]);
    else
        load_chunks(&in, type == 4 ? "BF.LOADCHUNK" : "CF.LOADCHUNK");
    for (int i = 0; i < 16 && in.left > 0; i++)
        use(&in);
    stand_in_tell("CMS.INITBYDIM", "to", "3", "2", NULL);
    stand_in_tell("CMS.MERGE", "to", "2", "k", "k", "WEIGHTS", "1", "-1", NULL);
    stand_in_defrag();
    require(stand_in_copies_alike());
    return 0;
}
