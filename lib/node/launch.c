#include "node/launch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/map.h"
#include "common/reap.h"
#include "node/orphans.h"
#include "node/overlay.h"

#define TICK_MS     200
#define KILL_WAIT_S 5.0 /* for the kernel to end one more of the killed processes */
#define EXEC_WAIT_S 1.0 /* for a process to have its new environment */

static sigset_t our_signals, at_start;
static int pending_signal;
static bool all_children_are_ours;

void ti_launch_init(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction was;
    siginfo_t info;

    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&our_signals);
    sigaddset(&our_signals, SIGCHLD);
    for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++)
        if (sigaction(ends[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
            sigaddset(&our_signals, ends[i]);
    sigprocmask(SIG_BLOCK, &our_signals, &at_start);
    /* A program with children may have exec'ed us.  WNOWAIT: a child of ours may have ended
     * already, and must not be reaped here. */
    all_children_are_ours =
        waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

void ti_launch_share_children(void)
{
    all_children_are_ours = false;
}

int ti_launch_signal_fd(void)
{
    return signalfd(-1, &our_signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

int ti_launch_sleep(int ms)
{
    struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};
    int sig = sigtimedwait(&our_signals, NULL, &ts);

    if (sig > 0 && sig != SIGCHLD && !pending_signal)
        pending_signal = sig;
    /* Many children may end at once: pause between two looks. */
    if (sig == SIGCHLD && ms > 10)
        nanosleep(&(struct timespec){0, 5000000L}, NULL);
    sig = pending_signal;
    pending_signal = 0;
    return sig;
}

_Noreturn void ti_launch_die(int sig)
{
    sigset_t set;

    fflush(NULL);
    signal(sig, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, sig);
    raise(sig);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    _exit(128 + sig);
}

/* --- start --------------------------------------------------------------- */

/* The error of the child before its execvp(). */
struct birth {
    int error;
    char what[32];
};

static _Noreturn void stillborn(int fd, const char *what)
{
    struct birth b = {.error = errno};

    snprintf(b.what, sizeof b.what, "%s", what);
    if (write(fd, &b, sizeof b) < 0)
        _exit(126);
    _exit(127);
}

static void redirect(int fd, const char *path, int flags, int report)
{
    int file = open(path, flags);

    if (file < 0 || dup2(file, fd) < 0)
        stillborn(report, path);
    if (file != fd)
        close(file);
}

static _Noreturn void child(const struct ti_launch *l, int report, pid_t parent)
{
    struct rlimit files, core;

    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &at_start, NULL);
    if (l->overlay && !ti_overlay_enter())
        stillborn(report, "overlay of the working directory");
    if (!l->survive)
        prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (getppid() != parent)
        _exit(127);
    if (l->run_id && (setpgid(0, 0) < 0 || setenv("TIARA_RUN_ID", l->run_id, 1) < 0))
        stillborn(report, "process group");
    for (int i = 0; l->fds && i < 3; i++)
        if (dup2(l->fds[i], i) < 0)
            stillborn(report, "pipes");
    if (l->stdin_path)
        redirect(STDIN_FILENO, l->stdin_path, O_RDONLY, report);
    if (l->mute) {
        redirect(STDOUT_FILENO, "/dev/null", O_WRONLY, report);
        redirect(STDERR_FILENO, "/dev/null", O_WRONLY, report);
    } else if (l->stdout_path) {
        redirect(STDOUT_FILENO, l->stdout_path, O_WRONLY, report);
    } else if (l->stdout_to_stderr && dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        stillborn(report, "standard output");
    }
    if (l->output && dup2(l->output, STDOUT_FILENO) < 0)
        stillborn(report, "standard output");
    if (l->errors && dup2(l->errors, STDERR_FILENO) < 0)
        stillborn(report, "standard error");
    for (int i = 0; l->env && l->env[i]; i++)
        putenv(l->env[i]);
    if (l->pin && sched_setaffinity(0, sizeof *l->pin, l->pin) < 0)
        stillborn(report, "cores");
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < (rlim_t)l->files) {
        files.rlim_cur = files.rlim_max < (rlim_t)l->files ? files.rlim_max : (rlim_t)l->files;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    if (l->no_core && getrlimit(RLIMIT_CORE, &core) == 0) {
        core.rlim_cur = 0;
        setrlimit(RLIMIT_CORE, &core);
    }
    if (l->timer_slack)
        prctl(PR_SET_TIMERSLACK, TI_TIMER_SLACK_NS, 0, 0, 0);
    execvp(l->argv[0], l->argv);
    stillborn(report, "execute");
}

ti_status ti_launch_start(const struct ti_launch *l, struct ti_proc *proc, struct ti_err *err)
{
    struct birth birth;
    pid_t parent = getpid();
    int report[2];
    ssize_t got;
    pid_t pid;

    if (pipe2(report, O_CLOEXEC) < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot start '%s'", l->argv[0]);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        close(report[0]);
        child(l, report[1], parent);
    }
    close(report[1]);
    if (pid < 0) {
        ti_err_errno(err, TI_ERR_IO, "cannot start '%s'", l->argv[0]);
        close(report[0]);
        return TI_ERR_IO;
    }
    do
        got = read(report[0], &birth, sizeof birth);
    while (got < 0 && errno == EINTR);
    close(report[0]);
    if (got == (ssize_t)sizeof birth) {
        waitpid(pid, NULL, 0);
        errno = birth.error;
        return ti_err_errno(err, TI_ERR_IO, "cannot start '%s': %s", l->argv[0], birth.what);
    }
    memset(proc, 0, sizeof *proc);
    proc->pid = pid;
    proc->running = true;
    if (l->run_id)
        snprintf(proc->run_id, sizeof proc->run_id, "%s", l->run_id);
    return TI_OK;
}

bool ti_launch_running(struct ti_proc *proc)
{
    int status;
    pid_t pid;

    while ((pid = ti_orphans_reap(&status)) > 0) {
        ti_reap_seen(pid, status);
        if (pid == proc->pid && proc->running) {
            proc->running = false;
            proc->wait_status = status;
        }
    }
    return proc->running;
}

/* --- finding ------------------------------------------------------------- */

/* Read /proc/PID/NAME, cut to `bytes` and NUL-terminated; -1 if the process is gone. */
static ssize_t read_proc(pid_t pid, const char *name, char *buf, size_t bytes)
{
    char path[64];
    size_t used = 0;
    ssize_t got = 0;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    while (used < bytes - 1 && (got = read(fd, buf + used, bytes - 1 - used)) > 0)
        used += (size_t)got;
    close(fd);
    buf[used] = '\0';
    return got < 0 && !used ? -1 : (ssize_t)used;
}

/* Whether `bytes` are the whole environment of the process, or there is no more to come.  A process
 * that replaces its program has, for a moment, none; what was opened before is then that of memory
 * which is gone, and ends early.  Kernel threads and processes that end have no memory.  proc(5),
 * /proc/pid/stat. */
static bool is_whole(pid_t pid, ssize_t bytes)
{
    enum { FLAGS = 9, ENV_START = 50, ENV_END = 51, EXITING = 0x4, KERNEL_THREAD = 0x200000 };
    char buf[1024], state;
    unsigned long flags = 0, env_start = 0, env_end = 0;
    const char *p;

    if (bytes < 0 || bytes == TI_ENVIRON_MAX - 1 || read_proc(pid, "stat", buf, sizeof buf) <= 0 ||
        !(p = strrchr(buf, ')')) || sscanf(p + 1, " %c", &state) != 1 || state == 'Z' ||
        state == 'X')
        return true;
    for (int field = 2; p && field <= ENV_END; field++) {
        if (field == FLAGS)
            flags = strtoul(p, NULL, 10);
        else if (field == ENV_START)
            env_start = strtoul(p, NULL, 10);
        else if (field == ENV_END)
            env_end = strtoul(p, NULL, 10);
        p = strchr(p + 1, ' ');
    }
    return (flags & (EXITING | KERNEL_THREAD)) ||
           (env_end != 0 && env_end - env_start == (unsigned long)bytes);
}

/* Whether root looks at a process of another user, which may look as above for ever.  Only a
 * process of the run is worth a pause. */
static bool is_others(pid_t pid)
{
    char path[64];
    struct stat sb;

    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return stat(path, &sb) == 0 && sb.st_uid != geteuid();
}

/* The run id in the environment of a process, in `buf`; NULL: there is none. */
static const char *run_id_of(pid_t pid, char *buf)
{
    static const char name[] = "TIARA_RUN_ID=";
    double until = ti_now() + EXEC_WAIT_S;
    ssize_t bytes;

    for (;;) {
        bytes = read_proc(pid, "environ", buf, TI_ENVIRON_MAX);
        for (const char *p = buf; bytes > 0 && p < buf + bytes; p += strlen(p) + 1)
            if (strncmp(p, name, sizeof name - 1) == 0)
                return p + sizeof name - 1;
        if (is_whole(pid, bytes) || is_others(pid) || ti_now() >= until)
            return NULL;
        nanosleep(&(struct timespec){0, 200000L}, NULL);
    }
}

static bool carries(pid_t pid, const char *run_id, char *buf)
{
    const char *theirs = run_id_of(pid, buf);

    return theirs && strcmp(theirs, run_id) == 0;
}

/* Parent and state of a process; 0 if it is gone. */
static pid_t parent_of(pid_t pid, char *state)
{
    char buf[512];
    char *p;
    int ppid;

    if (read_proc(pid, "stat", buf, sizeof buf) <= 0)
        return 0;
    p = strrchr(buf, ')'); /* the name before it may contain anything, also ')' */
    if (!p || sscanf(p + 1, " %c %d", state, &ppid) != 2)
        return 0;
    return ppid;
}

/* A stopped process handles signals only after SIGCONT.  mpirun forwards SIGCONT, so we send it
 * only if needed. */
static bool is_stopped(pid_t pid)
{
    char state;

    return parent_of(pid, &state) != 0 && state == 'T';
}

static bool descends(pid_t pid)
{
    pid_t us = getpid();
    char state;

    for (int depth = 0; depth < 64 && pid > 1; depth++) {
        pid_t child = pid;

        pid = parent_of(pid, &state);
        if (pid == us)
            return !ti_reap_expects(child); /* ssh, started by remote/, is not of the run */
    }
    return false;
}

/* Podman's monitor of a container, conmon, or what it starts to remove the container.  It ends when
 * the container has; killed before, it would leave the container in Podman's list. */
static bool removes_container(pid_t pid)
{
    char comm[64], state;

    for (int depth = 0; depth < 4 && pid > 1 && read_proc(pid, "comm", comm, sizeof comm) > 0;
         depth++, pid = parent_of(pid, &state)) {
        comm[strcspn(comm, "\n")] = '\0';
        if (strcmp(comm, "conmon") == 0)
            return true;
        if (strcmp(comm, "podman") != 0 && strcmp(comm, "crun") != 0 && strcmp(comm, "runc") != 0)
            return false;
    }
    return false;
}

bool ti_launch_is_of(pid_t pid, const char *run_id, char *buf)
{
    char state;

    if (pid == getpid() || parent_of(pid, &state) == 0 || state == 'Z' || state == 'X')
        return false;
    return carries(pid, run_id, buf) ||
           (all_children_are_ours && descends(pid) && !removes_container(pid));
}

bool ti_launch_was_of(pid_t pid)
{
    return all_children_are_ours && !ti_reap_expects(pid) && !removes_container(pid);
}

static int each(const char *run_id, void (*f)(pid_t pid, void *arg), void *arg)
{
    char *buf = malloc(TI_ENVIRON_MAX);
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    int n = 0;

    while (buf && dir && (entry = readdir(dir)) != NULL) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);

        if (pid <= 0 || *end || !ti_launch_is_of((pid_t)pid, run_id, buf))
            continue;
        n++;
        if (f)
            f((pid_t)pid, arg);
    }
    if (dir)
        closedir(dir);
    free(buf);
    return n;
}

/* Whether a tool of ours that is alive started the process, directly or not. */
static bool is_kept(pid_t pid)
{
    static const char *const tools[] = {"ti-acquire", "ti-skew", "ti-node"};
    char comm[64], state;

    for (int depth = 0; depth < 64 && (pid = parent_of(pid, &state)) > 1; depth++) {
        if (read_proc(pid, "comm", comm, sizeof comm) <= 0)
            return false;
        comm[strcspn(comm, "\n")] = '\0';
        for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
            if (strcmp(comm, tools[i]) == 0)
                return true;
    }
    return false;
}

int ti_launch_any(void (*f)(const struct ti_run_process *process, void *arg), void *arg)
{
    char *buf = malloc(TI_ENVIRON_MAX), command[4096], *end;
    DIR *dir = buf ? opendir("/proc") : NULL;
    struct dirent *e;
    int n = 0;

    while (dir && (e = readdir(dir)) != NULL) {
        struct ti_run_process p = {.pid = (pid_t)strtol(e->d_name, &end, 10), .command = command};
        struct stat sb;
        ssize_t bytes;
        char state;

        if (p.pid <= 0 || *end || p.pid == getpid() || fstatat(dirfd(dir), e->d_name, &sb, 0) < 0 ||
            sb.st_uid != geteuid() || parent_of(p.pid, &state) == 0 || state == 'Z' ||
            state == 'X' || !(p.run_id = run_id_of(p.pid, buf)))
            continue;
        bytes = read_proc(p.pid, "cmdline", command, sizeof command);
        for (ssize_t i = 0; i + 1 < bytes; i++)
            if (!command[i])
                command[i] = ' ';
        command[bytes < 0 ? 0 : bytes] = '\0';
        p.kept = is_kept(p.pid);
        f(&p, arg);
        n++;
    }
    if (dir)
        closedir(dir);
    free(buf);
    return n;
}

int ti_launch_each(const char *run_id, void (*f)(pid_t pid, void *arg), void *arg)
{
    int n = each(run_id, f, arg);

    /* A process may end just before we come to it, its child having a number that we had passed. */
    return n ? n : each(run_id, f, arg);
}

/* --- ending -------------------------------------------------------------- */

struct kill_job {
    const char *run_id;
    int sig;
};

/* Signals through a pidfd, and checks the process again once the pidfd is open: the kernel may have
 * reused the pid. */
static void kill_one(pid_t pid, void *arg)
{
    const struct kill_job *job = arg;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    char *buf;

    if (fd < 0) {
        if (errno == ENOSYS)
            kill(pid, job->sig);
        return;
    }
    buf = malloc(TI_ENVIRON_MAX);
    if (buf && ti_launch_is_of(pid, job->run_id, buf)) {
        syscall(SYS_pidfd_send_signal, fd, job->sig, NULL, 0);
        if (is_stopped(pid))
            syscall(SYS_pidfd_send_signal, fd, SIGCONT, NULL, 0);
    }
    free(buf);
    close(fd);
}

struct tell_job {
    struct kill_job kill;
    struct ti_pids *told;
};

static void tell_one(pid_t pid, void *arg)
{
    struct tell_job *job = arg;
    struct ti_pids *told = job->told;

    for (int i = 0; i < told->n; i++)
        if (told->pid[i] == pid)
            return;
    told->pid = ti_grow(told->pid, &told->room, (size_t)told->n + 1, sizeof *told->pid);
    told->pid[told->n++] = pid;
    kill_one(pid, &job->kill);
}

int ti_launch_signal(const char *run_id, int sig, struct ti_pids *told)
{
    struct tell_job job = {{run_id, sig}, told};

    return told ? ti_launch_each(run_id, tell_one, &job)
                : ti_launch_each(run_id, kill_one, &job.kill);
}

/* Wait until no process of the run is left, at most `seconds`; returns how many are left. */
static int wait_for_none(struct ti_proc *proc, double seconds)
{
    double until = ti_now() + seconds;
    int left, sig;

    for (;;) {
        ti_launch_running(proc);
        left = ti_launch_each(proc->run_id, NULL, NULL);
        left += !left && ti_orphans_go_on();
        if (!left || ti_now() >= until)
            return left;
        sig = ti_launch_sleep(seconds < 1 ? 20 : TICK_MS / 2);
        if (sig) {
            pending_signal = sig; /* for the caller's next ti_launch_sleep(); we hurry */
            return left;
        }
    }
}

/* Kill what is left; returns how many processes still are. */
static int kill_all(struct ti_proc *proc)
{
    struct kill_job job = {proc->run_id, SIGKILL};
    int left, least = INT_MAX;

    for (double until = ti_now() + KILL_WAIT_S; ti_now() < until;) {
        ti_launch_running(proc);
        /* Repeated, because a process may fork while we look. */
        left = ti_launch_each(proc->run_id, kill_one, &job);
        left += !left && ti_orphans_go_on();
        if (!left)
            return 0;
        /* Not fewer than before, but than ever: processes may start others faster than we kill. */
        if (left < least)
            until = ti_now() + KILL_WAIT_S;
        least = left < least ? left : least;
        nanosleep(&(struct timespec){0, 20000000L}, NULL);
    }
    return ti_launch_each(proc->run_id, NULL, NULL);
}

int ti_launch_sweep(struct ti_proc *proc, double grace_s, int *found)
{
    struct kill_job job = {proc->run_id, SIGTERM};
    int left;

    *found = 0;
    if (!wait_for_none(proc, grace_s))
        return 0;
    *found = ti_launch_each(proc->run_id, kill_one, &job);
    if (!wait_for_none(proc, 2))
        return 0;
    ti_orphans_kill(true);
    left = kill_all(proc);
    ti_orphans_kill(false);
    return left;
}

int ti_launch_end(struct ti_proc *proc, double grace_s, void (*waiting)(void *), void *arg)
{
    double until = ti_now() + grace_s;
    int found;

    if (ti_launch_running(proc)) {
        kill(proc->pid, SIGTERM);
        if (is_stopped(proc->pid))
            kill(proc->pid, SIGCONT);
    }
    while (ti_launch_running(proc) && ti_now() < until) {
        if (ti_launch_sleep(TICK_MS))
            break;
        if (waiting)
            waiting(arg);
    }
    if (ti_launch_running(proc)) {
        killpg(proc->pid, SIGKILL);
        until = ti_now() + KILL_WAIT_S;
        while (ti_launch_running(proc) && ti_now() < until)
            nanosleep(&(struct timespec){0, 10000000L}, NULL);
    }
    return ti_launch_sweep(proc, 0.2, &found);
}
