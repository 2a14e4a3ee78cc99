#include "acquire/run/acquisition.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "acquire/plan/estimate.h"
#include "acquire/plan/isa.h"
#include "acquire/run/measure.h"
#include "formats/json.h"
#include "gather/output.h"
#include "node/watch.h"

/* --- variables ----------------------------------------------------------- */

static const char *value_of(const char *var)
{
    const char *equals = strchr(var, '=');

    return equals ? equals + 1 : NULL;
}

static bool is_var(const char *var, const char *name)
{
    size_t len = strlen(name);

    return strncmp(var, name, len) == 0 && (var[len] == '=' || !var[len]);
}

/* --- checks -------------------------------------------------------------- */

ti_status ti_acquisition_new_run_id(struct ti_acquisition *a, struct ti_err *err)
{
    unsigned char raw[TI_RUN_ID_BYTES];

    if (getrandom(raw, sizeof raw, 0) != (ssize_t)sizeof raw)
        return ti_err_errno(err, TI_ERR_IO, "cannot draw a run id");
    for (unsigned i = 0; i < sizeof raw; i++)
        snprintf(a->run_id + 2 * i, 3, "%02x", raw[i]);
    return TI_OK;
}

ti_status ti_acquisition_check_output(struct ti_acquisition *a, struct ti_err *err)
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

static ti_status name_results(struct ti_acquisition *a, struct ti_err *err)
{
    const struct ti_options *o = a->o;
    int n, m;

    n = o->trace_dir ? snprintf(a->dir_name, sizeof a->dir_name, "%s", o->trace_dir)
                     : snprintf(a->dir_name, sizeof a->dir_name, "%s.%" PRId64 ".run",
                                a->program.name, o->np);
    m = o->output
            ? snprintf(a->output, sizeof a->output, "%s", o->output)
            : snprintf(a->output, sizeof a->output, "%s.%" PRId64 ".tib", a->program.name, o->np);
    if (n >= PATH_MAX || m >= PATH_MAX)
        return ti_err_set(err, TI_ERR_USAGE, "the name of the run directory or bundle is too long");
    return TI_OK;
}

void ti_acquisition_warn_of_program(const struct ti_acquisition *a)
{
    const struct ti_program *p = &a->program;

    if (p->setid)
        ti_warn("'%s' is set-user-ID or set-group-ID: the loader will not preload our library",
                p->given);
    if (p->mpi == TI_MPI_NONE)
        ti_warn("'%s' names no MPI library; there is a trace only if it loads one later", p->given);
    if (p->mpi == TI_MPI_UNKNOWN)
        ti_warn("cannot tell whether '%s' is an MPI program: it is %s", p->given,
                p->is_elf ? "built for another kind of machine" : "a script, or not readable");
    if (p->blocks && strcmp(a->choice.backend, "blocks") != 0)
        ti_warn("'%s' was compiled with ti-mpicc: %s counts what it executes to count itself too; "
                "-c blocks does not",
                p->given, a->choice.backend);
}

/* The value of a variable in the ranks: from -x, else from the environment. */
static const char *ranks_variable(const struct ti_acquisition *a, const char *name)
{
    const char *value = getenv(name);

    for (int i = 0; i < a->o->env.n; i++)
        if (is_var(a->o->env.v[i], name))
            value = value_of(a->o->env.v[i]) ? value_of(a->o->env.v[i]) : value;
    return value;
}

/* Whether volumes sum up all threads.  Only for programs with OpenMP threads: MPI has threads of
 * its own, whose instruction counts vary from run to run.  `blocks` cannot sum. */
static bool sums(const struct ti_acquisition *a)
{
    const char *threads = ranks_variable(a, "OMP_NUM_THREADS");

    if (a->o->threads != TI_THREADS_AUTO)
        return a->o->threads == TI_THREADS_SUM;
    return a->program.openmp && (!threads || strcmp(threads, "1") != 0) &&
           strcmp(a->o->counter, "blocks") != 0;
}

