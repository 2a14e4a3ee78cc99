/* Jobs that list their nodes in a file or variable, once per core: OAR, PBS, LSF. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acquire/where/batch.h"
#include "acquire/where/jobs.h"
#include "common/beside.h"
#include "common/hostlist.h"
#include "common/map.h"
#include "common/names.h"

struct job {
    const char *system, *id, *source; /* "OAR", "1234", "OAR_NODEFILE" */
    enum ti_sites_origin origin;
    struct ti_names nodes;
    int *cores; /* by number of the node */
    size_t cap;
    struct ti_err *err;
};

static const char *variable(const char *name)
{
    const char *v = getenv(name);

    return v && *v ? v : NULL;
}

static ti_status no_memory(struct job *j)
{
    return ti_err_errno(j->err, TI_ERR_IO, "cannot list the nodes of %s job %s", j->system, j->id);
}

/* Add cores of a node; `where` says where its name was found, for messages. */
static ti_status add(struct job *j, const char *text, size_t bytes, int cores, const char *where)
{
    char name[TI_HOST_NAME_MAX + 1];
    size_t node;

    for (size_t i = 0; i < bytes; i++)
        if (bytes > TI_HOST_NAME_MAX ||
            (!isalnum((unsigned char)text[i]) && (!i || !strchr("._-", text[i])))) {
            ti_err_set(j->err, TI_ERR_INPUT, "%s: '%.*s' is no name of a node", where,
                       bytes < 60 ? (int)bytes : 60, text);
            ti_err_hint(j->err, "it is from %s; --local runs on this machine alone", j->source);
            return TI_ERR_INPUT;
        }
    snprintf(name, sizeof name, "%.*s", (int)bytes, text);
    node = ti_names_add(&j->nodes, name);
    j->cores = ti_grow(j->cores, &j->cap, node + 1, sizeof *j->cores);
    if (j->cores[node] < TI_SITES_CORES_MAX)
        j->cores[node] += cores;
    return TI_OK;
}

/* Parse a line, which stands for one core; LSF writes the number of slots behind the name. */
static ti_status parse_line(struct job *j, const char *line, const char *where)
{
    const char *p = line + strspn(line, " \t\r\n"), *rest;
    size_t bytes = strcspn(p, " \t\r\n");
    char *end;
    long slots = 1;

    if (!bytes)
        return TI_OK;
    rest = p + bytes + strspn(p + bytes, " \t\r\n");
    if (*rest) {
        slots = strtol(rest, &end, 10);
        end += strspn(end, " \t\r\n");
        if (*end || slots < 1 || slots > TI_SITES_CORES_MAX)
            return ti_err_set(j->err, TI_ERR_INPUT, "%s: a line is a name of a node, not '%.*s'",
                              where, (int)strcspn(p, "\r\n") < 60 ? (int)strcspn(p, "\r\n") : 60,
                              p);
    }
    return add(j, p, bytes, (int)slots, where);
}

static ti_status read_file(struct job *j, const char *path)
{
    FILE *f = fopen(path, "re");
    char *line = NULL, where[160];
    ti_status st = TI_OK;
    size_t room = 0;
    int number = 0;

    if (!f) {
        ti_err_errno(j->err, TI_ERR_IO, "cannot open '%s'", path);
        ti_err_hint(j->err, "it is from %s; --local runs on this machine alone", j->source);
        return TI_ERR_IO;
    }
    while (st == TI_OK && getline(&line, &room, f) >= 0) {
        snprintf(where, sizeof where, "%.120s:%d", path, ++number);
        st = parse_line(j, line, where);
    }
    if (st == TI_OK && ferror(f))
        st = ti_err_errno(j->err, TI_ERR_IO, "cannot read '%s'", path);
    free(line);
    fclose(f);
    return st;
}

static ti_status parse_words(struct job *j, const char *p)
{
    ti_status st = TI_OK;

    while (st == TI_OK && *(p += strspn(p, " \t"))) {
        size_t bytes = strcspn(p, " \t");

        st = add(j, p, bytes, 1, j->source);
        p += bytes;
    }
    return st;
}

/* ------------------------------------------------------------------ build -- */

/* "graphene-12.nancy.grid5000.fr" is of cluster graphene at site nancy.grid5000.fr. */
static void place(const char *node, char *cluster, char *site)
{
    size_t label = strcspn(node, "."), bytes = label;

    while (bytes && isdigit((unsigned char)node[bytes - 1]))
        bytes--;
    while (bytes && strchr("-_", node[bytes - 1]))
        bytes--;
    if (bytes)
        sprintf(cluster, "%.*s", (int)bytes, node);
    else
        strcpy(cluster, "nodes");
    strcpy(site, node[label] && node[label + 1] ? node + label + 1 : "here");
}

