/*
 * The living processes of a run on this machine, and their memory; looked at again and
 * again while ranks compute, so what was found out about a process is remembered: only
 * new ones cost the reading of their environment.
 */
#ifndef TI_LOAD_H
#define TI_LOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ti_load_process {
    pid_t pid;
    uint64_t born; /* its start, in clock ticks: a number may be given again */
    bool ours, seen;
    int looks; /* at one that is not ours, since its environment was read */
};

struct ti_load {
    char run_id[40];
    struct ti_load_process *process; /* by pid */
    int n, room;

    int alive;
    int64_t rss_bytes; /* what they have for themselves, in memory: shared pages are not counted */
};

/* Look.  What cannot be read is left out. */
void ti_load_update(struct ti_load *l);
void ti_load_free(struct ti_load *l);

#endif
