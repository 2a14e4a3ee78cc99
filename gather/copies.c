#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/crc32c.h"
#include "formats/rankname.h"
#include "gather/fetch_job.h"
#include "node/launch.h"

#define CRC_RANKS_MOST     1000 /* of one "crc" */
#define REMOVE_RANGES_MOST 2000 /* of one "remove", that it fits into a frame */
#define NOT_GATHERED       "it is not what was gathered"
#define PIECE_BYTES        (4 << 20) /* read here at a time, while connections wait */

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
    if (can_send(g, r->second, rank))
        return r->second;
    for (int64_t i = 0; r->several && i < g->nodes.n; i++)
        if (can_send(g, i, rank))
            return (int32_t)i;
    return -1;
}

bool ti__others_may_send(const struct ti__fetching *g, int64_t rank)
{
    for (int64_t i = 0; i < g->nodes.n; i++) {
        const struct ti__member *m = &g->member[i];

        if (ti__takes_part(m) && !ti__given_up(m) &&
            (m->listing != TI__LISTED || can_send(g, i, rank)))
            return true;
    }
    return false;
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

    if (r->sender == m->i) { /* it was to send it all the same */
        r->sender = -1;
        m->out->wanted_bytes -= r->bytes;
    }
    ti__assign(g, rank);
}

static void for_each(struct ti__member *m, const json_t *list,
                     void (*call)(struct ti__member *m, int64_t rank))
{
    const json_t *range;
    size_t i;

    json_array_foreach(list, i, range)
    {
        int64_t last = json_integer_value(json_array_get(range, 1));

        for (int64_t r = json_integer_value(json_array_get(range, 0)); r <= last; r++)
            call(m, r);
    }
}

/* Those of `list` that are not here. */
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

static void not_compared(struct ti__member *m, int64_t rank)
{
    ti_ranges_add(m->alone, rank);
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
    for_each(m, m->check, not_compared);
    for_each(m, m->checked, not_compared);
    json_array_clear(m->todo);
    json_array_clear(m->check);
    json_decref(m->checked);
    m->checked = NULL;
}

/* --- two that differ ----------------------------------------------------- */

static const char *name_of(const struct ti__fetching *g, int32_t node)
{
    return g->member[node].out->name;
}

/* What was on its way is dropped when it is whole, what came is removed. */
static void clash(struct ti__fetching *g, int64_t rank, int32_t a, int32_t b)
{
    struct ti__rank *r = &g->rank[rank];
    struct ti__member *sender = r->sender >= 0 ? &g->member[r->sender] : NULL;
    char name[TI_RANK_NAME_BYTES], why[768];

    snprintf(why, sizeof why, "node '%.256s' and node '%.256s' have different traces of it",
             name_of(g, a), name_of(g, b));
    ti__note(g, a, b, rank, why, "remove the wrong one there, and start again");
    if (r->state == TI__CAME) {
        unlinkat(g->nodes.dir, ti_rank_name(rank, name), 0);
        g->f->fetched--;
        if (sender)
            sender->out->ranks--;
    } else if (sender && ti_ranges_hold(sender->todo, rank)) { /* which is never asked for now */
        sender->out->wanted_bytes -= r->bytes;
    }
    r->state = TI__CLASH;
}

static void clash_here(struct ti__member *m, int64_t rank)
{
    struct ti__rank *r = &m->g->rank[rank];
    char why[512];

    if (r->state == TI__CLASH)
        return;
    snprintf(why, sizeof why,
             "node '%.256s' has another trace of it than the one that was here, which is kept",
             name_of(m->g, m->i));
    ti__note(m->g, m->i, TI__HERE, rank, why,
             "remove the wrong one, here or there, and start again");
    r->state = TI__CLASH;
    m->g->f->clashes++;
}

/* --- what nodes have ----------------------------------------------------- */

void ti__ask_list(struct ti__member *m)
{
    m->listing = TI__ASKED;
    ti__moved(m);
    json_array_clear(m->have); /* of a list that was cut off */
    ask(m, json_pack("{s:s, s:i, s:s, s:s}", "do", "list", "id", 1, "directory", m->node->directory,
                     "run_id", m->g->nodes.run_id));
}

static void to_check(struct ti__member *m, int64_t rank)
{
    ti_ranges_add(m->check, rank);
    m->blocked = false;
}

/* Whether it is one file that both see: nodes of different sites hardly share a disk, and so
 * their files are compared. */
static bool is_shared(const struct ti__member *m, const struct ti__rank *r, int64_t bytes,
                      uint64_t inode, int64_t mtime)
{
    return r->inode == inode && r->bytes == bytes && r->mtime == mtime &&
           m->g->member[r->holder].node->site == m->node->site;
}

