/* Connecting to the nodes, and the survey: which nodes can be used, and what they have. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acquire/run/nodes.h"
#include "acquire/run/preflight.h"
#include "common/json.h"

#define TRACE_BASE   "/tmp" /* of the nodes, unless the sites file says otherwise */
#define SLOWEST_TOLD 10     /* nodes that took longest to connect, of more than so many */

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
    ti_acquisition_add_lost(b->a, b->sites->node[node].name, &f->member[node].why);
}

static void note(void *arg, const char *fmt, ...)
{
    struct ti_nodes_backend *b = arg;
    char text[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ti_runlog_note(&b->a->log, "%s", text);
}

/* --- the survey ----------------------------------------------------------- */

static void say_slowest(const struct ti_nodes_backend *b)
{
    char *slowest =
        b->fleet->ready > SLOWEST_TOLD ? ti_fleet_slowest(b->fleet, SLOWEST_TOLD) : NULL;

    if (slowest)
        ti_runlog_note(&b->a->log, "slowest to connect: %s", slowest);
    if (slowest && b->a->o->verbose)
        ti_say("slowest to connect: %s", slowest);
    free(slowest);
}

static ti_status connect_all(struct ti_nodes_backend *b, struct ti_err *err)
{
    struct ti_fleet_callbacks calls = {on_message, on_data, on_lost, note, b};
    ti_status st = ti_fleet_new(b->sites, b->use, &b->a->paths, b->a->o->transport,
                                (double)b->a->o->silence_s, &calls, &b->fleet, err);

    if (st != TI_OK)
        return st;
    ti_step_begin(b->a, TI_STEP_SHIP);
    st = ti_fleet_connect(b->fleet, err);
    if (st == TI_OK && b->fleet->sig)
        return ti__nodes_trouble(b, err);
    ti_step_end(b->a, TI_STEP_SHIP);
    say_slowest(b);
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
    if (b->a->log.file) {
        ti_survey_print_nodes(&b->survey, b->sites, b->a->log.file);
        ti_survey_print_findings(&b->survey, b->sites, false, 0, b->a->log.file);
        ti_survey_print_findings(&b->survey, b->sites, true, 0, b->a->log.file);
    }
}

/* Take over the counter that the nodes reported. */
static void use_counter(struct ti_nodes_backend *b)
{
    const json_t *counter = NULL;

    for (int64_t i = 0; i < b->survey.n && !counter; i++)
        if (b->survey.usable[i])
            counter = json_object_get(b->survey.facts[i], "counter");
    ti_preflight_take_counter(b->a, counter);
    ti_preflight_say_counter(b->a);
}

/* Take over the properties of the program from the nodes; a program of that name here may be
 * another one. */
static void use_program(struct ti_nodes_backend *b)
{
    struct ti_program *p = &b->a->program;
    bool seen = false;

    for (int64_t i = 0; i < b->survey.n; i++) {
        const json_t *there =
            b->survey.usable[i] ? json_object_get(b->survey.facts[i], "program") : NULL;

        if (!there || !p->given)
            continue;
        if (!seen) {
            p->mpi = TI_MPI_UNKNOWN;
            for (unsigned k = 0; k < TI_MPI_KINDS; k++)
                if (strcmp(ti_json_string(there, "mpi"), ti_mpi_kind_names[k]) == 0)
                    p->mpi = k;
            p->is_elf = json_is_true(json_object_get(there, "elf"));
            p->blocks = p->setid = false;
            seen = true;
        }
        p->blocks = p->blocks || json_is_true(json_object_get(there, "blocks"));
        p->setid = p->setid || json_is_true(json_object_get(there, "setid"));
    }
    if (seen)
        ti_preflight_warn(b->a);
}

/* Whether the program, which is not here, turned out to be of MPICH. */
static bool is_mpich_elsewhere(const struct ti_nodes_backend *b)
{
    if (b->a->program.path || !b->a->program.given || b->a->mpirun.hydra || b->a->o->container)
        return false;
    for (int64_t i = 0; i < b->survey.n; i++)
        if (strcmp(ti_json_string(json_object_get(b->survey.facts[i], "program"), "mpi"),
                   "mpich") == 0)
            return true;
    return false;
}

static ti_status survey(struct ti_nodes_backend *b, struct ti_err *err)
{
    json_t *more = NULL;
    ti_status st;

    for (int i = 0; i < b->a->o->nmore; i++) {
        const char *path = ti_acquisition_program(b->a, i + 1)->path;

        more = more ? more : json_array();
        json_array_append_new(more, ti_json_text(path ? path : b->a->o->more[i].words.v[0]));
    }
    b->ask = (struct ti_survey_in){.use = b->use,
                                   .program = b->a->program.path   ? b->a->program.path
                                              : b->a->o->program.n ? b->a->o->program.v[0]
                                                                   : NULL,
                                   .cwd = b->cwd,
                                   .counter = b->a->o->counter,
                                   .sum = b->a->sum,
                                   .also = b->a->o->also,
                                   .mpi_version = b->a->mpirun.version,
                                   .container = b->a->o->container,
                                   .hydra = b->a->mpirun.hydra ? b->a->mpirun.path : NULL,
                                   /* nodes try a counter and hash the program */
                                   .limit_s = 2 * (double)b->a->o->silence_s,
                                   .trace_base = TRACE_BASE};
    ti_step_begin(b->a, TI_STEP_SURVEY);
    b->ask.more = more;
    st = ti_survey_make(b->fleet, &b->ask, &b->survey, err);
    if (st == TI_OK && is_mpich_elsewhere(b)) {
        st = ti_mpirun_find(true, &b->a->mpirun, err);
        ti_survey_free(&b->survey);
        b->ask.hydra = b->a->mpirun.path;
        if (st == TI_OK)
            st = ti_survey_make(b->fleet, &b->ask, &b->survey, err);
    }
    b->ask.more = NULL;
    json_decref(more);
    if (st == TI_OK && b->fleet->sig)
        return ti__nodes_trouble(b, err);
    ti_step_end(b->a, TI_STEP_SURVEY);
    if (st != TI_OK)
        return st;
    say_findings(b);
    st = ti_survey_check(&b->survey, b->sites, b->a->o->probe ? INT64_MAX : b->a->o->tolerate, err);
    if (st == TI_OK && b->survey.unusable && !b->a->o->probe)
        ti_warn("%" PRId64 " node%s left out (--tolerate)", b->survey.unusable,
                b->survey.unusable == 1 ? " is" : "s are");
    if (st == TI_OK) {
        use_counter(b);
        use_program(b);
        st = ti_preflight_mpi(b->a, err);
    }
    return st;
}

ti_status ti__nodes_survey(struct ti_nodes_backend *b, struct ti_err *err)
{
    ti_status st = connect_all(b, err);

    if (st == TI_OK)
        st = survey(b, err);
    if (st == TI_OK && !b->a->o->probe)
        st = ti__nodes_choose_isa(b, err);
    for (int64_t i = 0; i < b->sites->nnodes && st == TI_OK; i++) {
        b->use[i] = b->survey.usable[i];
        b->memory[i] = ti_survey_memory(&b->survey, b->sites, i);
        b->cores[i] = ti_survey_cores(&b->survey, b->sites, i);
    }
    return st;
}
