/* lanes.c - the commands of a key, in order. */
#include <stdio.h>
#include <string.h>

#include "client.h"

#define UNSENT_MOST (1 << 20) /* bytes of a connection: what is beyond waits in its lane */

void lane_add(struct lane *l, struct command *c)
{
    c->lane = l;
    c->next = NULL;
    c->state = COMMAND_QUEUED;
    *l->end = c;
    l->end = &c->next;
}

void lane_remove(struct lane *l, struct command *c)
{
    struct command **at = &l->first;

    while (*at && *at != c)
        at = &(*at)->next;
    if (*at)
        *at = c->next;
    if (l->end == &c->next)
        l->end = at;
}

void command_done(struct remote *r, struct command *c)
{
    struct lane *l = c->lane;

    c->state = COMMAND_DONE;
    lane_remove(l, c);
    l->unfinished--;
    l->pause = 0;
    if (--*c->outstanding == 0)
        pthread_cond_broadcast(&r->changed);
}

void lane_again(struct remote *r, struct command *c, bool pause)
{
    struct lane *l = c->lane;

    c->state = COMMAND_QUEUED;
    l->unfinished--;
    l->again = true;
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
           node_put(n, text, (size_t)size, (struct expected){.kind = TO_CREATE});
}

static bool send_one(const struct remote *r, struct lane *l, struct command *c, struct node *n)
{
    static const char asking[] = "*1\r\n$6\r\nASKING\r\n";

    if ((l->asked &&
         !node_put(n, asking, sizeof asking - 1, (struct expected){.kind = TO_ASKING})) ||
        (l->lost && !send_create(r, l, n)))
        return false;
    if (l->lost && l->asked &&
        !node_put(n, asking, sizeof asking - 1, (struct expected){.kind = TO_ASKING}))
        return false;
    l->lost = false;
    if (n->count == 0)
        n->alive = r->clock;
    if (!node_put(n, c->text, c->size, (struct expected){.kind = TO_COMMAND, .command = c}))
        return false;
    c->state = COMMAND_SENT;
    c->sends++;
    c->wait = n->waits + 1;
    n->unwaited |= c->writes;
    l->under_way++;
    l->unfinished++;
    return true;
}

/* A command is waited for from the moment on at which it is its turn. */
static void begin_patience(const struct remote *r, const struct lane *l)
{
    if (l->first && l->first->since == 0)
        l->first->since = r->clock;
}

void lane_send(struct remote *r, struct lane *l)
{
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
    for (struct command *c = l->first; c && l->unfinished < IN_FLIGHT; c = c->next) {
        if (c->state != COMMAND_QUEUED)
            continue;
        if (connection_unsent(&n->connection) > UNSENT_MOST)
            return;
        if (!send_one(r, l, c, n)) {
            node_drop(r, n, "memory is short");
            return;
        }
    }
}
