#include "replay-bridge/trace/lower.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "replay-bridge/trace/refusal.h"
#include "common/scratch.h"
#include "replay-bridge/trace/files.h"
#include "sound/collectives.h"

/* SimGrid's numbers of the two datatypes used: bytes, and doubles where an int cannot count the
 * bytes. */
enum { DT_DOUBLE = 0, DT_BYTE = 6 };
#define WIDE 8 /* bytes of DT_DOUBLE */

#define ANY_SOURCE (-555) /* SimGrid's MPI_ANY_SOURCE in a trace */

/* The source in a "wait" for a request made with ANY_SOURCE: SimGrid stores -555 - 1. */
#define ANY_SOURCE_STORED (ANY_SOURCE - 1)

#define NS_PER_S UINT64_C(1000000000)

#define SLICE_LINES 256 /* consecutive lines of a rank in a merged file */

/* ---- refusals ---- */

static const char *message_refusal(const struct ti_msg *m, int64_t eager, char *buf, size_t bytes)
{
    bool cast_eager = ti_is_eager(m->bytes, eager);

    if (m->null)
        return NULL;
    if (m->astray) {
        snprintf(buf, bytes,
                 "it is received out of order, after a matched probe; SimGrid's replay has none");
        return buf;
    }
    if (m->recv && m->bytes / WIDE >= INT_MAX) {
        snprintf(buf, bytes, "SimGrid receives at most %" PRId64 " bytes", (int64_t)INT_MAX * WIDE);
        return buf;
    }
    if (m->recv)
        return NULL;
    if (m->bytes > INT_MAX && m->bytes % WIDE) {
        snprintf(buf, bytes, "SimGrid counts up to %d bytes, or else in units of %d", INT_MAX,
                 WIDE);
        return buf;
    }
    if (m->bytes / WIDE > INT_MAX) {
        snprintf(buf, bytes, "SimGrid sends at most %" PRId64 " bytes", (int64_t)INT_MAX * WIDE);
        return buf;
    }
    if (m->mode == TI_SEND_SYNCHRONOUS && cast_eager) {
        snprintf(buf, bytes,
                 "SimGrid's replay has no synchronous send below %lld bytes; "
                 "--cfg smpi/send-is-detached-thresh:0 makes all sends synchronous",
                 (long long)eager);
        return buf;
    }
    return ti_taken_for_small(m, eager, buf, bytes);
}

/* The largest block and the sum of a vector, in bytes. */
static void measure(const struct ti_vec *vec, int64_t esize, int64_t *largest, int64_t *sum,
                    bool *wide)
{
    *largest = *sum = 0;
    *wide = true;
    for (int64_t i = 0; i < vec->len; i++) {
        int64_t n = ti_vec_at(vec, i) * esize;

        *sum += n;
        *largest = n > *largest ? n : *largest;
        *wide = *wide && n % WIDE == 0;
    }
}

static bool vector_fits(const struct ti_vec *vec, int64_t esize)
{
    int64_t largest, sum;
    bool wide;

    measure(vec, esize, &largest, &sum, &wide);
    return largest <= INT_MAX && (sum <= INT_MAX || (wide && sum / WIDE <= INT_MAX));
}

/* Whether the counts fit SimGrid: block counts are ints, and so are their sums over the ranks, if a
 * call has a block for each rank. */
static bool counts_fit(const struct ti_event *ev, int64_t np)
{
    int64_t most = ev->op == TI_OP_REDUCE_SCATTER_BLOCK ? INT_MAX / np : INT_MAX;

    return (!(ev->mask & TI_M_BYTES) || ev->arg[TI_F_BYTES] <= most) &&
           (!(ev->mask & TI_M_BYTES2) || ev->arg[TI_F_BYTES2] <= INT_MAX) &&
           vector_fits(&ev->vec[0], ev->arg[ti_counts_in(ev->op, 0)]) &&
           vector_fits(&ev->vec[1], ev->arg[ti_counts_in(ev->op, 1)]);
}

