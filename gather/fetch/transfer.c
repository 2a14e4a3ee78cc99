#include "gather/fetch/transfer.h"

#include <inttypes.h>

#include "common/cli.h"
#include "common/clock.h"
#include "gather/fetch/abandon.h"
#include "gather/fetch/announced.h"
#include "gather/fetch/failures.h"
#include "gather/fetch/merged.h"
#include "gather/fetch/requests.h"
#include "gather/fetch/senders.h"
#include "session/messages.h"
#include "trace/rankname.h"

/* Nodes that send at a time.  Each costs a window of data in flight (gather/fetch/window.h), a
 * partial frame and an open file; fewer nodes fill any link. */
#define SENDING_MAX 128
#define RANGES_MAX  2000 /* of one "send", so that it fits into a frame */
#define RESUMED_MAX 1000 /* the same */
#define SEND_ID     3

/* --- requests ------------------------------------------------------------ */

/* Adds a rank to a request, with length and CRC of the part to resume, if there is one. */
static void request_rank(struct ti__peer *p, int64_t rank, json_t *from)
{
    const struct ti_partial *part = ti_parts_of(&p->gathering->parts, rank);

    ti_ranges_add(&p->requested, rank);
    if (p->merging) {
        p->read_bytes += p->gathering->rank[rank].bytes;
        return;
    }
    if (!part)
        return;
    p->read_bytes += part->bytes;
    json_array_append_new(from, json_pack("[I, I, I]", (json_int_t)rank, (json_int_t)part->bytes,
                                          (json_int_t)part->crc));
}

static bool is_full(const struct ti__peer *p, const json_t *from)
{
    return p->requested.n >= RANGES_MAX || json_array_size(from) >= RESUMED_MAX ||
           (p->merging && ti_ranges_count(&p->requested) >= TI_MSG_MERGE_RANKS);
}

/* Moves as many ranks of to_send as fit into one request to `requested`.  If some of them may be
 * merged, it has only these. */
static void divide(struct ti__peer *p, json_t *from)
{
    struct ti_ranges later = {0};

    p->merging = false;
    ti_ranges_foreach (&p->to_send, r)
        p->merging |= p->gathering->rank[r].state == TI__WANTED && ti__may_merge(p, r);
    ti_ranges_foreach (&p->to_send, r) {
        if (is_full(p, from)) {
            ti_ranges_add_range(&later, r, p->to_send.range[r_range].last);
            break;
        }
        if (p->gathering->rank[r].state != TI__WANTED)
            continue;
        if (p->merging && !ti__may_merge(p, r))
            ti_ranges_add(&later, r);
        else
            request_rank(p, r, from);
    }
    ti_ranges_free(&p->to_send);
    p->to_send = later;
}

static void ask_send(struct ti__peer *p)
{
    json_t *from = json_array();

    p->read_bytes = 0;
    ti_ranges_clear(&p->answered);
    divide(p, from);
    ti__made_progress(p);
    p->asked_at = p->progress_at;
    p->asked_bytes = p->progress_bytes;
    p->gathering->dirty = true;
    if (!p->requested.n) {
        json_decref(from);
        return;
    }
    p->gathering->sending++;
    p->result->state = TI_FETCH_SENDING;
    ti_conn_request(
        p->conn, json_pack("{s:s, s:i, s:o, s:o, s:s, s:s, s:I, s:b}", "do", "send", "id", SEND_ID,
                           "ranks", ti_ranges_json(&p->requested), "from", from, "directory",
                           p->node->directory, "run_id", p->gathering->nodes.run_id, "credit",
                           (json_int_t)ti_window_begin(&p->window, ti_now()), "merge", p->merging));
}

static bool waits_to_send(const struct ti__peer *p)
{
    return p->ready && !ti__abandoned(p) && p->listing == TI__LISTED && !p->requested.n &&
           p->to_send.n;
}

/* Nodes with the most data first, so that all end at about the same time. */
void ti__start_sends(struct ti__gathering *g)
{
    while (g->kind == TI__FETCH && g->sending < SENDING_MAX && g->parts.reading == g->parts.n) {
        struct ti__peer *most = NULL;

        for (int64_t i = 0; i < g->nodes.n; i++) {
            struct ti__peer *p = &g->peer[i];

            if (waits_to_send(p) && (!most || p->result->wanted_bytes - p->result->bytes >
                                                  most->result->wanted_bytes - most->result->bytes))
                most = p;
        }
        if (!most)
            return;
        ask_send(most);
    }
}

