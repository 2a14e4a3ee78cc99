#include "replay-bridge/replayer/steady.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "fold/seek.h"
#include "fold/trips.h"
#include "replay-bridge/replayer/converge.h"
#include "replay-bridge/replayer/engine.h"

#define TRIPS_LEAST 5    /* a loop with fewer that are alike is not worth it */
#define EQUAL_LEAST 64   /* trips with equal work are left out even if many others follow */
#define TIMES_FIRST 3    /* times of each rank, before they are compared */
#define TIMES_MOST  4096 /* that a rank keeps */
#define TIMES_ALL   ((size_t)1 << 24) /* and all ranks together */

/* Why nothing was left out; a later one got further. */
#define TI_STEADY_REASONS(X)                                                                       \
    X(NO_LOOP, "no loop has enough trips that are alike")                                          \
    X(APART, "ranks are not in such loops at the same time")                                       \
    X(CALLS, "the loops make communicators, windows or files, use files or windows, or receive "   \
             "from wildcards of which the match is not known")                                     \
    X(OPEN, "trips of the loops, one of each rank, do not complete all messages, collectives and " \
            "requests that they begin")                                                            \
    X(TIMES, "the time of a trip did not converge")                                                \
    X(SHORT, "when the time of a trip had converged, the loop was about to end")

#define TI_STEADY_REASON(name, text) TI_STEADY_##name,
enum reason { TI_STEADY_REASONS(TI_STEADY_REASON) };

/* Trips of one loop that were left out. */
struct left_out {
    uint64_t events, end; /* of rank 0: of each trip; the event after the last trip */
    uint64_t trips;       /* all of them, from the first one that was considered */
    uint64_t out;         /* those left out */
    double out_s, error_s;
    bool mean;  /* trips had different work */
    char *site; /* of the first call of a trip; "" if it is not known */
};

/* Shared by all ranks. */
struct ti_steady {
    struct ti_steady_rank *rank;
    struct ti_trip_times *times; /* of each rank, for converge.h */
    size_t np;
    size_t needed, lacking; /* times that each rank needs for a decision; ranks without */
    double left_out_s;
    uint64_t events, events_left_out; /* of all ranks */
    enum reason reason;
    struct left_out *loop;
    size_t nloops, loops_room;
};

/* State of one rank. */
struct ti_steady_rank {
    struct ti_steady *all;
    struct ti_replayer *p;
    bool begins;  /* the rank is at the begin of a trip, before its first event */
    bool tracked; /* the rank is in a loop of which it notes the trips; until it comes to another */
    uint32_t depth, site; /* of the loop; of the first call of a trip */
    uint64_t events;      /* of each trip */
    uint64_t first;       /* event at which the first noted trip began */
    uint64_t end;         /* event at which trips cease to be alike */
    uint64_t equal;       /* the same with their volumes */
    double *time;         /* at which trips began */
    size_t n, room;
    uint64_t skip, stand_in;     /* trips to leave out at the begin of the next one, and how many
                                    after it stand for them in a profile */
    uint64_t weight, weight_end; /* see ti_steady_weight(): up to this event */
    bool changes;                /* the present trip does what cannot be left out */
    /* Messages that the present trip has sent and not received, and the like: a sum of hashes,
     * modulo 2^64, which is 0 over all ranks if a trip of each is closed.  And that of the trip
     * before. */
    uint64_t balance, last_balance;
    uint64_t requests; /* at the begin of the present trip: a hash */
    uint64_t asked;    /* questions to the reader ahead, and whether it was ahead */
    bool ahead;
};

/* ---- start and end ---- */

/* Forgets the times of a rank.  A decision needs as few of each rank as at the begin then. */
static void forget(struct ti_steady_rank *m)
{
    struct ti_steady *all = m->all;

    if (all->needed > TIMES_FIRST) {
        all->needed = TIMES_FIRST;
        all->lacking = 0;
        for (size_t r = 0; r < all->np; r++)
            all->lacking += all->rank[r].n < TIMES_FIRST;
    }
    all->lacking += m->n >= all->needed;
    m->n = 0;
}

