#include "acquire/fleet/survey.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/json.h"
#include "common/map.h"
#include "minitrace/counters/counter.h"

#define FREE_LEAST (INT64_C(1) << 20)
#define FREE_SMALL (INT64_C(16) << 20)
/* Memory may be so much less than the sites file says: the kernel reserves some. */
#define MEMORY_SHARE 0.9

const char *ti_survey_trace_base(const struct ti_cluster *c, const struct ti_survey_in *in)
{
    return c->trace_dir ? c->trace_dir : in->trace_base;
}

static const struct ti_cluster *cluster_of(const struct ti_sites *sites, int64_t node)
{
    return &sites->cluster[sites->node[node].cluster];
}

/* --- findings ------------------------------------------------------------ */

void ti_survey_add(struct ti_survey *s, int64_t node, bool fatal, bool remote, const char *hint,
                   const char *fmt, ...)
{
    struct ti_survey_finding *f;
    va_list ap;

    if (fatal && s->usable[node]) {
        s->usable[node] = false;
        s->unusable++;
    }
    s->finding = ti_grow(s->finding, &s->room, (size_t)s->nfindings + 1, sizeof *s->finding);
    f = &s->finding[s->nfindings++];
    *f = (struct ti_survey_finding){.node = node, .fatal = fatal, .remote = remote};
    va_start(ap, fmt);
    vsnprintf(f->text, sizeof f->text, fmt, ap);
    va_end(ap);
    if (hint)
        snprintf(f->hint, sizeof f->hint, "%s", hint);
}

/* Add a finding whose text begins with a size. */
static void add_size(struct ti_survey *s, int64_t node, bool fatal, const char *hint, int64_t bytes,
                     const char *rest)
{
    int64_t before = s->nfindings;
    char size[32];

    ti_survey_add(s, node, fatal, false, hint, "%s%s", ti_format_size(bytes, size, sizeof size),
                  rest);
    if (s->nfindings > before) {
        s->finding[before].bytes = bytes;
        s->finding[before].rest = (int)strlen(size);
    }
}

static const char *text_of(const json_t *facts, const char *object, const char *key)
{
    return json_string_value(json_object_get(json_object_get(facts, object), key));
}

/* Add a finding if a part of the facts has an error.  `otherwise` is the hint if the node gives
 * none; NULL: no hint. */
static bool has_error(struct ti_survey *s, int64_t node, const char *object, const char *what,
                      const char *otherwise)
{
    const char *error = text_of(s->facts[node], object, "error");
    const char *hint = text_of(s->facts[node], object, "hint");

    if (error)
        ti_survey_add(s, node, true, false, hint && *hint ? hint : otherwise, "%s%s%s", what,
                      *what ? ": " : "", error);
    return error != NULL;
}

/* --- comparing ----------------------------------------------------------- */

static void compare_memory(struct ti_survey *s, const struct ti_sites *sites, int64_t node)
{
    const struct ti_node *n = &sites->node[node];
    int64_t said = n->memory_bytes ? n->memory_bytes : cluster_of(sites, node)->memory_bytes;
    int64_t is = ti_json_integer(s->facts[node], "memory_bytes");
    const char *by = json_string_value(json_object_get(s->facts[node], "limited_by"));
    char rest[200], size[32];

    if (!said || !is || (double)is >= MEMORY_SHARE * (double)said)
        return;
    snprintf(rest, sizeof rest, " of memory available%s%s, not %s%s", by ? ", limited by " : "",
             by ? by : "", ti_format_size(said, size, sizeof size),
             n->memory_bytes ? " as granted" : "");
    add_size(s, node, false, NULL, is, rest);
}