/* A holder that was given up before its checksum was known is none. */
static void forget_lost_holder(struct ti__fetching *g, int64_t rank, bool shared)
{
    struct ti__rank *r = &g->rank[rank];

    if (r->holder < 0 || r->crc_known || !ti__given_up(&g->member[r->holder]))
        return;
    if (!shared)
        not_compared(&g->member[r->holder], rank);
    r->holder = -1;
}

/* A file that nobody else has named yet, or the same, or another one. */
static void compare_with_holder(struct ti__member *m, int64_t rank, const json_t *file)
{
    struct ti__rank *r = &m->g->rank[rank];
    int64_t bytes = json_integer_value(json_array_get(file, 1)),
            mtime = json_integer_value(json_array_get(file, 3));
    uint64_t inode = (uint64_t)json_integer_value(json_array_get(file, 2));

    r->listed = true;
    forget_lost_holder(m->g, rank, r->holder >= 0 && is_shared(m, r, bytes, inode, mtime));
    if (r->holder < 0) {
        r->holder = m->i;
        r->bytes = bytes;
        r->inode = inode;
        r->mtime = mtime;
        return;
    }
    if (r->holder == m->i)
        return;
    r->several = r->several || (r->second >= 0 && r->second != m->i);
    r->second = r->second < 0 ? m->i : r->second;
    if (is_shared(m, r, bytes, inode, mtime)) {
        m->g->f->shared += !r->shared;
        r->shared = true;
    } else {
        to_check(m, rank);
    }
}

/* One that was here before, which is not asked for: it may come from this very node, if that is
 * the one that RUN.json names, else it is compared. */
static void compare_with_here(struct ti__member *m, int64_t rank, const json_t *file)
{
    struct ti__rank *r = &m->g->rank[rank];
    int64_t bytes = json_integer_value(json_array_get(file, 1)),
            mtime = json_integer_value(json_array_get(file, 3));
    uint64_t inode = (uint64_t)json_integer_value(json_array_get(file, 2));

    if (bytes != r->bytes) {
        clash_here(m, rank);
    } else if (!ti_ranges_hold(m->node->ranks, rank) &&
               (!r->listed || r->inode != inode || r->mtime != mtime)) {
        r->inode = inode;
        r->mtime = mtime;
        r->listed = true;
        to_check(m, rank);
    }
}

/* With --remove: only what is as long as what is in the bundle, and has its checksum. */
static void may_be_removed(struct ti__member *m, int64_t rank, int64_t bytes)
{
    const struct ti_run *run = m->g->run;

    if (m->g->rank[rank].state != TI__WANTED || (m->ranks && !ti_ranges_hold(m->node->ranks, rank)))
        return;
    if (ti_ranges_hold(m->tried, rank))
        ti__note(m->g, m->i, -1, rank, "it could not be removed: is the directory writable?", NULL);
    else if (run->rank[rank].file.st_size == bytes)
        to_check(m, rank);
    else
        ti__note(m->g, m->i, -1, rank, NOT_GATHERED, NULL);
}

static void is_to_be_removed(struct ti__member *m, int64_t rank, int64_t bytes, uint32_t crc)
{
    const struct ti_run_rank *r = &m->g->run->rank[rank];

    if (r->file.st_size == bytes && r->crc32c == crc)
        ti_ranges_add(m->todo, rank);
    else
        ti__note(m->g, m->i, -1, rank, NOT_GATHERED, NULL);
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

        if (rank < 0 || rank >= TI_RANKS_MAX || bytes < 0 || bytes > TI__BYTES_MOST ||
            ti_ranges_hold(m->have, rank)) {
            ti__nonsense(m, "a list with a rank that is none, or is there twice");
            return;
        }
        if (rank >= g->np)
            continue;
        ti__moved(m);
        ti_ranges_add(m->have, rank);
        if (g->work == TI__REMOVE)
            may_be_removed(m, rank, bytes);
        else if (g->rank[rank].holder == TI__HERE)
            compare_with_here(m, rank, file);
        else if (g->rank[rank].state != TI__LEFT)
            compare_with_holder(m, rank, file);
    }
}

void ti__ask_remove(struct ti__member *m)
{
    json_t *later;
    const json_t *range;
    size_t i;

    if (json_array_size(m->todo) == 0 || json_array_size(m->check) || m->checked)
        return;
    later = json_array();
    m->going = json_array();
    json_array_foreach(m->todo, i, range)
        json_array_append(i < REMOVE_RANGES_MOST ? m->going : later, json_array_get(m->todo, i));
    json_decref(m->todo);
    m->todo = later;
    m->removing = true;
    ti__moved(m);
    ask(m, json_pack("{s:s, s:i, s:O, s:s, s:s}", "do", "remove", "id", 4, "ranks", m->going,
                     "directory", m->node->directory, "run_id", m->g->nodes.run_id));
}