static ti_status check_machine(struct ti_acquisition *a, struct ti_err *err)
{
    ti_status st = name_results(a, err);

    a->isa = a->o->isa;
    a->sum = sums(a);
    if (a->sum && a->o->threads == TI_THREADS_AUTO)
        ti_say("'%s' uses OpenMP: volumes are of all threads (--threads caller: of one)",
               a->program.given);
    if (st == TI_OK)
        st = ti_paths_find(&a->paths, err);
    if (st == TI_OK)
        st = ti_mpirun_find(&a->mpirun, err);
    if (st == TI_OK)
        st = ti_machine_read("", &a->machine, err);
    return st;
}

ti_status ti_acquisition_find_program(struct ti_acquisition *a, struct ti_err *err)
{
    const char *given = a->o->program.v[0];
    struct ti_err why;
    ti_status st = ti_program_find(given, &a->program, &why);

    if (st == TI_ERR_INPUT) {
        ti_program_free(&a->program);
        st = ti_program_elsewhere(given, &a->program, &why);
    }
    if (st != TI_OK)
        *err = why;
    return st;
}

ti_status ti_acquisition_check_front(struct ti_acquisition *a, struct ti_err *err)
{
    ti_status st = ti_acquisition_find_program(a, err);

    return st == TI_OK ? check_machine(a, err) : st;
}

ti_status ti_acquisition_check(struct ti_acquisition *a, struct ti_err *err)
{
    ti_status st = ti_program_find(a->o->program.v[0], &a->program, err);

    if (st == TI_OK)
        st = check_machine(a, err);
    if (st == TI_OK && a->o->pin)
        st = ti_machine_pin(a->o->pin, &a->pin, &a->machine.cores, err);
    a->pinned = a->o->pin != NULL;
    if (st == TI_OK)
        st = ti_counter_choose(a->o->counter, a->sum, &a->program,
                               a->paths.valgrind[0] ? a->paths.valgrind : NULL, &a->choice, err);
    if (st == TI_OK && a->o->also)
        st = ti_counter_check_also(a->o->also, a->sum, &a->choice, err);
    if (st == TI_OK)
        st = ti_acquisition_new_run_id(a, err);
    if (st != TI_OK)
        return st;
    if (a->o->np > a->machine.processes / TI_RANK_THREADS) {
        ti_err_set(err, TI_ERR_INPUT,
                   "%" PRId64 " ranks have about %" PRId64
                   " processes and threads, and only %" PRId64 " more may be started here",
                   a->o->np, a->o->np * TI_RANK_THREADS, a->machine.processes);
        ti_err_hint(err, "see 'ulimit -u' and the pids limit of the control group");
        return TI_ERR_INPUT;
    }
    if (a->choice.why[0])
        ti_say("counting with %s, since %s", a->choice.backend, a->choice.why);
    ti_acquisition_warn_of_program(a);
    if (!a->choice.exact)
        ti_warn("%s is %s", a->choice.counter,
                a->choice.estimate ? "an estimate: volumes vary from run to run"
                                   : "no instruction count");
    return TI_OK;
}

/* --- environment --------------------------------------------------------- */

static bool user_gives(const struct ti_args *env, const char *name)
{
    for (int i = 0; i < env->n; i++)
        if (is_var(env->v[i], name))
            return true;
    return false;
}

/* Append our list to the user's, separated by a colon. */
static void add_list(struct ti_args *env, const char *name, const char *theirs, const char *ours)
{
    if (theirs && *theirs)
        ti_args_addf(env, "%s=%s:%s", name, theirs, ours);
    else
        ti_args_addf(env, "%s=%s", name, ours);
}

/* One pattern per line; the library needs them because it records the command, too. */
static void add_patterns(const struct ti_acquisition *a, struct ti_args *env)
{
    char text[4096] = "";
    size_t n = 0;

    for (int i = 0; i < a->o->redact.n && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? "\n" : "", a->o->redact.v[i]);
    if (n || getenv("TIARA_REDACT"))
        ti_args_addf(env, "TIARA_REDACT=%s", n < sizeof text ? text : "*");
}