static void compare_processor(struct ti_survey *s, const struct ti_sites *sites, int64_t node)
{
    const struct ti_cluster *c = cluster_of(sites, node);
    const char *family = json_string_value(json_object_get(s->facts[node], "family"));
    const char *isa = json_string_value(json_object_get(s->facts[node], "isa"));
    int said = sites->node[node].cores ? sites->node[node].cores : c->cores;
    int is = (int)ti_json_integer(s->facts[node], "cores");

    /* a node may have more cores than a job was granted */
    if (said && is && is != said && !(sites->node[node].cores && is > said))
        ti_survey_add(s, node, false, false, NULL, "%d core%s, not %d", is, is == 1 ? "" : "s",
                      said);
    if (c->family && family && strcmp(c->family, family) != 0)
        ti_survey_add(s, node, true, false, "correct 'family' in the sites file",
                      "its processor is %s, not %s", family, c->family);
    if (c->isa && isa && strcmp(c->isa, isa) != 0)
        ti_survey_add(s, node, false, false, NULL, "it has %s, not %s", isa, c->isa);
}

static void check_disk(struct ti_survey *s, int64_t node)
{
    const json_t *dir = json_object_get(s->facts[node], "trace_dir");
    const json_t *bytes = json_object_get(dir, "free_bytes");
    int64_t room = json_integer_value(bytes);
    const char *path = json_string_value(json_object_get(dir, "path"));
    char rest[200];

    if (has_error(s, node, "trace_dir", "",
                  "name another folder by 'trace_dir =' in the sites file") ||
        !json_is_integer(bytes))
        return;
    snprintf(rest, sizeof rest, " is free in '%s', where traces go", path ? path : "?");
    if (room >= 0 && room < FREE_SMALL)
        add_size(s, node, room < FREE_LEAST,
                 "make room, or name another folder by 'trace_dir =' in the sites file", room,
                 rest);
}

static void check_mpi(struct ti_survey *s, int64_t node, const struct ti_survey_in *in)
{
    const char *version = text_of(s->facts[node], "mpi", "version");
    const char *kind = text_of(s->facts[node], "program", "mpi");

    if (kind && strcmp(kind, in->hydra ? "openmpi" : "mpich") == 0) {
        ti_survey_add(s, node, true, false, "all nodes need a program of the same MPI",
                      "its program is linked with %s, that of other nodes is not",
                      in->hydra ? "Open MPI" : "MPICH");
        return;
    }
    if (has_error(s, node, "mpi", "",
                  "put the Open MPI that is here on PATH for non-interactive shells there") ||
        !version)
        return;
    if (strcmp(version, in->mpi_version) != 0 && in->hydra)
        ti_survey_add(s, node, true, false,
                      "all nodes and this machine need the same, at the same path",
                      "its MPICH is %s, ours is %s", version, in->mpi_version);
    else if (strcmp(version, in->mpi_version) != 0)
        ti_survey_add(s, node, true, false,
                      "all nodes and this machine need the same: put it on PATH for "
                      "non-interactive shells, or choose another mpirun here",
                      "its Open MPI is %s, ours is %s", version, in->mpi_version);
}

/* The hint for a node that cannot be reached, if SSH gives none. */
static const char *unreachable_hint(enum ti_channel_end end)
{
    switch (end) {
    case TI_CHANNEL_NO_NAME:
    case TI_CHANNEL_UNREACHABLE:
        return "it may be down; or look at its name, at 'domain =' and 'gateway =' in the sites "
               "file, or ProxyJump in ~/.ssh/config";
    case TI_CHANNEL_GATEWAY:
        return "look at 'gateway =' in the sites file: 'ssh GATEWAY true' must work here";
    default:
        return NULL;
    }
}

/* The text is the common reason, so that nodes can be grouped; the rest is a detail. */
static void add_unreachable(struct ti_survey *s, int64_t node, enum ti_channel_end end,
                            const char *text, const char *hint)
{
    int64_t before = s->nfindings;

    ti_survey_add(s, node, true, true, hint[0] ? hint : unreachable_hint(end), "%s",
                  ti_channel_end_text(end));
    if (s->nfindings > before)
        snprintf(s->finding[before].detail, sizeof s->finding[before].detail, "%s", text);
}

