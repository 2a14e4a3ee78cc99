#include "node/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/reap.h"
#include "formats/json.h"
#include "formats/trace.h"
#include "node/facts.h"
#include "session/frame.h"
#include "node/launch.h"
#include "node/load.h"
#include "node/machine.h"
#include "session/messages.h"
#include "node/outbox.h"
#include "session/paths.h"
#include "node/procs.h"
#include "node/ranks.h"
#include "node/relay.h"
#include "node/rundir.h"
#include "node/send.h"
#include "node/task.h"
#include "node/traces.h"
#include "node/waits.h"
#include "node/watch.h"

#define TASKS       4
#define FIXED       4   /* descriptors in each poll(), besides those of tasks and processes */
#define GRACE_S     2.0 /* for processes to end by themselves after the channel ended */
#define KILL_S      5.0 /* for the kernel to end killed processes */
#define LINGER_S    1.0 /* for output of a process that has ended */
#define END_TICK_MS 50
#define PATIENCE_S  2.0  /* for the channel to take the rest of the outbox when we end */
#define LISTED      1000 /* traces in one message */
#define CRCS        1000 /* ranks in one request */
#define PIECES      16   /* of traces, sent in one turn of the loop */

enum ending { NOT_ENDING, ENDING_TERM, ENDING_KILL };

/* Memory of both processes.  The serving one writes it; its parent reads it afterwards. */
struct shared {
    char run_id[TI_RUN_ID_TEXT]; /* "": no run */
    bool leave;
};

struct serve {
    const char *folder, *self;
    struct shared *shared;
    struct ti_frame_reader in;
    struct ti_outbox out;
    struct ti_procs procs;
    struct ti_task task[TASKS];
    struct ti_send send;
    struct ti_relay *relay; /* NULL: no "reach" so far */
    uint64_t turned;        /* ti_relay_turned() when a piece was sent last ... */
    int waiting;            /* ... and ti_relay_waiting() at that time */
    int signals;
    bool eof; /* the channel ended, or we were told to end */
    ti_status status;

    bool open;
    struct ti_rundir dir;
    json_t *run; /* the contents of RUN.json */
    int64_t np;

    struct ti_watch watch;
    struct ti_load load;
    bool watching;
    double every_s, next_look;
    int64_t swapped_before;

    double beat_s, next_beat; /* interval of heartbeats, 0: none; time of the next one */
    double listen_s, heard;   /* timeout for input, 0: none; time of the last input */
    uint64_t beat_end;        /* ti_outbox_end() after the last heartbeat */

    enum ending ending;
    double end_until, next_end_look;
    json_int_t end_id; /* of the request; -1: ended without a request */
    int end_found;
    struct ti_pids told; /* processes that got SIGTERM since begin_end() */
};

/* --- answers ------------------------------------------------------------- */

static void answer(struct serve *s, const char *is, json_int_t id, json_t *fields)
{
    json_t *j = json_pack("{s:s, s:I}", "is", is, "id", id);

    if (fields)
        json_object_update(j, fields);
    json_decref(fields);
    ti_outbox_json(&s->out, TI_FRAME_MESSAGE, j);
}

static void answer_error(struct serve *s, json_int_t id, ti_status st, const struct ti_err *err)
{
    json_t *j = ti_facts_error(err);

    json_object_set_new(j, "status", json_integer(st));
    answer(s, "error", id, j);
}

static const char *text_of(const json_t *request, const char *key)
{
    return json_string_value(json_object_get(request, key));
}

static json_int_t number_of(const json_t *request, const char *key)
{
    return json_integer_value(json_object_get(request, key));
}

/* --- work that takes time ------------------------------------------------ */

struct work {
    const struct serve *s;
    const json_t *request;
};

static json_t *do_facts(void *arg)
{
    const struct work *w = arg;

    return ti_facts(w->request, w->s->folder);
}

static json_t *do_ranks(void *arg)
{
    const struct work *w = arg;
    const json_t *range;
    struct ti_ranks r;
    struct ti_err err;
    json_t *j;
    size_t i;

    if (ti_ranks_new(w->s->np, &r, &err) != TI_OK)
        return ti_facts_error(&err);
    json_array_foreach(json_object_get(w->s->run, "ranks"), i, range)
        ti_ranks_add(&r, w->s->dir.path, json_integer_value(json_array_get(range, 0)),
                     json_integer_value(json_array_get(range, 1)), w->s->shared->run_id);
    j = ti_ranks_report(&r);
    ti_ranks_free(&r);
    return j;
}

static const char *directory_of(const struct serve *s)
{
    return s->open ? s->dir.path : NULL;
}

