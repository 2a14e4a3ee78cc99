#include "replay-bridge/replayer/profile.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "replay-bridge/replayer/engine.h"
#include "replay-bridge/replayer/profile_internal.h"
#include "replay-bridge/replayer/steady.h"
#include "timeline/intervals.h"

double ti__profile_clock(const struct ti_replayer *p)
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
    if (p->setup->overview)
        all->overview = ti_overview_new(all->np);
    if (p->setup->causes)
        all->critical = ti_critical_new(all->np, p->setup->receive_overhead);
    all->partners = ti_partners_new(all->critical ? ti_critical_paths(all->critical) : NULL);
    all->eager_bytes = ti_engine_eager_bytes();
    all->loops = ti_profile_loops_new();
    all->rank = ti_grow(NULL, &none, (size_t)all->np, sizeof *all->rank);
    if (p->setup->intervals &&
        ti_interval_writer_open(p->setup->intervals, all->np, &all->intervals, &err))
        ti_replay_fail(p, TI_ERR_IO, "%s", err.text);
    return all;
}

void ti_profile_start(struct ti_replayer *p)
{
    size_t none = 0;

    if (!p->setup->profile && !p->setup->intervals)
        return;
    p->profile = ti_grow(NULL, &none, 1, sizeof *p->profile);
    p->profile->all = all_of(p);
    p->profile->now_at = (struct ti_path_place){(int32_t)p->all_rank, -1, -1};
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
        struct ti_profile_site *site;

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
    const struct ti_profile_site *x = a, *y = b;
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
    if (p->profile->all->overview)
        json_object_set_new(j, "overview", ti_overview_json(p->profile->all->overview));
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
        ti_critical_ends(all->critical, p->all_rank, ti__profile_clock(p));
    if (!last)
        return;
    if (p->setup->profile)
        write_profile(p);
    if (all->intervals && ti_interval_writer_close(all->intervals, &err) != TI_OK)
        ti_replay_fail(p, TI_ERR_IO, "%s", err.text);
    for (size_t i = 0; i < all->nsites; i++)
        free(all->site[i].text);
    ti_call_sites_free(&all->named);
    ti_partners_free(all->partners);
    ti_profile_loops_free(all->loops);
    ti_waiting_free(all->waiting);
    ti_critical_free(all->critical);
    ti_overview_free(all->overview);
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
    mine->event = ti__profile_clock(p);
    mine->late = 0;
    mine->ntickets = 0;
    if (!p->index)
        mine->group = ti_profile_loops_begin(mine->all->loops, p->r, p->all_rank);
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
static struct ti_profile_site *site_of(struct ti_replayer *p)
{
    struct ti_profile_rank *mine = p->profile;
    struct ti_profile *all = mine->all;
    size_t known = mine->sites.n;
    int64_t i = ti_map_add(&mine->sites, p->ev->site, p->ev->op, 0, 0);

    mine->site = ti_grow(mine->site, &mine->sites_room, mine->sites.n, sizeof *mine->site);
    if ((size_t)i == known) {
        mine->site[i] = (struct ti_profile_site){.op = p->ev->op, .number = -1};
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
    mine->call = ti__profile_clock(p);
    mine->now_at = (struct ti_path_place){(int32_t)p->all_rank, site_of(p)->number, -1};
    if (mine->all->critical && mine->group >= 0)
        mine->now_at.loop = ti_profile_loops_in(mine->all->loops, mine->group, p->r);
    if (mine->all->waiting)
        ti_waiting_did(mine->all->waiting, p->all_rank, mine->event, mine->call, TI_DOING_COMPUTING,
                       mine->now_at.site, -1);
    if (mine->all->critical)
        ti_critical_goes(mine->all->critical, &mine->now_at, TI_PATH_COMPUTING, mine->call);
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

/* Tells who waited for whom, and where the critical path goes on. */
static void follow(struct ti_replayer *p, double waiting, double now)
{
    struct ti_profile_rank *mine = p->profile;
    struct ti_waiting *w = mine->all->waiting;
    double ready = mine->call + waiting;

    if (w && waiting > 0)
        ti_waiting_waited(w, p->all_rank, mine->call, ready, mine->now_at.site, mine->late_rank,
                          (double)ti_steady_weight(p));
    if (w) {
        ti_waiting_did(w, p->all_rank, mine->call, ready, TI_DOING_WAITING, mine->now_at.site,
                       mine->late_rank);
        ti_waiting_did(w, p->all_rank, ready, now, TI_DOING_COMMUNICATING, mine->now_at.site, -1);
    }
    if (mine->all->critical)
        ti_critical_leaves(mine->all->critical, &mine->now_at, mine->call, now);
}

/* Adds the burst and the call to the overview. */
static void look_over(struct ti_replayer *p, double waiting, double now)
{
    const struct ti_profile_rank *mine = p->profile;
    struct ti_overview *o = mine->all->overview;
    bool collective = ti_op_is(p->ev->op, TI_T_COLLECTIVE) || ti_op_is(p->ev->op, TI_T_BY_ALL);

    if (!o)
        return;
    ti_overview_add(o, p->all_rank, TI_OVERVIEW_COMPUTING, mine->event, mine->call);
    ti_overview_add(o, p->all_rank, TI_OVERVIEW_WAITING, mine->call, mine->call + waiting);
    ti_overview_add(o, p->all_rank, collective ? TI_OVERVIEW_COLLECTIVES : TI_OVERVIEW_MESSAGES,
                    mine->call + waiting, now);
}

void ti_profile_call(struct ti_replayer *p)
{
    struct ti_profile_rank *mine = p->profile;
    double now, waiting;
    struct ti_profile_times t;
    uint64_t n;

    if (!mine)
        return;
    now = ti__profile_clock(p);
    n = ti_steady_weight(p);
    if (ti_op_is(p->ev->op, TI_T_SENDS) || ti__profile_posts_only(p->ev->op))
        ti__profile_handed_over(p);
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
    look_over(p, waiting, now);
    if (mine->all->intervals)
        ti_interval_add(mine->all->intervals, p->all_rank,
                        &(struct ti_event_times){p->index, mine->event, mine->call, now, waiting});
}
