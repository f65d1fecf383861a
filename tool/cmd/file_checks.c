/* file_checks.c - checks of input files: see commands.h. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <weir.h>

#include "cli/inputs.h"
#include "cli/messages.h"
#include "cmd/commands.h"
#include "state/replace.h"
#include "store/magic.h"
#include "pipe/batch.h"

/* ---- files that hold no records, known by their first bytes ---- */

#define PLAIN "(--plain reads it as lines)"

/* The type of the first part of a weir file: enum weir_part_kind. */
static uint32_t first_part(int fd)
{
    uint8_t head[8] = {0};

    (void)read_at(fd, head, sizeof head, 0);
    return head[6] + 256u * head[7];
}

/* name: for messages; path: for suggested commands. */
struct refused {
    const char *command, *name, *path;
};

static bool refuse_counts(const struct refused *r, uint32_t part)
{
    const char *call = part == WEIR_PART_TOP ? "top" : "count";

    return reject(
        "%s holds counts, not records; 'weir %s --state %s%s /dev/null' prints them " PLAIN,
        r->name, call, r->path, part == WEIR_PART_TOP ? "" : " --query KEYS");
}

static bool refuse_filter(const struct refused *r)
{
    const char *c = r->command;

    if (strcmp(c, "ask") == 0 || strcmp(c, "filter") == 0)
        return reject(
            "%s is a filter file, not records; 'weir %s' takes one filter, the first file "
            "that is named, and 'weir merge -o F A B' makes one of two " PLAIN,
            r->name, c);
    if (strcmp(c, "build") == 0 || strcmp(c, "add") == 0)
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
        return reject("%s is a state file, not records; 'weir dedup --state %s FILE' continues "
                      "with it " PLAIN,
                      r->name, r->path);
    return reject("%s is a state file, not records; 'weir info %s' describes it " PLAIN, r->name,
                  r->path);
}

/* Messages contain commands that a shell accepts. */
static bool refuse(const struct refused *r, enum file_kind kind, uint32_t part)
{
    switch (kind) {
    case KIND_SQLITE:
        return reject("%s is a SQLite database, not records; weir check --store "
                      "'sqlite:%s?table=T&column=C' FILE asks it, sqlite3 prints its rows as "
                      "lines " PLAIN,
                      r->name, r->path);
    case KIND_BZIP2:
        return reject(
            "%s is compressed by bzip2, which is not supported; use bzcat %s | weir %s ... " PLAIN,
            r->name, r->path, r->command);
    case KIND_ZIP:
        return reject(
            "%s is a zip archive, which is not supported; use unzip -p %s | weir %s ... " PLAIN,
            r->name, r->path, r->command);
    case KIND_WEIR:
        return refuse_weir(r, part);
    default:
        return kind == KIND_RECORDS || magic_is_packed(kind) ||
               reject("%s: %s, not records; %s, or use --plain to read it as lines", r->name,
                      magic_name(kind), magic_fix(kind));
    }
}

static bool holds_records(const char *command, const char *name)
{
    int fd = input_inspect(name);
    enum file_kind kind = KIND_RECORDS;
    uint32_t part = 0;

    /* Files that cannot be opened are reported when they are read. */
    if (fd >= 0 && magic_of_file(fd, &kind) && kind == KIND_WEIR)
        part = first_part(fd);
    input_inspected(fd);
    return refuse(&(struct refused){command, input_name(name), fd == 0 ? "F" : name}, kind, part);
}

bool files_hold_records(const char *command, const struct inputs *inputs)
{
    bool ok = inputs->count > 0 || holds_records(command, "-");

    for (uint32_t i = 0; i < inputs->count && ok; i++)
        ok = holds_records(command, inputs->file[i]);
    return ok;
}

/* ---- no run writes a file that it reads, or one file twice.
 *
 * Checked for all commands in one place. Files are compared by device and inode, and files that
 * do not exist yet by their path without links. Standard input and standard output count if they
 * are regular files: 'weir dedup log >> log' would never end. ---- */

#define URL_MOST 4096