/* Settings of the library that do not depend on the node. */
static void settings(const struct ti_acquisition *a, int64_t ranks, struct ti_args *env)
{
    int linger = ti_plan_linger(ranks);

    ti_args_addf(env, "TIARA_COUNTER=%s", a->choice.counter);
    ti_args_addf(env, "TIARA_THREADS=%s", a->sum ? "sum" : "caller");
    /* override the environment, which the ranks here inherit */
    if (a->o->buffer_bytes)
        ti_args_addf(env, "TIARA_BUFFER=%" PRId64, a->o->buffer_bytes);
    if (a->o->times || getenv("TIARA_TIMES"))
        ti_args_addf(env, "TIARA_TIMES=%d", a->o->times);
    if (a->o->also || getenv("TIARA_ALSO"))
        ti_args_addf(env, "TIARA_ALSO=%s", a->o->also ? a->o->also : "");
    add_patterns(a, env);
    if (a->o->ranks_per_node || getenv("TIARA_RANKS_PER_NODE"))
        ti_args_addf(env, "TIARA_RANKS_PER_NODE=%" PRId64, a->o->ranks_per_node);
    if (linger && !user_gives(&a->o->env, "TIARA_LINGER"))
        ti_args_addf(env, "TIARA_LINGER=%d", linger);
    if (a->repeated) {
        ti_args_add(env, "TIARA_QUIET=1");
        ti_args_addf(env, "TIARA_MODE=%s", a->whole ? "whole" : "full");
    }
    /* Spinning threads would be counted. */
    if (a->sum && !ranks_variable(a, "OMP_WAIT_POLICY"))
        ti_args_add(env, "OMP_WAIT_POLICY=passive");
    /* Lazy binding would be counted in the burst before the first call. */
    if (!user_gives(&a->o->env, "LD_BIND_NOW"))
        ti_args_add(env, "LD_BIND_NOW=1");
    if (a->choice.valgrind && !user_gives(&a->o->env, "HWLOC_COMPONENTS"))
        ti_args_add(env, "HWLOC_COMPONENTS=-x86");
}

/* The user's variables, changed in two ways: our library is appended to LD_PRELOAD, and our
 * tunables to GLIBC_TUNABLES, where the last value counts. */
static void trace_environment(const struct ti_acquisition *a, struct ti_args *env)
{
    const char *preload = getenv("LD_PRELOAD"), *tunables = getenv("GLIBC_TUNABLES");

    for (int i = 0; i < a->o->env.n; i++) {
        const char *var = a->o->env.v[i], *value = value_of(var);

        if (is_var(var, "LD_PRELOAD"))
            preload = value ? value : preload;
        else if (a->isa && is_var(var, "GLIBC_TUNABLES"))
            tunables = value ? value : tunables;
        else
            ti_args_add(env, var);
    }
    add_list(env, "LD_PRELOAD", preload, a->paths.library);
    if (a->isa)
        add_list(env, "GLIBC_TUNABLES", tunables, ti_isa_tunables(a->isa));
    ti_args_addf(env, "TIARA_TRACE_DIR=%s", a->dir.path);
    ti_args_addf(env, "TIARA_RUN_ID=%s", a->run_id);
    if (a->choice.valgrind)
        ti_args_addf(env, "VALGRIND_LIB=%s", a->choice.valgrind_lib);
    settings(a, a->o->np, env);
}

void ti_acquisition_settings(const struct ti_acquisition *a, int64_t ranks, struct ti_args *env)
{
    const char *tunables = NULL;

    for (int i = 0; i < a->o->env.n; i++) {
        const char *var = a->o->env.v[i], *value = value_of(var);

        if (!value && !(value = getenv(var)))
            continue;
        if (a->isa && is_var(var, "GLIBC_TUNABLES"))
            tunables = value;
        else
            ti_args_addf(env, "%.*s=%s", (int)strcspn(var, "="), var, value);
    }
    if (a->isa)
        add_list(env, "GLIBC_TUNABLES", tunables, ti_isa_tunables(a->isa));
    settings(a, ranks, env);
}

