/*
 * The command line of ti-gather.
 */
#ifndef TI_GATHER_OPTIONS_H
#define TI_GATHER_OPTIONS_H

#include <stdbool.h>

#include "bundle/merge_options.h"
#include "common/cli.h"
#include "gather/fetch/fetch.h"
#include "gather/fetch/tree.h"

struct ti_gather_options {
    const char *run, *dot;
    const char *output;
    char *made_output; /* the default of `output`, allocated; NULL: it was given */
    struct ti_merge_options merge;
    bool force, plan, remove, quiet, verbose, json;
    enum ti_progress_form progress;
    struct ti_tree_costs costs;
    struct ti_fetch_settings fetch; /* .costs is that above: never copy this */
};

extern const struct ti_cli ti_gather_cli;

/* Without any option. */
void ti_gather_options_default(struct ti_gather_options *o);

/* Returns TI_CLI_END, or the exit status as ti_cli_parse() does. */
int ti_gather_options_parse(int argc, char **argv, struct ti_gather_options *o);

#endif
