#include "config/sites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"

struct ti_sites *ti_sites_new(enum ti_sites_origin origin, const char *path)
{
    struct ti_sites *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->origin = origin;
    s->path = strdup(path);
    if (s->path)
        return s;
    free(s);
    return NULL;
}

struct ti_site *ti_sites_add_site(struct ti_sites *s, const char *name)
{
    struct ti_site *x;
    char *copy = strdup(name);

    if (!copy)
        return NULL;
    s->site = ti_grow(s->site, &s->sites_cap, (size_t)s->nsites + 1, sizeof *x);
    x = &s->site[s->nsites++];
    *x = (struct ti_site){.name = copy};
    return x;
}

struct ti_cluster *ti_sites_add_cluster(struct ti_sites *s, int site, const char *name)
{
    struct ti_cluster *x;
    char *copy = strdup(name);

    if (!copy)
        return NULL;
    s->cluster = ti_grow(s->cluster, &s->clusters_cap, (size_t)s->nclusters + 1, sizeof *x);
    x = &s->cluster[s->nclusters++];
    *x = (struct ti_cluster){.name = copy, .site = site, .reserve_bytes = -1};
    return x;
}

struct ti_node *ti_sites_add_node(struct ti_sites *s, const char *name)
{
    struct ti_node *x;
    char *copy = strdup(name);

    if (!copy)
        return NULL;
    s->node = ti_grow(s->node, &s->nodes_cap, (size_t)s->nnodes + 1, sizeof *x);
    x = &s->node[s->nnodes++];
    *x = (struct ti_node){.name = copy, .cluster = s->nclusters - 1};
    return x;
}

void ti_sites_filter(struct ti_sites *s, const bool *keep)
{
    int64_t left = 0;

    for (int64_t i = 0; i < s->nnodes; i++) {
        if (!keep[i]) {
            free(s->node[i].name);
            continue;
        }
        s->node[left++] = s->node[i];
    }
    s->nnodes = left;
}

static void free_words(char **word, int n)
{
    for (int i = 0; i < n; i++)
        free(word[i]);
    free(word);
}

void ti__cluster_release(struct ti_cluster *c)
{
    free(c->name);
    free(c->cpu);
    free(c->family);
    free(c->isa);
    free(c->bandwidth);
    free(c->latency);
    free(c->program);
    free(c->trace_dir);
    free(c->tiara);
    free_words(c->env, c->nenv);
}

static void release_site(struct ti_site *x)
{
    free(x->name);
    free(x->gateway);
    free(x->domain);
    free(x->network);
    free(x->wan_bandwidth);
    free(x->wan_latency);
}

void ti_sites_free(struct ti_sites *s)
{
    int n = 0;

    if (!s)
        return;
    for (int i = 0; i < s->nsites; i++)
        release_site(&s->site[i]);
    for (int i = 0; i < s->nclusters; i++)
        ti__cluster_release(&s->cluster[i]);
    for (int64_t i = 0; i < s->nnodes; i++)
        free(s->node[i].name);
    while (s->via && s->via[n])
        n++;
    free_words(s->via, n);
    free(s->site);
    free(s->cluster);
    free(s->node);
    free(s->path);
    free(s);
}

/* --- ways of batch systems ----------------------------------------------- */

void ti_via_oar(struct ti_via *v)
{
    static const char *const words[] = {"oarsh", "{node}"};

    *v = (struct ti_via){.job = ""};
    memcpy(v->word, words, sizeof words);
}

/*
 * srun within the allocation.  --overlap and --mem=0: ti-node, mpirun's daemons and ranks share the
 * allocated resources, whatever the job's script asks for its steps.  --unbuffered: without it,
 * slurmstepd holds back output that does not end in a newline.  It makes standard output a
 * terminal, but a raw one, which leaves the bytes as they are.  --mpi=none: with a site's default,
 * mpirun's daemons may take themselves for ranks of the step.  --export=ALL: without it, after
 * "sbatch
 * --export=NONE" not even PATH is set.
 */
void ti_via_slurm(const char *id, struct ti_via *v)
{
    const char *const words[] = {"env",
                                 "-u",
                                 "SLURM_NTASKS",
                                 "-u",
                                 "SLURM_NPROCS",
                                 "-u",
                                 "SLURM_NTASKS_PER_NODE",
                                 "-u",
                                 "SLURM_CPUS_PER_TASK",
                                 "-u",
                                 "SLURM_DISTRIBUTION",
                                 "-u",
                                 "SLURM_MEM_PER_NODE",
                                 "-u",
                                 "SLURM_MEM_PER_CPU",
                                 "srun",
                                 "--overlap",
                                 v->job,
                                 "--nodelist={node}",
                                 "-N1",
                                 "-n1",
                                 "--cpu-bind=none",
                                 "--mem=0",
                                 "--mpi=none",
                                 "--export=ALL",
                                 "--unbuffered",
                                 "--chdir=/",
                                 "--quiet",
                                 "sh",
                                 "-c"};
    _Static_assert(sizeof words / sizeof *words < TI_VIA_WORDS, "there must be an end");

    memset(v->word, 0, sizeof v->word);
    memcpy(v->word, words, sizeof words);
    snprintf(v->job, sizeof v->job, "--jobid=%.40s", id);
}

static bool same_words(const char *const *a, const char *const *b)
{
    while (*a && *b && strcmp(*a, *b) == 0) {
        a++;
        b++;
    }
    return !*a && !*b;
}

/* The digits of "--jobid=DIGITS" among the words; NULL if there are none. */
static const char *job_of(const char *const *words)
{
    static const char option[] = "--jobid=";

    for (; *words; words++)
        if (strncmp(*words, option, sizeof option - 1) == 0)
            return *words + sizeof option - 1;
    return NULL;
}

bool ti_via_is_known(const char *const *words)
{
    const char *job = job_of(words);
    struct ti_via v;

    ti_via_oar(&v);
    if (same_words(words, v.word))
        return true;
    if (!job || strspn(job, "0123456789_+.") != strlen(job))
        return false;
    ti_via_slurm(job, &v);
    return same_words(words, v.word);
}
