/* A placement's conditions, from the command line. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "acquire/options.h"
#include "acquire/place.h"
#include "acquire/plan.h"
#include "common/hostlist.h"
#include "formats/trace.h"

/* --- --mode -------------------------------------------------------------- */

#define MODES "R, F-X, C-Y or CF-(Y,X), Y and X numbers, or x for as many as needed"

/* A number from 1 to `most` at *p, or, where `any`, x, which is 0. */
static bool take_number(const char **p, bool any, int64_t most, int64_t *n)
{
    *n = 0;
    if (any && (**p == 'x' || **p == 'X')) {
        ++*p;
        return true;
    }
    if (!isdigit((unsigned char)**p))
        return false;
    for (; isdigit((unsigned char)**p); ++*p) {
        *n = *n * 10 + (**p - '0');
        if (*n > most)
            return false;
    }
    return *n > 0;
}

static bool take_char(const char **p, char c)
{
    if (**p != c)
        return false;
    ++*p;
    return true;
}

ti_status ti_place_mode(const char *text, struct ti_place_in *in, struct ti_err *err)
{
    const char *p = text;
    int64_t sites = 1, fold = 0;
    bool composite = take_char(&p, 'C'), folded = take_char(&p, 'F');
    bool regular = !folded, ok = true;

    if (!composite && !folded)
        ok = take_char(&p, 'R');
    else if (composite && folded)
        ok = take_char(&p, '-') && take_char(&p, '(') && take_number(&p, false, 1000000, &sites) &&
             take_char(&p, ',') && take_number(&p, true, TI_RANKS_MAX, &fold) && take_char(&p, ')');
    else
        ok =
            take_char(&p, '-') && take_number(&p, folded, TI_RANKS_MAX, composite ? &sites : &fold);
    if (!ok || *p) {
        ti_err_set(err, TI_ERR_USAGE, "--mode is not '%s'", text);
        ti_err_hint(err, MODES);
        return TI_ERR_USAGE;
    }
    if (fold && in->fold && fold != in->fold)
        return ti_err_set(err, TI_ERR_USAGE,
                          "--mode %s and --fold %" PRId64 " contradict each other", text, in->fold);
    in->regular = regular;
    in->sites_wanted = (int)sites;
    in->fold = fold ? fold : in->fold;
    return TI_OK;
}

static ti_status take_policy(const char *text, struct ti_place_in *in, struct ti_err *err)
{
    for (int p = 0; p < TI_POLICY_COUNT; p++)
        if (strcmp(text, ti_policy_names[p]) == 0) {
            in->policy = (enum ti_policy)p;
            return TI_OK;
        }
    return ti_err_set(err, TI_ERR_USAGE, "--policy is memory, speed or compact, not '%s'", text);
}

/* --- --exclude ----------------------------------------------------------- */

/* A name as the user has it: a node's, whole or before its first dot, or a cluster's. */
struct known {
    const char *name;
    size_t len;
    int64_t node;    /* or -1 */
    int64_t cluster; /* or -1 */
};

static int by_name(const void *a, const void *b)
{
    const struct known *x = a, *y = b;
    int c = memcmp(x->name, y->name, x->len < y->len ? x->len : y->len);

    return c ? c : (x->len > y->len) - (x->len < y->len);
}

static struct known *list_names(const struct ti_sites *s, size_t *n)
{
    struct known *k = malloc((2 * (size_t)s->nnodes + (size_t)s->nclusters + 1) * sizeof *k);

    *n = 0;
    if (!k)
        return NULL;
    for (int64_t i = 0; i < s->nnodes; i++) {
        const char *name = s->node[i].name;
        size_t len = strlen(name), brief = strcspn(name, ".");

        k[(*n)++] = (struct known){name, len, i, -1};
        if (brief < len)
            k[(*n)++] = (struct known){name, brief, i, -1};
    }
    for (int c = 0; c < s->nclusters; c++)
        k[(*n)++] = (struct known){s->cluster[c].name, strlen(s->cluster[c].name), -1, c};
    qsort(k, *n, sizeof *k, by_name);
    return k;
}

static void exclude_one(const struct ti_sites *s, const struct known *k, bool *use)
{
    if (k->node >= 0)
        use[k->node] = false;
    for (int64_t i = 0; k->cluster >= 0 && i < s->nnodes; i++)
        if (s->node[i].cluster == k->cluster)
            use[i] = false;
}

