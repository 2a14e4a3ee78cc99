/*
 * Hosts of the simulated platform.
 */
#ifndef TI_REPLAY_BRIDGE_PLATFORM_HOSTS_H
#define TI_REPLAY_BRIDGE_PLATFORM_HOSTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

struct ti_hosts {
    struct ti_host {
        char *name;
        int64_t slots; /* ranks that may run on it */
        int64_t cores; /* 0: not known */
        int site;      /* index in the sites file, 0 if there is none */
        int line;      /* of the hostfile, 0 if there is none */
    } *list;
    size_t n, cap;
};

/* Appends a host with one slot; the name is copied. */
void ti_hosts_add(struct ti_hosts *hosts, const char *name, int64_t cores);

/* The `n` hosts of a generated platform, with one slot each. */
void ti_hosts_generated(struct ti_hosts *hosts, int64_t n, int64_t cores);

/* Reads a hostfile: one "name" or "name:slots" per line; '#' starts a comment; "-" is standard
 * input.  TI_ERR_IO, or TI_ERR_INPUT "hosts.txt:3: ...". */
ti_status ti_hosts_read(const char *path, struct ti_hosts *hosts, struct ti_err *err);

/* The same for a file of another kind, which error messages call `what`. */
ti_status ti_hosts_read_file(const char *path, const char *what, struct ti_hosts *hosts,
                             struct ti_err *err);

/*
 * The hosts that an XML platform names, in the order of the file, one slot each: <host>, and the
 * radicals of <cluster> and <cabinet>.  XML entities are not expanded.  *sure is false if the file
 * has elements that may define further hosts.  TI_ERR_IO if the file cannot be read.
 */
ti_status ti_hosts_in_platform(const char *path, struct ti_hosts *hosts, bool *sure,
                               struct ti_err *err);

/* Checks that each host of `used` is in `known`, and copies its cores and site from there.
 * TI_ERR_INPUT names the first host that is not.  `path` is the hostfile, for messages. */
ti_status ti_hosts_known(struct ti_hosts *used, const struct ti_hosts *known, const char *path,
                         struct ti_err *err);

/* Minimum over the hosts of cores per slot; 0: less than one, or not known. */
int64_t ti_hosts_cores_a_rank(const struct ti_hosts *hosts);

int64_t ti_hosts_slots(const struct ti_hosts *hosts);
void ti_hosts_free(struct ti_hosts *hosts);

/* TI_ERR_INPUT if there are fewer slots than ranks. */
ti_status ti_hosts_enough(const struct ti_hosts *hosts, int64_t np, struct ti_err *err);

#endif
