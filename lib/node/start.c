#include "node/start.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/args.h"
#include "common/cli.h"
#include "common/err.h"
#include "common/json.h"
#include "common/limits.h"
#include "node/launch.h"
#include "program/container.h"
#include "session/paths.h"

/* Variables with the rank: of Open MPI 4 and 5, and of other launchers with PMI. */
static const char *const rank_names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                         "SLURM_PROCID"};

static ti_status our_rank(int64_t *rank, struct ti_err *err)
{
    for (size_t i = 0; i < sizeof rank_names / sizeof *rank_names; i++) {
        const char *text = getenv(rank_names[i]);

        if (text)
            return ti_parse_int(text, rank_names[i], 0, TI_RANKS_MAX - 1, rank, err);
    }
    ti_err_set(err, TI_ERR_INPUT,
               "cannot tell which rank this is: neither OMPI_COMM_WORLD_RANK "
               "nor PMIX_RANK is set");
    ti_err_hint(err, "'ti-node run' is for mpirun to start");
    return TI_ERR_INPUT;
}

/* The file names a program to execute.  So it must be ours, and writable by nobody else. */
static ti_status read_node_json(json_t **run, struct ti_err *err)
{
    const char *path = getenv("TIARA_NODE_FILE");
    json_error_t why;
    struct stat sb;
    int fd;

    if (!path)
        return ti_err_set(err, TI_ERR_INPUT, "TIARA_NODE_FILE is not set");
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &sb) < 0) {
        ti_err_errno(err, TI_ERR_IO, "cannot open '%s'", path);
        if (fd >= 0)
            close(fd);
        return TI_ERR_IO;
    }
    if (!S_ISREG(sb.st_mode) || sb.st_uid != geteuid() || sb.st_mode & (S_IWGRP | S_IWOTH)) {
        close(fd);
        return ti_err_set(err, TI_ERR_INPUT, "'%s' could have been written by others", path);
    }
    *run = ti_json_read(fd, &why);
    close(fd);
    if (!json_is_object(*run))
        return ti_err_set(err, TI_ERR_INPUT, "'%s' is malformed: line %d: %s", path, why.line,
                          why.text);
    return TI_OK;
}

static bool is_planned(const json_t *ranks, int64_t rank)
{
    const json_t *range;
    size_t i;

    json_array_foreach(ranks, i,
                       range) if (rank >= json_integer_value(json_array_get(range, 0)) &&
                                  rank <= json_integer_value(json_array_get(range, 1))) return true;
    return false;
}

static const char *text_of(const json_t *run, const char *key)
{
    return json_string_value(json_object_get(run, key));
}

static ti_status wrong_node(const json_t *run, int64_t rank, struct ti_err *err)
{
    char *ranks = json_dumps(json_object_get(run, "ranks"), JSON_COMPACT);

    ti_err_set(err, TI_ERR_APP,
               "rank %" PRId64 " was started on node '%s', for which ranks %s are planned", rank,
               text_of(run, "node") ? text_of(run, "node") : "?", ranks ? ranks : "?");
    ti_err_hint(err, "something places ranks otherwise than ti-acquire's hostfile says: an MCA "
                     "parameter file, OMPI_MCA_ variables, or mpirun's arguments behind '--'");
    free(ranks);
    return TI_ERR_APP;
}

/* --- environment --------------------------------------------------------- */

/* Set "NAME=VALUE", or unset "NAME". */
static bool set_var(const char *var)
{
    const char *is = strchr(var, '=');
    char name[256];

    if (!is)
        return unsetenv(var) == 0;
    if (is == var || (size_t)(is - var) >= sizeof name)
        return false;
    memcpy(name, var, (size_t)(is - var));
    name[is - var] = '\0';
    return setenv(name, is + 1, 1) == 0;
}

static bool is_preload(const char *var)
{
    return strncmp(var, "LD_PRELOAD=", 11) == 0;
}

/* Add our library to LD_PRELOAD, after the libraries that are there. */
static bool preload(const char *library)
{
    const char *was = getenv("LD_PRELOAD");
    char *both = NULL;
    bool ok = asprintf(&both, "%s%s%s", was ? was : "", was && *was ? ":" : "", library) >= 0 &&
              setenv("LD_PRELOAD", both, 1) == 0;

    free(both);
    return ok;
}

/* The image of the ranks; "": they are in no container. */
static const char *image_of(const json_t *run)
{
    return ti_json_string(json_object_get(run, "container"), "image");
}

static ti_status set_environment(const json_t *run, struct ti_err *err)
{
    const char *directory = text_of(run, "directory"), *library = text_of(run, "library"),
               *valgrind = text_of(run, "valgrind_lib"), *id = text_of(run, "run_id");
    const json_t *var;
    size_t i;
    bool ok = directory && id, contained = *image_of(run);

    json_array_foreach(json_object_get(run, "env"), i, var) ok =
        ok && json_is_string(var) &&
        ((contained && is_preload(json_string_value(var))) || set_var(json_string_value(var)));
    ok = ok && (!library || contained || preload(library));
    ok = ok && setenv("TIARA_TRACE_DIR", directory, 1) == 0 && setenv("TIARA_RUN_ID", id, 1) == 0;
    ok = ok && (!valgrind || setenv("VALGRIND_LIB", valgrind, 1) == 0);
    if (!ok)
        return ti_err_set(err, TI_ERR_INPUT, "cannot set the environment of the run");
    return TI_OK;
}