void ti_steady_start(struct ti_replayer *p)
{
    struct ti_steady *all = p->setup->left_out;
    size_t none = 0;

    if (!(p->setup->steady > 0))
        return;
    if (!all) {
        all = p->setup->left_out = ti_grow(NULL, &none, 1, sizeof *all);
        all->np = all->lacking = (size_t)p->all_ranks;
        all->needed = TIMES_FIRST;
        none = 0;
        all->rank = ti_grow(NULL, &none, all->np, sizeof *all->rank);
        none = 0;
        all->times = ti_grow(NULL, &none, all->np, sizeof *all->times);
    }
    p->steady = &all->rank[p->all_rank];
    *p->steady = (struct ti_steady_rank){.all = all, .p = p, .weight = 1};
}

static void end_all(struct ti_steady *all)
{
    for (size_t i = 0; i < all->nloops; i++)
        free(all->loop[i].site);
    free(all->loop);
    free(all->rank);
    free(all->times);
    free(all);
}

static json_t *loop_json(const struct left_out *l)
{
    return json_pack("{s:s, s:I, s:I, s:f, s:f, s:b}", "site", l->site, "trips_simulated",
                     (json_int_t)(l->trips - l->out), "trips_left_out", (json_int_t)l->out,
                     "left_out_s", l->out_s, "expected_error_s", l->error_s, "mean", l->mean);
}

/* The trips that were left out, of a replay that ends at `end` on the reported clock. */
static json_t *report_json(const struct ti_replay_setup *setup, double end)
{
#define TI_STEADY_TEXT(name, text) [TI_STEADY_##name] = text,
    static const char *const reasons[] = {TI_STEADY_REASONS(TI_STEADY_TEXT)};
    const struct ti_steady *all = setup->left_out;
    uint64_t trips = 0, out = 0;
    json_t *loops = json_array(), *j;
    double error_s = 0;

    for (size_t i = 0; i < all->nloops; i++) {
        trips += all->loop[i].trips;
        out += all->loop[i].out;
        error_s += all->loop[i].error_s;
        json_array_append_new(loops, loop_json(&all->loop[i]));
    }
    j = json_pack("{s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:o}", "trips_simulated",
                  (json_int_t)(trips - out), "trips_left_out", (json_int_t)out, "events_simulated",
                  (json_int_t)setup->replayed, "events_left_out", (json_int_t)all->events_left_out,
                  "left_out_s", all->left_out_s, "expected_error_s", error_s, "expected_error_pct",
                  end > 0 ? 100 * error_s / end : 0, "loops", loops);
    if (!all->nloops)
        json_object_set_new(j, "reason", json_string(reasons[all->reason]));
    return j;
}

void ti_steady_end(struct ti_replayer *p, bool last, double end)
{
    struct ti_steady_rank *m = p->steady;
    json_t *j;

    if (!m)
        return;
    forget(m);
    m->tracked = false;
    free(m->time);
    m->time = NULL;
    p->steady = NULL;
    if (!last)
        return;
    j = report_json(p->setup, end);
    if (p->setup->steady_file &&
        json_dump_file(j, p->setup->steady_file, JSON_COMPACT | JSON_REAL_PRECISION(15)) != 0)
        ti_replay_fail(p, TI_ERR_IO, "cannot write '%s'", p->setup->steady_file);
    json_decref(j);
    end_all(p->setup->left_out);
    p->setup->left_out = NULL;
}

double ti_steady_left_out_s(const struct ti_replay_setup *setup)
{
    return setup->left_out ? setup->left_out->left_out_s : 0;
}

uint64_t ti_steady_weight(const struct ti_replayer *p)
{
    return p->steady && p->index < p->steady->weight_end ? p->steady->weight : 1;
}

/* ---- what a trip does ---- */

