/*
 * An event loop for one thread: descriptors and timers.  Used by remote/ only.
 *
 * Watches and timers are embedded in the caller's structures.  After ti__watch_drop() or
 * ti__timer_drop() these may be freed, also from within a callback.
 */
#ifndef TI_REMOTE_LOOP_H
#define TI_REMOTE_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#define TI__LOOP_BATCH 256

struct ti__loop;

struct ti__watch {
    struct ti__loop *loop; /* NULL: not watched */
    int fd;
    uint32_t events; /* EPOLLIN, EPOLLOUT; 0: only hangups and errors are reported */
    void (*call)(void *arg, uint32_t events);
    void *arg;
};

struct ti__timer {
    struct ti__loop *loop; /* NULL: not set */
    struct ti__timer *next, *prev;
    double at;
    void (*call)(void *arg);
    void *arg;
};

struct ti__loop {
    int epoll;
    struct ti__timer *timers;
    double next_timer; /* time of the first timer, or earlier */
    struct epoll_event batch[TI__LOOP_BATCH];
    int in_batch;
};

double ti__now(void); /* seconds, monotonic */

bool ti__loop_open(struct ti__loop *l); /* false: errno */
void ti__loop_close(struct ti__loop *l);

/* Waits at most `timeout_ms` (-1: no limit) for events and makes their callbacks. */
void ti__loop_run(struct ti__loop *l, int timeout_ms);

/* Watches `fd` for events.  False: errno (EPERM: a plain file). */
bool ti__watch(struct ti__loop *l, struct ti__watch *w, int fd, uint32_t events,
               void (*call)(void *arg, uint32_t events), void *arg);
bool ti__watch_events(struct ti__watch *w, uint32_t events);
void ti__watch_drop(struct ti__watch *w); /* before the descriptor is closed */

/* Calls once after `seconds`; replaces an earlier setting. */
void ti__timer_set(struct ti__loop *l, struct ti__timer *t, double seconds, void (*call)(void *arg),
                   void *arg);
void ti__timer_drop(struct ti__timer *t);

/* Whether the timer, whose call this is, comes so late that nobody listened meanwhile: this process
 * was stopped, or got no processor.  What others sent may still be unread. */
bool ti__timer_late(const struct ti__timer *t);

#endif
