#include "replay-bridge/replayer/profile.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/map.h"
#include "replay-bridge/replayer/critical.h"
#include "replay-bridge/replayer/engine.h"
#include "replay-bridge/replayer/profile/partners.h"
#include "replay-bridge/replayer/profile/loops.h"
#include "replay-bridge/replayer/steady.h"
#include "replay-bridge/replayer/timeline.h"
#include "replay-bridge/replayer/profile/waiting.h"

/* Times of an operation at one call site, on one rank or on all. */
struct site {
    char *text; /* of the table of all ranks */
    uint32_t op;
    int32_t number; /* the same on all ranks; -1: not known yet */
    struct ti_profile_times times;
};

struct ti_profile {
    int64_t np, ranks; /* number of ranks; number of ranks that have started */
    struct ti_partners *partners;
    struct ti_timeline *timeline; /* NULL: none */
    struct ti_waiting *waiting;   /* NULL: not asked for */
    struct ti_critical *critical; /* NULL: not asked for */
    struct ti_call_sites named;
    size_t eager_bytes; /* sends of fewer bytes do not wait */
    struct ti_profile_times *rank;
    struct ti_profile_times op[TI_OP_COUNT];
    struct site *site;
    size_t nsites, sites_room;
    struct ti_profile_loops *loops;
};

/* The profile of one rank. */
struct ti_profile_rank {
    struct ti_profile *all;
    double event, call; /* times at which the current event began and its MPI call began */
    double late;        /* latest arrival of a partner that the call waits for */
    int64_t late_rank;  /* that partner */
    int32_t now_at;     /* number of the call site of the current event */
    struct ti_ticket *ticket;
    size_t ntickets, tickets_room; /* of what the current event has posted or completed */
    struct ti_ticket sending; /* of a message that the current event is sending, unless it waits for
                                 the receiver; .sent NULL: none */
    struct ti_map sites; /* by the number of its string in the trace of the rank, and operation: one
                            site has several where wrappers end in a jump, or none is known */
    struct site *site;   /* by index */
    size_t sites_room;
    int64_t group; /* of its loops; -1: it has none */
};

/* Seconds since time 0 of all jobs. */
static double clock_of(const struct ti_replayer *p)
{
    double now = ti_engine_clock() - p->zero;

    return now > 0 ? now : 0;
}

/* ---- start and end ---- */

static struct ti_profile *all_of(struct ti_replayer *p)
{
    struct ti_profile *all = p->setup->all;
    size_t none = 0;
    struct ti_err err;

    if (all)
        return all;
    p->setup->all = all = ti_grow(NULL, &none, 1, sizeof *all);
    none = 0;
    all->np = p->all_ranks;
    if (p->setup->profile)
        all->waiting = ti_waiting_new(all->np);
    if (p->setup->causes)
        all->critical = ti_critical_new(all->np, p->setup->receive_overhead);
    all->partners = ti_partners_new(all->critical ? ti_critical_paths(all->critical) : NULL);
    all->eager_bytes = ti_engine_eager_bytes();
    all->loops = ti_profile_loops_new();
    all->rank = ti_grow(NULL, &none, (size_t)all->np, sizeof *all->rank);
    if (p->setup->timeline && ti_timeline_open(p->setup->timeline, all->np, &all->timeline, &err))
        ti_replay_fail(p, TI_ERR_IO, "%s", err.text);
    return all;
}

void ti_profile_start(struct ti_replayer *p)
{
    size_t none = 0;

    if (!p->setup->profile && !p->setup->timeline)
        return;
    p->profile = ti_grow(NULL, &none, 1, sizeof *p->profile);
    p->profile->all = all_of(p);
    p->profile->all->ranks++;
}

void ti_profile_free(struct ti_replayer *p)
{
    if (!p->profile)
        return;
    free(p->profile->ticket);
    ti_map_free(&p->profile->sites);
    free(p->profile->site);
    free(p->profile);
    p->profile = NULL;
}

/* Adds the sites of a rank to those of all ranks.  The texts are from the rank's reader. */
static void add_sites(struct ti_replayer *p)
{
    struct ti_profile_rank *mine = p->profile;
    struct ti_profile *all = mine->all;

    for (size_t i = 0; i < mine->sites.n; i++) {
        int64_t number = mine->sites.key[i][0];
        const char *text = number ? ti_reader_string(p->r, TI_STRING_SITE, number) : "";
        struct site *site;

        all->site = ti_grow(all->site, &all->sites_room, all->nsites + 1, sizeof *all->site);
        site = &all->site[all->nsites++];
        *site = mine->site[i];
        site->text = strdup(text ? text : "");
        if (!site->text)
            ti_replay_fail(p, TI_ERR_IO, "out of memory");
    }
}

