#include "acquire/run/mpirun.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/beside.h"
#include "program/program.h"

#define INSTALL_HINT "install Open MPI 4.1 or newer (openmpi-bin), or put its mpirun on PATH"

bool ti_mpirun_parse_version(const char *text, struct ti_mpirun *m)
{
    const char *p = strstr(text, "(Open MPI) ");
    int n;

    m->patch = 0;
    if (!p)
        return false;
    n = sscanf(p + 11, "%d.%d.%d", &m->major, &m->minor, &m->patch);
    snprintf(m->version, sizeof m->version, "%.*s", (int)strcspn(p + 11, " \n"), p + 11);
    return n >= 2;
}

bool ti_mpirun_is_prrte(const struct ti_mpirun *m)
{
    return !m->hydra && m->major >= 5;
}

bool ti_mpirun_parse_hydra(const char *text, struct ti_mpirun *m)
{
    m->patch = 0;
    return ti_mpich_version(text, m->version, sizeof m->version) &&
           sscanf(m->version, "%d.%d.%d", &m->major, &m->minor, &m->patch) >= 2;
}

/* Read the output of "NAME --version"; false: errno says why it cannot be run. */
static bool read_version(const char *name, char *text, size_t bytes)
{
    char command[96];
    size_t n;
    FILE *f;

    snprintf(command, sizeof command, "exec %s --version 2>&1 </dev/null", name);
    f = popen(command, "re");
    if (!f)
        return false;
    n = fread(text, 1, bytes - 1, f);
    text[n] = '\0';
    while (fgetc(f) != EOF)
        ;
    pclose(f);
    return true;
}

static ti_status find_hydra(struct ti_mpirun *m, struct ti_err *err)
{
    static const char *const names[] = {"mpiexec.hydra", "mpiexec.mpich", "mpiexec"};
    char path[PATH_MAX], text[1024];

    m->hydra = true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (ti_find_on_path(names[i], path) && read_version(names[i], text, sizeof text) &&
            ti_mpirun_parse_hydra(text, m)) {
            snprintf(m->name, sizeof m->name, "%s", names[i]);
            snprintf(m->path, sizeof m->path, "%s", path);
            return TI_OK;
        }
    ti_err_set(err, TI_ERR_INPUT, "cannot find MPICH's 'mpiexec.hydra' or 'mpiexec' on PATH");
    ti_err_hint(err, "the program is linked with MPICH: install it (mpich), or put it on PATH");
    return TI_ERR_INPUT;
}

ti_status ti_mpirun_find(bool mpich, struct ti_mpirun *m, struct ti_err *err)
{
    char path[PATH_MAX], text[1024];

    memset(m, 0, sizeof *m);
    if (mpich)
        return find_hydra(m, err);
    snprintf(m->name, sizeof m->name, "mpirun");
    if (!ti_find_on_path("mpirun", path)) {
        ti_err_set(err, TI_ERR_INPUT, "cannot find 'mpirun' on PATH");
        ti_err_hint(err, INSTALL_HINT);
        return TI_ERR_INPUT;
    }
    if (!read_version("mpirun", text, sizeof text))
        return ti_err_errno(err, TI_ERR_IO, "cannot run '%s --version'", path);
    if (!ti_mpirun_parse_version(text, m)) {
        ti_err_set(err, TI_ERR_INPUT, "'%s' is not Open MPI's: it says '%.*s'", path,
                   (int)strcspn(text, "\n"), text);
        ti_err_hint(err, INSTALL_HINT);
        return TI_ERR_INPUT;
    }
    if (m->major < 4 || (m->major == 4 && m->minor < 1)) {
        ti_err_set(err, TI_ERR_INPUT, "Open MPI %s is too old", m->version);
        ti_err_hint(err, INSTALL_HINT);
        return TI_ERR_INPUT;
    }
    return TI_OK;
}

/* The name of an option, which mpirun accepts with one dash or two; NULL: no option. */
static const char *option(const char *arg)
{
    if (arg[0] != '-')
        return NULL;
    return arg + (arg[1] == '-' ? 2 : 1);
}

static bool is_one_of(const char *name, const char *const *list)
{
    for (; name && *list; list++)
        if (strcmp(name, *list) == 0)
            return true;
    return false;
}

