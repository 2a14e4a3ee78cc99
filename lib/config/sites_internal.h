/*
 * The parts of the reader of sites files (sites.h), for its own files:
 *
 *   sites_read.c    the sections of a file, and how they become sites and clusters
 *   sites_keys.c    which sections and keys there are, and what may be meant by others
 *   sites_values.c  the value of each key
 *   sites_nodes.c   the nodes of clusters
 *
 * Errors in the file become findings of `ini`, with their position; reading goes on.
 */
#ifndef TI_CONFIG_SITES_INTERNAL_H
#define TI_CONFIG_SITES_INTERNAL_H

#include "config/inifile.h"
#include "config/sites.h"

struct reading {
    struct ti_ini *ini;
    struct ti_sites *out;
    const struct ti_ini_section **site;    /* sections of the sites, in the order of out->site */
    const struct ti_ini_section **cluster; /* in the order of the file */
    int nclusters;
    const struct ti_ini_section *defaults, *target;
    bool failed; /* no memory */
};

/* A cluster while it is read. */
struct draft {
    struct reading *r;
    struct ti_cluster c; /* c.site is -1 until it is known */
    const struct ti_ini_key *nodes, *cores, *cpus, *memory, *reserve, *family, *isa;
};

/* -------------------------------------------------------- sites_keys.c -- */

/* Lists of words end with NULL. */
extern const char *const ti__site_keys[], *const ti__cluster_keys[], *const ti__target_keys[];
extern const struct ti_ini_grammar ti__sites_grammar;

/* The word of `known` that `word` may stand for: other programs call it so, or it is misspelt.
 * NULL: none. */
const char *ti__sites_nearest(const char *word, const char *const *known);

/* Report keys that are unknown or repeated. */
void ti__sites_check_keys(struct reading *r, const struct ti_ini_section *s,
                          const char *const *known);

/* ------------------------------------------------------ sites_values.c -- */

/* Parse the value of a key of clusters, or of sites. */
void ti__sites_cluster_key(struct draft *d, const struct ti_ini_key *k);
void ti__sites_site_key(struct reading *r, struct ti_site *x, const struct ti_ini_key *k);

/* ------------------------------------------------------- sites_nodes.c -- */

/* The names of all nodes, with their positions in the file. */
struct names {
    struct name {
        const char *name;
        const struct ti_ini_key *key;
        int offset; /* in the value of the key */
        int cluster;
    } * v;
    size_t n, cap;
};

/* Expand a hostlist and report its errors; with `all`, add its names to the last cluster. */
void ti__sites_hostlist(struct reading *r, struct names *all, const struct ti_ini_key *k,
                        const char *domain);

/* Report nodes that are there twice.  Sorts `all`. */
void ti__sites_find_twins(struct reading *r, struct names *all);

#endif
