#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cli.h"
#include "formats/rankname.h"
#include "gather/fetching.h"
#include "node/launch.h"

#define CRC_RANKS_MOST 1000 /* of one "crc" */

static void ask(struct ti__member *m, json_t *request)
{
    if (request && m->way)
        ti_way_ask(m->way, request);
    else
        json_decref(request);
}

/* --- who sends a rank ---------------------------------------------------- */

static bool can_send(const struct ti__fetching *g, int64_t node, int64_t rank)
{
    return node >= 0 && !ti__given_up(&g->member[node]) &&
           ti_ranges_hold(g->member[node].have, rank) &&
           !ti_ranges_hold(g->member[node].refused, rank);
}

/* Whom RUN.json names, else whoever has it; -1. */
static int32_t choose(const struct ti__fetching *g, int64_t rank)
{
    const struct ti__rank *r = &g->rank[rank];

    if (can_send(g, r->named, rank))
        return r->named;
    if (r->named >= 0 && ti__takes_part(&g->member[r->named]) &&
        !ti__given_up(&g->member[r->named]) && g->member[r->named].listing != TI__LISTED)
        return -1; /* it may have it yet */
    if (can_send(g, r->holder, rank))
        return r->holder;
    for (int64_t i = 0; r->listed && i < g->nodes.n; i++)
        if (can_send(g, i, rank))
            return (int32_t)i;
    return -1;
}

void ti__assign(struct ti__fetching *g, int64_t rank)
{
    struct ti__rank *r = &g->rank[rank];
    struct ti__member *m;
    int32_t sender = r->state == TI__WANTED && r->sender < 0 ? choose(g, rank) : -1;

    if (sender < 0 || g->work != TI__FETCH)
        return;
    m = &g->member[sender];
    r->sender = sender;
    ti_ranges_add(m->todo, rank);
    m->out->wanted++;
    m->out->wanted_bytes += r->bytes;
    ti__wake(m);
}

static void release(struct ti__member *m, int64_t rank)
{
    struct ti__fetching *g = m->g;
    struct ti__rank *r = &g->rank[rank];

    if (r->sender == m->i) {
        r->sender = -1;
        m->out->wanted--;
        m->out->wanted_bytes -= r->bytes;
    }
    if (r->holder == m->i && !r->crc_known)
        r->holder = -1;
    ti__assign(g, rank);
}

static void for_all(struct ti__member *m, const json_t *list,
                    void (*call)(struct ti__member *m, int64_t rank))
{
    const json_t *range;
    size_t i;

    json_array_foreach(list, i, range)
    {
        int64_t last = json_integer_value(json_array_get(range, 1));

        for (int64_t r = json_integer_value(json_array_get(range, 0)); r <= last; r++)
            if (m->g->rank[r].state == TI__WANTED)
                call(m, r);
    }
}

static void assign(struct ti__member *m, int64_t rank)
{
    ti__assign(m->g, rank);
}

/* What others were told to leave to it, or compare with it, goes on without. */
void ti__release(struct ti__member *m)
{
    for_all(m, m->have, release);
    for_all(m, m->ranks, release);
    json_array_clear(m->todo);
    json_array_clear(m->check);
    json_decref(m->checked);
    m->checked = NULL;
}

/* --- what nodes have ----------------------------------------------------- */

void ti__ask_list(struct ti__member *m)
{
    m->listing = TI__ASKED;
    json_array_clear(m->have); /* of a list that was cut off */
    ask(m, json_pack("{s:s, s:i, s:s, s:s}", "do", "list", "id", 1, "directory", m->node->directory,
                     "run_id", m->g->nodes.run_id));
}

