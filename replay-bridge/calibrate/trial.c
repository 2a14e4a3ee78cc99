#include "replay-bridge/calibrate/trial.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bundle/source.h"
#include "common/beside.h"
#include "common/cli.h"
#include "common/clock.h"
#include "common/scratch.h"

#define SAID   "said"   /* scratch file with the messages of ti-acquire */
#define OUTPUT "output" /* scratch file with the standard output of the trial */

ti_status ti_launcher_find(struct ti_launcher *r, struct ti_err *err)
{
    static const char *const programs[] = {".", NULL};
    char here[PATH_MAX];
    ti_status st = ti_beside_here(here, err);

    if (st || (ti_beside_find(programs, "ti-acquire", r->acquire) &&
               ti_beside_helper("ti-calibrate-mpi", r->helper)))
        return st;
    ti_err_set(err, TI_ERR_IO, "cannot find 'ti-acquire' and 'ti-calibrate-mpi' beside '%s'", here);
    ti_err_hint(err, "is Tiara built, or installed completely?");
    return TI_ERR_IO;
}

/* ----------------------------------------------------------------- child -- */

/* The cores that this process may use; core 0 if that cannot be told. */
static void usable(cpu_set_t *set)
{
    if (sched_getaffinity(0, sizeof *set, set) == 0 && CPU_COUNT(set) > 0)
        return;
    CPU_ZERO(set);
    CPU_SET(0, set);
}

int64_t ti_trial_cores(void)
{
    cpu_set_t set;

    usable(&set);
    return CPU_COUNT(&set);
}

/* "0,1,4": the first `n` cores that this process may use. */
static void pin(struct ti_args *a, int64_t n)
{
    char list[8 * CPU_SETSIZE] = "";
    size_t used = 0;
    cpu_set_t set;

    usable(&set);
    for (size_t core = 0; core < CPU_SETSIZE && n > 0; core++)
        if (CPU_ISSET(core, &set)) {
            used +=
                (size_t)snprintf(list + used, sizeof list - used, "%s%zu", used ? "," : "", core);
            n--;
        }
    ti_args_add(a, "--pin", list);
}

static void command(const struct ti_launcher *r, const struct ti_trial *run, struct ti_args *a)
{
    ti_args_add(a, r->acquire);
    ti_args_add_all(a, &r->where, 0);
    ti_args_add(a, r->verbose ? "--verbose" : "--quiet", "--no-progress", "--force");
    ti_args_add(a, "--counter", run->counter, "--np");
    ti_args_addf(a, "%" PRId64, run->np);
    if (run->whole)
        ti_args_add(a, "--env", "TIARA_MODE=whole");
    if (run->cores)
        pin(a, run->cores);
    ti_args_add(a, "--trace-dir", ti_scratch_path("trace.run"));
    ti_args_add(a, "--output", ti_scratch_path(TI_TRIAL_TRACE));
    for (int i = 0; i < run->words; i++)
        ti_args_add(a, run->program[i]);
}

