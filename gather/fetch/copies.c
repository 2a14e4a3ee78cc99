#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/crc32c.h"
#include "formats/rankname.h"
#include "gather/fetch/job.h"
#include "node/launch.h"

#define CRC_RANKS_MAX     1000 /* of one "crc" */
#define REMOVE_RANGES_MAX 2000 /* of one "remove", so that it fits into a frame */
#define NOT_GATHERED      "it is not what was gathered"
#define PIECE_BYTES       (4 << 20) /* read here at a time: connections wait meanwhile */

static void send_request(struct ti__peer *p, json_t *request)
{
    if (request && p->conn)
        ti_conn_request(p->conn, request);
    else
        json_decref(request);
}

/* --- choice of the sender ------------------------------------------------ */

static bool can_send(const struct ti__job *job, int64_t node, int64_t rank)
{
    return node >= 0 && !ti__abandoned(&job->peer[node]) &&
           ti_ranges_hold(job->peer[node].have, rank) &&
           !ti_ranges_hold(job->peer[node].refused, rank);
}

/* The node that RUN.json names, else any other that has a copy; -1: none, or not known yet. */
static int32_t choose_sender(const struct ti__job *job, int64_t rank)
{
    const struct ti__rank *r = &job->rank[rank];

    if (can_send(job, r->named, rank))
        return r->named;
    if (r->named >= 0 && ti__in_tree(&job->peer[r->named]) &&
        !ti__abandoned(&job->peer[r->named]) && job->peer[r->named].listing != TI__LISTED)
        return -1; /* it may still list it */
    if (can_send(job, r->reference, rank))
        return r->reference;
    if (can_send(job, r->second, rank))
        return r->second;
    for (int64_t i = 0; r->more_copies && i < job->nodes.n; i++)
        if (can_send(job, i, rank))
            return (int32_t)i;
    return -1;
}

bool ti__has_other_sender(const struct ti__job *job, int64_t rank)
{
    for (int64_t i = 0; i < job->nodes.n; i++) {
        const struct ti__peer *p = &job->peer[i];

        if (ti__in_tree(p) && !ti__abandoned(p) &&
            (p->listing != TI__LISTED || can_send(job, i, rank)))
            return true;
    }
    return false;
}

void ti__assign_sender(struct ti__job *job, int64_t rank)
{
    struct ti__rank *r = &job->rank[rank];
    struct ti__peer *p;
    int32_t sender = r->state == TI__WANTED && r->sender < 0 ? choose_sender(job, rank) : -1;

    if (sender < 0 || job->kind != TI__FETCH)
        return;
    p = &job->peer[sender];
    r->sender = sender;
    ti_ranges_add(p->to_send, rank);
    p->result->wanted++;
    p->result->wanted_bytes += r->bytes;
    ti__wake(p);
}

static void release_rank(struct ti__peer *p, int64_t rank)
{
    struct ti__job *job = p->job;
    struct ti__rank *r = &job->rank[rank];

    if (r->sender == p->i) { /* it was the sender */
        r->sender = -1;
        p->result->wanted_bytes -= r->bytes;
    }
    ti__assign_sender(job, rank);
}

static void for_each(struct ti__peer *p, const json_t *list,
                     void (*call)(struct ti__peer *p, int64_t rank))
{
    const json_t *range;
    size_t i;

    json_array_foreach(list, i, range)
    {
        int64_t last = json_integer_value(json_array_get(range, 1));

        for (int64_t r = json_integer_value(json_array_get(range, 0)); r <= last; r++)
            call(p, r);
    }
}

/* Only ranks of `list` that are wanted. */
static void for_each_wanted(struct ti__peer *p, const json_t *list,
                            void (*call)(struct ti__peer *p, int64_t rank))
{
    const json_t *range;
    size_t i;

    json_array_foreach(list, i, range)
    {
        int64_t last = json_integer_value(json_array_get(range, 1));

        for (int64_t r = json_integer_value(json_array_get(range, 0)); r <= last; r++)
            if (p->job->rank[r].state == TI__WANTED)
                call(p, r);
    }
}

static void mark_not_compared(struct ti__peer *p, int64_t rank)
{
    ti_ranges_add(p->not_compared, rank);
}

static void assign(struct ti__peer *p, int64_t rank)
{
    ti__assign_sender(p->job, rank);
}

/* Ranks that it was to send go to other nodes; its copies are not compared any more. */
void ti__release_ranks(struct ti__peer *p)
{
    for_each_wanted(p, p->have, release_rank);
    for_each_wanted(p, p->ranks, release_rank);
    for_each(p, p->to_checksum, mark_not_compared);
    for_each(p, p->checksumming, mark_not_compared);
    json_array_clear(p->to_send);
    json_array_clear(p->to_checksum);
    json_decref(p->checksumming);
    p->checksumming = NULL;
}

