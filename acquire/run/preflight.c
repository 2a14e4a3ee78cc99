#include "acquire/run/preflight.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "acquire/run/environment.h"
#include "bundle/output.h"
#include "common/json.h"

/* --- names --------------------------------------------------------------- */

ti_status ti_preflight_names(struct ti_acquisition *a, struct ti_err *err)
{
    const struct ti_options *o = a->o;
    int n, m;

    n = o->trace_dir ? snprintf(a->dir_name, sizeof a->dir_name, "%s", o->trace_dir)
                     : snprintf(a->dir_name, sizeof a->dir_name, "%s.%" PRId64 ".run",
                                a->application, o->np);
    m = o->output
            ? snprintf(a->output, sizeof a->output, "%s", o->output)
            : snprintf(a->output, sizeof a->output, "%s.%" PRId64 ".tib", a->application, o->np);
    if (n >= PATH_MAX || m >= PATH_MAX)
        return ti_err_set(err, TI_ERR_USAGE, "the name of the run directory or bundle is too long");
    return TI_OK;
}

ti_status ti_preflight_output(const struct ti_acquisition *a, struct ti_err *err)
{
    char dir[PATH_MAX];
    char *slash;
    ti_status st;

    if (a->o->no_gather)
        return TI_OK;
    st = ti_output_check(a->output, a->o->force,
                         "--force replaces it, -o gives another name, --no-gather makes no bundle",
                         err);
    if (st != TI_OK && a->o->dry_run) {
        ti_warn("%s: a run would be refused", err->text);
        err->text[0] = err->hint[0] = '\0';
    } else if (st != TI_OK) {
        return st;
    }
    strcpy(dir, a->output);
    slash = strrchr(dir, '/');
    if (slash)
        slash[slash == dir] = '\0';
    if (access(slash ? dir : ".", W_OK | X_OK) < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", a->output);
    return TI_OK;
}

/* --- program and counter ------------------------------------------------- */

void ti_preflight_take_counter(struct ti_acquisition *a, const json_t *counter)
{
    struct ti_counter_choice *choice = &a->choice;

    snprintf(choice->counter, sizeof choice->counter, "%s", ti_json_string(counter, "counter"));
    choice->of = ti_counter_find(ti_json_string(counter, "backend"), NULL);
    snprintf(choice->event, sizeof choice->event, "%s", ti_json_string(counter, "event"));
    snprintf(choice->why, sizeof choice->why, "%s", ti_json_string(counter, "why"));
    snprintf(choice->valgrind_lib, sizeof choice->valgrind_lib, "%s",
             ti_json_string(counter, "valgrind_lib"));
    choice->valgrind = json_is_true(json_object_get(counter, "valgrind"));
    choice->exact = json_is_true(json_object_get(counter, "exact"));
    choice->estimate = json_is_true(json_object_get(counter, "estimate"));
}

void ti_preflight_say_counter(const struct ti_acquisition *a)
{
    if (a->choice.why[0])
        ti_say("counting with %s, since %s", a->choice.counter, a->choice.why);
    if (a->choice.counter[0] && !a->choice.exact)
        ti_warn("%s is %s", a->choice.counter,
                a->choice.estimate ? "an estimate: volumes vary from run to run"
                                   : "no instruction count");
}

static void warn(const struct ti_acquisition *a, const struct ti_program *p)
{
    if (p->setid)
        ti_warn("'%s' is set-user-ID or set-group-ID: the loader will not preload our library",
                p->given);
    if (p->mpi == TI_MPI_NONE)
        ti_warn("'%s' names no MPI library; there is a trace only if it loads one later", p->given);
    if (p->mpi == TI_MPI_UNKNOWN)
        ti_warn("cannot tell whether '%s' is an MPI program: it is %s", p->given,
                p->is_elf ? "built for another kind of machine" : "a script, or not readable");
    if (p->blocks && a->choice.of && !a->choice.of->compiled)
        ti_warn("'%s' was compiled with ti-mpicc: %s counts what it executes to count itself too; "
                "trace the program as mpicc compiles it%s",
                p->given, a->choice.of->name, a->sum ? "" : ", or take -c blocks");
}

void ti_preflight_warn(const struct ti_acquisition *a)
{
    char all[128];

    for (int i = 0; i <= a->o->nmore; i++)
        warn(a, ti_acquisition_program(a, i));
    if (ti_environment_threads(a) && a->o->threads == TI_THREADS_AUTO && !a->sum)
        ti_warn(
            "'%s' uses OpenMP, and %s counts only the thread that calls MPI: %s count all threads",
            a->program.given, a->o->counter,
            ti_counter_names(all, sizeof all, "-c ", " and ", false, true, NULL));
}

/* --- this machine -------------------------------------------------------- */

/* Each MPI has a back end of the library, and which were built depends on what there was to build
 * with. */
static ti_status find_backend(const struct ti_acquisition *a, struct ti_err *err)
{
    const char *kind = a->program.standard_abi ? "abi" : ti_mpi_kind_names[a->program.mpi];
    char path[PATH_MAX];
    int n = (int)strlen(a->paths.library) - (int)strlen(".so");

    if ((a->program.mpi != TI_MPI_OPEN && a->program.mpi != TI_MPI_MPICH) || !a->program.path)
        return TI_OK; /* not known before it runs */
    if (snprintf(path, sizeof path, "%.*s-%s.so", n, a->paths.library, kind) >= (int)sizeof path ||
        access(path, F_OK) == 0)
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT, "'%s' is linked with '%s', and there is no '%s'",
               a->program.given, a->program.library, path);
    ti_err_hint(err, "nothing would be recorded; build Tiara where the mpi.h of %s is",
                a->program.standard_abi          ? "the standard ABI"
                : a->program.mpi == TI_MPI_MPICH ? "MPICH"
                                                 : "Open MPI");
    return TI_ERR_INPUT;
}

