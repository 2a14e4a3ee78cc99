#include "gather/fetch/listing.h"

#include "gather/fetch/abandon.h"
#include "gather/fetch/announced.h"
#include "gather/fetch/copies.h"
#include "gather/fetch/removal.h"
#include "gather/fetch/senders.h"

void ti__ask_list(struct ti__peer *p)
{
    p->listing = TI__ASKED;
    ti__made_progress(p);
    p->asked_at = p->progress_at;
    p->asked_bytes = p->progress_bytes;
    ti_ranges_clear(&p->have); /* from a listing that was interrupted */
    ti__request(p, json_pack("{s:s, s:i, s:s, s:s}", "do", "list", "id", 1, "directory",
                             p->node->directory, "run_id", p->gathering->nodes.run_id));
}

/* True if both nodes see one file, on a shared file system.  Sites hardly share one, so files of
 * different sites are compared. */
static bool is_shared(const struct ti__peer *p, const struct ti__rank *r, int64_t bytes,
                      uint64_t inode, int64_t mtime)
{
    return r->inode == inode && r->bytes == bytes && r->mtime == mtime &&
           p->gathering->peer[r->reference].node->site == p->node->site;
}

/* Handles one listed copy: it becomes the reference, or is the same file, or is compared by CRC. */
static void compare_with_reference(struct ti__peer *p, int64_t rank, const json_t *file)
{
    struct ti__rank *r = &p->gathering->rank[rank];
    int64_t bytes = json_integer_value(json_array_get(file, 1)),
            mtime = json_integer_value(json_array_get(file, 3));
    uint64_t inode = (uint64_t)json_integer_value(json_array_get(file, 2));

    r->listed = true;
    ti__forget_lost_reference(p->gathering, rank,
                              r->reference >= 0 && is_shared(p, r, bytes, inode, mtime));
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
        p->gathering->f->shared += !r->shared;
        r->shared = true;
    } else {
        ti__queue_checksum(p, rank);
    }
}

/* The rank has a local copy, which is kept.  If RUN.json names this node, its length is enough;
 * other nodes' copies are compared by CRC. */
static void compare_with_local(struct ti__peer *p, int64_t rank, const json_t *file)
{
    struct ti__rank *r = &p->gathering->rank[rank];
    int64_t bytes = json_integer_value(json_array_get(file, 1)),
            mtime = json_integer_value(json_array_get(file, 3));
    uint64_t inode = (uint64_t)json_integer_value(json_array_get(file, 2));

    if (bytes != r->bytes) {
        ti__conflict_with_local(p, rank);
    } else if (!ti_ranges_hold(&p->node->ranks, rank) &&
               (!r->listed || r->inode != inode || r->mtime != mtime)) {
        r->inode = inode;
        r->mtime = mtime;
        r->listed = true;
        ti__queue_checksum(p, rank);
    }
}

void ti__on_listed(struct ti__peer *p, const json_t *j)
{
    struct ti__gathering *g = p->gathering;
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
            ti_ranges_hold(&p->have, rank)) {
            ti__protocol_error(p, "a list with a rank that is none, or is there twice");
            return;
        }
        if (rank >= g->np)
            continue;
        ti__made_progress(p);
        ti_ranges_add(&p->have, rank);
        ti__announced(g, rank, bytes);
        if (g->kind == TI__REMOVE)
            ti__check_removable(p, rank, bytes);
        else if (g->rank[rank].reference == TI__LOCAL_COPY)
            compare_with_local(p, rank, file);
        else if (g->rank[rank].state != TI__NOT_WANTED)
            compare_with_reference(p, rank, file);
    }
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
    p->gathering->dirty = true;
    if (p->gathering->kind == TI__REMOVE) /* compare with the bundle first */
        return;
    ti__assign_listed(p);
}
