#include "acquire/run/forward.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/clock.h"

#define LAST_MS 200 /* without a byte: the output has ended */
#define MOST_MS 100 /* limit for forwarding output that keeps coming */

static void close_end(int *fd, int none)
{
    if (*fd > 0)
        close(*fd);
    *fd = none;
}

ti_status ti_forward_open(struct ti_forward *p, int out, int errors, struct ti_err *err)
{
    *p = (struct ti_forward){.from = {-1, -1}, .to = {out, errors}};
    for (int i = 0; i < 2; i++) {
        int fd[2];

        if (p->to[i] < 0 || !ti_progress_meets(p->to[i]))
            continue;
        if (pipe2(fd, O_CLOEXEC) < 0) {
            ti_forward_started(p);
            ti_forward_close(p);
            return ti_err_errno(err, TI_ERR_IO, "cannot pass on the program's output");
        }
        p->from[i] = fd[0];
        p->into[i] = fd[1];
    }
    return TI_OK;
}

void ti_forward_started(struct ti_forward *p)
{
    for (int i = 0; i < 2; i++)
        close_end(&p->into[i], 0);
}

static bool write_all(int fd, const char *text, ssize_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, text, (size_t)n);

        if (done < 0 && errno == EAGAIN)
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        else if (done < 0 && errno != EINTR)
            return false;
        text += done > 0 ? done : 0;
        n -= done > 0 ? done : 0;
    }
    return true;
}

void ti_forward_one(struct ti_forward *p, int i)
{
    char text[4096];
    ssize_t n = read(p->from[i], text, sizeof text);

    if (n > 0) {
        ti_progress_clear();
        p->open_line = text[n - 1] != '\n';
        if (write_all(p->to[i], text, n))
            return;
    }
    if (n >= 0 || errno != EINTR) /* closing tells mpirun that there is no reader */
        close_end(&p->from[i], -1);
}

/* Wait up to `ms` and forward one piece of each stream.  True if `wake` can be read or nothing
 * came. */
static bool wait_for_some(struct ti_forward *p, int wake, int ms)
{
    struct pollfd fd[] = {{.fd = p->from[0], .events = POLLIN},
                          {.fd = p->from[1], .events = POLLIN},
                          {.fd = wake, .events = POLLIN}};

    if (poll(fd, 3, ms) <= 0)
        return true;
    for (int i = 0; i < 2; i++)
        if (fd[i].revents)
            ti_forward_one(p, i);
    return fd[2].revents != 0;
}

void ti_forward_some(struct ti_forward *p, int wake, int ms)
{
    double start = ti_now(), now = start;

    while (now < start + (ms + MOST_MS) / 1e3) {
        double left = start + ms / 1e3 - now;

        if (wait_for_some(p, wake, left > 0 ? (int)(left * 1e3) + 1 : 0))
            return;
        now = ti_now();
    }
}

void ti_forward_close(struct ti_forward *p)
{
    while ((p->from[0] >= 0 || p->from[1] >= 0) && !wait_for_some(p, -1, LAST_MS))
        ;
    if (p->open_line && ti_progress_on()) /* what we print starts on a new line */
        write_all(STDERR_FILENO, "\n", 1);
    p->open_line = false;
    for (int i = 0; i < 2; i++)
        close_end(&p->from[i], -1);
}
