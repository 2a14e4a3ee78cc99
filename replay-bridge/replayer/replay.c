#include "replay-bridge/replayer/replayer.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay-bridge/replayer/energy.h"
#include "replay-bridge/replayer/engine.h"
#include "replay-bridge/replayer/functions.h"
#include "replay-bridge/replayer/profile.h"
#include "replay-bridge/replayer/steady.h"
#include "replay-bridge/simulation/state.h"

/* ---- failing ---- */

void ti_replay_fail(const struct ti_replayer *p, int st, const char *fmt, ...)
{
    char text[1024], job[32] = "";
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ti_strip_controls(text);
    if (p->setup->njobs > 1)
        snprintf(job, sizeof job, "job %d, ", p->job + 1);
    if (p->ev)
        fprintf(stderr, "%s: %srank %lld, event %llu (%s): %s\n", ti_engine_name, job,
                (long long)p->rank, (unsigned long long)p->index, ti_op_info(p->ev->op)->text,
                text);
    else
        fprintf(stderr, "%s: %srank %lld: %s\n", ti_engine_name, job, (long long)p->rank, text);
    fflush(stderr);
    ti_replay_remove_files(p);
    ti_engine_abort(st);
}

void ti_replay_must(const struct ti_replayer *p, int returned)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int bytes = 0;

    if (returned == MPI_SUCCESS)
        return;
    PMPI_Error_string(returned, text, &bytes);
    ti_replay_fail(p, TI_ERR_IO, "the MPI library returned an error: %s", text);
}

/* ---- datatypes and reduction operations ---- */

#define CLOCK_EVENTS 256                /* between two times of the state file */
#define PIECE        ((int64_t)1 << 30) /* elements */

/* A datatype of more elements than an int can count. */
static MPI_Datatype in_pieces(struct ti_replayer *p, int64_t n, MPI_Datatype of)
{
    int lengths[2] = {(int)(n / PIECE), (int)(n % PIECE)};
    MPI_Datatype piece, type;
    MPI_Aint places[2] = {0}, start, extent;

    ti_replay_must(p, PMPI_Type_contiguous((int)PIECE, of, &piece));
    ti_replay_must(p, PMPI_Type_get_extent(piece, &start, &extent));
    places[1] = lengths[0] * extent;
    ti_replay_must(p,
                   PMPI_Type_create_struct(2, lengths, places, (MPI_Datatype[]){piece, of}, &type));
    ti_replay_must(p, PMPI_Type_free(&piece));
    return type;
}

MPI_Datatype ti_replay_contiguous(struct ti_replayer *p, int64_t n, MPI_Datatype of)
{
    struct ti_replay_type *made;
    size_t known = p->ncontiguous;

    for (size_t i = 0; i < known; i++)
        if (p->contiguous[i].n == n && p->contiguous[i].of == of)
            return p->contiguous[i].type;
    if (n < 0 || n / PIECE > INT_MAX)
        ti_replay_fail(p, TI_ERR_INPUT, "an element has %lld bytes, more than can be counted",
                       (long long)n);
    made = TI_REPLAY_AT(p, contiguous, ncontiguous, contiguous_room, known);
    made->n = n;
    made->of = of;
    if (n <= INT_MAX)
        ti_replay_must(p, PMPI_Type_contiguous((int)n, of, &made->type));
    else
        made->type = in_pieces(p, n, of);
    ti_replay_must(p, PMPI_Type_commit(&made->type));
    return made->type;
}

/* The predefined datatype of `esize` bytes; MPI_DATATYPE_NULL: none. */
static MPI_Datatype predefined(int64_t esize)
{
    return esize == 1                 ? MPI_BYTE
           : esize == 2               ? MPI_SHORT
           : esize == 4               ? MPI_INT
           : esize == 8               ? MPI_DOUBLE
           : esize == 16 && SIMULATED ? MPI_C_DOUBLE_COMPLEX
                                      : MPI_DATATYPE_NULL;
}