static int by_text(const void *a, const void *b)
{
    const struct site *x = a, *y = b;
    int order = strcmp(x->text, y->text);

    return order ? order : x->op < y->op ? -1 : x->op > y->op;
}

/* Merges the entries that the ranks have for the same site. */
static void merge_sites(struct ti_profile *all)
{
    size_t n = 0;

    if (!all->nsites)
        return;
    qsort(all->site, all->nsites, sizeof *all->site, by_text);
    for (size_t i = 1; i < all->nsites; i++)
        if (!by_text(&all->site[n], &all->site[i])) {
            ti_profile_times_add(&all->site[n].times, &all->site[i].times);
            free(all->site[i].text);
        } else {
            all->site[++n] = all->site[i];
        }
    all->nsites = n + 1;
}

static json_t *profile_json(const struct ti_replayer *p)
{
    const struct ti_profile *all = p->profile->all;
    json_t *ranks = json_array(), *ops = json_array(), *sites = json_array();

    for (int64_t rank = 0; rank < all->np; rank++)
        json_array_append_new(ranks, ti_profile_times_json(&all->rank[rank]));
    for (uint32_t op = 0; op < TI_OP_COUNT; op++)
        if (all->op[op].calls) {
            json_t *j = ti_profile_times_json(&all->op[op]);

            json_object_set_new(j, "operation", json_string(ti_op_info(op)->text));
            json_array_append_new(ops, j);
        }
    for (size_t i = 0; i < all->nsites; i++) {
        json_t *j = ti_profile_times_json(&all->site[i].times);

        json_object_set_new(j, "operation", json_string(ti_op_info(all->site[i].op)->text));
        json_object_set_new(j, "site", json_string(all->site[i].text));
        json_array_append_new(sites, j);
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "ranks", ranks, "operations", ops, "sites", sites,
                     "loops", ti_profile_loops_json(all->loops), "waits",
                     ti_waiting_json(all->waiting, all->named.list));
}

static void write_profile(struct ti_replayer *p)
{
    json_t *j;

    merge_sites(p->profile->all);
    j = profile_json(p);
    if (p->profile->all->critical)
        json_object_set_new(
            j, "path", ti_critical_json(p->profile->all->critical, p->profile->all->named.list));
    if (!j || json_dump_file(j, p->setup->profile, JSON_COMPACT | JSON_REAL_PRECISION(15)) != 0)
        ti_replay_fail(p, TI_ERR_IO, "cannot write '%s'", p->setup->profile);
    json_decref(j);
}

void ti_profile_end(struct ti_replayer *p, bool last)
{
    struct ti_profile *all;
    struct ti_err err;

    if (!p->profile)
        return;
    all = p->profile->all;
    add_sites(p);
    if (all->critical)
        ti_critical_ends(all->critical, p->all_rank, clock_of(p));
    if (all->timeline)
        ti_timeline_rank_ends(all->timeline, p->all_rank, clock_of(p));
    if (!last)
        return;
    if (p->setup->profile)
        write_profile(p);
    if (all->timeline && ti_timeline_close(all->timeline, &err) != TI_OK)
        ti_replay_fail(p, TI_ERR_IO, "%s", err.text);
    for (size_t i = 0; i < all->nsites; i++)
        free(all->site[i].text);
    ti_call_sites_free(&all->named);
    ti_partners_free(all->partners);
    ti_profile_loops_free(all->loops);
    ti_waiting_free(all->waiting);
    ti_critical_free(all->critical);
    free(all->site);
    free(all->rank);
    free(all);
    p->setup->all = NULL;
}

/* ---- the loop ---- */

void ti_profile_event(struct ti_replayer *p)
{
    struct ti_profile_rank *mine = p->profile;

    if (!mine)
        return;
    mine->event = clock_of(p);
    mine->late = 0;
    mine->ntickets = 0;
    if (!p->index)
        mine->group = ti_profile_loops_begin(mine->all->loops, p->r, p->all_rank);
    if (mine->all->timeline && !p->index)
        ti_timeline_rank_starts(mine->all->timeline, p->all_rank, mine->event);
    if (mine->all->critical && !p->index)
        ti_critical_starts(mine->all->critical, p->all_rank, ti_engine_host(), mine->event);
}