static const char *collective_refusal(const struct ti_comms *comms, const struct ti_step *step,
                                      char *buf, size_t bytes)
{
    const struct ti_event *ev = &step->ev;
    enum ti_comm_shape shape;

    if (step->gid < 0)
        return NULL;
    shape = ti_comms_group(comms, step->gid)->shape;
    if (shape == TI_COMM_ALONE)
        return NULL;
    if (ti_op_form(ev->op) != TI_FORM_BLOCKING) {
        snprintf(buf, bytes, "SimGrid's replay has no %s collectives",
                 ti_op_form(ev->op) == TI_FORM_PERSISTENT ? "persistent" : "non-blocking");
        return buf;
    }
    if (ev->op == TI_OP_ALLTOALLW || ti_op_is(ev->op, TI_T_NEIGHBOURS)) {
        snprintf(buf, bytes, "SimGrid's replay has no %s",
                 ev->op == TI_OP_ALLTOALLW ? "alltoallw" : "collectives among neighbours");
        return buf;
    }
    if (shape == TI_COMM_INTER) {
        snprintf(buf, bytes, "SimGrid's replay has no collectives between two groups");
        return buf;
    }
    if (shape == TI_COMM_SUB) {
        snprintf(buf, bytes,
                 "SimGrid's replay has collectives of all ranks only, this one is of "
                 "%lld of %lld",
                 (long long)ti_comms_group(comms, step->gid)->size, (long long)comms->np);
        return buf;
    }
    if (shape == TI_COMM_REORDERED) {
        snprintf(buf, bytes,
                 "SimGrid's replay has collectives in the world's order only, this "
                 "communicator has another");
        return buf;
    }
    if (!counts_fit(ev, comms->np)) {
        snprintf(buf, bytes, "SimGrid's collectives count up to %d bytes%s", INT_MAX,
                 ev->op == TI_OP_REDUCE_SCATTER_BLOCK ? ", all blocks together" : "");
        return buf;
    }
    return NULL;
}

static const char *refusal(const struct ti_comms *comms, const struct ti_step *step,
                           int64_t eager_bytes, char *buf, size_t bytes)
{
    if (step->ev.op == TI_OP_ABORT)
        return "the run was aborted";
    if (step->ev.op == TI_OP_CANCEL)
        return "SimGrid's replay cannot cancel";
    if (ti_op_is(step->ev.op, TI_T_PARTITIONED))
        return "SimGrid's replay has no partitioned messages";
    if (step->ev.mask & TI_M_WIN)
        return "SimGrid's replay has no one-sided communication";
    if (step->ev.mask & (TI_M_FILE | TI_M_NAME))
        return "SimGrid's replay has no files";
    for (size_t i = 0; i < step->nposted; i++)
        if (message_refusal(&step->posted[i], eager_bytes, buf, bytes))
            return buf;
    if (ti_op_collective(step->ev.op))
        return collective_refusal(comms, step, buf, bytes);
    return NULL;
}

const struct ti_target ti_lower_target = {.refusal = refusal, .tags = true};

/* ---- the actions ---- */

struct lowering {
    const struct ti_lint *lint;
    int64_t rank;
    FILE *out;
    const struct ti_bursts *bursts;
    uint64_t burst; /* flops, or nanoseconds, not written yet */
    uint64_t actions;
};

static void put_burst(struct lowering *l)
{
    if (!l->burst)
        return;
    if (l->bursts->as == TI_BURSTS_TIMES)
        fprintf(l->out, "%" PRId64 " sleep %" PRIu64 ".%09" PRIu64 "\n", l->rank,
                l->burst / NS_PER_S, l->burst % NS_PER_S);
    else
        fprintf(l->out, "%" PRId64 " compute %" PRIu64 "\n", l->rank, l->burst);
    l->actions++;
    l->burst = 0;
}

static void add_burst(struct lowering *l, uint64_t volume)
{
    if (volume > UINT64_MAX - l->burst)
        put_burst(l);
    l->burst += volume;
}

