#include "replay-bridge/simulation/engines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/args.h"
#include "common/scratch.h"
#include "replay-bridge/simulation/simulate.h"

/* Characters that no shell expands and at which LD_PRELOAD is not split. */
#define PLAIN                                                                                      \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"                                         \
    "0123456789%+,-./=@_"

/* ---- files ---- */

/* The first place of `list` (relative to the folder `here`, or absolute) that has `name`. */
static void find(const char *here, const char *const *list, const char *name, char out[PATH_MAX])
{
    char path[2 * PATH_MAX];

    out[0] = '\0';
    for (; *list && !out[0]; list++) {
        snprintf(path, sizeof path, "%s%s%s/%s", **list == '/' ? "" : here,
                 **list == '/' ? "" : "/", *list, name);
        if (access(path, R_OK) != 0 || !realpath(path, out))
            out[0] = '\0';
    }
}

void ti_engine_files(struct ti_engine_files *out)
{
    static const char *const programs[] = {".", NULL};
    static const char *const libraries[] = {".", "../libexec/tiara", TI_LIBEXECDIR "/tiara", NULL};
    char here[PATH_MAX] = ".";
    ssize_t n = readlink("/proc/self/exe", here, sizeof here - 1);

    if (n > 0) {
        here[n] = '\0';
        *strrchr(here, '/') = '\0';
    }
    find(here, programs, "ti-smpi-replay", out->replayer);
    find(here, libraries, "libti-smpi-clock.so", out->clock);
    find(here, libraries, "ti-smpi-routes", out->routes);
}

/* ---- the command ---- */

/*
 * Makes `path` a single word of a command.  smpirun is a shell script that expands its arguments
 * again: blanks split them, * and ? match files, quotes are kept.  So a path with such a character
 * is replaced by a symbolic link in the scratch directory, where smpirun runs.
 */
