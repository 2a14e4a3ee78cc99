#include "acquire/run/job.h"

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
#include "gather/bundle/output.h"
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

ti_status ti_job_new_run_id(struct ti_job *j, struct ti_err *err)
{
    unsigned char raw[TI_RUN_ID_BYTES];

    if (getrandom(raw, sizeof raw, 0) != (ssize_t)sizeof raw)
        return ti_err_errno(err, TI_ERR_IO, "cannot draw a run id");
    for (unsigned i = 0; i < sizeof raw; i++)
        snprintf(j->run_id + 2 * i, 3, "%02x", raw[i]);
    return TI_OK;
}

ti_status ti_job_check_output(struct ti_job *j, struct ti_err *err)
{
    char dir[PATH_MAX];
    char *slash;
    ti_status st;

    if (j->o->no_gather)
        return TI_OK;
    st = ti_output_check(j->output, j->o->force,
                         "--force replaces it, -o gives another name, --no-gather makes no bundle",
                         err);
    if (st != TI_OK && j->o->dry_run) {
        ti_warn("%s: a run would be refused", err->text);
        err->text[0] = err->hint[0] = '\0';
    } else if (st != TI_OK) {
        return st;
    }
    strcpy(dir, j->output);
    slash = strrchr(dir, '/');
    if (slash)
        slash[slash == dir] = '\0';
    if (access(slash ? dir : ".", W_OK | X_OK) < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", j->output);
    return TI_OK;
}

static ti_status name_results(struct ti_job *j, struct ti_err *err)
{
    const struct ti_options *o = j->o;
    int n, m;

    n = o->trace_dir ? snprintf(j->dir_name, sizeof j->dir_name, "%s", o->trace_dir)
                     : snprintf(j->dir_name, sizeof j->dir_name, "%s.%" PRId64 ".run",
                                j->program.name, o->np);
    m = o->output
            ? snprintf(j->output, sizeof j->output, "%s", o->output)
            : snprintf(j->output, sizeof j->output, "%s.%" PRId64 ".tib", j->program.name, o->np);
    if (n >= PATH_MAX || m >= PATH_MAX)
        return ti_err_set(err, TI_ERR_USAGE, "the name of the run directory or bundle is too long");
    return TI_OK;
}

void ti_job_warn_of_program(const struct ti_job *j)
{
    const struct ti_program *p = &j->program;

    if (p->setid)
        ti_warn("'%s' is set-user-ID or set-group-ID: the loader will not preload our library",
                p->given);
    if (p->mpi == TI_MPI_NONE)
        ti_warn("'%s' names no MPI library; there is a trace only if it loads one later", p->given);
    if (p->mpi == TI_MPI_UNKNOWN)
        ti_warn("cannot tell whether '%s' is an MPI program: it is %s", p->given,
                p->is_elf ? "built for another kind of machine" : "a script, or not readable");
    if (p->blocks && strcmp(j->choice.backend, "blocks") != 0)
        ti_warn("'%s' was compiled with ti-mpicc: %s counts what it executes to count itself too; "
                "-c blocks does not",
                p->given, j->choice.backend);
}

/* The value of a variable in the ranks: from -x, else from the environment. */
static const char *ranks_variable(const struct ti_job *j, const char *name)
{
    const char *value = getenv(name);

    for (int i = 0; i < j->o->env.n; i++)
        if (is_var(j->o->env.v[i], name))
            value = value_of(j->o->env.v[i]) ? value_of(j->o->env.v[i]) : value;
    return value;
}

/* Whether volumes sum up all threads.  Only for programs with OpenMP threads: MPI has threads of
 * its own, whose instruction counts vary from run to run.  `blocks` cannot sum. */
static bool sums(const struct ti_job *j)
{
    const char *threads = ranks_variable(j, "OMP_NUM_THREADS");

    if (j->o->threads != TI_THREADS_AUTO)
        return j->o->threads == TI_THREADS_SUM;
    return j->program.openmp && (!threads || strcmp(threads, "1") != 0) &&
           strcmp(j->o->counter, "blocks") != 0;
}

static ti_status check_machine(struct ti_job *j, struct ti_err *err)
{
    ti_status st = name_results(j, err);

    j->isa = j->o->isa;
    j->sum = sums(j);
    if (j->sum && j->o->threads == TI_THREADS_AUTO)
        ti_say("'%s' uses OpenMP: volumes are of all threads (--threads caller: of one)",
               j->program.given);
    if (st == TI_OK)
        st = ti_paths_find(&j->paths, err);
    if (st == TI_OK)
        st = ti_mpirun_find(&j->mpirun, err);
    if (st == TI_OK)
        st = ti_machine_read("", &j->machine, err);
    return st;
}

ti_status ti_job_find_program(struct ti_job *j, struct ti_err *err)
{
    const char *given = j->o->program.v[0];
    struct ti_err why;
    ti_status st = ti_program_find(given, &j->program, &why);

    if (st == TI_ERR_INPUT) {
        ti_program_free(&j->program);
        st = ti_program_elsewhere(given, &j->program, &why);
    }
    if (st != TI_OK)
        *err = why;
    return st;
}

ti_status ti_job_check_front(struct ti_job *j, struct ti_err *err)
{
    ti_status st = ti_job_find_program(j, err);

    return st == TI_OK ? check_machine(j, err) : st;
}

ti_status ti_job_check(struct ti_job *j, struct ti_err *err)
{
    ti_status st = ti_program_find(j->o->program.v[0], &j->program, err);

    if (st == TI_OK)
        st = check_machine(j, err);
    if (st == TI_OK && j->o->pin)
        st = ti_machine_pin(j->o->pin, &j->pin, &j->machine.cores, err);
    j->pinned = j->o->pin != NULL;
    if (st == TI_OK)
        st = ti_counter_choose(j->o->counter, j->sum, &j->program,
                               j->paths.valgrind[0] ? j->paths.valgrind : NULL, &j->choice, err);
    if (st == TI_OK && j->o->also)
        st = ti_counter_check_also(j->o->also, j->sum, &j->choice, err);
    if (st == TI_OK)
        st = ti_job_new_run_id(j, err);
    if (st != TI_OK)
        return st;
    if (j->o->np > j->machine.processes / TI_RANK_THREADS) {
        ti_err_set(err, TI_ERR_INPUT,
                   "%" PRId64 " ranks have about %" PRId64
                   " processes and threads, and only %" PRId64 " more may be started here",
                   j->o->np, j->o->np * TI_RANK_THREADS, j->machine.processes);
        ti_err_hint(err, "see 'ulimit -u' and the pids limit of the control group");
        return TI_ERR_INPUT;
    }
    if (j->choice.why[0])
        ti_say("counting with %s, since %s", j->choice.backend, j->choice.why);
    ti_job_warn_of_program(j);
    if (!j->choice.exact)
        ti_warn("%s is %s", j->choice.counter,
                j->choice.estimate ? "an estimate: volumes vary from run to run"
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
static void add_patterns(const struct ti_job *j, struct ti_args *env)
{
    char text[4096] = "";
    size_t n = 0;

    for (int i = 0; i < j->o->redact.n && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? "\n" : "", j->o->redact.v[i]);
    if (n || getenv("TIARA_REDACT"))
        ti_args_addf(env, "TIARA_REDACT=%s", n < sizeof text ? text : "*");
}

/* Settings of the library that do not depend on the node. */
static void settings(const struct ti_job *j, int64_t ranks, struct ti_args *env)
{
    int linger = ti_plan_linger(ranks);

    ti_args_addf(env, "TIARA_COUNTER=%s", j->choice.counter);
    ti_args_addf(env, "TIARA_THREADS=%s", j->sum ? "sum" : "caller");
    /* override the environment, which the ranks here inherit */
    if (j->o->buffer_bytes)
        ti_args_addf(env, "TIARA_BUFFER=%" PRId64, j->o->buffer_bytes);
    if (j->o->times || getenv("TIARA_TIMES"))
        ti_args_addf(env, "TIARA_TIMES=%d", j->o->times);
    if (j->o->also || getenv("TIARA_ALSO"))
        ti_args_addf(env, "TIARA_ALSO=%s", j->o->also ? j->o->also : "");
    add_patterns(j, env);
    if (j->o->ranks_per_node || getenv("TIARA_RANKS_PER_NODE"))
        ti_args_addf(env, "TIARA_RANKS_PER_NODE=%" PRId64, j->o->ranks_per_node);
    if (linger && !user_gives(&j->o->env, "TIARA_LINGER"))
        ti_args_addf(env, "TIARA_LINGER=%d", linger);
    if (j->repeated) {
        ti_args_add(env, "TIARA_QUIET=1");
        ti_args_addf(env, "TIARA_MODE=%s", j->whole ? "whole" : "full");
    }
    /* Spinning threads would be counted. */
    if (j->sum && !ranks_variable(j, "OMP_WAIT_POLICY"))
        ti_args_add(env, "OMP_WAIT_POLICY=passive");
    /* Lazy binding would be counted in the burst before the first call. */
    if (!user_gives(&j->o->env, "LD_BIND_NOW"))
        ti_args_add(env, "LD_BIND_NOW=1");
    if (j->choice.valgrind && !user_gives(&j->o->env, "HWLOC_COMPONENTS"))
        ti_args_add(env, "HWLOC_COMPONENTS=-x86");
}

/* The user's variables, changed in two ways: our library is appended to LD_PRELOAD, and our
 * tunables to GLIBC_TUNABLES, where the last value counts. */
static void trace_environment(const struct ti_job *j, struct ti_args *env)
{
    const char *preload = getenv("LD_PRELOAD"), *tunables = getenv("GLIBC_TUNABLES");

    for (int i = 0; i < j->o->env.n; i++) {
        const char *var = j->o->env.v[i], *value = value_of(var);

        if (is_var(var, "LD_PRELOAD"))
            preload = value ? value : preload;
        else if (j->isa && is_var(var, "GLIBC_TUNABLES"))
            tunables = value ? value : tunables;
        else
            ti_args_add(env, var);
    }
    add_list(env, "LD_PRELOAD", preload, j->paths.library);
    if (j->isa)
        add_list(env, "GLIBC_TUNABLES", tunables, ti_isa_tunables(j->isa));
    ti_args_addf(env, "TIARA_TRACE_DIR=%s", j->dir.path);
    ti_args_addf(env, "TIARA_RUN_ID=%s", j->run_id);
    if (j->choice.valgrind)
        ti_args_addf(env, "VALGRIND_LIB=%s", j->choice.valgrind_lib);
    settings(j, j->o->np, env);
}

void ti_job_settings(const struct ti_job *j, int64_t ranks, struct ti_args *env)
{
    const char *tunables = NULL;

    for (int i = 0; i < j->o->env.n; i++) {
        const char *var = j->o->env.v[i], *value = value_of(var);

        if (!value && !(value = getenv(var)))
            continue;
        if (j->isa && is_var(var, "GLIBC_TUNABLES"))
            tunables = value;
        else
            ti_args_addf(env, "%.*s=%s", (int)strcspn(var, "="), var, value);
    }
    if (j->isa)
        add_list(env, "GLIBC_TUNABLES", tunables, ti_isa_tunables(j->isa));
    settings(j, ranks, env);
}

void ti_job_wrapper(const struct ti_job *j, struct ti_args *w)
{
    if (!j->choice.valgrind)
        return;
    ti_args_add(w, "valgrind");
    ti_args_add(w, "--tool=ticount");
    /* Options for other valgrind tools, from VALGRIND_OPTS or .valgrindrc, would stop ours. */
    ti_args_add(w, "--command-line-only=yes");
    ti_args_add(w, "--vgdb=no");
    /* A script, or a program such as env, starts the program that is meant. */
    if (!j->program.is_elf || j->program.mpi == TI_MPI_NONE)
        ti_args_add(w, "--trace-children=yes");
    if (j->outside)
        ti_args_add(w, "--outside=yes");
}

/* The command between mpirun and the program. */
static void wrapper(const struct ti_job *j, struct ti_args *w)
{
    char path[PATH_MAX];

    if (j->plan.idle && ti_find_on_path("chrt", path)) {
        ti_args_add(w, "chrt");
        ti_args_add(w, "-i");
        ti_args_add(w, "0");
    }
    ti_job_wrapper(j, w);
}

static ti_status put_together(struct ti_job *j, struct ti_err *err)
{
    struct ti_args env = {.n = 0}, wrap = {.n = 0};
    struct ti_mpirun_job run = {.np = j->o->np,
                                .tmp = j->dir.tmp[0] ? j->dir.tmp : NULL,
                                .shm = j->dir.shm[0] ? j->dir.shm : NULL,
                                .env = &env,
                                .user = &j->o->mpirun,
                                .wrapper = &wrap,
                                .program = &j->o->program};
    char here[PATH_MAX] = "";
    bool ok;

    /* An absolute path: ranks may change directory before they write. */
    if (!j->dir.given[0] && (j->dir_name[0] == '/' || getcwd(here, sizeof here)) &&
        snprintf(j->dir.path, sizeof j->dir.path, "%s%s%s", here, *here ? "/" : "", j->dir_name) >=
            (int)sizeof j->dir.path)
        return ti_err_set(err, TI_ERR_USAGE, "the run directory's name is too long");
    trace_environment(j, &env);
    wrapper(j, &wrap);
    ti_mpirun_command(&j->mpirun, &j->plan, &run, &j->command);
    ok = !env.failed && !wrap.failed && ti_args_ok(&j->command);
    ti_args_free(&env);
    ti_args_free(&wrap);
    if (!ok) {
        errno = ENOMEM;
        return ti_err_errno(err, TI_ERR_IO, "cannot put mpirun's command together");
    }
    return TI_OK;
}

/* --- plan ---------------------------------------------------------------- */

const char *ti_job_input(void)
{
    struct stat st;

    if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode))
        return "/proc/self/fd/0";
    return "/dev/null";
}

/* Plan by the model of --pilot. */
static ti_status by_pilot(struct ti_job *j, struct ti_plan_in *in, struct ti_err *err)
{
    ti_status st = ti_pilot_model(j, j->o->pilot, &j->model, err);

    if (st != TI_OK)
        return st;
    in->source = TI_MEMORY_MODEL;
    in->model = &j->model;
    ti_plan_make(in, &j->plan);
    if (ti_memory_model_far(&j->model, j->o->np))
        ti_warn("what a rank of %" PRId64 " takes is extrapolated far: from %" PRId64
                " ranks, with %.0f %% added for safety",
                j->o->np, j->model.point[j->model.n - 1].np,
                ti_memory_model_margin_pct(&j->model, j->o->np));
    return TI_OK;
}

/* No pilot is run if this much memory is available per rank: few programs need more, and watch()
 * ends a run before memory is short. */
#define NO_PILOT_BYTES (INT64_C(1) << 30)

/* Without folding a rank needs no more memory than without us. */
static bool needs_pilot(const struct ti_job *j)
{
    return !j->o->rank_bytes && !j->o->no_pilot && j->plan.folding > 1 &&
           j->plan.available_bytes / j->o->np <
               ti_plan_rank_bytes(NO_PILOT_BYTES, j->choice.valgrind);
}

static ti_status make_plan(struct ti_job *j, struct ti_err *err)
{
    struct ti_plan_in in = {.np = j->o->np,
                            .cores = j->machine.cores,
                            .available_bytes = j->machine.memory_bytes,
                            .reserve_bytes = j->o->reserve_bytes,
                            .valgrind = j->choice.valgrind};
    ti_status st = TI_OK;

    if (j->o->rank_bytes) {
        in.source = TI_MEMORY_GIVEN;
        in.app_bytes = j->o->rank_bytes;
    }
    ti_plan_make(&in, &j->plan);
    if (j->o->pilot) {
        st = by_pilot(j, &in, err);
    } else if (needs_pilot(j) && !j->o->dry_run) {
        j->pilot_started = ti_wall();
        st = ti_measure_memory(j, &in, err);
    }
    if (st == TI_OK)
        st = ti_plan_check(&j->plan, err);
    return st;
}

ti_status ti_job_prepare(struct ti_job *j, struct ti_err *err)
{
    ti_status st = TI_OK;

    if (!j->o->dry_run)
        st = ti_rundir_open(j->dir_name, j->o->force, &j->dir, err);
    if (st == TI_OK && !j->o->dry_run)
        st = ti_rundir_scratch(&j->dir, j->o->np, err);
    if (st == TI_OK)
        st = make_plan(j, err);
    if (st == TI_OK)
        st = put_together(j, err);
    return st;
}

/* --- telling ------------------------------------------------------------- */

void ti_job_print_counter(const struct ti_job *j, FILE *out)
{
    ti_print(out, "  counter   %s: %s, %s%s\n", j->choice.backend, j->choice.event,
            j->choice.exact      ? "exact"
            : j->choice.estimate ? "an estimate"
                                 : "not exact",
            j->sum ? ", of all threads" : "");
    if (j->o->times)
        ti_print(out, "  also      durations%s%s\n",
                j->choice.valgrind ? ", under valgrind, which is slower" : "",
                j->plan.folding > 1 ? ", with the time that ranks wait for a core" : "");
    if (j->o->also)
        ti_print(out, "  also      %s\n", j->o->also);
}

void ti_job_print(const struct ti_job *j, FILE *out)
{
    char *program = ti_args_shell(&j->o->program), *command = ti_args_shell(&j->command);
    int64_t room = ti_disk_free(j->dir.given[0] ? j->dir.path : ".");
    char text[256], size[32];

    ti_print(out, "plan for %s\n", program ? program : j->program.given);
    ti_print(out, "  mode      %s: %" PRId64 " rank%s on %d core%s of %s", j->plan.mode, j->plan.np,
            j->plan.np == 1 ? "" : "s", j->plan.cores, j->plan.cores == 1 ? "" : "s",
            j->machine.host);
    if (j->plan.folding > 1)
        ti_print(out, ", up to %" PRId64 " a core", j->plan.folding);
    ti_print(out, "\n  memory    %s (%s, %s left for the system)\n",
            ti_plan_memory_text(&j->plan, text, sizeof text), j->machine.limited_by,
            ti_format_size(j->plan.reserve_bytes, size, sizeof size));
    if (j->o->dry_run && !j->o->pilot && needs_pilot(j))
        ti_print(out, "  pilot     the program first runs briefly with few ranks, to measure its "
                     "memory\n");
    if (j->model.n)
        ti_print(out, "  pilot     %s\n", ti_memory_model_text(&j->model, text, sizeof text));
    ti_estimate_start_print(
        ti_plan_start_seconds(j->plan.np, j->plan.cores, j->choice.valgrind), out);
    ti_estimate_print(j->o->like, j->plan.np, j->plan.folding, program, j->choice.backend, out);
    ti_job_print_counter(j, out);
    ti_print(out, "  traces    %s", j->dir_name);
    if (room >= 0)
        ti_print(out, " (%s free)", ti_format_size(room, size, sizeof size));
    ti_print(out, "\n  bundle    %s\n", j->o->no_gather ? "none (--no-gather)" : j->output);
    ti_print(out, "  command   %s\n", command ? command : "?");
    free(program);
    free(command);
}

json_t *ti_job_list(const struct ti_job *j, const struct ti_args *a)
{
    json_t *list = json_array();
    struct ti_args recorded;

    ti_job_recorded(j, a, &recorded);
    for (int i = 0; i < recorded.n; i++)
        json_array_append_new(list, ti_json_text(recorded.v[i]));
    ti_args_free(&recorded);
    return list;
}

static bool is_redacted(const struct ti_job *j, const char *word)
{
    for (int i = 0; i < j->o->redact.n; i++)
        if (fnmatch(j->o->redact.v[i], word, 0) == 0)
            return true;
    return false;
}

/* Whether `word` is an argument of -x, VAR=VALUE. */
static bool is_given(const struct ti_job *j, const char *word)
{
    for (int i = 0; i < j->o->env.n; i++)
        if (strcmp(j->o->env.v[i], word) == 0)
            return true;
    return false;
}

void ti_job_recorded(const struct ti_job *j, const struct ti_args *words, struct ti_args *out)
{
    *out = (struct ti_args){.n = 0};
    for (int i = 0; i < words->n; i++) {
        const char *word = words->v[i];
        bool variable = i > 0 && strcmp(words->v[i - 1], "-x") == 0;

        if (variable && (is_var(word, "TIARA_REDACT") ||
                         (is_given(j, word) && !j->o->record_environment)))
            ti_args_addf(out, "%.*s", (int)strcspn(word, "="), word);
        else
            ti_args_add(out, is_redacted(j, word) ? TI_REDACTED : word);
    }
}

static json_t *json_shell(const struct ti_job *j, const struct ti_args *a)
{
    struct ti_args recorded;
    json_t *json;
    char *text;

    ti_job_recorded(j, a, &recorded);
    text = ti_args_ok(&recorded) ? ti_args_shell(&recorded) : NULL;
    json = ti_json_text(text ? text : "?");
    ti_args_free(&recorded);
    free(text);
    return json;
}

json_t *ti_job_json(const struct ti_job *j)
{
    json_t *json =
        json_pack("{s:s, s:I, s:o*, s:o*, s:o*, s:s}", "run_id", j->run_id, "np",
                  (json_int_t)j->o->np, "application", ti_json_text(j->program.name), "program",
                  ti_json_text(j->program.path ? j->program.path : j->program.given), "command",
                  json_shell(j, &j->o->program), "tiara", ti_version());
    json_t *plan = ti_plan_json(&j->plan);

    if (!json)
        return NULL;
    if (plan && j->o->pin)
        json_object_set_new(plan, "pin", ti_json_text(j->o->pin));
    json_object_set_new(json, "plan", plan);
    json_object_set_new(json, "counter",
                        json_pack("{s:o, s:o, s:b, s:b, s:s, s:o}", "backend",
                                  ti_json_text(j->choice.backend), "event",
                                  ti_json_text(j->choice.event), "exact", j->choice.exact, "estimate",
                                  j->choice.estimate, "threads", j->sum ? "sum" : "caller",
                                  "asked", ti_json_text(j->o->counter)));
    if (j->o->times)
        json_object_set_new(json, "times", json_true());
    if (j->o->also)
        json_object_set_new(json, "also", ti_json_text(j->o->also));
    json_object_set_new(json, "mpi",
                        json_pack("{s:s, s:s, s:o}", "name", "Open MPI", "version",
                                  j->mpirun.version, "command", ti_job_list(j, &j->command)));
    if (j->o->ranks_per_node)
        json_object_set_new(json, "target_ranks_per_node", json_integer(j->o->ranks_per_node));
    json_object_set_new(json, "host", ti_json_text(j->machine.host));
    json_object_set_new(json, "directory", ti_json_text(j->dir.path));
    if (!j->o->no_gather)
        json_object_set_new(json, "output", ti_json_text(j->output));
    return json;
}

void ti_job_free(struct ti_job *j)
{
    ti_rundir_unscratch(&j->dir);
    ti_rundir_close(&j->dir);
    ti_program_free(&j->program);
    ti_args_free(&j->command);
    ti_ranks_free(&j->ranks);
    json_decref(j->json);
}