/* --- copies that differ -------------------------------------------------- */

static const char *name_of(const struct ti__job *job, int32_t node)
{
    return job->peer[node].result->name;
}

/* Removes the file if it was received; if it is being received, it is dropped at its end. */
static void conflict(struct ti__job *job, int64_t rank, int32_t a, int32_t b)
{
    struct ti__rank *r = &job->rank[rank];
    struct ti__peer *sender = r->sender >= 0 ? &job->peer[r->sender] : NULL;
    char name[TI_RANK_NAME_BYTES], why[768];

    snprintf(why, sizeof why, "node '%.256s' and node '%.256s' have different traces of it",
             name_of(job, a), name_of(job, b));
    ti__add_finding(job, a, b, rank, why, "remove the wrong one there, and start again");
    if (r->state == TI__RECEIVED) {
        unlinkat(job->nodes.dir, ti_rank_name(rank, name), 0);
        job->f->fetched--;
        if (sender)
            sender->result->ranks--;
    } else if (sender && ti_ranges_hold(sender->to_send, rank)) { /* and will not be requested */
        sender->result->wanted_bytes -= r->bytes;
    }
    r->state = TI__CONFLICT;
}

static void conflict_with_local(struct ti__peer *p, int64_t rank)
{
    struct ti__rank *r = &p->job->rank[rank];
    char why[512];

    if (r->state == TI__CONFLICT)
        return;
    snprintf(why, sizeof why,
             "node '%.256s' has another trace of it than the one that was here, which is kept",
             name_of(p->job, p->i));
    ti__add_finding(p->job, p->i, TI__LOCAL_COPY, rank, why,
                    "remove the wrong one, here or there, and start again");
    r->state = TI__CONFLICT;
    p->job->f->conflicts++;
}

/* --- listings ------------------------------------------------------------ */

void ti__ask_list(struct ti__peer *p)
{
    p->listing = TI__ASKED;
    ti__made_progress(p);
    json_array_clear(p->have); /* from a listing that was interrupted */
    send_request(p, json_pack("{s:s, s:i, s:s, s:s}", "do", "list", "id", 1, "directory",
                              p->node->directory, "run_id", p->job->nodes.run_id));
}

static void queue_checksum(struct ti__peer *p, int64_t rank)
{
    ti_ranges_add(p->to_checksum, rank);
    p->blocked = false;
}

/* True if both nodes see one file, on a shared file system.  Sites hardly share one, so files of
 * different sites are compared. */
static bool is_shared(const struct ti__peer *p, const struct ti__rank *r, int64_t bytes,
                      uint64_t inode, int64_t mtime)
{
    return r->inode == inode && r->bytes == bytes && r->mtime == mtime &&
           p->job->peer[r->reference].node->site == p->node->site;
}

/* Drops the reference if its node was abandoned before the CRC was known. */
static void forget_lost_reference(struct ti__job *job, int64_t rank, bool shared)
{
    struct ti__rank *r = &job->rank[rank];

    if (r->reference < 0 || r->crc_known || !ti__abandoned(&job->peer[r->reference]))
        return;
    if (!shared)
        mark_not_compared(&job->peer[r->reference], rank);
    r->reference = -1;
}

/* Handles one listed copy: it becomes the reference, or is the same file, or is compared by CRC. */
static void compare_with_reference(struct ti__peer *p, int64_t rank, const json_t *file)
{
    struct ti__rank *r = &p->job->rank[rank];
    int64_t bytes = json_integer_value(json_array_get(file, 1)),
            mtime = json_integer_value(json_array_get(file, 3));
    uint64_t inode = (uint64_t)json_integer_value(json_array_get(file, 2));

    r->listed = true;
    forget_lost_reference(p->job, rank, r->reference >= 0 && is_shared(p, r, bytes, inode, mtime));
    if (r->reference < 0) {
        r->reference = p->i;
        r->bytes = bytes;
        r->inode = inode;
        r->mtime = mtime;
        return;
    }
    if (r->reference == p->i)
        return;
    r->more_copies = r->more_copies || (r->second >= 0 && r->second != p->i);
    r->second = r->second < 0 ? p->i : r->second;
    if (is_shared(p, r, bytes, inode, mtime)) {
        p->job->f->shared += !r->shared;
        r->shared = true;
    } else {
        queue_checksum(p, rank);
    }
}

