#include "acquire/run/acquisition.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "acquire/plan/common_isa.h"
#include "acquire/plan/composite.h"
#include "acquire/run/measure.h"
#include "acquire/run/pilot.h"
#include "formats/json.h"
#include "node/watch.h"

#define TRACE_BASE "/tmp" /* of the nodes, unless the sites file says otherwise */

/* --- steps --------------------------------------------------------------- */

static const char *const step_names[] = {
#define NAME(name, text) text,
    TI_STEPS(NAME)
#undef NAME
};

void ti__step_begin(struct ti_acquisition *c, enum ti_step step)
{
    c->step_start[step] = ti_wall();
    ti_runlog_note(&c->log, "%s", step_names[step]);
}

void ti__step_end(struct ti_acquisition *c, enum ti_step step)
{
    c->step_seconds[step] = ti_wall() - c->step_start[step];
    ti_runlog_note(&c->log, "%s: %.3f s", step_names[step], c->step_seconds[step]);
}

/* --- callbacks of the fleet ------------------------------------------------ */

static void on_message(struct ti_fleet *f, int64_t node, const json_t *message, void *arg)
{
    struct ti_acquisition *c = arg;
    const char *is = json_string_value(json_object_get(message, "is"));
    struct ti_used_node *u;

    (void)f;
    if (ti_rsh_on_message(c->rsh, node, message) || !is || strcmp(is, "status") != 0)
        return;
    u = ti__acquisition_used(c, node);
    if (!u)
        return;
    json_decref(u->status);
    u->status = json_incref((json_t *)message);
    u->status_at = ti_now();
}

static void on_data(struct ti_fleet *f, int64_t node, const struct ti_frame *frame, void *arg)
{
    struct ti_acquisition *c = arg;

    (void)f;
    ti_rsh_on_data(c->rsh, node, frame);
}

static void on_lost(struct ti_fleet *f, int64_t node, void *arg)
{
    struct ti_acquisition *c = arg;

    if (c->rsh)
        ti_rsh_on_node_lost(c->rsh, node);
    if (!ti__acquisition_used(c, node))
        return;
    c->failed[node] = true;
    if (c->nlost++ == 0)
        c->lost = f->member[node].why;
}

