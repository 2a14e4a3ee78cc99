#include "acquire/run/acquisition.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/hex.h"
#include "common/hostlist.h"
#include "common/json.h"

ti_status ti_acquisition_new_run_id(struct ti_acquisition *a, struct ti_err *err)
{
    unsigned char raw[TI_RUN_ID_BYTES];

    if (getrandom(raw, sizeof raw, 0) != (ssize_t)sizeof raw)
        return ti_err_errno(err, TI_ERR_IO, "cannot draw a run id");
    ti_hex(raw, sizeof raw, a->run_id);
    ti_runlog_note(&a->log, "run %s", a->run_id);
    return TI_OK;
}

/* --- steps --------------------------------------------------------------- */

const char *const ti_step_names[TI_STEP_COUNT] = {
#define NAME(name, text) text,
    TI_STEPS(NAME)
#undef NAME
};

void ti_step_begin(struct ti_acquisition *a, enum ti_acquire_step step)
{
    a->step_start[step] = ti_wall();
    ti_runlog_note(&a->log, "%s", ti_step_names[step]);
}

void ti_step_end(struct ti_acquisition *a, enum ti_acquire_step step)
{
    a->step_seconds[step] = ti_wall() - a->step_start[step];
    ti_runlog_note(&a->log, "%s: %.3f s", ti_step_names[step], a->step_seconds[step]);
}

/* --- trouble ------------------------------------------------------------- */

void ti_acquisition_add_lost(struct ti_acquisition *a, const char *name, const struct ti_err *why)
{
    if (!a->lost_nodes) {
        a->lost_nodes = json_array();
        a->lost = *why;
    }
    json_array_append_new(a->lost_nodes, ti_json_text(name));
}

/* All lost nodes, as a hostlist; free(). */
static char *lost_names(const struct ti_acquisition *a)
{
    size_t n = json_array_size(a->lost_nodes);
    const char **names = calloc(n, sizeof *names);
    char *list;

    for (size_t i = 0; names && i < n; i++)
        names[i] = json_string_value(json_array_get(a->lost_nodes, i));
    list = names ? ti_hostlist_fold(names, (int64_t)n) : NULL;
    free(names);
    return list;
}

ti_status ti_acquisition_lost_error(const struct ti_acquisition *a, struct ti_err *err)
{
    size_t n = json_array_size(a->lost_nodes);
    char *list = n > 1 ? lost_names(a) : NULL;

    *err = a->lost;
    if (n > 1)
        ti_err_prefix(err, TI_ERR_REMOTE, "%zu nodes were lost (%.500s%s)", n, list ? list : "",
                      list && strlen(list) > 500 ? "..." : "");
    free(list);
    if (a->sites->origin == TI_SITES_SLURM && strstr(err->text, "CANCELLED"))
        ti_err_hint(err, "the job was cancelled or ran out of time, and with it the run: scancel, "
                         "sbatch --time");
    if (!err->hint[0])
        ti_err_hint(err, "--exclude leaves it out; --retry N does so by itself");
    return TI_ERR_REMOTE;
}

ti_status ti_acquisition_interrupted(struct ti_acquisition *a, int sig, struct ti_err *err)
{
    a->signal = sig;
    return ti_err_set(err, TI_ERR_APP, "interrupted by signal %d (%s)", sig, strsignal(sig));
}

/* --- life ---------------------------------------------------------------- */

void ti_acquisition_clear(struct ti_acquisition *a)
{
    ti_ranks_free(&a->ranks);
    json_decref(a->json);
    json_decref(a->lost_nodes);
    a->json = a->lost_nodes = NULL;
    a->lost = (struct ti_err){"", ""};
    ti_args_free(&a->command);
    a->command = (struct ti_args){.n = 0};
    a->outcome = (struct ti_outcome){.signal = 0};
    a->short_of_memory[0] = '\0';
    a->planned = false;
}

void ti_acquisition_free(struct ti_acquisition *a)
{
    ti_acquisition_clear(a);
    json_decref(a->tries);
    ti_runlog_close(&a->log);
    ti_rundir_unscratch(&a->dir);
    ti_rundir_close(&a->dir);
    ti_program_free(&a->program);
    for (int i = 0; a->more && i < a->o->nmore; i++)
        ti_program_free(&a->more[i]);
    free(a->more);
}

/* --- programs ------------------------------------------------------------ */

/* The name of a program that the names before it have not. */
static void add_name(struct ti_acquisition *a, const char *name)
{
    size_t used = strlen(a->application), n = strlen(name);

    for (const char *at = a->application; *at; at += strcspn(at, "+"), at += *at == '+')
        if (strcspn(at, "+") == n && strncmp(at, name, n) == 0)
            return;
    snprintf(a->application + used, sizeof a->application - used, "%s%s", used ? "+" : "", name);
}

ti_status ti_acquisition_find_programs(struct ti_acquisition *a, ti_find_fn *find,
                                       struct ti_err *err)
{
    ti_status st = find(a, a->o->program.v[0], &a->program, err);

    if (st == TI_OK)
        add_name(a, a->program.name);
    if (st == TI_OK && a->o->nmore)
        a->more = calloc((size_t)a->o->nmore, sizeof *a->more);
    if (st == TI_OK && a->o->nmore && !a->more)
        st = ti_err_errno(err, TI_ERR_IO, "cannot look at the programs");
    for (int i = 0; st == TI_OK && i < a->o->nmore; i++) {
        st = find(a, a->o->more[i].words.v[0], &a->more[i], err);
        if (st == TI_OK)
            add_name(a, a->more[i].name);
    }
    return st;
}

const struct ti_program *ti_acquisition_program(const struct ti_acquisition *a, int i)
{
    return i ? &a->more[i - 1] : &a->program;
}
