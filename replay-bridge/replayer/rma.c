/*
 * One-sided communication.
 *
 * A trace does not say where in a window a call reads or writes: every call works on the start of
 * it.  A dynamic window has memory of its own for that, beside what the program attached.
 */
#include <limits.h>
#include <stdlib.h>

#include "common/map.h"
#include "replay-bridge/replayer/engine.h"
#include "replay-bridge/replayer/functions.h"
#include "replay-bridge/replayer/profile.h"

#define DYNAMIC_BYTES ((size_t)64 << 20) /* memory of a dynamic window; is not touched unasked */

static struct ti_replay_window *window_at(struct ti_replayer *p, const struct ti_event *ev)
{
    int64_t number = ev->arg[TI_F_WIN];

    if (number < 0 || (size_t)number >= p->nwindows || p->window[number].handle == MPI_WIN_NULL)
        ti_replay_fail(p, TI_ERR_INPUT, "window %lld does not exist", (long long)number);
    return &p->window[number];
}

/* Rank of the partner in the window's communicator. */
static int target_of(const struct ti_replayer *p, const struct ti_replay_window *w, int64_t delta)
{
    if (delta == TI_NULL)
        return MPI_PROC_NULL;
    if (delta < -w->of.rank || delta >= w->of.peers - w->of.rank)
        ti_replay_fail(p, TI_ERR_INPUT, "its partner is no rank of the window");
    return (int)(w->of.rank + delta);
}

static int assertions(int64_t mode)
{
    return (mode & TI_MODE_NOCHECK ? MPI_MODE_NOCHECK : 0) |
           (mode & TI_MODE_NOSTORE ? MPI_MODE_NOSTORE : 0) |
           (mode & TI_MODE_NOPUT ? MPI_MODE_NOPUT : 0) |
           (mode & TI_MODE_NOPRECEDE ? MPI_MODE_NOPRECEDE : 0) |
           (mode & TI_MODE_NOSUCCEED ? MPI_MODE_NOSUCCEED : 0);
}

/* ---- windows ---- */

#if SIMULATED

/* All kinds of windows use the shared buffer: windows allocated by SMPI would need memory for each
 * rank. */
static void make_window(struct ti_replayer *p, const struct ti_event *ev,
                        struct ti_replay_window *w)
{
    size_t bytes = ev->op == TI_OP_WIN_CREATE_DYNAMIC ? INT_MAX : (size_t)ev->arg[TI_F_BYTES];
    int unit = ev->op == TI_OP_WIN_CREATE_DYNAMIC ? 1 : (int)ev->arg[TI_F_ESIZE];

    ti_replay_must(p, MPI_Win_create(ti_engine_recv_buffer(p, bytes + 1), (MPI_Aint)bytes, unit,
                                     MPI_INFO_NULL, w->of.handle, &w->handle));
}

#else

/* Exchanges the sizes of the ranks' memory. */
static void share_sizes(struct ti_replayer *p, struct ti_replay_window *w, size_t bytes)
{
    MPI_Aint own = (MPI_Aint)bytes;
    size_t none = 0;

    w->bytes = ti_grow(NULL, &none, (size_t)w->of.peers, sizeof *w->bytes);
    ti_replay_must(p, PMPI_Allgather(&own, 1, MPI_AINT, w->bytes, 1, MPI_AINT, w->of.handle));
}

/* Exchanges the addresses of the ranks' memory. */
static void share_addresses(struct ti_replayer *p, struct ti_replay_window *w)
{
    size_t none = 0;
    MPI_Aint own;

    ti_replay_must(p, PMPI_Win_attach(w->handle, w->memory, DYNAMIC_BYTES));
    ti_replay_must(p, PMPI_Get_address(w->memory, &own));
    w->address = ti_grow(NULL, &none, (size_t)w->of.peers, sizeof *w->address);
    ti_replay_must(p, PMPI_Allgather(&own, 1, MPI_AINT, w->address, 1, MPI_AINT, w->of.handle));
}

static void make_window(struct ti_replayer *p, const struct ti_event *ev,
                        struct ti_replay_window *w)
{
    size_t bytes = (size_t)ev->arg[TI_F_BYTES], none = 0;
    int unit = (int)ev->arg[TI_F_ESIZE];
    void *base;

