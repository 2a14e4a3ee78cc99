#include "acquire/plan/bisect.h"

#include <stdlib.h>
#include <string.h>

#define SEEDS        6
#define PASSES       16
#define FRUITLESS    128 /* a pass ends after so many exchanges without a gain, */
#define FRUITLESS_OF 16  /* or after this fraction of the ranks, if that is more */

/* A heap of vertices, largest key on top; keys may change. */
struct heap {
    int32_t *item;
    int32_t *place; /* index of a vertex in item[], -1: not in it; heaps without common vertices
                       share it */
    const int64_t *key;
    int64_t n;
};

/* The set that is cut; its vertices are 0 ... n - 1 in the given order. */
struct ti_bisect {
    const struct ti_graph *g;
    int32_t *local; /* vertex of a rank; -1: not in the set */
    int64_t n;
    int64_t *start; /* as in ti_graph, for pairs within the set */
    int32_t *to;
    int64_t *weight;

    unsigned char *side, *best; /* 0: left */
    int64_t *gain;              /* decrease of the cut if the vertex changes sides */
    int32_t *item[2], *place;
    int32_t *queue; /* of a search; or the vertices that changed sides, in order */
    int32_t *copy;
    uint64_t dice;
};

/* --- heap ----------------------------------------------------------------- */

static bool above(const struct heap *h, int32_t a, int32_t b)
{
    return h->key[a] > h->key[b] || (h->key[a] == h->key[b] && a < b);
}

static void sift(struct heap *h, int64_t i, int32_t v)
{
    while (i > 0 && above(h, v, h->item[(i - 1) / 2])) {
        h->item[i] = h->item[(i - 1) / 2];
        h->place[h->item[i]] = (int32_t)i;
        i = (i - 1) / 2;
    }
    for (;;) {
        int64_t child = 2 * i + 1;

        if (child + 1 < h->n && above(h, h->item[child + 1], h->item[child]))
            child++;
        if (child >= h->n || !above(h, h->item[child], v))
            break;
        h->item[i] = h->item[child];
        h->place[h->item[i]] = (int32_t)i;
        i = child;
    }
    h->item[i] = v;
    h->place[v] = (int32_t)i;
}

static void heap_add(struct heap *h, int32_t v)
{
    h->n++;
    sift(h, h->n - 1, v);
}

static int32_t heap_pop(struct heap *h)
{
    int32_t top = h->item[0];

    h->place[top] = -1;
    if (--h->n)
        sift(h, 0, h->item[h->n]);
    return top;
}

/* --- the set -------------------------------------------------------------- */

struct ti_bisect *ti_bisect_new(const struct ti_graph *g)
{
    struct ti_bisect *b = calloc(1, sizeof *b);
    size_t n = (size_t)g->np, m = (size_t)g->start[g->np] + 1;

    if (!b)
        return NULL;
    b->g = g;
    b->local = malloc(n * sizeof *b->local);
    b->start = malloc((n + 1) * sizeof *b->start);
    b->to = malloc(m * sizeof *b->to);
    b->weight = malloc(m * sizeof *b->weight);
    b->side = malloc(n);
    b->best = malloc(n);
    b->gain = malloc(n * sizeof *b->gain);
    b->item[0] = malloc(n * sizeof *b->item[0]);
    b->item[1] = malloc(n * sizeof *b->item[1]);
    b->place = malloc(n * sizeof *b->place);
    b->queue = malloc(n * sizeof *b->queue);
    b->copy = malloc(n * sizeof *b->copy);
    if (!b->local || !b->start || !b->to || !b->weight || !b->side || !b->best || !b->gain ||
        !b->item[0] || !b->item[1] || !b->place || !b->queue || !b->copy) {
        ti_bisect_free(b);
        return NULL;
    }
    memset(b->local, -1, n * sizeof *b->local);
    return b;
}

void ti_bisect_free(struct ti_bisect *b)
{
    if (!b)
        return;
    free(b->local);
    free(b->start);
    free(b->to);
    free(b->weight);
    free(b->side);
    free(b->best);
    free(b->gain);
    free(b->item[0]);
    free(b->item[1]);
    free(b->place);
    free(b->queue);
    free(b->copy);
    free(b);
}

static void load_set(struct ti_bisect *b, const int32_t *rank, int64_t n)
{
    int64_t at = 0;

    b->n = n;
    b->dice = 1;
    for (int64_t i = 0; i < n; i++)
        b->local[rank[i]] = (int32_t)i;
    for (int64_t i = 0; i < n; i++) {
        b->start[i] = at;
        for (int64_t e = b->g->start[rank[i]]; e < b->g->start[rank[i] + 1]; e++) {
            int32_t u = b->local[b->g->to[e]];

            if (u < 0)
                continue;
            b->to[at] = u;
            b->weight[at++] = b->g->weight[e];
        }
    }
    b->start[n] = at;
    for (int64_t i = 0; i < n; i++)
        b->local[rank[i]] = -1;
}

/* Compute all gains; returns the cut. */
static int64_t find_gains(struct ti_bisect *b)
{
    int64_t cut = 0;

    for (int64_t v = 0; v < b->n; v++) {
        b->gain[v] = 0;
        for (int64_t e = b->start[v]; e < b->start[v + 1]; e++) {
            bool is_cut = b->side[v] != b->side[b->to[e]];

            b->gain[v] += is_cut ? b->weight[e] : -b->weight[e];
            cut += is_cut ? b->weight[e] : 0;
        }
    }
    return cut / 2;
}