static const char *run_id_of(const struct serve *s)
{
    return s->open ? s->shared->run_id : NULL;
}

static json_t *or_error(json_t *result, const struct ti_err *err)
{
    return result ? result : ti_facts_error(err);
}

static json_t *do_list(void *arg)
{
    const struct work *w = arg;
    struct ti_err err = {"", ""};

    return or_error(ti_traces_list(w->request, directory_of(w->s), run_id_of(w->s), &err), &err);
}

static json_t *do_crc(void *arg)
{
    const struct work *w = arg;
    struct ti_err err = {"", ""};

    return or_error(ti_traces_crc(w->request, directory_of(w->s), run_id_of(w->s), &err), &err);
}

static json_t *do_remove(void *arg)
{
    const struct work *w = arg;
    struct ti_err err = {"", ""};
    int64_t removed;
    ti_status st =
        ti_traces_remove(w->request, directory_of(w->s), run_id_of(w->s), &removed, &err);

    return or_error(st == TI_OK ? json_pack("{s:I}", "removed", (json_int_t)removed) : NULL, &err);
}

static ti_status start_task(struct serve *s, const json_t *request, const char *is,
                            json_t *(*work)(void *arg), struct ti_err *err)
{
    struct work w = {s, request};

    for (int i = 0; i < TASKS; i++) {
        struct ti_task *t = &s->task[i];
        ti_status st;

        if (t->fd >= 0)
            continue;
        st = ti_task_start(t, work, &w, err);
        t->id = number_of(request, "id");
        snprintf(t->is, sizeof t->is, "%s", is);
        return st;
    }
    return ti_err_set(err, TI_ERR_INPUT, "too many questions at once");
}

/* Send the list of traces, LISTED at a time, then the answer. */
static void answer_list(struct serve *s, json_int_t id, json_t *result)
{
    json_t *traces = json_object_get(result, "traces"), *some = json_array(), *trace;
    size_t n = json_array_size(traces), i;

    json_array_foreach(traces, i, trace)
    {
        json_array_append(some, trace);
        if (json_array_size(some) < LISTED && i + 1 < n)
            continue;
        answer(s, "listed", id, json_pack("{s:o}", "traces", some));
        some = json_array();
    }
    json_decref(some);
    json_object_set_new(result, "traces", json_integer((json_int_t)n));
    answer(s, "list", id, result);
}

static void task_done(struct serve *s, struct ti_task *t)
{
    json_int_t id = t->id;
    json_t *result;
    char is[32];

    snprintf(is, sizeof is, "%s", t->is);
    if (!ti_task_read(t, &result))
        return;
    if (result && json_object_get(result, "error") &&
        (strcmp(is, "list") == 0 || strcmp(is, "crc") == 0 || strcmp(is, "remove") == 0)) {
        json_object_set_new(result, "status", json_integer(TI_ERR_IO));
        answer(s, "error", id, result);
    } else if (result && strcmp(is, "list") == 0) {
        answer_list(s, id, result);
    } else if (result) {
        answer(s, is, id, result);
    } else {
        struct ti_err err;

        ti_err_set(&err, TI_ERR_IO, "the process that was at work on \"%s\" died", is);
        answer_error(s, id, TI_ERR_IO, &err);
    }
}

static ti_status do_facts_request(struct serve *s, const json_t *request, struct ti_err *err)
{
    return start_task(s, request, "facts", do_facts, err);
}

static ti_status do_ranks_request(struct serve *s, const json_t *request, struct ti_err *err)
{
    if (!s->open)
        return ti_err_set(err, TI_ERR_INPUT, "no run was opened");
    return start_task(s, request, "ranks", do_ranks, err);
}

static ti_status do_list_request(struct serve *s, const json_t *request, struct ti_err *err)
{
    return start_task(s, request, "list", do_list, err);
}

static ti_status do_crc_request(struct serve *s, const json_t *request, struct ti_err *err)
{
    const json_t *ranks = json_object_get(request, "ranks");

    if (!ti_ranges_ok(ranks) || json_array_size(ranks) > CRCS || ti_ranges_count(ranks) > CRCS)
        return ti_err_set(err, TI_ERR_INPUT,
                          "\"ranks\" must be a list of [FIRST, LAST], %d ranks at most", CRCS);
    return start_task(s, request, "crc", do_crc, err);
}

/* --- open ---------------------------------------------------------------- */

static bool is_hex_id(const char *id)
{
    return id && strlen(id) == 2 * TI_RUN_ID_BYTES &&
           strspn(id, "0123456789abcdef") == 2 * TI_RUN_ID_BYTES;
}