ti_status ti_mpirun_check_user(const struct ti_args *user, struct ti_err *err)
{
    static const char *const counts[] = {"n", "np", "c", NULL};
    static const char *const places[] = {
        "H",     "host",    "hostfile", "machinefile", "add-hostfile", "default-hostfile", "f",
        "hosts", "machine", "ppn",      NULL};

    for (int i = 0; i < user->n; i++) {
        const char *name = option(user->v[i]);

        if (is_one_of(name, counts)) {
            ti_err_set(err, TI_ERR_USAGE, "'%s' cannot be passed on to mpirun", user->v[i]);
            ti_err_hint(err, "the number of ranks has an option of its own: --np N");
            return TI_ERR_USAGE;
        }
        if (is_one_of(name, places)) {
            ti_err_set(err, TI_ERR_USAGE, "'%s' cannot be passed on to mpirun", user->v[i]);
            ti_err_hint(err, "nodes have options of their own: --hostfile, --sites, --exclude");
            return TI_ERR_USAGE;
        }
    }
    return TI_OK;
}

/* Whether the user sets an MCA parameter. */
static bool user_sets(const struct ti_args *user, const char *key)
{
    static const char *const options[] = {"mca", "gmca", "prtemca", "pmixmca", NULL};
    static const char *const begins[] = {"OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_"};
    char name[128];

    for (int i = 0; i + 1 < user->n; i++) {
        const char *opt = option(user->v[i]);

        if (is_one_of(opt, options) && strcmp(user->v[i + 1], key) == 0)
            return true;
    }
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        snprintf(name, sizeof name, "%s%s", begins[i], key);
        if (getenv(name))
            return true;
    }
    return false;
}

static bool user_has(const struct ti_args *user, const char *const *options)
{
    for (int i = 0; i < user->n; i++)
        if (is_one_of(option(user->v[i]), options))
            return true;
    return false;
}

static void mca(const struct ti_mpirun_job *job, struct ti_args *out, const char *flag,
                const char *key, const char *value)
{
    if (!user_sets(job->user, key))
        ti_args_add(out, flag, key, value);
}

static const char *const map_options[] = {"map-by", "oversubscribe", "nooversubscribe", NULL};

static void fold_here(const struct ti_mpirun *m, const struct ti_mpirun_job *job,
                      struct ti_args *out)
{
    if (user_has(job->user, map_options))
        return;
    if (ti_mpirun_is_prrte(m))
        ti_args_add(out, "--map-by", ":OVERSUBSCRIBE");
    else
        ti_args_add(out, "--oversubscribe");
}

/* Where the ranks go.  PRRTE's `seq` fails with several programs: it takes a file of ranks for
 * them, and its slots continue from one program to the next. */
static void map_spread(const struct ti_mpirun *m, const struct ti_mpirun_job *job,
                       struct ti_args *out)
{
    const struct ti_mpirun_nodes *nodes = job->nodes;

    /* PRRTE refuses the option if it comes twice */
    if (ti_mpirun_is_prrte(m) && user_has(job->user, map_options))
        return;
    ti_args_add(out, "--map-by");
    if (nodes->rankfile)
        ti_args_addf(out, "rankfile:FILE=%s:OVERSUBSCRIBE", nodes->rankfile);
    else if (!nodes->listed)
        ti_args_add(out, "slot");
    else /* a list counts the slots of its own program only, and mpirun those of all programs */
        ti_args_add(out, job->nmore ? "seq:OVERSUBSCRIBE" : "seq");
}

/*
 * The hostfile has the ranks of each node as slots, so mpirun does not consider nodes
 * oversubscribed.  Launchers of schedulers are disabled: they know neither our folding nor which
 * nodes were excluded.
 */
static void spread(const struct ti_mpirun *m, const struct ti_mpirun_job *job, struct ti_args *out)
{
    const struct ti_mpirun_nodes *nodes = job->nodes;
    bool prrte = ti_mpirun_is_prrte(m);
    const char *flag = prrte ? "--prtemca" : "--mca";
    char agent[PATH_MAX + 16];

    /* Daemons look up the agent, too, and end silently if it is missing, although they start
     * nothing with it.  So `false` follows as an agent that exists everywhere. */
    snprintf(agent, sizeof agent, "%s : false", nodes->agent);
    ti_args_add(out, "--hostfile", nodes->hostfile);
    map_spread(m, job, out);
    mca(job, out, flag, "plm", prrte ? "ssh" : "rsh");
    mca(job, out, flag, "ras", "^slurm,tm,lsf,gridengine");
    mca(job, out, flag, prrte ? "plm_ssh_agent" : "plm_rsh_agent", agent);
    mca(job, out, flag, prrte ? "plm_ssh_no_tree_spawn" : "plm_rsh_no_tree_spawn", "1");
    mca(job, out, flag, prrte ? "prte_keep_fqdn_hostnames" : "orte_keep_fqdn_hostnames",
        nodes->fqdn ? "1" : "0");
    if (nodes->network)
        mca(job, out, flag, prrte ? "prte_if_include" : "oob_tcp_if_include", nodes->network);
}

