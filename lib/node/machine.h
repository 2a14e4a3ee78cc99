/*
 * Resources of this machine: cores, memory, limits, file systems.
 */
#ifndef TI_NODE_MACHINE_H
#define TI_NODE_MACHINE_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct ti_machine {
    char host[256];
    int cores;              /* that we may run on (affinity), or that --pin names */
    int64_t memory_bytes;   /* available to us now */
    const char *limited_by; /* "free memory" or "the memory limit of our control group" */
    int64_t total_bytes;    /* of the machine */
    int64_t swap_bytes;
    int64_t processes; /* that we may still start; INT64_MAX: no limit known */
};

/* `root` stands before /proc and /sys: "" but in tests. */
ti_status ti_machine_read(const char *root, struct ti_machine *m, struct ti_err *err);

/* Bytes swapped out since the machine started; 0: not known. */
int64_t ti_machine_swapped_out(void);

/* The processor's model, for people; "" if not known. */
void ti_machine_cpu(char *buf, size_t bytes);

/* The level of its instruction set: "x86-64", "x86-64-v2", ..., "armv8-a", "unknown". */
const char *ti_machine_isa(void);

/* Available memory, including swap; INT64_MAX: not known. */
int64_t ti_machine_room(void);

/* Parse "0-3,8" into a set.  TI_ERR_USAGE if it is no list, or names a core that we may not run on.
 */
ti_status ti_machine_pin(const char *list, cpu_set_t *set, int *cores, struct ti_err *err);

/* Free bytes for us below `path`; -1 if not known. */
int64_t ti_disk_free(const char *path);

/* Whether `path` is on a file system of other machines (NFS, Lustre, ...). */
bool ti_disk_is_remote(const char *path);

#endif
