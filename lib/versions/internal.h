/*
 * The parts of a comparison that sites.c and phases.c share.
 */
#ifndef TI_VERSIONS_INTERNAL_H
#define TI_VERSIONS_INTERNAL_H

#include "common/map.h"
#include "common/names.h"
#include "versions/versions.h"

/* A call site of one trace. */
struct ti__own_site {
    uint32_t op;
    size_t text;     /* number in `texts` */
    size_t joint;    /* number in `joint`; SIZE_MAX while it is not known */
    size_t build;    /* number in `builds` of "module [build-id]"; SIZE_MAX: not known */
    size_t module;   /* number in `modules`; SIZE_MAX: not known */
    size_t function; /* number in `functions`: which call sites can be the same */
    size_t file;     /* number in `files` */
    int line;        /* 0: not known */
    uint64_t offset; /* in the module */
};

/* A call site of all traces: what the first trace that has it says of it. */
struct ti__joint_site {
    struct ti__own_site is;
    size_t *text; /* by trace; SIZE_MAX: it does not have it */
};

struct ti__version_node {
    uint32_t end;
    bool loop;
    size_t site;  /* of a call: number of ti_versions_site() */
    size_t phase; /* of the node; TI_VERSIONS_NONE: outside of phases */
    char *name;   /* of a loop */
};

struct ti__version_shape {
    uint32_t nnodes;
    struct ti__version_node *node;
};

struct ti__version {
    struct ti_map sites; /* (op, text) -> index in `site` */
    struct ti__own_site *site;
    size_t sites_cap;
    struct ti_map hashes; /* (hash, nodes) -> index in `shape` */
    struct ti__version_shape *shape;
    size_t shapes_cap;
    size_t *rank; /* shape of each rank that was added */
    size_t nranks, ranks_cap;
};

struct ti__phase {
    size_t around;
    char **name; /* by trace; NULL: it does not have the phase; owned */
};

struct ti_versions {
    int n; /* traces */
    struct ti_symbolizer *symbolizer;
    struct ti__version *version;
    struct ti_names texts, builds, modules, functions, files;
    struct ti__joint_site *joint;
    size_t njoint, joint_cap;
    struct ti__phase *phase;
    size_t nphases, phases_cap;
};

/* The steps of ti_versions_match(). */
void ti__versions_match_sites(struct ti_versions *v);
void ti__versions_match_phases(struct ti_versions *v);

#endif
