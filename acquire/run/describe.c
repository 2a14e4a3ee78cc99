#include "acquire/run/describe.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acquire/plan/estimate.h"
#include "common/clock.h"
#include "common/json.h"

/* --- commands ------------------------------------------------------------ */

static bool is_redacted(const struct ti_acquisition *a, const char *word)
{
    for (int i = 0; i < a->o->redact.n; i++)
        if (fnmatch(a->o->redact.v[i], word, 0) == 0)
            return true;
    return false;
}

/* Whether word `i` is the value of a variable of the user's, or of our patterns: Hydra's mpiexec
 * takes -env NAME VALUE. */
static bool is_value(const struct ti_acquisition *a, const struct ti_args *words, int i)
{
    const char *name = i > 1 ? words->v[i - 1] : "";
    size_t n = strlen(name);

    if (i < 2 || strcmp(words->v[i - 2], "-env") != 0)
        return false;
    for (int k = 0; k < a->o->env.n && !a->o->record_environment; k++)
        if (strncmp(a->o->env.v[k], name, n) == 0 && a->o->env.v[k][n] == '=')
            return true;
    return strcmp(name, "TIARA_REDACT") == 0;
}

/* Whether `word` is an argument of -x, VAR=VALUE. */
static bool is_given(const struct ti_acquisition *a, const char *word)
{
    for (int i = 0; i < a->o->env.n; i++)
        if (strcmp(a->o->env.v[i], word) == 0)
            return true;
    return false;
}

void ti_describe_command(const struct ti_acquisition *a, const struct ti_args *words,
                         struct ti_args *out)
{
    *out = (struct ti_args){.n = 0};
    for (int i = 0; i < words->n; i++) {
        const char *word = words->v[i];
        bool variable = i > 0 && strcmp(words->v[i - 1], "-x") == 0;

        if (variable && (strncmp(word, "TIARA_REDACT=", 13) == 0 ||
                         (is_given(a, word) && !a->o->record_environment)))
            ti_args_addf(out, "%.*s", (int)strcspn(word, "="), word);
        else
            ti_args_add(out, is_redacted(a, word) || is_value(a, words, i) ? TI_REDACTED : word);
    }
}

static json_t *json_shell(const struct ti_acquisition *a, const struct ti_args *words)
{
    struct ti_args recorded;
    json_t *json;
    char *text;

    ti_describe_command(a, words, &recorded);
    text = ti_args_ok(&recorded) ? ti_args_shell(&recorded) : NULL;
    json = ti_json_text(text ? text : "?");
    ti_args_free(&recorded);
    free(text);
    return json;
}

static json_t *json_words(const struct ti_acquisition *a, const struct ti_args *words)
{
    json_t *list = json_array();
    struct ti_args recorded;

    ti_describe_command(a, words, &recorded);
    for (int i = 0; i < recorded.n; i++)
        json_array_append_new(list, ti_json_text(recorded.v[i]));
    ti_args_free(&recorded);
    return list;
}

/* --- the plan as a table ------------------------------------------------- */

/* Without a survey the counter is not known, only what was asked for. */
static bool knows_counter(const struct ti_acquisition *a)
{
    return !a->sites || !a->o->dry_run;
}

static const char *counter_name(const struct ti_acquisition *a)
{
    return a->choice.of ? a->choice.of->name : "";
}

static void print_counter(const struct ti_acquisition *a, FILE *out)
{
    const char *common = ti_counter_common(a->o->counter);

    if (!knows_counter(a))
        ti_print(out, "  counter   %s%s%s%s\n", a->o->counter,
                 common ? ": by what the nodes have; " : "", common ? common : "",
                 common ? " takes 48 MiB more a rank" : "");
    else
        ti_print(out, "  counter   %s: %s, %s%s\n", counter_name(a), a->choice.event,
                 a->choice.exact      ? "exact"
                 : a->choice.estimate ? "an estimate"
                                      : "not exact",
                 a->sum ? ", of all threads" : "");
    if (a->o->times)
        ti_print(out, "  also      durations%s%s\n",
                 a->choice.valgrind ? ", under valgrind, which is slower" : "",
                 a->plan.folding > 1 ? ", with the time that ranks wait for a core" : "");
    if (a->o->also)
        ti_print(out, "  also      %s\n", a->o->also);
    if (a->isa)
        ti_print(out, "  isa       %s%s\n", a->isa,
                 a->isa_chosen ? ", the least level of the nodes" : "");
}

