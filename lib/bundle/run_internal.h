/*
 * The check of a run directory, between its files.  check.c lists the files, has them scanned and
 * chooses one for each rank.  identify.c decides which run they are of.  totals.c adds up the scans
 * of the chosen files.
 */
#ifndef TI_BUNDLE_RUN_INTERNAL_H
#define TI_BUNDLE_RUN_INTERNAL_H

#include "bundle/rank_scan.h"
#include "bundle/run.h"

/* A file in the directory that is named like a rank's trace; or a rank that came merged. */
struct ti_run_file {
    char *name;
    int64_t claim; /* rank in its name */
    bool from_node; /* it came merged */
    int64_t rank;  /* rank in its header */
    int64_t nranks;
    uint8_t run_id[TI_RUN_ID_BYTES];
    enum ti_rank_state state; /* OK: may be its rank's trace */
    char *problem;            /* unless OK */
    int64_t bytes;
    uint32_t crc; /* as in struct ti_rank_scan */
};

ti_status ti__run_no_memory(const struct ti_run *run, struct ti_err *err);

/* For qsort(): by claim, what came merged first, then by name. */
int ti__by_claim(const void *a, const void *b);

/* Sets the run id and the number of ranks: those of RUN.json, else those that most files have.
 * Returns TI_ERR_INPUT if no file can be gathered, or none is of the run that RUN.json names. */
ti_status ti__run_identify(struct ti_run *run, struct ti_err *err);

/* Adds the scan of a gathered rank to the sums and the metadata. */
ti_status ti__run_add_up(struct ti_run *run, const struct ti_rank_scan *r, struct ti_err *err);

/* The index of the node in run->node, where it is added if it is new; -1: no name. */
int ti__run_node(struct ti_run *run, const char *host);

/* Sets `differ` and `counters_differ`, once all ranks are added. */
void ti__run_note_differences(struct ti_run *run);

#endif
