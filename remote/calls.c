/* calls.c - from the other threads: put commands into lanes, wait for them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "client.h"

/* Microseconds since 1970: 16 digits until the year 2286. */
static uint64_t now_in_microseconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Numbers are made of the clock: so they are above those of producers that were here
 * before, which a server that has forgotten these asks for. */
void command_number(struct remote_command *c, uint64_t above)
{
    struct lane *l = c->lane;
    char digits[24];

    l->number = above > l->number ? above + 1 : l->number + 1;
    snprintf(digits, sizeof digits, "%016llu", (unsigned long long)l->number);
    memcpy((char *)(uintptr_t)c->text + c->number_at, digits, REMOTE_DIGITS);
}

void remote_put(struct remote *r, struct remote_command *list, size_t count)
{
    uint64_t now = now_in_microseconds();

    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < count && !r->failed; i++) {
        if (list[i].number_at)
            command_number(&list[i], now);
        lane_add(list[i].lane, &list[i]);
        r->figures.commands += list[i].verdicts != NULL;
    }
    pthread_mutex_unlock(&r->lock);
    (void)eventfd_write(r->wake, 1);
}

bool remote_wait(struct remote *r, const uint32_t *outstanding)
{
    pthread_mutex_lock(&r->lock);
    while (*outstanding > 0 && !r->failed)
        pthread_cond_wait(&r->changed, &r->lock);
    bool good = *outstanding == 0;
    pthread_mutex_unlock(&r->lock);
    return good;
}

/* Its text, and nothing is sent yet. */
static bool call_write(struct remote *r, struct call *c, uint32_t lane, int n,
                       const char *const *words, const size_t *sizes)
{
    size_t size = 16, at;

    *c = (struct call){.outstanding = 1};
    for (int i = 0; i < n; i++)
        size += 32 + (sizes ? sizes[i] : strlen(words[i]));
    c->text = malloc(size);
    if (!c->text)
        return false;
    at = (size_t)sprintf(c->text, "*%d\r\n", n);
    for (int i = 0; i < n; i++) {
        size_t length = sizes ? sizes[i] : strlen(words[i]);

        at += (size_t)sprintf(c->text + at, "$%zu\r\n", length);
        memcpy(c->text + at, words[i], length);
        memcpy(c->text + at + length, "\r\n", 2);
        at += length + 2;
    }
    c->command = (struct remote_command){.lane = &r->lane[lane],
                                         .text = c->text,
                                         .size = at,
                                         .outstanding = &c->outstanding,
                                         .writes = false};
    return true;
}

bool call_begin(struct remote *r, struct call *c, uint32_t lane, int n, const char *const *words,
                const size_t *sizes)
{
    if (!call_write(r, c, lane, n, words, sizes))
        return false;
    remote_put(r, &c->command, 1);
    return true;
}

bool call_try(struct remote *r, struct call *c, uint32_t lane, int n, const char *const *words,
              const size_t *sizes)
{
    if (!call_write(r, c, lane, n, words, sizes))
        return false;
    c->command.refusable = true;
    remote_put(r, &c->command, 1);
    return true;
}

redisReply *call_finish(struct remote *r, struct call *c)
{
    return c->text && remote_wait(r, &c->outstanding) ? c->command.reply : NULL;
}

void call_free(struct call *c)
{
    freeReplyObject(c->command.reply);
    free(c->text);
    *c = (struct call){0};
}
