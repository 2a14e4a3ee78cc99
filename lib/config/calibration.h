/*
 * Calibration files: speeds and costs of a machine's cores and of its MPI library, as numbers for
 * SimGrid.
 *
 * ti-calibrate writes one, a person may edit it, and ti-replay --calibration makes a platform and
 * SMPI's settings of it.  Its text is that of sites files (inifile.h): sections [calibration],
 * [host], [network] and [noise].  ti-calibrate(1) describes the keys.
 */
#ifndef TI_CONFIG_CALIBRATION_H
#define TI_CONFIG_CALIBRATION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

/*
 * The keys: X(section, name, kind).  All may be left out.  Kinds:
 *   TEXT      any text
 *   NUMBER    0 or more, "2.53G"
 *   WHOLE     0 or more
 *   COSTS     SimGrid's "SIZE:STARTUP:PERBYTE;...", seconds, for messages above SIZE bytes
 *   FACTORS   SimGrid's "SIZE:FACTOR;...", the same
 *   RANKS     "RANKS:VALUE;...", numbers of ranks in ascending order from 1 on, values above 0
 */
#define TI_CALIBRATION_KEYS(X)                                                                     \
    X(calibration, date, TEXT)                                                                     \
    X(calibration, nodes, TEXT)                                                                    \
    X(calibration, cpu, TEXT)                                                                      \
    X(calibration, mpi, TEXT)                                                                      \
    X(host, program, TEXT)                                                                         \
    X(host, counter, TEXT)                                                                         \
    X(host, speed, NUMBER)                                                                         \
    X(host, deviation, NUMBER)                                                                     \
    X(host, folding, WHOLE)                                                                        \
    X(host, folded_speed, NUMBER)                                                                  \
    X(host, folded_deviation, NUMBER)                                                              \
    X(host, speeds, RANKS)                                                                         \
    X(network, within, TEXT)                                                                       \
    X(network, bandwidth, NUMBER)                                                                  \
    X(network, latency, NUMBER)                                                                    \
    X(network, eager, WHOLE)                                                                       \
    X(network, os, COSTS)                                                                          \
    X(network, ois, COSTS)                                                                         \
    X(network, or, COSTS)                                                                          \
    X(network, bandwidth_factor, FACTORS)                                                          \
    X(network, latency_factor, FACTORS)                                                            \
    X(network, shared, RANKS)                                                                      \
    X(network, copy, NUMBER)                                                                       \
    X(noise, burst, NUMBER)                                                                        \
    X(noise, core, NUMBER)                                                                         \
    X(noise, node, NUMBER)                                                                         \
    X(noise, cores, WHOLE)                                                                         \
    X(noise, nodes, WHOLE)

struct ti_calibration {
    /* If the file lacks a key, its text is NULL and its number -1. */
    struct {
        char *date, *nodes, *cpu, *mpi;
    } calibration;
    struct {
        char *program, *counter; /* that the speed was measured with */
        double speed, deviation; /* volume a second of a core */
        int64_t folding;         /* ranks on a core when the next two were measured */
        double folded_speed, folded_deviation;
        char *speeds; /* volume a second of a core while so many ranks of the host compute */
    } host;
    struct {
        char *within;              /* "node": two ranks on one node; "cluster": on two nodes */
        double bandwidth, latency; /* bytes a second, and seconds, between these ranks */
        int64_t eager;             /* eager limit: bytes of the largest message that is sent before
                                    * its receive is posted */
        char *os, *ois, * or, *bandwidth_factor, *latency_factor;
        char *shared; /* bytes a second of all messages within a host, while so many of its ranks
                       * exchange messages */
        double copy;  /* bytes a second that a rank copies within its memory */
    } network;
    struct {
        /* Standard deviations of the time of a burst, relative to its mean: of the bursts of one
         * core, of the cores of one node, of nodes. */
        double burst, core, node;
        int64_t cores, nodes; /* that were measured */
    } noise;
};

/* Set all keys to "no value". */
void ti_calibration_init(struct ti_calibration *c);
void ti_calibration_free(struct ti_calibration *c);

/*
 * Read a file into *out, which ti_calibration_free() releases, after errors too.  TI_ERR_IO, or
 * TI_ERR_INPUT with "FILE:LINE:COLUMN: what is wrong".  Up to 20 further findings go to `more`, as
 * with ti_sites_read() (may be NULL).
 */
ti_status ti_calibration_read(const char *path, struct ti_calibration *out, char **more,
                              struct ti_err *err);

/*
 * Write the keys that have a value.  `title`, lines of text, becomes a comment at the top.  "-" is
 * stdout.  Characters that a value cannot have become '?'.  TI_ERR_IO.
 */
ti_status ti_calibration_write(const char *path, const struct ti_calibration *c, const char *title,
                               struct ti_err *err);

/*
 * Whether `text` is a list in SimGrid's syntax with `values` values (1 or 2) after each size. Sizes
 * are whole, ascending and below 2^31; values are finite and 0 or more.
 */
bool ti_factors_check(const char *text, int values);

/* Whether a text is of the kind RANKS. */
bool ti_ranks_check(const char *text);

/* The value of a text of the kind RANKS for a number of ranks: on the straight line between the
 * numbers beside it, beyond the first and the last the value of that. */
double ti_ranks_value(const char *text, int64_t ranks);

#endif
