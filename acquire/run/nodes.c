/* The back end for nodes as a whole: its life, the checks, the steps of the plan, the launch. */
#include "acquire/run/nodes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "acquire/run/environment.h"
#include "acquire/run/measure.h"
#include "acquire/run/pilot.h"
#include "acquire/run/preflight.h"

/* --- life ---------------------------------------------------------------- */

/* Release what a try has left, before the next one. */
static void close_try(struct ti_acquisition *a)
{
    struct ti_nodes_backend *b = a->state;

    if (!b)
        return;
    ti__nodes_stop(a);
    for (int64_t i = 0; i < b->nused; i++)
        b->used[i].open = false;
    ti_fleet_free(b->fleet);
    b->fleet = NULL;
    ti__nodes_plan_free(b);
    ti_survey_free(&b->survey);
}

static void destroy(struct ti_acquisition *a)
{
    struct ti_nodes_backend *b = a->state;

    if (!b)
        return;
    close_try(a);
    ti_like_free(&b->like);
    free(b->use);
    free(b->failed);
    free(b->memory);
    free(b->cores);
    free(b);
    a->state = NULL;
}

static struct ti_nodes_backend *make(struct ti_acquisition *a, struct ti_err *err)
{
    struct ti_nodes_backend *b = calloc(1, sizeof *b);
    size_t n = (size_t)a->sites->nnodes + 1;

    if (!b) {
        ti_err_errno(err, TI_ERR_IO, "cannot plan for the nodes");
        return NULL;
    }
    b->a = a;
    b->sites = a->sites;
    b->use = calloc(n, sizeof *b->use);
    b->failed = calloc(n, sizeof *b->failed);
    b->memory = calloc(n, sizeof *b->memory);
    b->cores = calloc(n, sizeof *b->cores);
    a->state = b;
    if (!b->use || !b->failed || !b->memory || !b->cores) {
        ti_err_errno(err, TI_ERR_IO, "cannot plan for the nodes");
        destroy(a);
        return NULL;
    }
    if (!getcwd(b->cwd, sizeof b->cwd))
        b->cwd[0] = '\0';
    return b;
}

/* --- the checks ---------------------------------------------------------- */

/* Find the program, which may exist on the nodes only; the survey reports what it is. */
static ti_status find_program(const struct ti_acquisition *a, const char *given,
                              struct ti_program *p, struct ti_err *err)
{
    ti_status st =
        a->o->container ? ti_program_elsewhere(given, p, err) : ti_program_find(given, p, err);

    if (st == TI_ERR_INPUT) {
        ti_program_free(p);
        *err = (struct ti_err){"", ""};
        st = ti_program_elsewhere(given, p, err);
    }
    return st;
}

static ti_status find_elsewhere(const struct ti_acquisition *a, const char *given,
                                struct ti_program *p, struct ti_err *err)
{
    (void)a;
    return ti_program_elsewhere(given, p, err);
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
    for (int c = 0; a->o->nmore && c < b->sites->nclusters; c++)
        if (b->sites->cluster[c].program)
            return ti_err_set(err, TI_ERR_USAGE,
                              "'program =' of a sites file names one program, and the command line "
                              "has %d",
                              a->o->nmore + 1);
    for (int i = 1; i <= a->o->nmore; i++)
        if (!can_be_told(ti_acquisition_program(a, i)->given))
            return ti_err_set(err, TI_ERR_INPUT, "program '%s': nodes take only names in UTF-8",
                              ti_acquisition_program(a, i)->given);
    ti_environment_there(a, 0, &env);
    for (int i = 0; i < env.n && st == TI_OK; i++)
        if (!can_be_told(env.v[i]))
            st =
                ti_err_set(err, TI_ERR_INPUT, "-x '%s': nodes take only values in UTF-8", env.v[i]);
    ti_args_free(&env);
    return st;
}

/* The program must be here only if a pilot is to run it.  Its MPI decides on the form of a
 * hostfile. */