static uint64_t mix(uint64_t hash, uint64_t more)
{
    hash = (hash ^ more) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

void ti_steady_message(struct ti_replayer *p, const struct ti_message_key *key, bool sends)
{
    uint64_t hash;

    if (!p->steady)
        return;
    hash = mix(mix(mix(mix(mix(1, key->comm), (uint64_t)key->from), (uint64_t)key->to),
                   (uint64_t)key->tag),
               2);
    p->steady->balance += sends ? hash : -hash;
}

void ti_steady_wild(struct ti_replayer *p)
{
    if (p->steady)
        p->steady->changes = true;
}

/* The first member takes back what all of them add. */
void ti_steady_collective(struct ti_replayer *p, uint64_t comm, uint32_t op, int64_t own,
                          int64_t members)
{
    uint64_t hash = mix(mix(mix(3, comm), op), 4);

    if (p->steady)
        p->steady->balance += own ? hash : hash - (uint64_t)members * hash;
}

/* Whether a trip with such an event must be simulated. */
static bool changes_more(const struct ti_event *ev)
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

void ti_steady_event(struct ti_replayer *p)
{
    if (!p->steady)
        return;
    if (p->index == p->steady->first)
        p->steady->site = p->ev->site;
    if (changes_more(p->ev))
        p->steady->changes = true;
}

/* The requests of the rank: which numbers are in use, and for what. */
static uint64_t hash_of_requests(const struct ti_replayer *p)
{
    uint64_t hash = 5;

    for (size_t i = 0; i < p->nrequests; i++) {
        const struct ti_replay_request *q = &p->request[i];

        if (q->used)
            hash = mix(mix(hash, i), (uint64_t)(1 + q->active + 2 * q->persistent +
                                                4 * q->receives + 8 * q->partitioned_send));
    }
    return hash;
}

static bool is_ahead(const struct ti_replayer *p)
{
    return p->ahead.ended || p->ahead.index > p->index;
}

/* A trip begins: notes what it must leave as it is. */
static void note_state(struct ti_steady_rank *m)
{
    m->last_balance = m->balance;
    m->balance = 0;
    m->changes = false;
    m->requests = hash_of_requests(m->p);
    m->asked = m->p->ahead.asked;
    m->ahead = is_ahead(m->p);
}

/* ---- the decision ---- */

/* Trips of the loop that can be left out: those that begin after the present event, or with it if
 * the rank has not read it yet. */
static uint64_t trips_left(const struct ti_steady_rank *m, uint64_t end)
{
    uint64_t from = m->tracked ? m->p->index + !m->begins : end;

    return end > from ? (end - from) / m->events : 0;
}

/* The sum of the volumes of events `from` to `to`, in what bursts take; false: it is not known. */
static bool volume(struct ti_reader *r, const struct ti_replayer *p, uint64_t from, uint64_t to,
                   double *out)
{
    int column = p->setup->job[p->job].bursts.as == TI_BURSTS_TIMES ? 1 + p->bursts.column : 0;
    struct ti_place a, b;
    struct ti_err err;

    if (ti_reader_seek(r, 0, from, &a, &err) != 1 || ti_reader_seek(r, 0, to, &b, &err) != 1)
        return false;
    *out = (double)(b.before[column] - a.before[column]);
    return true;
}

/* The work of a trip: of the last `trips` noted ones, and of those that are left out. */
static bool find_work(const struct ti_steady_rank *m, uint64_t trips, uint64_t skip, double *noted,
                      double *out)
{
    uint64_t to = m->first + (m->n - 1) * m->events, next = to + (m->begins ? 0 : m->events);
    struct ti_reader *r;
    struct ti_err err;
    bool known;

    if (ti_source_reader(m->p->source, m->p->rank, &r, &err) != TI_OK)
        return false;
    known = volume(r, m->p, to - trips * m->events, to, noted) &&
            volume(r, m->p, next, next + skip * m->events, out);
    ti_reader_close(r);
    *noted /= (double)trips;
    *out /= (double)skip;
    return known;
}

/* By how much the work that ranks leave out differs from that of noted trips, as a share of the
 * work of the busiest rank. */
static double work_differs(const struct ti_steady *all, uint64_t trips, uint64_t skip)
{
    double most = 0, differs = 0, noted = 0, out = 0;

    for (size_t r = 0; r < all->np; r++) {
        if (!find_work(&all->rank[r], trips, skip, &noted, &out))
            return 1;
        most = fmax(most, noted);
        differs = fmax(differs, fabs(out - noted));
    }
    return most > 0 ? differs / most : differs > 0;
}

/* Whether a trip of each rank is closed; else why not, and whether any further trip can be. */
static bool is_closed(struct ti_steady *all)
{
    enum reason reason = TI_STEADY_NO_LOOP;
    uint64_t sum = 0;

    for (size_t r = 0; r < all->np; r++) {
        sum += all->rank[r].last_balance;
        if (!trips_left(&all->rank[r], all->rank[r].end))
            reason = TI_STEADY_APART;
    }
    if (!reason && sum)
        reason = TI_STEADY_OPEN;
    all->reason = reason > all->reason ? reason : all->reason;
    return !reason;
}

/* The fewest trips that ranks have left; `equal`: with the same volumes. */
static uint64_t fewest_left(const struct ti_steady *all, bool equal)
{
    uint64_t least = UINT64_MAX;

    for (size_t r = 0; r < all->np; r++) {
        uint64_t left = trips_left(&all->rank[r], equal ? all->rank[r].equal : all->rank[r].end);

        least = left < least ? left : least;
    }
    return least;
}

/* All ranks leave out `skip` trips. */
static void leave_out(struct ti_steady *all, uint64_t skip, const struct ti_trip_time *time,
                      uint64_t stand_in, double error_s, bool mean)
{
    const struct ti_steady_rank *m = &all->rank[0];
    double out_s = (double)skip / (double)time->window * time->seconds;
    const char *site;
    struct left_out *l;

    if (!all->nloops || all->loop[all->nloops - 1].end != m->end ||
        all->loop[all->nloops - 1].events != m->events) {
        all->loop = ti_grow(all->loop, &all->loops_room, all->nloops + 1, sizeof *all->loop);
        site = m->site ? ti_reader_string(m->p->r, TI_STRING_SITE, m->site) : NULL;
        all->loop[all->nloops++] = (struct left_out){.events = m->events,
                                                     .end = m->end,
                                                     .trips = (m->end - m->first) / m->events,
                                                     .site = strdup(site ? site : "")};
    }
    l = &all->loop[all->nloops - 1];
    l->out += skip;
    l->out_s += out_s;
    l->error_s += error_s;
    l->mean |= mean;
    all->left_out_s += out_s;
    for (size_t r = 0; r < all->np; r++) {
        all->rank[r].skip = skip;
        all->rank[r].stand_in = stand_in;
        all->rank[r].n = 0;
    }
    all->needed = TIMES_FIRST;
    all->lacking = all->np;
}

/* All ranks have the times that are needed. */
static void decide(struct ti_steady *all, const struct ti_replay_setup *setup)
{
    uint64_t left = fewest_left(all, false), equal = fewest_left(all, true), stand_in, skip;
    bool mean = equal < EQUAL_LEAST && equal < left / 2, converged;
    struct ti_trip_time time;
    double differs = 0, events = 0;

    if (!is_closed(all))
        return;
    for (size_t r = 0; r < all->np; r++)
        all->times[r] = (struct ti_trip_times){all->rank[r].time, all->rank[r].n};
    for (size_t r = 0; r < all->np; r++)
        events = fmax(events, (double)all->rank[r].events);
    all->reason = all->reason > TI_STEADY_TIMES ? all->reason : TI_STEADY_TIMES;
    converged = mean ? ti_trips_have_mean(all->times, all->np, setup->steady, &time)
                     : ti_trips_converged(all->times, all->np, setup->steady,
                                          ti_engine_resolution() * sqrt(events), &time);
    if (!converged)
        return;
    /* with a profile, some trips stand for those that were left out */
    stand_in = !setup->profile ? 0 : mean ? left / 16 + 1 : time.window;
    skip = mean ? left : equal;
    skip = skip > stand_in ? skip - stand_in : 0;
    skip -= skip % (setup->profile ? stand_in : mean ? 1 : time.window);
    all->reason = skip ? all->reason : TI_STEADY_SHORT;
    if (mean && skip)
        differs = work_differs(all, time.window, skip);
    if (skip && time.error_s + differs * time.seconds <= setup->steady * time.seconds)
        leave_out(all, skip, &time, stand_in,
                  (double)skip / (double)time.window * (time.error_s + differs * time.seconds),
                  mean);
}

/* ---- trips of a rank ---- */

static void note_time(struct ti_steady_rank *m)
{
    struct ti_steady *all = m->all;

    if (m->n == TIMES_MOST || m->n * all->np >= TIMES_ALL || m->p->index < m->weight_end)
        return;
    m->time = ti_grow(m->time, &m->room, m->n + 1, sizeof *m->time);
    m->time[m->n++] = ti_engine_clock();
    if (m->n != all->needed || --all->lacking)
        return;
    decide(all, m->p->setup);
    if (m->skip)
        return;
    all->needed += 1 + all->needed / 16;
    for (size_t r = 0; r < all->np; r++)
        all->lacking += all->rank[r].n < all->needed;
}

/* A trip begins in a loop whose trips are not noted yet. */
static void consider(struct ti_steady_rank *m, const struct ti_trip_start *trip)
{
    struct ti_steady *all = m->all;
    uint64_t events, alike = ti_folded_alike(ti_reader_folded(m->p->r), &events);

    forget(m);
    m->tracked = alike >= TRIPS_LEAST;
    if (!m->tracked)
        return;
    all->reason = all->reason > TI_STEADY_APART ? all->reason : TI_STEADY_APART;
    m->depth = trip->depth;
    m->events = events;
    m->first = m->p->index;
    m->equal = m->end = m->p->index + alike * events;
    note_state(m);
    note_time(m);
}

/* Whether the trip that ends here has left the rank's state as it was. */
static bool is_same(struct ti_steady_rank *m)
{
    enum reason reason = m->changes ? TI_STEADY_CALLS : TI_STEADY_NO_LOOP;
    bool same = !m->changes && m->requests == hash_of_requests(m->p) &&
                (m->asked == m->p->ahead.asked || !(m->ahead || is_ahead(m->p))) &&
                (m->n < 2 || m->balance == m->last_balance);

    if (!same && !reason)
        reason = TI_STEADY_OPEN;
    m->all->reason = reason > m->all->reason ? reason : m->all->reason;
    return same;
}

/* The event up to which trips from here on have equal bursts.  (Those of a first trip may be
 * others: of another arrival, see fold/fold.h.) */
static uint64_t equal_until(const struct ti_steady_rank *m)
{
    const struct ti_bursts *bursts = &m->p->setup->job[m->p->job].bursts;
    uint64_t events, alike;

    if (bursts->as == TI_BURSTS_NOTHING)
        return m->end;
    /* the values of extra columns are not compared, and noise differs from burst to burst */
    if (bursts->as == TI_BURSTS_TIMES || bursts->as == TI_BURSTS_THREADS ||
        bursts->noise.burst > 0 || bursts->noise.rate)
        return m->p->index;
    alike = ti_folded_alike_volumes(ti_reader_folded(m->p->r), &events);
    return m->p->index + alike * events;
}

static void leave_out_of(struct ti_steady_rank *m)
{
    struct ti_replayer *p = m->p;
    uint64_t events = m->skip * m->events;
    bool follows = !p->ahead.r || is_ahead(p) ||
                   ti_wildcards_leave_out(&p->ahead, p->index, m->depth, m->skip, m->events);

    if (!ti_reader_leave_out(p->r, m->skip, m->events) || !follows)
        ti_replay_fail(p, TI_ERR_INPUT, "its record is malformed");
    p->index += events;
    m->all->events_left_out += events;
    if (m->stand_in) {
        m->weight = 1 + m->skip / m->stand_in;
        m->weight_end = p->index + m->stand_in * m->events;
    }
    m->skip = 0;
}

/* A further trip begins in the loop. */
static void next_trip(struct ti_steady_rank *m, const struct ti_trip_start *trip)
{
    if (m->skip) {
        bool ends = trip->left == m->skip;

        leave_out_of(m);
        if (ends)
            m->tracked = false;
        else
            consider(m, trip);
        return;
    }
    if (m->p->index >= m->end || !is_same(m)) {
        consider(m, trip);
        return;
    }
    if (m->n == 1)
        m->equal = equal_until(m);
    note_state(m);
    note_time(m);
    if (m->skip)
        next_trip(m, trip);
}

void ti_steady_trip(struct ti_replayer *p)
{
    struct ti_steady_rank *m = p->steady;
    struct ti_trip_start trip;

    if (!m)
        return;
    m->begins = true;
    while (ti_reader_trip(p->r, &trip))
        if (!m->tracked || trip.depth < m->depth || (trip.depth == m->depth && trip.first))
            consider(m, &trip);
        else if (trip.depth == m->depth)
            next_trip(m, &trip);
    m->begins = false;
}
