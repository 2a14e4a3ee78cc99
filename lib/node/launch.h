/*
 * Processes: start mpirun, wait for it, end it and everything it left behind.
 *
 * Everything started for a run carries TIARA_RUN_ID=<32 hex digits> in its
 * environment, which is how it is found again, whoever its parent is by then.
 * Orphans become our children (PR_SET_CHILD_SUBREAPER); as long as we had no
 * children before, all our descendants belong to the run as well.  Nothing
 * else is ever signalled.
 *
 * One thread, one run at a time.
 */
#ifndef TI_LAUNCH_H
#define TI_LAUNCH_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "common/clock.h"
#include "common/err.h"

#define TI_RUN_ID_TEXT 33 /* 32 hex digits and the 0 */

/*
 * The timer slack of processes of which there are many a core.  While a rank waits in
 * MPI_Init and MPI_Finalize, Open MPI looks every 100 us whether it is through: 256 ranks look
 * two million times a second, and nobody gets anywhere.  With this they look twenty times.
 */
#define TI_TIMER_SLACK_NS 50000000L

struct ti_launch {
    char *const *argv;      /* argv[0] is looked for on PATH */
    const char *run_id;     /* NULL: not part of a run, and in our process group */
    const char *stdin_path; /* opened for reading; NULL: ours */
    bool mute;              /* stdout and stderr go to /dev/null */
    int output, errors;     /* descriptors for stdout and stderr, also of a muted one, whatever
                             * is said below; 0: none */
    bool overlay;           /* what it writes into the working directory is dropped, see
                             * overlay.h; ti_overlay_works() must have said that it can be had */
    bool stdout_to_stderr;
    const char *stdout_path; /* opened for writing, whatever the line above says; NULL: not */
    const int *fds;          /* its standard input, output and error, instead; NULL: not */
    char *const *env;        /* VAR=VALUE besides ours, ends with NULL; NULL: none */
    const cpu_set_t *pin;    /* run on these cores; NULL: as we do */
    bool no_core;            /* no core dumps: valgrind would leave vgcore.PID */
    bool survive;            /* it gets no SIGTERM should we die */
    bool drowsy;             /* sleeps may last TI_TIMER_SLACK_NS longer than asked for */
    long files;              /* descriptors it may need: the soft limit is raised to that */
};

struct ti_proc {
    pid_t pid;
    char run_id[TI_RUN_ID_TEXT];
    bool running;
    int wait_status; /* as from waitpid(), once it ended */
};

/*
 * Before anything else: block and from then on collect SIGINT, SIGTERM, SIGHUP
 * (unless ignored, as under nohup) and SIGCHLD, ignore SIGPIPE, become the
 * subreaper.
 */
void ti_launch_init(void);

/* From now on we have children of other kinds as well: only what carries its run id
 * belongs to a run. */
void ti_launch_share_children(void);

/* A new descriptor that can be read as long as ti_launch_sleep(0) has something to
 * collect; -1 and errno. */
int ti_launch_signal_fd(void);

/* Sleep up to `ms`, less if a child ended.  Returns the first SIGINT, SIGTERM
 * or SIGHUP that came in since the last call, or 0. */
int ti_launch_sleep(int ms);

/* Die of `sig`, as a program does that does not handle it. */
_Noreturn void ti_launch_die(int sig);

/* Start; *proc is filled on success.  TI_ERR_IO names what failed, also when
 * the program could not be executed.  It gets SIGTERM should we die. */
ti_status ti_launch_start(const struct ti_launch *l, struct ti_proc *proc, struct ti_err *err);

/* Reap what ended; whether `proc` still runs. */
bool ti_launch_running(struct ti_proc *proc);

/*
 * End the run: SIGTERM to proc, SIGKILL to its process group after `grace_s`
 * seconds, or at a second signal to us; then what is left of the run.
 * `waiting`, if not NULL, is called about every 200 ms.  Returns the number of
 * processes that could not be ended, 0 as a rule.
 */
int ti_launch_end(struct ti_proc *proc, double grace_s, void (*waiting)(void *), void *arg);

/* End what is left of the run once proc ended: SIGTERM after `grace_s`, SIGKILL
 * two seconds later.  *found is how many there were to signal.  Returns how many are left. */
int ti_launch_sweep(struct ti_proc *proc, double grace_s, int *found);

/* Call f(pid, arg) for every living process of the run but ourselves; the
 * number of them.  f may be NULL. */
int ti_launch_each(const char *run_id, void (*f)(pid_t pid, void *arg), void *arg);

/* Signal every process of the run but ourselves, stopped ones so that they see it; the
 * number of them.  Those in `told` are passed over, the others added to it; NULL: all are
 * signalled.  Called again, that reaches those that were being born. */
struct ti_pids {
    pid_t *pid; /* free() it */
    int n, room;
};
int ti_launch_signal(const char *run_id, int sig, struct ti_pids *told);

/* Whether `pid` is a living process of the run.  `buf` is of TI_ENVIRON_MAX bytes. */
bool ti_launch_is_of(pid_t pid, const char *run_id, char *buf);
#define TI_ENVIRON_MAX (1 << 20)

#endif