void ti__list_done(struct ti__member *m, const json_t *j)
{
    if (m->listing != TI__ASKED) {
        ti__nonsense(m, "a list nobody asked for");
        return;
    }
    ti__moved(m);
    m->listing = TI__LISTED;
    m->no_folder = json_is_false(json_object_get(j, "exists"));
    m->g->dirty = true;
    if (m->g->work == TI__REMOVE) /* what it has is compared first */
        return;
    for_all(m, m->have, assign);
    for_all(m, m->ranks, assign);
}

/* --- whether two have the same ------------------------------------------- */

static void take_one_crc(struct ti__member *m, int64_t rank, int64_t bytes, uint32_t crc)
{
    struct ti__fetching *g = m->g;
    struct ti__rank *r = &g->rank[rank];

    if (g->work == TI__REMOVE) {
        is_to_be_removed(m, rank, bytes, crc);
        return;
    }
    if (r->holder >= 0 && r->holder != m->i && !r->crc_known) {
        /* who had it first was lost, and this one asked before another one listed it */
        to_check(&g->member[r->holder], rank);
        ti__wake(&g->member[r->holder]);
        r->holder = -1;
        r->several = true;
    }
    if (r->holder == -1)
        r->holder = m->i;
    if (r->holder == m->i) {
        if (r->sender >= 0) /* its sum has what was listed */
            g->member[r->sender].out->wanted_bytes += bytes - r->bytes;
        r->bytes = bytes;
        r->crc = crc;
        r->crc_known = true;
        ti__assign(g, rank);
        return;
    }
    if (bytes == r->bytes && crc == r->crc) {
        g->f->alike += !r->alike;
        r->alike = true;
    } else if (r->holder == TI__HERE) {
        clash_here(m, rank);
    } else if (r->state != TI__CLASH) {
        clash(g, rank, r->holder, m->i);
    }
}

/* It is compared with the holder's, so that has to be known first. */
static bool ask_now(struct ti__member *m, int64_t rank)
{
    struct ti__rank *r = &m->g->rank[rank];
    struct ti__member *holder;

    forget_lost_holder(m->g, rank, false);
    if (r->holder == -1 || r->holder == m->i || r->crc_known)
        return true;
    if (r->holder == TI__HERE) {
        if (m->g->comparing.fd < 0 || m->g->comparing.rank != rank)
            ti_ranges_add(m->g->compare, rank);
        return false;
    }
    holder = &m->g->member[r->holder];
    if (!ti_ranges_hold(holder->check, rank) && !ti_ranges_hold(holder->checked, rank)) {
        to_check(holder, rank);
        ti__wake(holder);
    }
    return false;
}

/* Nothing of `check` could be asked for when it was looked at, nor was anything added, and what
 * it waited for is not known yet: thousands of nodes with thousands of ranks each need not be
 * looked at whenever something happens to one of them. */
static bool is_blocked(const struct ti__member *m)
{
    const struct ti__rank *r = &m->g->rank[m->blocked_by];

    if (!m->blocked || r->state == TI__CLASH || r->crc_known)
        return false;
    return r->holder == TI__HERE ||
           (r->holder >= 0 && r->holder != m->i && !ti__given_up(&m->g->member[r->holder]));
}

/* What holders are asked for comes in ascending order, what is read here in descending order:
 * who waits for the last of it finds all the others known. */
static void blocked_by(struct ti__member *m, int64_t rank)
{
    if (!m->blocked || m->g->rank[rank].holder != TI__HERE)
        m->blocked_by = rank;
    m->blocked = true;
}

void ti__add_rest(json_t *to, const json_t *from, size_t i, int64_t first)
{
    json_t *range = json_array_get(from, i);

    ti_ranges_add(to, first);
    json_integer_set(json_array_get(json_array_get(to, json_array_size(to) - 1), 1),
                     json_integer_value(json_array_get(range, 1)));
    while (++i < json_array_size(from))
        json_array_append(to, json_array_get(from, i));
}

/* Those of `check` that can be asked for now go to `now`, the others to `later`. */
static void divide(struct ti__member *m, json_t *now, json_t *later)
{
    const json_t *range;
    int64_t n = 0;
    size_t i;

    json_array_foreach(m->check, i, range)
    {
        int64_t last = json_integer_value(json_array_get(range, 1));

        for (int64_t r = json_integer_value(json_array_get(range, 0)); r <= last; r++) {
            if (n == CRC_RANKS_MOST) {
                ti__add_rest(later, m->check, i, r);
                return;
            }
            if (m->g->rank[r].state == TI__CLASH)
                continue;
            if (ask_now(m, r)) {
                ti_ranges_add(now, r);
                m->crc_bytes += m->g->work == TI__REMOVE ? (int64_t)m->g->run->rank[r].file.st_size
                                                         : m->g->rank[r].bytes;
                n++;
            } else {
                ti_ranges_add(later, r);
                blocked_by(m, r);
            }
        }
    }
}

