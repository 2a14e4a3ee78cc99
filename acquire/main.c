/* ti-acquire: run an MPI program, folded if need be, and trace it. */
#include <stdlib.h>

#include "acquire/run/describe.h"
#include "acquire/run/left.h"
#include "acquire/run/pipeline.h"
#include "acquire/run/result.h"
#include "acquire/where/check_sites.h"
#include "acquire/where/where.h"

/* Find where to run: on nodes, or on this machine. */
static ti_status find_nodes(struct ti_options *o, struct ti_sites **sites, struct ti_err *err)
{
    char what[TI_WHERE_BYTES], *more = NULL;
    ti_status st = ti_where_find(o, sites, what, &more, err);

    ti_where_say(more);
    free(more);
    if (st == TI_OK && what[0])
        ti_say("on %s", what);
    if (st == TI_OK && *sites && !o->ranks_per_node)
        o->ranks_per_node = (*sites)->target_ranks_per_node;
    return st;
}

static ti_status act(struct ti_options *o, struct ti_acquisition *a, struct ti_err *err)
{
    struct ti_sites *sites = NULL;
    ti_status st = find_nodes(o, &sites, err);

    a->sites = sites;
    a->backend = sites ? &ti_backend_nodes : &ti_backend_local;
    if (st == TI_OK && o->probe && !sites)
        st = ti_err_set(err, TI_ERR_USAGE,
                        "--probe looks at nodes: --sites, --hostfile or a job says which");
    else if (st == TI_OK && (o->list || o->clean)) {
        st = ti_left_act(o, sites, err);
        ti_sites_free(sites);
        return st;
    } else if (st == TI_OK)
        st = o->probe ? a->backend->probe(a, err) : ti_pipeline_run(a, err);
    ti_untraced_say(&a->ranks);
    ti_negative_say(&a->ranks);
    if (!a->signal)
        ti_caveats_say(&a->ranks);
    if (a->bundled && !a->signal)
        ti_result_say_replayable(a);
    if (o->json)
        ti_describe_summary(a, st, err);
    ti_sites_free(sites);
    return st;
}

int main(int argc, char **argv)
{
    struct ti_options options;
    struct ti_acquisition acquisition = {.o = &options, .dir = {.fd = -1}};
    struct ti_err err = {"", ""};
    ti_status st;
    int early;

    ti_launch_init();
    early = ti_options_parse(argc, argv, &options);
    if (early >= 0) {
        ti_options_free(&options);
        return early;
    }
    ti_talk_init(ti_acquire_cli.tool, options.quiet, options.progress);
    st = options.check_sites ? ti_check_sites(&options, &err) : act(&options, &acquisition, &err);
    if (err.text[0])
        ti_cli_fail(&ti_acquire_cli, st, &err);
    if (st == TI_OK)
        st = (ti_status)ti_cli_shown(ti_acquire_cli.tool);
    early = acquisition.signal;
    ti_acquisition_free(&acquisition);
    ti_options_free(&options);
    if (early)
        ti_launch_die(early);
    return st;
}