static bool exclude_name(const struct ti_sites *s, const struct known *k, size_t n,
                         const char *name, bool *use)
{
    struct known wanted = {name, strlen(name), -1, -1};
    const struct known *hit = bsearch(&wanted, k, n, sizeof *k, by_name);

    if (!hit)
        return false;
    while (hit > k && by_name(hit - 1, &wanted) == 0)
        hit--;
    for (; hit < k + n && by_name(hit, &wanted) == 0; hit++)
        exclude_one(s, hit, use);
    return true;
}

static ti_status exclude(const char *list, const struct ti_sites *s, bool *use, struct ti_err *err)
{
    char **name;
    struct known *known;
    size_t nknown;
    int64_t n;
    int column;
    ti_status st = ti_hostlist_expand(list, &name, &n, &column, err);

    if (st != TI_OK) {
        ti_err_prefix(err, st, "--exclude");
        return st == TI_ERR_INPUT ? TI_ERR_USAGE : st;
    }
    known = list_names(s, &nknown);
    if (!known)
        st = ti_err_set(err, TI_ERR_IO, "cannot exclude nodes: out of memory");
    for (int64_t i = 0; st == TI_OK && i < n; i++)
        if (!exclude_name(s, known, nknown, name[i], use)) {
            st = ti_err_set(err, TI_ERR_INPUT, "cannot exclude '%s': '%s' has no such node",
                            name[i], s->path);
            ti_err_hint(err, "nodes by their names, as in graphene-[1-4,7], or whole clusters");
        }
    free(known);
    free(name);
    return st;
}

/* --- all of it ----------------------------------------------------------- */

static ti_status mask(const struct ti_options *o, const struct ti_sites *sites,
                      const struct ti_place_facts *facts, struct ti_place_in *in,
                      struct ti_err *err)
{
    bool *use = malloc((size_t)sites->nnodes + 1);

    if (!use)
        return ti_err_set(err, TI_ERR_IO, "cannot choose nodes: out of memory");
    in->use = use;
    for (int64_t i = 0; i < sites->nnodes; i++)
        use[i] = !facts || !facts->use || facts->use[i];
    return o->exclude ? exclude(o->exclude, sites, use, err) : TI_OK;
}

ti_status ti_place_options(const struct ti_options *o, const struct ti_sites *sites,
                           const struct ti_place_facts *facts, struct ti_place_in *in,
                           struct ti_err *err)
{
    bool valgrind = (facts && facts->valgrind) || strcmp(o->counter, "valgrind") == 0;
    ti_status st = TI_OK;

    *in = (struct ti_place_in){
        .sites = sites,
        .memory_bytes = facts ? facts->memory_bytes : NULL,
        .cores = facts ? facts->cores : NULL,
        .np = o->np,
        .rank_bytes = facts && facts->rank_bytes ? facts->rank_bytes
                      : o->rank_bytes            ? ti_plan_rank_bytes(o->rank_bytes, valgrind)
                                                 : 0,
        .reserve_bytes = o->reserve_given ? o->reserve_bytes : -1,
        .fold = o->fold,
        .max_fold = o->max_fold,
        .family = o->family,
    };
    if (o->policy)
        st = take_policy(o->policy, in, err);
    if (st == TI_OK && o->mode)
        st = ti_place_mode(o->mode, in, err);
    if (st == TI_OK)
        st = mask(o, sites, facts, in, err);
    if (st != TI_OK)
        ti_place_in_free(in);
    return st;
}

void ti_place_in_free(struct ti_place_in *in)
{
    free((bool *)in->use);
    in->use = NULL;
}

void ti_place_plan(const struct ti_place_in *in, const struct ti_place *p, struct ti_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    plan->np = p->np;
    plan->cores = (int)p->used_cores;
    plan->folding = p->fold_full;
    memcpy(plan->mode, p->mode, sizeof plan->mode - 1);
    plan->source = in->rank_bytes ? TI_MEMORY_GIVEN : TI_MEMORY_UNKNOWN;
    plan->rank_bytes = in->rank_bytes;
    plan->largest_np = p->largest_np;
    plan->fits = true;
    ti_plan_settings(plan);
}