static void add_unanswered(struct ti_survey *s, const struct ti_fleet *f, int64_t node)
{
    const struct ti_fleet_node *m = &f->member[node];
    struct ti_err err = {"", ""};
    const char *text;

    ti_fleet_ok(f, node, &err);
    text = ti_fleet_unnamed(f, node, err.text);
    if (m->hello && m->end == TI_CHANNEL_TIMED_OUT && !err.hint[0])
        ti_err_hint(&err,
                    "a file system of the node may hang: that of the program, of the traces or of "
                    "a folder in PATH; does 'mpirun --version' end there? --silence waits "
                    "longer");
    if (m->state == TI_NODE_LOST && m->end != TI_CHANNEL_EXITED)
        add_unreachable(s, node, m->end, text, err.hint);
    else
        ti_survey_add(s, node, true, m->state == TI_NODE_LOST, err.hint, "%s", text);
}

static void check_node(struct ti_survey *s, const struct ti_sites *sites, int64_t node,
                       const struct ti_survey_in *in)
{
    has_error(s, node, "program", "",
              "it must lie there as well: copy it, or say where it is by 'program =' in the sites "
              "file");
    for (size_t i = 0; i < json_array_size(in->more); i++) {
        const char *error =
            ti_json_string(json_array_get(json_object_get(s->facts[node], "more"), i), "error");

        if (*error)
            ti_survey_add(s, node, true, false, "it must lie there as well: copy it", "%s", error);
    }
    check_mpi(s, node, in);
    check_disk(s, node);
    compare_memory(s, sites, node);
    compare_processor(s, sites, node);
}

/* --- what must be the same everywhere ------------------------------------ */

/* The facts of a node about the first program, 0, or a further one. */
static const json_t *program_of(const struct ti_survey *s, int64_t node, size_t which)
{
    return which ? json_array_get(json_object_get(s->facts[node], "more"), which - 1)
                 : json_object_get(s->facts[node], "program");
}

static const char *hash_of(const struct ti_survey *s, int64_t node, size_t which)
{
    return json_string_value(json_object_get(program_of(s, node, which), "sha256"));
}

struct vote {
    const char *what;
    int64_t votes;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The most frequent text; among equals, the first in order. */
static struct vote majority(const char **list, int64_t n)
{
    struct vote best = {NULL, 0};

    qsort(list, (size_t)n, sizeof *list, by_text);
    for (int64_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && strcmp(list[i], list[next]) == 0; next++)
            ;
        if (next - i > best.votes)
            best = (struct vote){list[i], next - i};
    }
    return best;
}

/* Programs are compared within a processor family, because families need different ones. */
static void compare_programs(struct ti_survey *s, size_t which, const char *family)
{
    const char **list = calloc((size_t)s->n + 1, sizeof *list);
    struct vote best;
    int64_t n = 0;

    for (int64_t i = 0; list && i < s->n; i++) {
        const char *theirs = json_string_value(json_object_get(s->facts[i], "family"));

        if (hash_of(s, i, which) && theirs && strcmp(theirs, family) == 0)
            list[n++] = hash_of(s, i, which);
    }
    best = n ? majority(list, n) : (struct vote){NULL, 0};
    for (int64_t i = 0; best.what && i < s->n; i++) {
        const char *theirs = json_string_value(json_object_get(s->facts[i], "family"));

        if (hash_of(s, i, which) && theirs && strcmp(theirs, family) == 0 &&
            strcmp(hash_of(s, i, which), best.what) != 0)
            ti_survey_add(s, i, true, false, "copy the same file to all nodes",
                          "its program '%s' is another one: not %.12s... as on %" PRId64 " node%s",
                          ti_json_string(program_of(s, i, which), "path"), best.what, best.votes,
                          best.votes == 1 ? "" : "s");
    }
    free(list);
}

