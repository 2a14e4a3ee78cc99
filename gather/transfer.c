#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/cli.h"
#include "gather/fetch_job.h"
#include "node/launch.h"

/* Nodes that send at a time.  Each has a window of its own on its way (gather/window.h) and a
 * frame half read here, and has a file open; fewer than these fill any link. */
#define SENDING_MOST 128
#define RANGES_MOST  2000 /* of one "send", that it fits into a frame */
#define FROM_MOST    1000 /* the same */
#define SEND_ID      3

bool ti__idle(const struct ti__member *m)
{
    if (ti__given_up(m))
        return true;
    return m->listing == TI__LISTED && !m->asked && !m->checked && !m->removing &&
           json_array_size(m->todo) == 0 && json_array_size(m->check) == 0;
}

/* --- asking -------------------------------------------------------------- */

/* The next of `todo` go to `ranks`, as many as fit into one request, and the others to `later`. */
static void divide(struct ti__member *m, json_t *ranks, json_t *from, json_t *later)
{
    const json_t *range;
    size_t i;

    json_array_foreach(m->todo, i, range)
    {
        int64_t last = json_integer_value(json_array_get(range, 1));

        for (int64_t r = json_integer_value(json_array_get(range, 0)); r <= last; r++) {
            const struct ti_part *part;

            if (json_array_size(ranks) >= RANGES_MOST || json_array_size(from) >= FROM_MOST) {
                ti__add_rest(later, m->todo, i, r);
                return;
            }
            if (m->g->rank[r].state != TI__WANTED)
                continue;
            ti_ranges_add(ranks, r);
            part = ti_parts_of(&m->g->parts, r);
            if (!part)
                continue;
            m->from_bytes += part->bytes;
            json_array_append_new(from, json_pack("[I, I, I]", (json_int_t)r,
                                                  (json_int_t)part->bytes, (json_int_t)part->crc));
        }
    }
}

static json_t *next_ranks(struct ti__member *m, json_t *from)
{
    json_t *ranks = json_array(), *later = json_array();

    divide(m, ranks, from, later);
    json_decref(m->todo);
    m->todo = later;
    return ranks;
}

static void ask_send(struct ti__member *m)
{
    json_t *from = json_array(), *ranks;

    m->from_bytes = 0;
    json_array_clear(m->sent);
    ranks = next_ranks(m, from);
    ti__moved(m);
    m->g->dirty = true;
    if (json_array_size(ranks) == 0) {
        json_decref(ranks);
        json_decref(from);
        return;
    }
    m->asked = ranks;
    m->g->sending++;
    m->out->state = TI_FETCH_SENDING;
    ti_way_ask(m->way, json_pack("{s:s, s:i, s:O, s:o, s:s, s:s, s:I}", "do", "send", "id", SEND_ID,
                                 "ranks", ranks, "from", from, "directory", m->node->directory,
                                 "run_id", m->g->nodes.run_id, "credit",
                                 (json_int_t)ti_flow_begin(&m->flow, ti_now())));
}

static bool waits_to_send(const struct ti__member *m)
{
    return m->ready && !ti__given_up(m) && m->listing == TI__LISTED && !m->asked &&
           json_array_size(m->todo) > 0;
}

/* Those with the most first, so that none of them is left alone in the end. */
void ti__send_some(struct ti__fetching *g)
{
    while (g->work == TI__FETCH && g->sending < SENDING_MOST && g->parts.reading == g->parts.n) {
        struct ti__member *most = NULL;

        for (int64_t i = 0; i < g->nodes.n; i++) {
            struct ti__member *m = &g->member[i];

            if (waits_to_send(m) && (!most || m->out->wanted_bytes - m->out->bytes >
                                                  most->out->wanted_bytes - most->out->bytes))
                most = m;
        }
        if (!most)
            return;
        ask_send(most);
    }
}

/* --- receiving ----------------------------------------------------------- */

/* An answer to what was asked of it, of a rank that did not come yet. */
static bool is_asked(const struct ti__member *m, int64_t rank)
{
    return m->asked && rank >= 0 && rank < m->g->np && ti_ranges_hold(m->asked, rank) &&
           !ti_ranges_hold(m->sent, rank) && m->g->rank[rank].sender == m->i;
}