static ti_status check_dry_run(struct ti_acquisition *a, struct ti_err *err)
{
    ti_status st;

    if (a->o->pilot)
        return ti_preflight_here(a, err);
    st = ti_acquisition_find_programs(a, a->o->write_hostfile ? find_program : find_elsewhere, err);
    return st == TI_OK ? ti_preflight_names(a, err) : st;
}

static ti_status check_run(struct ti_nodes_backend *b, struct ti_err *err)
{
    ti_status st = ti_acquisition_find_programs(b->a, find_program, err);

    ti_launch_share_children();
    if (st == TI_OK)
        st = ti_preflight_machine(b->a, err);
    if (st == TI_OK)
        st = ti_preflight_output(b->a, err);
    return st == TI_OK ? check_text(b, err) : st;
}

static ti_status check(struct ti_acquisition *a, struct ti_err *err)
{
    struct ti_nodes_backend *b = make(a, err);
    ti_status st;

    if (!b)
        return TI_ERR_IO;
    st = a->o->dry_run ? check_dry_run(a, err) : check_run(b, err);
    if (st == TI_OK && a->o->like)
        st = ti_like_read(a->o->like, a->o->np, &b->like, err);
    if (st == TI_OK && b->like.missing)
        ti_warn("%" PRId64 " ranks are missing or not whole in '%s': who talks to them is not "
                "known",
                b->like.missing, a->o->like);
    return st;
}

/* --- the plan ------------------------------------------------------------ */

/* Measure the memory of a rank by a pilot on this machine, if the placement depends on it. */
static ti_status measure(struct ti_nodes_backend *b, struct ti_err *err)
{
    struct ti_acquisition *a = b->a;
    bool folded = b->survey.facts && b->place.fold_max > 1;
    ti_status st;

    if (a->o->rank_bytes || b->rank_bytes || (!a->o->pilot && !folded))
        return TI_OK;
    ti_step_begin(a, TI_STEP_PILOT);
    if (b->fleet)
        ti_fleet_announce_pause(b->fleet, TI_MEMORY_POINTS_MAX * (TI_PILOT_SECONDS + 20));
    st = ti_measure_rank(a, &a->model, &b->rank_bytes, err);
    ti_step_end(a, TI_STEP_PILOT);
    return st == TI_OK ? ti__nodes_place(b, err) : st;
}

static ti_status place(struct ti_nodes_backend *b, struct ti_err *err)
{
    ti_status st;

    ti_step_begin(b->a, TI_STEP_PLAN);
    st = ti__nodes_place(b, err);
    ti_step_end(b->a, TI_STEP_PLAN);
    return st;
}

/* The cheapest checks come first: a placement by the sites alone.  The program is run last. */
static ti_status plan(struct ti_acquisition *a, struct ti_err *err)
{
    struct ti_nodes_backend *b = a->state;
    bool dry = a->o->dry_run;
    ti_status st = TI_OK;

    for (int64_t i = 0; i < b->sites->nnodes; i++)
        b->use[i] = !b->failed[i];
    a->isa = a->o->isa;
    st = place(b, err);
    for (int64_t i = 0; i < b->sites->nnodes && st == TI_OK; i++)
        b->use[i] = ti_node_resources(&b->in, i).usable;
    if (st == TI_OK && !dry) {
        st = ti__nodes_survey(b, err);
        if (st == TI_OK)
            st = place(b, err);
    }
    if (st == TI_OK)
        st = measure(b, err);
    a->planned = st == TI_OK;
    if (st == TI_OK && dry)
        st = ti__nodes_choose_isa(b, err);
    if (st == TI_OK && a->o->write_hostfile)
        st = (a->program.mpi == TI_MPI_MPICH ? ti_rank_map_hydra : ti_rank_map_hostfile)(
            &b->map, b->sites, a->o->write_hostfile, err);
    if (st == TI_OK && a->o->verbose)
        ti_say("planned in %.3f s", a->step_seconds[TI_STEP_PLAN]);
    return st;
}

/* Shell text that puts the session of mpirun's daemon where it is removed in any case; that of
 * Hydra has none. */
