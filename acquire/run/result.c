#include "acquire/run/result.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/json.h"

#define EVENTS_MAX UINT64_C(20000000) /* reading them takes a few seconds */
#define POLL_MS    250

/* --- making it ----------------------------------------------------------- */

enum ti_progress_form ti_result_progress(const struct ti_options *o)
{
    return o->progress == TI_PROGRESS_AUTO && o->quiet ? TI_PROGRESS_NONE
           : o->progress == TI_PROGRESS_AUTO           ? TI_PROGRESS_LINE
                                                       : o->progress;
}

static void gather_command(const struct ti_acquisition *a, bool remove, struct ti_args *args)
{
    static const char *const words[] = {
        [TI_PROGRESS_NONE] = "none", [TI_PROGRESS_LINE] = "line", [TI_PROGRESS_JSON] = "json"};

    /* --trust: RUN.json was written just now, by us */
    ti_args_add(args, a->paths.gather, "-q", "--trust");
    ti_args_add(args, "--progress", words[ti_result_progress(a->o)]);
    if (a->o->force)
        ti_args_add(args, "--force");
    if (remove)
        ti_args_add(args, "--remove");
    if (a->o->transport)
        ti_args_add(args, "--transport", a->o->transport);
    ti_merge_options_add(&a->o->merge, args);
    ti_args_add(args, a->dir.path, "-o", a->output);
}

/* Lets a process of ti-gather make the bundle.  Returns its exit status, or sets `err`. */
static ti_status run_gather(struct ti_acquisition *a, bool remove, struct ti_err *err)
{
    struct ti_args args = {.n = 0};
    struct ti_launch l = {.stdin_path = "/dev/null", .stdout_to_stderr = true};
    struct ti_proc proc;
    ti_status st;

    if (!a->paths.gather[0]) {
        ti_err_set(err, TI_ERR_IO, "cannot find 'ti-gather' beside ti-acquire");
        ti_err_hint(err, "the traces are in '%s'", a->dir.given);
        return TI_ERR_IO;
    }
    gather_command(a, remove, &args);
    l.argv = args.v;
    st = ti_args_ok(&args) ? ti_launch_start(&l, &proc, err)
                           : ti_err_set(err, TI_ERR_IO, "cannot start ti-gather: out of memory");
    ti_args_free(&args);
    if (st != TI_OK)
        return st;
    while (ti_launch_running(&proc)) {
        int sig = ti_launch_sleep(POLL_MS);

        if (!sig)
            continue;
        a->signal = sig;
        kill(proc.pid, sig);
    }
    if (!WIFEXITED(proc.wait_status))
        return ti_err_set(err, TI_ERR_IO, "ti-gather was ended by signal %d (%s)",
                          WTERMSIG(proc.wait_status), strsignal(WTERMSIG(proc.wait_status)));
    return (ti_status)WEXITSTATUS(proc.wait_status);
}

ti_status ti_result_gather(struct ti_acquisition *a, struct ti_err *err)
{
    bool remove = ti_ranks_complete(&a->ranks) && !a->o->keep;
    ti_status st;

    err->text[0] = '\0';
    st = (a->backend->gather ? a->backend->gather : run_gather)(a, remove, err);
    a->bundled = st == TI_OK || st == TI_ERR_PARTIAL;
    if (!a->bundled && !err->text[0]) {
        ti_err_set(err, st, "the traces could not be gathered");
        ti_err_hint(err, "they are in '%s': 'ti-gather %s -o BUNDLE' tries again", a->dir.given,
                    a->dir.given);
    } else if (st == TI_OK && remove) {
        ti_rundir_discard(&a->dir, true);
    }
    return st;
}

/* --- whether it can be replayed ------------------------------------------ */

/* The command as a shell line; free().  NULL: out of memory. */
static char *command(const struct ti_acquisition *a, bool lint)
{
    struct ti_args args = {.n = 0};
    char *text;

    ti_args_add(&args, "ti-replay");
    if (lint)
        ti_args_add(&args, "--lint");
    if (a->output[0] == '-')
        ti_args_add(&args, "--");
    ti_args_add(&args, a->output);
    text = ti_args_ok(&args) ? ti_args_shell(&args) : NULL;
    ti_args_free(&args);
    return text;
}

/* The output of ti-replay --lint --json; NULL: it failed or was interrupted. */
static json_t *lint(struct ti_acquisition *a)
{
    int out = memfd_create("tiara-lint", MFD_CLOEXEC);
    char *argv[] = {a->paths.replay, "--lint", "--json", "-q", "--", a->output, NULL};
    struct ti_launch l = {
        .argv = argv, .stdin_path = "/dev/null", .mute = true, .output = out > 0 ? out : 0};
    json_t *said = NULL;
    struct ti_proc proc;
    struct ti_err err;

    if (out > 0 && ti_launch_start(&l, &proc, &err) == TI_OK) {
        while (ti_launch_running(&proc)) {
            int sig = ti_launch_sleep(POLL_MS);

            if (!sig)
                continue;
            a->signal = sig;
            kill(proc.pid, SIGTERM);
        }
        if (!a->signal && lseek(out, 0, SEEK_SET) == 0)
            said = ti_json_read(out, NULL);
    }
    if (out >= 0)
        close(out);
    return said;
}

/* Print the first problem and the number of problems. */
static void say_why_not(const struct ti_acquisition *a, const json_t *said, const char *list)
{
    const json_t *first = json_array_get(json_object_get(said, "problems"), 0);
    const char *call = json_string_value(json_object_get(first, "call"));
    const char *why = json_string_value(json_object_get(first, "why"));
    json_int_t n = json_integer_value(json_object_get(said, "problem_count"));
    char event[48] = "";

    if (json_object_get(first, "event"))
        snprintf(event, sizeof event, ", event %" JSON_INTEGER_FORMAT,
                 json_integer_value(json_object_get(first, "event")));
    if (!why)
        ti_say("'%s' cannot be replayed: \"%s\" tells why", a->output, list);
    else
        ti_say("'%s' cannot be replayed: rank %" JSON_INTEGER_FORMAT "%s%s%s: %s; \"%s\" lists "
               "%s%" JSON_INTEGER_FORMAT " problem%s",
               a->output, json_integer_value(json_object_get(first, "rank")), event,
               call && *call ? ", " : "", call ? call : "", why, list, n > 1 ? "all " : "the ", n,
               n == 1 ? "" : "s");
}

void ti_result_say_replayable(struct ti_acquisition *a)
{
    char *replay = command(a, false), *list = command(a, true);
    bool many = a->ranks.events > EVENTS_MAX;
    json_t *said = NULL;

    if (a->paths.replay[0] && !many && (!a->o->quiet || a->o->json))
        said = lint(a);
    if (many && list)
        ti_say("\"%s\" tells whether it can be replayed", list);
    if (said && replay && list) {
        json_t *why = json_object_get(json_array_get(json_object_get(said, "problems"), 0), "why");
        json_int_t n = json_integer_value(json_object_get(said, "problem_count"));
        bool can = json_integer_value(json_object_get(said, "status")) == 0;

        if (can)
            ti_say("it can be replayed: \"%s\"", replay);
        else
            say_why_not(a, said, list);
        if (a->json)
            json_object_set_new(
                a->json, "replay",
                json_pack("{s:b, s:I, s:O*}", "can", can, "problems", n, "why", why));
    }
    json_decref(said);
    free(replay);
    free(list);
}
