/* The nodes of a Slurm allocation, from the job's environment and from sinfo. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acquire/options.h"
#include "acquire/where/batch.h"
#include "acquire/where/jobs.h"
#include "common/hostlist.h"

/* A node: what was granted, and what sinfo says. */
struct granted {
    const char *name;
    int cpus;
    int all_cpus; /* installed; 0: unknown */
    int64_t all_mib;
    char kind[64]; /* its features; they name the cluster; "": none */
    int cluster;
};

struct allocation {
    const char *id, *partition;
    char **names;
    int64_t n;
    struct granted *node;
    int64_t mib_per_node, mib_per_cpu; /* 0: not limited */
    struct ti_err *err;
};

static const char *variable(const char *name)
{
    const char *v = getenv(name);

    return v && *v ? v : NULL;
}

bool ti_jobs_in_slurm(void)
{
    return variable("SLURM_JOB_ID") != NULL;
}

static ti_status malformed(struct allocation *a, const char *name, const char *value,
                           const char *why)
{
    ti_err_set(a->err, TI_ERR_INPUT, "%s is malformed: '%.100s': %s", name, value, why);
    ti_err_hint(a->err, "this is said to be Slurm job %s; --local runs on this machine alone",
                a->id);
    return TI_ERR_INPUT;
}

/* Parse "4(x3),2", the CPUs of each node. */
static ti_status read_cpus(struct allocation *a)
{
    static const char name[] = "SLURM_JOB_CPUS_PER_NODE";
    const char *text = variable(name), *p = text;
    int64_t i = 0;

    if (!text)
        return TI_OK;
    for (;;) {
        char *end;
        long cpus = strtol(p, &end, 10), times = 1;

        if (!isdigit((unsigned char)*p) || cpus < 1 || cpus > TI_SITES_CORES_MAX)
            return malformed(a, name, text, "a number of CPUs is missing");
        p = end;
        if (*p == '(') {
            if (p[1] != 'x' || !isdigit((unsigned char)p[2]))
                return malformed(a, name, text, "behind '(' comes xN)");
            times = strtol(p + 2, &end, 10);
            if (*end != ')' || times < 1)
                return malformed(a, name, text, "behind '(' comes xN)");
            p = end + 1;
        }
        for (; times > 0 && i < a->n; times--)
            a->node[i++].cpus = (int)cpus;
        if (times > 0)
            return malformed(a, name, text, "it is of more nodes than SLURM_JOB_NODELIST");
        if (!*p)
            break;
        if (*p++ != ',')
            return malformed(a, name, text, "a comma is missing");
    }
    return i == a->n ? TI_OK
                     : malformed(a, name, text, "it is of fewer nodes than SLURM_JOB_NODELIST");
}

/* Memory in MiB; 0: not set, or no limit. */
static ti_status read_mib(struct allocation *a, const char *name, int64_t *out)
{
    const char *text = variable(name);
    char *end;

    *out = 0;
    if (!text)
        return TI_OK;
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || *out > TI_SITES_MEMORY_MAX >> 20)
        return malformed(a, name, text, "it is not a number of MiB");
    return TI_OK;
}

static ti_status read_nodes(struct allocation *a)
{
    const char *name = variable("SLURM_JOB_NODELIST") ? "SLURM_JOB_NODELIST" : "SLURM_NODELIST";
    const char *text = variable(name);
    struct ti_err why = {"", ""};
    ti_status st;

    if (!text) {
        ti_err_set(a->err, TI_ERR_INPUT, "SLURM_JOB_ID is set, but SLURM_JOB_NODELIST is not");
        ti_err_hint(a->err, "--local runs on this machine alone");
        return TI_ERR_INPUT;
    }
    st = ti_hostlist_expand(text, &a->names, &a->n, NULL, &why);
    if (st == TI_ERR_INPUT)
        return malformed(a, name, text, why.text);
    if (st == TI_OK)
        a->node = calloc((size_t)a->n, sizeof *a->node);
    if (st != TI_OK || !a->node)
        return ti_err_errno(a->err, TI_ERR_IO, "cannot list the nodes of Slurm job %s", a->id);
    for (int64_t i = 0; i < a->n; i++)
        a->node[i].name = a->names[i];
    return TI_OK;
}

