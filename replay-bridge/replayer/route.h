/*
 * The links between two hosts of SimGrid.
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_ROUTE_H
#define TI_REPLAY_BRIDGE_REPLAYER_ROUTE_H

#include <simgrid/host.h>
#include <simgrid/link.h>
#include <simgrid/version.h>
#if SIMGRID_VERSION < 40000
#include <xbt/dynar.h>
#endif

#include "common/map.h"

/* Returns the links from `from` to `to` as an array that NULL ends; the caller frees the array.
 * SimGrid's function of its own came with 4.0, which deprecates the one that fills an xbt_dynar. */
static inline sg_link_t *ti_route_links(const_sg_host_t from, const_sg_host_t to)
{
#if SIMGRID_VERSION >= 40000
    return (sg_link_t *)sg_host_get_route_links(from, to, NULL);
#else
    xbt_dynar_t route = xbt_dynar_new(sizeof(sg_link_t), NULL);
    sg_link_t *links = NULL;
    size_t room = 0, n;

    sg_host_get_route(from, to, route);
    n = xbt_dynar_length(route);
    links = ti_grow(NULL, &room, n + 1, sizeof *links);
    for (size_t i = 0; i < n; i++)
        links[i] = xbt_dynar_get_as(route, i, sg_link_t);
    links[n] = NULL;
    xbt_dynar_free(&route);
    return links;
#endif
}

#endif
