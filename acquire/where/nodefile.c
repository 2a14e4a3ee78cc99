/* Jobs that list their nodes in a file or variable, once per core: OAR, PBS, LSF. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acquire/where/batch.h"
#include "acquire/where/jobs.h"
#include "common/hostlist.h"
#include "common/order.h"

struct word {
    char *name;
    int64_t order;
    int cores; /* number of its occurrences */
};

struct job {
    const char *system, *id, *source; /* "OAR", "1234", "OAR_NODEFILE" */
    enum ti_sites_origin origin;
    struct word *word;
    int64_t n, room;
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

/* Add a name; `where` says where it was found, for messages. */
static ti_status add(struct job *j, const char *text, size_t bytes, const char *where)
{
    char name[TI_HOST_NAME_MAX + 1];

    for (size_t i = 0; i < bytes; i++)
        if (bytes > TI_HOST_NAME_MAX ||
            (!isalnum((unsigned char)text[i]) && (!i || !strchr("._-", text[i])))) {
            ti_err_set(j->err, TI_ERR_INPUT, "%s: '%.*s' is no name of a node", where,
                       bytes < 60 ? (int)bytes : 60, text);
            ti_err_hint(j->err, "it is from %s; --local runs on this machine alone", j->source);
            return TI_ERR_INPUT;
        }
    snprintf(name, sizeof name, "%.*s", (int)bytes, text);
    if (j->n == j->room) {
        int64_t room = j->room ? 2 * j->room : 256;
        struct word *more =
            room <= 2 * TI_HOSTLIST_MAX ? realloc(j->word, (size_t)room * sizeof *more) : NULL;

        if (!more)
            return no_memory(j);
        j->word = more;
        j->room = room;
    }
    j->word[j->n] = (struct word){.name = strdup(name), .order = j->n, .cores = 1};
    return j->word[j->n++].name ? TI_OK : no_memory(j);
}

/* Parse a line, which stands for one core; LSF writes the number of slots behind the name. */
static ti_status parse_line(struct job *j, const char *line, const char *where)
{
    const char *p = line + strspn(line, " \t\r\n"), *rest;
    size_t bytes = strcspn(p, " \t\r\n");
    char *end;
    long slots = 1;
    ti_status st;

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
    st = add(j, p, bytes, where);
    if (st == TI_OK)
        j->word[j->n - 1].cores = (int)slots;
    return st;
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

        st = add(j, p, bytes, j->source);
        p += bytes;
    }
    return st;
}

static int by_name(const void *a, const void *b)
{
    const struct word *x = a, *y = b;
    int c = strcmp(x->name, y->name);

    return c ? c : (x->order > y->order) - (x->order < y->order);
}

TI_ORDER_BY(by_order, struct word, order)

/* Merge equal names and count their cores. */
static void merge(struct job *j)
{
    int64_t out = 0;

    qsort(j->word, (size_t)j->n, sizeof *j->word, by_name);
    for (int64_t i = 0; i < j->n; i++) {
        if (out && strcmp(j->word[out - 1].name, j->word[i].name) == 0) {
            if (j->word[out - 1].cores < TI_SITES_CORES_MAX)
                j->word[out - 1].cores += j->word[i].cores;
            free(j->word[i].name);
        } else {
            j->word[out++] = j->word[i];
        }
    }
    j->n = out;
    qsort(j->word, (size_t)j->n, sizeof *j->word, by_order);
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
    bool *done = calloc((size_t)j->n, sizeof *done), ok = done != NULL;

    for (int64_t i = 0; ok && i < j->n; i++) {
        place(j->word[i].name, cluster, site);
        ok = site_of(s, site) >= 0;
    }
    for (int at = 0; ok && at < s->nsites; at++)
        for (int64_t i = 0; ok && i < j->n; i++) {
            place(j->word[i].name, cluster, site);
            if (done[i] || strcmp(site, s->site[at].name) != 0)
                continue;
            ok = ti_sites_add_cluster(s, at, cluster) != NULL;
            for (int64_t k = i; ok && k < j->n; k++) {
                struct ti_node *node;

                place(j->word[k].name, other, there);
                if (done[k] || strcmp(other, cluster) != 0 || strcmp(there, site) != 0)
                    continue;
                done[k] = true;
                node = ti_sites_add_node(s, j->word[k].name);
                ok = node != NULL;
                if (ok)
                    node->cores = j->word[k].cores;
            }
        }
    free(done);
    return ok;
}

static bool on_path(const char *program)
{
    const char *p = getenv("PATH");

    while (p && *p) {
        size_t bytes = strcspn(p, ":");
        char file[4096];

        if (snprintf(file, sizeof file, "%.*s/%s", (int)bytes, p, program) < (int)sizeof file &&
            access(file, X_OK) == 0)
            return true;
        p += bytes + (p[bytes] != '\0');
    }
    return false;
}

static ti_status finish(struct job *j, struct ti_sites **out, char what[TI_WHERE_BYTES])
{
    struct ti_via oarsh;
    char path[96];

    if (!j->n) {
        ti_err_set(j->err, TI_ERR_INPUT, "%s names no node", j->source);
        ti_err_hint(j->err, "--local runs on this machine alone");
        return TI_ERR_INPUT;
    }
    merge(j);
    if (j->n == 1 && ti_batch_is_here(j->word[0].name)) {
        snprintf(what, TI_WHERE_BYTES, "%s job %.64s: this machine alone", j->system, j->id);
        return TI_OK;
    }
    snprintf(path, sizeof path, "%s job %.64s", j->system, j->id);
    *out = ti_sites_new(j->origin, path);
    ti_via_oar(&oarsh);
    if (!*out || !build(j, *out) ||
        (j->origin == TI_SITES_OAR && on_path("oarsh") && !ti_batch_via(*out, oarsh.word)))
        return no_memory(j);
    snprintf(what, TI_WHERE_BYTES, "%s, %" PRId64 " node%s", path, j->n, j->n == 1 ? "" : "s");
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
        for (int64_t k = 0; k < j.n; k++)
            free(j.word[k].name);
        free(j.word);
        return st;
    }
    return TI_OK;
}
