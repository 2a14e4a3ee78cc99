#include "node/serve_internal.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/folder.h"
#include "common/hex.h"
#include "common/json.h"
#include "node/facts.h"
#include "node/machine.h"
#include "node/orphans.h"
#include "node/ranks.h"
#include "node/traces.h"
#include "node/waits.h"
#include "session/paths.h"
#include "trace/trace.h"

#define KILL_S      5.0 /* for the kernel to end one more of the killed processes */
#define END_TICK_MS 50

/* --- open -------------------------------------------------------------------- */

static bool all_strings(const json_t *list)
{
    const json_t *item;
    size_t i;

    if (list && !json_is_null(list) && !json_is_array(list))
        return false;
    json_array_foreach(list, i, item) if (!json_is_string(item)) return false;
    return true;
}

static ti_status check_open(const struct ti__serve *s, const json_t *request, struct ti_err *err)
{
    const char *dir = ti__text_of(request, "trace_dir");
    json_int_t np = ti__number_of(request, "np");

    if (s->open)
        return ti_err_set(err, TI_ERR_INPUT, "a run is open already");
    if (!ti_is_hex(ti__text_of(request, "run_id"), 2 * TI_RUN_ID_BYTES))
        return ti_err_set(err, TI_ERR_INPUT, "\"run_id\" must be 32 hex digits");
    if (!dir || dir[0] != '/')
        return ti_err_set(err, TI_ERR_INPUT, "the trace directory '%s' is not absolute",
                          dir ? dir : "");
    if (strlen(dir) > TI_RUNDIR_NAME_MAX)
        return ti_err_set(err, TI_ERR_INPUT, "the trace directory's name is too long");
    if (np < 1 || np > TI_RANKS_MAX ||
        !ti__ranks_ok(json_object_get(request, "ranks"), TI_RANKS_MAX))
        return ti_err_set(err, TI_ERR_INPUT, "\"np\" or \"ranks\" makes no sense");
    if (!all_strings(json_object_get(request, "env")) ||
        !all_strings(json_object_get(request, "wrapper")) ||
        !all_strings(json_object_get(request, "scratch")) ||
        (json_object_get(request, "container") &&
         !*ti_json_string(json_object_get(request, "container"), "image")))
        return ti_err_set(err, TI_ERR_INPUT,
                          "\"env\", \"wrapper\" and \"scratch\" must be lists of strings, and "
                          "\"container\" must have an image");
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

/* We may be killed at any moment, and our parent removes what the name says: so it is empty until
 * all of it is there. */
static void note_folder(char *name, const char *path)
{
    strcpy(name + 1, path + 1);
    __atomic_store_n(name, path[0], __ATOMIC_RELEASE);
}

/* Make the directories for Open MPI, which are removed when we end. */
static ti_status make_scratch(struct ti__serve *s, const json_t *request, struct ti_err *err)
{
    const json_t *list = json_object_get(request, "scratch");

    for (size_t i = 0; i < 2; i++) {
        const char *path = json_string_value(json_array_get(list, i));

        if (!path)
            continue;
        if (path[0] != '/' || strlen(path) >= PATH_MAX || mkdir(path, 0700) < 0)
            return ti_err_errno(err, TI_ERR_IO, "cannot create '%s'", path);
        note_folder(s->shared->folder[i], path);
    }
    return TI_OK;
}

static ti_status write_node_json(struct ti__serve *s, const json_t *request, struct ti_err *err)
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
    mask = umask(077); /* it has the environment of the run, which may be secret */
    st = ti_rundir_write(&s->dir, TI_NODE_JSON, s->run, err);
    umask(mask);
    return st;
}

static bool set_spawn_environment(struct ti__serve *s)
{
    const char *node = ti__text_of(s->run, "node");
    char file[PATH_MAX + 16];

    snprintf(file, sizeof file, "%s/%s", s->dir.path, TI_NODE_JSON);
    return setenv("TIARA_NODE", s->self, 1) == 0 &&
           setenv("TIARA_NODE_NAME", node ? node : "", 1) == 0 &&
           setenv("TIARA_NODE_FILE", file, 1) == 0;
}

