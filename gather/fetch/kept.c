#include "gather/fetch/kept.h"

#include <stdlib.h>

#include "common/order.h"
#include "gather/fetch/connect.h"

static struct ti_conn *take(const struct ti_kept *k, const struct ti__peer *p)
{
    if (k->conn && k->conn[p->i])
        return k->conn[p->i];
    return k->take ? k->take(p->result->name, k->arg) : NULL;
}

/* Which node has a connection. */
struct holder {
    uintptr_t conn;
    int64_t i;
};

TI_ORDER_BY(by_conn, struct holder, conn)

/* The nodes that have a connection, by connection; *n: how many there are.  NULL: memory is
 * short. */
static struct holder *holders(const struct ti__gathering *g, size_t *n)
{
    struct holder *list = calloc((size_t)g->nodes.n + 1, sizeof *list);

    *n = 0;
    for (int64_t i = 0; list && i < g->nodes.n; i++)
        if (g->peer[i].conn)
            list[(*n)++] = (struct holder){(uintptr_t)g->peer[i].conn, i};
    if (list)
        qsort(list, *n, sizeof *list, by_conn);
    return list;
}

/* Index of the node whose connection is `relay`; -1: none of this fetch. */
static int64_t node_of(const struct holder *list, size_t n, const struct ti_conn *relay)
{
    struct holder key = {.conn = (uintptr_t)relay};
    const struct holder *found = relay ? bsearch(&key, list, n, sizeof key, by_conn) : NULL;

    return found ? found->i : -1;
}

static void set_parent(struct ti__peer *p, int64_t parent)
{
    struct ti__gathering *g = p->gathering;

    g->site[p->node->site].inner += (parent >= 0) - (p->result->parent >= 0);
    p->conn_parent = p->result->parent = p->result->first_parent = parent;
    p->result->depth = 1;
    for (const struct ti_conn *c = p->conn; (c = ti_conn_relay(c)) != NULL;)
        p->result->depth++;
}

/* The tree is then that of the connections, not the planned one; its arity is the most children
 * that a node has. */
static void set_tree(struct ti__gathering *g)
{
    size_t n;
    struct holder *list = holders(g, &n);
    int *children = calloc((size_t)g->nodes.n + 1, sizeof *children);

    g->f->arity = TI_ARITY_STAR;
    if (!list || !children) {
        free(list);
        free(children);
        ti__local_error(g);
        return;
    }
    for (int64_t i = 0; i < g->nodes.n; i++) {
        struct ti__peer *p = &g->peer[i];

        if (p->conn)
            set_parent(p, node_of(list, n, ti_conn_relay(p->conn)));
        if (p->result->parent >= 0 && ++children[p->result->parent] > g->f->arity)
            g->f->arity = children[p->result->parent];
    }
    free(list);
    free(children);
}

void ti__use_kept(struct ti__gathering *g, struct ti_kept *k)
{
    int64_t n = 0;

    for (int64_t i = 0; i < g->nodes.n; i++) {
        struct ti__peer *p = &g->peer[i];
        struct ti_conn *conn = p->result->state == TI_FETCH_WAITING ? take(k, p) : NULL;

        n += conn && ti__use_conn(p, conn);
    }
    free(k->conn);
    k->conn = NULL;
    g->f->kept = n;
    if (!n)
        return;
    set_tree(g);
    for (int64_t i = 0; i < g->nodes.n; i++)
        if (g->peer[i].conn)
            ti__begin_ready(&g->peer[i]);
}

void ti__keep(struct ti__gathering *g, struct ti_kept *k)
{
    static const struct ti_conn_callbacks none = {.ended = NULL};

    k->conn = calloc((size_t)g->nodes.n + 1, sizeof *k->conn);
    for (int64_t i = 0; i < g->nodes.n; i++) {
        struct ti__peer *p = &g->peer[i];

        if (!p->conn)
            continue;
        if (!ti_conn_hand_over(p->conn, &none, NULL) || !k->conn)
            ti_conn_close(p->conn);
        else
            k->conn[i] = p->conn;
        p->conn = NULL;
    }
}

void ti_kept_hang_up(struct ti_kept *k)
{
    if (k->conns && !k->borrowed)
        ti_conns_hang_up(k->conns);
}

void ti_kept_free(struct ti_kept *k)
{
    if (!k->borrowed)
        ti_conns_free(k->conns);
    free(k->conn);
    *k = (struct ti_kept){.conns = NULL};
}