/* The rank has a local copy, which is kept.  If RUN.json names this node, its length is enough;
 * other nodes' copies are compared by CRC. */
static void compare_with_local(struct ti__peer *p, int64_t rank, const json_t *file)
{
    struct ti__rank *r = &p->job->rank[rank];
    int64_t bytes = json_integer_value(json_array_get(file, 1)),
            mtime = json_integer_value(json_array_get(file, 3));
    uint64_t inode = (uint64_t)json_integer_value(json_array_get(file, 2));

    if (bytes != r->bytes) {
        conflict_with_local(p, rank);
    } else if (!ti_ranges_hold(p->node->ranks, rank) &&
               (!r->listed || r->inode != inode || r->mtime != mtime)) {
        r->inode = inode;
        r->mtime = mtime;
        r->listed = true;
        queue_checksum(p, rank);
    }
}

/* --remove: a trace is removed only if length and CRC are those in the bundle. */
static void check_removable(struct ti__peer *p, int64_t rank, int64_t bytes)
{
    const struct ti_run *run = p->job->run;

    if (p->job->rank[rank].state != TI__WANTED ||
        (p->ranks && !ti_ranges_hold(p->node->ranks, rank)))
        return;
    if (ti_ranges_hold(p->remove_answered, rank))
        ti__add_finding(p->job, p->i, -1, rank,
                        "it could not be removed: is the directory writable?", NULL);
    else if (run->rank[rank].file.st_size == bytes)
        queue_checksum(p, rank);
    else
        ti__add_finding(p->job, p->i, -1, rank, NOT_GATHERED, NULL);
}

static void remove_if_equal(struct ti__peer *p, int64_t rank, int64_t bytes, uint32_t crc)
{
    const struct ti_run_rank *r = &p->job->run->rank[rank];

    if (r->file.st_size == bytes && r->crc32c == crc)
        ti_ranges_add(p->to_send, rank);
    else
        ti__add_finding(p->job, p->i, -1, rank, NOT_GATHERED, NULL);
}

void ti__on_listed(struct ti__peer *p, const json_t *j)
{
    struct ti__job *job = p->job;
    const json_t *file;
    size_t i;

    if (p->listing != TI__ASKED) {
        ti__protocol_error(p, "a list nobody asked for");
        return;
    }
    json_array_foreach(json_object_get(j, "traces"), i, file)
    {
        int64_t rank = json_integer_value(json_array_get(file, 0)),
                bytes = json_integer_value(json_array_get(file, 1));

        if (rank < 0 || rank >= TI_RANKS_MAX || bytes < 0 || bytes > TI__TRACE_BYTES_MAX ||
            ti_ranges_hold(p->have, rank)) {
            ti__protocol_error(p, "a list with a rank that is none, or is there twice");
            return;
        }
        if (rank >= job->np)
            continue;
        ti__made_progress(p);
        ti_ranges_add(p->have, rank);
        if (job->kind == TI__REMOVE)
            check_removable(p, rank, bytes);
        else if (job->rank[rank].reference == TI__LOCAL_COPY)
            compare_with_local(p, rank, file);
        else if (job->rank[rank].state != TI__NOT_WANTED)
            compare_with_reference(p, rank, file);
    }
}

void ti__ask_remove(struct ti__peer *p)
{
    json_t *later;
    const json_t *range;
    size_t i;

    if (json_array_size(p->to_send) == 0 || json_array_size(p->to_checksum) || p->checksumming)
        return;
    later = json_array();
    p->being_removed = json_array();
    json_array_foreach(p->to_send, i, range) json_array_append(
        i < REMOVE_RANGES_MAX ? p->being_removed : later, json_array_get(p->to_send, i));
    json_decref(p->to_send);
    p->to_send = later;
    p->removing = true;
    ti__made_progress(p);
    send_request(p, json_pack("{s:s, s:i, s:O, s:s, s:s}", "do", "remove", "id", 4, "ranks",
                              p->being_removed, "directory", p->node->directory, "run_id",
                              p->job->nodes.run_id));
}

void ti__on_list_end(struct ti__peer *p, const json_t *j)
{
    if (p->listing != TI__ASKED) {
        ti__protocol_error(p, "a list nobody asked for");
        return;
    }
    ti__made_progress(p);
    p->listing = TI__LISTED;
    p->no_directory = json_is_false(json_object_get(j, "exists"));
    p->job->dirty = true;
    if (p->job->kind == TI__REMOVE) /* compare with the bundle first */
        return;
    for_each_wanted(p, p->have, assign);
    for_each_wanted(p, p->ranks, assign);
}