    if (ev->op == TI_OP_WIN_ALLOCATE) {
        ti_replay_must(p, MPI_Win_allocate((MPI_Aint)bytes, unit, MPI_INFO_NULL, w->of.handle,
                                           &base, &w->handle));
    } else if (ev->op == TI_OP_WIN_ALLOCATE_SHARED) {
        ti_replay_must(p, MPI_Win_allocate_shared((MPI_Aint)bytes, unit, MPI_INFO_NULL,
                                                  w->of.handle, &base, &w->handle));
    } else if (ev->op == TI_OP_WIN_CREATE) {
        w->memory = ti_grow(NULL, &none, bytes + 1, 1);
        ti_replay_must(p, MPI_Win_create(w->memory, (MPI_Aint)bytes, unit, MPI_INFO_NULL,
                                         w->of.handle, &w->handle));
    } else {
        w->memory = ti_grow(NULL, &none, DYNAMIC_BYTES, 1);
        ti_replay_must(p, MPI_Win_create_dynamic(MPI_INFO_NULL, w->of.handle, &w->handle));
        share_addresses(p, w);
        bytes = DYNAMIC_BYTES;
    }
    share_sizes(p, w, bytes);
}

#endif

void replay_win_create(struct ti_replayer *p, const struct ti_event *ev)
{
    const struct ti_replay_comm *c = ti_replay_comm(p, ev->arg[TI_F_COMM]);
    struct ti_replay_window *w = TI_REPLAY_AT(p, window, nwindows, windows_room, ev->arg[TI_F_WIN]);

    *w = (struct ti_replay_window){.of = *c};
    ti_profile_window(p, w);
    make_window(p, ev, w);
    ti_replay_must(p, PMPI_Win_set_errhandler(w->handle, MPI_ERRORS_RETURN));
}

void replay_win_attach(struct ti_replayer *p, const struct ti_event *ev)
{
#if SIMULATED
    (void)p;
    (void)ev;
#else
    struct ti_replay_window *w = window_at(p, ev);
    size_t none = 0, known = p->nattached;

    /* The trace does not say which memory is detached; take the memory attached last. */
    if (ev->op == TI_OP_WIN_ATTACH) {
        struct ti_replay_attached *a = TI_REPLAY_AT(p, attached, nattached, attached_room, known);

        a->window = ev->arg[TI_F_WIN];
        a->memory = ti_grow(NULL, &none, (size_t)ev->arg[TI_F_BYTES] + 1, 1);
        ti_replay_must(p, MPI_Win_attach(w->handle, a->memory, (MPI_Aint)ev->arg[TI_F_BYTES]));
        return;
    }
    for (size_t i = p->nattached; i-- > 0;)
        if (p->attached[i].memory && p->attached[i].window == ev->arg[TI_F_WIN]) {
            ti_replay_must(p, MPI_Win_detach(w->handle, p->attached[i].memory));
            free(p->attached[i].memory);
            p->attached[i].memory = NULL;
            return;
        }
#endif
}

void replay_win_set_info(struct ti_replayer *p, const struct ti_event *ev)
{
    MPI_Info info;

    if (SIMULATED)
        return;
    ti_replay_must(p, PMPI_Info_create(&info));
    ti_replay_must(p, MPI_Win_set_info(window_at(p, ev)->handle, info));
    ti_replay_must(p, PMPI_Info_free(&info));
}

void replay_win_free(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_replay_window *w = window_at(p, ev);

    ti_replay_must(p, MPI_Win_free(&w->handle));
    w->handle = MPI_WIN_NULL;
    free(w->memory);
    free(w->address);
    free(w->bytes);
    w->memory = NULL;
    w->address = w->bytes = NULL;
}

/* ---- transfers ---- */

/* One side of a transfer. */
struct side {
    int count;
    MPI_Datatype type;
    size_t bytes;
};

static struct side side(struct ti_replayer *p, int64_t bytes, int64_t esize)
{
    struct side s = {.bytes = (size_t)bytes};

    s.count = ti_replay_count(p, TI_ELEMENTS_DATA, bytes, esize, &s.type);
    return s;
}

/* In an accumulation both sides are composed of one predefined datatype, valid for the operation.
 */