static bool is_standard_output(const char *path)
{
    return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

/* ---- what is read ---- */

static bool is_same(const char *input, const struct stat *out)
{
    struct stat in;
    int failed = strcmp(input, "-") == 0 ? fstat(0, &in) : stat(input, &in);

    return !failed && same_file(&in, out);
}

/* The file of a store: keys:FILE, sqlite:FILE?table=... or FILE. */
static bool is_in_store(const char *url, const struct stat *out)
{
    char path[URL_MOST];
    size_t scheme = strncmp(url, "keys:", 5) == 0 ? 5 : strncmp(url, "sqlite:", 7) == 0 ? 7 : 0;

    snprintf(path, sizeof path, "%.*s", (int)strcspn(url + scheme, "?"), url + scheme);
    return is_same(path, out) || is_same(url + scheme, out);
}

/* add and forget write the filter file that is their first operand. */
static bool changes_operand(const struct options *o)
{
    return (strcmp(o->command, "add") == 0 || strcmp(o->command, "forget") == 0) && !o->at.url &&
           o->operands > 0;
}

/* The input that is this file, or NULL. */
static const char *find_input(const struct options *o, const struct stat *out)
{
    const char *const stores[] = {o->set.strict, o->check.store, o->set.keys};

    for (int i = changes_operand(o); i < o->operands; i++)
        if (is_same(o->operand[i], out))
            return o->operand[i];
    if (o->count.query && is_same(o->count.query, out))
        return o->count.query;
    for (int i = 0; i < 3; i++)
        if (stores[i] && is_in_store(stores[i], out))
            return stores[i];
    return is_same("-", out) ? "-" : NULL;
}

static bool spares_inputs(const struct options *o, const struct stat *out)
{
    const char *input = S_ISREG(out->st_mode) ? find_input(o, out) : NULL;

    return !input || reject("%s is input and output at once; write to another file and rename it",
                            input_name(input));
}

/* ---- what is written ---- */

struct written {
    const char *path, *as;
};

static bool spares_others(const struct written *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (w[i].path && target_same(w[i].path, w[n].path))
            return reject("%s cannot be %s and %s at once; name two files", w[n].path, w[i].as,
                          w[n].as);
    return true;
}

/* Do records, answers or a table go to standard output? */
static bool prints(const struct options *o, const struct command *c)
{
    bool to_file = c->takes & TAKES_OUTPUT && o->output.path && !is_standard_output(o->output.path);

    return c->takes & (TAKES_OUTPUT | TAKES_SKETCH | TAKES_TRUTH) && !to_file;
}

bool files_are_distinct(const struct options *o, const struct command *c)
{
    bool named = o->output.path && !is_standard_output(o->output.path);
    const struct written w[] = {
        {named ? o->output.path : NULL, "output"},
        {o->output.rejects, "--rejects"},
        {o->output.audit, "--audit"},
        {o->state.path, "state"},
        {o->verbosity.metrics, "--metrics"},
        {o->measures.report, "--report"},
        {changes_operand(o) ? o->operand[0] : NULL, "filter"},
    };
    bool reads = c->takes & TAKES_RECORDS, printed = prints(o, c);
    struct stat out, file;

    if (printed && (fstat(1, &out) != 0 || !S_ISREG(out.st_mode)))
        printed = false;
    if (printed && reads && !spares_inputs(o, &out))
        return false;
    for (size_t i = 0; i < sizeof w / sizeof *w; i++) {
        if (!w[i].path)
            continue;
        if (!spares_others(w, i))
            return false;
        if (stat(w[i].path, &file) != 0)
            continue;
        if (reads && !spares_inputs(o, &file))
            return false;
        if (printed && same_file(&file, &out))
            return reject("%s cannot be standard output and %s at once; name two files", w[i].path,
                          w[i].as);
    }
    return true;
}

/* ---- networks in a list of keys ---- */

#define LOOKED_AT 65536 /* keys, and bytes of a store's list */

/* ADDRESS/BITS, of IPv4 or IPv6. slash: how far from the end it is. */
static bool is_network(const char *key, size_t size, size_t slash)
{
    char address[INET6_ADDRSTRLEN];
    struct in6_addr parsed;
    unsigned bits = 0;

    if (size - slash >= sizeof address)
        return false;
    for (const char *c = key + size - slash + 1; c < key + size; c++) {
        if (*c < '0' || *c > '9')
            return false;
        bits = bits * 10 + (unsigned)(*c - '0');
    }
    memcpy(address, key, size - slash);
    address[size - slash] = '\0';
    return (bits <= 32 && inet_pton(AF_INET, address, &parsed) == 1) ||
           (bits <= 128 && inet_pton(AF_INET6, address, &parsed) == 1);
}

static bool looks_like_network(const char *key, size_t size)
{
    for (size_t slash = 2; slash <= 4 && slash < size; slash++)
        if (key[size - slash] == '/')
            return is_network(key, size, slash);
    return false;
}

static void keep_first(struct networks *n, const char *name, uint64_t line, const char *key,
                       size_t size)
{
    n->name = name;
    n->line = line;
    snprintf(n->text, sizeof n->text, "%.*s", (int)size, key);
}

void networks_count(struct networks *n, const struct batch *b)
{
    for (uint32_t i = 0; i < b->n && n->looked_at < LOOKED_AT; i++) {
        n->looked_at++;
        if ((b->bads && b->bad[i]) || !looks_like_network(b->key[i].data, b->key[i].size))
            continue;
        if (n->count++ == 0) /* batch_line() counts the lines of the batch */
            keep_first(n, b->input.name, batch_line(b, i), b->key[i].data, b->key[i].size);
    }
}

void networks_report(const struct networks *n, const char *fix)
{
    unsigned long long line = n->line, others = n->count - 1;
    const char *at_least = n->looked_at == LOOKED_AT ? "at least " : "";

    if (n->count == 1)
        note("%s: line %llu \"%s\" is a network: only this text matches, not the addresses inside "
             "it; %s matches those",
             n->name, line, n->text, fix);
    else if (n->count > 1)
        note("%s: line %llu \"%s\" and %s%llu more %s networks: only these texts match, not the "
             "addresses inside; %s matches those",
             n->name, line, n->text, at_least, others, others == 1 ? "key are" : "keys are", fix);
}

void networks_report_store(const char *url)
{
    static char text[LOOKED_AT + 1];
    const char *path = strncmp(url, "keys:", 5) == 0 ? url + 5 : url, *end;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t size = fd < 0 ? -1 : read_at(fd, text, LOOKED_AT, 0);
    struct networks n = {0};
    uint64_t line = 1;

    if (fd >= 0)
        close(fd);
    for (const char *at = text; size > 0 && (end = memchr(at, '\n', (size_t)(text + size - at)));
         at = end + 1, line++)
        if (looks_like_network(at, (size_t)(end - at)) && n.count++ == 0)
            keep_first(&n, path, line, at, (size_t)(end - at));
    networks_report(&n, "--cidr");
}
