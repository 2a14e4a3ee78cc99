#include "replay-bridge/replayer/trip.h"

#include "fold/seek.h"

bool ti_trip_changes(const struct ti_event *ev)
{
    uint32_t op = ev->op;
    bool sends = ti_op_is(op, TI_T_SENDS) || ti_op_is(op, TI_T_RECEIVES);
    bool requests =
        ti_op_is(op, TI_T_REQUEST) || ti_op_is(op, TI_T_STARTS) || ti_op_is(op, TI_T_COMPLETES);
    bool probes = ti_op_is(op, TI_T_PROBES) || ti_op_is(op, TI_T_PROBED) || op == TI_OP_PROBE ||
                  op == TI_OP_IPROBE;
    bool uses = ti_op_is(op, TI_T_PARTITIONED) || ti_op_is(op, TI_T_PUTS) ||
                ti_op_is(op, TI_T_GETS) || ti_op_is(op, TI_T_READS) || ti_op_is(op, TI_T_WRITES);

    return uses || (ev->mask & TI_M_NEWCOMM) ||
           !(sends || requests || probes || ti_op_collective(op) || op == TI_OP_PCONTROL);
}

uint64_t ti_trip_requests(const struct ti_replayer *p)
{
    uint64_t hash = 5;

    for (size_t i = 0; i < p->nrequests; i++) {
        const struct ti_replay_request *q = &p->request[i];

        if (q->used)
            hash = ti_trip_mix(ti_trip_mix(hash, i),
                               (uint64_t)(1 + q->active + 2 * q->persistent + 4 * q->receives +
                                          8 * q->partitioned_send));
    }
    return hash;
}

bool ti_trip_work(const struct ti_replayer *p, uint64_t from, uint64_t to, double *out)
{
    int column = p->setup->job[p->job].bursts.as == TI_BURSTS_TIMES ? 1 + p->bursts.column : 0;
    struct ti_place a, b;
    struct ti_reader *r;
    struct ti_err err;
    bool known;

    if (ti_source_reader(p->source, p->rank, &r, &err) != TI_OK)
        return false;
    known = ti_reader_seek(r, 0, from, &a, &err) == 1 && ti_reader_seek(r, 0, to, &b, &err) == 1;
    if (known)
        *out = (double)(b.before[column] - a.before[column]);
    ti_reader_close(r);
    return known;
}