/* Begin an action: the burst before it, then "rank name". */
static void begin(struct lowering *l, const char *name)
{
    put_burst(l);
    l->actions++;
    fprintf(l->out, "%" PRId64 " %s", l->rank, name);
}

static void put(struct lowering *l, int64_t n)
{
    fprintf(l->out, " %" PRId64, n);
}

static void end(struct lowering *l)
{
    fputc('\n', l->out);
}

/* Writes the count of a message; returns its datatype. */
static int64_t put_bytes(struct lowering *l, const struct ti_msg *m)
{
    if (m->bytes <= INT_MAX) {
        put(l, m->bytes);
        return DT_BYTE;
    }
    put(l, (m->bytes + WIDE - 1) / WIDE); /* receives may have room for more */
    return DT_DOUBLE;
}

/*
 * Writes "name partner tag count datatype".  A receive from the own rank uses ANY_SOURCE, since
 * "wait" could not distinguish it from its send.  This is safe, because its tag is only used for
 * messages to oneself.
 */
static void put_message(struct lowering *l, const char *name, const struct ti_msg *m,
                        bool any_source)
{
    begin(l, name);
    put(l, any_source ? ANY_SOURCE : m->peer);
    put(l, ti_lint_tag(l->lint, l->rank, m));
    put(l, put_bytes(l, m));
    end(l);
}

static void put_request(struct lowering *l, const struct ti_msg *m)
{
    if (!m->null)
        put_message(l, m->recv ? "irecv" : "isend", m, m->recv && m->peer == l->rank);
}

static void put_blocking(struct lowering *l, const struct ti_msg *m)
{
    if (m->null)
        return;
    /* No rank waits for a large buffered send, so it must not block. */
    if (ti_never_waited(m, l->lint->eager_bytes))
        put_request(l, m);
    else
        put_message(l, m->recv ? "recv" : "send", m, false);
}

static void put_wait(struct lowering *l, const struct ti_msg *m)
{
    if (m->null || ti_never_waited(m, l->lint->eager_bytes))
        return;
    begin(l, "wait");
    if (m->recv)
        put(l, m->peer == l->rank ? ANY_SOURCE_STORED : m->peer);
    else
        put(l, l->rank);
    put(l, m->recv ? l->rank : m->peer);
    put(l, ti_lint_tag(l->lint, l->rank, m));
    end(l);
}

/* MPI_Sendrecv is both requests, then both waits. */
static void put_sendrecv(struct lowering *l, const struct ti_step *step)
{
    for (size_t i = 0; i < step->nposted; i++)
        put_request(l, &step->posted[i]);
    for (size_t i = 0; i < step->nposted; i++)
        put_wait(l, &step->posted[i]);
}

/* Writes blocks in bytes, or in doubles if their sum is too large; returns the datatype. */
static int64_t put_vector(struct lowering *l, const struct ti_vec *vec, int64_t esize)
{
    int64_t largest, sum, unit;
    bool wide;

    measure(vec, esize, &largest, &sum, &wide);
    unit = sum > INT_MAX ? WIDE : 1;
    for (int64_t i = 0; i < vec->len; i++)
        put(l, ti_vec_at(vec, i) * esize / unit);
    return unit == WIDE ? DT_DOUBLE : DT_BYTE;
}

static int64_t vector_sum(const struct ti_vec *vec, int64_t esize)
{
    int64_t largest, sum;
    bool wide;

    measure(vec, esize, &largest, &sum, &wide);
    return sum > INT_MAX ? sum / WIDE : sum;
}

static void put_zeros(struct lowering *l, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        put(l, 0);
}

/* Writes vector `v` of a collective, in units of `esize`.  If only the root has the vector, other
 * ranks write zeros.  If both sides have a vector, its sum precedes it. */
static int64_t put_counts(struct lowering *l, const struct ti_event *ev, int v, int64_t esize)
{
    if ((ev->mask & TI_M_ROOT) && ev->arg[TI_F_ROOT] != l->rank) {
        put_zeros(l, l->lint->np);
        return DT_BYTE;
    }
    if (ti_op_is(ev->op, TI_T_COUNTS_GIVEN | TI_T_COUNTS_TAKEN))
        put(l, vector_sum(&ev->vec[v], esize));
    return put_vector(l, &ev->vec[v], esize);
}

