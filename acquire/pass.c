#include "acquire/pass.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/clock.h"

#define LAST_MS 200 /* for what mpirun wrote last */

static void close_end(int *fd, int none)
{
    if (*fd > 0)
        close(*fd);
    *fd = none;
}

ti_status ti_pass_open(struct ti_pass *p, int out, int errors, struct ti_err *err)
{
    *p = (struct ti_pass){.from = {-1, -1}, .to = {out, errors}};
    for (int i = 0; i < 2 && ti_progress_on(); i++) {
        int fd[2];

        if (p->to[i] < 0 || !isatty(p->to[i]))
            continue;
        if (pipe2(fd, O_CLOEXEC) < 0) {
            ti_pass_started(p);
            ti_pass_close(p);
            return ti_err_errno(err, TI_ERR_IO, "cannot pass on the program's output");
        }
        p->from[i] = fd[0];
        p->into[i] = fd[1];
    }
    return TI_OK;
}

void ti_pass_started(struct ti_pass *p)
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

void ti_pass_one(struct ti_pass *p, int i)
{
    char text[4096];
    ssize_t n = read(p->from[i], text, sizeof text);

    if (n > 0) {
        ti_progress_clear();
        p->open_line = text[n - 1] != '\n';
        if (write_all(p->to[i], text, n))
            return;
    }
    if (n >= 0 || errno != EINTR) /* mpirun sees that nobody reads any more */
        close_end(&p->from[i], -1);
}

void ti_pass_some(struct ti_pass *p, int wake, int ms)
{
    double until = ti_now() + ms / 1e3;

    for (;;) {
        struct pollfd fd[] = {{.fd = p->from[0], .events = POLLIN},
                              {.fd = p->from[1], .events = POLLIN},
                              {.fd = wake, .events = POLLIN}};
        double left = until - ti_now();

        if (poll(fd, 3, left > 0 ? (int)(left * 1e3) + 1 : 0) <= 0)
            return;
        for (int i = 0; i < 2; i++)
            if (fd[i].revents)
                ti_pass_one(p, i);
        if (fd[2].revents || left <= 0)
            return;
    }
}

void ti_pass_close(struct ti_pass *p)
{
    double until = ti_now() + LAST_MS / 1e3;

    while ((p->from[0] >= 0 || p->from[1] >= 0) && ti_now() < until)
        ti_pass_some(p, -1, 0);
    for (int i = 0; i < 2; i++)
        close_end(&p->from[i], -1);
}
