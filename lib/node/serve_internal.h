/*
 * Shared by the files of `ti-node serve` (serve.h is the interface).
 *
 *   serve.c           the loop, the channel to the client, heartbeats, the two processes
 *   serve_requests.c  the requests by name, answers, tasks; "facts", "beat", "reach", "unreach"
 *   serve_run.c       the run: open, spawn, kill, watch, waits, ranks, end, leave
 *   serve_traces.c    the traces: list, crc, remove, send, more
 *
 * One thread, which never blocks except in poll().  Frames come in on standard input.  Answers go
 * into the outbox, which the loop writes to standard output.  Work that may take long is done by a
 * task, a process of its own.
 */
#ifndef TI_NODE_SERVE_INTERNAL_H
#define TI_NODE_SERVE_INTERNAL_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "node/launch.h"
#include "node/load.h"
#include "node/outbox.h"
#include "node/procs.h"
#include "node/relay.h"
#include "node/rundir.h"
#include "node/send.h"
#include "node/task.h"
#include "node/watch.h"
#include "session/frame.h"

#define TI__TASKS 4 /* at a time */

enum ti__ending { TI__NOT_ENDING, TI__ENDING_TERM, TI__ENDING_KILL };

/* Memory that ti-node shares with its child, which serves.  The child writes it; ti-node reads it
 * when the child has ended. */
struct ti__shared {
    char run_id[TI_RUN_ID_TEXT]; /* "": no run */
    bool leave;                  /* "leave" was said: the run outlives ti-node */
    char folder[2][PATH_MAX];    /* for Open MPI, of the run; "": none */
};

/* The state of the serving process.  It owns all members that are not marked as borrowed. */
struct ti__serve {
    const char *folder, *self; /* borrowed, as those of ti_serve() */
    struct ti__shared *shared; /* borrowed */
    struct ti_frame_reader in;
    struct ti_outbox out;
    struct ti_procs procs; /* by "spawn" */
    struct ti_task task[TI__TASKS];
    struct ti_send send;    /* by "send" */
    struct ti_relay *relay; /* NULL: no "reach" so far; borrows `out` */
    uint64_t turned;        /* ti_relay_turned() when a piece of a trace was last sent */
    int waiting;            /* ti_relay_waiting() at that time */
    int signals;            /* a descriptor that is readable after SIGTERM; see launch.h */
    bool eof;               /* the channel ended, or we were told to end */
    ti_status status;       /* the result of ti_serve() */

    bool open;            /* "open" was done; else what follows, up to `np`, is not valid */
    struct ti_rundir dir; /* run directory, and directories that are removed with it */
    json_t *run;          /* the contents of NODE.json */
    int64_t np;

    struct ti_watch watch; /* progress of the run; borrows `dir.fd` */
    struct ti_load load;   /* memory of its processes */
    bool watching;         /* "status" is sent */
    double every_s;        /* interval of "status" */
    double next_look;      /* time of the next one, ti_now() */
    int64_t swapped_before;

    double beat_s, next_beat; /* interval of heartbeats, 0: none; time of the next one */
    double listen_s, heard;   /* timeout for input, 0: none; time of the last input, or of HELLO */
    uint64_t beat_end;        /* ti_outbox_end() after the last heartbeat */

    enum ti__ending ending;
    double end_until, next_end_look; /* when SIGTERM or SIGKILL had its time; the next check */
    json_int_t end_id;               /* of the request; -1: ended without a request */
    int end_found;                   /* processes that got the first SIGTERM */
    int end_least;                   /* the fewest processes left since SIGKILL */
    struct ti_pids told;             /* processes that got SIGTERM since ti__begin_end() */
};

/*
 * Carries out the request {"do": NAME, "id": N, ...} and answers it, now or later.  `request` is
 * valid during the call; its fields are from the network and not checked.  On failure nothing was
 * answered: the caller answers "error" with the returned status and `err`.
 */
typedef ti_status ti__do(struct ti__serve *s, const json_t *request, struct ti_err *err);

/* --- serve_requests.c --- */

ti__do ti__do_facts, ti__do_beat, ti__do_reach, ti__do_unreach;

/* Carry out the request in a frame, and answer "error" if it fails. */
void ti__handle_request(struct ti__serve *s, const struct ti_frame *f);

/* Queue {"is": is, "id": id} and `fields`, a new object or NULL, which this call takes over. */
void ti__answer(struct ti__serve *s, const char *is, json_int_t id, json_t *fields);

/* A member of a request: NULL if it is no string; 0 if it is no integer. */
const char *ti__text_of(const json_t *request, const char *key);
json_int_t ti__number_of(const json_t *request, const char *key);

/* The argument of a task's function, which runs in the process of the task. */
struct ti__work {
    const struct ti__serve *s;
    const json_t *request;
};

/*
 * Start a task for a request.  `work` gets a struct ti__work and returns the answer's fields, a new
 * object.  The answer is called `is`.  TI_ERR_INPUT when TI__TASKS are running.
 */
ti_status ti__start_task(struct ti__serve *s, const json_t *request, const char *is,
                         json_t *(*work)(void *arg), struct ti_err *err);

/* Read a task's result, and answer when it is complete.  Call it when t->fd is readable. */
void ti__task_done(struct ti__serve *s, struct ti_task *t);

/* --- serve_run.c --- */

ti__do ti__do_open, ti__do_spawn, ti__do_kill, ti__do_watch, ti__do_waits, ti__do_ranks, ti__do_end,
    ti__do_leave;

/* Close the run; remove its directory if nothing was traced.  Processes are left alone. */
void ti__close_run(struct ti__serve *s);

/* Remove Open MPI's folders of the run. */
void ti__remove_folders(struct ti__shared *shared);

/* Send "status" if it is due.  Collecting it takes at most a tenth of our time, and is skipped
 * while the outbox is full. */
void ti__send_status(struct ti__serve *s);

/* Begin to end all processes of the run: SIGTERM now, SIGKILL after `grace_s`.  The loop goes on
 * meanwhile.  The answer goes to request `id`; -1: to none. */
void ti__begin_end(struct ti__serve *s, double grace_s, json_int_t id);

/* The next step of that, if it is due. */
void ti__continue_ending(struct ti__serve *s);

/* --- serve_traces.c --- */

ti__do ti__do_list, ti__do_crc, ti__do_remove, ti__do_left, ti__do_send, ti__do_more;

/* Send the result of "list", a limited number of traces per message, then the answer.  Takes over
 * `result`. */
void ti__answer_list(struct ti__serve *s, json_int_t id, json_t *result);

#endif
