/*
 * Processes of a run: start mpirun, wait for it, end it and everything that it left behind.
 *
 * All processes of a run have TIARA_RUN_ID=<32 hex digits> in their environment, by which they are
 * found again, whatever their parent is.  Orphans become our children (PR_SET_CHILD_SUBREAPER).  If
 * we had no children at the start, all our descendants belong to the run as well.  No other process
 * is ever signalled.
 *
 * One thread, one run at a time.
 */
#ifndef TI_NODE_LAUNCH_H
#define TI_NODE_LAUNCH_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/clock.h"
#include "common/err.h"
#include "trace/trace.h"

/*
 * Timer slack, in ns, for ranks of which there are many a core.  While a rank waits in MPI_Init or
 * MPI_Finalize, Open MPI polls every 100 us.  256 ranks then poll two million times a second, and
 * none of them makes progress.  With this slack a rank polls twenty times a second.
 */
#define TI_TIMER_SLACK_NS 50000000L

struct ti_launch {
    char *const *argv;      /* argv[0] is searched on PATH */
    const char *run_id;     /* NULL: not part of a run, and in our process group */
    const char *stdin_path; /* opened for reading; NULL: ours */
    bool mute;              /* stdout and stderr go to /dev/null */
    int output, errors;     /* descriptors for stdout and stderr; they have precedence over the
                             * other members; 0: none */
    bool overlay;           /* what it writes into the working directory is discarded, see
                             * overlay.h; only if ti_overlay_works() */
    bool stdout_to_stderr;
    const char
        *stdout_path; /* opened for writing; has precedence over the line above; NULL: none */
    const int *fds;   /* its standard input, output and error instead; NULL: none */
    char *const *env; /* VAR=VALUE in addition to ours, NULL-terminated; NULL: none */
    const cpu_set_t *pin;    /* run on these cores; NULL: as we do */
    bool no_core;            /* no core dumps: valgrind would leave vgcore.PID */
    bool survive;            /* it gets no SIGTERM when we die */
    bool timer_slack;        /* its timer slack is TI_TIMER_SLACK_NS */
    long files;              /* the soft limit of descriptors is raised to this */
};

struct ti_proc {
    pid_t pid;
    char run_id[TI_RUN_ID_TEXT];
    bool running;
    int wait_status; /* as from waitpid(), once it has ended */
};

/*
 * Call this before anything else.  Blocks SIGCHLD and, unless they are ignored (nohup), SIGINT,
 * SIGTERM and SIGHUP; ti_launch_sleep() collects them.  Ignores SIGPIPE.  Becomes the subreaper.
 */
void ti_launch_init(void);

/* Announce that we start children that do not belong to a run.  From then on only processes with
 * its run id belong to a run. */
void ti_launch_share_children(void);

/* A new descriptor for poll(): readable while ti_launch_sleep(0) has a signal to collect.  -1:
 * errno. */
int ti_launch_signal_fd(void);

/* Sleep up to `ms`, less if a child ends.  Returns the first SIGINT, SIGTERM or SIGHUP since the
 * last call; 0: none. */
int ti_launch_sleep(int ms);

/* Die of `sig`, like a program that does not handle it. */
_Noreturn void ti_launch_die(int sig);

/* Start a process; *proc is filled on success.  TI_ERR_IO if something failed, including execvp().
 * The process gets SIGTERM when we die, unless `survive` is set. */
ti_status ti_launch_start(const struct ti_launch *l, struct ti_proc *proc, struct ti_err *err);

/* Reap children that have ended; returns whether `proc` still runs. */
bool ti_launch_running(struct ti_proc *proc);

/*
 * End the run.  `proc` gets SIGTERM; its process group gets SIGKILL after `grace_s` seconds, or
 * when a signal for us arrives meanwhile.  Then the rest of the run is ended.  waiting(arg), unless
 * NULL, is called about every 200 ms.  Returns the number of processes that could not be ended,
 * usually 0.
 */
int ti_launch_end(struct ti_proc *proc, double grace_s, void (*waiting)(void *), void *arg);

/* End the rest of the run after `proc` has ended: SIGTERM after `grace_s` seconds, SIGKILL two
 * seconds later.  *found is the number of processes that got SIGTERM.  Returns the number that are
 * left. */
int ti_launch_sweep(struct ti_proc *proc, double grace_s, int *found);

/* Call f(pid, arg) for every living process of the run except ourselves; f may be NULL.  Returns
 * their number. */
int ti_launch_each(const char *run_id, void (*f)(pid_t pid, void *arg), void *arg);

/* A living process of any run.  Strings are good during the call. */
struct ti_run_process {
    pid_t pid;
    const char *run_id, *command;
    bool kept; /* a ti-acquire, ti-skew or ti-node above it is alive: the run goes on */
};

/* Call f(process, arg) for every process of this user's that is of a run, except ourselves.  Returns
 * their number. */
int ti_launch_any(void (*f)(const struct ti_run_process *process, void *arg), void *arg);

/* Signal every process of the run except ourselves; stopped ones also get SIGCONT.  Returns the
 * number of living processes.  Processes in `told` are skipped, and the others are added to it:
 * repeated calls reach processes that were just being forked.  `told` NULL: all are signalled. */
struct ti_pids {
    pid_t *pid; /* free() it */
    int n;
    size_t room;
};
int ti_launch_signal(const char *run_id, int sig, struct ti_pids *told);

/* Whether `pid` is a living process of the run.  `buf` is scratch space of TI_ENVIRON_MAX bytes. */
bool ti_launch_is_of(pid_t pid, const char *run_id, char *buf);
#define TI_ENVIRON_MAX (1 << 20)

/* Whether a child of ours that has ended, and was not reaped yet, was a process of the run. */
bool ti_launch_was_of(pid_t pid);

#endif
