/*
 * Power and disk of the hosts of a simulated platform, as options of ti-replay and sites files give
 * them, and how they stand in SimGrid's platforms.
 */
#ifndef TI_CONFIG_HOST_VALUES_H
#define TI_CONFIG_HOST_VALUES_H

#include <stdbool.h>

#include "common/err.h"

/* The power of a host in watts: if no core computes, and if all do. */
struct ti_watts {
    bool given;
    double idle, full;
};

/* A disk, or the file system of several hosts: a read or a write of N bytes alone takes
 * latency_s + N / bandwidth.  Accesses at the same time share the bandwidth equally. */
struct ti_disk {
    double bandwidth; /* in bytes per second; 0: there is no disk */
    double latency_s;
    bool shared; /* one for all hosts, not one for each */
};

#define TI_VALUES_TEXT_BYTES 96

/* Parse "IDLE,FULL", watts that may end with W, and "BANDWIDTH,LATENCY[,shared]", with SimGrid's
 * units.  TI_ERR_USAGE, with a hint; `what` names the option or key. */
ti_status ti_watts_parse(const char *text, const char *what, struct ti_watts *out,
                         struct ti_err *err);
ti_status ti_disk_parse(const char *text, const char *what, struct ti_disk *out,
                        struct ti_err *err);

/* In words: "100 to 200 W", "500 MB/s, 1 ms, shared".  Return `buf`. */
char *ti_watts_text(const struct ti_watts *w, char buf[TI_VALUES_TEXT_BYTES]);
char *ti_disk_text(const struct ti_disk *d, char buf[TI_VALUES_TEXT_BYTES]);

/*
 * SimGrid's plugin host_energy reads this property of hosts.
 *
 * A disk is a host of its own, which computes a byte as a flop: SimGrid lets computations share a
 * core equally, and lets ranks of all hosts start them without waiting.  Its name is this prefix
 * and the name of the host that it belongs to.  Hosts that share a disk have its name in a
 * property.  The latency is a property of the disk, in seconds.
 */
#define TI_WATTS_PROPERTY   "wattage_per_state"
#define TI_DISK_PREFIX      "disk:"
#define TI_DISK_PROPERTY    "disk"
#define TI_LATENCY_PROPERTY "latency"

#endif