static const char *session(int64_t node, void *arg)
{
    struct ti_nodes_backend *b = arg;
    struct ti_used_node *u = ti__nodes_used(b, node);
    const char *name = ti_mpirun_is_prrte(&b->a->mpirun) ? "PRTE_MCA_prte_tmpdir_base"
                                                         : "OMPI_MCA_orte_tmpdir_base";

    if (!u)
        return "";
    u->daemon = true;
    if (b->a->mpirun.hydra)
        return "";
    snprintf(b->session, sizeof b->session, "%s='%s'; export %s; ", name, u->tmp, name);
    return b->session;
}

static ti_status open_run(struct ti_acquisition *a, struct ti_err *err)
{
    struct ti_nodes_backend *b = a->state;
    ti_status st = ti_rsh_new(b->fleet, a->dir.tmp, session, b, &b->rsh, err);

    if (st == TI_OK && (st = ti__nodes_open(b, err)) != TI_OK)
        ti__nodes_say_kept(b);
    return st == TI_OK ? ti__nodes_command(b, false, &a->command, err) : st;
}

/* The dry launch comes first, unless --no-dry-launch was given. */
static ti_status start(struct ti_acquisition *a, struct ti_err *err)
{
    struct ti_nodes_backend *b = a->state;
    ti_status st = a->o->no_dry_launch ? TI_OK : ti__nodes_dry_launch(b, err);

    if (st == TI_OK)
        st = ti__nodes_watch(b, err);
    if (st != TI_OK) {
        ti__nodes_say_kept(b);
        return st;
    }
    a->outcome.launched = ti_wall();
    ti_runlog_note(&a->log, "%s", ti_step_names[TI_STEP_START]);
    st = ti__mpirun_start(b, &a->command, false, &b->mpirun, err);
    if (st == TI_OK) {
        a->proc = &b->mpirun.proc;
        a->forward = &b->mpirun.forward;
    }
    return st;
}

static void end(struct ti_acquisition *a)
{
    struct ti_nodes_backend *b = a->state;

    ti__nodes_end(b, &b->mpirun);
    b->fleet->sig = 0;
}

/* --- --probe ------------------------------------------------------------- */

static ti_status probe(struct ti_acquisition *a, struct ti_err *err)
{
    struct ti_nodes_backend *b = make(a, err);
    ti_status st = TI_OK;

    if (!b)
        return TI_ERR_IO;
    ti_launch_share_children();
    for (int64_t i = 0; i < b->sites->nnodes; i++)
        b->use[i] = true;
    if (a->o->program.n)
        st = ti_acquisition_find_programs(a, find_program, err);
    if (st == TI_OK)
        st = check_text(b, err);
    if (st == TI_OK)
        st = ti_paths_find(&a->paths, err);
    if (st == TI_OK)
        st = ti_mpirun_find(a->program.mpi == TI_MPI_MPICH, &a->mpirun, err);
    if (st == TI_OK)
        st = ti__nodes_survey(b, err);
    if (b->survey.facts && a->o->json)
        a->json = json_pack("{s:o}", "nodes", ti_survey_json(&b->survey, b->sites));
    else if (b->survey.facts)
        ti_survey_print_nodes(&b->survey, b->sites, stdout);
    if (st == TI_OK && b->survey.unusable)
        st = ti_survey_check(&b->survey, b->sites, a->o->tolerate, err);
    destroy(a);
    return st;
}

const struct ti_backend ti_backend_nodes = {
    .probe = probe,
    .check = check,
    .plan = plan,
    .print_ranks = ti__nodes_print_ranks,
    .print_traces = ti__nodes_print_traces,
    .describe = ti__nodes_describe,
    .open = open_run,
    .start = start,
    .wait = ti__nodes_wait,
    .update = ti__nodes_update,
    .end = end,
    .sweep = ti__nodes_sweep,
    .stop = ti__nodes_stop,
    .collect = ti__nodes_collect,
    .gather = ti__nodes_gather,
    .home = "on their nodes",
    .say_missing = ti__nodes_say_missing,
    .say_where = ti__nodes_say_where,
    .remove = ti__nodes_remove,
    .close = close_try,
    .destroy = destroy,
};