static MPI_Op operation(struct ti_replayer *p, const struct ti_event *ev, struct side *origin,
                        struct side *target)
{
    int64_t esize = ev->arg[TI_F_ESIZE],
            esize2 = ev->mask & TI_M_BYTES2 ? ev->arg[TI_F_ESIZE2] : esize;
    int64_t basic = esize && esize < esize2 ? esize : esize2;
    MPI_Datatype type = MPI_BYTE;
    MPI_Op op;

    if (SIMULATED) /* SMPI accepts any datatype, with the same time */
        return ev->arg[TI_F_REDOP] == TI_REDOP_NO_OP ? MPI_NO_OP : MPI_REPLACE;
    type = ti_replay_type(p, basic);
    op = ti_replay_op(p, ev->arg[TI_F_REDOP], basic, &type);
    if (basic && esize2 % basic == 0)
        target->type = esize2 == basic ? type : ti_replay_contiguous(p, esize2 / basic, type);
    if (basic && esize % basic == 0)
        origin->type = esize == basic ? type : ti_replay_contiguous(p, esize / basic, type);
    return op == p->op[0] || op == p->op[1] ? MPI_REPLACE : op; /* a user's is not allowed */
}

/* MPI_Pcontrol(0) may have hidden the call that opened the epoch of a transfer. */
static void open_epoch(struct ti_replayer *p, struct ti_replay_window *w)
{
    if (w->epochs)
        return;
    w->epochs = 1;
    ti_replay_must(p, PMPI_Win_lock_all(0, w->handle));
}

void replay_transfer(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_replay_window *w = window_at(p, ev);
    int target = target_of(p, w, ev->arg[TI_F_PEER]);
    struct side o = side(p, ev->arg[TI_F_BYTES], ev->arg[TI_F_ESIZE]),
                t = ev->mask & TI_M_BYTES2 ? side(p, ev->arg[TI_F_BYTES2], ev->arg[TI_F_ESIZE2])
                                           : o;
    MPI_Op op = ev->mask & TI_M_REDOP ? operation(p, ev, &o, &t) : MPI_OP_NULL;
    size_t most = o.bytes > t.bytes ? o.bytes : t.bytes;
    void *in = ti_engine_recv_buffer(p, most);
    void *out = ti_engine_send_buffer(p, most);
    MPI_Aint at = w->address && target >= 0 ? w->address[target] : 0;
    struct ti_replay_request *q = ev->mask & TI_M_REQ ? ti_replay_new_request(p) : NULL;

    if (w->bytes && target >= 0 && t.bytes > (size_t)w->bytes[target])
        ti_replay_fail(p, TI_ERR_INPUT, "its target's window has %lld bytes only",
                       (long long)w->bytes[target]);
    open_epoch(p, w);
#define ORIGIN o.count, o.type
#define TARGET target, at, t.count, t.type
    if (q)
        q->active = true;
    ti_replay_must(
        p, ev->op == TI_OP_PUT          ? MPI_Put(out, ORIGIN, TARGET, w->handle)
           : ev->op == TI_OP_GET        ? MPI_Get(in, ORIGIN, TARGET, w->handle)
           : ev->op == TI_OP_ACCUMULATE ? MPI_Accumulate(out, ORIGIN, TARGET, op, w->handle)
           : ev->op == TI_OP_RPUT       ? MPI_Rput(out, ORIGIN, TARGET, w->handle, q->handle)
           : ev->op == TI_OP_RGET       ? MPI_Rget(in, ORIGIN, TARGET, w->handle, q->handle)
           : ev->op == TI_OP_RACCUMULATE
               ? MPI_Raccumulate(out, ORIGIN, TARGET, op, w->handle, q->handle)
           : ev->op == TI_OP_GET_ACCUMULATE
               ? MPI_Get_accumulate(out, ORIGIN, in, t.count, t.type, TARGET, op, w->handle)
           : ev->op == TI_OP_RGET_ACCUMULATE ? MPI_Rget_accumulate(out, ORIGIN, in, t.count, t.type,
                                                                   TARGET, op, w->handle, q->handle)
           : ev->op == TI_OP_FETCH_AND_OP
               ? MPI_Fetch_and_op(out, in, o.type, target, at, op, w->handle)
               : MPI_Compare_and_swap(out, out, in, ti_replay_swapped(ev->arg[TI_F_ESIZE]), target,
                                      at, w->handle));
#undef ORIGIN
#undef TARGET
}

/* ---- synchronization ---- */