/*
 * Writes the parameters of a collective on the world in the order of the parser in SimGrid's
 * smpi_replay.cpp: sent blocks, received blocks, flops of a reduction (always 0), root, datatypes.
 */
static void put_collective(struct lowering *l, const struct ti_step *step)
{
    const struct ti_event *ev = &step->ev;
    const int64_t *arg = ev->arg;
    bool reduces = (ev->mask & TI_M_REDOP) != 0;
    bool blocks = reduces && ti_op_is(ev->op, TI_T_BLOCKS); /* as SimGrid's own does it */
    bool given = ti_op_is(ev->op, TI_T_COUNTS_GIVEN), taken = ti_op_is(ev->op, TI_T_COUNTS_TAKEN);
    int64_t given_type = DT_BYTE, taken_type = DT_BYTE;

    begin(l, reduces && (given || blocks) ? "reducescatter" : ti_op_info(ev->op)->text);
    if (given)
        given_type = put_counts(l, ev, 0, arg[TI_F_ESIZE]);
    for (int64_t i = blocks ? l->lint->np : 1; !given && (ev->mask & TI_M_BYTES) && i > 0; i--)
        put(l, arg[TI_F_BYTES]);
    if (taken)
        taken_type = put_counts(l, ev, ti_op_last_vec(ev->op), arg[TI_F_ESIZE2]);
    else if (ev->mask & TI_M_BYTES2)
        put(l, arg[TI_F_BYTES2]);
    if (reduces)
        put(l, 0);
    if (ev->mask & TI_M_ROOT)
        put(l, arg[TI_F_ROOT]);
    if (given || (ev->mask & TI_M_BYTES))
        put(l, given_type);
    if (taken || (ev->mask & TI_M_BYTES2))
        put(l, taken_type);
    end(l);
}

static void lower_step(struct lowering *l, const struct ti_step *step, uint64_t burst)
{
    uint32_t op = step->ev.op;

    if (op == TI_OP_INIT) { /* starts SimGrid's clock, so it comes first */
        begin(l, "init");
        end(l);
    }
    add_burst(l, burst);
    if (op == TI_OP_FINALIZE) {
        begin(l, "finalize");
        end(l);
    }
    if (ti_op_is(op, TI_T_SENDS | TI_T_RECEIVES) && !ti_op_is(op, TI_T_REQUEST))
        put_sendrecv(l, step);
    else
        for (size_t i = 0; i < step->nposted; i++)
            if (step->posted[i].req < 0)
                put_blocking(l, &step->posted[i]);
            else
                put_request(l, &step->posted[i]);
    if (op != TI_OP_REQUEST_FREE)
        for (size_t i = 0; i < step->ndone; i++)
            put_wait(l, &step->done[i]);
    if (ti_op_collective(op) &&
        ti_comms_group(&l->lint->check.comms, step->gid)->shape == TI_COMM_WORLD && l->lint->np > 1)
        put_collective(l, step);
}

ti_status ti_lower_rank(struct ti_source *s, struct ti_lint *lint, int64_t rank,
                        const struct ti_bursts *bursts, FILE *out, uint64_t *actions,
                        struct ti_err *err)
{
    struct lowering l = {.lint = lint, .rank = rank, .bursts = bursts, .out = out};
    struct ti_burst_taker taker;
    struct ti_step step;
    struct ti_walk *w;
    ti_status st = ti_walk_open(s, &lint->check.comms, rank, &w, err);
    uint64_t burst;
    int got;

