/* shards.c - see shards.h. */
#include "state/shards.h"
#include "cli/inputs.h"
#include "state/replace.h"

#include <stdlib.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static enum weir_status short_of_memory(struct weir_error *error)
{
    *error = (struct weir_error){WEIR_NO_MEMORY, WEIR_ERROR_NO_MEMORY, "out of memory"};
    return WEIR_NO_MEMORY;
}

uint32_t shards_wanted(uint32_t given, uint32_t threads, const char *spec)
{
    const struct weir_algorithm *about = weir_find_algorithm(WEIR_KIND_FILTER, spec);

    if (given)
        return given;
    return threads == 2 && about && about->traits & WEIR_CAN_ONE_LINE ? 1 : threads;
}

enum weir_status shards_open(struct shards *s, const char *spec, uint32_t count,
                             struct weir_error *error)
{
    enum weir_status status;

    *s = (struct shards){.w = calloc(count, sizeof *s->w)};
    if (!s->w)
        return short_of_memory(error);
    status = weir_shared_open(&s->shared, spec, count, NULL, error);
    if (status != WEIR_OK)
        return status;
    s->count = count;
    for (uint32_t i = 0; i < count; i++)
        s->w[i] = weir_shared_shard(s->shared, i);
    weir_shared_config(s->shared, s->config, sizeof s->config);
    return WEIR_OK;
}

enum weir_status shards_join(struct shards *s, struct weir_error *error)
{
    return weir_shared_join(&s->shared, s->w, s->count, NULL, error);
}

void shards_close(struct shards *s)
{
    for (uint32_t i = 0; !s->shared && i < s->count; i++)
        weir_close(s->w[i]);
    weir_shared_close(s->shared);
    free(s->w);
    *s = (struct shards){0};
}

struct weir_stats shards_stats(const struct shards *s)
{
    struct weir_stats stats;

    weir_shared_measure(s->shared, &stats, sizeof stats);
    return stats;
}

/* ---- keys of a fixed filter ---- */

void spill_open(struct spill *a, uint64_t kept)
{
    *a = (struct spill){.kept = kept, .memory = -1, .file = -1};
}

void spill_close(struct spill *a)
{
    if (a->memory >= 0)
        close(a->memory);
    if (a->file >= 0)
        close(a->file);
    spill_open(a, 0);
}

static const char *folder(void)
{
    const char *named = getenv("TMPDIR");

    return named && *named ? named : "/tmp";
}

static bool fails(struct spill *a, int error)
{
    a->error = error;
    return false;
}

/* The file is created without a name, or unlinked at once. */
static bool open_file(struct spill *a)
{
    struct temporary t;

    a->opening = true;
    if (!temporary_open(&t, folder(), 0600))
        return fails(a, errno);
    temporary_remove(&t);
    a->file = t.fd;
    a->opening = false;
    return true;
}

static bool put(void *context, uint64_t at, const void *data, size_t size)
{
    struct spill *a = context;
    bool kept = at + size <= a->kept;

    if (kept && a->memory < 0 && (a->memory = memfd_create("weir keys", MFD_CLOEXEC)) < 0)
        return fails(a, errno);
    if (!kept && a->file < 0 && !open_file(a))
        return false;
    for (const char *from = data; size > 0;) {
        ssize_t n = pwrite(kept ? a->memory : a->file, from, size, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fails(a, n < 0 ? errno : ENOSPC);
        from += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return true;
}

static bool get(void *context, uint64_t at, void *data, size_t size)
{
    struct spill *a = context;
    ssize_t n = read_at(at + size <= a->kept ? a->memory : a->file, data, size, at);

    return n == (ssize_t)size || fails(a, n < 0 ? errno : EIO);
}

struct weir_spill spill_room(struct spill *a)
{
    return (struct weir_spill){put, get, a};
}

const char *spill_failure(const struct spill *a)
{
    static char text[512];

    if (a->error == ENOMEM)
        return "out of memory";
    snprintf(text, sizeof text, "%s %s: %s; set TMPDIR to another directory",
             a->opening ? "cannot create a file for the keys of the set in"
                        : "cannot spill the keys of the set to",
             folder(), strerror(a->error));
    return text;
}
