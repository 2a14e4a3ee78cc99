/*
 * How much happens at a time: slots limit the connections that are being opened, turns limit what
 * is read.
 */
#include "remote/internal.h"

#include <stdlib.h>
#include <string.h>

#define TURNS 8 /* granted at a time */

/* --- slots ------------------------------------------------------------------- */

struct ti__limiter *ti__limiter(struct ti_remote *r, const char *name)
{
    struct ti__limiter *d;

    for (d = r->limiters; d; d = d->next)
        if (strcmp(d->name, name) == 0)
            return d;
    d = calloc(1, sizeof *d);
    if (!d || !(d->name = strdup(name))) {
        free(d);
        return NULL;
    }
    d->next = r->limiters;
    return r->limiters = d;
}

void ti__limiters_free(struct ti_remote *r)
{
    while (r->limiters) {
        struct ti__limiter *d = r->limiters;

        r->limiters = d->next;
        free(d->name);
        free(d);
    }
}

bool ti__slots_are_free(const struct ti_channel *c)
{
    return !c->limiter ||
           (c->limiter->opening < c->r->max_opening && c->r->opening < TI_REMOTE_OPENING_ALL);
}

void ti__slots_acquire(struct ti_channel *c)
{
    c->holds_slot = c->holds_global = true;
    c->limiter->opening++;
    c->r->opening++;
}

void ti__slots_release(struct ti_channel *c)
{
    if (c->holds_slot)
        c->limiter->opening--;
    if (c->holds_global)
        c->r->opening--;
    c->r->dirty = c->r->dirty || c->holds_slot || c->holds_global;
    c->holds_slot = c->holds_global = false;
}

void ti__slots_release_unanswered(struct ti_channel *c)
{
    if (c->through)
        ti__slots_release(c);
    else if (c->holds_global)
        c->r->opening--;
    c->holds_global = false;
    c->r->dirty = true;
}

/* --- turns ------------------------------------------------------------------- */

void ti_remote_read_by_turns(struct ti_remote *r, bool (*full)(void *arg), void *arg)
{
    r->full = full;
    r->full_arg = arg;
    r->read_queue_end = &r->read_queue;
}

int ti_remote_waiting(const struct ti_remote *r)
{
    return r->waiting;
}

uint64_t ti_remote_turns(const struct ti_remote *r)
{
    return r->turns;
}

void ti__turn_leave(struct ti_channel *c)
{
    struct ti_remote *r = c->r;
    struct ti_channel **at = &r->read_queue;

    if (!c->in_read_queue)
        return;
    while (*at != c)
        at = &(*at)->next_reader;
    *at = c->next_reader;
    if (r->read_queue_end == &c->next_reader)
        r->read_queue_end = at;
    c->in_read_queue = false;
    r->waiting--;
}

bool ti__channel_may_read(struct ti_channel *c)
{
    struct ti_remote *r = c->r;
    bool turn = c->turn;

    c->turn = false;
    if (!r->full || turn || c->state != TI__READY || c->in_read_queue)
        return true;
    if (!r->read_queue && !r->full(r->full_arg)) {
        r->turns++;
        return true;
    }
    c->next_reader = NULL;
    *r->read_queue_end = c;
    r->read_queue_end = &c->next_reader;
    c->in_read_queue = c->paused = true;
    r->waiting++;
    c->transport->pause(c);
    return false;
}

/* Only a few at a time, as each may fill the buffer. */
void ti__turns_grant(struct ti_remote *r)
{
    for (int i = 0; i < TURNS && r->read_queue && !r->full(r->full_arg); i++) {
        struct ti_channel *c = r->read_queue;

        ti__turn_leave(c);
        r->turns++;
        c->turn = true;
        c->paused = false;
        c->transport->pause(c);
    }
}