/* A file that nobody else has named yet, or the same, or another one. */
static void compare_with_holder(struct ti__member *m, int64_t rank, const json_t *file)
{
    struct ti__rank *r = &m->g->rank[rank];
    int64_t bytes = json_integer_value(json_array_get(file, 1)),
            mtime = json_integer_value(json_array_get(file, 3));
    uint64_t inode = (uint64_t)json_integer_value(json_array_get(file, 2));

    r->listed = true;
    if (r->holder < 0) {
        r->holder = m->i;
        r->bytes = bytes;
        r->inode = inode;
        r->mtime = mtime;
    } else if (r->holder != m->i && r->inode == inode && r->bytes == bytes && r->mtime == mtime) {
        m->g->f->shared += !r->shared;
        r->shared = true;
    } else if (r->holder != m->i) {
        ti_ranges_add(m->check, rank);
    }
}

/* With --remove: only what is as long as what was gathered. */
static void may_be_removed(struct ti__member *m, int64_t rank, int64_t bytes)
{
    const struct ti_run *run = m->g->run;

    if (m->g->rank[rank].state != TI__WANTED || (m->ranks && !ti_ranges_hold(m->ranks, rank)))
        return;
    if (run->rank[rank].file.st_size == bytes)
        ti_ranges_add(m->todo, rank);
    else
        ti__note(m->g, m->i, -1, rank, "it is not what was gathered", NULL);
}

void ti__take_listed(struct ti__member *m, const json_t *j)
{
    struct ti__fetching *g = m->g;
    const json_t *file;
    size_t i;

    if (m->listing != TI__ASKED) {
        ti__nonsense(m, "a list nobody asked for");
        return;
    }
    json_array_foreach(json_object_get(j, "traces"), i, file)
    {
        int64_t rank = json_integer_value(json_array_get(file, 0)),
                bytes = json_integer_value(json_array_get(file, 1));

        if (rank < 0 || rank >= TI_RANKS_MAX || bytes < 0 || ti_ranges_hold(m->have, rank)) {
            ti__nonsense(m, "a list with a rank that is none, or is there twice");
            return;
        }
        if (rank >= g->np)
            continue;
        if (g->work == TI__REMOVE)
            may_be_removed(m, rank, bytes);
        if (g->work == TI__REMOVE || g->rank[rank].state == TI__LEFT)
            continue;
        ti_ranges_add(m->have, rank);
        compare_with_holder(m, rank, file);
    }
}

static void ask_remove(struct ti__member *m)
{
    if (json_array_size(m->todo) == 0)
        return;
    m->removing = true;
    ask(m, json_pack("{s:s, s:i, s:O, s:s, s:s}", "do", "remove", "id", 4, "ranks", m->todo,
                     "directory", m->node->directory, "run_id", m->g->nodes.run_id));
}

void ti__list_done(struct ti__member *m, const json_t *j)
{
    if (m->listing != TI__ASKED) {
        ti__nonsense(m, "a list nobody asked for");
        return;
    }
    m->listing = TI__LISTED;
    m->no_folder = json_is_false(json_object_get(j, "exists"));
    m->g->dirty = true;
    if (m->g->work == TI__REMOVE) {
        ask_remove(m);
        return;
    }
    for_all(m, m->have, assign);
    for_all(m, m->ranks, assign);
}

/* --- whether two have the same ------------------------------------------- */

static const char *name_of(const struct ti__fetching *g, int32_t node)
{
    return g->member[node].out->name;
}

static void clash(struct ti__fetching *g, int64_t rank, int32_t a, int32_t b)
{
    struct ti__rank *r = &g->rank[rank];
    char name[TI_RANK_NAME_BYTES], why[768];

    snprintf(why, sizeof why, "node '%.256s' and node '%.256s' have different traces of it",
             name_of(g, a), name_of(g, b));
    ti__note(g, a, b, rank, why, "remove the wrong one there, and start again");
    if (r->state == TI__CAME) {
        unlinkat(g->nodes.dir, ti_rank_name(rank, name), 0);
        g->f->fetched--;
        if (r->sender >= 0)
            g->member[r->sender].out->ranks--;
    }
    r->state = TI__CLASH;
}