static const char *site_text(const struct ti_replayer *p)
{
    const char *text =
        p->ev->site ? ti_reader_string(p->r, TI_STRING_SITE, (int64_t)p->ev->site) : NULL;

    return text ? text : "";
}

/* The entry of the rank for the current call site and operation. */
static struct site *site_of(struct ti_replayer *p)
{
    struct ti_profile_rank *mine = p->profile;
    struct ti_profile *all = mine->all;
    size_t known = mine->sites.n;
    int64_t i = ti_map_add(&mine->sites, p->ev->site, p->ev->op, 0, 0);

    mine->site = ti_grow(mine->site, &mine->sites_room, mine->sites.n, sizeof *mine->site);
    if ((size_t)i == known) {
        mine->site[i] = (struct site){.op = p->ev->op, .number = -1};
        if (all->waiting)
            mine->site[i].number = ti_call_sites_number(&all->named, site_text(p), p->ev->op);
    }
    return &mine->site[i];
}

/* Whether the event is collective over its communicator or window, but not handled by coll.c. */
static bool is_synchronization(const struct ti_event *ev, uint32_t field)
{
    return ti_op_is(ev->op, TI_T_BY_ALL) && !ti_op_is(ev->op, TI_T_COLLECTIVE) &&
           (ev->mask & field) && !(ev->mask & TI_M_REQ);
}

void ti_profile_burst(struct ti_replayer *p)
{
    struct ti_profile_rank *mine = p->profile;

    if (!mine)
        return;
    mine->call = clock_of(p);
    mine->now_at = site_of(p)->number;
    if (mine->all->waiting)
        ti_waiting_did(mine->all->waiting, p->all_rank, mine->event, mine->call, TI_DOING_COMPUTING,
                       mine->now_at, -1);
    if (mine->all->critical)
        ti_critical_goes(mine->all->critical, p->all_rank, mine->now_at, TI_PATH_COMPUTING,
                         mine->call);
    if (mine->all->timeline)
        ti_timeline_computes(mine->all->timeline, p->all_rank, mine->event, mine->call, p->index,
                             site_text(p));
    if (mine->all->timeline)
        ti_timeline_enters(mine->all->timeline, p->all_rank, mine->call, p->ev->op);
    if (is_synchronization(p->ev, TI_M_COMM))
        ti_profile_collective(p, ti_replay_comm(p, p->ev->arg[TI_F_COMM]), p->ev, 0);
    else if (is_synchronization(p->ev, TI_M_WIN) && p->ev->arg[TI_F_WIN] >= 0 &&
             (size_t)p->ev->arg[TI_F_WIN] < p->nwindows)
        ti_profile_collective(p, &p->window[p->ev->arg[TI_F_WIN]].of, p->ev, 0);
}

/* The waiting time of the current call: until its last partner arrived. */
static double waited(struct ti_replayer *p, double now)
{
    struct ti_profile_rank *mine = p->profile;
    double late;

    for (size_t i = 0; i < mine->ntickets; i++) {
        struct ti_came came;

        ti_partners_came(mine->all->partners, &mine->ticket[i], &came);
        if (came.waits && came.other.when > mine->late) {
            mine->late = came.other.when;
            mine->late_rank = came.other.rank;
        }
        if (mine->all->critical)
            ti_critical_came(mine->all->critical, p->all_rank, &came);
    }
    mine->ntickets = 0;
    late = mine->late < now ? mine->late : now;
    return late > mine->call ? late - mine->call : 0;
}

/* Whether the operation only posts what others complete. */
static bool posts_only(uint32_t op)
{
    return ti_op_is(op, TI_T_REQUEST) || ti_op_is(op, TI_T_STARTS) || ti_op_is(op, TI_T_USES);
}

/* SMPI spends the overhead of a send before it hands the message to the network, so the message
 * starts now. */
static void handed_over(struct ti_replayer *p)
{
    struct ti_profile_rank *mine = p->profile;

    if (mine->sending.sent && mine->all->critical)
        ti_partners_handed_over(
            mine->all->partners, &mine->sending,
            ti_critical_here(mine->all->critical, p->all_rank, mine->now_at, clock_of(p)));
    mine->sending.sent = NULL;
}