static ti_status as_word(const char *path, const char *link, char out[PATH_MAX], struct ti_err *err)
{
    char real[PATH_MAX];

    if (!realpath(path, real))
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", path);
    if (!real[strspn(real, PLAIN)]) {
        strcpy(out, real);
        return TI_OK;
    }
    if (symlink(real, ti_scratch_path(link)) != 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot link to '%s'", real);
    snprintf(out, PATH_MAX, "./%s", link);
    return TI_OK;
}

/* How bursts are replayed, as options of ti-smpi-replay. */
static ti_status add_bursts(struct ti_args *args, const struct ti_bursts *bursts,
                            struct ti_err *err)
{
    char cores[32], rates[PATH_MAX];

    if (bursts->as == TI_BURSTS_NOTHING)
        ti_args_add(args, "--no-compute");
    if (bursts->as == TI_BURSTS_TIMES)
        ti_args_add(args, "--times");
    if (bursts->as == TI_BURSTS_RATES) {
        if (as_word(bursts->rates_path, "rates", rates, err))
            return TI_ERR_IO;
        ti_args_add(args, "--rate");
        ti_args_add(args, rates);
    }
    if (bursts->as != TI_BURSTS_THREADS)
        return TI_OK;
    if (bursts->cores == INT64_MAX) {
        ti_args_add(args, "--threads");
        ti_args_add(args, "longest");
    } else {
        snprintf(cores, sizeof cores, "%" PRId64, bursts->cores);
        ti_args_add(args, "--cores");
        ti_args_add(args, cores);
    }
    return TI_OK;
}

/* The traces of the jobs; jobs that share a trace have it under one name. */
static ti_status add_traces(struct ti_args *args, const struct ti_engine_replay *what,
                            struct ti_err *err)
{
    char source[PATH_MAX], link[32];
    ti_status st = TI_OK;

    for (int j = 0; !st && j < what->njobs; j++) {
        if (!j || what->trace[j] != what->trace[j - 1]) {
            snprintf(link, sizeof link, "trace-%d", j);
            st = as_word(what->trace[j], link, source, err);
        }
        if (!st)
            ti_args_add(args, source);
    }
    return st;
}

static ti_status add_outputs(struct ti_args *args, const struct ti_engine_replay *what,
                             struct ti_err *err)
{
    char file[PATH_MAX], link[32];

    if (what->profile) {
        ti_args_add(args, "--profile");
        ti_args_add(args, what->profile);
    }
    if (!what->timeline)
        return TI_OK;
    snprintf(link, sizeof link, "timeline%s", strrchr(what->timeline, '.'));
    if (as_word(what->timeline, link, file, err))
        return TI_ERR_IO;
    ti_args_add(args, "--timeline");
    ti_args_add(args, file);
    return TI_OK;
}

ti_status ti_engine_command(struct ti_engine_files *files, const struct ti_engine_replay *what,
                            char **out, struct ti_err *err)
{
    char program[PATH_MAX], seed[32];
    struct ti_args args = {.n = 0};
    ti_status st = as_word(files->replayer, "ti-smpi-replay", program, err);

    if (!st && files->clock[0])
        st = as_word(files->clock, "libti-smpi-clock.so", files->clock, err);
    if (st)
        return st;
    ti_args_add(&args, program);
    ti_args_add(&args, "--no-check");
    ti_args_add(&args, "--state");
    ti_args_add(&args, TI_SIM_STATE);
    st = add_bursts(&args, what->bursts, err);
    if (what->any) {
        ti_args_add(&args, "--wildcards");
        ti_args_add(&args, "any");
    }
    if (what->reduce_rate) {
        ti_args_add(&args, "--reduce-rate");
        ti_args_add(&args, what->reduce_rate);
    }
    if (what->seed) {
        snprintf(seed, sizeof seed, "%" PRIu64, what->seed);
        ti_args_add(&args, "--seed");
        ti_args_add(&args, seed);
    }
    if (what->start) {
        ti_args_add(&args, "--start");
        ti_args_add(&args, what->start);
    }
    if (!st)
        st = add_outputs(&args, what, err);
    if (!st)
        st = add_traces(&args, what, err);
    *out = !st && ti_args_ok(&args) ? ti_args_shell(&args) : NULL;
    ti_args_free(&args);
    return st || *out ? st : ti_err_set(err, TI_ERR_IO, "out of memory");
}

ti_status ti_routes_command(const struct ti_engine_files *files, char **out, struct ti_err *err)
{
    char program[PATH_MAX];
    ti_status st = as_word(files->routes, "ti-smpi-routes", program, err);

    if (!st && asprintf(out, "%s %s %s", program, TI_SIM_PAIRS, TI_SIM_LINKS) < 0)
        st = ti_err_set(err, TI_ERR_IO, "out of memory");
    return st;
}

/* ---- collectives ---- */

int ti_collectives_cfg(const char *which, const char *cfg[TI_COLLECTIVES_CFG])
{
    /* Tree algorithms.  With SimGrid's default one rank sends, or receives, all messages at once.
     */
    static const char *const tree[] = {"smpi/barrier:ompi_tree",     "smpi/reduce:binomial",
                                       "smpi/allreduce:redbcast",    "smpi/gather:ompi_binomial",
                                       "smpi/scatter:ompi_binomial", "smpi/allgather:bruck"};
    static const char *const selectors[] = {"smpi/coll-selector:ompi", "smpi/coll-selector:mpich",
                                            "smpi/coll-selector:mvapich2",
                                            "smpi/coll-selector:impi"};
    int n = 0;

    if (!strcmp(which, "tree"))
        for (; n < (int)(sizeof tree / sizeof *tree); n++)
            cfg[n] = tree[n];
    for (size_t i = 0; i < sizeof selectors / sizeof *selectors; i++)
        if (!strcmp(which, strchr(selectors[i], ':') + 1))
            cfg[n++] = selectors[i];
    return n;
}