/* MCA parameters of the ranks: mpirun 4 takes them once, PRRTE for each program alone. */
static void rank_settings(const struct ti_mpirun *m, const struct ti_plan *plan,
                          const struct ti_mpirun_job *job, struct ti_args *out)
{
    bool prrte = ti_mpirun_is_prrte(m);

    if (job->nodes && job->nodes->network)
        mca(job, out, "--mca", "btl_tcp_if_include", job->nodes->network);
    if (job->shm)
        mca(job, out, "--mca", prrte ? "btl_sm_backing_directory" : "btl_vader_backing_directory",
            job->shm);
    if (plan->yield)
        mca(job, out, "--mca", "mpi_yield_when_idle", "1");
    if (plan->ob1)
        mca(job, out, "--mca", "pml", "ob1");
    if (plan->lazy_procs && !prrte) /* the default of Open MPI 5 and 6 */
        mca(job, out, "--mca", "mpi_add_procs_cutoff", "0");
}

/* The user's MCA parameters of the ranks, for a further program under PRRTE. */
static void repeat_user_settings(const struct ti_args *user, struct ti_args *out)
{
    static const char *const options[] = {"mca", "gmca", NULL};

    for (int i = 0; i + 2 < user->n; i++)
        if (is_one_of(option(user->v[i]), options))
            ti_args_add(out, "--mca", user->v[i + 1], user->v[i + 2]);
}

/*
 * Open MPI 5, with a PMIx of its release as Debian 13 and Ubuntu have it, crashes when it sets the
 * variables OMPI_* for several programs (open-mpi/ompi issue 13303), so it does not set them.  It
 * then hands on no OMPI_MCA_*, either.
 */
static bool sets_no_variables(const struct ti_mpirun *m, const struct ti_mpirun_job *job)
{
    return m->major == 5 && job->nmore && !user_sets(job->user, "pmdl");
}

static void add_program(const struct ti_mpirun_job *job, const struct ti_args *words,
                        struct ti_args *out)
{
    ti_args_add_all(out, job->wrapper, 0);
    ti_args_add_all(out, words, 0);
    out->failed = out->failed || words->failed;
}

/* mpirun takes variables for each program alone. */
static void add_variables(const struct ti_mpirun *m, const struct ti_mpirun_job *job,
                          struct ti_args *out)
{
    for (char **var = environ; sets_no_variables(m, job) && var && *var; var++)
        if (strncmp(*var, "OMPI_MCA_", 9) == 0) {
            ti_args_add(out, "-x");
            ti_args_addf(out, "%.*s", (int)strcspn(*var, "="), *var);
        }
    for (int i = 0; i < job->env->n; i++)
        ti_args_add(out, "-x", job->env->v[i]);
}

/* mpirun 4 takes the hostfile for each program alone; PRRTE reads two as one of a long name. */
static void add_more(const struct ti_mpirun *m, const struct ti_plan *plan,
                     const struct ti_mpirun_job *job, const struct ti_mpirun_program *p,
                     struct ti_args *out)
{
    ti_args_add(out, ":", "-np");
    ti_args_addf(out, "%" PRId64, p->np);
    if (ti_mpirun_is_prrte(m)) {
        rank_settings(m, plan, job, out);
        repeat_user_settings(job->user, out);
    } else if (job->nodes) {
        ti_args_add(out, "--hostfile", p->hostfile ? p->hostfile : job->nodes->hostfile);
    }
    add_variables(m, job, out);
    add_program(job, p->words, out);
}

/* Settings of MPICH and of its networks, as a list of names; else ranks on nodes have the
 * environment that their node gives them, as with Open MPI. */
static void hydra_environment(const struct ti_mpirun_job *job, struct ti_args *out)
{
    static const char *const options[] = {"genvall", "genvlist", "genvnone", NULL};
    static const char *const begins[] = {"MPICH_", "MPIR_CVAR_", "UCX_", "FI_"};
    char *list = NULL;

    if (user_has(job->user, options))
        return;
    for (char **var = environ; var && *var; var++)
        for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
            char *longer;

            if (strncmp(*var, begins[i], strlen(begins[i])) != 0)
                continue;
            if (asprintf(&longer, "%s%s%.*s", list ? list : "", list ? "," : "",
                         (int)strcspn(*var, "="), *var) < 0)
                longer = NULL;
            out->failed = out->failed || !longer;
            free(list);
            list = longer;
        }
    if (list)
        ti_args_add(out, "-genvlist", list);
    else
        ti_args_add(out, "-genvnone");
    free(list);
}

