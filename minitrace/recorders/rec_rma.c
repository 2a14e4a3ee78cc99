/*
 * Recorders of one-sided communication.  A window is known from its creation until MPI frees it.
 * Events refer to it by number, and to ranks of the communicator it was made on.
 */
#include "minitrace/recorders/shared.h"

struct window {
    struct ti_handle handle;
    int64_t number; /* in the order in which this rank met them */
    int rank;       /* own rank in its communicator */
};

static struct ti_handles windows = TI_HANDLES(struct window);
static int64_t met;
static int keyval = MPI_KEYVAL_INVALID;

static const struct ti_mode assertions[] = {
    {MPI_MODE_NOCHECK, TI_MODE_NOCHECK},     {MPI_MODE_NOSTORE, TI_MODE_NOSTORE},
    {MPI_MODE_NOPUT, TI_MODE_NOPUT},         {MPI_MODE_NOPRECEDE, TI_MODE_NOPRECEDE},
    {MPI_MODE_NOSUCCEED, TI_MODE_NOSUCCEED},
};

static int64_t assertion(int mode)
{
    return mode ? ti_mode_of(assertions, sizeof assertions / sizeof *assertions, mode) : 0;
}

/* The window that the call made or is about to free. */
static MPI_Win window_of(const struct ti_mpi_call *c)
{
    return c->binding == TI_BINDING_C ? *(const MPI_Win *)c->newwin
                                      : PMPI_Win_f2c(*(const MPI_Fint *)c->newwin);
}

/* Called by MPI when a window is freed, by whatever call.  Its handle may then be reused. */
static int freed(MPI_Win win, int key, void *value, void *extra)
{
    (void)key;
    (void)value;
    (void)extra;
    if (ti_flags.active)
        ti_handle_forget(&windows, (uintptr_t)win);
    return MPI_SUCCESS;
}

/* Begin an event on the call's window.  If it is unknown, end the recording and return NULL. */
static const struct window *begin(struct ti_event *ev, const struct ti_mpi_call *c)
{
    const struct window *win = ti_handle_find(&windows, (uintptr_t)c->win);

    if (!win) {
        ti_stop_unknown("window");
        return NULL;
    }
    ti_event_begin(ev, TI_M_WIN);
    ev->arg[TI_F_WIN] = win->number;
    return win;
}

static int64_t peer_of(const struct window *win, int peer)
{
    return peer == MPI_PROC_NULL ? TI_NULL : (int64_t)peer - win->rank;
}

void ti_rec_win_create(struct ti_mpi_call *c)
{
    const struct ti_comm_entry *comm = ti_comm_known(c->comm);
    MPI_Win win = window_of(c);
    struct window new = {{(uintptr_t)win}, met++, 0};
    struct ti_event ev;

    if (!comm)
        return;
    new.rank = comm->rank;
    if (!ti_handle_add(&windows, &new.handle)) {
        ti_stop_recording("no memory to follow %u windows", windows.used);
        return;
    }
    if (keyval == MPI_KEYVAL_INVALID)
        PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, freed, &keyval, NULL);
    PMPI_Win_set_attr(win, keyval, NULL);
    ti_event_begin(&ev, ti_op_info(c->op)->fields);
    ev.arg[TI_F_COMM] = comm->index;
    ev.arg[TI_F_WIN] = new.number;
    ev.arg[TI_F_BYTES] = c->bytes; /* both are ignored for a dynamic window */
    ev.arg[TI_F_ESIZE] = c->unit;
    ti_emit(c, &ev, true);
}

/* Calls whose fields are those of the operation. */
void ti_rec_win_call(struct ti_mpi_call *c)
{
    uint32_t fields = ti_op_info(c->op)->fields;
    struct ti_event ev;
    const struct window *win = begin(&ev, c);

    if (!win)
        return;
    ev.mask = fields;
    if (fields & TI_M_BYTES)
        ev.arg[TI_F_BYTES] = c->bytes;
    if (fields & TI_M_PEER)
        ev.arg[TI_F_PEER] = peer_of(win, c->peer);
    if (fields & TI_M_MODE)
        ev.arg[TI_F_MODE] = assertion(c->mode);
    if (c->op == TI_OP_WIN_LOCK && c->mode2 == MPI_LOCK_EXCLUSIVE)
        ev.arg[TI_F_MODE] |= TI_MODE_EXCLUSIVE;
    ti_emit(c, &ev, false);
}

