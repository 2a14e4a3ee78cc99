#include "remote/lookup.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct ti__lookup {
    struct ti__watch watch;
    int fd;
    char host[512], port[8];
    int family, error, error_errno;
    struct addrinfo *list;
    atomic_int users; /* the thread and the caller; the last one frees it */
    void (*done)(void *arg, struct addrinfo *list, const char *failure);
    void *arg;
};

static void leave(struct ti__lookup *l)
{
    if (atomic_fetch_sub(&l->users, 1) != 1)
        return;
    if (l->list)
        freeaddrinfo(l->list);
    close(l->fd);
    free(l);
}

static void *look(void *arg)
{
    struct ti__lookup *l = arg;
    struct addrinfo how = {.ai_family = l->family, .ai_socktype = SOCK_STREAM};

    l->error = getaddrinfo(l->host, l->port, &how, &l->list);
    l->error_errno = errno;
    eventfd_write(l->fd, 1);
    leave(l);
    return NULL;
}

static void on_done(void *arg, uint32_t events)
{
    struct ti__lookup *l = arg;
    struct addrinfo *list = l->list;
    void (*done)(void *, struct addrinfo *, const char *) = l->done;
    void *done_arg = l->arg;
    int error = l->error, error_errno = l->error_errno;

    (void)events;
    l->list = NULL;
    ti__lookup_drop(l);
    done(done_arg, list,
         !error                ? NULL
         : error == EAI_SYSTEM ? strerror(error_errno)
                               : gai_strerror(error));
}

static bool start_thread(struct ti__lookup *l)
{
    pthread_attr_t a;
    sigset_t all, was;
    pthread_t t;
    int error;

    pthread_attr_init(&a);
    pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&a, 256 << 10);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was); /* only the main thread handles signals */
    error = pthread_create(&t, &a, look, l);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    pthread_attr_destroy(&a);
    errno = error;
    return error == 0;
}

struct ti__lookup *ti__lookup(struct ti__loop *loop, const char *host, int port, int family,
                              void (*done)(void *arg, struct addrinfo *list, const char *failure),
                              void *arg)
{
    struct ti__lookup *l = calloc(1, sizeof *l);
    struct addrinfo how = {
        .ai_family = family, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};

    if (!l)
        return NULL;
    l->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    l->family = family;
    l->done = done;
    l->arg = arg;
    snprintf(l->host, sizeof l->host, "%s", host);
    snprintf(l->port, sizeof l->port, "%d", port);
    atomic_init(&l->users, 2);
    if (l->fd < 0 || !ti__watch(loop, &l->watch, l->fd, EPOLLIN, on_done, l)) {
        if (l->fd >= 0)
            close(l->fd);
        free(l);
        return NULL;
    }
    /* A numeric address needs no name server. */
    if (getaddrinfo(l->host, l->port, &how, &l->list) == 0) {
        atomic_fetch_sub(&l->users, 1);
        eventfd_write(l->fd, 1);
    } else if (!start_thread(l)) {
        atomic_fetch_sub(&l->users, 1);
        ti__lookup_drop(l);
        return NULL;
    }
    return l;
}

void ti__lookup_drop(struct ti__lookup *l)
{
    if (!l)
        return;
    ti__watch_drop(&l->watch);
    leave(l);
}