void ti__take_sending(struct ti__member *m, const json_t *j)
{
    struct ti__fetching *g = m->g;
    const json_t *rank_json = json_object_get(j, "rank");
    int64_t rank = json_integer_value(rank_json),
            from = json_integer_value(json_object_get(j, "from")),
            bytes = json_integer_value(json_object_get(j, "bytes"));
    const struct ti_part *part = ti_parts_of(&g->parts, rank);

    if (!json_is_integer(rank_json) || !is_asked(m, rank) || m->in.fd >= 0 ||
        g->rank[rank].state == TI__CAME) {
        ti__nonsense(m, "traces nobody asked for");
        return;
    }
    if (bytes < 0 || bytes > TI__BYTES_MOST || from > bytes ||
        (from != 0 && (!part || from != part->bytes))) {
        ti__nonsense(m, "a trace that begins where it cannot");
        return;
    }
    ti__moved(m);
    m->out->wanted_bytes += bytes - g->rank[rank].bytes; /* if it is another than was listed */
    g->rank[rank].bytes = bytes;
    if (!ti_receive_begin(&m->in, g->nodes.dir, rank, from ? part : NULL, bytes)) {
        ti__local_trouble(g);
        return;
    }
    if (part && part->before) {
        m->out->wanted_bytes -= from;
        g->f->resumed += from;
    } else if (part && !from) { /* what came of it came in vain */
        m->out->wanted_bytes += part->bytes;
    }
    ti_parts_keep(&g->parts, &(struct ti_part){.rank = rank});
}

void ti__take_data(struct ti__member *m, uint32_t rank, const void *data, size_t bytes)
{
    int64_t more;
    double now;

    if (m->in.fd < 0 || m->in.rank != rank) {
        ti__nonsense(m, "traces nobody asked for");
        return;
    }
    if (m->in.at + (int64_t)bytes > m->in.size) {
        ti__nonsense(m, "more of a trace than there is");
        return;
    }
    if (!ti_receive_data(&m->in, data, bytes)) {
        ti__local_trouble(m->g);
        return;
    }
    now = ti_now();
    m->out->bytes += (int64_t)bytes;
    m->g->f->bytes += (int64_t)bytes;
    if (bytes) {
        ti__moved(m);
        m->g->arrived = m->g->clock;
    }
    m->g->f->transferred_s = now - m->g->started;
    more = ti_flow_take(&m->flow, (int64_t)bytes, now);
    if (more && m->way)
        ti_way_ask(m->way, json_pack("{s:s, s:i, s:I}", "do", "more", "id", SEND_ID, "credit",
                                     (json_int_t)more));
}

/* It cannot be had from this one, at least not now. */
static void refused(struct ti__member *m, int64_t rank, const char *why)
{
    struct ti__rank *r = &m->g->rank[rank];

    ti__note(m->g, m->i, -1, rank, why, NULL);
    ti_ranges_add(m->refused, rank);
    r->sender = -1;
    m->out->wanted--;
    m->out->wanted_bytes -= r->bytes;
    m->g->dirty = true;
    ti__assign(m->g, rank);
}

/* It comes damaged from this one whenever it is asked for. */
static void from_another(struct ti__member *m, int64_t rank)
{
    struct ti__rank *r = &m->g->rank[rank];
    bool first = json_array_size(m->refused) == 0;

    r->damaged = true;
    ti_ranges_add(m->refused, rank);
    if (!ti__others_may_send(m->g, rank)) {
        r->state = TI__SPOILT;
        return;
    }
    ti_progress_clear();
    if (first)
        ti_warn("rank %" PRId64 " came damaged from node '%s', twice: such ranks are asked of "
                "others that have them",
                rank, m->out->name);
    r->again = false;
    r->sender = -1;
    m->out->wanted--;
    m->g->dirty = true;
    ti__assign(m->g, rank);
}

/* It is not what was read there, or on the way, or here: which of these, another try tells. */
static void damaged(struct ti__member *m, int64_t rank)
{
    struct ti__rank *r = &m->g->rank[rank];

    if (r->again) {
        ti__note(m->g, m->i, -1, rank, "it came damaged, twice", NULL);
        from_another(m, rank);
        return;
    }
    r->again = true;
    m->g->f->again++;
    m->out->wanted_bytes += r->bytes;
    ti_ranges_add(m->todo, rank);
}

static void whole(struct ti__member *m, int64_t rank)
{
    struct ti__fetching *g = m->g;
    struct ti__rank *r = &g->rank[rank];

    if (!ti_receive_done(&m->in, g->nodes.dir)) {
        ti__local_trouble(g);
        return;
    }
    r->state = TI__CAME;
    if (r->holder == m->i) {
        r->crc = m->in.crc;
        r->crc_known = true;
    }
    g->f->fetched++;
    m->out->ranks++;
    if (g->settings->arrived)
        g->settings->arrived(rank, g->settings->arg);
}

