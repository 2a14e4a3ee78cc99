#include "acquire/plan/like.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "sound/walk.h"

/* An alltoall of more members counts as a chain, like other collectives. */
#define ALL_TO_ALL_MAX 256

/* So many partners of a rank are kept, those with the largest weights. */
#define PARTNERS_MAX 1024

struct builder {
    struct ti_like *like;
    struct ti_comms comms;
    struct ti_pair_list pairs;
    /* of the rank that is being read */
    int64_t rank;
    struct ti_map partners;
    int64_t *weight;
    size_t weights_cap;
};

static void add(struct builder *l, int64_t peer, int64_t bytes)
{
    int64_t i;

    if (peer < 0 || peer == l->rank || bytes < 0)
        return;
    i = ti_map_add(&l->partners, peer, 0, 0, 0);
    l->weight = ti_grow(l->weight, &l->weights_cap, l->partners.n, sizeof *l->weight);
    l->weight[i] += bytes + TI_MESSAGE_BYTES;
}

/* --- events --------------------------------------------------------------- */

static int64_t arg(const struct ti_event *ev, enum ti_field f)
{
    return ev->mask & 1u << f ? ev->arg[f] : 0;
}

/* Add the blocks of this call, one for each of n members; a member of -1 is no rank. */
static void add_blocks(struct builder *l, const struct ti_coll_call *c, const struct ti_group *g,
                       const int64_t *member, int64_t n)
{
    const struct ti_vec *counts = &c->ev->vec[0];
    int64_t first = c->on.peers;

    for (int64_t i = 0; i < n; i++) {
        int64_t at = member ? member[i] : first + i, bytes = arg(c->ev, TI_F_BYTES);

        if (counts->len)
            bytes = i < counts->len ? ti_vec_at(counts, i) * arg(c->ev, TI_F_ESIZE) : 0;
        if (at >= 0 && at < g->size && (bytes || !counts->len))
            add(l, g->member[at], bytes);
    }
}

static void add_call(struct builder *l, const struct ti_coll_call *c)
{
    const struct ti_group *g = ti_comms_group(&l->comms, c->on.gid);
    uint32_t op = c->ev->op;

    if (!ti_op_collective(op) || g->shape == TI_COMM_ALONE)
        return;
    l->like->calls++;
    if (c->topology)
        add_blocks(l, c, g, c->topology->destination, c->topology->ndestinations);
    else if (ti_op_is(op, TI_T_COUNTS_GIVEN | TI_T_COUNTS_TAKEN))
        add_blocks(l, c, g, NULL, c->on.npeers);
    else if (g->shape == TI_COMM_WORLD || g->shape == TI_COMM_REORDERED)
        return;
    else if (ti_op_is(op, TI_T_MIRRORED | TI_T_BLOCKS) && g->size <= ALL_TO_ALL_MAX)
        add_blocks(l, c, g, NULL, c->on.npeers);
    else if (c->on.me + 1 < g->size)
        add(l, g->member[c->on.me + 1],
            c->ev->mask & TI_M_BYTES ? arg(c->ev, TI_F_BYTES) : arg(c->ev, TI_F_BYTES2));
}

static bool is_remote_access(uint32_t op)
{
    return ti_op_is(op, TI_T_PUTS) || ti_op_is(op, TI_T_GETS);
}

static void add_step(struct builder *l, struct ti_walk *w, const struct ti_step *step)
{
    for (size_t i = 0; i < step->nposted; i++)
        if (!step->posted[i].recv && !step->posted[i].null) {
            add(l, step->posted[i].peer, step->posted[i].bytes);
            l->like->messages++;
        }
    for (size_t i = 0; i < step->ncalls; i++)
        add_call(l, &step->call[i]);
    if (is_remote_access(step->ev.op)) {
        struct ti_reader *r = ti_walk_reader(w);

        add(l, ti_reader_world(r, ti_reader_event_comm(r, &step->ev), arg(&step->ev, TI_F_PEER)),
            arg(&step->ev, TI_F_BYTES));
        l->like->messages++;
    }
}

/* --- ranks ---------------------------------------------------------------- */

static int descending(const void *a, const void *b)
{
    int64_t p = *(const int64_t *)a, q = *(const int64_t *)b;

    return (p < q) - (p > q);
}