void ti_acquisition_wrapper(const struct ti_acquisition *a, struct ti_args *w)
{
    if (!a->choice.valgrind)
        return;
    ti_args_add(w, "valgrind");
    ti_args_add(w, "--tool=ticount");
    /* Options for other valgrind tools, from VALGRIND_OPTS or .valgrindrc, would stop ours. */
    ti_args_add(w, "--command-line-only=yes");
    ti_args_add(w, "--vgdb=no");
    /* A script, or a program such as env, starts the program that is meant. */
    if (!a->program.is_elf || a->program.mpi == TI_MPI_NONE)
        ti_args_add(w, "--trace-children=yes");
    if (a->outside)
        ti_args_add(w, "--outside=yes");
}

/* The command between mpirun and the program. */
static void wrapper(const struct ti_acquisition *a, struct ti_args *w)
{
    char path[PATH_MAX];

    if (a->plan.idle && ti_find_on_path("chrt", path)) {
        ti_args_add(w, "chrt");
        ti_args_add(w, "-i");
        ti_args_add(w, "0");
    }
    ti_acquisition_wrapper(a, w);
}

static ti_status put_together(struct ti_acquisition *a, struct ti_err *err)
{
    struct ti_args env = {.n = 0}, wrap = {.n = 0};
    struct ti_mpirun_job run = {.np = a->o->np,
                                .tmp = a->dir.tmp[0] ? a->dir.tmp : NULL,
                                .shm = a->dir.shm[0] ? a->dir.shm : NULL,
                                .env = &env,
                                .user = &a->o->mpirun,
                                .wrapper = &wrap,
                                .program = &a->o->program};
    char here[PATH_MAX] = "";
    bool ok;

    /* An absolute path: ranks may change directory before they write. */
    if (!a->dir.given[0] && (a->dir_name[0] == '/' || getcwd(here, sizeof here)) &&
        snprintf(a->dir.path, sizeof a->dir.path, "%s%s%s", here, *here ? "/" : "", a->dir_name) >=
            (int)sizeof a->dir.path)
        return ti_err_set(err, TI_ERR_USAGE, "the run directory's name is too long");
    trace_environment(a, &env);
    wrapper(a, &wrap);
    ti_mpirun_command(&a->mpirun, &a->plan, &run, &a->command);
    ok = !env.failed && !wrap.failed && ti_args_ok(&a->command);
    ti_args_free(&env);
    ti_args_free(&wrap);
    if (!ok) {
        errno = ENOMEM;
        return ti_err_errno(err, TI_ERR_IO, "cannot put mpirun's command together");
    }
    return TI_OK;
}

/* --- plan ---------------------------------------------------------------- */

const char *ti_acquisition_input(void)
{
    struct stat st;

    if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode))
        return "/proc/self/fd/0";
    return "/dev/null";
}

/* Plan by the model of --pilot. */
static ti_status by_pilot(struct ti_acquisition *a, struct ti_plan_in *in, struct ti_err *err)
{
    ti_status st = ti_pilot_model(a, a->o->pilot, &a->model, err);

    if (st != TI_OK)
        return st;
    in->source = TI_MEMORY_MODEL;
    in->model = &a->model;
    ti_plan_make(in, &a->plan);
    if (ti_memory_model_far(&a->model, a->o->np))
        ti_warn("what a rank of %" PRId64 " takes is extrapolated far: from %" PRId64
                " ranks, with %.0f %% added for safety",
                a->o->np, a->model.point[a->model.n - 1].np,
                ti_memory_model_margin_pct(&a->model, a->o->np));
    return TI_OK;
}

/* No pilot is run if this much memory is available per rank: few programs need more, and watch()
 * ends a run before memory is short. */
#define NO_PILOT_BYTES (INT64_C(1) << 30)

/* Without folding a rank needs no more memory than without us. */
static bool needs_pilot(const struct ti_acquisition *a)
{
    return !a->o->rank_bytes && !a->o->no_pilot && a->plan.folding > 1 &&
           a->plan.available_bytes / a->o->np <
               ti_plan_rank_bytes(NO_PILOT_BYTES, a->choice.valgrind);
}

