/*
 * What the nodes are, by asking them all: whether they can be used, and what
 * differs from what the sites file says.
 */
#ifndef TI_SURVEY_H
#define TI_SURVEY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "acquire/fleet/fleet.h"
#include "common/err.h"

/* What the nodes are asked for. */
struct ti_survey_in {
    const bool *use;         /* per node: the others are not asked, nor missed; NULL: all */
    const char *program;     /* where the sites file does not name another */
    const char *cwd;         /* where relative names start */
    const char *counter;     /* as on the command line */
    bool sum;                /* --threads sum */
    const char *also;        /* --also; NULL */
    const char *mpi_version; /* of our mpirun: the nodes need the same */
    double limit_s;          /* for a node to answer */
    const char *trace_base;  /* where the sites file names no other folder */
};

struct ti_survey_finding {
    int64_t node;
    bool fatal;  /* the node cannot be used */
    bool remote; /* for it cannot be reached, or answers nothing */
    char text[256];
    char hint[512];
    char detail[1024]; /* of this node alone; nodes with other details have the same trouble */
    /* Where `text` begins with a size, that is `bytes`, and it goes on at text[rest]: nodes
     * of which only the size differs, and little, have the same trouble.  rest 0: no size */
    int64_t bytes;
    int rest;
};

struct ti_survey {
    json_t **facts; /* per node; NULL: none came */
    bool *usable;   /* per node */
    int64_t n, asked, unusable;
    struct ti_survey_finding *finding;
    int64_t nfindings, room;
    char counter[96]; /* what counts on all usable nodes; "" if the nodes have no common one */
};

/* The base of a cluster's run directories. */
const char *ti_survey_trace_base(const struct ti_cluster *c, const struct ti_survey_in *in);

/* Ask, and compare.  TI_OK whatever it finds; release with ti_survey_free(). */
ti_status ti_survey_make(struct ti_fleet *f, const struct ti_survey_in *in, struct ti_survey *s,
                         struct ti_err *err);
void ti_survey_free(struct ti_survey *s);

/* The part of it that asks nobody: what of the facts that came is against using a node, or
 * differs from the sites file, or between nodes.  Not the counter. */
void ti_survey_compare(struct ti_survey *s, const struct ti_sites *sites,
                       const struct ti_survey_in *in);

/* One more, found later. */
void ti_survey_add(struct ti_survey *s, int64_t node, bool fatal, bool remote, const char *hint,
                   const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* Findings, one line for all nodes of a cluster that have the same, or nearly: sizes
 * within an eighth are told as a range.  Fatal ones only, or the others; at most so many
 * lines, with what is known of them; 0: all. */
#define TI_SURVEY_LINES 28
void ti_survey_print_findings(const struct ti_survey *s, const struct ti_sites *sites, bool fatal,
                              int most_lines, FILE *out);

/* A row a cluster: how many nodes, and what they are. */
void ti_survey_print_nodes(const struct ti_survey *s, const struct ti_sites *sites, FILE *out);

/* TI_OK if no more than `tolerate` nodes are unusable; else what the matter is with the
 * first: TI_ERR_REMOTE if a node is out of reach, TI_ERR_INPUT otherwise. */
ti_status ti_survey_check(const struct ti_survey *s, const struct ti_sites *sites, int64_t tolerate,
                          struct ti_err *err);

/* Memory of a node for the plan: what is available, at most what the sites or the scheduler
 * say; and its cores.  0: not known. */
int64_t ti_survey_memory(const struct ti_survey *s, const struct ti_sites *sites, int64_t node);
int ti_survey_cores(const struct ti_survey *s, const struct ti_sites *sites, int64_t node);

/* A new object: per node what it is; NULL when out of memory. */
json_t *ti_survey_json(const struct ti_survey *s, const struct ti_sites *sites);

#endif