/* Move the partners of the rank to the list of pairs. */
static ti_status keep(struct builder *l, struct ti_err *err)
{
    size_t n = l->partners.n;
    int64_t least = 0;

    if (n > PARTNERS_MAX) {
        int64_t *sorted = malloc(n * sizeof *sorted);

        if (!sorted)
            return ti_err_errno(err, TI_ERR_IO, "cannot read which ranks communicate");
        memcpy(sorted, l->weight, n * sizeof *sorted);
        qsort(sorted, n, sizeof *sorted, descending);
        least = sorted[PARTNERS_MAX - 1];
        free(sorted);
    }
    for (size_t i = 0; i < n; i++) {
        if (l->weight[i] >= least)
            ti_pair_add(&l->pairs, l->rank, l->partners.key[i][0], l->weight[i]);
        l->weight[i] = 0;
    }
    ti_map_clear(&l->partners);
    return TI_OK;
}

static ti_status read_rank(struct builder *l, struct ti_source *s, int64_t rank, struct ti_err *err)
{
    struct ti_walk *w = NULL;
    struct ti_step step;
    ti_status st;
    int got;

    l->rank = rank;
    st = ti_walk_open(s, &l->comms, rank, &w, err);
    if (st != TI_OK)
        return st;
    while ((got = ti_walk_next(w, &step, err)) == 1)
        add_step(l, w, &step);
    if (got == 0 && ti_reader_end(ti_walk_reader(w)) != TI_END_COMPLETE)
        l->like->missing++;
    ti_walk_close(w);
    return got < 0 ? TI_ERR_INPUT : keep(l, err);
}

static ti_status read_all(struct ti_source *s, int64_t np, struct ti_like *like, struct ti_err *err)
{
    struct builder l = {.like = like};
    ti_status st = TI_OK;

    if (!ti_comms_init(&l.comms, np))
        st = ti_err_memory(err, "read the trace of a former run");
    for (int64_t rank = 0; st == TI_OK && rank < np; rank++) {
        if (ti_source_has(s, rank))
            st = read_rank(&l, s, rank, err);
        else
            like->missing++;
    }
    if (st == TI_OK)
        st = ti_graph_make(&l.pairs, np, &like->graph, err);
    free(l.pairs.pair);
    free(l.weight);
    ti_map_free(&l.partners);
    ti_comms_free(&l.comms);
    return st;
}

ti_status ti_like_read(const char *path, int64_t np, struct ti_like *out, struct ti_err *err)
{
    struct ti_source *s = NULL;
    const char *application;
    ti_status st = ti_source_open(path, &s, err);

    memset(out, 0, sizeof *out);
    if (st != TI_OK)
        return ti_err_prefix(err, st, "--like");
    if (ti_source_nranks(s) != np) {
        st = ti_err_set(err, TI_ERR_INPUT,
                        "'%s' is of %" PRId64
                        " ranks, and does not show which ranks communicate among %" PRId64,
                        path, ti_source_nranks(s), np);
        ti_err_hint(err, "--like takes a run of as many ranks as are wanted");
    } else {
        st = read_all(s, np, out, err);
    }
    application = json_string_value(json_object_get(ti_source_manifest(s), "application"));
    if (st == TI_OK && application)
        out->application = strdup(application);
    ti_source_close(s);
    if (st != TI_OK)
        ti_like_free(out);
    return st;
}

void ti_like_free(struct ti_like *like)
{
    ti_graph_free(&like->graph);
    free(like->application);
    memset(like, 0, sizeof *like);
}

ti_status ti_like_order(const struct ti_like *like, const struct ti_sites *sites,
                        const struct ti_rank_placement *place, struct ti_order *out,
                        struct ti_err *err)
{
    int *site = malloc((size_t)place->nnodes * sizeof *site + 1);
    struct ti_order_in in = {&like->graph, place->nnodes, place->ranks, site};
    ti_status st;

    if (!site)
        return ti_err_errno(err, TI_ERR_IO, "cannot order ranks");
    for (int64_t i = 0; i < place->nnodes; i++)
        site[i] = sites->cluster[sites->node[i].cluster].site;
    st = ti_order_make(&in, out, err);
    free(site);
    return st;
}