static ti_status make_plan(struct ti_acquisition *a, struct ti_err *err)
{
    struct ti_plan_in in = {.np = a->o->np,
                            .cores = a->machine.cores,
                            .available_bytes = a->machine.memory_bytes,
                            .reserve_bytes = a->o->reserve_bytes,
                            .valgrind = a->choice.valgrind};
    ti_status st = TI_OK;

    if (a->o->rank_bytes) {
        in.source = TI_MEMORY_GIVEN;
        in.app_bytes = a->o->rank_bytes;
    }
    ti_plan_make(&in, &a->plan);
    if (a->o->pilot) {
        st = by_pilot(a, &in, err);
    } else if (needs_pilot(a) && !a->o->dry_run) {
        a->pilot_started = ti_wall();
        st = ti_measure_memory(a, &in, err);
    }
    if (st == TI_OK)
        st = ti_plan_check(&a->plan, err);
    return st;
}

ti_status ti_acquisition_prepare(struct ti_acquisition *a, struct ti_err *err)
{
    ti_status st = TI_OK;

    if (!a->o->dry_run)
        st = ti_rundir_open(a->dir_name, a->o->force, &a->dir, err);
    if (st == TI_OK && !a->o->dry_run)
        st = ti_rundir_scratch(&a->dir, a->o->np, err);
    if (st == TI_OK)
        st = make_plan(a, err);
    if (st == TI_OK)
        st = put_together(a, err);
    return st;
}

/* --- telling ------------------------------------------------------------- */