void ti__take_sent(struct ti__member *m, const json_t *j)
{
    const json_t *rank_json = json_object_get(j, "rank");
    int64_t rank = json_integer_value(rank_json);
    const char *error = json_string_value(json_object_get(j, "error"));
    bool ours = m->in.fd >= 0 && m->in.rank == rank;
    struct ti_err why;

    if (!json_is_integer(rank_json) || !is_asked(m, rank) || (!error && !ours)) {
        ti__nonsense(m, "the end of a trace that was not sent");
        return;
    }
    ti__moved(m);
    ti_ranges_add(m->sent, rank);
    if (m->g->rank[rank].state != TI__WANTED || error) {
        if (ours)
            ti_receive_drop(&m->in, m->g->nodes.dir);
        ti_err_set(&why, TI_ERR_REMOTE, "%s", error ? error : ""); /* as long as it may be, plain */
        if (m->g->rank[rank].state == TI__WANTED)
            refused(m, rank, why.text);
    } else if (m->in.at == m->in.size &&
               m->in.at == json_integer_value(json_object_get(j, "bytes")) &&
               m->in.crc == (uint32_t)json_integer_value(json_object_get(j, "crc32c"))) {
        whole(m, rank);
    } else {
        ti_receive_drop(&m->in, m->g->nodes.dir);
        damaged(m, rank);
    }
}

/* --- the end of it ------------------------------------------------------- */

/* Those of `asked` that are neither here nor to be asked for again. */
static json_t *open_ranks(const struct ti__member *m)
{
    json_t *list = json_array();
    const json_t *range;
    size_t i;

    json_array_foreach(m->asked, i,
                       range) for (int64_t r = json_integer_value(json_array_get(range, 0));
                                   r <= json_integer_value(json_array_get(range, 1)); r++)
    {
        if (m->g->rank[r].state == TI__WANTED && m->g->rank[r].sender == m->i &&
            !ti_ranges_hold(m->todo, r))
            ti_ranges_add(list, r);
    }
    return list;
}

static void no_longer_sending(struct ti__member *m)
{
    struct ti_part part;

    if (m->in.fd >= 0) {
        ti_receive_keep(&m->in, &part);
        ti_parts_keep(&m->g->parts, &part);
    }
    m->from_bytes = 0;
    if (!m->asked)
        return;
    json_decref(m->asked);
    m->asked = NULL;
    m->g->sending--;
    m->g->dirty = true;
    if (m->out->state == TI_FETCH_SENDING)
        m->out->state = TI_FETCH_READY;
}

void ti__send_done(struct ti__member *m)
{
    json_t *left;
    const json_t *range;
    size_t i;

    if (!m->asked) {
        ti__nonsense(m, "the end of what nobody asked for");
        return;
    }
    ti__moved(m);
    left = open_ranks(m);
    no_longer_sending(m);
    json_array_foreach(left, i,
                       range) for (int64_t r = json_integer_value(json_array_get(range, 0));
                                   r <= json_integer_value(json_array_get(range, 1)); r++)
        refused(m, r, "ti-node did not send it");
    json_decref(left);
}

void ti__add_all(json_t *to, const json_t *from)
{
    const json_t *range;
    size_t i;

    json_array_foreach(from, i,
                       range) for (int64_t r = json_integer_value(json_array_get(range, 0));
                                   r <= json_integer_value(json_array_get(range, 1)); r++)
        ti_ranges_add(to, r);
}

void ti__interrupted(struct ti__member *m)
{
    json_t *left = open_ranks(m);

    no_longer_sending(m);
    ti__add_all(m->todo, left);
    json_decref(left);
    ti__add_all(m->check, m->checked);
    json_decref(m->checked);
    m->checked = NULL;
    m->crc_bytes = 0;
    if (m->g->work == TI__REMOVE) { /* what is left of them is to be listed anew */
        if (m->removing || json_array_size(m->check) || json_array_size(m->todo) ||
            m->listing == TI__ASKED)
            m->listing = TI__UNASKED;
        m->removing = false;
        json_decref(m->going);
        m->going = NULL;
        json_array_clear(m->check);
        json_array_clear(m->todo);
    }
}