static void compare_all_programs(struct ti_survey *s, size_t which)
{
    const char *done[8];
    int ndone = 0;

    for (int64_t i = 0; i < s->n; i++) {
        const char *family = json_string_value(json_object_get(s->facts[i], "family"));
        bool seen = !family || ndone == 8;

        for (int k = 0; k < ndone && !seen; k++)
            seen = strcmp(done[k], family) == 0;
        if (!seen) {
            done[ndone++] = family;
            compare_programs(s, which, family);
        }
    }
}

void ti_survey_compare(struct ti_survey *s, const struct ti_sites *sites,
                       const struct ti_survey_in *in)
{
    for (int64_t i = 0; i < s->n; i++)
        if (s->usable[i] && s->facts[i])
            check_node(s, sites, i, in);
    for (size_t which = 0; which <= json_array_size(in->more); which++)
        compare_all_programs(s, which);
}

/* --- the counter --------------------------------------------------------- */

/* Whether all usable nodes have the same counter; true if none is usable. */
static bool same_counter(struct ti_survey *s)
{
    const char *first = NULL;

    for (int64_t i = 0; i < s->n; i++) {
        const char *name = s->usable[i] ? text_of(s->facts[i], "counter", "counter") : NULL;

        if (!name)
            continue;
        if (first && strcmp(first, name) != 0)
            return false;
        first = name;
    }
    snprintf(s->counter, sizeof s->counter, "%s", first ? first : "");
    return true;
}

static void check_counters(struct ti_survey *s)
{
    for (int64_t i = 0; i < s->n; i++)
        if (s->usable[i])
            has_error(s, i, "counter", "", "choose another counter by --counter");
}

/* --- asking -------------------------------------------------------------- */

struct question {
    const struct ti_survey *survey;
    const struct ti_survey_in *in;
    const char *counter;
};

static json_t *facts_request(struct ti_fleet *f, int64_t node, void *arg)
{
    const struct question *q = arg;
    const struct ti_cluster *c = cluster_of(f->sites, node);

    if (!q->survey->usable[node])
        return NULL;
    return json_pack("{s:s, s:s*, s:O*, s:s, s:s, s:b, s:s*, s:s*, s:b, s:s*, s:s}", "do", "facts",
                     "program", c->program ? c->program : q->in->program, "more", q->in->more,
                     "trace_dir", ti_survey_trace_base(c, q->in), "counter", q->counter, "sum",
                     q->in->sum, "also", q->in->also, "container", q->in->container, "mpirun", 1,
                     "hydra", q->in->hydra, "cwd", q->in->cwd);
}

static void ask(struct ti_survey *s, struct ti_fleet *f, const struct ti_survey_in *in,
                const char *counter)
{
    struct question q = {s, in, counter};

    ti_fleet_ask_all(f, facts_request, &q, in->limit_s, "looking at the nodes");
    for (int64_t i = 0; i < s->n; i++) {
        if (!s->usable[i])
            continue;
        json_decref(s->facts[i]);
        s->facts[i] = ti_fleet_ok(f, i, NULL) ? json_incref(f->member[i].answer) : NULL;
    }
}

ti_status ti_survey_make(struct ti_fleet *f, const struct ti_survey_in *in, struct ti_survey *s,
                         struct ti_err *err)
{
    const char *common = ti_counter_common(in->counter);

    memset(s, 0, sizeof *s);
    s->n = f->n;
    s->facts = calloc((size_t)f->n + 1, sizeof *s->facts);
    s->usable = calloc((size_t)f->n + 1, sizeof *s->usable);
    if (!s->facts || !s->usable)
        return ti_err_errno(err, TI_ERR_IO, "cannot look at the nodes");
    for (int64_t i = 0; i < f->n; i++) {
        s->usable[i] = !in->use || in->use[i];
        s->asked += s->usable[i];
    }
    ask(s, f, in, in->counter);
    for (int64_t i = 0; i < f->n && !f->sig; i++)
        if (s->usable[i] && !s->facts[i])
            add_unanswered(s, f, i);
    if (!f->sig)
        ti_survey_compare(s, f->sites, in);
    /* If only some nodes have what `auto` prefers, use a counter that works on all. */
    if (!same_counter(s) && common && !f->sig) {
        ti_say("nodes differ in the counter that they would take: all will count with %s", common);
        ask(s, f, in, common);
    }
    check_counters(s);
    same_counter(s);
    return TI_OK;
}