/* Keep ranks that spin or poll from starving mpirun's daemon; set the limit for core dumps. */
static void set_scheduling(const json_t *run)
{
    struct sched_param param = {.sched_priority = 0};
    struct rlimit core;

    if (json_is_true(json_object_get(run, "idle")))
        sched_setscheduler(0, SCHED_IDLE, &param);
    if (json_is_true(json_object_get(run, "timer_slack")))
        prctl(PR_SET_TIMERSLACK, TI_TIMER_SLACK_NS, 0, 0, 0);
    if (json_is_true(json_object_get(run, "no_core")) && getrlimit(RLIMIT_CORE, &core) == 0) {
        core.rlim_cur = 0;
        setrlimit(RLIMIT_CORE, &core);
    }
}

/* --- execution ----------------------------------------------------------- */

/* The command that starts a container.  What is to be preloaded is for the program in it alone. */
static ti_status contain(const json_t *run, struct ti_args *out, struct ti_err *err)
{
    static struct ti_paths paths;
    const json_t *container = json_object_get(run, "container"), *var;
    struct ti_container c = {.image = image_of(run),
                             .paths = &paths,
                             .folder = {text_of(run, "directory")},
                             .valgrind = json_is_true(json_object_get(container, "valgrind")),
                             .perf = json_is_true(json_object_get(container, "perf"))};
    struct ti_args env = {.n = 0};
    const char *preload = NULL;
    ti_status st = ti_paths_find(&paths, err);
    size_t i;

    json_array_foreach(json_object_get(run, "env"), i, var)
    {
        if (is_preload(json_string_value(var)))
            preload = json_string_value(var) + 11;
        else
            ti_args_add(&env, json_string_value(var));
    }
    ti_args_addf(&env, "LD_PRELOAD=%s%s%s", preload ? preload : "", preload ? ":" : "",
                 TI_CONTAINER_LIBRARY);
    if (st == TI_OK)
        st = ti_container_words(&c, &env, out, err);
    ti_args_free(&env);
    return st;
}

static ti_status execute(const json_t *run, int argc, char *const *argv, struct ti_err *err)
{
    const json_t *wrapper = json_object_get(run, "wrapper"), *word;
    const char *program = text_of(run, "program");
    struct ti_args all = {.n = 0};
    ti_status st = *image_of(run) ? contain(run, &all, err) : TI_OK;
    size_t i;

    if (st != TI_OK)
        return st;
    json_array_foreach(wrapper, i, word)
        ti_args_add(&all, json_string_value(word) ? json_string_value(word) : "");
    ti_args_add(&all, program ? program : argv[0]);
    for (int k = 1; k < argc; k++)
        ti_args_add(&all, argv[k]);
    if (!ti_args_ok(&all))
        return ti_err_errno(err, TI_ERR_IO, "cannot execute '%s'", argv[0]);
    execvp(all.v[0], all.v);
    ti_err_errno(err, TI_ERR_APP, "cannot execute '%s' on node '%s'", all.v[0],
                 text_of(run, "node") ? text_of(run, "node") : "?");
    ti_args_free(&all);
    return TI_ERR_APP;
}

/* mpirun of Open MPI 5.0 may wait for ever for a process that ends while others are started. */
static void linger(void)
{
    const struct timespec a_moment = {.tv_nsec = 300 * 1000 * 1000};

    if (getenv("PRTE_LAUNCHED"))
        nanosleep(&a_moment, NULL);
}

static ti_status become(int argc, char *const *argv, bool dry_launch, int *status,
                        struct ti_err *err)
{
    json_t *run = NULL;
    const char *cwd;
    int64_t rank;
    ti_status st = our_rank(&rank, err);

    *status = TI_START_REFUSED;
    if (st == TI_OK)
        st = read_node_json(&run, err);
    if (st == TI_OK && dry_launch && !text_of(run, "node"))
        st = ti_err_set(err, TI_ERR_INPUT, "'%s' does not say which node this is (\"node\")",
                        getenv("TIARA_NODE_FILE"));
    if (st == TI_OK && dry_launch) {
        printf("TIARA-DRY-LAUNCH %" PRId64 " %s\n", rank, text_of(run, "node"));
        *status = fflush(stdout) == 0 ? 0 : TI_ERR_IO;
        linger();
        json_decref(run);
        return TI_OK;
    }
    if (st == TI_OK && !is_planned(json_object_get(run, "ranks"), rank))
        st = wrong_node(run, rank, err);
    if (st == TI_OK)
        st = set_environment(run, err);
    cwd = text_of(run, "cwd");
    if (st == TI_OK && cwd && chdir(cwd) < 0 && errno != ENOENT)
        st = ti_err_errno(err, TI_ERR_IO, "cannot change to '%s'", cwd);
    if (st == TI_OK) {
        set_scheduling(run);
        *status = 127;
        st = execute(run, argc, argv, err);
    }
    json_decref(run);
    return st;
}

int ti_start(int argc, char *const *argv, int dry_launch)
{
    struct ti_err err = {"", ""};
    int status;

    if (become(argc, argv, dry_launch, &status, &err) != TI_OK) {
        fprintf(stderr, "ti-node: %s\n", err.text);
        if (err.hint[0])
            fprintf(stderr, "hint: %s\n", err.hint);
    }
    return status;
}