void ti__ask_crc(struct ti__member *m)
{
    json_t *now, *later;

    if (m->checked || !m->ready || json_array_size(m->check) == 0 || is_blocked(m))
        return;
    now = json_array();
    later = json_array();
    m->blocked = false;
    divide(m, now, later);
    json_decref(m->check);
    m->check = later;
    if (json_array_size(now)) {
        m->blocked = false;
        m->checked = now;
        ti__moved(m);
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

        for (int64_t r = json_integer_value(json_array_get(range, 0)); r <= last; r++) {
            if (ti_ranges_hold(seen, r))
                continue;
            not_compared(m, r);
            if (m->g->work == TI__REMOVE)
                ti__note(m->g, m->i, -1, r, "it could not be compared with what was gathered",
                         NULL);
            if (m->g->rank[r].holder != m->i)
                continue;
            m->g->rank[r].holder = -1;
            m->g->rank[r].several = true;
        }
    }
}

void ti__take_crc(struct ti__member *m, const json_t *j)
{
    json_t *asked = m->checked, *seen;
    const json_t *one;
    size_t i;

    if (!asked) {
        ti__nonsense(m, "checksums nobody asked for");
        return;
    }
    ti__moved(m);
    seen = json_array();
    m->checked = NULL;
    m->crc_bytes = 0;
    m->g->dirty = true;
    json_array_foreach(json_object_get(j, "crc"), i, one)
    {
        int64_t rank = json_integer_value(json_array_get(one, 0)),
                bytes = json_integer_value(json_array_get(one, 1));

        if (!ti_ranges_hold(asked, rank) || ti_ranges_hold(seen, rank) || bytes < 0 ||
            bytes > TI__BYTES_MOST) {
            ti__nonsense(m, "a checksum nobody asked for");
            break;
        }
        ti_ranges_add(seen, rank);
        take_one_crc(m, rank, bytes, (uint32_t)json_integer_value(json_array_get(one, 2)));
    }
    leave_out(m, asked, seen);
    if (m->g->work == TI__REMOVE && !ti__given_up(m))
        ti__ask_remove(m);
    json_decref(seen);
    json_decref(asked);
}

/* --- what was here before ------------------------------------------------ */

static int64_t take_last(json_t *ranges)
{
    size_t n = json_array_size(ranges);
    json_t *range = json_array_get(ranges, n - 1);
    int64_t last = json_integer_value(json_array_get(range, 1));

    if (last == json_integer_value(json_array_get(range, 0)))
        json_array_remove(ranges, n - 1);
    else
        json_integer_set(json_array_get(range, 1), last - 1);
    return last;
}

static bool begin_here(struct ti__fetching *g)
{
    char name[TI_RANK_NAME_BYTES];

    if (g->comparing.fd >= 0)
        return true;
    g->comparing.rank = take_last(g->compare);
    g->comparing.bytes = 0;
    g->comparing.crc = 0;
    g->comparing.fd = openat(g->nodes.dir, ti_rank_name(g->comparing.rank, name),
                             O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return g->comparing.fd >= 0;
}

/* One that cannot be read is not compared: whoever checks the run says what is wrong with it. */
static void end_here(struct ti__fetching *g, bool read)
{
    struct ti__rank *r = &g->rank[g->comparing.rank];

    if (read) {
        r->crc = g->comparing.crc;
        r->bytes = g->comparing.bytes;
        r->crc_known = true;
    } else {
        r->holder = -1;
    }
    if (g->comparing.fd >= 0)
        close(g->comparing.fd);
    g->comparing.fd = -1;
    g->dirty = true;
}

bool ti__read_here(struct ti__fetching *g)
{
    static char buf[256 * 1024];
    int64_t left = PIECE_BYTES;

    while ((g->comparing.fd >= 0 || json_array_size(g->compare)) && left > 0) {
        ssize_t n = begin_here(g) ? read(g->comparing.fd, buf, sizeof buf) : -1;

        if (n < 0 && errno == EINTR)
            continue;
        if (n > 0) {
            g->comparing.crc = ti_crc32c(g->comparing.crc, buf, (size_t)n);
            g->comparing.bytes += n;
            left -= n;
        } else {
            end_here(g, n == 0);
        }
    }
    return g->comparing.fd >= 0 || json_array_size(g->compare);
}