static bool all_strings(const json_t *list)
{
    const json_t *item;
    size_t i;

    if (list && !json_is_null(list) && !json_is_array(list))
        return false;
    json_array_foreach(list, i, item) if (!json_is_string(item)) return false;
    return true;
}

static ti_status check_open(const struct serve *s, const json_t *request, struct ti_err *err)
{
    const char *dir = text_of(request, "trace_dir");
    json_int_t np = number_of(request, "np");

    if (s->open)
        return ti_err_set(err, TI_ERR_INPUT, "a run is open already");
    if (!is_hex_id(text_of(request, "run_id")))
        return ti_err_set(err, TI_ERR_INPUT, "\"run_id\" must be 32 hex digits");
    if (!dir || dir[0] != '/')
        return ti_err_set(err, TI_ERR_INPUT, "the trace directory '%s' is not absolute",
                          dir ? dir : "");
    if (np < 1 || np > TI_RANKS_MAX || !ti_ranges_ok(json_object_get(request, "ranks")))
        return ti_err_set(err, TI_ERR_INPUT, "\"np\" or \"ranks\" makes no sense");
    if (!all_strings(json_object_get(request, "env")) ||
        !all_strings(json_object_get(request, "wrapper")) ||
        !all_strings(json_object_get(request, "scratch")))
        return ti_err_set(err, TI_ERR_INPUT,
                          "\"env\", \"wrapper\" and \"scratch\" must be lists "
                          "of strings");
    return TI_OK;
}

/* Make the directories above `path`. */
static void make_parents(const char *path)
{
    char part[PATH_MAX];

    snprintf(part, sizeof part, "%s", path);
    for (char *p = part + 1; (p = strchr(p, '/')) != NULL; p++) {
        *p = '\0';
        mkdir(part, 0777);
        *p = '/';
    }
}

/* Make the directories for Open MPI, which are removed when we end. */
static ti_status make_scratch(struct serve *s, const json_t *request, struct ti_err *err)
{
    const json_t *list = json_object_get(request, "scratch");
    char *const at[2] = {s->dir.tmp, s->dir.shm};

    for (size_t i = 0; i < 2; i++) {
        const char *path = json_string_value(json_array_get(list, i));

        if (!path)
            continue;
        if (path[0] != '/' || strlen(path) >= PATH_MAX || mkdir(path, 0700) < 0)
            return ti_err_errno(err, TI_ERR_IO, "cannot create '%s'", path);
        strcpy(at[i], path);
    }
    return TI_OK;
}

static ti_status write_run_file(struct serve *s, const json_t *request, struct ti_err *err)
{
    static struct ti_paths paths;
    mode_t mask;
    ti_status st = ti_paths_find(&paths, err);

    if (st != TI_OK)
        return st;
    s->run = json_deep_copy(request);
    json_object_del(s->run, "do");
    json_object_del(s->run, "id");
    json_object_set_new(s->run, "directory", ti_json_text(s->dir.path));
    json_object_set_new(s->run, "library", ti_json_text(paths.library));
    if (json_is_true(json_object_get(request, "valgrind")))
        json_object_set_new(s->run, "valgrind_lib", ti_json_text(paths.valgrind));
    mask = umask(077); /* RUN.json has the environment of the run, which may be secret */
    st = ti_rundir_write(&s->dir, s->run, err);
    umask(mask);
    return st;
}

static bool set_spawn_environment(struct serve *s)
{
    const char *node = text_of(s->run, "node");
    char file[PATH_MAX + 16];

    snprintf(file, sizeof file, "%s/%s", s->dir.path, TI_RUN_JSON);
    return setenv("TIARA_NODE", s->self, 1) == 0 &&
           setenv("TIARA_NODE_NAME", node ? node : "", 1) == 0 &&
           setenv("TIARA_RUN_FILE", file, 1) == 0;
}

/* Close the run; remove its directory if nothing was traced. */
static void close_run(struct serve *s)
{
    bool nothing_traced;

    if (s->watch.size)
        ti_watch_update(&s->watch);
    nothing_traced = s->watch.started == 0;
    ti_watch_close(&s->watch);
    ti_load_free(&s->load);
    s->watching = false;
    ti_rundir_unscratch(&s->dir);
    if (nothing_traced)
        ti_rundir_discard(&s->dir, false);
    ti_rundir_close(&s->dir);
    json_decref(s->run);
    s->run = NULL;
    s->open = false;
    s->shared->run_id[0] = '\0';
}