void ti_survey_free(struct ti_survey *s)
{
    for (int64_t i = 0; s->facts && i < s->n; i++)
        json_decref(s->facts[i]);
    free(s->facts);
    free(s->usable);
    free(s->finding);
    memset(s, 0, sizeof *s);
}

/* --- the result ----------------------------------------------------------- */

ti_status ti_survey_check(const struct ti_survey *s, const struct ti_sites *sites, int64_t tolerate,
                          struct ti_err *err)
{
    const struct ti_survey_finding *first = NULL;
    bool remote = false;
    ti_status st;

    if (s->unusable <= tolerate && s->unusable < s->asked)
        return TI_OK;
    for (int64_t i = 0; i < s->nfindings; i++)
        if (s->finding[i].fatal) {
            first = first ? first : &s->finding[i];
            remote = remote || s->finding[i].remote;
        }
    st = remote ? TI_ERR_REMOTE : TI_ERR_INPUT;
    if (!first)
        return ti_err_set(err, TI_ERR_INPUT, "there is no node to run on");
    if (s->unusable == 1)
        ti_err_set(err, st, "node '%s' cannot be used: %s", sites->node[first->node].name,
                   first->detail[0] ? first->detail : first->text);
    else
        ti_err_set(err, st, "%" PRId64 " of %" PRId64 " nodes cannot be used: '%s': %s, ...",
                   s->unusable, s->asked, sites->node[first->node].name,
                   first->detail[0] ? first->detail : first->text);
    /* --tolerate does not help if no node is usable */
    if (s->unusable == s->asked)
        ti_err_hint(err, "%s", first->hint);
    else if (first->hint[0])
        ti_err_hint(err, "%s; or leave nodes out: --tolerate %" PRId64 ", --exclude LIST",
                    first->hint, s->unusable);
    else
        ti_err_hint(err, "--tolerate %" PRId64 " or --exclude LIST leaves nodes out", s->unusable);
    return st;
}

/* --- for the plan -------------------------------------------------------- */

int64_t ti_survey_memory(const struct ti_survey *s, const struct ti_sites *sites, int64_t node)
{
    int64_t granted = sites->node[node].memory_bytes;
    int64_t said = granted ? granted : cluster_of(sites, node)->memory_bytes;
    int64_t is = ti_json_integer(s->facts[node], "memory_bytes");

    return !is || (said && said < is) ? said : is;
}

int ti_survey_cores(const struct ti_survey *s, const struct ti_sites *sites, int64_t node)
{
    int granted = sites->node[node].cores, is = (int)ti_json_integer(s->facts[node], "cores");

    if (!is)
        return granted ? granted : cluster_of(sites, node)->cores;
    return granted && granted < is ? granted : is;
}

json_t *ti_survey_json(const struct ti_survey *s, const struct ti_sites *sites)
{
    json_t *list = json_array();

    for (int64_t i = 0; i < s->n; i++) {
        const struct ti_cluster *c = cluster_of(sites, i);
        json_t *one = json_pack("{s:s, s:s, s:s, s:b}", "name", sites->node[i].name, "cluster",
                                c->name, "site", sites->site[c->site].name, "usable", s->usable[i]);
        json_t *why = json_array();

        if (s->facts[i])
            json_object_set(one, "facts", s->facts[i]);
        for (int64_t k = 0; k < s->nfindings; k++)
            if (s->finding[k].node == i)
                json_array_append_new(why, ti_json_text(s->finding[k].text));
        json_object_set_new(one, "findings", why);
        json_array_append_new(list, one);
    }
    return list;
}
