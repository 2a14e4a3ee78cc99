#include "replay-bridge/replayer/critical.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "replay-bridge/replayer/engine.h"

#define SAME_S 1e-9 /* SimGrid's precision */

/* A message or collective that the current call completes. */
struct candidate {
    struct ti_path *start; /* one reference */
    double done;           /* 0: not known */
    double overhead;       /* of the receiver, after the message has come */
    int64_t from, to, bytes;
    bool eager, collective, probed;
};

struct critical_rank {
    void *host;
    struct ti_path *path;
    struct candidate *candidate;
    size_t n, room;
};

/* Messages, or collectives, of equal size on routes of equal latency and bandwidth. */
struct kind {
    void *from, *to; /* hosts of one of them */
    int64_t bytes;
    bool eager, collective;
    bool measured;
    double latency, bandwidth; /* seconds of a message alone */
};

struct ti_critical {
    struct ti_path_set *paths;
    struct critical_rank *rank;
    int64_t np;
    int64_t early_bytes;  /* messages of fewer bytes are sent before their receive is posted */
    const char *overhead; /* smpi/or */
    struct ti_map routes; /* pairs of hosts -> index */
    struct route {
        double latency, bandwidth;
    } * route;
    size_t routes_room;
    struct ti_map kinds; /* route, bytes and flags -> index */
    struct kind *kind;
    size_t kinds_room;
    struct ti_path *last; /* to the latest end; NULL: none yet */
    int64_t last_rank;
};

struct ti_critical *ti_critical_new(int64_t np, const char *receive_overhead)
{
    size_t none = 0;
    struct ti_critical *c = ti_grow(NULL, &none, 1, sizeof *c);

    none = 0;
    c->rank = ti_grow(NULL, &none, (size_t)np, sizeof *c->rank);
    c->np = np;
    c->paths = ti_path_set_new();
    c->early_bytes = (int64_t)ti_engine_early_bytes();
    c->overhead = receive_overhead;
    return c;
}

void ti_critical_free(struct ti_critical *c)
{
    if (!c)
        return;
    for (int64_t i = 0; i < c->np; i++)
        free(c->rank[i].candidate);
    ti_path_set_free(c->paths);
    ti_map_free(&c->routes);
    ti_map_free(&c->kinds);
    free(c->route);
    free(c->kind);
    free(c->rank);
    free(c);
}

struct ti_path_set *ti_critical_paths(struct ti_critical *c)
{
    return c->paths;
}

/* ---- routes and kinds of messages ---- */

/* SMPI's setting is "SIZE:SECONDS:SECONDS_PER_BYTE;...": an entry holds above its size. */
static double overhead_of(const char *setting, int64_t bytes)
{
    double seconds = 0, startup, each;
    long long size;
    bool first = true;

    for (const char *at = setting; at; at = strchr(at, ';') ? strchr(at, ';') + 1 : NULL) {
        if (sscanf(at, "%lld:%lf:%lf", &size, &startup, &each) != 3 || (!first && bytes <= size))
            break;
        seconds = startup + each * (double)bytes;
        first = false;
    }
    return seconds;
}

static const struct route *route_of(struct ti_critical *c, void *from, void *to)
{
    int64_t i = ti_map_add(&c->routes, (int64_t)(uintptr_t)from, (int64_t)(uintptr_t)to, 0, 0);

    if ((size_t)i + 1 == c->routes.n) {
        c->route = ti_grow(c->route, &c->routes_room, c->routes.n, sizeof *c->route);
        if (!(c->route[i].bandwidth > 0))
            ti_engine_route(from, to, &c->route[i].latency, &c->route[i].bandwidth);
    }
    return &c->route[i];
}