static ti_status do_open(struct serve *s, const json_t *request, struct ti_err *err)
{
    const char *dir = text_of(request, "trace_dir");
    ti_status st = check_open(s, request, err);

    if (st != TI_OK)
        return st;
    make_parents(dir);
    st = ti_rundir_open(dir, json_is_true(json_object_get(request, "force")), &s->dir, err);
    if (st != TI_OK)
        return st;
    s->np = number_of(request, "np");
    s->open = true;
    snprintf(s->shared->run_id, sizeof s->shared->run_id, "%s", text_of(request, "run_id"));
    st = make_scratch(s, request, err);
    if (st == TI_OK)
        st = write_run_file(s, request, err);
    if (st == TI_OK && !set_spawn_environment(s))
        st = ti_err_errno(err, TI_ERR_IO, "cannot set the environment");
    if (st == TI_OK)
        st = ti_watch_open(s->dir.fd, s->np, &s->watch, err);
    if (st != TI_OK) {
        close_run(s);
        return st;
    }
    snprintf(s->load.run_id, sizeof s->load.run_id, "%s", s->shared->run_id);
    s->shared->leave = false;
    answer(s, "open", number_of(request, "id"),
           json_pack("{s:o}", "directory", ti_json_text(s->dir.path)));
    return TI_OK;
}

/* --- spawn --------------------------------------------------------------- */

static ti_status do_spawn(struct serve *s, const json_t *request, struct ti_err *err)
{
    const char *command = text_of(request, "command");
    json_int_t stream = number_of(request, "stream");
    pid_t pid;
    ti_status st;

    if (!s->open || s->ending)
        return ti_err_set(err, TI_ERR_INPUT, "no run was opened");
    if (!command || stream < 1 || stream > UINT32_MAX || ti_relay_has(s->relay, (uint32_t)stream))
        return ti_err_set(err, TI_ERR_INPUT, "\"command\" or \"stream\" makes no sense");
    st = ti_procs_start(&s->procs, (uint32_t)stream, command, s->shared->run_id,
                        (long)number_of(request, "files"), &pid, err);
    if (st == TI_OK)
        answer(s, "spawn", number_of(request, "id"), json_pack("{s:i}", "pid", (int)pid));
    return st;
}

/* Signal a process whose user is gone. */
static ti_status do_kill(struct serve *s, const json_t *request, struct ti_err *err)
{
    json_int_t stream = number_of(request, "stream"), sig = number_of(request, "signal");

    if (!s->open)
        return ti_err_set(err, TI_ERR_INPUT, "no run was opened");
    if (stream < 1 || stream > UINT32_MAX || sig < 0 || sig >= NSIG)
        return ti_err_set(err, TI_ERR_INPUT, "\"stream\" or \"signal\" makes no sense");
    answer(s, "kill", number_of(request, "id"),
           json_pack("{s:b}", "found",
                     ti_procs_signal(&s->procs, (uint32_t)stream, sig ? (int)sig : SIGKILL)));
    return TI_OK;
}

/* --- watch --------------------------------------------------------------- */

static ti_status do_watch(struct serve *s, const json_t *request, struct ti_err *err)
{
    json_int_t every_ms = number_of(request, "every_ms");

    if (!s->open)
        return ti_err_set(err, TI_ERR_INPUT, "no run was opened");
    s->watching = every_ms > 0;
    s->every_s = (double)every_ms / 1e3;
    s->next_look = ti_now();
    s->swapped_before = ti_machine_swapped_out();
    answer(s, "watch", number_of(request, "id"), NULL);
    return TI_OK;
}

static ti_status do_waits(struct serve *s, const json_t *request, struct ti_err *err)
{
    if (!s->open)
        return ti_err_set(err, TI_ERR_INPUT, "no run was opened");
    answer(s, "waits", number_of(request, "id"),
           json_pack("{s:o, s:i}", "waits", ti_waits(s->shared->run_id), "alive",
                     ti_launch_each(s->shared->run_id, NULL, NULL)));
    return TI_OK;
}

/* Send "status" if it is due.  Collecting it takes at most a tenth of our time, and is skipped
 * while the outbox is full. */
static void send_status(struct serve *s)
{
    double start = ti_now(), took;
    int64_t room;

    if (!s->watching || start < s->next_look || ti_outbox_full(&s->out))
        return;
    ti_watch_update(&s->watch);
    ti_load_update(&s->load);
    room = ti_machine_room();
    ti_outbox_json(&s->out, TI_FRAME_MESSAGE,
                   json_pack("{s:s, s:I, s:I, s:I, s:f, s:i, s:I, s:I, s:I, s:I}", "is", "status",
                             "started", (json_int_t)s->watch.started, "finished",
                             (json_int_t)s->watch.finished, "bytes", (json_int_t)s->watch.bytes,
                             "last_start", s->watch.last_start, "alive", s->load.alive, "rss_bytes",
                             (json_int_t)s->load.rss_bytes, "room_bytes", (json_int_t)room,
                             "swap_out_bytes",
                             (json_int_t)(ti_machine_swapped_out() - s->swapped_before),
                             "free_bytes", (json_int_t)ti_disk_free(s->dir.path)));
    took = ti_now() - start;
    s->next_look = start + (took * 10 > s->every_s ? took * 10 : s->every_s);
}