/* --- comparison by CRC --------------------------------------------------- */

static void on_one_crc(struct ti__peer *p, int64_t rank, int64_t bytes, uint32_t crc)
{
    struct ti__job *job = p->job;
    struct ti__rank *r = &job->rank[rank];

    if (job->kind == TI__REMOVE) {
        remove_if_equal(p, rank, bytes, crc);
        return;
    }
    if (r->reference >= 0 && r->reference != p->i && !r->crc_known) {
        /* the first reference was lost: this node was asked before another one listed the rank */
        queue_checksum(&job->peer[r->reference], rank);
        ti__wake(&job->peer[r->reference]);
        r->reference = -1;
        r->more_copies = true;
    }
    if (r->reference == -1)
        r->reference = p->i;
    if (r->reference == p->i) {
        if (r->sender >= 0) /* its total has the listed length */
            job->peer[r->sender].result->wanted_bytes += bytes - r->bytes;
        r->bytes = bytes;
        r->crc = crc;
        r->crc_known = true;
        ti__assign_sender(job, rank);
        return;
    }
    if (bytes == r->bytes && crc == r->crc) {
        job->f->alike += !r->alike;
        r->alike = true;
    } else if (r->reference == TI__LOCAL_COPY) {
        conflict_with_local(p, rank);
    } else if (r->state != TI__CONFLICT) {
        conflict(job, rank, r->reference, p->i);
    }
}

/* False: the CRC of the reference must be known first, and is requested or computed. */
static bool may_ask_crc(struct ti__peer *p, int64_t rank)
{
    struct ti__rank *r = &p->job->rank[rank];
    struct ti__peer *holder;

    forget_lost_reference(p->job, rank, false);
    if (r->reference == -1 || r->reference == p->i || r->crc_known)
        return true;
    if (r->reference == TI__LOCAL_COPY) {
        if (p->job->local.fd < 0 || p->job->local.rank != rank)
            ti_ranges_add(p->job->local_queue, rank);
        return false;
    }
    holder = &p->job->peer[r->reference];
    if (!ti_ranges_hold(holder->to_checksum, rank) && !ti_ranges_hold(holder->checksumming, rank)) {
        queue_checksum(holder, rank);
        ti__wake(holder);
    }
    return false;
}

/* True if all of to_checksum still waits.  Avoids a pass over thousands of ranks of thousands of
 * nodes whenever something happens to one of them. */
static bool is_blocked(const struct ti__peer *p)
{
    const struct ti__rank *r = &p->job->rank[p->blocked_by];

    if (!p->blocked || r->state == TI__CONFLICT || r->crc_known)
        return false;
    return r->reference == TI__LOCAL_COPY || (r->reference >= 0 && r->reference != p->i &&
                                              !ti__abandoned(&p->job->peer[r->reference]));
}

/* Nodes answer in ascending order, local files are read in descending order.  So the last remote
 * rank, or the first local one, is known last, and one check is enough. */
static void set_blocked_by(struct ti__peer *p, int64_t rank)
{
    if (!p->blocked || p->job->rank[rank].reference != TI__LOCAL_COPY)
        p->blocked_by = rank;
    p->blocked = true;
}

void ti__ranges_add_from(json_t *to, const json_t *from, size_t i, int64_t first)
{
    json_t *range = json_array_get(from, i);

    ti_ranges_add(to, first);
    json_integer_set(json_array_get(json_array_get(to, json_array_size(to) - 1), 1),
                     json_integer_value(json_array_get(range, 1)));
    while (++i < json_array_size(from))
        json_array_append(to, json_array_get(from, i));
}

/* Splits to_checksum: ranks that can be requested go to `now`, the others to `later`. */
static void divide(struct ti__peer *p, json_t *now, json_t *later)
{
    const json_t *range;
    int64_t n = 0;
    size_t i;

    json_array_foreach(p->to_checksum, i, range)
    {
        int64_t last = json_integer_value(json_array_get(range, 1));

        for (int64_t r = json_integer_value(json_array_get(range, 0)); r <= last; r++) {
            if (n == CRC_RANKS_MAX) {
                ti__ranges_add_from(later, p->to_checksum, i, r);
                return;
            }
            if (p->job->rank[r].state == TI__CONFLICT)
                continue;
            if (may_ask_crc(p, r)) {
                ti_ranges_add(now, r);
                p->crc_bytes += p->job->kind == TI__REMOVE
                                    ? (int64_t)p->job->run->rank[r].file.st_size
                                    : p->job->rank[r].bytes;
                n++;
            } else {
                ti_ranges_add(later, r);
                set_blocked_by(p, r);
            }
        }
    }
}