/* An unknown handle is no failure here: MPI itself checks it. */
void ti_pre_win_free(struct ti_mpi_call *c)
{
    const struct window *e = c->newwin ? ti_handle_find(&windows, (uintptr_t)window_of(c)) : NULL;

    c->held = e ? e->number : -1;
}

void ti_rec_win_free(struct ti_mpi_call *c)
{
    struct ti_event ev;

    if (c->held < 0)
        return;
    ti_event_begin(&ev, TI_M_WIN);
    ev.arg[TI_F_WIN] = c->held;
    ti_emit(c, &ev, true);
}

/* The ranks of the call's group in the window's communicator, minus `own`; *n is their number.
 * Valid until the next call.  Without memory, end the recording and return NULL. */
static const int *group_ranks(const struct ti_mpi_call *c, int own, int *n)
{
    static void *scratch;
    static size_t room;
    int *in, *out;
    MPI_Group all;

    PMPI_Group_size(c->group, n);
    if (!ti_reserve(&scratch, &room, 2 * (size_t)*n * sizeof *in + 1)) {
        ti_stop_recording("no memory for a group of %d ranks", *n);
        return NULL;
    }
    in = scratch;
    out = in + *n;
    for (int i = 0; i < *n; i++)
        in[i] = i;
    PMPI_Win_get_group(c->win, &all);
    PMPI_Group_translate_ranks(c->group, *n, in, all, out);
    PMPI_Group_free(&all);
    for (int i = 0; i < *n; i++)
        out[i] -= own;
    return out;
}

void ti_rec_win_group(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct window *win = begin(&ev, c);
    const int *ranks;
    int n;

    if (!win)
        return;
    ranks = group_ranks(c, win->rank, &n);
    if (!ranks)
        return;
    ti_event_set(&ev, TI_F_MODE, assertion(c->mode));
    ev.vec[0] = (struct ti_vec){ranks, 4, n};
    ti_emit(c, &ev, false);
}

void ti_rec_win_test(struct ti_mpi_call *c)
{
    if (*c->flag)
        ti_rec_win_call(c);
    else
        ti_poll_failed();
}

/* Begin an event of a call with an origin and a target side; false if its window is unknown. */
static bool transfer(struct ti_event *ev, const struct ti_mpi_call *c)
{
    const struct window *win = begin(ev, c);
    int64_t count = c->count, esize, esize2;

    if (!win)
        return false;
    ev->mask = TI_M_RMA2;
    if (ti_op_info(c->op)->fields & TI_M_REDOP) {
        ev->mask |= TI_M_REDOP;
        ev->arg[TI_F_REDOP] = ti_redop(c->redop);
    }
    if (ev->mask & TI_M_REDOP && ev->arg[TI_F_REDOP] == TI_REDOP_NO_OP)
        count = esize = 0; /* MPI ignores the origin, whose type may be invalid */
    else
        esize = ti_type_bytes(c->type);
    esize2 = ti_type_bytes(c->type2);
    ev->arg[TI_F_PEER] = peer_of(win, c->peer);
    ev->arg[TI_F_BYTES] = ti_bytes(count, esize);
    ev->arg[TI_F_ESIZE] = esize;
    ev->arg[TI_F_BYTES2] = ti_bytes(c->count2, esize2);
    ev->arg[TI_F_ESIZE2] = esize2;
    return true;
}

void ti_rec_rma(struct ti_mpi_call *c)
{
    struct ti_event ev;

    if (transfer(&ev, c))
        ti_emit(c, &ev, false);
}

void ti_rec_rma_request(struct ti_mpi_call *c)
{
    struct ti_event ev;

    ti_request_emit(c, ti_state.stopped || !transfer(&ev, c) ? NULL : &ev);
}

void ti_rec_rma_one(struct ti_mpi_call *c)
{
    struct ti_event ev;
    const struct window *win = begin(&ev, c);
    int64_t esize;

    if (!win)
        return;
    esize = ti_type_bytes(c->type);
    ev.mask = ti_op_info(c->op)->fields;
    ev.arg[TI_F_PEER] = peer_of(win, c->peer);
    ev.arg[TI_F_BYTES] = esize;
    ev.arg[TI_F_ESIZE] = esize;
    if (ev.mask & TI_M_REDOP)
        ev.arg[TI_F_REDOP] = ti_redop(c->redop);
    ti_emit(c, &ev, false);
}