/* --- receiving ----------------------------------------------------------- */

void ti__on_merging(struct ti__peer *p)
{
    if (p->requested.n && p->merging)
        ti__made_progress(p);
}

void ti__on_sending(struct ti__peer *p, const json_t *j)
{
    struct ti__gathering *g = p->gathering;
    const json_t *rank_json = json_object_get(j, "rank"), *merged = json_object_get(j, "merged");
    int64_t rank = json_integer_value(rank_json),
            from = json_integer_value(json_object_get(j, "from")),
            bytes = json_integer_value(json_object_get(j, "bytes"));
    const struct ti_partial *part = ti_parts_of(&g->parts, rank);

    if (!json_is_integer(rank_json) || !ti__is_expected(p, rank) || p->in.fd >= 0 ||
        g->rank[rank].state == TI__RECEIVED) {
        ti__protocol_error(p, "traces nobody asked for");
        return;
    }
    if (bytes < 0 || bytes > TI__TRACE_BYTES_MAX || from > bytes ||
        (from != 0 && (!part || from != part->bytes))) {
        ti__protocol_error(p, "a trace that begins where it cannot");
        return;
    }
    ti__made_progress(p);
    if (merged) {
        ti__begin_merged(p, merged, bytes);
        return;
    }
    if (!ti__may_begin(p, rank, from, bytes))
        return;
    p->result->wanted_bytes +=
        bytes - g->rank[rank].bytes; /* if the file changed since the listing */
    g->rank[rank].bytes = bytes;
    if (!ti_receive_begin(&p->in, g->nodes.dir, rank, from ? part : NULL, bytes)) {
        ti__local_error(g);
        return;
    }
    if (part && part->before) {
        p->result->wanted_bytes -= from;
        g->f->resumed += from;
    } else if (part && !from) { /* the part is not used */
        p->result->wanted_bytes += part->bytes;
    }
    ti_parts_keep(&g->parts, &(struct ti_partial){.rank = rank});
}

void ti__on_data(struct ti__peer *p, uint32_t rank, const void *data, size_t bytes)
{
    int64_t more, at = p->in.at + (int64_t)bytes;
    char name[TI_RANK_NAME_BYTES];
    double now;

    if (p->in.fd < 0 || p->in.rank != rank) {
        ti__protocol_error(p, "traces nobody asked for");
        return;
    }
    if (at > p->in.size) {
        ti__protocol_error(p, "it announced %" PRId64 " bytes of %s and sent %" PRId64, p->in.size,
                           p->nmerged ? "its merged trace" : ti_rank_name(rank, name), at);
        return;
    }
    if ((int64_t)bytes > p->window.owed) {
        ti__protocol_error(p, "%" PRId64 " bytes without credit", (int64_t)bytes - p->window.owed);
        return;
    }
    if (!ti_receive_data(&p->in, data, bytes)) {
        ti__local_error(p->gathering);
        return;
    }
    now = ti_now();
    p->result->bytes += (int64_t)bytes;
    p->gathering->f->bytes += (int64_t)bytes;
    if (!p->nmerged && p->gathering->rank[rank].begun <= 1)
        p->gained += (int64_t)bytes;
    if (bytes) {
        ti__made_progress(p);
        p->gathering->data_at = p->gathering->clock;
    }
    p->gathering->f->transferred_s = now - p->gathering->started;
    more = ti_window_received(&p->window, (int64_t)bytes, now);
    if (more && p->conn)
        ti_conn_request(p->conn, json_pack("{s:s, s:i, s:I}", "do", "more", "id", SEND_ID, "credit",
                                           (json_int_t)more));
}

/* The node cannot send the rank in this round: choose another sender. */
static void reassign(struct ti__peer *p, int64_t rank, const char *why)
{
    struct ti__rank *r = &p->gathering->rank[rank];

    ti__add_finding(p->gathering, p->i, -1, rank, why, NULL);
    ti_ranges_add(&p->refused, rank);
    r->sender = -1;
    p->result->wanted--;
    p->result->wanted_bytes -= r->bytes;
    p->gathering->dirty = true;
    ti__assign_sender(p->gathering, rank);
}