static _Noreturn void child(char **argv, bool verbose)
{
    int in = open("/dev/null", O_RDONLY);
    int out = open(ti_scratch_path(OUTPUT), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int said = open(ti_scratch_path(SAID), O_WRONLY | O_CREAT | O_TRUNC, 0600);

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    if (!verbose)
        dup2(said, STDERR_FILENO);
    execv(argv[0], argv);
    _exit(127);
}

/* Wait for the child.  Returns its status as a shell does.  A signal to stop is passed on to it. */
static int wait_for(pid_t pid, const struct ti_trial *run)
{
    struct timespec pause = {0, 20 * 1000 * 1000};
    bool told = false;
    int status = 0;

    while (waitpid(pid, &status, WNOHANG) == 0) {
        ti_progress_show(&(struct ti_progress){.step = run->label,
                                               .unit = run->nruns ? "runs" : NULL,
                                               .done = run->nth,
                                               .of = run->nruns});
        if (ti_stopped() && !told)
            told = kill(pid, SIGTERM) == 0;
        nanosleep(&pause, NULL);
    }
    ti_progress_clear();
    if (!run->nruns)
        ti_progress_end(status == 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Copy the first error message of ti-acquire, without "ti-acquire: ". */
static void quote(char *out, size_t bytes)
{
    FILE *f = fopen(ti_scratch_path(SAID), "re");
    char line[1024];

    snprintf(out, bytes, "see --verbose");
    while (f && fgets(line, sizeof line, f)) {
        const char *text = strncmp(line, "ti-acquire: ", 12) == 0 ? line + 12 : NULL;

        if (!text || strncmp(text, "warning: ", 9) == 0)
            continue;
        snprintf(out, bytes, "%.*s", (int)strcspn(text, "\n"), text);
        break;
    }
    if (f)
        fclose(f);
}

static ti_status launch(const struct ti_launcher *r, const struct ti_trial *run, struct ti_err *err)
{
    struct ti_args a = {0};
    ti_status st;
    char why[600];
    int status;
    pid_t pid;

    command(r, run, &a);
    if (!ti_args_ok(&a)) {
        ti_args_free(&a);
        return ti_err_errno(err, TI_ERR_IO, "cannot run '%s'", run->program[0]);
    }
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        child(a.v, r->verbose);
    ti_args_free(&a);
    if (pid < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot run '%s'", r->acquire);
    status = wait_for(pid, run);
    if ((st = ti_stop_check(err)) || !status)
        return st;
    quote(why, sizeof why);
    st = status > 0 && status <= TI_ERR_APP ? (ti_status)status : TI_ERR_APP;
    return ti_err_set(err, st == TI_ERR_PARTIAL ? TI_ERR_APP : st, "%s: ti-acquire failed: %s",
                      run->label, why);
}

/* ---------------------------------------------------------------- traces -- */

static ti_status read_rank(struct ti_source *s, int64_t rank, struct ti_trial_result *out,
                           struct ti_err *err)
{
    struct ti_reader *r = NULL;
    struct ti_totals totals = {0};
    struct ti_rank_span *span = &out->span[rank];
    const char *text;
    ti_status st = ti_source_reader(s, rank, &r, err);

    if (!st)
        st = ti_reader_skip(r, err);
    if (!st) {
        ti_reader_totals(r, &totals);
        out->volume += (double)totals.volume;
        text = ti_reader_info(r, "app_seconds");
        span->seconds = text ? strtod(text, NULL) : 0;
        ti_rank_span_begin(span, ti_reader_info(r, "begin"));
        if (!(span->seconds > 0))
            st = ti_err_set(err, TI_ERR_INPUT, "rank %" PRId64 " does not tell how long it took",
                            rank);
    }
    ti_reader_close(r);
    return st;
}

static ti_status read_traces(int64_t np, struct ti_trial_result *out, struct ti_err *err)
{
    struct ti_source *s = NULL;
    const json_t *counter;
    ti_status st = ti_source_open(ti_scratch_path(TI_TRIAL_TRACE), &s, err);
    const char *unit;

    if (st)
        return st;
    *out = (struct ti_trial_result){0};
    counter = json_object_get(ti_source_manifest(s), "counter");
    unit = json_string_value(json_object_get(counter, "unit"));
    out->instructions = unit && strcmp(unit, "instructions") == 0;
    snprintf(out->counter, sizeof out->counter, "%s",
             json_is_string(json_object_get(counter, "backend"))
                 ? json_string_value(json_object_get(counter, "backend"))
                 : "");
    for (int64_t rank = 0; rank < np && !st; rank++)
        st = read_rank(s, rank, out, err);
    ti_source_close(s);
    if (!st)
        out->start_skew = ti_rank_spans_align(out->span, np);
    for (int64_t rank = 0; rank < np; rank++)
        out->longest = fmax(out->longest, out->span[rank].seconds);
    return st;
}

ti_status ti_trial_run(const struct ti_launcher *r, const struct ti_trial *run,
                       struct ti_trial_result *out, struct ti_err *err)
{
    ti_status st = launch(r, run, err);

    return st ? st : read_traces(run->np, out, err);
}

ti_status ti_trial_output(FILE **out, struct ti_err *err)
{
    *out = fopen(ti_scratch_path(OUTPUT), "re");
    return *out ? TI_OK : ti_err_errno(err, TI_ERR_IO, "cannot read what was measured");
}

bool ti_trial_not_pinned(const struct ti_trial *run, ti_status st)
{
    return run->cores && st == TI_ERR_USAGE;
}

/* ----------------------------------------------------------------- about -- */

static char *copy_of(const json_t *manifest, const char *key)
{
    const char *text = json_string_value(json_object_get(manifest, key));

    return text ? strdup(text) : NULL;
}

static char *name_nodes(const json_t *nodes)
{
    char *text = NULL;
    size_t bytes, i;
    json_t *node;
    FILE *f = open_memstream(&text, &bytes);

    if (!f)
        return NULL;
    json_array_foreach(nodes, i, node)
    {
        const char *name = json_string_value(json_object_get(node, "name"));

        fprintf(f, "%s%s", i ? ", " : "", name ? name : "?");
    }
    fclose(f);
    return text;
}

ti_status ti_trial_about(struct ti_calibration *c, struct ti_err *err)
{
    struct ti_source *s = NULL;
    ti_status st = ti_source_open(ti_scratch_path(TI_TRIAL_TRACE), &s, err);
    const json_t *manifest, *nodes;
    char date[32];

    if (st)
        return st;
    manifest = ti_source_manifest(s);
    nodes = json_object_get(manifest, "nodes");
    c->calibration.date = strdup(ti_time_text(ti_wall(), date));
    c->calibration.cpu = copy_of(manifest, "cpu");
    c->calibration.mpi = copy_of(manifest, "mpi");
    c->calibration.nodes = name_nodes(nodes);
    free(c->network.within);
    c->network.within = strdup(json_array_size(nodes) > 1 ? "cluster" : "node");
    ti_source_close(s);
    return TI_OK;
}
