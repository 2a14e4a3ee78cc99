#include "acquire/run/nodes.h"

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

void ti__step_begin(struct ti_nodes_backend *b, enum ti_step step)
{
    b->step_start[step] = ti_wall();
    ti_runlog_note(&b->log, "%s", step_names[step]);
}

void ti__step_end(struct ti_nodes_backend *b, enum ti_step step)
{
    b->step_seconds[step] = ti_wall() - b->step_start[step];
    ti_runlog_note(&b->log, "%s: %.3f s", step_names[step], b->step_seconds[step]);
}

/* --- callbacks of the fleet ------------------------------------------------ */

static void on_message(struct ti_fleet *f, int64_t node, const json_t *message, void *arg)
{
    struct ti_nodes_backend *b = arg;
    const char *is = json_string_value(json_object_get(message, "is"));
    struct ti_used_node *u;

    (void)f;
    if (ti_rsh_on_message(b->rsh, node, message) || !is || strcmp(is, "status") != 0)
        return;
    u = ti__nodes_used(b, node);
    if (!u)
        return;
    json_decref(u->status);
    u->status = json_incref((json_t *)message);
    u->status_at = ti_now();
}

static void on_data(struct ti_fleet *f, int64_t node, const struct ti_frame *frame, void *arg)
{
    struct ti_nodes_backend *b = arg;

    (void)f;
    ti_rsh_on_data(b->rsh, node, frame);
}

static void on_lost(struct ti_fleet *f, int64_t node, void *arg)
{
    struct ti_nodes_backend *b = arg;

    if (b->rsh)
        ti_rsh_on_node_lost(b->rsh, node);
    if (!ti__nodes_used(b, node))
        return;
    b->failed[node] = true;
    if (b->nlost++ == 0)
        b->lost = f->member[node].why;
}