static int site_of(struct ti_sites *s, const char *name)
{
    for (int i = 0; i < s->nsites; i++)
        if (strcmp(s->site[i].name, name) == 0)
            return i;
    return ti_sites_add_site(s, name) ? s->nsites - 1 : -1;
}

/* Build the sites: nodes grouped by cluster, clusters by site. */
static bool build(struct job *j, struct ti_sites *s)
{
    char cluster[TI_HOST_NAME_MAX + 1], site[TI_HOST_NAME_MAX + 1];
    char other[TI_HOST_NAME_MAX + 1], there[TI_HOST_NAME_MAX + 1];
    int64_t n = (int64_t)j->nodes.map.n;
    bool *done = calloc((size_t)n, sizeof *done), ok = done != NULL;

    for (int64_t i = 0; ok && i < n; i++) {
        place(j->nodes.text[i], cluster, site);
        ok = site_of(s, site) >= 0;
    }
    for (int at = 0; ok && at < s->nsites; at++)
        for (int64_t i = 0; ok && i < n; i++) {
            place(j->nodes.text[i], cluster, site);
            if (done[i] || strcmp(site, s->site[at].name) != 0)
                continue;
            ok = ti_sites_add_cluster(s, at, cluster) != NULL;
            for (int64_t k = i; ok && k < n; k++) {
                struct ti_node *node;

                place(j->nodes.text[k], other, there);
                if (done[k] || strcmp(other, cluster) != 0 || strcmp(there, site) != 0)
                    continue;
                done[k] = true;
                node = ti_sites_add_node(s, j->nodes.text[k]);
                ok = node != NULL;
                if (ok)
                    node->cores = j->cores[k];
            }
        }
    free(done);
    return ok;
}

static ti_status finish(struct job *j, struct ti_sites **out, char what[TI_WHERE_BYTES])
{
    int64_t n = (int64_t)j->nodes.map.n;
    struct ti_via oarsh;
    char path[96], oarsh_path[PATH_MAX];

    if (!n) {
        ti_err_set(j->err, TI_ERR_INPUT, "%s names no node", j->source);
        ti_err_hint(j->err, "--local runs on this machine alone");
        return TI_ERR_INPUT;
    }
    if (n == 1 && ti_batch_is_here(j->nodes.text[0])) {
        snprintf(what, TI_WHERE_BYTES, "%s job %.64s: this machine alone", j->system, j->id);
        return TI_OK;
    }
    snprintf(path, sizeof path, "%s job %.64s", j->system, j->id);
    *out = ti_sites_new(j->origin, path);
    ti_via_oar(&oarsh);
    if (!*out || !build(j, *out) ||
        (j->origin == TI_SITES_OAR && ti_find_on_path("oarsh", oarsh_path) &&
         !ti_batch_via(*out, oarsh.word)))
        return no_memory(j);
    snprintf(what, TI_WHERE_BYTES, "%s, %" PRId64 " node%s", path, n, n == 1 ? "" : "s");
    return TI_OK;
}

ti_status ti_jobs_nodefile(struct ti_sites **out, char what[TI_WHERE_BYTES], bool *found,
                           struct ti_err *err)
{
    static const struct {
        const char *source, *system, *id, *other_id;
        enum ti_sites_origin origin;
        bool is_file;
    } systems[] = {
        {"OAR_NODEFILE", "OAR", "OAR_JOB_ID", "OAR_JOBID", TI_SITES_OAR, true},
        {"PBS_NODEFILE", "PBS", "PBS_JOBID", "PBS_JOBID", TI_SITES_PBS, true},
        {"LSB_DJOB_HOSTFILE", "LSF", "LSB_JOBID", "LSB_JOBID", TI_SITES_LSF, true},
        {"LSB_HOSTS", "LSF", "LSB_JOBID", "LSB_JOBID", TI_SITES_LSF, false},
    };

    *found = false;
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
        const char *value = variable(systems[i].source), *id = variable(systems[i].id);
        struct job j = {.system = systems[i].system,
                        .source = systems[i].source,
                        .origin = systems[i].origin,
                        .err = err};
        ti_status st;

        if (!value)
            continue;
        *found = true;
        j.id = id ? id : variable(systems[i].other_id) ? variable(systems[i].other_id) : "?";
        st = systems[i].is_file ? read_file(&j, value) : parse_words(&j, value);
        if (st == TI_OK)
            st = finish(&j, out, what);
        ti_names_free(&j.nodes);
        free(j.cores);
        return st;
    }
    return TI_OK;
}
