/*
 * One thread's waiting: descriptors that can be read or written, and timers.
 * Only remote/ uses it.
 *
 * A watch or timer is part of what it belongs to, which may be freed by any call
 * of the loop once it has been dropped.
 */
#ifndef TI_REMOTE_LOOP_H
#define TI_REMOTE_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

#define TI__LOOP_BATCH 256

struct ti__loop;

struct ti__watch {
    struct ti__loop *loop; /* NULL: not watched */
    int fd;
    uint32_t events; /* EPOLLIN, EPOLLOUT; 0: neither, but ends and errors are seen */
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
    double next_timer; /* not later than the first of them */
    struct epoll_event batch[TI__LOOP_BATCH];
    int in_batch;
};

double ti__now(void); /* seconds, monotonic */

bool ti__loop_open(struct ti__loop *l); /* false: errno */
void ti__loop_close(struct ti__loop *l);

/* Wait at most `timeout_ms` (-1: no limit) and make the calls that are due. */
void ti__loop_run(struct ti__loop *l, int timeout_ms);

/* Watch `fd`; again: change what for.  False: errno (EPERM: a plain file). */
bool ti__watch(struct ti__loop *l, struct ti__watch *w, int fd, uint32_t events,
               void (*call)(void *arg, uint32_t events), void *arg);
bool ti__watch_events(struct ti__watch *w, uint32_t events);
void ti__watch_drop(struct ti__watch *w); /* before the descriptor is closed */

/* Call once in `seconds`; again: anew. */
void ti__timer_set(struct ti__loop *l, struct ti__timer *t, double seconds, void (*call)(void *arg),
                   void *arg);
void ti__timer_drop(struct ti__timer *t);

#endif