/* --- end ----------------------------------------------------------------- */

/* Start to end the run: SIGTERM now, SIGKILL after `grace_s`.  The loop goes on meanwhile. */
static void begin_end(struct serve *s, double grace_s, json_int_t id)
{
    if (s->end_id >= 0)
        answer(s, "end", s->end_id, json_pack("{s:i, s:i}", "found", s->end_found, "left", -1));
    s->end_id = id;
    s->told.n = 0;
    s->end_found = ti_launch_signal(s->shared->run_id, SIGTERM, &s->told);
    s->ending = ENDING_TERM;
    s->end_until = ti_now() + grace_s;
    s->next_end_look = 0;
}

static void ended(struct serve *s, int left)
{
    s->ending = NOT_ENDING;
    if (s->end_id >= 0)
        answer(s, "end", s->end_id, json_pack("{s:i, s:i}", "found", s->end_found, "left", left));
    s->end_id = -1;
}

static void continue_ending(struct serve *s)
{
    double now = ti_now();
    int left;

    if (!s->ending || now < s->next_end_look)
        return;
    /* SIGKILL is repeated, because a process may fork while we look for processes. */
    left = s->ending == ENDING_KILL ? ti_launch_signal(s->shared->run_id, SIGKILL, NULL)
                                    : ti_launch_signal(s->shared->run_id, SIGTERM, &s->told);
    if (left == 0 || (s->ending == ENDING_KILL && now >= s->end_until)) {
        ended(s, left);
        return;
    }
    if (now >= s->end_until) {
        s->ending = ENDING_KILL;
        s->end_until = now + KILL_S;
    }
    s->next_end_look = ti_now() + END_TICK_MS / 1e3;
}

static ti_status do_end(struct serve *s, const json_t *request, struct ti_err *err)
{
    double grace_s = json_number_value(json_object_get(request, "grace_s"));

    if (!s->open)
        return ti_err_set(err, TI_ERR_INPUT, "no run was opened");
    begin_end(s, grace_s > 0 && grace_s < 3600 ? grace_s : 0, number_of(request, "id"));
    return TI_OK;
}

/* --- beat ---------------------------------------------------------------- */

static ti_status do_beat(struct serve *s, const json_t *request, struct ti_err *err)
{
    json_int_t every_ms = number_of(request, "every_ms"),
               listen_ms = number_of(request, "listen_ms");

    if (every_ms < 0 || every_ms > 86400 * 1000)
        return ti_err_set(err, TI_ERR_INPUT, "\"every_ms\" makes no sense");
    if (listen_ms < 0 || listen_ms > 86400 * 1000)
        return ti_err_set(err, TI_ERR_INPUT, "\"listen_ms\" makes no sense");
    s->listen_s = (double)listen_ms / 1e3;
    s->beat_s = (double)every_ms / 1e3;
    s->next_beat = ti_now() + s->beat_s;
    answer(s, "beat", number_of(request, "id"), NULL);
    return TI_OK;
}

/* At most one heartbeat is queued, so that they do not pile up when the channel is slow. */
static bool beat_is_queued(const struct serve *s)
{
    return s->out.passed < s->beat_end;
}

static void beat(struct serve *s)
{
    double now = ti_now();

    if (s->beat_s <= 0 || now < s->next_beat || beat_is_queued(s))
        return;
    ti_outbox_json(&s->out, TI_FRAME_MESSAGE, json_pack("{s:s}", "is", "beat"));
    s->beat_end = ti_outbox_end(&s->out);
    s->next_beat = now + s->beat_s;
}

/* --- reach, unreach ------------------------------------------------------ */

static ti_status do_reach(struct serve *s, const json_t *request, struct ti_err *err)
{
    struct ti_reach reach;
    ti_status st = ti_reach_parse(request, &reach, err);

    if (st == TI_OK && ti_procs_has(&s->procs, reach.stream))
        st = ti_err_set(err, TI_ERR_INPUT, "there is a process %u already", reach.stream);
    if (st == TI_OK && !s->relay && !(s->relay = ti_relay_new(&s->out, err)))
        st = TI_ERR_IO;
    if (st == TI_OK)
        st = ti_relay_reach(s->relay, &reach, err);
    if (st == TI_OK)
        answer(s, "reach", number_of(request, "id"), NULL);
    return st;
}