/* Batch systems are not asked: they know neither our folding nor which nodes were excluded. */
static void hydra_spread(const struct ti_mpirun_job *job, struct ti_args *out)
{
    static const char *const launcher[] = {"launcher", "bootstrap", NULL};
    static const char *const rmk[] = {"rmk", NULL};
    static const char *const address[] = {"localhost", "iface", NULL};

    ti_args_add(out, "-f", job->nodes->hostfile);
    if (!user_has(job->user, launcher))
        ti_args_add(out, "-launcher", "rsh", "-launcher-exec", job->nodes->agent);
    if (!user_has(job->user, rmk))
        ti_args_add(out, "-rmk", "user");
    if (job->nodes->address && !user_has(job->user, address) && !getenv("HYDRA_IFACE"))
        ti_args_add(out, "-localhost", job->nodes->address);
    hydra_environment(job, out);
}

/* Hydra hands the whole environment on; variables with a value are of the ranks alone.  On nodes
 * ti-node sets environment and directory; Hydra takes only a directory that exists. */
static void hydra_program(const struct ti_mpirun_job *job, int64_t np, const struct ti_args *words,
                          struct ti_args *out)
{
    static const char *const wdir[] = {"wdir", NULL};

    if (job->nodes && !user_has(job->user, wdir))
        ti_args_add(out, "-wdir", "/");
    ti_args_add(out, "-n");
    ti_args_addf(out, "%" PRId64, np);
    for (int i = 0; i < job->env->n; i++) {
        const char *var = job->env->v[i], *value = strchr(var, '=');

        if (!value)
            continue;
        ti_args_add(out, "-env");
        ti_args_addf(out, "%.*s", (int)(value - var), var);
        ti_args_add(out, value + 1);
    }
    add_program(job, words, out);
}

static void hydra_command(const struct ti_mpirun *m, const struct ti_mpirun_job *job,
                          struct ti_args *out)
{
    ti_args_add(out, m->name);
    if (job->nodes)
        hydra_spread(job, out);
    ti_args_add_all(out, job->user, 0);
    hydra_program(job, job->np, job->program, out);
    for (int i = 0; i < job->nmore; i++) {
        ti_args_add(out, ":");
        hydra_program(job, job->more[i].np, job->more[i].words, out);
    }
}

static void open_mpi_command(const struct ti_mpirun *m, const struct ti_plan *plan,
                             const struct ti_mpirun_job *job, struct ti_args *out)
{
    static const char *const bind[] = {"bind-to", "bind-to-core", "bind-to-socket", "bind-to-none",
                                       NULL};
    bool prrte = ti_mpirun_is_prrte(m);

    ti_args_add(out, "mpirun");
    if (geteuid() == 0)
        ti_args_add(out, "--allow-run-as-root");
    ti_args_add(out, "-np");
    ti_args_addf(out, "%" PRId64, job->np);
    if (job->nodes)
        spread(m, job, out);
    else
        fold_here(m, job, out);
    if (!user_has(job->user, bind))
        ti_args_add(out, "--bind-to", "none");
    if (job->tmp)
        mca(job, out, prrte ? "--prtemca" : "--mca",
            prrte ? "prte_tmpdir_base" : "orte_tmpdir_base", job->tmp);
    if (sets_no_variables(m, job))
        ti_args_add(out, "--pmixmca", "pmdl", "^ompi");
    rank_settings(m, plan, job, out);
    add_variables(m, job, out);
    ti_args_add_all(out, job->user, 0);
    add_program(job, job->program, out);
    for (int i = 0; i < job->nmore; i++)
        add_more(m, plan, job, &job->more[i], out);
}

ti_status ti_mpirun_command(const struct ti_mpirun *m, const struct ti_plan *plan,
                            const struct ti_mpirun_job *job, struct ti_args *out,
                            struct ti_err *err)
{
    if (m->hydra)
        hydra_command(m, job, out);
    else
        open_mpi_command(m, plan, job, out);
    if (!job->env->failed && !job->wrapper->failed && ti_args_ok(out))
        return TI_OK;
    return ti_err_set(err, TI_ERR_IO, "cannot put mpirun's command together: out of memory");
}