static int64_t bits_of(double value)
{
    int64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The number of the candidate's kind, for `what` of a path. */
static int32_t kind_of(struct ti_critical *c, const struct candidate *cand)
{
    void *from = c->rank[cand->from].host, *to = c->rank[cand->to].host;
    const struct route *r = route_of(c, from, to);
    int64_t i = ti_map_add(&c->kinds, bits_of(r->latency), bits_of(r->bandwidth), cand->bytes,
                           cand->eager + 2 * cand->collective);

    c->kind = ti_grow(c->kind, &c->kinds_room, c->kinds.n, sizeof *c->kind);
    if (!c->kind[i].from)
        c->kind[i] = (struct kind){.from = from,
                                   .to = to,
                                   .bytes = cand->bytes,
                                   .eager = cand->eager,
                                   .collective = cand->collective};
    return (int32_t)i;
}

/* ---- along a rank ---- */

void ti_critical_starts(struct ti_critical *c, int64_t rank, void *host, double now)
{
    const struct ti_path_place nowhere = {(int32_t)rank, -1, -1};

    c->rank[rank].host = host;
    c->rank[rank].path = ti_path_new(c->paths, 0);
    ti_critical_goes(c, &nowhere, TI_PATH_START, now);
}

void ti_critical_goes(struct ti_critical *c, const struct ti_path_place *at, int32_t what,
                      double now)
{
    struct critical_rank *mine = &c->rank[at->rank];

    mine->path = ti_path_go(c->paths, mine->path, at, what, now);
}

struct ti_path *ti_critical_here(struct ti_critical *c, const struct ti_path_place *at, double now)
{
    ti_critical_goes(c, at, TI_PATH_OVERHEAD, now);
    return ti_path_hold(c->rank[at->rank].path);
}

/* ---- at the end of a call ---- */

static struct candidate *add(struct critical_rank *mine)
{
    mine->candidate = ti_grow(mine->candidate, &mine->room, mine->n + 1, sizeof *mine->candidate);
    return &mine->candidate[mine->n++];
}

/* Whether the transfer, or the collective, began with the arrival of the other rank. */
static bool other_began(const struct ti_critical *c, const struct ti_came *came)
{
    if (!came->collective && came->bytes < c->early_bytes)
        return came->receives;
    return came->waits && ti_path_end(came->other.path) > ti_path_end(came->own.path);
}

void ti_critical_came(struct ti_critical *c, int64_t rank, const struct ti_came *came)
{
    bool counts = came->collective || (came->waits && came->other.when > 0);
    bool other = counts && came->other.path && other_began(c, came);
    struct ti_path *start = other ? came->other.path : came->own.path;

    ti_path_release(c->paths, other ? came->own.path : came->other.path);
    if (!counts) {
        ti_path_release(c->paths, start);
        return;
    }
    *add(&c->rank[rank]) = (struct candidate){
        .start = start,
        .done = came->done,
        .overhead = came->receives && came->eager ? overhead_of(c->overhead, came->bytes) : 0,
        .from = came->collective || !came->receives ? rank : came->other.rank,
        .to = came->collective ? came->far
              : came->receives ? rank
                               : came->other.rank,
        .bytes = came->bytes,
        .eager = came->eager,
        .collective = came->collective};
}

void ti_critical_probed(struct ti_critical *c, int64_t rank, struct ti_path *path)
{
    if (path)
        *add(&c->rank[rank]) = (struct candidate){.start = ti_path_hold(path), .probed = true};
}

/* The time at which the candidate would be complete without other messages. */
static double alone(struct ti_critical *c, const struct candidate *cand)
{
    const struct route *r;

    if (cand->probed)
        return ti_path_end(cand->start);
    r = route_of(c, c->rank[cand->from].host, c->rank[cand->to].host);
    return ti_path_end(cand->start) + cand->overhead + r->latency +
           (r->bandwidth > 0 ? (double)cand->bytes / r->bandwidth : 0);
}

/* If the times at which requests were complete are not known, the call ends with the one that would
 * be the last. */
static void fill_done(struct ti_critical *c, struct critical_rank *mine, double now)
{
    struct candidate *last = NULL;
    double latest = -1;

    for (size_t i = 0; i < mine->n; i++) {
        double done;

        if (mine->candidate[i].done > 0)
            continue;
        done = alone(c, &mine->candidate[i]);
        mine->candidate[i].done = done < now ? done : now;
        if (done > latest) {
            latest = done;
            last = &mine->candidate[i];
        }
    }
    if (last)
        last->done = now;
}

static int by_done(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    return x->done < y->done ? -1 : x->done > y->done;
}

/* The last candidate that the call has waited for; NULL: none. */
static struct candidate *waited_for(struct ti_critical *c, struct critical_rank *mine, double call,
                                    double now)
{
    struct candidate *found = NULL;
    double before = call;

    fill_done(c, mine, now);
    if (mine->n > 1)
        qsort(mine->candidate, mine->n, sizeof *mine->candidate, by_done);
    for (size_t i = 0; i < mine->n; i++) {
        struct candidate *cand = &mine->candidate[i];

        if (cand->done - before > cand->overhead + SAME_S)
            found = cand;
        before = cand->done > before ? cand->done : before;
    }
    return found;
}

void ti_critical_leaves(struct ti_critical *c, const struct ti_path_place *at, double call,
                        double now)
{
    struct critical_rank *mine = &c->rank[at->rank];
    struct candidate *last = waited_for(c, mine, call, now);

    if (last) {
        ti_path_release(c->paths, mine->path);
        mine->path = ti_path_hold(last->start);
        ti_critical_goes(c, at, last->probed ? TI_PATH_OVERHEAD : kind_of(c, last), last->done);
    }
    for (size_t i = 0; i < mine->n; i++)
        ti_path_release(c->paths, mine->candidate[i].start);
    mine->n = 0;
    ti_critical_goes(c, at, TI_PATH_OVERHEAD, now);
}

void ti_critical_ends(struct ti_critical *c, int64_t rank, double now)
{
    const struct ti_path_place nowhere = {(int32_t)rank, -1, -1};
    struct critical_rank *mine = &c->rank[rank];

    ti_critical_goes(c, &nowhere, TI_PATH_OVERHEAD, now);
    if (c->last && ti_path_end(c->last) >= now) {
        ti_path_release(c->paths, mine->path);
    } else {
        ti_path_release(c->paths, c->last);
        c->last = mine->path;
        c->last_rank = rank;
    }
    mine->path = NULL;
}

/* ---- the result ---- */

struct composition {
    double computing, latency, bandwidth, overhead, contention, start, collective;
};

static void measure(struct kind *k)
{
    if (!k->measured)
        ti_engine_transfer(k->from, k->to, k->bytes, &k->latency, &k->bandwidth);
    k->measured = true;
}

/* Splits the time of `count` messages of a kind.  The time of collectives is split in proportion to
 * that of a message. */
static void split(const struct ti_critical *c, const struct ti_path_part *part,
                  struct composition *out)
{
    struct kind *k = &c->kind[part->what];
    double count = (double)part->count, all, ratio;

    measure(k);
    out->latency = count * k->latency;
    out->bandwidth = count * k->bandwidth;
    out->overhead = k->eager ? count * overhead_of(c->overhead, k->bytes) : 0;
    all = out->latency + out->bandwidth + out->overhead;
    if (!(all > 0)) {
        out->contention = part->seconds;
        return;
    }
    ratio = part->seconds / all;
    if (k->collective || ratio < 1) {
        out->latency *= ratio;
        out->bandwidth *= ratio;
        out->overhead *= ratio;
    } else {
        out->contention = part->seconds - all;
    }
    if (k->collective)
        out->collective = part->seconds;
}

static json_t *part_json(const struct ti_critical *c, const struct ti_path_part *part,
                         const struct ti_call_site *site)
{
    struct composition all = {0};
    json_t *j;

    if (part->what >= 0)
        split(c, part, &all);
    else if (part->what == TI_PATH_COMPUTING)
        all.computing = part->seconds;
    else if (part->what == TI_PATH_OVERHEAD)
        all.overhead = part->seconds;
    else
        all.start = part->seconds;
    j = json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "rank", (json_int_t)part->at.rank,
                  "computing_s", all.computing, "latency_s", all.latency, "bandwidth_s",
                  all.bandwidth, "overhead_s", all.overhead, "contention_s", all.contention,
                  "start_s", all.start, "collective_s", all.collective);
    if (part->at.site >= 0)
        ti_call_site_json(j, "", &site[part->at.site]);
    if (part->at.loop >= 0)
        json_object_set_new(j, "loop", json_integer(part->at.loop));
    return j;
}

json_t *ti_critical_json(struct ti_critical *c, const struct ti_call_site *site)
{
    json_t *list = json_array();
    size_t n;
    struct ti_path_part *part = ti_path_parts(c->last, &n);

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, part_json(c, &part[i], site));
    free(part);
    return json_pack("{s:f, s:I, s:o}", "time_s", c->last ? ti_path_end(c->last) : 0, "rank",
                     (json_int_t)c->last_rank, "parts", list);
}