static ti_status do_unreach(struct serve *s, const json_t *request, struct ti_err *err)
{
    json_int_t stream = number_of(request, "stream");

    if (stream < 1 || stream > UINT32_MAX)
        return ti_err_set(err, TI_ERR_INPUT, "\"stream\" makes no sense");
    answer(s, "unreach", number_of(request, "id"),
           json_pack("{s:b}", "found", ti_relay_unreach(s->relay, (uint32_t)stream)));
    return TI_OK;
}

/* --- send, remove, leave ------------------------------------------------- */

static ti_status do_send(struct serve *s, const json_t *request, struct ti_err *err)
{
    ti_status st = ti_send_start(&s->send, request, directory_of(s), run_id_of(s), err);

    if (st == TI_OK)
        s->send.id = number_of(request, "id");
    return st;
}

static ti_status do_more(struct serve *s, const json_t *request, struct ti_err *err)
{
    (void)err;
    ti_send_credit(&s->send, request);
    return TI_OK;
}

static ti_status do_remove_request(struct serve *s, const json_t *request, struct ti_err *err)
{
    return start_task(s, request, "remove", do_remove, err);
}

static ti_status do_leave(struct serve *s, const json_t *request, struct ti_err *err)
{
    (void)err;
    s->shared->leave = true;
    answer(s, "leave", number_of(request, "id"), NULL);
    return TI_OK;
}

/* --- requests ------------------------------------------------------------ */

static const struct {
    const char *name;
    ti_status (*act)(struct serve *s, const json_t *request, struct ti_err *err);
} requests[] = {
    {"facts", do_facts_request},   {"open", do_open},       {"spawn", do_spawn},
    {"watch", do_watch},           {"end", do_end},         {"send", do_send},
    {"remove", do_remove_request}, {"leave", do_leave},     {"ranks", do_ranks_request},
    {"waits", do_waits},           {"kill", do_kill},       {"beat", do_beat},
    {"reach", do_reach},           {"unreach", do_unreach}, {"list", do_list_request},
    {"crc", do_crc_request},       {"more", do_more},
};

static void message(struct serve *s, const struct ti_frame *f)
{
    json_t *request = json_loadb((const char *)f->payload, f->bytes, 0, NULL);
    const char *name = text_of(request, "do");
    struct ti_err err = {"", ""};
    ti_status st = TI_ERR_INPUT;
    size_t i = 0;

    while (i < sizeof requests / sizeof *requests && name && strcmp(requests[i].name, name) != 0)
        i++;
    if (!name)
        ti_err_set(&err, st, "what came is no request");
    else if (i == sizeof requests / sizeof *requests)
        ti_err_set(&err, st, "no request is called '%s'", name);
    else
        st = requests[i].act(s, request, &err);
    if (st != TI_OK)
        answer_error(s, number_of(request, "id"), st, &err);
    json_decref(request);
}

static void take_frame(struct serve *s, const struct ti_frame *f)
{
    if (f->type == TI_FRAME_MESSAGE)
        message(s, f);
    else if (f->type == TI_FRAME_INPUT && ti_relay_has(s->relay, f->stream))
        ti_relay_input(s->relay, f->stream, f->payload, f->bytes);
    else if (f->type == TI_FRAME_INPUT)
        ti_procs_input(&s->procs, f->stream, f->payload, f->bytes);
    /* other types never go to a node: ignored */
}

/* Stop all work, and start to end the run unless "leave" was said. */
static void channel_ended(struct serve *s)
{
    if (s->eof)
        return;
    s->eof = true;
    s->watching = false;
    for (int i = 0; i < TASKS; i++)
        if (s->task[i].fd >= 0)
            ti_task_end(&s->task[i]);
    ti_send_end(&s->send);
    ti_relay_free(s->relay);
    s->relay = NULL;
    s->beat_s = 0;
    if (s->open && !s->shared->leave)
        begin_end(s, GRACE_S, -1);
}

/* Apply the timeout for input: a connection that was cut does not always report it. */
static void check_timeout(struct serve *s)
{
    if (s->listen_s <= 0 || s->eof || ti_now() < s->heard + s->listen_s)
        return;
    fprintf(stderr, "ti-node: nothing was heard for %.0f s\n", s->listen_s);
    channel_ended(s);
}

static void receive(struct serve *s)
{
    unsigned char buf[64 * 1024];
    ssize_t n = read(STDIN_FILENO, buf, sizeof buf);
    size_t done = 0;

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    s->heard = ti_now();
    if (n <= 0) {
        channel_ended(s);
        return;
    }
    for (;;) {
        struct ti_frame f;
        struct ti_err err;
        size_t used;
        int got;
        ti_status st = ti_frame_feed(&s->in, buf + done, (size_t)n - done, &used, &f, &got, &err);

        if (st != TI_OK) {
            fprintf(stderr, "ti-node: %s\n", err.text);
            s->status = st;
            channel_ended(s);
            return;
        }
        if (!got)
            return;
        done += used;
        take_frame(s, &f);
    }
}