MPI_Datatype ti_replay_type(struct ti_replayer *p, int64_t esize)
{
    MPI_Datatype type = predefined(esize);

    return type != MPI_DATATYPE_NULL ? type : ti_replay_contiguous(p, esize, MPI_BYTE);
}

int ti_replay_count(struct ti_replayer *p, enum ti_element_use use, int64_t bytes, int64_t esize,
                    MPI_Datatype *type)
{
    struct ti_elements e;
    char buf[256];
    const char *why = ti_elements(!SIMULATED, use, bytes, esize, &e, buf, sizeof buf);

    if (why)
        ti_replay_fail(p, TI_ERR_INPUT, "%s", why);
    *type = ti_replay_type(p, e.size);
    return e.count;
}

/* User-defined operation for all reductions: SMPI calls it where an algorithm combines two buffers.
 * The function only spends time, since the values have no meaning. */
static void combine(void *in, void *inout, int *n, MPI_Datatype *type)
{
    int bytes = 0;

    (void)in;
    (void)inout;
    PMPI_Type_size(*type, &bytes);
    ti_engine_combine((int64_t)*n * bytes);
}

static MPI_Op user_op(struct ti_replayer *p, bool commutes)
{
    MPI_Op *op = &p->op[commutes];

    if (*op == MPI_OP_NULL)
        ti_replay_must(p, PMPI_Op_create(combine, commutes, op));
    return *op;
}

/* A datatype of `esize` bytes that the predefined operation takes; MPI_DATATYPE_NULL: none. */
static MPI_Datatype type_of_op(int64_t redop, int64_t esize)
{
    static const MPI_Datatype none = MPI_DATATYPE_NULL;

    if (redop == TI_REDOP_MAXLOC || redop == TI_REDOP_MINLOC)
        return esize == 8    ? MPI_2INT
               : esize == 12 ? MPI_DOUBLE_INT
               : esize == 6  ? MPI_SHORT_INT
               : esize == 20 ? MPI_LONG_DOUBLE_INT
                             : none;
    if (esize == 1)
        return MPI_UINT8_T;
    if (esize == 2)
        return MPI_INT16_T;
    if (esize == 4)
        return MPI_INT32_T;
    if (esize == 8)
        return MPI_INT64_T;
    if (redop == TI_REDOP_SUM || redop == TI_REDOP_PROD)
        return esize == 16 ? MPI_C_DOUBLE_COMPLEX : esize == 32 ? MPI_C_LONG_DOUBLE_COMPLEX : none;
    return esize == 16 && (redop == TI_REDOP_MAX || redop == TI_REDOP_MIN) ? MPI_LONG_DOUBLE : none;
}

MPI_Datatype ti_replay_swapped(int64_t esize)
{
    return type_of_op(TI_REDOP_BAND, esize);
}

MPI_Op ti_replay_op(struct ti_replayer *p, int64_t redop, int64_t esize, MPI_Datatype *type)
{
    const MPI_Op predefined[TI_REDOP_COUNT] = {
        [TI_REDOP_NULL] = MPI_OP_NULL,   [TI_REDOP_SUM] = MPI_SUM,
        [TI_REDOP_PROD] = MPI_PROD,      [TI_REDOP_MAX] = MPI_MAX,
        [TI_REDOP_MIN] = MPI_MIN,        [TI_REDOP_LAND] = MPI_LAND,
        [TI_REDOP_BAND] = MPI_BAND,      [TI_REDOP_LOR] = MPI_LOR,
        [TI_REDOP_BOR] = MPI_BOR,        [TI_REDOP_LXOR] = MPI_LXOR,
        [TI_REDOP_BXOR] = MPI_BXOR,      [TI_REDOP_MAXLOC] = MPI_MAXLOC,
        [TI_REDOP_MINLOC] = MPI_MINLOC,  [TI_REDOP_REPLACE] = MPI_REPLACE,
        [TI_REDOP_NO_OP] = MPI_NO_OP,    [TI_REDOP_USER] = MPI_OP_NULL,
        [TI_REDOP_USER_NC] = MPI_OP_NULL};
    MPI_Datatype takes = MPI_DATATYPE_NULL;
    char buf[64];

    if (ti_redop_refusal(redop, buf, sizeof buf))
        ti_replay_fail(p, TI_ERR_INPUT, "%s", buf);
    /* No operation: the rank takes no part, or the trace was converted and lacks it. */
    if (redop == TI_REDOP_USER || redop == TI_REDOP_USER_NC || redop == TI_REDOP_NULL)
        return user_op(p, redop != TI_REDOP_USER_NC);
    if (redop == TI_REDOP_REPLACE || redop == TI_REDOP_NO_OP)
        return predefined[redop];
    if (SIMULATED) /* no arithmetic is done; combine() spends its time */
        return user_op(p, true);
    takes = type_of_op(redop, esize);
    if (takes == MPI_DATATYPE_NULL)
        return user_op(p, true);
    *type = takes;
    return predefined[redop];
}