static void take_one_crc(struct ti__member *m, int64_t rank, int64_t bytes, uint32_t crc)
{
    struct ti__fetching *g = m->g;
    struct ti__rank *r = &g->rank[rank];

    if (r->holder < 0)
        r->holder = m->i;
    if (r->holder == m->i) {
        r->bytes = bytes;
        r->crc = crc;
        r->crc_known = true;
        ti__assign(g, rank);
        return;
    }
    if (bytes == r->bytes && crc == r->crc) {
        g->f->alike += !r->alike;
        r->alike = true;
    } else if (r->state != TI__CLASH) {
        clash(g, rank, r->holder, m->i);
    }
}

/* It is compared with the holder's, so that has to be known first. */
static bool ask_now(struct ti__member *m, int64_t rank)
{
    struct ti__rank *r = &m->g->rank[rank];
    struct ti__member *holder = r->holder >= 0 ? &m->g->member[r->holder] : NULL;

    if (!holder || holder == m || r->crc_known)
        return true;
    if (ti__given_up(holder)) {
        r->holder = -1;
        return true;
    }
    if (!ti_ranges_hold(holder->check, rank) && !ti_ranges_hold(holder->checked, rank)) {
        ti_ranges_add(holder->check, rank);
        ti__wake(holder);
    }
    return false;
}

/* Those of `check` that can be asked for now go to `checked`. */
void ti__ask_crc(struct ti__member *m)
{
    json_t *now, *later;
    const json_t *range;
    int64_t n = 0;
    size_t i;

    if (m->checked || !m->ready || json_array_size(m->check) == 0)
        return;
    now = json_array();
    later = json_array();
    json_array_foreach(m->check, i,
                       range) for (int64_t r = json_integer_value(json_array_get(range, 0));
                                   r <= json_integer_value(json_array_get(range, 1)); r++)
    {
        if (m->g->rank[r].state == TI__CLASH)
            continue;
        if (n < CRC_RANKS_MOST && ask_now(m, r)) {
            ti_ranges_add(now, r);
            n++;
        } else {
            ti_ranges_add(later, r);
        }
    }
    json_decref(m->check);
    m->check = later;
    if (n) {
        m->checked = now;
        ask(m, json_pack("{s:s, s:i, s:O, s:s, s:s}", "do", "crc", "id", 2, "ranks", now,
                         "directory", m->node->directory, "run_id", m->g->nodes.run_id));
    } else {
        json_decref(now);
    }
}

/* What it cannot read is not compared; nobody waits for it. */
static void leave_out(struct ti__member *m, const json_t *asked, const json_t *seen)
{
    const json_t *range;
    size_t i;

    json_array_foreach(asked, i, range)
    {
        int64_t last = json_integer_value(json_array_get(range, 1));

        for (int64_t r = json_integer_value(json_array_get(range, 0)); r <= last; r++)
            if (!ti_ranges_hold(seen, r) && m->g->rank[r].holder == m->i)
                m->g->rank[r].holder = -1;
    }
}

void ti__take_crc(struct ti__member *m, const json_t *j)
{
    json_t *asked = m->checked, *seen = json_array();
    const json_t *one;
    size_t i;

    m->checked = NULL;
    m->g->dirty = true;
    json_array_foreach(json_object_get(j, "crc"), i, one)
    {
        int64_t rank = json_integer_value(json_array_get(one, 0));

        if (!ti_ranges_hold(asked, rank) || ti_ranges_hold(seen, rank)) {
            ti__nonsense(m, "a checksum nobody asked for");
            break;
        }
        ti_ranges_add(seen, rank);
        take_one_crc(m, rank, json_integer_value(json_array_get(one, 1)),
                     (uint32_t)json_integer_value(json_array_get(one, 2)));
    }
    leave_out(m, asked, seen);
    json_decref(seen);
    json_decref(asked);
}
