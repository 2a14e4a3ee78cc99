/*
 * What there is to run on: sites, clusters, nodes.  From a sites file
 * (tiara-sites(5)), an Open MPI hostfile, or the job one is in
 * (acquire/where/where.h); the same struct whatever it came from.
 *
 * What is not known is 0, "" or NULL: the probe finds out.
 */
#ifndef TI_SITES_H
#define TI_SITES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/* The keys of a sites file, see tiara-sites(5): X(name).  [defaults] has those of clusters,
 * but for `nodes`. */
#define TI_SITE_KEYS(X)   X(gateway) X(domain) X(network) X(wan_bandwidth) X(wan_latency)
#define TI_TARGET_KEYS(X) X(ranks_per_node)
/* clang-format off */
#define TI_CLUSTER_KEYS(X)                                                                         \
    X(site) X(nodes) X(cores) X(cpus) X(memory) X(reserve) X(cpu) X(family) X(isa) X(speed)        \
    X(bandwidth) X(latency) X(program) X(trace_dir) X(tiara) X(env)
/* clang-format on */

#define TI_SITES_CORES_MAX  65536
#define TI_SITES_MEMORY_MAX (INT64_C(1) << 50) /* of a node, in bytes */

struct ti_site {
    char *name;
    char *gateway; /* [USER@]HOST[:PORT] through which its nodes are reached; NULL: directly */
    char *domain;  /* appended to node names without a dot; NULL: nothing */
    char *network; /* interfaces or CIDRs for MPI, separated by commas; NULL: Open MPI's choice */
    char *wan_bandwidth; /* for replays, as SimGrid writes it: of its link to the wide-area */
    char *wan_latency;   /* network, in each direction; NULL: not said */
};

struct ti_cluster {
    char *name;
    int site;              /* index in ti_sites.site */
    int cores, cpus;       /* of a node; 0: not known */
    int64_t memory_bytes;  /* of a node, all of it; 0: not known */
    int64_t reserve_bytes; /* left for the system on each node; -1: as the command line says */
    char *cpu;             /* model, for people; NULL */
    char *family;          /* as uname -m: "x86_64", "aarch64", "ppc64le"; NULL: not known */
    char *isa;             /* x86-64, or x86-64-v2 to -v4, as --isa; NULL: not known */
    double speed;    /* of a core, in instructions per second; only ratios matter; 0: not known */
    char *bandwidth; /* for replays, as SimGrid writes it: of a node's link; NULL: not said */
    char *latency;
    char *program;   /* instead of the command line's; NULL */
    char *trace_dir; /* where its nodes write; NULL: as the command line says */
    char *tiara;     /* folder with ti-node and libminitrace.so on its nodes; NULL: shipped */
    char **env;      /* VAR=VALUE */
    int nenv;
    int line; /* of the section in the file; 0 */
};

struct ti_node {
    char *name;           /* as hostfiles and SSH have it: domain appended */
    int cluster;          /* index in ti_sites.cluster */
    int64_t slots;        /* a hostfile's: so many ranks, neither more nor fewer; 0: as planned */
    int cores;            /* as granted to us by a scheduler; 0: its cluster's */
    int64_t memory_bytes; /* as granted to us by a scheduler; 0: its cluster's */
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
    /* [target]: ranks a node has on the machine to be foretold; 0: not said */
    int64_t target_ranks_per_node;
    /* How nodes are reached instead of SSH, {node} standing for the name: "srun", ...; NULL: SSH */
    char **via;
};

/*
 * Read a sites file.  *out is set on success only.  TI_ERR_IO, or TI_ERR_INPUT
 * with "FILE:LINE:COLUMN: what is wrong" for what is malformed, unknown, given
 * twice or missing.  It is read to the end: up to 20 further findings, and warnings, which
 * there may be on success too, go to `more`, one a line with a newline behind (may be NULL;
 * set to NULL when there are none; free() it).
 */
ti_status ti_sites_read(const char *path, struct ti_sites **out, char **more, struct ti_err *err);

/*
 * An Open MPI hostfile: "NAME [slots=N] [max_slots=N]", '#' comments; one cluster
 * "hosts" at one site "here".  A name given several times adds its slots; a line without
 * slots= counts one then, and leaves the slots open (0) where it is the only one.
 */
ti_status ti_sites_read_hostfile(const char *path, struct ti_sites **out, struct ti_err *err);

void ti_sites_free(struct ti_sites *s); /* NULL is fine */

/* What one of them holds. */
void ti__cluster_release(struct ti_cluster *c);
void ti__site_release(struct ti_site *s);

/* For those that build one: grow by a zeroed entry; NULL when memory is short.  Names are
 * copied.  ti_sites_add_node() appends to the last cluster only. */
struct ti_sites *ti_sites_new(enum ti_sites_origin origin, const char *path);
struct ti_site *ti_sites_add_site(struct ti_sites *s, const char *name);
struct ti_cluster *ti_sites_add_cluster(struct ti_sites *s, int site, const char *name);
struct ti_node *ti_sites_add_node(struct ti_sites *s, const char *name);

/* Remove the nodes for which keep[i] is false; clusters and sites left without
 * nodes stay. */
void ti_sites_filter(struct ti_sites *s, const bool *keep);

/*
 * How batch systems let their nodes be reached, as words of a command, {node} for the node;
 * NULL ends them.  That of Slurm is for the job `id`.
 */
#define TI_VIA_WORDS 40
struct ti_via {
    const char *word[TI_VIA_WORDS];
    char job[64];
};
void ti_via_oar(struct ti_via *v);
void ti_via_slurm(const char *id, struct ti_via *v);

/* Whether it is one of these, of any job: nothing else is executed by it. */
bool ti_via_is_known(const char *const *words);

#endif