/* ---- communicators and ranks ---- */

/* SMPI makes MPI_COMM_SELF of a rank when it is first used, with an array as long as the rank's
 * number.  So a rank that does not use it must not ask for it. */
static void find_self(struct ti_replay_comm *self)
{
    self->handle = MPI_COMM_SELF;
    ti_engine_comm(self->handle);
}

struct ti_replay_comm *ti_replay_comm(struct ti_replayer *p, int64_t index)
{
    if (index == TI_REPLAY_SELF && p->comm[index].handle == MPI_COMM_NULL)
        find_self(&p->comm[index]);
    if (index < 0 || (size_t)index >= p->ncomms || p->comm[index].handle == MPI_COMM_NULL)
        ti_replay_fail(p, TI_ERR_INPUT, "communicator %lld does not exist", (long long)index);
    return &p->comm[index];
}

int ti_replay_peer(const struct ti_replayer *p, const struct ti_replay_comm *c, int64_t delta)
{
    if (delta == TI_NULL)
        return MPI_PROC_NULL;
    if (delta == TI_ANY)
        return MPI_ANY_SOURCE;
    if (delta < -c->rank || delta >= c->peers - c->rank)
        ti_replay_fail(p, TI_ERR_INPUT, "its partner is no rank of the communicator");
    return (int)(c->rank + delta + c->offset);
}

/* ---- the process ---- */

static void replay_init(struct ti_replayer *p, const struct ti_event *ev)
{
    (void)p; /* done before the first event */
    (void)ev;
}

static void replay_finalize(struct ti_replayer *p, const struct ti_event *ev)
{
    (void)p; /* done after the last event */
    (void)ev;
}

static void replay_pcontrol(struct ti_replayer *p, const struct ti_event *ev)
{
    (void)p;
    if (!SIMULATED)
        MPI_Pcontrol((int)ev->arg[TI_F_LEVEL]);
}

static void replay_refused(struct ti_replayer *p, const struct ti_event *ev)
{
    (void)ev;
    ti_replay_fail(p, TI_ERR_INPUT, "it cannot be replayed");
}

/* ---- the loop ---- */

/* Checks that operations.h has each operation of event/event.h once.  A missing operation fails
 * the assertion, a repeated one fails -Woverride-init. */
#define ONE(name, function, how, text) +1
_Static_assert((TI_REPLAYED(ONE)) == TI_OP_COUNT, "operations.h lacks operations of event.h");

#define FUNCTION(name, function, how, text) [TI_OP_##name] = replay_##function,
static ti_replay_fn *const functions[TI_OP_COUNT] = {TI_REPLAYED(FUNCTION)};

static void spend(struct ti_replayer *p, const struct ti_event *ev, uint64_t amount)
{
    bool times = p->setup->job[p->job].bursts.as == TI_BURSTS_TIMES;
#if SIMULATED
    double begin = p->setup->energy ? ti_engine_clock() : 0;

    ti_engine_burst(p->setup, amount, times);
    if (p->setup->energy)
        ti_energy_burst(p, ev, ti_engine_clock() - begin);
#else
    (void)ev;
    ti_engine_burst(p->setup, amount, times);
#endif
}