void ti_describe_print(const struct ti_acquisition *a, FILE *out)
{
    struct ti_args words = {.n = 0};
    char *program, *command = ti_args_shell_lines(&a->command, 84, 14);
    char text[256];

    ti_options_command(a->o, &words);
    program = ti_args_shell(&words);
    ti_args_free(&words);
    ti_print(out, "plan for %s\n", program ? program : a->program.given);
    a->backend->print_ranks(a, out);
    if (a->model.n)
        ti_print(out, "  pilot     %s\n", ti_memory_model_text(&a->model, text, sizeof text));
    ti_estimate_start_print(a->plan.start_seconds, out);
    ti_estimate_print(a->o->like, a->plan.np, a->plan.folding, program,
                      knows_counter(a) ? counter_name(a) : NULL, out);
    if (a->o->container)
        ti_print(out, "  container %s\n", a->o->container);
    print_counter(a, out);
    a->backend->print_traces(a, out);
    ti_print(out, "  bundle    %s\n", a->o->no_gather ? "none (--no-gather)" : a->output);
    if (a->command.n)
        ti_print(out, "  command   %s\n", command ? command : "?");
    if (a->sites && a->o->dry_run)
        ti_print(out, "  basis     %s; no node was asked\n", a->sites->path);
    free(program);
    free(command);
}

/* --- steps --------------------------------------------------------------- */

static json_t *step_json(enum ti_acquire_step step, double started, double seconds)
{
    char text[32];

    return json_pack("{s:s, s:s, s:f}", "name", ti_step_names[step], "started",
                     ti_time_text(started, text), "seconds", ti_milliseconds(seconds));
}

void ti_describe_steps(struct ti_acquisition *a)
{
    const struct ti_outcome *o = &a->outcome;
    json_t *steps = json_array(), *app;

    for (int s = 0; s < TI_STEP_COUNT; s++) {
        if (s == TI_STEP_APP) {
            app = step_json(TI_STEP_APP, o->started > 0 ? o->started : o->launched,
                            ti_outcome_app_seconds(o));
            json_object_set_new(app, "flush_seconds_max",
                                json_real(ti_milliseconds(a->ranks.flush_seconds_max)));
            json_array_append_new(steps, app);
        } else if (s == TI_STEP_START && o->started > 0) {
            json_array_append_new(
                steps, step_json(TI_STEP_START, o->launched, ti_outcome_start_seconds(o)));
        } else if (a->step_start[s] > 0) {
            json_array_append_new(steps, step_json(s, a->step_start[s], a->step_seconds[s]));
        }
    }
    json_object_set_new(a->json, "steps", steps);
}

/* --- RUN.json ------------------------------------------------------------ */

static json_t *counter_json(const struct ti_acquisition *a)
{
    const struct ti_counter_choice *c = &a->choice;

    return json_pack("{s:o, s:o, s:b, s:b, s:s, s:o}", "backend", ti_json_text(c->of->name),
                     "event", ti_json_text(c->event), "exact", c->exact, "estimate", c->estimate,
                     "threads", a->sum ? "sum" : "caller", "asked", ti_json_text(a->o->counter));
}

/* The programs, if there are several, with their ranks. */
static json_t *programs_json(const struct ti_acquisition *a)
{
    int64_t first = 0;
    json_t *list;

    if (!a->o->nmore)
        return NULL;
    list = json_array();
    for (int i = 0; i <= a->o->nmore; i++) {
        const struct ti_program *p = ti_acquisition_program(a, i);
        const struct ti_args *words = i ? &a->o->more[i - 1].words : &a->o->program;
        int64_t np = i ? a->o->more[i - 1].np : ti_options_first_np(a->o);
        char ranks[48];

        snprintf(ranks, sizeof ranks, np > 1 ? "%" PRId64 "-%" PRId64 : "%" PRId64, first,
                 first + np - 1);
        first += np;
        json_array_append_new(list, json_pack("{s:o, s:o, s:s}", "program",
                                              ti_json_text(p->path ? p->path : p->given), "command",
                                              json_shell(a, words), "ranks", ranks));
    }
    return list;
}

/* A new object that describes the acquisition as far as it is known. */
static json_t *describe(const struct ti_acquisition *a)
{
    struct ti_args words = {.n = 0};
    json_t *json;

    ti_options_command(a->o, &words);
    json = json_pack("{s:s, s:I, s:o*, s:o*, s:o*, s:o*, s:s}", "run_id", a->run_id, "np",
                     (json_int_t)a->o->np, "application", ti_json_text(a->application), "program",
                     ti_json_text(a->program.path ? a->program.path : a->program.given), "command",
                     json_shell(a, &words), "programs", programs_json(a), "tiara", ti_version());
    ti_args_free(&words);
    if (!json)
        return NULL;
    a->backend->describe(a, json);
    if (a->choice.of)
        json_object_set_new(json, "counter", counter_json(a));
    if (a->o->times)
        json_object_set_new(json, "times", json_true());
    if (a->o->also)
        json_object_set_new(json, "also", ti_json_text(a->o->also));
    if (a->command.n)
        json_object_set_new(json, "mpi",
                            json_pack("{s:s, s:s, s:o}", "name",
                                      a->mpirun.hydra ? "MPICH" : "Open MPI", "version",
                                      a->mpirun.version, "command", json_words(a, &a->command)));
    if (a->o->container)
        json_object_set_new(json, "container", ti_json_text(a->o->container));
    if (a->o->ranks_per_node)
        json_object_set_new(json, "target_ranks_per_node", json_integer(a->o->ranks_per_node));
    if (a->machine.host[0])
        json_object_set_new(json, "host", ti_json_text(a->machine.host));
    if (a->dir.path[0])
        json_object_set_new(json, "directory", ti_json_text(a->dir.path));
    if (!a->o->no_gather)
        json_object_set_new(json, "output", ti_json_text(a->output));
    if (a->sites && a->o->transport)
        json_object_set_new(json, "transport", ti_json_text(a->o->transport));
    if (a->log.file)
        json_object_set_new(json, "log", ti_json_text(a->log_name));
    if (a->tries)
        json_object_set(json, "former_tries", a->tries);
    return json;
}

