/*
 * The machines of a run: sites, their clusters, their nodes.  They come from a sites file
 * (tiara-sites(5)), a hostfile, or the batch job that the program runs in
 * (acquire/where/where.h).
 *
 * Unknown values are 0, "" or NULL; ti-acquire's probe of the nodes finds them out.
 */
#ifndef TI_CONFIG_SITES_H
#define TI_CONFIG_SITES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "config/host_values.h"

/* The keys of a sites file, see tiara-sites(5): X(name).  [defaults] has the keys of clusters
 * except `nodes`. */
#define TI_SITE_KEYS(X)   X(gateway) X(domain) X(network) X(wan_bandwidth) X(wan_latency)
#define TI_TARGET_KEYS(X) X(ranks_per_node)
/* clang-format off */
#define TI_CLUSTER_KEYS(X)                                                                         \
    X(site) X(nodes) X(cores) X(cpus) X(memory) X(reserve) X(cpu) X(family) X(isa) X(speed)        \
    X(bandwidth) X(latency) X(watts) X(disk) X(program) X(trace_dir) X(tiara) X(env)
/* clang-format on */

#define TI_SITES_CORES_MAX  65536
#define TI_SITES_MEMORY_MAX (INT64_C(1) << 50) /* of a node, in bytes */

struct ti_site {
    char *name;
    char *gateway; /* [USER@]HOST[:PORT] through which its nodes are reached; NULL: directly */
    char *domain;  /* appended to node names without a dot; NULL: nothing */
    char *network; /* interfaces or CIDRs for MPI, separated by commas; NULL: Open MPI's choice */
    char *wan_bandwidth; /* of its link to the wide-area network, in each direction; for replays, */
    char *wan_latency;   /* in SimGrid's notation; NULL: not given */
};

struct ti_cluster {
    char *name;
    int site;              /* index in ti_sites.site */
    int cores, cpus;       /* of a node; 0: not known */
    int64_t memory_bytes;  /* of a node, all of it; 0: not known */
    int64_t reserve_bytes; /* left for the system on each node; -1: from the command line */
    char *cpu;             /* model, for people; NULL */
    char *family;          /* as uname -m: "x86_64", "aarch64", "ppc64le"; NULL: not known */
    char *isa;             /* x86-64, or x86-64-v2 to -v4, as --isa; NULL: not known */
    double speed;    /* of a core, in instructions per second; only ratios matter; 0: not known */
    char *bandwidth; /* of a node's link; for replays, in SimGrid's notation; NULL: not given */
    char *latency;
    struct ti_watts watts; /* of a node; for replays */
    struct ti_disk disk;   /* of a node, or of all nodes of the cluster; for replays */
    char *program;         /* NULL: from the command line */
    char *trace_dir;       /* folder for traces on its nodes; NULL: from the command line */
    char *tiara;           /* folder with ti-node and libminitrace.so on its nodes; NULL: shipped */
    char **env;            /* VAR=VALUE */
    int nenv;
    size_t env_cap;
    int line; /* of the section in the file; 0 */
};

struct ti_node {
    char *name;           /* for hostfiles and SSH: the domain is appended */
    int cluster;          /* index in ti_sites.cluster */
    int64_t slots;        /* exact number of ranks, from a hostfile; 0: as planned */
    int cores;            /* granted by a scheduler; 0: as in its cluster */
    int64_t memory_bytes; /* granted by a scheduler; 0: as in its cluster */
};

enum ti_sites_origin {
    TI_SITES_FILE,
    TI_SITES_HOSTFILE,
    TI_SITES_SLURM,
    TI_SITES_OAR,
    TI_SITES_PBS,
    TI_SITES_LSF,
};

struct ti_sites {
    enum ti_sites_origin origin;
    char *path; /* of the file; or "Slurm job 1234" */
    struct ti_site *site;
    int nsites;
    struct ti_cluster *cluster;
    int nclusters;
    struct ti_node *node; /* grouped by cluster, clusters grouped by site, as in the file */
    int64_t nnodes;
    size_t sites_cap, clusters_cap, nodes_cap;
    /* [target]: ranks per node on the machine whose performance is to be predicted; 0: not given */
    int64_t target_ranks_per_node;
    /* Command that reaches a node, {node} standing for its name: "srun", ...; NULL: SSH */
    char **via;
};

/*
 * Read a sites file.  *out is set on success only.  TI_ERR_IO, or TI_ERR_INPUT with
 * "FILE:LINE:COLUMN: what is wrong" for something malformed, unknown, repeated or missing.  The
 * file is read to its end: up to 20 further findings go to *more, each with a newline; free() it.
 * There may be warnings on success, too.  *more is NULL when there are none; `more` may be NULL.
 */
ti_status ti_sites_read(const char *path, struct ti_sites **out, char **more, struct ti_err *err);

/*
 * Read a hostfile of Open MPI, "NAME [slots=N] [max_slots=N] [username=USER]", or of Hydra,
 * "NAME[:N]", with comments after '#'.  The nodes form one cluster "hosts" at one site "here".  The
 * slots of repeated names are added up; there, a line without a number counts as one.  A name on
 * one line only, without a number, has 0: not given.  A node of no slots is left out.  Only the
 * caller's own user is accepted.  `more` as above.
 */
ti_status ti_sites_read_hostfile(const char *path, struct ti_sites **out, char **more,
                                 struct ti_err *err);

void ti_sites_free(struct ti_sites *s); /* NULL is fine */

/* Free the members of a struct, not the struct. */
void ti__cluster_release(struct ti_cluster *c);
/* Build a struct ti_sites: make an empty one, and append zeroed entries with a name, which is
 * copied. ti_sites_add_node() appends to the last cluster.  NULL when memory is short. */
struct ti_sites *ti_sites_new(enum ti_sites_origin origin, const char *path);
struct ti_site *ti_sites_add_site(struct ti_sites *s, const char *name);
struct ti_cluster *ti_sites_add_cluster(struct ti_sites *s, int site, const char *name);
struct ti_node *ti_sites_add_node(struct ti_sites *s, const char *name);

/* Remove the nodes for which keep[i] is false.  Clusters and sites without nodes stay. */
void ti_sites_filter(struct ti_sites *s, const bool *keep);

/*
 * The commands with which batch systems reach the nodes of a job: NULL-terminated words, of which
 * {node} stands for the node.  Slurm's is for job `id`.
 */
#define TI_VIA_WORDS 40
struct ti_via {
    const char *word[TI_VIA_WORDS];
    char job[64];
};
void ti_via_oar(struct ti_via *v);
void ti_via_slurm(const char *id, struct ti_via *v);

/* Whether `words` is one of these commands, for any job.  ti-gather executes no others from a
 * trace. */
bool ti_via_is_known(const char *const *words);

#endif
