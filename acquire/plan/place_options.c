/* The conditions of a placement, from the command line. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>

#include "acquire/options.h"
#include "acquire/plan/place.h"
#include "acquire/plan/plan.h"
#include "common/limits.h"

/* --- --mode -------------------------------------------------------------- */

#define MODES "R, F-X, C-Y or CF-(Y,X), Y and X numbers, or x for as many as needed"

/* Parse a number from 1 to `most` at *p. With `any`, the letter x is accepted too and gives 0. */
static bool parse_number(const char **p, bool any, int64_t most, int64_t *n)
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

static bool skip_char(const char **p, char c)
{
    if (**p != c)
        return false;
    ++*p;
    return true;
}

ti_status ti_place_parse_mode(const char *text, struct ti_place_request *in, struct ti_err *err)
{
    const char *p = text;
    int64_t sites = 1, fold = 0;
    bool composite = skip_char(&p, 'C'), folded = skip_char(&p, 'F');
    bool regular = !folded, ok = true;

    if (!composite && !folded)
        ok = skip_char(&p, 'R');
    else if (composite && folded)
        ok = skip_char(&p, '-') && skip_char(&p, '(') && parse_number(&p, false, 1000000, &sites) &&
             skip_char(&p, ',') && parse_number(&p, true, TI_RANKS_MAX, &fold) &&
             skip_char(&p, ')');
    else
        ok = skip_char(&p, '-') &&
             parse_number(&p, folded, TI_RANKS_MAX, composite ? &sites : &fold);
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

static ti_status parse_policy(const char *text, struct ti_place_request *in, struct ti_err *err)
{
    struct ti_nearest near = {.to = text};
    char all[128] = "";

    for (int p = 0; p < TI_POLICY_COUNT; p++)
        if (strcmp(text, ti_policy_names[p]) == 0) {
            in->policy = (enum ti_policy)p;
            return TI_OK;
        }
    for (int p = 0; p < TI_POLICY_COUNT; p++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s",
                 p == 0                    ? ""
                 : p + 1 < TI_POLICY_COUNT ? ", "
                                           : " or ",
                 ti_policy_names[p]);
    ti_err_set(err, TI_ERR_USAGE, "--policy must be %s, not '%s'", all, text);
    for (int p = 0; p < TI_POLICY_COUNT; p++)
        ti_nearest_try(&near, ti_policy_names[p]);
    if (near.text[0])
        ti_err_hint(err, "did you mean '%s'?", near.text);
    return TI_ERR_USAGE;
}

/* --- all of it ----------------------------------------------------------- */

ti_status ti_place_request_from_options(const struct ti_options *o, const struct ti_sites *sites,
                                        bool valgrind, struct ti_place_request *in,
                                        struct ti_err *err)
{
    ti_status st = TI_OK;

    *in = (struct ti_place_request){
        .sites = sites,
        .np = o->np,
        .rank_bytes = o->rank_bytes ? ti_plan_rank_bytes(o->rank_bytes, valgrind) : 0,
        .reserve_bytes = o->reserve_given ? o->reserve_bytes : -1,
        .fold = o->fold,
        .max_fold = o->max_fold,
        .group = o->ranks_per_node,
        .family = o->family,
    };
    if (o->policy)
        st = parse_policy(o->policy, in, err);
    if (st == TI_OK && o->mode)
        st = ti_place_parse_mode(o->mode, in, err);
    return st;
}

/* ti_plan_start_seconds() of the node that takes longest. */
static double start_seconds(const struct ti_place_request *in, const struct ti_rank_placement *p,
                            bool valgrind)
{
    double most = 0;

    for (int64_t i = 0; i < p->nnodes; i++) {
        double s = ti_plan_start_seconds(p->ranks[i], ti_node_resources(in, i).cores, valgrind);

        most = s > most ? s : most;
    }
    return most;
}

/* On one machine ranks use all cores, so np and the cores determine the folding factor. */
static ti_status check_fold_here(const struct ti_place_request *in, int cores, struct ti_err *err)
{
    int64_t fold = (in->np + cores - 1) / cores;

    if (!in->fold || in->fold == fold)
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT,
               "%" PRId64 " ranks on each core cannot be had: %" PRId64
               " ranks on the %d core%s here are %" PRId64 " a core",
               in->fold, in->np, cores, cores == 1 ? "" : "s", fold);
    ti_err_hint(err, "--np %" PRId64 " has %" PRId64 " on each core; --pin LIST uses fewer cores",
                in->fold * cores, in->fold);
    return TI_ERR_INPUT;
}

ti_status ti_place_check_local(const struct ti_options *o, const char *host, int cores,
                               struct ti_err *err)
{
    struct utsname us;
    struct ti_site site = {.name = (char *)host};
    struct ti_cluster cluster = {.name = (char *)host, .cores = cores};
    struct ti_node node = {.name = (char *)host};
    struct ti_sites sites = {.path = (char *)host,
                             .site = &site,
                             .nsites = 1,
                             .cluster = &cluster,
                             .nclusters = 1,
                             .node = &node,
                             .nnodes = 1};
    struct ti_place_request in;
    struct ti_rank_placement place = {.ranks = NULL};
    ti_status st = ti_place_request_from_options(o, &sites, false, &in, err);

    if (uname(&us) == 0)
        cluster.family = us.machine;
    in.rank_bytes = 0; /* ti_plan_check() judges memory on this machine */
    if (st == TI_OK)
        st = ti_place_ranks(&in, &place, err);
    if (st == TI_OK)
        st = check_fold_here(&in, cores, err);
    ti_rank_placement_free(&place);
    return st;
}

void ti_rank_placement_settings(const struct ti_place_request *in,
                                const struct ti_rank_placement *p, bool valgrind,
                                struct ti_plan *plan)
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
    plan->start_seconds = start_seconds(in, p, valgrind);
    ti_plan_settings(plan);
}