/* Tells who waited for whom, and where the critical path goes on. */
static void follow(struct ti_replayer *p, double waiting, double now)
{
    struct ti_profile_rank *mine = p->profile;
    struct ti_waiting *w = mine->all->waiting;
    double ready = mine->call + waiting;

    if (w && waiting > 0)
        ti_waiting_waited(w, p->all_rank, mine->call, ready, mine->now_at, mine->late_rank,
                          (double)ti_steady_weight(p));
    if (w) {
        ti_waiting_did(w, p->all_rank, mine->call, ready, TI_DOING_WAITING, mine->now_at,
                       mine->late_rank);
        ti_waiting_did(w, p->all_rank, ready, now, TI_DOING_COMMUNICATING, mine->now_at, -1);
    }
    if (mine->all->critical)
        ti_critical_leaves(mine->all->critical, p->all_rank, mine->now_at, mine->call, now);
}

void ti_profile_call(struct ti_replayer *p)
{
    struct ti_profile_rank *mine = p->profile;
    double now, waiting;
    struct ti_profile_times t;
    uint64_t n;

    if (!mine)
        return;
    now = clock_of(p);
    n = ti_steady_weight(p);
    if (ti_op_is(p->ev->op, TI_T_SENDS) || posts_only(p->ev->op))
        handed_over(p);
    mine->sending.sent = NULL;
    waiting = waited(p, now);
    t = (struct ti_profile_times){.calls = n,
                                  .computing = (double)n * (mine->call - mine->event),
                                  .communicating = (double)n * (now - mine->call - waiting),
                                  .waiting = (double)n * waiting};
    ti_profile_times_add(&mine->all->rank[p->all_rank], &t);
    ti_profile_times_add(&mine->all->op[p->ev->op], &t);
    ti_profile_times_add(&site_of(p)->times, &t);
    if (mine->group >= 0)
        ti_profile_loops_add(mine->all->loops, mine->group, p->r, &t);
    follow(p, waiting, now);
    if (mine->all->timeline)
        ti_timeline_leaves(mine->all->timeline, p->all_rank, mine->call, now, waiting, p->ev->op,
                           p->index, site_text(p));
}

/* ---- actions of the rank ---- */

/* Whether nobody asks with whom the rank communicates. */
static bool is_alone(const struct ti_replayer *p)
{
    return !p->profile && !p->steady;
}