void ti__remove_folders(struct ti__shared *shared)
{
    for (int i = 0; i < 2; i++) {
        if (shared->folder[i][0])
            ti_tree_remove(AT_FDCWD, shared->folder[i]);
        shared->folder[i][0] = '\0';
    }
}

void ti__close_run(struct ti__serve *s)
{
    bool nothing_traced;

    if (s->watch.size)
        ti_watch_update(&s->watch);
    nothing_traced = s->watch.started == 0;
    ti_watch_close(&s->watch);
    ti_load_free(&s->load);
    s->watching = false;
    ti__remove_folders(s->shared);
    if (nothing_traced)
        ti_rundir_discard(&s->dir, false);
    ti_rundir_close(&s->dir);
    json_decref(s->run);
    s->run = NULL;
    s->open = false;
    s->shared->run_id[0] = '\0';
}

ti_status ti__do_open(struct ti__serve *s, const json_t *request, struct ti_err *err)
{
    const char *dir = ti__text_of(request, "trace_dir");
    ti_status st = check_open(s, request, err);

    if (st != TI_OK)
        return st;
    make_parents(dir);
    st = ti_rundir_open(dir, json_is_true(json_object_get(request, "force")), &s->dir, err);
    if (st != TI_OK)
        return st;
    s->np = ti__number_of(request, "np");
    s->open = true;
    snprintf(s->shared->run_id, sizeof s->shared->run_id, "%s", ti__text_of(request, "run_id"));
    st = make_scratch(s, request, err);
    if (st == TI_OK)
        st = write_node_json(s, request, err);
    if (st == TI_OK && !set_spawn_environment(s))
        st = ti_err_errno(err, TI_ERR_IO, "cannot set the environment");
    if (st == TI_OK)
        st = ti_watch_open(s->dir.fd, s->np, &s->watch, err);
    if (st != TI_OK) {
        ti__close_run(s);
        return st;
    }
    snprintf(s->load.run_id, sizeof s->load.run_id, "%s", s->shared->run_id);
    s->shared->leave = false;
    ti__answer(s, "open", ti__number_of(request, "id"),
               json_pack("{s:o}", "directory", ti_json_text(s->dir.path)));
    return TI_OK;
}

/* --- spawn, kill ------------------------------------------------------------- */

ti_status ti__do_spawn(struct ti__serve *s, const json_t *request, struct ti_err *err)
{
    const char *command = ti__text_of(request, "command");
    json_int_t stream = ti__number_of(request, "stream");
    pid_t pid;
    ti_status st;

    if (!s->open || s->ending)
        return ti_err_set(err, TI_ERR_INPUT, "no run was opened");
    if (!command || stream < 1 || stream > UINT32_MAX || ti_relay_has(s->relay, (uint32_t)stream))
        return ti_err_set(err, TI_ERR_INPUT, "\"command\" or \"stream\" makes no sense");
    st = ti_procs_start(&s->procs, (uint32_t)stream, command, s->shared->run_id,
                        (long)ti__number_of(request, "files"), &pid, err);
    if (st == TI_OK)
        ti__answer(s, "spawn", ti__number_of(request, "id"), json_pack("{s:i}", "pid", (int)pid));
    return st;
}

/* Signal a process whose user is gone. */
ti_status ti__do_kill(struct ti__serve *s, const json_t *request, struct ti_err *err)
{
    json_int_t stream = ti__number_of(request, "stream"), sig = ti__number_of(request, "signal");

    if (!s->open)
        return ti_err_set(err, TI_ERR_INPUT, "no run was opened");
    if (stream < 1 || stream > UINT32_MAX || sig < 0 || sig >= NSIG)
        return ti_err_set(err, TI_ERR_INPUT, "\"stream\" or \"signal\" makes no sense");
    ti__answer(s, "kill", ti__number_of(request, "id"),
               json_pack("{s:b}", "found",
                         ti_procs_signal(&s->procs, (uint32_t)stream, sig ? (int)sig : SIGKILL)));
    return TI_OK;
}

/* --- watch, waits, ranks ----------------------------------------------------- */

