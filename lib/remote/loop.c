#include "remote/loop.h"

#include <math.h>
#include <time.h>
#include <unistd.h>

#define NEVER  1e300
#define LATE_S 1.0

double ti__now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

bool ti__loop_open(struct ti__loop *l)
{
    l->timers = NULL;
    l->next_timer = NEVER;
    l->in_batch = 0;
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    return l->epoll >= 0;
}

void ti__loop_close(struct ti__loop *l)
{
    if (l->epoll >= 0)
        close(l->epoll);
    l->epoll = -1;
}

/* --- descriptors --------------------------------------------------------- */

bool ti__watch(struct ti__loop *l, struct ti__watch *w, int fd, uint32_t events,
               void (*call)(void *arg, uint32_t events), void *arg)
{
    struct epoll_event e = {.events = events, .data.ptr = w};

    if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e) < 0)
        return false;
    *w = (struct ti__watch){l, fd, events, call, arg};
    return true;
}

bool ti__watch_events(struct ti__watch *w, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = w};

    if (!w->loop || w->events == events)
        return true;
    w->events = events;
    return epoll_ctl(w->loop->epoll, EPOLL_CTL_MOD, w->fd, &e) == 0;
}

void ti__watch_drop(struct ti__watch *w)
{
    struct ti__loop *l = w->loop;

    if (!l)
        return;
    epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
    for (int i = 0; i < l->in_batch; i++)
        if (l->batch[i].data.ptr == w)
            l->batch[i].data.ptr = NULL;
    w->loop = NULL;
}

/* --- timers -------------------------------------------------------------- */

void ti__timer_set(struct ti__loop *l, struct ti__timer *t, double seconds, void (*call)(void *arg),
                   void *arg)
{
    ti__timer_drop(t);
    *t = (struct ti__timer){l, l->timers, NULL, ti__now() + seconds, call, arg};
    if (t->next)
        t->next->prev = t;
    l->timers = t;
    if (t->at < l->next_timer)
        l->next_timer = t->at;
}

void ti__timer_drop(struct ti__timer *t)
{
    if (!t->loop)
        return;
    if (t->next)
        t->next->prev = t->prev;
    if (t->prev)
        t->prev->next = t->next;
    else
        t->loop->timers = t->next;
    t->loop = NULL;
}

bool ti__timer_late(const struct ti__timer *t)
{
    return ti__now() > t->at + LATE_S;
}

/* Returns a timer that is due, or NULL, and sets next_timer. */
static struct ti__timer *due(struct ti__loop *l, double now)
{
    struct ti__timer *found = NULL;

    l->next_timer = NEVER;
    for (struct ti__timer *t = l->timers; t; t = t->next) {
        if (!found && t->at <= now)
            found = t;
        else if (t->at < l->next_timer)
            l->next_timer = t->at;
    }
    return found;
}

/* A callback may change the list, so the search starts again.  Timers set by it are not due at
 * `now`. */
static void run_timers(struct ti__loop *l)
{
    double now = ti__now();
    struct ti__timer *t;

    while (l->next_timer <= now && (t = due(l, now)) != NULL) {
        ti__timer_drop(t);
        t->call(t->arg);
    }
}

void ti__loop_run(struct ti__loop *l, int timeout_ms)
{
    double left = (l->next_timer - ti__now()) * 1000;
    int n;

    if (left < 0)
        left = 0;
    if (timeout_ms < 0 || left < timeout_ms)
        timeout_ms = left > 1e9 ? -1 : (int)ceil(left);
    n = epoll_wait(l->epoll, l->batch, TI__LOOP_BATCH, timeout_ms);
    l->in_batch = n > 0 ? n : 0;
    for (int i = 0; i < l->in_batch; i++) {
        struct ti__watch *w = l->batch[i].data.ptr;

        l->batch[i].data.ptr = NULL;
        if (w)
            w->call(w->arg, l->batch[i].events);
    }
    l->in_batch = 0;
    run_timers(l);
}
