#include "gather/fetch/checksums.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/crc32c.h"
#include "gather/fetch/abandon.h"
#include "gather/fetch/announced.h"
#include "gather/fetch/copies.h"
#include "gather/fetch/failures.h"
#include "gather/fetch/removal.h"
#include "gather/fetch/senders.h"
#include "trace/rankname.h"

#define CRC_RANKS_MAX 1000      /* of one "crc" */
#define PIECE_BYTES   (4 << 20) /* read here at a time: connections wait meanwhile */

static void on_one_crc(struct ti__peer *p, int64_t rank, int64_t bytes, uint32_t crc)
{
    struct ti__gathering *g = p->gathering;
    struct ti__rank *r = &g->rank[rank];

    if (g->kind == TI__REMOVE) {
        ti__remove_if_equal(p, rank, bytes, crc);
        return;
    }
    if (r->reference >= 0 && r->reference != p->i && !r->crc_known) {
        /* the first reference was lost: this node was asked before another one listed the rank */
        ti__queue_checksum(&g->peer[r->reference], rank);
        ti__wake(&g->peer[r->reference]);
        r->reference = -1;
        r->more_copies = true;
    }
    if (r->reference == -1)
        r->reference = p->i;
    if (r->reference == p->i) {
        if (r->sender >= 0) /* its total has the listed length */
            g->peer[r->sender].result->wanted_bytes += bytes - r->bytes;
        r->bytes = bytes;
        r->crc = crc;
        r->crc_known = true;
        ti__assign_sender(g, rank);
        return;
    }
    if (bytes == r->bytes && crc == r->crc) {
        g->f->alike += !r->alike;
        r->alike = true;
    } else if (r->reference == TI__LOCAL_COPY) {
        ti__conflict_with_local(p, rank);
    } else if (r->state != TI__CONFLICT) {
        ti__conflict(g, rank, r->reference, p->i);
    }
}

/* False: the CRC of the reference must be known first, and is requested or computed. */
static bool may_ask_crc(struct ti__peer *p, int64_t rank)
{
    struct ti__rank *r = &p->gathering->rank[rank];
    struct ti__peer *holder;

    ti__forget_lost_reference(p->gathering, rank, false);
    if (r->reference == -1 || r->reference == p->i || r->crc_known)
        return true;
    if (r->reference == TI__LOCAL_COPY) {
        if (p->gathering->local.fd < 0 || p->gathering->local.rank != rank)
            ti_ranges_add(&p->gathering->local_queue, rank);
        return false;
    }
    holder = &p->gathering->peer[r->reference];
    if (!ti_ranges_hold(&holder->to_checksum, rank) &&
        !ti_ranges_hold(&holder->checksumming, rank)) {
        ti__queue_checksum(holder, rank);
        ti__wake(holder);
    }
    return false;
}

/* True if all of to_checksum still waits.  Avoids a pass over thousands of ranks of thousands of
 * nodes whenever something happens to one of them. */
static bool is_blocked(const struct ti__peer *p)
{
    const struct ti__rank *r = &p->gathering->rank[p->blocked_by];

    if (!p->blocked || r->state == TI__CONFLICT || r->crc_known)
        return false;
    return r->reference == TI__LOCAL_COPY || (r->reference >= 0 && r->reference != p->i &&
                                              !ti__abandoned(&p->gathering->peer[r->reference]));
}

/* Nodes answer in ascending order, local files are read in descending order.  So the last remote
 * rank, or the first local one, is known last, and one check is enough. */
static void set_blocked_by(struct ti__peer *p, int64_t rank)
{
    if (!p->blocked || p->gathering->rank[rank].reference != TI__LOCAL_COPY)
        p->blocked_by = rank;
    p->blocked = true;
}

/* Moves the ranks of to_checksum that can be requested to `checksumming`. */
static void divide(struct ti__peer *p)
{
    struct ti_ranges later = {0};
    int64_t n = 0;

    ti_ranges_foreach (&p->to_checksum, r) {
        if (n == CRC_RANKS_MAX) {
            ti_ranges_add_range(&later, r, p->to_checksum.range[r_range].last);
            break;
        }
        if (p->gathering->rank[r].state == TI__CONFLICT)
            continue;
        if (may_ask_crc(p, r)) {
            ti_ranges_add(&p->checksumming, r);
            p->crc_bytes += p->gathering->kind == TI__REMOVE
                                ? (int64_t)p->gathering->run->rank[r].file.st_size
                                : p->gathering->rank[r].bytes;
            n++;
        } else {
            ti_ranges_add(&later, r);
            set_blocked_by(p, r);
        }
    }
    ti_ranges_free(&p->to_checksum);
    p->to_checksum = later;
}

