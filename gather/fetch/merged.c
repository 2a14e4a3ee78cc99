#include "gather/fetch/merged.h"

#include <stdio.h>
#include <stdlib.h>

#include "bundle/node_traces.h"
#include "gather/fetch/abandon.h"
#include "gather/fetch/announced.h"
#include "gather/fetch/requests.h"
#include "session/messages.h"

bool ti__may_merge(const struct ti__peer *p, int64_t rank)
{
    return p->gathering->settings->from_nodes && !p->not_merged &&
           !p->gathering->rank[rank].retried;
}

/* Reads the list; false if it makes no sense.  The node may merge fewer ranks than were requested.
 */
static bool read_list(struct ti__peer *p, const json_t *merged)
{
    size_t n = json_array_size(merged), i;
    const json_t *one;
    int64_t last = -1;

    if (n == 0 || n > TI_MSG_MERGE_RANKS)
        return false;
    json_array_foreach(merged, i, one)
    {
        struct ti_node_rank *rank = &p->merged[i];

        *rank = (struct ti_node_rank){
            json_integer_value(json_array_get(one, 0)), json_integer_value(json_array_get(one, 1)),
            (uint32_t)json_integer_value(json_array_get(one, 2)), p->i + 1};
        if (!json_is_integer(json_array_get(one, 0)) || rank->rank <= last ||
            !ti__is_expected(p, rank->rank) || rank->bytes < 0 || rank->bytes > TI__TRACE_BYTES_MAX)
            return false;
        last = rank->rank;
    }
    p->nmerged = (int64_t)n;
    return true;
}

void ti__begin_merged(struct ti__peer *p, const json_t *merged, int64_t bytes)
{
    int64_t at;
    int fd;

    if (!p->merged)
        p->merged = calloc(TI_MSG_MERGE_RANKS, sizeof *p->merged);
    if (!p->merged) {
        ti__local_error(p->gathering);
        return;
    }
    if (!p->merging || !read_list(p, merged)) {
        ti__protocol_error(p, "a merged trace nobody asked for");
        return;
    }
    p->merging = false; /* one for each request */
    if (!ti__may_begin_merged(p, bytes)) {
        p->nmerged = 0;
        return;
    }
    p->merged_bytes = 0;
    for (int64_t i = 0; i < p->nmerged; i++) {
        struct ti__rank *r = &p->gathering->rank[p->merged[i].rank];

        p->result->wanted_bytes -= r->bytes;
        r->bytes = p->merged[i].bytes;
        p->merged_bytes += r->bytes;
    }
    p->result->wanted_bytes += bytes;
    at = ti_node_traces_room(p->gathering->settings->from_nodes, bytes, &fd);
    if (at >= 0 && ti_receive_begin_at(&p->in, fd, at, p->merged[0].rank, bytes))
        return;
    p->nmerged = 0;
    ti__local_error(p->gathering);
}

/* Ranks that others have, too, may not be wanted any more. */
static void receive_ranks(struct ti__peer *p)
{
    struct ti__gathering *g = p->gathering;

    for (int64_t i = 0; i < p->nmerged; i++) {
        int64_t rank = p->merged[i].rank;
        struct ti__rank *r = &g->rank[rank];

        if (r->state != TI__WANTED) {
            ti_node_traces_forget(g->settings->from_nodes, rank);
            continue;
        }
        if (r->reference == p->i) {
            r->crc = p->merged[i].crc32c;
            r->crc_known = true;
        }
        g->f->merged++;
        g->f->merged_bytes += r->bytes;
        ti__received(p, rank);
    }
}

/* Whether what came is the merged trace that the node sent, with all of its ranks. */
static bool is_whole(struct ti__peer *p, const json_t *sent)
{
    struct ti_err err;
    char name[300];

    if (p->in.at != p->in.size || p->in.at != json_integer_value(json_object_get(sent, "bytes")) ||
        p->in.crc != (uint32_t)json_integer_value(json_object_get(sent, "crc32c")))
        return false;
    snprintf(name, sizeof name, "the merged trace of node %.256s", p->result->name);
    return ti_node_traces_add(p->gathering->settings->from_nodes, name, p->in.start, p->in.size,
                              p->merged, p->nmerged, &err) == TI_OK;
}

void ti__end_merged(struct ti__peer *p, const json_t *sent, struct ti_ranges *damaged)
{
    struct ti_partial none;

    *damaged = (struct ti_ranges){0};
    if (json_object_get(sent, "error")) { /* files follow */
        ti__drop_merged(p);
        return;
    }
    for (int64_t i = 0; i < p->nmerged; i++)
        ti_ranges_add(&p->answered, p->merged[i].rank);
    if (is_whole(p, sent)) {
        receive_ranks(p);
    } else {
        for (int64_t i = 0; i < p->nmerged; i++)
            if (p->gathering->rank[p->merged[i].rank].state == TI__WANTED)
                ti_ranges_add(damaged, p->merged[i].rank);
        p->result->wanted_bytes += p->in.at - p->in.size;
        ti_node_traces_give_back(p->gathering->settings->from_nodes, p->in.start, p->in.size);
    }
    p->nmerged = 0;
    ti_receive_keep(&p->in, &none);
}
