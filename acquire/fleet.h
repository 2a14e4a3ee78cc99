/*
 * The nodes of a run, each with its ti-node at the end of one channel, seen
 * from here: connect all, ask all, tell all, and notice who is gone.
 */
#ifndef TI_FLEET_H
#define TI_FLEET_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "formats/sites.h"
#include "node/frame.h"
#include "remote/remote.h"

enum ti_member_state { TI_MEMBER_CONNECTING, TI_MEMBER_READY, TI_MEMBER_GONE };

struct ti_member {
    int64_t node; /* index in the sites */
    enum ti_member_state state;
    struct ti_err why; /* GONE: the cause, naming the node */
    json_t *hello;
    json_t *facts;  /* answer to "facts"; NULL */
    json_t *status; /* the latest; NULL */
    double heard;   /* when something came last, ti_now() */
    void *priv;
};

struct ti_fleet {
    const struct ti_sites *sites;
    struct ti_remote *remote;
    struct ti_member *member; /* one a node of `sites` */
    int64_t n;
    int64_t ready, gone;
};

#endif