/* The rank arrived damaged twice from this node: choose another sender, or mark it damaged. */
static void give_to_other(struct ti__peer *p, int64_t rank)
{
    struct ti__rank *r = &p->gathering->rank[rank];
    bool first = !p->refused.n;

    r->damaged = true;
    ti_ranges_add(&p->refused, rank);
    if (!ti__has_other_sender(p->gathering, rank)) {
        r->state = TI__DAMAGED;
        return;
    }
    ti_progress_clear();
    if (first)
        ti_warn("rank %" PRId64 " came damaged from node '%s', twice: such ranks are asked of "
                "others that have them",
                rank, p->result->name);
    r->retried = false;
    r->sender = -1;
    p->result->wanted--;
    p->gathering->dirty = true;
    ti__assign_sender(p->gathering, rank);
}

/* The CRC differs: damaged on the node, on the way, or here.  Requests it once more. */
static void on_damaged(struct ti__peer *p, int64_t rank)
{
    struct ti__rank *r = &p->gathering->rank[rank];

    if (r->retried) {
        ti__add_finding(p->gathering, p->i, -1, rank, "it came damaged, twice", NULL);
        give_to_other(p, rank);
        return;
    }
    r->retried = true;
    p->gathering->f->again++;
    p->result->wanted_bytes += r->bytes;
    ti_ranges_add(&p->to_send, rank);
}

static void on_complete(struct ti__peer *p, int64_t rank)
{
    struct ti__gathering *g = p->gathering;
    struct ti__rank *r = &g->rank[rank];

    if (!ti_receive_done(&p->in, g->nodes.dir)) {
        ti__local_error(g);
        return;
    }
    if (r->reference == p->i) {
        r->crc = p->in.crc;
        r->crc_known = true;
    }
    ti__received(p, rank);
}

static void on_merged(struct ti__peer *p, const json_t *j)
{
    struct ti_ranges damaged;

    ti__end_merged(p, j, &damaged);
    ti_ranges_foreach (&damaged, r)
        on_damaged(p, r);
    ti_ranges_free(&damaged);
}

void ti__on_sent(struct ti__peer *p, const json_t *j)
{
    const json_t *rank_json = json_object_get(j, "rank");
    int64_t rank = json_integer_value(rank_json);
    const char *error = json_string_value(json_object_get(j, "error"));
    bool ours = p->in.fd >= 0 && p->in.rank == rank;
    struct ti_err why;

    if (!json_is_integer(rank_json) || !ti__is_expected(p, rank) || (!error && !ours)) {
        ti__protocol_error(p, "the end of a trace that was not sent");
        return;
    }
    ti__made_progress(p);
    if (ours && p->nmerged) {
        on_merged(p, j);
        return;
    }
    ti_ranges_add(&p->answered, rank);
    if (p->gathering->rank[rank].state != TI__WANTED || error) {
        if (ours)
            ti_receive_drop(&p->in, p->gathering->nodes.dir);
        ti_err_set(&why, TI_ERR_REMOTE, "%s", error ? error : ""); /* bounded and printable */
        if (p->gathering->rank[rank].state == TI__WANTED)
            reassign(p, rank, why.text);
    } else if (p->in.at == p->in.size &&
               p->in.at == json_integer_value(json_object_get(j, "bytes")) &&
               p->in.crc == (uint32_t)json_integer_value(json_object_get(j, "crc32c"))) {
        on_complete(p, rank);
    } else {
        ti_receive_drop(&p->in, p->gathering->nodes.dir);
        on_damaged(p, rank);
    }
}

/* --- end of a request ---------------------------------------------------- */

void ti__on_send_end(struct ti__peer *p, const json_t *j)
{
    const char *not_merged = json_string_value(json_object_get(j, "not_merged"));
    struct ti_ranges left;
    struct ti_err why;

    if (!p->requested.n) {
        ti__protocol_error(p, "the end of what nobody asked for");
        return;
    }
    ti__made_progress(p);
    if (not_merged && p->merging && !p->not_merged) {
        ti_err_set(&why, TI_ERR_REMOTE, "%s", not_merged); /* bounded and printable */
        ti_progress_clear();
        ti_warn("node '%s' sends files, since it could not merge its ranks: %s", p->result->name,
                why.text);
        p->not_merged = true;
    }
    left = ti__unanswered_ranks(p);
    ti__end_send(p);
    ti_ranges_foreach (&left, r)
        reassign(p, r, "ti-node did not send it");
    ti_ranges_free(&left);
}
