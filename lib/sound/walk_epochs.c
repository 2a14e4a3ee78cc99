#include "sound/walk_internal.h"

/* Epochs that are open on a window; LOCKED is that of one target. */
enum epoch { FENCED, STARTED, POSTED, LOCKED, ALL_LOCKED };

/* The calls that begin epochs, and those that end them. */
static const struct {
    uint32_t op;
    enum epoch epoch;
    const char *begun_by; /* the call that must have begun the epoch; NULL: this call begins one */
} calls[] = {
    {TI_OP_WIN_FENCE, FENCED, NULL},
    {TI_OP_WIN_START, STARTED, NULL},
    {TI_OP_WIN_COMPLETE, STARTED, "MPI_Win_start"},
    {TI_OP_WIN_POST, POSTED, NULL},
    {TI_OP_WIN_WAIT, POSTED, "MPI_Win_post"},
    {TI_OP_WIN_TEST, POSTED, "MPI_Win_post"},
    {TI_OP_WIN_LOCK, LOCKED, NULL},
    {TI_OP_WIN_UNLOCK, LOCKED, "MPI_Win_lock of its target"},
    {TI_OP_WIN_LOCK_ALL, ALL_LOCKED, NULL},
    {TI_OP_WIN_UNLOCK_ALL, ALL_LOCKED, "MPI_Win_lock_all"},
};

static bool is_open(const struct ti_walk *w, int64_t window, enum epoch epoch, int64_t target)
{
    int64_t at = ti_map_find(&w->epochs, window, epoch, target, 0);

    return at >= 0 && w->open[at];
}

static void set_open(struct ti_walk *w, int64_t window, enum epoch epoch, int64_t target, bool open)
{
    int64_t at = -1;

    if (TI_ROOM(w->open, &w->open_cap, w->epochs.n + 1))
        at = ti_map_put(&w->epochs, window, epoch, target, 0);
    w->no_memory |= at < 0;
    if (at >= 0)
        w->open[at] = open;
}

void ti__walk_epoch(struct ti_walk *w, struct ti_step *step)
{
    const struct ti_event *ev = &step->ev;
    int64_t window = ev->arg[TI_F_WIN], target = ev->arg[TI_F_PEER];

    if (ev->op == TI_OP_PCONTROL && ev->arg[TI_F_LEVEL] == 0)
        w->epochs_hidden = true;
    if (!(ev->mask & TI_M_WIN) || w->epochs_hidden || step->why[0])
        return;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (calls[i].op != ev->op)
            continue;
        if (calls[i].begun_by && !is_open(w, window, calls[i].epoch, target))
            ti__walk_wrong(step, "it ends an epoch that no %s began", calls[i].begun_by);
        set_open(w, window, calls[i].epoch, target, !calls[i].begun_by);
    }
    if ((ti_op_is(ev->op, TI_T_PUTS) || ti_op_is(ev->op, TI_T_GETS)) && target != TI_NULL &&
        !is_open(w, window, FENCED, 0) && !is_open(w, window, STARTED, 0) &&
        !is_open(w, window, ALL_LOCKED, 0) && !is_open(w, window, LOCKED, target))
        ti__walk_wrong(step, "no epoch of window %lld is open", (long long)window);
}
