#include "gather/fetch/announced.h"

#include "gather/fetch/abandon.h"
#include "trace/rankname.h"

/* Times that one node may send a rank from its first byte on: merged, as a file because the merged
 * trace was damaged, once more because that was, too; and some that were lost with connections. */
#define BEGUN_MAX 6

/* Bytes that a merged trace may have beyond the lengths of its files. */
#define MERGED_MORE (64 << 10)

void ti__announced(struct ti__gathering *g, int64_t rank, int64_t bytes)
{
    if (bytes > g->rank[rank].most)
        g->rank[rank].most = bytes;
}

/* A network file system may show a length late, so one new list is asked for.  Data of this
 * connection may be under way, so that happens over another one. */
static bool is_longer(struct ti__peer *p, int64_t rank, int64_t bytes)
{
    int64_t most = p->gathering->rank[rank].most;
    char name[TI_RANK_NAME_BYTES];

    if (bytes <= most)
        return false;
    if (p->listed_again) {
        ti__protocol_error(p, "it listed %s with %" PRId64 " bytes and sends %" PRId64,
                           ti_rank_name(rank, name), most, bytes);
        return true;
    }
    p->listed_again = true;
    p->listing = TI__UNASKED;
    ti_conn_close(p->conn);
    return true;
}

static bool begins_too_often(struct ti__peer *p, int64_t rank)
{
    char name[TI_RANK_NAME_BYTES];

    if (p->gathering->rank[rank].begun++ < BEGUN_MAX)
        return false;
    ti__protocol_error(p, "it began %s %d times", ti_rank_name(rank, name), BEGUN_MAX + 1);
    return true;
}

bool ti__may_begin(struct ti__peer *p, int64_t rank, int64_t from, int64_t bytes)
{
    return !is_longer(p, rank, bytes) && (from || !begins_too_often(p, rank));
}

bool ti__may_begin_merged(struct ti__peer *p, int64_t bytes)
{
    int64_t most = MERGED_MORE;

    for (int64_t i = 0; i < p->nmerged; i++) {
        if (!ti__may_begin(p, p->merged[i].rank, 0, p->merged[i].bytes))
            return false;
        most += p->merged[i].bytes;
    }
    if (bytes <= most)
        return true;
    ti__protocol_error(p, "a merged trace of %" PRId64 " bytes, whose files have %" PRId64, bytes,
                       most - MERGED_MORE);
    return false;
}