ti_status ti__do_watch(struct ti__serve *s, const json_t *request, struct ti_err *err)
{
    json_int_t every_ms = ti__number_of(request, "every_ms");

    if (!s->open)
        return ti_err_set(err, TI_ERR_INPUT, "no run was opened");
    s->watching = every_ms > 0;
    s->every_s = (double)every_ms / 1e3;
    s->next_look = ti_now();
    s->swapped_before = ti_machine_swapped_out();
    ti__answer(s, "watch", ti__number_of(request, "id"), NULL);
    return TI_OK;
}

void ti__send_status(struct ti__serve *s)
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

ti_status ti__do_waits(struct ti__serve *s, const json_t *request, struct ti_err *err)
{
    if (!s->open)
        return ti_err_set(err, TI_ERR_INPUT, "no run was opened");
    ti__answer(s, "waits", ti__number_of(request, "id"),
               json_pack("{s:o, s:i}", "waits", ti_waits(s->shared->run_id), "alive",
                         ti_launch_each(s->shared->run_id, NULL, NULL)));
    return TI_OK;
}

static json_t *report_ranks(void *arg)
{
    const struct ti__work *w = arg;
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

ti_status ti__do_ranks(struct ti__serve *s, const json_t *request, struct ti_err *err)
{
    if (!s->open)
        return ti_err_set(err, TI_ERR_INPUT, "no run was opened");
    return ti__start_task(s, request, "ranks", report_ranks, err);
}

/* --- end, leave -------------------------------------------------------------- */

void ti__begin_end(struct ti__serve *s, double grace_s, json_int_t id)
{
    if (s->end_id >= 0)
        ti__answer(s, "end", s->end_id, json_pack("{s:i, s:i}", "found", s->end_found, "left", -1));
    s->end_id = id;
    s->told.n = 0;
    s->end_found = ti_launch_signal(s->shared->run_id, SIGTERM, &s->told);
    s->ending = TI__ENDING_TERM;
    ti_orphans_kill(false);
    s->end_until = ti_now() + grace_s;
    s->next_end_look = 0;
}

static void ended(struct ti__serve *s, int left)
{
    ti_orphans_kill(false);
    s->ending = TI__NOT_ENDING;
    if (s->end_id >= 0)
        ti__answer(s, "end", s->end_id,
                   json_pack("{s:i, s:i}", "found", s->end_found, "left", left));
    s->end_id = -1;
}

void ti__continue_ending(struct ti__serve *s)
{
    double now = ti_now();
    int left;

    if (!s->ending || now < s->next_end_look)
        return;
    /* SIGKILL is repeated, because a process may fork while we look for processes. */
    left = s->ending == TI__ENDING_KILL ? ti_launch_signal(s->shared->run_id, SIGKILL, NULL)
                                        : ti_launch_signal(s->shared->run_id, SIGTERM, &s->told);
    left += !left && ti_orphans_go_on();
    if (left == 0 || (s->ending == TI__ENDING_KILL && now >= s->end_until)) {
        ended(s, left);
        return;
    }
    /* More time while they become fewer, because many take long on a busy machine.  Processes that
     * start others faster than we kill them do not become fewer than ever. */
    if (s->ending == TI__ENDING_KILL ? left < s->end_least : now >= s->end_until) {
        s->ending = TI__ENDING_KILL;
        ti_orphans_kill(true);
        s->end_until = now + KILL_S;
        s->end_least = left;
    }
    s->next_end_look = ti_now() + END_TICK_MS / 1e3;
}

ti_status ti__do_end(struct ti__serve *s, const json_t *request, struct ti_err *err)
{
    double grace_s = json_number_value(json_object_get(request, "grace_s"));

    if (!s->open)
        return ti_err_set(err, TI_ERR_INPUT, "no run was opened");
    ti__begin_end(s, grace_s > 0 && grace_s < 3600 ? grace_s : 0, ti__number_of(request, "id"));
    return TI_OK;
}

ti_status ti__do_leave(struct ti__serve *s, const json_t *request, struct ti_err *err)
{
    (void)err;
    s->shared->leave = true;
    ti__answer(s, "leave", ti__number_of(request, "id"), NULL);
    return TI_OK;
}