static void burst(struct ti_replayer *p, const struct ti_event *ev)
{
    struct ti_err err;
    uint64_t amount;

    if (ti_bursts_next(&p->bursts, ev, p->index, &amount, &err))
        ti_replay_fail(p, TI_ERR_INPUT, "%s", err.text);
    p->setup->computing++;
    if (amount)
        spend(p, ev, amount);
    p->setup->computing--;
}

static void open_trace(struct ti_replayer *p)
{
    const struct ti_bursts *bursts = &p->setup->job[p->job].bursts;
    struct ti_err err;
    ti_status st = ti_source_reader(p->source, p->rank, &p->r, &err);

    if (st)
        ti_replay_fail(p, st, "%s", err.text);
    p->ahead.all = p->setup->job[p->job].cancels;
    ti_bursts_begin(&p->bursts, bursts, p->source, p->rank, p->r);
    if (ti_noise_any(&bursts->noise))
        ti_bursts_place(&p->bursts, p->all_rank, ti_engine_host_name());
}

/* Fields that an event lacks are 0; `mask` has those that the event before had. */
static void clear_fields(struct ti_event *ev, uint32_t mask)
{
    for (; mask; mask &= mask - 1)
        ev->arg[__builtin_ctz(mask)] = 0;
}

/* Say how far the rank is, for ti-replay. */
static void tell(const struct ti_replayer *p, struct ti_replay_progress *progress)
{
    progress->events = p->index;
    if (p->index % CLOCK_EVENTS == 0)
        progress->seconds = ti_engine_clock() - p->zero + ti_steady_left_out_s(p->setup);
}

void ti_replay_rank(struct ti_replayer *p)
{
    struct ti_replay_progress *progress = ti_replay_progress(p->setup->state, p->all_rank);
    struct ti_event ev = {0};
    struct ti_err err;
    uint32_t had = 0;
    int got;

    open_trace(p);
    while (ti_steady_trip(p), (got = ti_reader_next(p->r, &ev, &err)) == 1) {
        p->ev = &ev;
        clear_fields(&ev, had & ~ev.mask);
        had = ev.mask;
        if (progress)
            tell(p, progress);
        ti_profile_event(p);
        ti_steady_event(p);
        burst(p, &ev);
        ti_profile_burst(p);
        functions[ev.op](p, &ev);
        ti_profile_call(p);
        p->index++;
        p->setup->replayed++;
    }
    p->ev = NULL;
    if (got < 0)
        ti_replay_fail(p, TI_ERR_INPUT, "%s", err.text);
    if (ti_reader_end(p->r) != TI_END_COMPLETE)
        ti_replay_fail(p, TI_ERR_INPUT, "its trace was cut off");
    if (progress)
        progress->events = p->index;
}

void ti_replay_free(struct ti_replayer *p)
{
    ti_profile_free(p);
    ti_bursts_end(&p->bursts);
    ti_reader_close(p->r);
    ti_wildcards_free(&p->ahead);
#if !SIMULATED
    ti_handle_places_free(&p->places);
#endif
    ti_neighbourhoods_free(&p->topologies);
    for (size_t i = 0; i < p->ncomms; i++) {
        free(p->comm[i].sources_order);
        free(p->comm[i].destinations_order);
    }
    for (size_t i = 0; i < p->nrequests; i++) {
        free(p->request[i].ticket);
        free(p->request[i].part);
        free(p->request[i].own);
    }
    free(p->comm);
    free(p->request);
    free(p->message);
    free(p->window);
    free(p->made);
    free(p->file);
    free(p->batch);
    free(p->batch_of);
    free(p->numbers);
    free(p->types);
    free(p->zeros);
    free(p->contiguous);
}