/* All programs have one MPI, and options are of that one. */
ti_status ti_preflight_mpi(const struct ti_acquisition *a, struct ti_err *err)
{
    bool mpich = a->program.mpi == TI_MPI_MPICH;

    for (int i = 1; i <= a->o->nmore; i++) {
        const struct ti_program *p = ti_acquisition_program(a, i);

        if (p->path &&
            ((p->mpi == TI_MPI_MPICH) != mpich || p->standard_abi != a->program.standard_abi))
            return ti_err_set(err, TI_ERR_INPUT, "'%s' and '%s' are linked with different MPIs",
                              a->program.given, p->given);
    }
    if (mpich && a->o->container) {
        ti_err_set(err, TI_ERR_INPUT,
                   "'%s' is linked with MPICH, whose ranks cannot be in a container each",
                   a->program.given);
        ti_err_hint(err, "MPICH's mpiexec hands each rank a descriptor, which does not reach it "
                         "there; build the program with Open MPI");
        return TI_ERR_INPUT;
    }
    for (int i = 0; mpich && i < a->o->mpirun.n; i++)
        if (strcmp(a->o->mpirun.v[i], "--mca") == 0)
            return ti_err_set(err, TI_ERR_USAGE, "--mca is of Open MPI, and '%s' is of MPICH",
                              a->program.given);
    return find_backend(a, err);
}

ti_status ti_preflight_machine(struct ti_acquisition *a, struct ti_err *err)
{
    ti_status st = ti_preflight_names(a, err);

    a->isa = a->o->isa;
    a->sum = ti_environment_sums(a);
    if (a->sum && a->o->threads == TI_THREADS_AUTO)
        ti_say("'%s' uses OpenMP: volumes are of all threads (--threads caller: of one)",
               a->program.given);
    if (st == TI_OK)
        st = ti_paths_find(&a->paths, err);
    if (st == TI_OK)
        st = ti_preflight_mpi(a, err);
    if (st == TI_OK)
        st = ti_mpirun_find(a->program.mpi == TI_MPI_MPICH, &a->mpirun, err);
    if (st == TI_OK)
        st = ti_machine_read("", &a->machine, err);
    return st;
}

static ti_status check_processes(const struct ti_acquisition *a, struct ti_err *err)
{
    if (a->o->np <= a->machine.processes / TI_RANK_THREADS)
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT,
               "%" PRId64 " ranks have about %" PRId64 " processes and threads, and only %" PRId64
               " more may be started here",
               a->o->np, a->o->np * TI_RANK_THREADS, a->machine.processes);
    ti_err_hint(err, "see 'ulimit -u' and the pids limit of the control group");
    return TI_ERR_INPUT;
}

static ti_status find_here(const struct ti_acquisition *a, const char *given, struct ti_program *p,
                           struct ti_err *err)
{
    struct ti_container container;
    ti_status st;

    if (ti_environment_container(a, &container))
        return ti_container_find(&container, given, p, err);
    st = ti_program_find(given, p, err);

    if (st == TI_ERR_INPUT && strchr(given, '/') && !err->hint[0])
        ti_hint_file(err, given);
    return st;
}

/* The program that decides which counters can count: one that `blocks` cannot count, if any. */
static const struct ti_program *deciding(const struct ti_acquisition *a)
{
    const struct ti_program *p = &a->program;

    for (int i = 1; i <= a->o->nmore && p->blocks; i++)
        p = ti_acquisition_program(a, i);
    return p;
}

/* A counter that counts here, or in the container. */
static ti_status choose_counter(struct ti_acquisition *a, struct ti_err *err)
{
    struct ti_container container;
    json_t *answer;
    ti_status st;

    if (ti_environment_container(a, &container)) {
        st = ti_container_counter(&container, a->o->counter, a->sum, deciding(a)->path, a->o->also,
                                  &answer, err);
        ti_preflight_take_counter(a, answer);
        json_decref(answer);
        return st;
    }
    st = ti_counter_choose(a->o->counter, a->sum, deciding(a),
                           a->paths.valgrind[0] ? a->paths.valgrind : NULL, &a->choice, err);
    if (st == TI_OK && a->o->also)
        st = ti_counter_check_also(a->o->also, a->sum, &a->choice, err);
    return st;
}

ti_status ti_preflight_here(struct ti_acquisition *a, struct ti_err *err)
{
    ti_status st = a->o->container ? ti_paths_find(&a->paths, err) : TI_OK;

    if (st == TI_OK)
        st = ti_acquisition_find_programs(a, find_here, err);

    if (st == TI_OK)
        st = ti_preflight_machine(a, err);
    if (st == TI_OK && a->o->pin)
        st = ti_machine_pin(a->o->pin, &a->pin, &a->machine.cores, err);
    a->pinned = a->o->pin != NULL;
    if (st == TI_OK)
        st = choose_counter(a, err);
    if (st == TI_OK)
        st = check_processes(a, err);
    if (st != TI_OK)
        return st;
    ti_preflight_say_counter(a);
    ti_preflight_warn(a);
    return TI_OK;
}
