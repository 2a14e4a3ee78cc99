/*
 * The living processes of a run on this machine, and their memory.  Updates are repeated while
 * ranks compute and must be cheap: results are kept per process, and only new processes have their
 * environment read.
 */
#ifndef TI_NODE_LOAD_H
#define TI_NODE_LOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ti_load_process {
    pid_t pid;
    uint64_t born; /* start time, in clock ticks: pids are used again */
    bool ours, seen;
    int looks; /* updates since its environment was read, if it is not ours */
};

struct ti_load {
    char run_id[40];
    struct ti_load_process *process; /* by pid */
    int n;
    size_t room;

    int alive;
    int64_t rss_bytes; /* their private memory; shared pages are not counted */
};

/* Update `alive` and `rss_bytes`.  Processes that cannot be read are left out. */
void ti_load_update(struct ti_load *l);
void ti_load_free(struct ti_load *l);

#endif
