#include "acquire/where/where.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hostlist.h"

void ti_where_say(const char *more)
{
    while (more && *more) {
        size_t bytes = strcspn(more, "\n");

        fprintf(stderr, "%s: %.*s\n", ti_acquire_cli.tool, (int)bytes, more);
        more += bytes + (more[bytes] != '\0');
    }
}

/* Whether two names are of one node; a short name matches a long one. */
static bool same_node(const char *node, const char *given)
{
    size_t n = strlen(given);

    return strncasecmp(node, given, n) == 0 &&
           (!node[n] || (node[n] == '.' && !memchr(given, '.', n)));
}

static ti_status exclude(struct ti_sites *s, const char *list, struct ti_err *err)
{
    bool *keep = malloc((size_t)s->nnodes + 1);
    char **names = NULL;
    int64_t n = 0, left = s->nnodes;
    ti_status st = ti_hostlist_expand(list, &names, &n, NULL, err);

    if (st != TI_OK) {
        ti_err_prefix(err, st, "--exclude '%s'", list);
        free(keep);
        return TI_ERR_USAGE;
    }
    if (!keep)
        st = ti_err_errno(err, TI_ERR_IO, "cannot leave nodes out");
    for (int64_t i = 0; keep && i < s->nnodes; i++)
        keep[i] = true;
    for (int64_t k = 0; st == TI_OK && k < n; k++) {
        bool found = false;

        for (int64_t i = 0; i < s->nnodes; i++)
            if (same_node(s->node[i].name, names[k]) ||
                strcmp(s->cluster[s->node[i].cluster].name, names[k]) == 0) {
                found = true;
                left -= keep[i];
                keep[i] = false;
            }
        if (!found)
            st = ti_err_set(err, TI_ERR_INPUT,
                            "there is no node or cluster '%s' to be excluded in '%s'", names[k],
                            s->path);
    }
    if (st == TI_OK && !left)
        st = ti_err_set(err, TI_ERR_INPUT, "--exclude '%s' leaves no node of '%s'", list, s->path);
    if (st == TI_OK)
        ti_sites_filter(s, keep);
    free(keep);
    free(names);
    return st;
}

static ti_status check_options(const struct ti_options *o, struct ti_err *err)
{
    const char *given[3];
    int n = 0;

    if (o->sites_path)
        given[n++] = "--sites";
    if (o->hostfile)
        given[n++] = "--hostfile";
    if (o->local)
        given[n++] = "--local";
    if (n > 1)
        return ti_err_set(err, TI_ERR_USAGE, "%s and %s exclude each other", given[0], given[1]);
    return TI_OK;
}

static ti_status check_nodes(const struct ti_options *o, struct ti_err *err)
{
    if (!o->pin)
        return TI_OK;
    ti_err_set(err, TI_ERR_USAGE, "--pin names cores of this machine, and the run is on nodes");
    ti_err_hint(err, "--local runs on this machine alone");
    return TI_ERR_USAGE;
}

/* The nodes of the job that this process runs in, if any. */
static ti_status find_job(struct ti_sites **out, char what[TI_WHERE_BYTES], struct ti_err *err)
{
    bool found = false;

    if (ti_jobs_in_slurm())
        return ti_jobs_slurm(out, what, err);
    return ti_jobs_nodefile(out, what, &found, err);
}

ti_status ti_where_find(const struct ti_options *o, struct ti_sites **out,
                        char what[TI_WHERE_BYTES], char **more, struct ti_err *err)
{
    ti_status st = check_options(o, err);

    *out = NULL;
    what[0] = '\0';
    if (more)
        *more = NULL;
    if (st != TI_OK || o->local)
        return st;
    if (o->sites_path)
        st = ti_sites_read(o->sites_path, out, more, err);
    else if (o->hostfile)
        st = ti_sites_read_hostfile(o->hostfile, out, more, err);
    else
        st = find_job(out, what, err);
    if (st == TI_OK && *out && (o->sites_path || o->hostfile))
        snprintf(what, TI_WHERE_BYTES, "%s '%.200s', %" PRId64 " node%s",
                 o->sites_path ? "sites file" : "hostfile", (*out)->path, (*out)->nnodes,
                 (*out)->nnodes == 1 ? "" : "s");
    if (st == TI_OK && *out)
        st = check_nodes(o, err);
    if (st == TI_OK && *out && o->exclude)
        st = exclude(*out, o->exclude, err);
    if (st != TI_OK) {
        ti_sites_free(*out);
        *out = NULL;
    }
    return st;
}