/* Refuse jobs that cannot be used. */
static ti_status check_job(struct allocation *a)
{
    const char *tasks = variable("SLURM_STEP_NUM_TASKS");

    for (const char *p = a->id; *p; p++)
        if (!isdigit((unsigned char)*p))
            return malformed(a, "SLURM_JOB_ID", a->id, "it is not a number");
    if (variable("SLURM_HET_SIZE") && strcmp(variable("SLURM_HET_SIZE"), "1") != 0) {
        ti_err_set(a->err, TI_ERR_INPUT, "Slurm job %s is heterogeneous, of %s parts", a->id,
                   variable("SLURM_HET_SIZE"));
        ti_err_hint(a->err, "--sites takes a file that has the nodes of all of them");
        return TI_ERR_INPUT;
    }
    /* "srun -n 4 ti-acquire" would start four runs. */
    if (variable("SLURM_PROCID") && tasks && strcmp(tasks, "1") != 0) {
        ti_err_set(a->err, TI_ERR_USAGE, "srun started %s of %s", tasks, ti_acquire_cli.tool);
        ti_err_hint(a->err,
                    "start one, without srun or by srun -n 1; --np says how many ranks there are");
        return TI_ERR_USAGE;
    }
    return TI_OK;
}

/* ----------------------------------------------------------------- sinfo -- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct granted *)a)->name, ((const struct granted *)b)->name);
}

/* Parse "node|cpus|MiB|features"; sinfo prints a node once per partition. */
static void parse_sinfo(struct allocation *a, struct granted *sorted, char *line)
{
    char *field[4] = {line}, *p = line;
    struct granted key, *found;
    size_t bytes;

    for (int i = 1; i < 4; i++) {
        p = strchr(p, '|');
        if (!p)
            return;
        *p++ = '\0';
        field[i] = p;
    }
    field[3][strcspn(field[3], "\n")] = '\0';
    key.name = field[0];
    found = bsearch(&key, sorted, (size_t)a->n, sizeof *sorted, by_name);
    if (!found)
        return;
    found->all_cpus = atoi(field[1]);
    found->all_mib = atoll(field[2]);
    if (found->all_cpus < 0 || found->all_mib < 0 || found->all_mib > TI_SITES_MEMORY_MAX >> 20)
        found->all_cpus = 0, found->all_mib = 0;
    if (strcmp(field[3], "(null)") == 0)
        return;
    bytes = strspn(field[3], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-,");
    snprintf(found->kind, sizeof found->kind, "%.*s", (int)bytes, field[3]);
    for (char *c = found->kind; *c; c++)
        if (*c == ',')
            *c = '+';
}

/* Ask sinfo for the kinds of nodes.  Optional: without an answer all nodes are alike. */
static void ask_sinfo(struct allocation *a)
{
    struct granted *sorted = malloc((size_t)a->n * sizeof *sorted);
    char *list = ti_hostlist_fold((const char *const *)a->names, a->n), *command = NULL;
    char *line = NULL;
    size_t room = 0;
    FILE *f = NULL;

    /* Safe in a shell: expanded names contain only letters, digits, '.', '_' and '-'. */
    if (sorted && list &&
        asprintf(&command, "exec sinfo -N -h -n '%s' -o '%%N|%%c|%%m|%%f' 2>/dev/null </dev/null",
                 list) >= 0)
        f = popen(command, "re");
    if (f) {
        memcpy(sorted, a->node, (size_t)a->n * sizeof *sorted);
        qsort(sorted, (size_t)a->n, sizeof *sorted, by_name);
        while (getline(&line, &room, f) >= 0)
            parse_sinfo(a, sorted, line);
        pclose(f);
        for (int64_t i = 0; i < a->n; i++) {
            struct granted *s = bsearch(&a->node[i], sorted, (size_t)a->n, sizeof *sorted, by_name);

            a->node[i].all_cpus = s->all_cpus;
            a->node[i].all_mib = s->all_mib;
            memcpy(a->node[i].kind, s->kind, sizeof s->kind);
        }
    }
    free(line);
    free(command);
    free(list);
    free(sorted);
}

/* ------------------------------------------------------------------ build -- */

static bool alike(const struct granted *x, const struct granted *y)
{
    return x->all_cpus == y->all_cpus && x->all_mib == y->all_mib && strcmp(x->kind, y->kind) == 0;
}

/* Nodes of one kind are a cluster, named by their features, else by the partition. */
static bool add_cluster(struct allocation *a, struct ti_sites *s, const struct granted *first)
{
    const char *base = first->kind[0] ? first->kind : a->partition ? a->partition : "nodes";
    char name[128];
    struct ti_cluster *c;
    int again = 1;

    snprintf(name, sizeof name, "%.100s", base);
    for (int i = 0; i < s->nclusters; i++)
        if (strcmp(s->cluster[i].name, name) == 0) {
            snprintf(name, sizeof name, "%.100s-%d", base, ++again);
            i = -1;
        }
    c = ti_sites_add_cluster(s, 0, name);
    if (!c)
        return false;
    c->cores = first->all_cpus;
    c->memory_bytes = first->all_mib << 20;
    return true;
}

static bool add_node(struct allocation *a, struct ti_sites *s, const struct granted *g)
{
    struct ti_node *node = ti_sites_add_node(s, g->name);

    if (!node)
        return false;
    node->cores = g->cpus;
    node->memory_bytes =
        a->mib_per_node ? a->mib_per_node << 20 : (a->mib_per_cpu * (g->cpus ? g->cpus : 1)) << 20;
    return true;
}

static bool build(struct allocation *a, struct ti_sites *s)
{
    const char *site = variable("SLURM_CLUSTER_NAME");
    bool *done = calloc((size_t)a->n, sizeof *done), ok;

    ok = done && ti_sites_add_site(s, site ? site : "here");
    for (int64_t i = 0; ok && i < a->n; i++) {
        if (done[i])
            continue;
        ok = add_cluster(a, s, &a->node[i]);
        for (int64_t k = i; ok && k < a->n; k++)
            if (!done[k] && alike(&a->node[i], &a->node[k])) {
                done[k] = true;
                ok = add_node(a, s, &a->node[k]);
            }
    }
    free(done);
    return ok;
}

/* Slurm's name of a node may differ from its hostname; on a node, SLURMD_NODENAME has Slurm's
 * name. */
static bool is_here(const char *node)
{
    const char *called = variable("SLURMD_NODENAME");

    return (called && strcmp(called, node) == 0) || ti_batch_is_here(node);
}

static ti_status read_job(struct allocation *a, struct ti_sites **out, char what[TI_WHERE_BYTES])
{
    struct ti_via via;
    ti_status st = check_job(a);
    char path[96];

    if (st == TI_OK)
        st = read_nodes(a);
    if (st == TI_OK)
        st = read_cpus(a);
    if (st == TI_OK)
        st = read_mib(a, "SLURM_MEM_PER_NODE", &a->mib_per_node);
    if (st == TI_OK)
        st = read_mib(a, "SLURM_MEM_PER_CPU", &a->mib_per_cpu);
    if (st != TI_OK)
        return st;
    if (a->n == 1 && is_here(a->node[0].name)) {
        snprintf(what, TI_WHERE_BYTES, "Slurm job %s: this machine alone", a->id);
        return TI_OK;
    }
    ask_sinfo(a);
    snprintf(path, sizeof path, "Slurm job %.64s", a->id);
    *out = ti_sites_new(TI_SITES_SLURM, path);
    ti_via_slurm(a->id, &via);
    if (!*out || !build(a, *out) || !ti_batch_via(*out, via.word))
        return ti_err_errno(a->err, TI_ERR_IO, "cannot list the nodes of Slurm job %s", a->id);
    snprintf(what, TI_WHERE_BYTES, "Slurm job %s%s%.100s%s, %" PRId64 " node%s", a->id,
             a->partition ? " (" : "", a->partition ? a->partition : "", a->partition ? ")" : "",
             a->n, a->n == 1 ? "" : "s");
    return TI_OK;
}

ti_status ti_jobs_slurm(struct ti_sites **out, char what[TI_WHERE_BYTES], struct ti_err *err)
{
    struct allocation a = {
        .id = variable("SLURM_JOB_ID"), .partition = variable("SLURM_JOB_PARTITION"), .err = err};
    ti_status st = read_job(&a, out, what);

    free(a.names);
    free(a.node);
    return st;
}
