#include "replay-bridge/simulation/simulate.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/beside.h"
#include "common/cli.h"
#include "common/clock.h"
#include "common/map.h"
#include "common/scratch.h"

#define FILES_SPARE 64  /* descriptors that SimGrid needs in addition to the traces */
#define PATIENCE_S  5.0 /* between SIGTERM and SIGKILL */
/* Each rank needs two mappings, a stack and a guard page.  By default Linux allows a process 65530.
 */
#define MANY_STACKS 30000

/* The smpirun that was named when Tiara was built or is installed beside it, which is of the SimGrid
 * that our replayer is linked with; else that of PATH. */
static bool find_smpirun(char file[PATH_MAX])
{
    return ti_beside_helper("smpirun", file) || ti_find_on_path("smpirun", file);
}

ti_status ti_sim_available(struct ti_err *err)
{
    char file[PATH_MAX];

    if (find_smpirun(file))
        return TI_OK;
    ti_err_set(err, TI_ERR_IO, "smpirun is not in PATH");
    ti_err_hint(err, "it comes with SimGrid 3.32 or later (Debian: apt install libsimgrid-dev)");
    return TI_ERR_IO;
}

bool ti_sim_can_open(int64_t np)
{
    struct rlimit limit;

    if (np == 1 || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return true;
    return limit.rlim_max == RLIM_INFINITY || (int64_t)limit.rlim_max >= np + FILES_SPARE;
}

/* A rank of ti-smpi-replay may have its trace open twice, see sound/wildcards.h. */
static void raise_files(int64_t np)
{
    struct rlimit limit;
    rlim_t want = (rlim_t)(2 * np + FILES_SPARE);

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= want)
        return;
    limit.rlim_cur = want < limit.rlim_max ? want : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* ---- the command ---- */

/* Options that make SimGrid trace each message. */
static const char *const tracing[] = {":yes",
                                      "/smpi:yes",
                                      "/smpi/internals:yes",
                                      "/smpi/display-sizes:yes",
                                      "/precision:9",
                                      ("/filename:" TI_SIM_MESSAGES)};

/*
 * smpirun splits at blanks, so no name here has any.  Paths are relative to the scratch directory.
 * The layout of the log adds the simulated clock, with more digits, to "Simulation time".
 */
static struct ti_args command(const struct ti_sim *sim)
{
    struct ti_args a = {0};
    char file[PATH_MAX];

    ti_args_add(&a, find_smpirun(file) ? file : "smpirun", "-np");
    ti_args_addf(&a, "%lld", (long long)sim->np);
    ti_args_add(&a, "-platform", sim->platform);
    ti_args_add(&a, "-hostfile", TI_SIM_HOSTS);
    ti_args_add(&a, "-no-privatize", "--log=smpi_replay.fmt:clock=%.12r%e%m%n");
    if (sim->log)
        ti_args_add_list(&a, sim->log);
    if (sim->np > MANY_STACKS)
        ti_args_add(&a, "--cfg=contexts/guard-size:0");
    for (int i = 0; i < sim->ncfg; i++)
        ti_args_addf(&a, "--cfg=%s", sim->cfg[i]);
    for (size_t i = 0; sim->message && i < sizeof tracing / sizeof *tracing; i++)
        ti_args_addf(&a, "--cfg=tracing%s", tracing[i]);
    if (sim->replayer) {
        ti_args_add(&a, "--cfg=smpi/simulate-computation:no");
        ti_args_add_all(&a, sim->replayer, 0);
    } else {
        ti_args_add(&a, "-replay", TI_SIM_TRACES);
    }
    if (!ti_args_ok(&a))
        TI_BUG("out of memory");
    return a;
}

ti_status ti_sim_script(const struct ti_sim *sim, struct ti_err *err)
{
    struct ti_args a;
    FILE *f;
    ti_status st = ti_scratch_create(TI_SIM_COMMAND, &f, err);

    if (st)
        return st;
    a = command(sim);
    fprintf(f, "#!/bin/sh\ncd \"$(dirname \"$0\")\" || exit\n");
    if (sim->np > 1 && ti_sim_can_open(sim->np))
        fprintf(f, "ulimit -n \"$(ulimit -Hn)\"\n");
    fprintf(f, "exec");
    if (sim->preload)
        fprintf(f, " env LD_PRELOAD='%s'", sim->preload);
    for (int i = 0; i < a.n; i++) {
        fprintf(f, " '");
        for (const char *p = a.v[i]; *p; p++)
            fprintf(f, *p == '\'' ? "'\\''" : "%c", *p);
        fprintf(f, "'");
    }
    fprintf(f, "\n");
    ti_args_free(&a);
    fchmod(fileno(f), 0777 & ~022);
    return ti_scratch_finish(f, TI_SIM_COMMAND, TI_OK, err);
}

/* ---- the child ---- */

/* Puts the library in front of LD_PRELOAD. */
static void preload(const char *library)
{
    const char *others = getenv("LD_PRELOAD");
    char *all;

    if (asprintf(&all, "%s%s%s", library, others ? ":" : "", others ? others : "") >= 0)
        setenv("LD_PRELOAD", all, 1);
}

static _Noreturn void child(const struct ti_sim *sim, char **argv, int out, int failed)
{
    const char *tmp = getenv("TMPDIR");
    int in = open("/dev/null", O_RDONLY);

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    if (tmp && strpbrk(tmp, " \t\n"))
        unsetenv("TMPDIR"); /* smpirun would split its value at blanks */
    raise_files(sim->np);
    if (sim->preload)
        preload(sim->preload);
    if (chdir(ti_scratch_dir()) == 0)
        execvp(argv[0], argv);
    if (write(failed, &errno, sizeof errno) < 0)
        _exit(126);
    _exit(127);
}

struct running {
    pid_t pid;
    int out; /* output of smpirun */
    FILE *log;
    double start, term; /* when SIGTERM went out, 0: not yet */
    bool killed;
    int messages; /* the FIFO of SimGrid's tracing; -1: none, or at its end */
    char *line;   /* the incomplete last line from the FIFO */
    size_t line_bytes, line_room;
};

static void escalate(struct running *r)
{
    if (!ti_stopped() || r->killed)
        return;
    if (!r->term) {
        kill(-r->pid, SIGTERM);
        r->term = ti_now();
    } else if (ti_stop_count() > 1 || ti_now() - r->term > PATIENCE_S) {
        kill(-r->pid, SIGKILL);
        r->killed = true;
    }
}

/* smpirun waits for the simulator.  If it was killed, the simulator goes on and keeps the output
 * open. */
static void end_orphan(const struct running *r)
{
    siginfo_t ended = {0};

    if (waitid(P_PID, (id_t)r->pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid)
        kill(-r->pid, SIGKILL);
}

static const char *step_of(const struct ti_sim *sim)
{
    return sim->routes ? "finding routes" : "replaying";
}

void ti_sim_show(const struct ti_sim *sim)
{
    char note[TI_SIM_NOTE_BYTES];
    struct ti_progress p = {.step = step_of(sim)};

    if (sim->progress)
        sim->progress(sim->arg, &p, note);
    ti_progress_show(&p);
}

/* Reads the FIFO of SimGrid's tracing, and passes on each complete line. */
static void read_messages(struct running *r, const struct ti_sim *sim)
{
    char buf[65536], *at = buf, *end;
    ssize_t n = read(r->messages, buf, sizeof buf);

    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) {
        close(r->messages);
        r->messages = -1;
    }
    for (; n > 0; n -= end - at, at = end) {
        end = memchr(at, '\n', (size_t)n);
        end = end ? end + 1 : at + n;
        r->line = ti_grow(r->line, &r->line_room, r->line_bytes + (size_t)(end - at) + 1, 1);
        memcpy(r->line + r->line_bytes, at, (size_t)(end - at));
        r->line_bytes += (size_t)(end - at);
        if (end[-1] != '\n')
            continue;
        r->line[r->line_bytes - 1] = '\0';
        sim->message(sim->arg, r->line);
        r->line_bytes = 0;
    }
}

static void drain(struct running *r, const struct ti_sim *sim)
{
    char buf[8192];

    for (;;) {
        struct pollfd p[2] = {{.fd = r->out, .events = POLLIN},
                              {.fd = r->messages, .events = POLLIN}};
        ssize_t n;

        escalate(r);
        end_orphan(r);
        if (ti_progress_due(step_of(sim)))
            ti_sim_show(sim);
        if (poll(p, 2, 200) <= 0)
            continue;
        if (p[1].revents)
            read_messages(r, sim);
        if (!p[0].revents)
            continue;
        n = read(r->out, buf, sizeof buf);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        fwrite(buf, 1, (size_t)n, r->log);
        if (sim->verbose) {
            ti_progress_clear();
            fwrite(buf, 1, (size_t)n, stderr);
        }
    }
    while (r->messages >= 0 && !ti_stopped())
        read_messages(r, sim);
    ti_progress_clear();
}

static int reap(struct running *r)
{
    struct timespec pause = {0, 20 * 1000 * 1000};
    int status = 0;

    while (waitpid(r->pid, &status, WNOHANG) == 0) {
        escalate(r);
        nanosleep(&pause, NULL);
    }
    /* smpirun does not wait for its child when it gets SIGTERM */
    kill(-r->pid, SIGKILL);
    while (waitpid(-r->pid, NULL, 0) > 0)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static ti_status start(const struct ti_sim *sim, struct running *r, struct ti_err *err)
{
    struct ti_args a = command(sim);
    int out[2], failed[2], why = 0;

    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(failed, O_CLOEXEC) != 0) {
        ti_args_free(&a);
        return ti_err_errno(err, TI_ERR_IO, "cannot make a pipe for smpirun");
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    r->start = ti_now();
    r->pid = fork();
    if (r->pid == 0)
        child(sim, a.v, out[1], failed[1]);
    ti_args_free(&a);
    close(out[1]);
    close(failed[1]);
    r->out = out[0];
    if (r->pid > 0) {
        setpgid(r->pid, r->pid);
        if (read(failed[0], &why, sizeof why) != sizeof why)
            why = 0;
    } else {
        why = errno;
    }
    close(failed[0]);
    if (!why)
        return TI_OK;
    close(out[0]);
    if (r->pid > 0)
        waitpid(r->pid, NULL, 0);
    errno = why;
    return ti_err_errno(err, TI_ERR_IO, "cannot run smpirun");
}

/* Opens the FIFO of SimGrid's tracing for reading.  This is done before smpirun starts, so that
 * SimGrid's open never blocks. */
static ti_status open_messages(struct running *r, struct ti_err *err)
{
    const char *path = ti_scratch_path(TI_SIM_MESSAGES);

    if (mkfifo(path, 0600) == 0)
        r->messages = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    return r->messages >= 0 ? TI_OK : ti_err_errno(err, TI_ERR_IO, "cannot make '%s'", path);
}

ti_status ti_simulate(const struct ti_sim *sim, int *exit_status, double *wall_s,
                      struct ti_err *err)
{
    const char *log = sim->routes ? TI_SIM_ROUTES : TI_SIM_LOG;
    struct running r = {.messages = -1};
    ti_status st;

    r.log = fopen(ti_scratch_path(log), "we");
    if (!r.log)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", ti_scratch_path(log));
    st = sim->message ? open_messages(&r, err) : TI_OK;
    if (!st)
        st = start(sim, &r, err);
    if (!st) {
        drain(&r, sim);
        close(r.out);
        *exit_status = reap(&r);
        *wall_s = ti_now() - r.start;
    }
    if (r.messages >= 0)
        close(r.messages);
    free(r.line);
    if (sim->message)
        remove(ti_scratch_path(TI_SIM_MESSAGES));
    if (fclose(r.log) != 0 && !st)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", ti_scratch_path(log));
    return st ? st : ti_stop_check(err);
}