/* --- exchanging ----------------------------------------------------------- */

/* Move v to the other side and update its neighbours in the heaps. */
static void move(struct ti_bisect *b, struct heap h[2], int32_t v)
{
    b->side[v] ^= 1;
    b->gain[v] = -b->gain[v];
    for (int64_t e = b->start[v]; e < b->start[v + 1]; e++) {
        int32_t u = b->to[e];

        b->gain[u] += b->side[u] == b->side[v] ? -2 * b->weight[e] : 2 * b->weight[e];
        if (b->place[u] >= 0)
            sift(&h[b->side[u]], b->place[u], u);
    }
}

/* One pass: repeatedly exchange the best vertex of each side, each vertex once, then undo all
 * exchanges behind the smallest cut.  Returns the decrease of the cut. */
static int64_t exchange(struct ti_bisect *b)
{
    struct heap h[2] = {{b->item[0], b->place, b->gain, 0}, {b->item[1], b->place, b->gain, 0}};
    int64_t sum = 0, best = 0, pairs = 0, best_pairs = 0;
    int64_t patience = b->n / FRUITLESS_OF > FRUITLESS ? b->n / FRUITLESS_OF : FRUITLESS;

    for (int32_t v = 0; v < b->n; v++)
        heap_add(&h[b->side[v]], v);
    while (h[0].n && h[1].n && pairs - best_pairs < patience) {
        for (int s = 0; s < 2; s++) {
            int32_t v = heap_pop(&h[s]);

            sum += b->gain[v];
            b->queue[2 * pairs + s] = v;
            move(b, h, v);
        }
        pairs++;
        if (sum > best) {
            best = sum;
            best_pairs = pairs;
        }
    }
    memset(b->place, -1, (size_t)b->n * sizeof *b->place);
    for (int64_t i = 2 * pairs; i > 2 * best_pairs; i--)
        move(b, h, b->queue[i - 1]);
    return best;
}

static int64_t improve(struct ti_bisect *b)
{
    int64_t cut = find_gains(b);

    for (int pass = 0; pass < PASSES && cut > 0; pass++) {
        int64_t fell = exchange(b);

        cut -= fell;
        if (!fell)
            break;
    }
    return cut;
}

/* --- growing -------------------------------------------------------------- */

/* The vertex farthest from v. */
static int32_t farthest(struct ti_bisect *b, int32_t v)
{
    int64_t head = 0, tail = 0;
    unsigned char *met = b->side; /* free until sides are assigned */

    memset(met, 0, (size_t)b->n);
    met[v] = 1;
    b->queue[tail++] = v;
    while (head < tail) {
        v = b->queue[head++];
        for (int64_t e = b->start[v]; e < b->start[v + 1]; e++) {
            int32_t u = b->to[e];

            if (!met[u]) {
                met[u] = 1;
                b->queue[tail++] = u;
            }
        }
    }
    return v;
}

/* Grow the left side from a seed, always by the vertex that adds least to the cut. */
static void grow(struct ti_bisect *b, int32_t seed, int64_t left)
{
    struct heap h = {b->item[0], b->place, b->gain, 0};
    int32_t next = 0;

    memset(b->side, 1, (size_t)b->n);
    find_gains(b);
    heap_add(&h, seed);
    for (int64_t i = 0; i < left; i++) {
        int32_t v;

        /* the component is exhausted: continue in the next one */
        while (!h.n) {
            if (b->side[next] && b->place[next] < 0)
                heap_add(&h, next);
            next++;
        }
        v = heap_pop(&h);
        b->side[v] = 0;
        for (int64_t e = b->start[v]; e < b->start[v + 1]; e++) {
            int32_t u = b->to[e];

            b->gain[u] += 2 * b->weight[e];
            if (!b->side[u])
                continue;
            if (b->place[u] >= 0)
                sift(&h, b->place[u], u);
            else
                heap_add(&h, u);
        }
    }
    memset(b->place, -1, (size_t)b->n * sizeof *b->place);
}

static int32_t draw(struct ti_bisect *b)
{
    b->dice = b->dice * 6364136223846793005u + 1442695040888963407u;
    return (int32_t)((b->dice >> 33) % (uint64_t)b->n);
}

static void keep_if_less(struct ti_bisect *b, int64_t *least)
{
    int64_t cut = improve(b);

    if (cut >= *least)
        return;
    *least = cut;
    memcpy(b->best, b->side, (size_t)b->n);
}

void ti_bisect(struct ti_bisect *b, int32_t *rank, int64_t n, int64_t left)
{
    int64_t least = INT64_MAX, at[2] = {0, left};
    int32_t seed = 0;

    if (left <= 0 || left >= n)
        return;
    load_set(b, rank, n);
    memset(b->place, -1, (size_t)n * sizeof *b->place);
    for (int64_t i = 0; i < n; i++)
        b->side[i] = i >= left;
    keep_if_less(b, &least);
    for (int i = 0; i < SEEDS && least > 0; i++) {
        seed = farthest(b, i < 2 ? seed : draw(b));
        grow(b, seed, left);
        keep_if_less(b, &least);
    }
    for (int64_t i = 0; i < n; i++)
        b->copy[at[b->best[i]]++] = rank[i];
    memcpy(rank, b->copy, (size_t)n * sizeof *rank);
}