static void note(void *arg, const char *fmt, ...)
{
    struct ti_acquisition *c = arg;
    char text[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ti_runlog_note(&c->log, "%s", text);
}

/* --- the survey ----------------------------------------------------------- */

static ti_status connect_all(struct ti_acquisition *c, struct ti_err *err)
{
    struct ti_fleet_callbacks calls = {on_message, on_data, on_lost, note, c};
    ti_status st = ti_fleet_new(c->sites, c->use, &c->job->paths, c->job->o->transport,
                                (double)c->job->o->silence_s, &calls, &c->fleet, err);

    if (st != TI_OK)
        return st;
    ti__step_begin(c, TI_STEP_SHIP);
    st = ti_fleet_connect(c->fleet, err);
    if (st == TI_OK && c->fleet->sig)
        return ti__acquisition_interrupted(c, err);
    ti__step_end(c, TI_STEP_SHIP);
    if (c->fleet->shipped)
        ti_say("sent our files to %" PRId64 " node%s that lacked them", c->fleet->shipped,
               c->fleet->shipped == 1 ? "" : "s");
    return st;
}

static void say_findings(struct ti_acquisition *c)
{
    bool differ = false;

    for (int64_t i = 0; i < c->survey.nfindings; i++)
        differ = differ || !c->survey.finding[i].fatal;
    if (differ && !c->job->o->quiet) {
        ti_say("nodes of note, by what '%s' says:", c->sites->path);
        ti_survey_print_findings(&c->survey, c->sites, false, TI_SURVEY_LINES, stderr);
    }
    if (c->survey.unusable) {
        ti_say("nodes that cannot be used:");
        ti_survey_print_findings(&c->survey, c->sites, true, TI_SURVEY_LINES, stderr);
    }
    if (c->log.file) {
        ti_survey_print_nodes(&c->survey, c->sites, c->log.file);
        ti_survey_print_findings(&c->survey, c->sites, false, 0, c->log.file);
        ti_survey_print_findings(&c->survey, c->sites, true, 0, c->log.file);
    }
}

/* Take over the counter that the nodes reported. */
static void take_counter(struct ti_acquisition *c)
{
    struct ti_counter_choice *choice = &c->job->choice;
    const json_t *counter = NULL;

    for (int64_t i = 0; i < c->survey.n && !counter; i++)
        if (c->survey.usable[i])
            counter = json_object_get(c->survey.facts[i], "counter");
    snprintf(choice->counter, sizeof choice->counter, "%s", ti__text(counter, "counter"));
    snprintf(choice->backend, sizeof choice->backend, "%s", ti__text(counter, "backend"));
    snprintf(choice->event, sizeof choice->event, "%s", ti__text(counter, "event"));
    snprintf(choice->why, sizeof choice->why, "%s", ti__text(counter, "why"));
    choice->valgrind = json_is_true(json_object_get(counter, "valgrind"));
    choice->exact = json_is_true(json_object_get(counter, "exact"));
    choice->estimate = json_is_true(json_object_get(counter, "estimate"));
    if (choice->why[0])
        ti_say("counting with %s, since %s", choice->backend, choice->why);
    if (counter && !choice->exact)
        ti_warn("%s is %s", choice->counter,
                choice->estimate ? "an estimate: volumes vary from run to run"
                                 : "no instruction count");
}

/* Take over the properties of the program from the nodes; a program of that name here may be
 * another one. */
static void take_program(struct ti_acquisition *c)
{
    static const char *const kinds[] = {[TI_MPI_OPEN] = "openmpi", [TI_MPI_NONE] = "none"};
    struct ti_program *p = &c->job->program;
    bool seen = false;

    for (int64_t i = 0; i < c->survey.n; i++) {
        const json_t *there =
            c->survey.usable[i] ? json_object_get(c->survey.facts[i], "program") : NULL;

        if (!there || !p->given)
            continue;
        if (!seen) {
            const char *kind = ti__text(there, "mpi");

            p->mpi = strcmp(kind, kinds[TI_MPI_OPEN]) == 0   ? TI_MPI_OPEN
                     : strcmp(kind, kinds[TI_MPI_NONE]) == 0 ? TI_MPI_NONE
                                                             : TI_MPI_UNKNOWN;
            p->is_elf = json_is_true(json_object_get(there, "elf"));
            p->blocks = p->setid = false;
            seen = true;
        }
        p->blocks = p->blocks || json_is_true(json_object_get(there, "blocks"));
        p->setid = p->setid || json_is_true(json_object_get(there, "setid"));
    }
    if (seen)
        ti_job_warn_of_program(c->job);
}

static ti_status survey(struct ti_acquisition *c, struct ti_err *err)
{
    ti_status st;

    c->ask = (struct ti_survey_in){.use = c->use,
                                   .program = c->job->program.path   ? c->job->program.path
                                              : c->job->o->program.n ? c->job->o->program.v[0]
                                                                     : NULL,
                                   .cwd = c->cwd,
                                   .counter = c->job->o->counter,
                                   .sum = c->job->sum,
                                   .also = c->job->o->also,
                                   .mpi_version = c->job->mpirun.version,
                                   /* nodes try a counter and hash the program */
                                   .limit_s = 2 * (double)c->job->o->silence_s,
                                   .trace_base = TRACE_BASE};
    ti__step_begin(c, TI_STEP_SURVEY);
    st = ti_survey_make(c->fleet, &c->ask, &c->survey, err);
    if (st == TI_OK && c->fleet->sig)
        return ti__acquisition_interrupted(c, err);
    ti__step_end(c, TI_STEP_SURVEY);
    if (st != TI_OK)
        return st;
    say_findings(c);
    st = ti_survey_check(&c->survey, c->sites, c->job->o->probe ? INT64_MAX : c->job->o->tolerate,
                         err);
    if (st == TI_OK && c->survey.unusable && !c->job->o->probe)
        ti_warn("%" PRId64 " node%s left out (--tolerate)", c->survey.unusable,
                c->survey.unusable == 1 ? " is" : "s are");
    if (st == TI_OK) {
        take_counter(c);
        take_program(c);
    }
    return st;
}

/* Volumes must not depend on the node of a rank. */
static ti_status choose_isa(struct ti_acquisition *c, struct ti_err *err)
{
    struct ti_job *j = c->job;
    struct ti_common_isa_node *nodes = calloc((size_t)c->survey.n + 1, sizeof *nodes);
    struct ti_common_isa made;
    int64_t n = 0;
    ti_status st;

    if (!nodes)
        return ti_err_errno(err, TI_ERR_IO, "cannot compare the nodes");
    for (int64_t i = 0; i < c->survey.n; i++)
        if (c->survey.usable[i])
            nodes[n++] = ti_common_isa_node_of_facts(c->sites->node[i].name, c->survey.facts[i]);
    st = ti_common_isa_choose(nodes, n, j->o->isa, j->o->isa_native, !j->choice.estimate, &made,
                              err);
    if (st == TI_OK) {
        j->isa = made.isa;
        if (made.said)
            ti_say("%s", made.said);
        for (int i = 0; i < made.nwarnings; i++)
            ti_warn("%s", made.warning[i]);
    }
    ti_common_isa_free(&made);
    free(nodes);
    return st;
}

static ti_status examine_nodes(struct ti_acquisition *c, struct ti_err *err)
{
    ti_status st = connect_all(c, err);

    if (st == TI_OK)
        st = survey(c, err);
    if (st == TI_OK && !c->job->o->probe)
        st = choose_isa(c, err);
    for (int64_t i = 0; i < c->sites->nnodes && st == TI_OK; i++) {
        c->use[i] = c->survey.usable[i];
        c->memory[i] = ti_survey_memory(&c->survey, c->sites, i);
        c->cores[i] = ti_survey_cores(&c->survey, c->sites, i);
    }
    return st;
}

/* --- life ---------------------------------------------------------------- */

static struct ti_acquisition *make(struct ti_job *j, const struct ti_sites *sites)
{
    struct ti_acquisition *c = calloc(1, sizeof *c);
    size_t n = (size_t)sites->nnodes + 1;

    if (!c)
        return NULL;
    c->job = j;
    c->sites = sites;
    c->use = calloc(n, sizeof *c->use);
    c->failed = calloc(n, sizeof *c->failed);
    c->memory = calloc(n, sizeof *c->memory);
    c->cores = calloc(n, sizeof *c->cores);
    if (c->use && c->failed && c->memory && c->cores)
        return c;
    free(c->use);
    free(c->failed);
    free(c->memory);
    free(c->cores);
    free(c);
    return NULL;
}

/* Release what a try has left, before the next one. */
static void clear(struct ti_acquisition *c)
{
    ti_rsh_free(c->rsh);
    c->rsh = NULL;
    for (int64_t i = 0; i < c->nused; i++)
        c->used[i].open = false;
    ti_fleet_free(c->fleet);
    c->fleet = NULL;
    for (int64_t i = 0; i < c->nused; i++)
        json_decref(c->used[i].status);
    free(c->used);
    c->used = NULL;
    c->nused = 0;
    c->nlost = 0;
    c->lost.text[0] = c->lost.hint[0] = '\0';
    ti__acquisition_plan_free(c);
    ti_survey_free(&c->survey);
    ti_rundir_unscratch(&c->job->dir);
}

static void destroy(struct ti_acquisition *c)
{
    clear(c);
    ti_runlog_close(&c->log);
    ti_like_free(&c->like);
    json_decref(c->tries);
    free(c->use);
    free(c->failed);
    free(c->memory);
    free(c->cores);
    free(c);
}

static ti_status open_here(struct ti_acquisition *c, struct ti_err *err)
{
    struct ti_job *j = c->job;
    ti_status st = ti_rundir_open(j->dir_name, j->o->force, &j->dir, err);
    char text[32];

    if (st != TI_OK)
        return st;
    if (j->o->log)
        snprintf(c->log_name, sizeof c->log_name, "%s", j->o->log);
    else
        snprintf(c->log_name, sizeof c->log_name, "%.4000s/%s", j->dir.path, TI_RUN_LOG);
    st = ti_runlog_open(&c->log, c->log_name, err);
    if (st != TI_OK)
        ti_rundir_discard(&j->dir, false);
    else
        ti_runlog_note(&c->log, "ti-acquire %s, %s", ti_version(), ti_time_text(ti_wall(), text));
    return st;
}

/* The program was not run: remove everything of ours.  The log stays if mpirun ran. */
static void discard_here(struct ti_acquisition *c)
{
    if (!c->job->o->log && c->log.file && !c->step_start[TI_STEP_DRY_LAUNCH]) {
        ti_runlog_close(&c->log);
        unlink(c->log_name);
    }
    /* the socket for mpirun is in the directory */
    ti_rsh_free(c->rsh);
    c->rsh = NULL;
    ti_rundir_unscratch(&c->job->dir);
    ti_rundir_discard(&c->job->dir, false);
}

/* --- one try ------------------------------------------------------------- */

/* Measure the memory of a rank by a pilot on this machine, if the placement depends on it. */
static ti_status measure(struct ti_acquisition *c, struct ti_err *err)
{
    struct ti_job *j = c->job;
    ti_status st;

    if (j->o->rank_bytes || c->rank_bytes || (!j->o->pilot && c->place.fold_max <= 1))
        return TI_OK;
    ti__step_begin(c, TI_STEP_PILOT);
    ti_fleet_announce_pause(c->fleet, TI_MEMORY_POINTS_MAX * (TI_PILOT_SECONDS + 20));
    st = ti_measure_rank(j, &j->model, &c->rank_bytes, err);
    ti__step_end(c, TI_STEP_PILOT);
    return st == TI_OK ? ti__acquisition_plan(c, err) : st;
}

/* The cheapest checks come first: a plan by the sites file alone.  The program is run last. */
static ti_status prepare(struct ti_acquisition *c, struct ti_err *err)
{
    ti_status st;

    for (int64_t i = 0; i < c->sites->nnodes; i++)
        c->use[i] = !c->failed[i];
    c->job->isa = c->job->o->isa;
    st = ti_rundir_scratch(&c->job->dir, 0, err);
    if (st == TI_OK)
        st = ti__acquisition_plan(c, err);
    for (int64_t i = 0; i < c->sites->nnodes && st == TI_OK; i++)
        c->use[i] = ti_node_resources(&c->in, i).usable;
    if (st == TI_OK)
        st = examine_nodes(c, err);
    if (st == TI_OK) {
        ti__step_begin(c, TI_STEP_PLAN);
        st = ti__acquisition_plan(c, err);
        ti__step_end(c, TI_STEP_PLAN);
    }
    if (st == TI_OK)
        st = measure(c, err);
    if (st != TI_OK)
        return st;
    if (!c->job->o->quiet)
        ti__acquisition_print(c, stderr);
    if (c->job->o->write_hostfile)
        st = ti_composite_write_hostfile(c->job->o->write_hostfile, &c->in, &c->place, &c->order,
                                         err);
    if (c->log.file)
        ti__acquisition_print(c, c->log.file);
    return st;
}

/* Shell text that puts the session of mpirun's daemon where it is removed in any case. */
static const char *session(int64_t node, void *arg)
{
    struct ti_acquisition *c = arg;
    struct ti_used_node *u = ti__acquisition_used(c, node);
    const char *name =
        c->job->mpirun.major >= 5 ? "PRTE_MCA_prte_tmpdir_base" : "OMPI_MCA_orte_tmpdir_base";

    if (!u)
        return "";
    u->daemon = true;
    snprintf(c->session, sizeof c->session, "%s='%s'; export %s; ", name, u->tmp, name);
    return c->session;
}

static ti_status launch(struct ti_acquisition *c, struct ti_err *err)
{
    ti_status st = ti_rsh_new(c->fleet, c->job->dir.tmp, session, c, &c->rsh, err);

    if (st == TI_OK)
        st = ti__acquisition_open(c, err);
    if (st == TI_OK)
        st = ti__acquisition_note_start(c, err);
    if (st == TI_OK && !c->job->o->no_dry_launch)
        st = ti__acquisition_dry_launch(c, err);
    if (st == TI_OK)
        st = ti__acquisition_launch(c, err);
    return st;
}

static void record_failed_try(struct ti_acquisition *c, const struct ti_err *err)
{
    const struct ti_outcome *o = &c->job->outcome;
    json_t *nodes = json_array(), *one;
    char text[32];

    for (int64_t i = 0; i < c->nused; i++)
        if (c->failed[c->used[i].node])
            json_array_append_new(nodes, ti_json_text(c->sites->node[c->used[i].node].name));
    one = json_pack("{s:s, s:o, s:o}", "run_id", c->job->run_id, "error", ti_json_text(err->text),
                    "lost_nodes", nodes);
    if (one && o->launched > 0) {
        json_object_set_new(one, "launched", json_string(ti_time_text(o->launched, text)));
        json_object_set_new(one, "seconds", json_real(o->ended - o->launched));
    }
    if (!c->tries)
        c->tries = json_array();
    json_array_append_new(c->tries, one);
}

/* If another try is allowed, record the failed one, release what it left, and return true. */
static bool again(struct ti_acquisition *c, int64_t tries, struct ti_err *err)
{
    if (!c->nlost || c->job->signal || c->fleet->sig || tries >= c->job->o->retries)
        return false;
    ti_warn("%s", err->text);
    ti_say("trying again without %" PRId64 " node%s", c->nlost, c->nlost == 1 ? "" : "s");
    record_failed_try(c, err);
    err->text[0] = err->hint[0] = '\0';
    ti__acquisition_remove(c);
    ti_ranks_free(&c->job->ranks);
    json_decref(c->job->json);
    c->job->json = NULL;
    ti_args_free(&c->job->command);
    memset(&c->job->command, 0, sizeof c->job->command);
    memset(&c->job->outcome, 0, sizeof c->job->outcome);
    clear(c);
    return true;
}

static ti_status attempt(struct ti_acquisition *c, bool *ran, struct ti_err *err)
{
    ti_status st = prepare(c, err);

    *ran = false;
    if (st != TI_OK)
        return st;
    st = launch(c, err);
    *ran = c->job->outcome.launched > 0;
    if (!*ran && c->job->json)
        json_object_set_new(c->job->json, "state", json_string("not started"));
    if (*ran && ti__acquisition_collect(c, &(struct ti_err){"", ""}) == TI_OK)
        ti__acquisition_note_end(c);
    /* mpirun may have noticed the loss first */
    if (*ran && st == TI_OK && c->nlost && !c->job->signal && !ti_ranks_complete(&c->job->ranks))
        st = ti__acquisition_lost(c, err);
    return st;
}

/* Requests to nodes are JSON, which is UTF-8. */
static bool can_be_told(const char *text)
{
    json_t *json = json_string(text);

    json_decref(json);
    return json != NULL;
}

static ti_status check_text(struct ti_acquisition *c, struct ti_err *err)
{
    const struct ti_job *j = c->job;
    const char *program = j->program.path ? j->program.path : j->program.given;
    struct ti_args env = {.n = 0};
    ti_status st = TI_OK;

    if (program && !can_be_told(program))
        return ti_err_set(err, TI_ERR_INPUT, "program '%s': nodes take only names in UTF-8",
                          program);
    /* only a relative name of the program needs the directory */
    if (!can_be_told(c->cwd) && program && program[0] != '/')
        return ti_err_set(err, TI_ERR_INPUT, "directory '%s': nodes take only names in UTF-8",
                          c->cwd);
    if (!can_be_told(c->cwd))
        c->cwd[0] = '\0';
    ti_job_settings(j, 0, &env);
    for (int i = 0; i < env.n && st == TI_OK; i++)
        if (!can_be_told(env.v[i]))
            st =
                ti_err_set(err, TI_ERR_INPUT, "-x '%s': nodes take only values in UTF-8", env.v[i]);
    ti_args_free(&env);
    return st;
}

static ti_status probe_only(struct ti_acquisition *c, struct ti_err *err)
{
    struct ti_job *j = c->job;
    ti_status st = TI_OK;

    for (int64_t i = 0; i < c->sites->nnodes; i++)
        c->use[i] = true;
    if (j->o->program.n)
        st = ti_job_find_program(j, err);
    if (st == TI_OK)
        st = check_text(c, err);
    if (st == TI_OK)
        st = ti_paths_find(&j->paths, err);
    if (st == TI_OK)
        st = ti_mpirun_find(&j->mpirun, err);
    if (st == TI_OK)
        st = examine_nodes(c, err);
    if (!c->survey.facts)
        return st;
    if (j->o->json)
        j->json = json_pack("{s:o}", "nodes", ti_survey_json(&c->survey, c->sites));
    else
        ti_survey_print_nodes(&c->survey, c->sites, stdout);
    return st != TI_OK || !c->survey.unusable
               ? st
               : ti_survey_check(&c->survey, c->sites, c->job->o->tolerate, err);
}

ti_status ti_acquisition_run(struct ti_job *j, const struct ti_sites *sites, struct ti_err *err)
{
    struct ti_acquisition *c = make(j, sites);
    bool ran = false;
    ti_status st;

    if (!c) {
        errno = ENOMEM;
        return ti_err_errno(err, TI_ERR_IO, "cannot plan for the nodes");
    }
    if (!getcwd(c->cwd, sizeof c->cwd))
        c->cwd[0] = '\0';
    ti_launch_share_children();
    if (j->o->probe) {
        st = probe_only(c, err);
        destroy(c);
        return st;
    }
    st = ti_job_check_front(j, err);
    if (st == TI_OK)
        st = ti_job_check_output(j, err);
    if (st == TI_OK)
        st = check_text(c, err);
    if (st == TI_OK && j->o->like)
        st = ti_like_read(j->o->like, j->o->np, &c->like, err);
    if (st == TI_OK)
        st = open_here(c, err);
    if (st != TI_OK) {
        destroy(c);
        return st;
    }
    for (int64_t tries = 0;; tries++) {
        st = ti_job_new_run_id(j, err);
        if (st == TI_OK)
            ti_runlog_note(&c->log, "run %s", j->run_id);
        if (st == TI_OK)
            st = attempt(c, &ran, err);
        if (st == TI_OK || !again(c, tries, err))
            break;
    }
    if (!ran)
        discard_here(c);
    else
        st = ti__acquisition_conclude(c, st, err);
    destroy(c);
    return st;
}
