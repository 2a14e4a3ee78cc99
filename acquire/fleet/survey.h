/*
 * The survey: asks all nodes for facts.  It finds out whether they can be used, and what differs
 * from the sites file or between nodes.
 */
#ifndef TI_ACQUIRE_FLEET_SURVEY_H
#define TI_ACQUIRE_FLEET_SURVEY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "acquire/fleet/fleet.h"
#include "common/err.h"

/* The facts to ask for. */
struct ti_survey_in {
    const bool *use;         /* per node: ask it; NULL: all */
    const char *program;     /* unless the sites file names another */
    json_t *more;            /* array of the names of further programs; NULL: there are none */
    const char *cwd;         /* base of relative names */
    const char *counter;     /* as on the command line */
    bool sum;                /* --threads sum */
    const char *also;        /* --also; NULL */
    const char *mpi_version; /* of our mpirun; nodes need the same */
    const char *container;   /* image that has the programs; NULL: they are in none */
    const char *hydra;       /* path of MPICH's launcher, if the program is MPICH's; else NULL */
    double limit_s;          /* timeout of an answer */
    const char *trace_base;  /* unless the sites file names another */
};

struct ti_survey_finding {
    int64_t node;
    bool fatal;  /* the node cannot be used */
    bool remote; /* because it cannot be reached or does not answer */
    char text[256];
    char hint[512];
    char detail[1024]; /* of this node only; not compared when findings are grouped */
    /* If `text` begins with a size: its value, and the index of the text behind it.  Findings
     * that differ only in similar sizes are grouped.  rest 0: text begins with no size. */
    int64_t bytes;
    int rest;
};

struct ti_survey {
    json_t **facts; /* per node; NULL: no answer */
    bool *usable;   /* per node */
    int64_t n, asked, unusable;
    struct ti_survey_finding *finding;
    int64_t nfindings;
    size_t room;
    char counter[96]; /* the counter of all usable nodes; "": they have no common one */
};

/* The folder that has the run directories of a cluster. */
const char *ti_survey_trace_base(const struct ti_cluster *c, const struct ti_survey_in *in);

/* Ask all nodes and compare their facts.  TI_OK whatever is found; TI_ERR_IO when out of memory.
 * Release with ti_survey_free(). */
ti_status ti_survey_make(struct ti_fleet *f, const struct ti_survey_in *in, struct ti_survey *s,
                         struct ti_err *err);
void ti_survey_free(struct ti_survey *s);

/* The part of ti_survey_make() that contacts no node: judge and compare the facts in s->facts,
 * except for the counter. */
void ti_survey_compare(struct ti_survey *s, const struct ti_sites *sites,
                       const struct ti_survey_in *in);

/* Add a finding. */
void ti_survey_add(struct ti_survey *s, int64_t node, bool fatal, bool remote, const char *hint,
                   const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* Print findings, one line for all nodes that have the same one, of whatever cluster; sizes that
 * differ by less than an eighth are printed as a range, and of many nodes the first are named.
 * `fatal`: only the fatal ones, else only the others. At most `most_lines` lines, with details; 0:
 * all. */
#define TI_SURVEY_LINES 28
void ti_survey_print_findings(const struct ti_survey *s, const struct ti_sites *sites, bool fatal,
                              int most_lines, FILE *out);

/* Print a table with one row per cluster: its nodes and what they are. */
void ti_survey_print_nodes(const struct ti_survey *s, const struct ti_sites *sites, FILE *out);

/* TI_OK if at most `tolerate` nodes are unusable.  Otherwise the first finding as an error:
 * TI_ERR_REMOTE if a node cannot be reached, else TI_ERR_INPUT. */
ti_status ti_survey_check(const struct ti_survey *s, const struct ti_sites *sites, int64_t tolerate,
                          struct ti_err *err);

/* Available memory of a node, at most what the sites or the scheduler grant; and its cores.  0:
 * unknown. */
int64_t ti_survey_memory(const struct ti_survey *s, const struct ti_sites *sites, int64_t node);
int ti_survey_cores(const struct ti_survey *s, const struct ti_sites *sites, int64_t node);

/* A new object with the facts of each node; NULL when out of memory. */
json_t *ti_survey_json(const struct ti_survey *s, const struct ti_sites *sites);

#endif
