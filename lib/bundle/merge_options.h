/*
 * The options of ti-gather that say how ranks are merged; ti-acquire passes them on.
 */
#ifndef TI_BUNDLE_MERGE_OPTIONS_H
#define TI_BUNDLE_MERGE_OPTIONS_H

#include "common/args.h"
#include "event/quality.h"

struct ti_merge_options {
    enum { TI_MERGE_AUTO, TI_MERGE_NONE, TI_MERGE_ROOT, TI_MERGE_NODE } how;
    const char *volumes, *extras; /* as they were given; NULL: they were not */
    struct ti_qualities quality;  /* of both; set by ti_merge_options_check() */
};

#define TI_MERGE_WORDS "auto none root node"
#define TI_MERGE_HELP                                                                              \
    "what the bundle holds: none (a file for each rank),\n"                                        \
    "root (all ranks in one merged trace), node (the same,\n"                                      \
    "and nodes merge their ranks before they send them), or\n"                                     \
    "auto (root if all ranks are complete, else none)\n"                                           \
    "[default: auto]"

/* Checks the options and sets `quality`.  TI_ERR_USAGE. */
ti_status ti_merge_options_check(struct ti_merge_options *o, struct ti_err *err);

/* Adds the options that were given to a command line. */
void ti_merge_options_add(const struct ti_merge_options *o, struct ti_args *args);

#endif