    if (st)
        return st;
    ti_bursts_begin(&taker, bursts, s, rank, ti_walk_reader(w));
    if (bursts->host)
        ti_bursts_place(&taker, rank, bursts->host[rank]);
    while ((got = ti_walk_next(w, &step, err)) == 1) {
        st = ti_bursts_next(&taker, &step.ev, step.index, &burst, err);
        if (st)
            break;
        lower_step(&l, &step, burst);
        if (step.index % 4096 == 0 && (st = ti_stop_check(err)) != TI_OK)
            break;
    }
    if (got < 0)
        st = TI_ERR_INPUT;
    ti_bursts_end(&taker);
    ti_walk_close(w);
    *actions += l.actions;
    return st;
}

/* ---- the files ---- */

static const char *rank_file(int64_t rank)
{
    static char name[64];

    snprintf(name, sizeof name, "rank-%06lld.txt", (long long)rank);
    return name;
}

static ti_status lower_one(struct ti_source *s, struct ti_lint *lint, int64_t rank,
                           const struct ti_bursts *bursts, uint64_t *actions, struct ti_err *err)
{
    FILE *f;
    ti_status st = ti_scratch_create(rank_file(rank), &f, err);

    if (st)
        return st;
    st = ti_lower_rank(s, lint, rank, bursts, f, actions, err);
    return ti_scratch_finish(f, rank_file(rank), st, err);
}

/* Append up to SLICE_LINES lines of a rank's file, from *at on, to `out`;
 * *at is -1 once there are no more. */
static ti_status append_slice(int64_t rank, long *at, FILE *out, char **line, size_t *cap,
                              struct ti_err *err)
{
    FILE *in = fopen(ti_scratch_path(rank_file(rank)), "re");
    int lines = 0;

    if (!in || fseek(in, *at, SEEK_SET) != 0) {
        ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", ti_scratch_path(rank_file(rank)));
        if (in)
            fclose(in);
        return TI_ERR_IO;
    }
    while (lines < SLICE_LINES && getline(line, cap, in) > 0) {
        fputs(*line, out);
        lines++;
    }
    *at = lines < SLICE_LINES ? -1 : ftell(in);
    if (*at < 0 && !feof(in)) { /* not the end: an error, or no memory for a line */
        ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", ti_scratch_path(rank_file(rank)));
        fclose(in);
        return TI_ERR_IO;
    }
    fclose(in);
    if (*at < 0)
        remove(ti_scratch_path(rank_file(rank)));
    return TI_OK;
}

static ti_status merge(int64_t np, struct ti_err *err)
{
    size_t none = 0, cap = 0;
    long *at = ti_grow(NULL, &none, (size_t)np, sizeof *at);
    char *line = NULL;
    FILE *out;
    int64_t left = np;
    ti_status st = ti_scratch_create("all-ranks.txt", &out, err);

    if (!st) {
        while (left && !st) {
            for (int64_t rank = 0; rank < np && !st; rank++) {
                if (at[rank] < 0)
                    continue;
                st = append_slice(rank, &at[rank], out, &line, &cap, err);
                left -= at[rank] < 0;
            }
            if (!st)
                st = ti_stop_check(err);
        }
        st = ti_scratch_finish(out, "all-ranks.txt", st, err);
    }
    free(line);
    free(at);
    return st;
}

ti_status ti_lower(struct ti_source *s, struct ti_lint *lint, const struct ti_bursts *bursts,
                   bool merged, uint64_t *actions, struct ti_err *err)
{
    ti_status st = TI_OK;
    FILE *list;

    *actions = 0;
    for (int64_t rank = 0; rank < lint->np && !st; rank++) {
        ti_progress("writing", "ranks", rank, lint->np);
        st = lower_one(s, lint, rank, bursts, actions, err);
        if (!st)
            st = ti_stop_check(err);
    }
    ti_progress_end(!st);
    if (!st && merged)
        st = merge(lint->np, err);
    if (st)
        return st;
    st = ti_scratch_create(TI_SIM_TRACES, &list, err);
    if (st)
        return st;
    if (merged)
        fputs("all-ranks.txt\n", list);
    for (int64_t rank = 0; rank < lint->np && !merged; rank++)
        fprintf(list, "%s\n", rank_file(rank));
    return ti_scratch_finish(list, TI_SIM_TRACES, TI_OK, err);
}