static uint64_t mix(uint64_t hash, uint64_t more)
{
    hash = (hash ^ more) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_of(const int32_t *member, int64_t n)
{
    uint64_t hash = (uint64_t)n;

    for (int64_t i = 0; i < n; i++)
        hash = mix(hash, (uint64_t)member[i]);
    return hash;
}

/* Counts the communicators that this rank has made with these members.  All members make them in
 * the same order, so the count is the same on all of them. */
static uint64_t times_made(struct ti_replayer *p, uint64_t members)
{
    size_t i = 0;

    while (i < p->nmade && p->made[i].members != members)
        i++;
    TI_REPLAY_AT(p, made, nmade, made_room, i)->members = members;
    return ++p->made[i].n;
}

void ti_profile_comm(struct ti_replayer *p, struct ti_replay_comm *c, const struct ti_comm *made)
{
    uint64_t members;

    if (is_alone(p))
        return;
    if (made->member) /* the order of the two groups depends on the rank */
        members = hash_of(made->member, made->size) + hash_of(made->remote, made->remote_size);
    else /* the world, or the rank itself */
        members = made->size == p->np ? 1 : mix(2, (uint64_t)p->rank);
    members = mix(members, (uint64_t)p->job);
    c->members = made->size + made->remote_size;
    c->id = mix(members, times_made(p, members));
}

void ti_profile_window(struct ti_replayer *p, struct ti_replay_window *w)
{
    if (!p->profile)
        return;
    w->of.id =
        mix(w->of.id, w->of.calls); /* the creation was a collective call, so this is unique */
    w->of.calls = 0;
}

/* Own rank in the handle, which may have both groups of an intercommunicator. */
static int own_rank(const struct ti_replay_comm *c)
{
    return (int)(c->rank + (c->one_for_two && !c->offset ? c->peers : 0));
}

static void hold(struct ti_profile_rank *mine, struct ti_ticket ticket)
{
    mine->ticket =
        ti_grow(mine->ticket, &mine->tickets_room, mine->ntickets + 1, sizeof *mine->ticket);
    mine->ticket[mine->ntickets++] = ticket;
}

/* This rank now, with its path. */
static struct ti_arrival arrival(struct ti_replayer *p)
{
    struct ti_critical *critical = p->profile->all->critical;
    struct ti_arrival me = {.when = clock_of(p), .rank = p->all_rank};

    handed_over(p);
    if (critical)
        me.path = ti_critical_here(critical, p->all_rank, p->profile->now_at, me.when);
    return me;
}

bool ti_profile_waits(const struct ti_replayer *p, uint32_t op, size_t bytes)
{
    return p->profile && !ti_op_is(op, TI_T_BUFFERED) &&
           (ti_op_is(op, TI_T_SYNCHRONOUS) || bytes >= p->profile->all->eager_bytes);
}

void ti_profile_send(struct ti_replayer *p, const struct ti_replay_comm *c, int peer, int tag,
                     size_t bytes, bool waits)
{
    struct ti_message_key key = {.comm = c->id, .from = own_rank(c), .to = peer, .tag = tag};
    struct ti_profile_rank *mine = p->profile;
    struct ti_arrival me;

    if (is_alone(p) || peer == MPI_PROC_NULL)
        return;
    ti_steady_message(p, &key, true);
    if (!mine)
        return;
    me = arrival(p);
    hold(mine, ti_partners_send(mine->all->partners, &key, (int64_t)bytes, waits, &me));
    if (!waits || posts_only(p->ev->op))
        mine->sending = mine->ticket[mine->ntickets - 1];
}

static bool is_wild(int peer, int tag)
{
    return peer == MPI_ANY_SOURCE || tag == MPI_ANY_TAG || peer == MPI_PROC_NULL;
}

void ti_profile_receive(struct ti_replayer *p, const struct ti_replay_comm *c, int peer, int tag)
{
    struct ti_message_key key = {.comm = c->id, .from = peer, .to = own_rank(c), .tag = tag};
    struct ti_arrival me;

    if (is_alone(p))
        return;
    if (peer != MPI_PROC_NULL && is_wild(peer, tag))
        ti_steady_wild(p);
    if (is_wild(peer, tag)) /* remaining wildcards never match */
        return;
    ti_steady_message(p, &key, false);
    if (!p->profile)
        return;
    me = arrival(p);
    hold(p->profile, ti_partners_receive(p->profile->all->partners, &key, &me));
}

void ti_profile_probed(struct ti_replayer *p, const struct ti_replay_comm *c, int peer, int tag)
{
    struct ti_message_key key = {.comm = c->id, .from = peer, .to = own_rank(c), .tag = tag};
    const struct ti_arrival *sent;

    if (!p->profile || is_wild(peer, tag) ||
        !(sent = ti_partners_sent(p->profile->all->partners, &key)))
        return;
    p->profile->late = sent->when;
    p->profile->late_rank = sent->rank;
    if (p->profile->all->critical)
        ti_critical_probed(p->profile->all->critical, p->all_rank, sent->path);
}

void ti_profile_collective(struct ti_replayer *p, struct ti_replay_comm *c,
                           const struct ti_event *ev, int64_t bytes)
{
    bool root = (ev->mask & TI_M_ROOT) && ev->arg[TI_F_ROOT] == c->rank;
    bool from_root = ti_op_is(ev->op, TI_T_FROM_ROOT);
    bool waits = from_root ? !root : ti_op_is(ev->op, TI_T_TO_ROOT) ? root : true;
    struct ti_arrival me;

    if (is_alone(p))
        return;
    ti_steady_collective(p, c->id, ev->op, own_rank(c), c->members);
    if (!p->profile)
        return;
    me = arrival(p);
    hold(p->profile, ti_partners_meet(p->profile->all->partners, c->id, c->calls++, c->members,
                                      bytes, root, from_root, waits, &me));
}

void ti_profile_posted(struct ti_replayer *p, struct ti_replay_request *q)
{
    struct ti_profile_rank *mine = p->profile;

    if (!mine)
        return;
    q->ticket = ti_grow(q->ticket, &q->tickets_room, mine->ntickets, sizeof *q->ticket);
    memcpy(q->ticket, mine->ticket, mine->ntickets * sizeof *q->ticket);
    q->ntickets = mine->ntickets;
    mine->ntickets = 0;
}

void ti_profile_completed(struct ti_replayer *p, struct ti_replay_request *q)
{
    for (size_t i = 0; p->profile && i < q->ntickets; i++) {
        q->ticket[i].done = q->done;
        hold(p->profile, q->ticket[i]);
    }
    q->ntickets = 0;
    q->done = 0;
}

bool ti_profile_wants_done(const struct ti_replayer *p)
{
    return p->profile && p->profile->all->critical;
}

void ti_profile_done(struct ti_replayer *p, struct ti_replay_request *q)
{
    q->done = clock_of(p);
}