/* Whether `*begun` calls began an epoch that the event ends; counts it as ended.  If not,
 * MPI_Pcontrol(0) has hidden its begin, and SMPI may crash at its end. */
static bool ends_epoch(struct ti_replay_window *w, int *begun)
{
    w->epochs -= w->epochs && begun != &w->posted;
    if (*begun == 0)
        return !SIMULATED;
    --*begun;
    return true;
}

void replay_win_fence(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_replay_window *w = window_at(p, ev);

    w->epochs = 1;
    ti_replay_must(p, MPI_Win_fence(assertions(ev->arg[TI_F_MODE]), w->handle));
}

void replay_win_start(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_replay_window *w = window_at(p, ev);
    size_t n = (size_t)ev->vec[0].len;
    int mode = assertions(ev->arg[TI_F_MODE]);
    MPI_Group all, group;

    p->numbers = ti_grow(p->numbers, &p->numbers_room, n + 1, sizeof *p->numbers);
    for (size_t i = 0; i < n; i++)
        p->numbers[i] = target_of(p, w, ti_vec_at(&ev->vec[0], (int64_t)i));
    w->epochs += ev->op == TI_OP_WIN_START;
    w->started += ev->op == TI_OP_WIN_START;
    w->posted += ev->op == TI_OP_WIN_POST;
    ti_replay_must(p, PMPI_Comm_group(w->of.handle, &all));
    ti_replay_must(p, PMPI_Group_incl(all, (int)n, p->numbers, &group));
    ti_replay_must(
        p, (ev->op == TI_OP_WIN_START ? MPI_Win_start : MPI_Win_post)(group, mode, w->handle));
    ti_replay_must(p, PMPI_Group_free(&group));
    ti_replay_must(p, PMPI_Group_free(&all));
}

void replay_win_complete(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_replay_window *w = window_at(p, ev);
    MPI_Win handle = w->handle;
    int done = 0;

    if (!ends_epoch(w, ev->op == TI_OP_WIN_COMPLETE ? &w->started : &w->posted))
        return;
    if (ev->op == TI_OP_WIN_COMPLETE)
        ti_replay_must(p, MPI_Win_complete(handle));
    else if (SIMULATED || ev->op == TI_OP_WIN_WAIT)
        ti_replay_must(p, MPI_Win_wait(handle));
    else
        while (!done)
            ti_replay_must(p, MPI_Win_test(handle, &done));
}

void replay_win_lock(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_replay_window *w = window_at(p, ev);
    int64_t mode = ev->arg[TI_F_MODE];
    int target = ev->mask & TI_M_PEER ? target_of(p, w, ev->arg[TI_F_PEER]) : 0;
    int type = mode & TI_MODE_EXCLUSIVE ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;

    w->epochs += ev->op == TI_OP_WIN_LOCK || ev->op == TI_OP_WIN_LOCK_ALL;
    w->locked += ev->op == TI_OP_WIN_LOCK || ev->op == TI_OP_WIN_LOCK_ALL;
    if ((ev->op == TI_OP_WIN_UNLOCK || ev->op == TI_OP_WIN_UNLOCK_ALL) &&
        !ends_epoch(w, &w->locked))
        return;
    if (SIMULATED && ev->op == TI_OP_WIN_SYNC)
        return;
    ti_replay_must(p, ev->op == TI_OP_WIN_LOCK
                          ? MPI_Win_lock(type, target, assertions(mode), w->handle)
                      : ev->op == TI_OP_WIN_LOCK_ALL ? MPI_Win_lock_all(assertions(mode), w->handle)
                      : ev->op == TI_OP_WIN_UNLOCK   ? MPI_Win_unlock(target, w->handle)
                      : ev->op == TI_OP_WIN_UNLOCK_ALL      ? MPI_Win_unlock_all(w->handle)
                      : ev->op == TI_OP_WIN_FLUSH           ? MPI_Win_flush(target, w->handle)
                      : ev->op == TI_OP_WIN_FLUSH_ALL       ? MPI_Win_flush_all(w->handle)
                      : ev->op == TI_OP_WIN_FLUSH_LOCAL     ? MPI_Win_flush_local(target, w->handle)
                      : ev->op == TI_OP_WIN_FLUSH_LOCAL_ALL ? MPI_Win_flush_local_all(w->handle)
                                                            : MPI_Win_sync(w->handle));
}
