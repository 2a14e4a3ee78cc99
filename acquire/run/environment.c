#include "acquire/run/environment.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "acquire/plan/isa.h"

/* --- variables ----------------------------------------------------------- */

static const char *value_of(const char *var)
{
    const char *equals = strchr(var, '=');

    return equals ? equals + 1 : NULL;
}

static bool is_var(const char *var, const char *name)
{
    size_t len = strcspn(name, "=");

    return strncmp(var, name, len) == 0 && (var[len] == '=' || !var[len]);
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

bool ti_environment_threads(const struct ti_acquisition *a)
{
    const char *threads = ranks_variable(a, "OMP_NUM_THREADS");

    bool openmp = false;

    for (int i = 0; i <= a->o->nmore; i++)
        openmp = openmp || ti_acquisition_program(a, i)->openmp;
    return openmp && (!threads || strcmp(threads, "1") != 0);
}

bool ti_environment_sums(const struct ti_acquisition *a)
{
    const struct ti_counter_backend *wanted = ti_counter_find(a->o->counter, NULL);

    if (a->o->threads != TI_THREADS_AUTO)
        return a->o->threads == TI_THREADS_SUM;
    return ti_environment_threads(a) && (!wanted || wanted->sums);
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

static const struct ti_counter_wrapper *wrapper(const struct ti_acquisition *a)
{
    return a->choice.of ? a->choice.of->wrapper : NULL;
}

/* Settings of the library that do not depend on the node. */
static void settings(const struct ti_acquisition *a, int64_t ranks, struct ti_args *env)
{
    const struct ti_counter_wrapper *w = wrapper(a);
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
    if (w && !user_gives(&a->o->env, w->setting))
        ti_args_add(env, w->setting);
}

void ti_environment_here(const struct ti_acquisition *a, struct ti_args *env)
{
    const char *preload = a->o->container ? NULL : getenv("LD_PRELOAD");
    const char *tunables = getenv("GLIBC_TUNABLES");

    for (int i = 0; i < a->o->env.n; i++) {
        const char *var = a->o->env.v[i], *value = value_of(var);

        if (is_var(var, "LD_PRELOAD"))
            preload = value ? value : preload;
        else if (a->isa && is_var(var, "GLIBC_TUNABLES"))
            tunables = value ? value : tunables;
        else
            ti_args_add(env, var);
    }
    add_list(env, "LD_PRELOAD", preload, a->o->container ? TI_CONTAINER_LIBRARY : a->paths.library);
    if (a->isa)
        add_list(env, "GLIBC_TUNABLES", tunables, ti_isa_tunables(a->isa));
    ti_args_addf(env, "TIARA_TRACE_DIR=%s", a->dir.path);
    ti_args_addf(env, "TIARA_RUN_ID=%s", a->run_id);
    if (wrapper(a))
        ti_args_addf(env, "%s=%s", wrapper(a)->variable, a->choice.valgrind_lib);
    settings(a, a->o->np, env);
}

void ti_environment_there(const struct ti_acquisition *a, int64_t ranks, struct ti_args *env)
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

bool ti_environment_container(const struct ti_acquisition *a, struct ti_container *c)
{
    const struct ti_counter_backend *of = a->choice.of;

    *c = (struct ti_container){.image = a->o->container,
                               .paths = &a->paths,
                               .folder = {a->dir.path, a->dir.tmp},
                               .valgrind = !of || a->choice.valgrind,
                               .perf = !of || (!of->wrapper && !of->compiled && !of->estimate)};
    return a->o->container != NULL;
}

void ti_environment_wrapper(const struct ti_acquisition *a, struct ti_args *command)
{
    const struct ti_counter_wrapper *w = wrapper(a);
    bool starts = false; /* a script, or a program such as env, starts the program that is meant */

    if (!w)
        return;
    ti_args_add_list(command, w->words);
    for (int i = 0; i <= a->o->nmore; i++)
        starts = starts || !ti_acquisition_program(a, i)->is_elf ||
                 ti_acquisition_program(a, i)->mpi == TI_MPI_NONE;
    if (starts)
        ti_args_add(command, w->children);
    if (a->outside)
        ti_args_add(command, w->outside);
}

const char *ti_environment_input(void)
{
    struct stat st;

    if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode))
        return "/proc/self/fd/0";
    return "/dev/null";
}