void ti_describe_json(struct ti_acquisition *a)
{
    if (!a->json && a->program.name)
        a->json = describe(a);
}

ti_status ti_describe_start(struct ti_acquisition *a, struct ti_err *err)
{
    char text[32];

    a->json = describe(a);
    if (!a->json) {
        errno = ENOMEM;
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s/%s'", a->dir.given, TI_RUN_JSON);
    }
    json_object_set_new(a->json, "started", json_string(ti_time_text(ti_wall(), text)));
    json_object_set_new(a->json, "state", json_string("running"));
    return ti_rundir_write(&a->dir, TI_RUN_JSON, a->json, err);
}

void ti_describe_end(struct ti_acquisition *a)
{
    const struct ti_outcome *o = &a->outcome;
    struct ti_err err;
    char text[32];

    json_object_set_new(a->json, "ended", json_string(ti_time_text(o->ended, text)));
    json_object_set_new(a->json, "state", json_string(ti_outcome_word(o, &a->ranks)));
    json_object_set_new(a->json, "ranks", ti_ranks_json(&a->ranks));
    json_object_set_new(a->json, "negative_bursts", json_integer((json_int_t)a->ranks.negative));
    if (WIFEXITED(o->wait_status))
        json_object_set_new(a->json, "exit_status", json_integer(WEXITSTATUS(o->wait_status)));
    else
        json_object_set_new(a->json, "mpirun_signal", json_integer(WTERMSIG(o->wait_status)));
    if (o->signal)
        json_object_set_new(a->json, "signal", json_integer(o->signal));
    if (a->lost_nodes)
        json_object_set_new(a->json, "lost", ti_json_text(a->lost.text));
    ti_describe_steps(a);
    if (ti_rundir_write(&a->dir, TI_RUN_JSON, a->json, &err) != TI_OK)
        ti_warn("%s", err.text);
}

void ti_describe_failed_try(struct ti_acquisition *a, const struct ti_err *err)
{
    const struct ti_outcome *o = &a->outcome;
    json_t *one = json_pack("{s:s, s:o, s:O}", "run_id", a->run_id, "error",
                            ti_json_text(err->text), "lost_nodes", a->lost_nodes);
    char text[32];

    if (one && o->launched > 0) {
        json_object_set_new(one, "launched", json_string(ti_time_text(o->launched, text)));
        json_object_set_new(one, "seconds", json_real(o->ended - o->launched));
    }
    if (!a->tries)
        a->tries = json_array();
    json_array_append_new(a->tries, one);
}

/* --- --json -------------------------------------------------------------- */

void ti_describe_summary(const struct ti_acquisition *a, ti_status st, const struct ti_err *err)
{
    json_t *json = a->json ? json_incref(a->json) : json_object();

    if (!json)
        return;
    if (a->ranks.end) {
        json_object_set_new(json, "events", json_integer((json_int_t)a->ranks.events));
        json_object_set_new(json, "bytes", json_integer(a->ranks.bytes));
        if (a->ranks.volume <= INT64_MAX)
            json_object_set_new(json, "volume", json_integer((json_int_t)a->ranks.volume));
        else
            json_object_set_new(json, "volume", json_sprintf("%" PRIu64, a->ranks.volume));
        json_object_set_new(json, "unit", json_string(a->ranks.unit));
        json_object_set_new(json, "init_seconds_max", json_real(a->ranks.init_seconds_max));
        json_object_set_new(json, "memory_bytes_max", json_integer(a->ranks.memory_bytes_max));
    }
    json_object_set_new(json, "bundle", ti_json_text(a->bundled ? a->output : NULL));
    if (access(a->dir_name, F_OK) < 0)
        json_object_del(json, "directory");
    json_object_set_new(json, "status", json_integer(st));
    if (err->text[0])
        json_object_set_new(json, "error", ti_json_text(err->text));
    if (err->hint[0])
        json_object_set_new(json, "hint", ti_json_text(err->hint));
    json_dumpf(json, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(json);
}
