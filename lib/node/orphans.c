#include "node/orphans.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/launch.h"

static bool killing;
static pid_t last_group; /* of a process that was reaped; its other members may live */

pid_t ti_orphans_reap(int *status)
{
    siginfo_t info = {.si_pid = 0};
    pid_t group = 0, pid;

    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid > 0 &&
        ti_launch_was_of(info.si_pid))
        group = getpgid(info.si_pid);
    if (group <= 1 || group == getpgrp())
        group = 0;
    /* The process keeps the number of its group from being used again until it is reaped. */
    if (group && killing)
        kill(-group, SIGKILL);
    pid = waitpid(-1, status, WNOHANG);
    if (group && kill(-group, 0) == 0)
        last_group = group;
    return pid;
}

void ti_orphans_kill(bool on)
{
    killing = on;
}

bool ti_orphans_go_on(void)
{
    bool alive = last_group && kill(-last_group, 0) == 0;

    last_group = 0;
    return alive;
}