/* --- the loop ------------------------------------------------------------ */

static void other_child(pid_t pid, int status, void *arg)
{
    struct serve *s = arg;

    ti_reap_seen(pid, status);
    for (int i = 0; i < TASKS; i++)
        if (s->task[i].pid == pid)
            s->task[i].pid = 0;
}

static void soonest(int *ms, double in_s)
{
    int v = in_s <= 0 ? 0 : in_s < 86400 ? (int)(in_s * 1e3) + 1 : 86400 * 1000;

    if (*ms < 0 || v < *ms)
        *ms = v;
}

static int next_deadline(const struct serve *s, int ms)
{
    double now = ti_now();

    if (s->watching && !ti_outbox_full(&s->out))
        soonest(&ms, s->next_look - now);
    if (s->ending)
        soonest(&ms, s->next_end_look - now);
    if (s->beat_s > 0 && !beat_is_queued(s))
        soonest(&ms, s->next_beat - now);
    if (s->listen_s > 0 && !s->eof)
        soonest(&ms, s->heard + s->listen_s - now);
    if (s->relay)
        soonest(&ms, ti_relay_due_s(s->relay));
    if (ti_send_can(&s->send) && !ti_outbox_full(&s->out))
        soonest(&ms, 0);
    return ms;
}

/*
 * Collect the descriptors for poll().  The end of standard input is always watched, even while no
 * requests are read.  Requests are read as long as the outbox has room for answers; traces and
 * output stop at half of that.
 */
static nfds_t poll_set(struct serve *s, struct pollfd *fds)
{
    bool take = !ti_procs_input_full(&s->procs) && ti_outbox_queued(&s->out) < 2 * TI_OUTBOX_FULL;
    nfds_t n = 0;

    fds[n++] = (struct pollfd){s->signals, POLLIN, 0};
    fds[n++] =
        (struct pollfd){s->eof ? -1 : STDIN_FILENO, (short)((take ? POLLIN : 0) | POLLRDHUP), 0};
    fds[n++] =
        (struct pollfd){s->out.broken ? -1 : s->out.fd, ti_outbox_queued(&s->out) ? POLLOUT : 0, 0};
    fds[n++] = (struct pollfd){s->relay ? ti_relay_fd(s->relay) : -1, POLLIN, 0};
    for (int i = 0; i < TASKS; i++)
        fds[n++] = (struct pollfd){s->task[i].fd, POLLIN, 0};
    ti_procs_poll(&s->procs, !ti_outbox_full(&s->out), fds, &n);
    return n;
}

static void poll_once(struct serve *s, struct pollfd *fds, int timeout_ms)
{
    nfds_t n = poll_set(s, fds);

    if (poll(fds, n, timeout_ms) < 0)
        return;
    if (fds[0].revents && ti_launch_sleep(0))
        channel_ended(s);
    ti_procs_reap(&s->procs, other_child, s);
    if (fds[1].revents & POLLIN)
        receive(s);
    else if (fds[1].revents)
        channel_ended(s);
    if (fds[2].revents & (POLLERR | POLLHUP | POLLNVAL))
        s->out.broken = true;
    for (int i = 0; i < TASKS; i++)
        if (fds[FIXED + i].revents && s->task[i].fd == fds[FIXED + i].fd)
            task_done(s, &s->task[i]);
    ti_procs_serve(&s->procs, fds + FIXED + TASKS, n - FIXED - TASKS, &s->out);
    if (s->relay)
        ti_relay_run(s->relay);
}

/*
 * Send some pieces of traces.  If a relay's children use the same outbox, they take turns with us:
 * we send one piece when each child that waited had its turn since our last piece.  The children
 * are held while the outbox has no room for our piece.
 */
static void send_some(struct serve *s)
{
    uint64_t turned;

    if (!s->relay || !ti_send_can(&s->send)) {
        if (s->relay)
            ti_relay_hold(s->relay, false);
        ti_send_more(&s->send, PIECES, &s->out);
        return;
    }
    turned = ti_relay_turned(s->relay);
    if (turned - s->turned < (uint64_t)s->waiting && ti_relay_waiting(s->relay))
        return;
    ti_relay_hold(s->relay, ti_outbox_full(&s->out));
    if (ti_outbox_full(&s->out))
        return;
    ti_send_more(&s->send, 1, &s->out);
    s->turned = turned;
    s->waiting = ti_relay_waiting(s->relay);
}