static void note(void *arg, const char *fmt, ...)
{
    struct ti_nodes_backend *b = arg;
    char text[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ti_runlog_note(&b->log, "%s", text);
}

/* --- the survey ----------------------------------------------------------- */

static ti_status connect_all(struct ti_nodes_backend *b, struct ti_err *err)
{
    struct ti_fleet_callbacks calls = {on_message, on_data, on_lost, note, b};
    ti_status st = ti_fleet_new(b->sites, b->use, &b->a->paths, b->a->o->transport,
                                (double)b->a->o->silence_s, &calls, &b->fleet, err);

    if (st != TI_OK)
        return st;
    ti__step_begin(b, TI_STEP_SHIP);
    st = ti_fleet_connect(b->fleet, err);
    if (st == TI_OK && b->fleet->sig)
        return ti__nodes_interrupted(b, err);
    ti__step_end(b, TI_STEP_SHIP);
    if (b->fleet->shipped)
        ti_say("sent our files to %" PRId64 " node%s that lacked them", b->fleet->shipped,
               b->fleet->shipped == 1 ? "" : "s");
    return st;
}

static void say_findings(struct ti_nodes_backend *b)
{
    bool differ = false;

    for (int64_t i = 0; i < b->survey.nfindings; i++)
        differ = differ || !b->survey.finding[i].fatal;
    if (differ && !b->a->o->quiet) {
        ti_say("nodes of note, by what '%s' says:", b->sites->path);
        ti_survey_print_findings(&b->survey, b->sites, false, TI_SURVEY_LINES, stderr);
    }
    if (b->survey.unusable) {
        ti_say("nodes that cannot be used:");
        ti_survey_print_findings(&b->survey, b->sites, true, TI_SURVEY_LINES, stderr);
    }
    if (b->log.file) {
        ti_survey_print_nodes(&b->survey, b->sites, b->log.file);
        ti_survey_print_findings(&b->survey, b->sites, false, 0, b->log.file);
        ti_survey_print_findings(&b->survey, b->sites, true, 0, b->log.file);
    }
}

/* Take over the counter that the nodes reported. */
static void take_counter(struct ti_nodes_backend *b)
{
    struct ti_counter_choice *choice = &b->a->choice;
    const json_t *counter = NULL;

    for (int64_t i = 0; i < b->survey.n && !counter; i++)
        if (b->survey.usable[i])
            counter = json_object_get(b->survey.facts[i], "counter");
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
static void take_program(struct ti_nodes_backend *b)
{
    static const char *const kinds[] = {[TI_MPI_OPEN] = "openmpi", [TI_MPI_NONE] = "none"};
    struct ti_program *p = &b->a->program;
    bool seen = false;

    for (int64_t i = 0; i < b->survey.n; i++) {
        const json_t *there =
            b->survey.usable[i] ? json_object_get(b->survey.facts[i], "program") : NULL;

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
        ti_acquisition_warn_of_program(b->a);
}

static ti_status survey(struct ti_nodes_backend *b, struct ti_err *err)
{
    ti_status st;

    b->ask = (struct ti_survey_in){.use = b->use,
                                   .program = b->a->program.path   ? b->a->program.path
                                              : b->a->o->program.n ? b->a->o->program.v[0]
                                                                   : NULL,
                                   .cwd = b->cwd,
                                   .counter = b->a->o->counter,
                                   .sum = b->a->sum,
                                   .also = b->a->o->also,
                                   .mpi_version = b->a->mpirun.version,
                                   /* nodes try a counter and hash the program */
                                   .limit_s = 2 * (double)b->a->o->silence_s,
                                   .trace_base = TRACE_BASE};
    ti__step_begin(b, TI_STEP_SURVEY);
    st = ti_survey_make(b->fleet, &b->ask, &b->survey, err);
    if (st == TI_OK && b->fleet->sig)
        return ti__nodes_interrupted(b, err);
    ti__step_end(b, TI_STEP_SURVEY);
    if (st != TI_OK)
        return st;
    say_findings(b);
    st = ti_survey_check(&b->survey, b->sites, b->a->o->probe ? INT64_MAX : b->a->o->tolerate, err);
    if (st == TI_OK && b->survey.unusable && !b->a->o->probe)
        ti_warn("%" PRId64 " node%s left out (--tolerate)", b->survey.unusable,
                b->survey.unusable == 1 ? " is" : "s are");
    if (st == TI_OK) {
        take_counter(b);
        take_program(b);
    }
    return st;
}

/* Volumes must not depend on the node of a rank. */
static ti_status choose_isa(struct ti_nodes_backend *b, struct ti_err *err)
{
    struct ti_acquisition *a = b->a;
    struct ti_common_isa_node *nodes = calloc((size_t)b->survey.n + 1, sizeof *nodes);
    struct ti_common_isa made;
    int64_t n = 0;
    ti_status st;

    if (!nodes)
        return ti_err_errno(err, TI_ERR_IO, "cannot compare the nodes");
    for (int64_t i = 0; i < b->survey.n; i++)
        if (b->survey.usable[i])
            nodes[n++] = ti_common_isa_node_of_facts(b->sites->node[i].name, b->survey.facts[i]);
    st = ti_common_isa_choose(nodes, n, a->o->isa, a->o->isa_native, !a->choice.estimate, &made,
                              err);
    if (st == TI_OK) {
        a->isa = made.isa;
        if (made.said)
            ti_say("%s", made.said);
        for (int i = 0; i < made.nwarnings; i++)
            ti_warn("%s", made.warning[i]);
    }
    ti_common_isa_free(&made);
    free(nodes);
    return st;
}

static ti_status examine_nodes(struct ti_nodes_backend *b, struct ti_err *err)
{
    ti_status st = connect_all(b, err);

    if (st == TI_OK)
        st = survey(b, err);
    if (st == TI_OK && !b->a->o->probe)
        st = choose_isa(b, err);
    for (int64_t i = 0; i < b->sites->nnodes && st == TI_OK; i++) {
        b->use[i] = b->survey.usable[i];
        b->memory[i] = ti_survey_memory(&b->survey, b->sites, i);
        b->cores[i] = ti_survey_cores(&b->survey, b->sites, i);
    }
    return st;
}

/* --- life ---------------------------------------------------------------- */

static struct ti_nodes_backend *make(struct ti_acquisition *a, const struct ti_sites *sites)
{
    struct ti_nodes_backend *b = calloc(1, sizeof *b);
    size_t n = (size_t)sites->nnodes + 1;

    if (!b)
        return NULL;
    b->a = a;
    b->sites = sites;
    b->use = calloc(n, sizeof *b->use);
    b->failed = calloc(n, sizeof *b->failed);
    b->memory = calloc(n, sizeof *b->memory);
    b->cores = calloc(n, sizeof *b->cores);
    if (b->use && b->failed && b->memory && b->cores)
        return b;
    free(b->use);
    free(b->failed);
    free(b->memory);
    free(b->cores);
    free(b);
    return NULL;
}

/* Release what a try has left, before the next one. */
static void clear(struct ti_nodes_backend *b)
{
    ti_rsh_free(b->rsh);
    b->rsh = NULL;
    for (int64_t i = 0; i < b->nused; i++)
        b->used[i].open = false;
    ti_fleet_free(b->fleet);
    b->fleet = NULL;
    for (int64_t i = 0; i < b->nused; i++)
        json_decref(b->used[i].status);
    free(b->used);
    b->used = NULL;
    b->nused = 0;
    b->nlost = 0;
    b->lost.text[0] = b->lost.hint[0] = '\0';
    ti__nodes_plan_free(b);
    ti_survey_free(&b->survey);
    ti_rundir_unscratch(&b->a->dir);
}

static void destroy(struct ti_nodes_backend *b)
{
    clear(b);
    ti_runlog_close(&b->log);
    ti_like_free(&b->like);
    json_decref(b->tries);
    free(b->use);
    free(b->failed);
    free(b->memory);
    free(b->cores);
    free(b);
}

static ti_status open_here(struct ti_nodes_backend *b, struct ti_err *err)
{
    struct ti_acquisition *a = b->a;
    ti_status st = ti_rundir_open(a->dir_name, a->o->force, &a->dir, err);
    char text[32];

    if (st != TI_OK)
        return st;
    if (a->o->log)
        snprintf(b->log_name, sizeof b->log_name, "%s", a->o->log);
    else
        snprintf(b->log_name, sizeof b->log_name, "%.4000s/%s", a->dir.path, TI_RUN_LOG);
    st = ti_runlog_open(&b->log, b->log_name, err);
    if (st != TI_OK)
        ti_rundir_discard(&a->dir, false);
    else
        ti_runlog_note(&b->log, "ti-acquire %s, %s", ti_version(), ti_time_text(ti_wall(), text));
    return st;
}

/* The program was not run: remove everything of ours.  The log stays if mpirun ran. */
static void discard_here(struct ti_nodes_backend *b)
{
    if (!b->a->o->log && b->log.file && !b->step_start[TI_STEP_DRY_LAUNCH]) {
        ti_runlog_close(&b->log);
        unlink(b->log_name);
    }
    /* the socket for mpirun is in the directory */
    ti_rsh_free(b->rsh);
    b->rsh = NULL;
    ti_rundir_unscratch(&b->a->dir);
    ti_rundir_discard(&b->a->dir, false);
}

/* --- one try ------------------------------------------------------------- */

/* Measure the memory of a rank by a pilot on this machine, if the placement depends on it. */
static ti_status measure(struct ti_nodes_backend *b, struct ti_err *err)
{
    struct ti_acquisition *a = b->a;
    ti_status st;

    if (a->o->rank_bytes || b->rank_bytes || (!a->o->pilot && b->place.fold_max <= 1))
        return TI_OK;
    ti__step_begin(b, TI_STEP_PILOT);
    ti_fleet_announce_pause(b->fleet, TI_MEMORY_POINTS_MAX * (TI_PILOT_SECONDS + 20));
    st = ti_measure_rank(a, &a->model, &b->rank_bytes, err);
    ti__step_end(b, TI_STEP_PILOT);
    return st == TI_OK ? ti__nodes_plan(b, err) : st;
}

/* The cheapest checks come first: a plan by the sites file alone.  The program is run last. */
static ti_status prepare(struct ti_nodes_backend *b, struct ti_err *err)
{
    ti_status st;

    for (int64_t i = 0; i < b->sites->nnodes; i++)
        b->use[i] = !b->failed[i];
    b->a->isa = b->a->o->isa;
    st = ti_rundir_scratch(&b->a->dir, 0, err);
    if (st == TI_OK)
        st = ti__nodes_plan(b, err);
    for (int64_t i = 0; i < b->sites->nnodes && st == TI_OK; i++)
        b->use[i] = ti_node_resources(&b->in, i).usable;
    if (st == TI_OK)
        st = examine_nodes(b, err);
    if (st == TI_OK) {
        ti__step_begin(b, TI_STEP_PLAN);
        st = ti__nodes_plan(b, err);
        ti__step_end(b, TI_STEP_PLAN);
    }
    if (st == TI_OK)
        st = measure(b, err);
    if (st != TI_OK)
        return st;
    if (!b->a->o->quiet)
        ti__nodes_print(b, stderr);
    if (b->a->o->write_hostfile)
        st =
            ti_composite_write_hostfile(b->a->o->write_hostfile, &b->in, &b->place, &b->order, err);
    if (b->log.file)
        ti__nodes_print(b, b->log.file);
    return st;
}

/* Shell text that puts the session of mpirun's daemon where it is removed in any case. */
static const char *session(int64_t node, void *arg)
{
    struct ti_nodes_backend *b = arg;
    struct ti_used_node *u = ti__nodes_used(b, node);
    const char *name =
        b->a->mpirun.major >= 5 ? "PRTE_MCA_prte_tmpdir_base" : "OMPI_MCA_orte_tmpdir_base";

    if (!u)
        return "";
    u->daemon = true;
    snprintf(b->session, sizeof b->session, "%s='%s'; export %s; ", name, u->tmp, name);
    return b->session;
}

static ti_status launch(struct ti_nodes_backend *b, struct ti_err *err)
{
    ti_status st = ti_rsh_new(b->fleet, b->a->dir.tmp, session, b, &b->rsh, err);

    if (st == TI_OK)
        st = ti__nodes_open(b, err);
    if (st == TI_OK)
        st = ti__nodes_note_start(b, err);
    if (st == TI_OK && !b->a->o->no_dry_launch)
        st = ti__nodes_dry_launch(b, err);
    if (st == TI_OK)
        st = ti__nodes_launch(b, err);
    return st;
}

static void record_failed_try(struct ti_nodes_backend *b, const struct ti_err *err)
{
    const struct ti_outcome *o = &b->a->outcome;
    json_t *nodes = json_array(), *one;
    char text[32];

    for (int64_t i = 0; i < b->nused; i++)
        if (b->failed[b->used[i].node])
            json_array_append_new(nodes, ti_json_text(b->sites->node[b->used[i].node].name));
    one = json_pack("{s:s, s:o, s:o}", "run_id", b->a->run_id, "error", ti_json_text(err->text),
                    "lost_nodes", nodes);
    if (one && o->launched > 0) {
        json_object_set_new(one, "launched", json_string(ti_time_text(o->launched, text)));
        json_object_set_new(one, "seconds", json_real(o->ended - o->launched));
    }
    if (!b->tries)
        b->tries = json_array();
    json_array_append_new(b->tries, one);
}

/* If another try is allowed, record the failed one, release what it left, and return true. */
static bool again(struct ti_nodes_backend *b, int64_t tries, struct ti_err *err)
{
    if (!b->nlost || b->a->signal || b->fleet->sig || tries >= b->a->o->retries)
        return false;
    ti_warn("%s", err->text);
    ti_say("trying again without %" PRId64 " node%s", b->nlost, b->nlost == 1 ? "" : "s");
    record_failed_try(b, err);
    err->text[0] = err->hint[0] = '\0';
    ti__nodes_remove(b);
    ti_ranks_free(&b->a->ranks);
    json_decref(b->a->json);
    b->a->json = NULL;
    ti_args_free(&b->a->command);
    memset(&b->a->command, 0, sizeof b->a->command);
    memset(&b->a->outcome, 0, sizeof b->a->outcome);
    clear(b);
    return true;
}

static ti_status attempt(struct ti_nodes_backend *b, bool *ran, struct ti_err *err)
{
    ti_status st = prepare(b, err);

    *ran = false;
    if (st != TI_OK)
        return st;
    st = launch(b, err);
    *ran = b->a->outcome.launched > 0;
    if (!*ran && b->a->json)
        json_object_set_new(b->a->json, "state", json_string("not started"));
    if (*ran && ti__nodes_collect(b, &(struct ti_err){"", ""}) == TI_OK)
        ti__nodes_note_end(b);
    /* mpirun may have noticed the loss first */
    if (*ran && st == TI_OK && b->nlost && !b->a->signal && !ti_ranks_complete(&b->a->ranks))
        st = ti__nodes_lost(b, err);
    return st;
}

/* Requests to nodes are JSON, which is UTF-8. */
static bool can_be_told(const char *text)
{
    json_t *json = json_string(text);

    json_decref(json);
    return json != NULL;
}

static ti_status check_text(struct ti_nodes_backend *b, struct ti_err *err)
{
    const struct ti_acquisition *a = b->a;
    const char *program = a->program.path ? a->program.path : a->program.given;
    struct ti_args env = {.n = 0};
    ti_status st = TI_OK;

    if (program && !can_be_told(program))
        return ti_err_set(err, TI_ERR_INPUT, "program '%s': nodes take only names in UTF-8",
                          program);
    /* only a relative name of the program needs the directory */
    if (!can_be_told(b->cwd) && program && program[0] != '/')
        return ti_err_set(err, TI_ERR_INPUT, "directory '%s': nodes take only names in UTF-8",
                          b->cwd);
    if (!can_be_told(b->cwd))
        b->cwd[0] = '\0';
    ti_acquisition_settings(a, 0, &env);
    for (int i = 0; i < env.n && st == TI_OK; i++)
        if (!can_be_told(env.v[i]))
            st =
                ti_err_set(err, TI_ERR_INPUT, "-x '%s': nodes take only values in UTF-8", env.v[i]);
    ti_args_free(&env);
    return st;
}

static ti_status probe_only(struct ti_nodes_backend *b, struct ti_err *err)
{
    struct ti_acquisition *a = b->a;
    ti_status st = TI_OK;

    for (int64_t i = 0; i < b->sites->nnodes; i++)
        b->use[i] = true;
    if (a->o->program.n)
        st = ti_acquisition_find_program(a, err);
    if (st == TI_OK)
        st = check_text(b, err);
    if (st == TI_OK)
        st = ti_paths_find(&a->paths, err);
    if (st == TI_OK)
        st = ti_mpirun_find(&a->mpirun, err);
    if (st == TI_OK)
        st = examine_nodes(b, err);
    if (!b->survey.facts)
        return st;
    if (a->o->json)
        a->json = json_pack("{s:o}", "nodes", ti_survey_json(&b->survey, b->sites));
    else
        ti_survey_print_nodes(&b->survey, b->sites, stdout);
    return st != TI_OK || !b->survey.unusable
               ? st
               : ti_survey_check(&b->survey, b->sites, b->a->o->tolerate, err);
}

ti_status ti_nodes_run(struct ti_acquisition *a, const struct ti_sites *sites, struct ti_err *err)
{
    struct ti_nodes_backend *b = make(a, sites);
    bool ran = false;
    ti_status st;

    if (!b) {
        errno = ENOMEM;
        return ti_err_errno(err, TI_ERR_IO, "cannot plan for the nodes");
    }
    if (!getcwd(b->cwd, sizeof b->cwd))
        b->cwd[0] = '\0';
    ti_launch_share_children();
    if (a->o->probe) {
        st = probe_only(b, err);
        destroy(b);
        return st;
    }
    st = ti_acquisition_check_front(a, err);
    if (st == TI_OK)
        st = ti_acquisition_check_output(a, err);
    if (st == TI_OK)
        st = check_text(b, err);
    if (st == TI_OK && a->o->like)
        st = ti_like_read(a->o->like, a->o->np, &b->like, err);
    if (st == TI_OK)
        st = open_here(b, err);
    if (st != TI_OK) {
        destroy(b);
        return st;
    }
    for (int64_t tries = 0;; tries++) {
        st = ti_acquisition_new_run_id(a, err);
        if (st == TI_OK)
            ti_runlog_note(&b->log, "run %s", a->run_id);
        if (st == TI_OK)
            st = attempt(b, &ran, err);
        if (st == TI_OK || !again(b, tries, err))
            break;
    }
    if (!ran)
        discard_here(b);
    else
        st = ti__nodes_conclude(b, st, err);
    destroy(b);
    return st;
}
