#include "common/reap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

static struct expected {
    pid_t pid;
    bool seen;
    int status;
} * list;
static size_t count, room;

static struct expected *find(pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].pid == pid)
            return &list[i];
    return NULL;
}

bool ti_reap_expect(pid_t pid)
{
    if (count == room) {
        size_t more = room ? 2 * room : 64;
        struct expected *bigger = realloc(list, more * sizeof *list);

        if (!bigger)
            return false;
        list = bigger;
        room = more;
    }
    list[count++] = (struct expected){.pid = pid};
    return true;
}

bool ti_reap_expects(pid_t pid)
{
    return find(pid) != NULL;
}

void ti_reap_seen(pid_t pid, int status)
{
    struct expected *e = find(pid);

    if (e) {
        e->seen = true;
        e->status = status;
    }
}

static void forget(struct expected *e)
{
    *e = list[--count];
    if (count)
        return;
    free(list);
    list = NULL;
    room = 0;
}

bool ti_reap(pid_t pid, int *status)
{
    struct expected *e = find(pid);
    pid_t got;

    if (e && e->seen) {
        *status = e->status;
        forget(e);
        return true;
    }
    got = waitpid(pid, status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR))
        return false;
    if (got < 0)
        *status = -1;
    if (e)
        forget(e);
    return true;
}