static void loop(struct serve *s)
{
    struct pollfd *fds = NULL;
    int room = 0;
    double until = 0;

    for (;;) {
        int ms = ti_procs_tell(&s->procs, &s->out, LINGER_S);

        if (s->procs.n >= room) {
            struct pollfd *more;

            room = 2 * s->procs.n + 16;
            more = realloc(fds, (size_t)(3 * room + FIXED + TASKS) * sizeof *fds);
            if (!more)
                break;
            fds = more;
        }
        send_some(s);
        beat(s);
        check_timeout(s);
        ti_outbox_flush(&s->out);
        if (s->out.broken)
            channel_ended(s);
        continue_ending(s);
        send_status(s);
        if (s->eof && !s->ending) {
            until = until > 0 ? until : ti_now() + PATIENCE_S;
            if (s->out.broken || !ti_outbox_queued(&s->out) || ti_now() > until)
                break;
            ms = 100;
        }
        ms = next_deadline(s, ms);
        poll_once(s, fds, ms);
    }
    free(fds);
}

static json_t *hello(const char *folder, bool shipped)
{
    char host[256] = "?";
    struct utsname u;

    gethostname(host, sizeof host - 1);
    return json_pack("{s:s, s:i, s:o, s:i, s:s, s:o, s:b}", "tiara", ti_version(), "protocol",
                     TI_PROTOCOL, "host", ti_json_text(host), "pid", (int)getpid(), "family",
                     uname(&u) == 0 ? u.machine : "?", "folder", ti_json_text(folder), "shipped",
                     shipped);
}

static ti_status serve(const char *folder, const char *self, bool shipped, struct shared *shared,
                       struct ti_err *err)
{
    struct serve *s = calloc(1, sizeof *s);
    ti_status st;

    if (!s)
        return ti_err_errno(err, TI_ERR_IO, "cannot serve");
    s->folder = folder;
    s->self = self;
    s->shared = shared;
    s->in.started = 1; /* the input comes from a program and has no noise */
    s->end_id = -1;
    s->dir.fd = -1;
    for (int i = 0; i < TASKS; i++)
        s->task[i].fd = -1;
    s->out.fd = STDOUT_FILENO;
    s->signals = ti_launch_signal_fd();
    if (s->signals < 0 || fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK) < 0 ||
        fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK) < 0) {
        free(s);
        return ti_err_errno(err, TI_ERR_IO, "cannot serve");
    }
    ti_outbox_json(&s->out, TI_FRAME_HELLO, hello(folder, shipped));
    loop(s);
    if (s->open)
        close_run(s);
    st = s->status;
    free(s->told.pid);
    ti_procs_free(&s->procs);
    ti_outbox_free(&s->out);
    ti_frame_reader_free(&s->in);
    free(s);
    return st;
}

ti_status ti__serve_alone(const char *folder, const char *self, struct ti_err *err)
{
    struct shared shared = {.leave = false};

    return serve(folder, self, false, &shared, err);
}

/* --- two processes ------------------------------------------------------- */

/*
 * The parent process: wait for the serving child, and end the run if the child was killed.  It
 * closes its ends of the channel, so that the far end notices when the child dies.
 */
static ti_status outlive(pid_t pid, struct shared *shared)
{
    struct ti_proc proc = {.pid = pid, .running = true};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), found, sig;

    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
    }
    while (ti_launch_running(&proc)) {
        sig = ti_launch_sleep(60 * 1000);
        if (sig)
            kill(pid, SIGTERM);
    }
    if (shared->run_id[0] && !shared->leave) {
        memcpy(proc.run_id, shared->run_id, sizeof proc.run_id);
        ti_launch_sweep(&proc, 0, &found);
    }
    if (WIFEXITED(proc.wait_status))
        return (ti_status)WEXITSTATUS(proc.wait_status);
    fprintf(stderr, "ti-node: was killed by signal %d (%s)\n", WTERMSIG(proc.wait_status),
            strsignal(WTERMSIG(proc.wait_status)));
    return TI_ERR_REMOTE;
}

ti_status ti_serve(const char *folder, const char *self, bool shipped, struct ti_err *err)
{
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t parent = getpid(), pid;

    if (shared == MAP_FAILED)
        return ti_err_errno(err, TI_ERR_IO, "cannot serve");
    fflush(NULL);
    pid = fork();
    if (pid < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot serve");
    ti_launch_init();
    if (pid > 0)
        return outlive(pid, shared);
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (getppid() != parent)
        return ti_err_set(err, TI_ERR_IO, "cannot serve: the parent process is gone");
    return serve(folder, self, shipped, shared, err);
}
