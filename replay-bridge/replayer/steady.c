#include "replay-bridge/replayer/steady.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "fold/trips.h"
#include "replay-bridge/replayer/converge.h"
#include "replay-bridge/replayer/engine.h"
#include "replay-bridge/replayer/trip.h"

#define TRIPS_LEAST 5    /* a loop with fewer that are alike is not worth it */
#define EQUAL_LEAST 64   /* trips with equal work are left out even if many others follow */
#define PERIOD_MOST 4096 /* trips that differ, of several ranks together */
#define RUNS_EVENT  4    /* of columns: these take about as long to read as an event to replay */
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
    uint64_t period; /* trips that differ, which come again and again */
    bool mean;       /* trips had different work */
    char *site;      /* of the first call of a trip; "" if it is not known */
};

/* Shared by all ranks. */
struct ti_steady {
    struct ti_steady_rank *rank;
    struct ti_trip_times *times; /* of each rank, for converge.h */
    size_t np;
    uint64_t common;        /* trips: periods must be multiples of it */
    size_t needed, lacking; /* times that each rank needs for a decision; ranks without */
    double left_out_s;
    uint64_t events, events_left_out; /* of all ranks */
    enum reason reason;
    struct left_out *loop;
    size_t nloops, loops_room;
};

/* State of one rank.  If trips are noted in periods of several, a "trip" is such a period. */
struct ti_steady_rank {
    struct ti_steady *all;
    struct ti_replayer *p;
    bool begins;  /* the rank is at the begin of a trip, before its first event */
    bool tracked; /* the rank is in a loop of which it notes the trips; until it comes to another */
    uint32_t depth, site;         /* of the loop; of the first call of a trip */
    struct ti_trip_period period; /* trips that are noted as one */
    uint64_t search;              /* event before which no other period is searched for */
    uint64_t first;               /* event at which the first noted trip began */
    uint64_t next;                /* event at which the next one begins */
    uint64_t end;                 /* event at which trips cease to be alike */
    uint64_t equal;               /* the same with their volumes */
    double *time;                 /* at which trips began */
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
        all->common = 1;
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
    return json_pack("{s:s, s:I, s:I, s:I, s:f, s:f, s:b}", "site", l->site, "trips_simulated",
                     (json_int_t)(l->trips - l->out), "trips_left_out", (json_int_t)l->out,
                     "period", (json_int_t)l->period, "left_out_s", l->out_s, "expected_error_s",
                     l->error_s, "mean", l->mean);
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

void ti_steady_message(struct ti_replayer *p, const struct ti_message_key *key, bool sends)
{
    uint64_t hash;

    if (!p->steady)
        return;
    hash = ti_trip_mix(
        ti_trip_mix(ti_trip_mix(ti_trip_mix(ti_trip_mix(1, key->comm), (uint64_t)key->from),
                                (uint64_t)key->to),
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
    uint64_t hash = ti_trip_mix(ti_trip_mix(ti_trip_mix(3, comm), op), 4);

    if (p->steady)
        p->steady->balance += own ? hash : hash - (uint64_t)members * hash;
}

void ti_steady_event(struct ti_replayer *p)
{
    if (!p->steady)
        return;
    if (p->index == p->steady->first)
        p->steady->site = p->ev->site;
    if (ti_trip_changes(p->ev) || p->accesses)
        p->steady->changes = true;
}

static bool is_ahead(const struct ti_replayer *p)
{
    return p->ahead.ended || p->ahead.index > p->index;
}

/* A trip begins: notes what it must leave as it is. */
static void note_state(struct ti_steady_rank *m)
{
    m->next = m->p->index + m->period.events;
    m->last_balance = m->balance;
    m->balance = 0;
    m->changes = false;
    m->requests = ti_trip_requests(m->p);
    m->asked = m->p->ahead.asked;
    m->ahead = is_ahead(m->p);
}

/* ---- the decision ---- */

/* Trips of the loop that can be left out: those that begin after the present event, or with it if
 * the rank has not read it yet. */
static uint64_t trips_left(const struct ti_steady_rank *m, uint64_t end)
{
    uint64_t from = m->tracked ? m->p->index + !m->begins : end;

    return end > from ? (end - from) / m->period.events : 0;
}

/* The work of a trip: of the last `trips` noted ones, and of those that are left out. */
static bool find_work(const struct ti_steady_rank *m, uint64_t trips, uint64_t skip, double *noted,
                      double *out)
{
    uint64_t to = m->first + (m->n - 1) * m->period.events;
    uint64_t next = to + (m->begins ? 0 : m->period.events);
    bool known = ti_trip_work(m->p, to - trips * m->period.events, to, noted) &&
                 ti_trip_work(m->p, next, next + skip * m->period.events, out);

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

/* Trips of ranks are not closed.  If ranks have periods of different lengths, lets them note
 * multiples of all of these instead. */
static void find_common(struct ti_steady *all)
{
    uint64_t common = 1, most = 1, least = UINT64_MAX;

    for (size_t r = 0; r < all->np; r++) {
        uint64_t trips = all->rank[r].period.trips, step = common;

        while (common % trips && common <= PERIOD_MOST)
            common += step;
        least = trips < least ? trips : least;
        most = trips > most ? trips : most;
    }
    if (least == most || common > PERIOD_MOST)
        return;
    all->common = common;
    for (size_t r = 0; r < all->np; r++) {
        struct ti_steady_rank *m = &all->rank[r];

        forget(m);
        m->next = m->end = m->equal = 0; /* it is considered again at its next trip */
    }
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
    if (!reason && sum) {
        reason = TI_STEADY_OPEN;
        find_common(all);
    }
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
        all->loop[all->nloops - 1].events != m->period.events) {
        all->loop = ti_grow(all->loop, &all->loops_room, all->nloops + 1, sizeof *all->loop);
        site = m->site ? ti_reader_string(m->p->r, TI_STRING_SITE, m->site) : NULL;
        all->loop[all->nloops++] =
            (struct left_out){.events = m->period.events,
                              .period = m->period.trips,
                              .end = m->end,
                              .trips = (m->end - m->first) / m->period.events * m->period.trips,
                              .site = strdup(site ? site : "")};
    }
    l = &all->loop[all->nloops - 1];
    l->out += skip * l->period;
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
        events = fmax(events, (double)all->rank[r].period.events);
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

/* How many trips from here on are alike, in periods of m->period. */
static uint64_t find_period(struct ti_steady_rank *m, const struct ti_trip_start *trip)
{
    struct ti_folded *f = ti_reader_folded(m->p->r);
    struct ti_trip_period period = {m->all->common, 0};
    uint64_t alike, longer, runs;

    m->period = period;
    alike = ti_folded_alike(f, &m->period);
    if (alike >= trip->left / period.trips || m->p->index < m->search)
        return alike;
    longer = ti_folded_find_period(f, &period, &runs);
    m->search = m->p->index + runs / RUNS_EVENT;
    if (longer < TRIPS_LEAST || longer * period.trips <= alike * m->period.trips)
        return alike;
    m->period = period;
    return longer;
}

/* A trip begins in a loop whose trips are not noted yet. */
static void consider(struct ti_steady_rank *m, const struct ti_trip_start *trip)
{
    struct ti_steady *all = m->all;
    uint64_t alike;

    forget(m);
    if (trip->first)
        all->common = 1;
    alike = find_period(m, trip);
    m->tracked = alike >= TRIPS_LEAST;
    if (!m->tracked)
        return;
    all->reason = all->reason > TI_STEADY_APART ? all->reason : TI_STEADY_APART;
    m->depth = trip->depth;
    m->first = m->p->index;
    m->equal = m->end = m->p->index + alike * m->period.events;
    note_state(m);
    note_time(m);
}

/* Whether the trip that ends here has left the rank's state as it was. */
static bool is_same(struct ti_steady_rank *m)
{
    enum reason reason = m->changes ? TI_STEADY_CALLS : TI_STEADY_NO_LOOP;
    bool same = !m->changes && m->requests == ti_trip_requests(m->p) &&
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
    struct ti_trip_period period = m->period;

    if (bursts->as == TI_BURSTS_NOTHING)
        return m->end;
    /* the values of extra columns are not compared, and noise differs from burst to burst */
    if (bursts->as == TI_BURSTS_TIMES || bursts->as == TI_BURSTS_THREADS ||
        bursts->noise.burst > 0 || bursts->noise.rate)
        return m->p->index;
    return m->p->index +
           ti_folded_alike_volumes(ti_reader_folded(m->p->r), &period) * period.events;
}

static void leave_out_of(struct ti_steady_rank *m)
{
    struct ti_replayer *p = m->p;
    uint64_t events = m->skip * m->period.events;
    bool follows = !p->ahead.r || is_ahead(p) ||
                   ti_wildcards_leave_out(&p->ahead, p->index, m->depth, m->skip, &m->period);

    if (!ti_reader_leave_out(p->r, m->skip, &m->period) || !follows)
        ti_replay_fail(p, TI_ERR_INPUT, "its record is malformed");
    p->index += events;
    m->all->events_left_out += events;
    if (m->stand_in) {
        m->weight = 1 + m->skip / m->stand_in;
        m->weight_end = p->index + m->stand_in * m->period.events;
    }
    m->skip = 0;
}

/* The rank is where it leaves out trips. */
static void jump(struct ti_steady_rank *m, const struct ti_trip_start *trip)
{
    bool ends = trip->left == m->skip * m->period.trips;

    leave_out_of(m);
    if (ends)
        m->tracked = false;
    else
        consider(m, trip);
}

/* A further trip begins in the loop. */
static void next_trip(struct ti_steady_rank *m, const struct ti_trip_start *trip)
{
    if (m->p->index < m->next)
        return;
    if (m->skip) {
        jump(m, trip);
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
        jump(m, trip);
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