void ti__ask_crc(struct ti__peer *p)
{
    json_t *now, *later;

    if (p->checksumming || !p->ready || json_array_size(p->to_checksum) == 0 || is_blocked(p))
        return;
    now = json_array();
    later = json_array();
    p->blocked = false;
    divide(p, now, later);
    json_decref(p->to_checksum);
    p->to_checksum = later;
    if (json_array_size(now)) {
        p->blocked = false;
        p->checksumming = now;
        ti__made_progress(p);
        send_request(p, json_pack("{s:s, s:i, s:O, s:s, s:s}", "do", "crc", "id", 2, "ranks", now,
                                  "directory", p->node->directory, "run_id", p->job->nodes.run_id));
    } else {
        json_decref(now);
    }
}

/* Ranks without an answer (the node could not read them) are not compared, and nobody waits for
 * them. */
static void drop_unanswered(struct ti__peer *p, const json_t *asked, const json_t *seen)
{
    const json_t *range;
    size_t i;

    json_array_foreach(asked, i, range)
    {
        int64_t last = json_integer_value(json_array_get(range, 1));

        for (int64_t r = json_integer_value(json_array_get(range, 0)); r <= last; r++) {
            if (ti_ranges_hold(seen, r))
                continue;
            mark_not_compared(p, r);
            if (p->job->kind == TI__REMOVE)
                ti__add_finding(p->job, p->i, -1, r,
                                "it could not be compared with what was gathered", NULL);
            if (p->job->rank[r].reference != p->i)
                continue;
            p->job->rank[r].reference = -1;
            p->job->rank[r].more_copies = true;
        }
    }
}

void ti__on_crc(struct ti__peer *p, const json_t *j)
{
    json_t *asked = p->checksumming, *seen;
    const json_t *one;
    size_t i;

    if (!asked) {
        ti__protocol_error(p, "checksums nobody asked for");
        return;
    }
    ti__made_progress(p);
    seen = json_array();
    p->checksumming = NULL;
    p->crc_bytes = 0;
    p->job->dirty = true;
    json_array_foreach(json_object_get(j, "crc"), i, one)
    {
        int64_t rank = json_integer_value(json_array_get(one, 0)),
                bytes = json_integer_value(json_array_get(one, 1));

        if (!ti_ranges_hold(asked, rank) || ti_ranges_hold(seen, rank) || bytes < 0 ||
            bytes > TI__TRACE_BYTES_MAX) {
            ti__protocol_error(p, "a checksum nobody asked for");
            break;
        }
        ti_ranges_add(seen, rank);
        on_one_crc(p, rank, bytes, (uint32_t)json_integer_value(json_array_get(one, 2)));
    }
    drop_unanswered(p, asked, seen);
    if (p->job->kind == TI__REMOVE && !ti__abandoned(p))
        ti__ask_remove(p);
    json_decref(seen);
    json_decref(asked);
}

/* --- local copies -------------------------------------------------------- */

static int64_t pop_last(json_t *ranges)
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

static bool open_local(struct ti__job *job)
{
    char name[TI_RANK_NAME_BYTES];

    if (job->local.fd >= 0)
        return true;
    job->local.rank = pop_last(job->local_queue);
    job->local.bytes = 0;
    job->local.crc = 0;
    job->local.fd = openat(job->nodes.dir, ti_rank_name(job->local.rank, name),
                           O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return job->local.fd >= 0;
}

/* A file that cannot be read is not compared; ti_run_check() reports it. */
static void close_local(struct ti__job *job, bool read)
{
    struct ti__rank *r = &job->rank[job->local.rank];

    if (read) {
        r->crc = job->local.crc;
        r->bytes = job->local.bytes;
        r->crc_known = true;
    } else {
        r->reference = -1;
    }
    if (job->local.fd >= 0)
        close(job->local.fd);
    job->local.fd = -1;
    job->dirty = true;
}

bool ti__checksum_local(struct ti__job *job)
{
    static char buf[256 * 1024];
    int64_t left = PIECE_BYTES;

    while ((job->local.fd >= 0 || json_array_size(job->local_queue)) && left > 0) {
        ssize_t n = open_local(job) ? read(job->local.fd, buf, sizeof buf) : -1;

        if (n < 0 && errno == EINTR)
            continue;
        if (n > 0) {
            job->local.crc = ti_crc32c(job->local.crc, buf, (size_t)n);
            job->local.bytes += n;
            left -= n;
        } else {
            close_local(job, n == 0);
        }
    }
    return job->local.fd >= 0 || json_array_size(job->local_queue);
}
