/* lanes.c - queues of commands, one per key, and the calls that other threads make on them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "client.h"

#define UNSENT_MOST (1 << 20) /* bytes per connection; further commands wait in their lane */

/* Microseconds since 1970: 16 digits until the year 2286. */
static uint64_t now_in_microseconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void command_number(struct remote_command *c)
{
    struct lane *l = c->lane;
    uint64_t now = now_in_microseconds();
    char digits[24];

    l->number = now > l->number ? now : l->number + 1;
    snprintf(digits, sizeof digits, "%016llu", (unsigned long long)l->number);
    memcpy((char *)(uintptr_t)c->text + c->number_at, digits, REMOTE_DIGITS);
}

void lane_add(struct lane *l, struct remote_command *c)
{
    c->lane = l;
    c->next = NULL;
    c->state = COMMAND_QUEUED;
    *l->end = c;
    l->end = &c->next;
}

void lane_remove(struct lane *l, struct remote_command *c)
{
    struct remote_command **at = &l->first;

    while (*at && *at != c)
        at = &(*at)->next;
    if (*at)
        *at = c->next;
    if (l->end == &c->next)
        l->end = at;
}

void command_done(struct remote *r, struct remote_command *c)
{
    struct lane *l = c->lane;

    c->state = COMMAND_DONE;
    lane_remove(l, c);
    l->unfinished--;
    l->pause = 0;
    l->answered |= !l->again;
    if (--*c->outstanding == 0)
        pthread_cond_broadcast(&r->changed);
}

void lane_again(struct remote *r, struct remote_command *c, bool pause)
{
    struct lane *l = c->lane;

    c->state = COMMAND_QUEUED;
    l->unfinished--;
    l->again = true;
    l->answered = false;
    r->figures.retries++;
    if (!pause || r->clock < l->not_before)
        return;
    l->pause = l->pause == 0 ? FIRST_PAUSE : l->pause * 2;
    l->pause = l->pause > LONGEST_PAUSE ? LONGEST_PAUSE : l->pause;
    l->not_before = r->clock + l->pause;
}

static bool send_create(const struct remote *r, const struct lane *l, struct node *n)
{
    char text[WEIR_SPEC_MAX + 700];
    int size = snprintf(text, sizeof text,
                        "*4\r\n$11\r\nWEIR.CREATE\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n$2\r\nNX\r\n",
                        strlen(l->key), l->key, strlen(r->spec), r->spec);

    return size < (int)sizeof text &&
           node_put(n, text, (size_t)size, (struct expected_reply){.kind = TO_CREATE});
}

static bool send_one(const struct remote *r, struct lane *l, struct remote_command *c,
                     struct node *n)
{
    static const char asking[] = "*1\r\n$6\r\nASKING\r\n";

    if ((l->asked &&
         !node_put(n, asking, sizeof asking - 1, (struct expected_reply){.kind = TO_ASKING})) ||
        (l->lost && !send_create(r, l, n)))
        return false;
    if (l->lost && l->asked &&
        !node_put(n, asking, sizeof asking - 1, (struct expected_reply){.kind = TO_ASKING}))
        return false;
    l->lost = false;
    if (n->count == 0)
        n->alive = r->clock;
    if (c->number_at && c->sends == 0)
        command_number(c);
    if (!node_put(n, c->text, c->size, (struct expected_reply){.kind = TO_COMMAND, .command = c}))
        return false;
    c->state = COMMAND_SENT;
    c->sends++;
    c->wait = n->waits + 1;
    n->unwaited |= c->writes;
    l->under_way++;
    l->unfinished++;
    return true;
}

/* The timeout of a command starts when it becomes the first of its lane. */
static void begin_patience(const struct remote *r, const struct lane *l)
{
    if (l->first && l->first->since == 0)
        l->first->since = r->clock;
}

/* The first command, and one that is sent again, goes alone: if the server refuses it, no later
 * command was carried out before it. */
void lane_send(struct remote *r, struct lane *l)
{
    uint32_t max = l->answered ? IN_FLIGHT : 1;
    struct node *n = l->asked ? l->asked : r->owner[l->slot];

    begin_patience(r, l);
    if (!l->first || r->clock < l->not_before || (l->again && l->under_way > 0))
        return;
    if (!n) {
        slots_soon(r);
        return;
    }
    node_connect(r, n);
    if (!node_is_ready(n) || !n->understood)
        return;
    l->again = false;
    for (struct remote_command *c = l->first; c && l->unfinished < max; c = c->next) {
        if (c->state != COMMAND_QUEUED)
            continue;
        if (wire_unsent(&n->connection.wire) > UNSENT_MOST)
            return;
        if (!send_one(r, l, c, n)) {
            node_drop(r, n, "out of memory");
            return;
        }
    }
}

/* ---- from other threads ---- */

void remote_put(struct remote *r, struct remote_command *list, size_t count)
{
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < count && !r->failed; i++) {
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

bool call_begin(struct remote *r, struct call *c, uint32_t lane, int n, const char *const *words,
                const size_t *sizes, bool refusable)
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
                                         .refusable = refusable};
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
