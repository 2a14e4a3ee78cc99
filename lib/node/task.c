#include "node/task.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/write.h"

#define TICK ' ' /* JSON ignores it */

static int to_parent = -1; /* in the process of a task */

void ti_task_tick(void)
{
    static const char tick = TICK;
    ssize_t n = to_parent < 0 ? 0 : write(to_parent, &tick, 1);

    (void)n;
}

bool ti_task_ticked(const struct ti_task *t)
{
    return t->used && t->text[t->used - 1] == TICK;
}

static _Noreturn void child(json_t *(*work)(void *arg), void *arg, int fd, pid_t parent)
{
    sigset_t none;
    int null = open("/dev/null", O_RDWR);
    json_t *json;
    char *text;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    /* Do not hold the channel open: its other end waits for it to be closed. */
    if (getppid() != parent || setpgid(0, 0) < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
        dup2(null, STDOUT_FILENO) < 0)
        _exit(1);
    to_parent = fd;
    json = work(arg);
    text = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    _exit(!text || !ti_write_all(fd, text, strlen(text)));
}

ti_status ti_task_start(struct ti_task *t, json_t *(*work)(void *arg), void *arg,
                        struct ti_err *err)
{
    pid_t parent = getpid();
    int fd[2];

    if (pipe2(fd, O_CLOEXEC) < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot start a process");
    fflush(NULL);
    t->pid = fork();
    if (t->pid == 0)
        child(work, arg, fd[1], parent);
    close(fd[1]);
    if (t->pid < 0) {
        ti_err_errno(err, TI_ERR_IO, "cannot start a process");
        close(fd[0]);
        t->pid = 0;
        return TI_ERR_IO;
    }
    setpgid(t->pid, t->pid);
    fcntl(fd[0], F_SETFL, O_NONBLOCK);
    t->fd = fd[0];
    t->used = 0;
    return TI_OK;
}

bool ti_task_read(struct ti_task *t, json_t **result)
{
    for (;;) {
        ssize_t n;

        if (t->used + 4096 > t->room) {
            char *more = realloc(t->text, t->room + 64 * 1024);

            if (!more)
                break;
            t->text = more;
            t->room += 64 * 1024;
        }
        n = read(t->fd, t->text + t->used, t->room - t->used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return false;
        if (n <= 0)
            break;
        t->used += (size_t)n;
    }
    *result = t->used ? json_loadb(t->text, t->used, 0, NULL) : NULL;
    ti_task_end(t);
    return true;
}

void ti_task_end(struct ti_task *t)
{
    if (t->pid > 0)
        killpg(t->pid, SIGKILL); /* with its children; ti_procs_reap() reaps it */
    if (t->fd >= 0)
        close(t->fd);
    free(t->text);
    *t = (struct ti_task){.fd = -1};
}
