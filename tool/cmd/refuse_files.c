/* refuse_files.c - see refuse_files.h. */
#include "cmd/refuse_files.h"

#include <string.h>
#include <weir.h>

#include "cli/messages.h"
#include "cli/read_at.h"
#include "unpack/magic.h"

#define PLAIN "(--plain reads it as lines)"

/* What the first part of a file of ours is: of enum weir_part_kind. */
static uint32_t first_part(int fd)
{
    uint8_t head[8] = {0};

    (void)read_at(fd, head, sizeof head, 0);
    return head[6] + 256u * head[7];
}

/* name: as messages call it, path: as calls do. */
struct refused {
    const char *command, *name, *path;
};

static bool refuse_counts(const struct refused *r, uint32_t part)
{
    const char *call = part == WEIR_PART_TOP ? "top" : "count";

    return reject(
        "%s holds counts, not records; 'weir %s --state %s%s /dev/null' tells them " PLAIN, r->name,
        call, r->path, part == WEIR_PART_TOP ? "" : " --query KEYS");
}

static bool is_any(const char *command, const char *const *words)
{
    while (*words && strcmp(command, *words) != 0)
        words++;
    return *words;
}

static bool refuse_filter(const struct refused *r)
{
    static const char *const one[] = {"ask", "filter", NULL}, *const join[] = {"build", "add",
                                                                               NULL};

    if (is_any(r->command, one))
        return reject(
            "%s is a filter file, not records; 'weir %s' takes one filter, the first file "
            "that is named, and 'weir merge -o F A B' makes one of two " PLAIN,
            r->name, r->command);
    if (is_any(r->command, join))
        return reject("%s is a filter file, not keys; 'weir merge -o F A %s' joins filters " PLAIN,
                      r->name, r->path);
    return reject("%s is a filter file, not records; 'weir filter %s FILE' passes the records of "
                  "FILE that are in it, 'weir filter --invert %s FILE' the others " PLAIN,
                  r->name, r->path, r->path);
}

static bool refuse_weir(const struct refused *r, uint32_t part)
{
    if (part == WEIR_PART_COUNTS || part == WEIR_PART_TOP)
        return refuse_counts(r, part);
    if (part == WEIR_PART_FILTER)
        return refuse_filter(r);
    if (part == WEIR_PART_NOTE && strcmp(r->command, "dedup") == 0)
        return reject("%s is a state file, not records; 'weir dedup --state %s FILE' goes on with "
                      "it " PLAIN,
                      r->name, r->path);
    return reject("%s is a state file, not records; 'weir info %s' tells what it holds " PLAIN,
                  r->name, r->path);
}

/* Calls are told as a shell takes them. */
static bool refuse(const struct refused *r, enum file_kind kind, uint32_t part)
{
    switch (kind) {
    case KIND_SQLITE:
        return reject("%s is a SQLite database, not records; weir check --store "
                      "'sqlite:%s?table=T&column=C' FILE asks it, sqlite3 prints its rows as "
                      "lines " PLAIN,
                      r->name, r->path);
    case KIND_BZIP2:
        return reject("%s is compressed by bzip2, which is not read here; bzcat %s | weir %s ... "
                      "does it " PLAIN,
                      r->name, r->path, r->command);
    case KIND_ZIP:
        return reject("%s is a zip archive, which is not read here; unzip -p %s | weir %s ... does "
                      "it " PLAIN,
                      r->name, r->path, r->command);
    case KIND_WEIR:
        return refuse_weir(r, part);
    default:
        return !magic_fix(kind) ||
               reject("%s: %s, not records; %s, or use --plain to read it as lines", r->name,
                      magic_name(kind), magic_fix(kind));
    }
}

static bool holds_records(const char *command, const char *name)
{
    int fd = input_look(name);
    enum file_kind kind = KIND_RECORDS;
    uint32_t part = 0;

    /* What cannot be opened or looked at is told when it is read. */
    if (fd >= 0 && magic_of_file(fd, &kind) && kind == KIND_WEIR)
        part = first_part(fd);
    input_looked(fd);
    return refuse(&(struct refused){command, input_name(name), fd == 0 ? "F" : name}, kind, part);
}

bool files_hold_records(const char *command, const struct inputs *inputs)
{
    bool ok = inputs->count > 0 || holds_records(command, "-");

    for (uint32_t i = 0; i < inputs->count && ok; i++)
        ok = holds_records(command, inputs->file[i]);
    return ok;
}