void ti_acquisition_print_counter(const struct ti_acquisition *a, FILE *out)
{
    ti_print(out, "  counter   %s: %s, %s%s\n", a->choice.backend, a->choice.event,
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
}

void ti_acquisition_print(const struct ti_acquisition *a, FILE *out)
{
    char *program = ti_args_shell(&a->o->program), *command = ti_args_shell(&a->command);
    int64_t room = ti_disk_free(a->dir.given[0] ? a->dir.path : ".");
    char text[256], size[32];

    ti_print(out, "plan for %s\n", program ? program : a->program.given);
    ti_print(out, "  mode      %s: %" PRId64 " rank%s on %d core%s of %s", a->plan.mode, a->plan.np,
             a->plan.np == 1 ? "" : "s", a->plan.cores, a->plan.cores == 1 ? "" : "s",
             a->machine.host);
    if (a->plan.folding > 1)
        ti_print(out, ", up to %" PRId64 " a core", a->plan.folding);
    ti_print(out, "\n  memory    %s (%s, %s left for the system)\n",
             ti_plan_memory_text(&a->plan, text, sizeof text), a->machine.limited_by,
             ti_format_size(a->plan.reserve_bytes, size, sizeof size));
    if (a->o->dry_run && !a->o->pilot && needs_pilot(a))
        ti_print(out, "  pilot     the program first runs briefly with few ranks, to measure its "
                      "memory\n");
    if (a->model.n)
        ti_print(out, "  pilot     %s\n", ti_memory_model_text(&a->model, text, sizeof text));
    ti_estimate_start_print(ti_plan_start_seconds(a->plan.np, a->plan.cores, a->choice.valgrind),
                            out);
    ti_estimate_print(a->o->like, a->plan.np, a->plan.folding, program, a->choice.backend, out);
    ti_acquisition_print_counter(a, out);
    ti_print(out, "  traces    %s", a->dir_name);
    if (room >= 0)
        ti_print(out, " (%s free)", ti_format_size(room, size, sizeof size));
    ti_print(out, "\n  bundle    %s\n", a->o->no_gather ? "none (--no-gather)" : a->output);
    ti_print(out, "  command   %s\n", command ? command : "?");
    free(program);
    free(command);
}

json_t *ti_acquisition_list(const struct ti_acquisition *a, const struct ti_args *words)
{
    json_t *list = json_array();
    struct ti_args recorded;

    ti_acquisition_recorded(a, words, &recorded);
    for (int i = 0; i < recorded.n; i++)
        json_array_append_new(list, ti_json_text(recorded.v[i]));
    ti_args_free(&recorded);
    return list;
}

static bool is_redacted(const struct ti_acquisition *a, const char *word)
{
    for (int i = 0; i < a->o->redact.n; i++)
        if (fnmatch(a->o->redact.v[i], word, 0) == 0)
            return true;
    return false;
}

/* Whether `word` is an argument of -x, VAR=VALUE. */
static bool is_given(const struct ti_acquisition *a, const char *word)
{
    for (int i = 0; i < a->o->env.n; i++)
        if (strcmp(a->o->env.v[i], word) == 0)
            return true;
    return false;
}

void ti_acquisition_recorded(const struct ti_acquisition *a, const struct ti_args *words,
                             struct ti_args *out)
{
    *out = (struct ti_args){.n = 0};
    for (int i = 0; i < words->n; i++) {
        const char *word = words->v[i];
        bool variable = i > 0 && strcmp(words->v[i - 1], "-x") == 0;

        if (variable &&
            (is_var(word, "TIARA_REDACT") || (is_given(a, word) && !a->o->record_environment)))
            ti_args_addf(out, "%.*s", (int)strcspn(word, "="), word);
        else
            ti_args_add(out, is_redacted(a, word) ? TI_REDACTED : word);
    }
}

static json_t *json_shell(const struct ti_acquisition *a, const struct ti_args *words)
{
    struct ti_args recorded;
    json_t *json;
    char *text;

    ti_acquisition_recorded(a, words, &recorded);
    text = ti_args_ok(&recorded) ? ti_args_shell(&recorded) : NULL;
    json = ti_json_text(text ? text : "?");
    ti_args_free(&recorded);
    free(text);
    return json;
}

json_t *ti_acquisition_json(const struct ti_acquisition *a)
{
    json_t *json =
        json_pack("{s:s, s:I, s:o*, s:o*, s:o*, s:s}", "run_id", a->run_id, "np",
                  (json_int_t)a->o->np, "application", ti_json_text(a->program.name), "program",
                  ti_json_text(a->program.path ? a->program.path : a->program.given), "command",
                  json_shell(a, &a->o->program), "tiara", ti_version());
    json_t *plan = ti_plan_json(&a->plan);

    if (!json)
        return NULL;
    if (plan && a->o->pin)
        json_object_set_new(plan, "pin", ti_json_text(a->o->pin));
    json_object_set_new(json, "plan", plan);
    json_object_set_new(json, "counter",
                        json_pack("{s:o, s:o, s:b, s:b, s:s, s:o}", "backend",
                                  ti_json_text(a->choice.backend), "event",
                                  ti_json_text(a->choice.event), "exact", a->choice.exact,
                                  "estimate", a->choice.estimate, "threads",
                                  a->sum ? "sum" : "caller", "asked", ti_json_text(a->o->counter)));
    if (a->o->times)
        json_object_set_new(json, "times", json_true());
    if (a->o->also)
        json_object_set_new(json, "also", ti_json_text(a->o->also));
    json_object_set_new(json, "mpi",
                        json_pack("{s:s, s:s, s:o}", "name", "Open MPI", "version",
                                  a->mpirun.version, "command",
                                  ti_acquisition_list(a, &a->command)));
    if (a->o->ranks_per_node)
        json_object_set_new(json, "target_ranks_per_node", json_integer(a->o->ranks_per_node));
    json_object_set_new(json, "host", ti_json_text(a->machine.host));
    json_object_set_new(json, "directory", ti_json_text(a->dir.path));
    if (!a->o->no_gather)
        json_object_set_new(json, "output", ti_json_text(a->output));
    return json;
}

void ti_acquisition_free(struct ti_acquisition *a)
{
    ti_rundir_unscratch(&a->dir);
    ti_rundir_close(&a->dir);
    ti_program_free(&a->program);
    ti_args_free(&a->command);
    ti_ranks_free(&a->ranks);
    json_decref(a->json);
}