void ti__ask_crc(struct ti__peer *p)
{
    if (p->checksumming.n || !p->ready || !p->to_checksum.n || is_blocked(p))
        return;
    p->blocked = false;
    divide(p);
    if (!p->checksumming.n)
        return;
    p->blocked = false;
    ti__made_progress(p);
    ti__request(p, json_pack("{s:s, s:i, s:o, s:s, s:s}", "do", "crc", "id", 2, "ranks",
                             ti_ranges_json(&p->checksumming), "directory", p->node->directory,
                             "run_id", p->gathering->nodes.run_id));
}

/* Ranks without an answer (the node could not read them) are not compared, and nobody waits for
 * them. */
static void drop_unanswered(struct ti__peer *p, const struct ti_ranges *asked,
                            const struct ti_ranges *seen)
{
    ti_ranges_foreach (asked, r) {
        if (ti_ranges_hold(seen, r))
            continue;
        ti_ranges_add(&p->not_compared, r);
        if (p->gathering->kind == TI__REMOVE)
            ti__add_finding(p->gathering, p->i, -1, r,
                            "it could not be compared with what was gathered", NULL);
        if (p->gathering->rank[r].reference != p->i)
            continue;
        p->gathering->rank[r].reference = -1;
        p->gathering->rank[r].more_copies = true;
    }
}

void ti__on_crc(struct ti__peer *p, const json_t *j)
{
    struct ti_ranges asked = p->checksumming, seen = {0};
    const json_t *one;
    size_t i;

    if (!asked.n) {
        ti__protocol_error(p, "checksums nobody asked for");
        return;
    }
    ti__made_progress(p);
    p->checksumming = (struct ti_ranges){0};
    p->crc_bytes = 0;
    p->gathering->dirty = true;
    json_array_foreach(json_object_get(j, "crc"), i, one)
    {
        int64_t rank = json_integer_value(json_array_get(one, 0)),
                bytes = json_integer_value(json_array_get(one, 1));

        if (!ti_ranges_hold(&asked, rank) || ti_ranges_hold(&seen, rank) || bytes < 0 ||
            bytes > TI__TRACE_BYTES_MAX) {
            ti__protocol_error(p, "a checksum nobody asked for");
            break;
        }
        ti_ranges_add(&seen, rank);
        ti__announced(p->gathering, rank, bytes);
        on_one_crc(p, rank, bytes, (uint32_t)json_integer_value(json_array_get(one, 2)));
    }
    drop_unanswered(p, &asked, &seen);
    if (p->gathering->kind == TI__REMOVE && !ti__abandoned(p))
        ti__ask_remove(p);
    ti_ranges_free(&seen);
    ti_ranges_free(&asked);
}

/* --- local copies -------------------------------------------------------- */

static int64_t pop_last(struct ti_ranges *set)
{
    struct ti_range *range = &set->range[set->n - 1];

    if (range->last == range->first)
        set->n--;
    return range->last--;
}

static bool open_local(struct ti__gathering *g)
{
    char name[TI_RANK_NAME_BYTES];

    if (g->local.fd >= 0)
        return true;
    g->local.rank = pop_last(&g->local_queue);
    g->local.bytes = 0;
    g->local.crc = 0;
    g->local.fd = openat(g->nodes.dir, ti_rank_name(g->local.rank, name),
                         O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return g->local.fd >= 0;
}

/* A file that cannot be read is not compared; ti_run_check() reports it. */
static void close_local(struct ti__gathering *g, bool read)
{
    struct ti__rank *r = &g->rank[g->local.rank];

    if (read) {
        r->crc = g->local.crc;
        r->bytes = g->local.bytes;
        r->crc_known = true;
    } else {
        r->reference = -1;
    }
    if (g->local.fd >= 0)
        close(g->local.fd);
    g->local.fd = -1;
    g->dirty = true;
}

bool ti__checksum_local(struct ti__gathering *g)
{
    static char buf[256 * 1024];
    int64_t left = PIECE_BYTES;

    while ((g->local.fd >= 0 || g->local_queue.n) && left > 0) {
        ssize_t n = open_local(g) ? read(g->local.fd, buf, sizeof buf) : -1;

        if (n < 0 && errno == EINTR)
            continue;
        if (n > 0) {
            g->local.crc = ti_crc32c(g->local.crc, buf, (size_t)n);
            g->local.bytes += n;
            left -= n;
        } else {
            close_local(g, n == 0);
        }
    }
    return g->local.fd >= 0 || g->local_queue.n;
}
