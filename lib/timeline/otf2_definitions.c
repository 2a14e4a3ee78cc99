#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "timeline/otf2.h"
#include "trace/scan.h"

struct region {
    uint32_t name, op;
};

struct comm {
    int job;
    int64_t gid;
    bool listed; /* in `members` */
};

struct ti__otf2_defs {
    const struct ti_timeline *t;
    struct ti_map strings; /* hashes of the text -> number */
    char **string;
    size_t strings_cap;
    struct ti_map regions; /* number of the name */
    struct region *region;
    size_t regions_cap;
    struct ti_map comms; /* (job, gid) */
    struct comm *comm;
    size_t comms_cap;
    struct ti_map members; /* (comm, rank of the job) -> index into `place` */
    int64_t *place;
    size_t places_cap;
    uint32_t groups; /* written */
    OTF2_GlobalDefWriter *g;
    OTF2_ErrorCode code; /* the first error */
};

struct ti__otf2_defs *ti__otf2_defs_new(const struct ti_timeline *t)
{
    size_t none = 0;
    struct ti__otf2_defs *d = ti_grow(NULL, &none, 1, sizeof *d);

    d->t = t;
    ti__otf2_string(d, ""); /* number 0 */
    ti__otf2_region(d, "application", TI_OP_COUNT);
    return d;
}

void ti__otf2_defs_free(struct ti__otf2_defs *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->strings.n; i++)
        free(d->string[i]);
    ti_map_free(&d->strings);
    ti_map_free(&d->regions);
    ti_map_free(&d->comms);
    ti_map_free(&d->members);
    free(d->string);
    free(d->region);
    free(d->comm);
    free(d->place);
    free(d);
}

/* ---- numbers ---- */

static uint64_t hash_of(const char *text, uint64_t hash)
{
    for (; *text; text++)
        hash = ti_hash_word(hash, (unsigned char)*text);
    return hash;
}

uint32_t ti__otf2_string(struct ti__otf2_defs *d, const char *text)
{
    size_t known = d->strings.n;
    int64_t i = ti_map_add(&d->strings, (int64_t)hash_of(text, TI_HASH_START),
                           (int64_t)hash_of(text, ~TI_HASH_START), 0, 0);

    if ((size_t)i == known) {
        d->string = ti_grow(d->string, &d->strings_cap, d->strings.n, sizeof *d->string);
        d->string[i] = strdup(text);
        if (!d->string[i])
            TI_BUG("out of memory");
    }
    return (uint32_t)i;
}

uint32_t ti__otf2_region(struct ti__otf2_defs *d, const char *name, uint32_t op)
{
    uint32_t string = ti__otf2_string(d, name);
    size_t known = d->regions.n;
    int64_t i = ti_map_add(&d->regions, string, 0, 0, 0);

    if ((size_t)i == known) {
        d->region = ti_grow(d->region, &d->regions_cap, d->regions.n, sizeof *d->region);
        d->region[i] = (struct region){string, op};
    }
    return (uint32_t)i;
}

/* MPI_COMM_SELF and its copies are one communicator. */
static bool is_self(const struct ti__otf2_defs *d, int job, int64_t gid)
{
    return gid && ti_comms_group(&d->t->comms[job], gid)->size == 1;
}

uint32_t ti__otf2_comm(struct ti__otf2_defs *d, int job, int64_t gid)
{
    bool self = is_self(d, job, gid);
    size_t known = d->comms.n;
    int64_t i = ti_map_add(&d->comms, self ? -1 : job, self ? -1 : gid, 0, 0);

    if ((size_t)i == known) {
        d->comm = ti_grow(d->comm, &d->comms_cap, d->comms.n, sizeof *d->comm);
        d->comm[i] = (struct comm){.job = job, .gid = gid};
    }
    return (uint32_t)i;
}

/* Remember the place of each member. */
static void list_members(struct ti__otf2_defs *d, uint32_t number, const struct ti_group *g)
{
    for (int64_t i = 0; i < g->size; i++) {
        int64_t at = ti_map_add(&d->members, number, g->member[i], 0, 0);

        d->place = ti_grow(d->place, &d->places_cap, d->members.n, sizeof *d->place);
        d->place[at] = g->first && i >= g->first ? i - g->first : i;
    }
}

int64_t ti__otf2_member(struct ti__otf2_defs *d, int job, int64_t gid, int64_t rank)
{
    const struct ti_group *g = ti_comms_group(&d->t->comms[job], gid);
    uint32_t number = ti__otf2_comm(d, job, gid);
    int64_t at;

    if (is_self(d, job, gid))
        return 0;
    if (g->shape == TI_COMM_WORLD)
        return rank < g->size ? rank : -1;
    if (!d->comm[number].listed)
        list_members(d, number, g);
    d->comm[number].listed = true;
    at = ti_map_find(&d->members, number, rank, 0, 0);
    return at < 0 ? -1 : d->place[at];
}

/* ---- definitions ---- */

static void must(struct ti__otf2_defs *d, OTF2_ErrorCode code)
{
    if (!d->code)
        d->code = code;
}

static void write_strings(struct ti__otf2_defs *d)
{
    for (size_t i = 0; i < d->strings.n; i++)
        must(d, OTF2_GlobalDefWriter_WriteString(d->g, (uint32_t)i, d->string[i]));
}

static OTF2_RegionRole role_of(uint32_t op)
{
    if (op >= TI_OP_COUNT)
        return OTF2_REGION_ROLE_CODE;
    if (ti_op_base(op) == TI_OP_BARRIER)
        return OTF2_REGION_ROLE_BARRIER;
    if (ti_op_is(op, TI_T_COLLECTIVE))
        return ti_op_is(op, TI_T_FROM_ROOT)    ? OTF2_REGION_ROLE_COLL_ONE2ALL
               : ti_op_is(op, TI_T_TO_ROOT)    ? OTF2_REGION_ROLE_COLL_ALL2ONE
               : ti_op_is(op, TI_T_NEIGHBOURS) ? OTF2_REGION_ROLE_COLL_OTHER
                                               : OTF2_REGION_ROLE_COLL_ALL2ALL;
    if (ti_op_is(op, TI_T_SENDS) || ti_op_is(op, TI_T_RECEIVES) || ti_op_is(op, TI_T_PROBED))
        return OTF2_REGION_ROLE_POINT2POINT;
    if (ti_op_kind(op) == TI_OP_KIND_RMA)
        return OTF2_REGION_ROLE_RMA;
    if (ti_op_kind(op) == TI_OP_KIND_FILE)
        return OTF2_REGION_ROLE_FILE_IO;
    return OTF2_REGION_ROLE_FUNCTION;
}

static void write_regions(struct ti__otf2_defs *d)
{
    for (size_t i = 0; i < d->regions.n; i++) {
        const struct region *r = &d->region[i];

        must(d, OTF2_GlobalDefWriter_WriteRegion(
                    d->g, (uint32_t)i, r->name, r->name, 0, role_of(r->op),
                    r->op < TI_OP_COUNT ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_USER,
                    OTF2_REGION_FLAG_NONE, 0, 0, 0));
    }
}

static const char *host_of(const struct ti_timeline_show *show, int64_t rank)
{
    const char *host = show->host ? show->host(show->of, rank) : "";

    return host ? host : "";
}

/* Hosts, and on each its ranks: a process with one thread. */
static void write_places(struct ti__otf2_defs *d, const uint64_t *events, bool strings)
{
    struct ti_map nodes = {0};
    uint32_t machine = ti__otf2_string(d, "machine"), node_class = ti__otf2_string(d, "node");
    char name[64];

    if (!strings)
        must(d, OTF2_GlobalDefWriter_WriteSystemTreeNode(d->g, 0, machine, machine,
                                                         OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    for (int64_t rank = 0; rank < d->t->show->np; rank++) {
        uint32_t host = ti__otf2_string(d, host_of(d->t->show, rank)), text;
        size_t known = nodes.n;
        uint32_t node = host ? (uint32_t)ti_map_add(&nodes, host, 0, 0, 0) + 1 : 0;

        snprintf(name, sizeof name, "rank %" PRId64, rank);
        text = ti__otf2_string(d, name);
        if (strings)
            continue;
        if (nodes.n > known)
            must(d, OTF2_GlobalDefWriter_WriteSystemTreeNode(d->g, node, host, node_class, 0));
        must(d, OTF2_GlobalDefWriter_WriteLocationGroup(d->g, (uint32_t)rank, text,
                                                        OTF2_LOCATION_GROUP_TYPE_PROCESS, node,
                                                        OTF2_UNDEFINED_LOCATION_GROUP));
        must(d, OTF2_GlobalDefWriter_WriteLocation(d->g, (uint64_t)rank, text,
                                                   OTF2_LOCATION_TYPE_CPU_THREAD, events[rank],
                                                   (uint32_t)rank));
    }
    ti_map_free(&nodes);
}

/* A group of ranks of a job; returns its number. */
static uint32_t write_group(struct ti__otf2_defs *d, OTF2_GroupType type, int64_t first, int64_t n,
                            const int32_t *member)
{
    size_t none = 0;
    uint64_t *all = ti_grow(NULL, &none, (size_t)n + 1, sizeof *all);

    for (int64_t i = 0; i < n; i++)
        all[i] = (uint64_t)(first + (member ? member[i] : i));
    must(d, OTF2_GlobalDefWriter_WriteGroup(d->g, d->groups, 0, type, OTF2_PARADIGM_MPI,
                                            OTF2_GROUP_FLAG_NONE, (uint32_t)n, all));
    free(all);
    return d->groups++;
}

static const char *name_of(const struct ti__otf2_defs *d, const struct comm *c, char *buf,
                           size_t bytes)
{
    if (is_self(d, c->job, c->gid))
        return "MPI_COMM_SELF";
    if (!c->gid && d->t->show->njobs == 1)
        return "MPI_COMM_WORLD";
    if (!c->gid)
        snprintf(buf, bytes, "MPI_COMM_WORLD of job %d", c->job + 1);
    else
        ti_comms_text(&d->t->comms[c->job], c->gid, buf, bytes);
    return buf;
}

static void write_comms(struct ti__otf2_defs *d)
{
    for (size_t i = 0; i < d->comms.n; i++) {
        const struct comm *c = &d->comm[i];
        const struct ti_group *g = ti_comms_group(&d->t->comms[c->job], c->gid);
        int64_t first = d->t->show->job[c->job].first;
        char buf[256];
        uint32_t name = ti__otf2_string(d, name_of(d, c, buf, sizeof buf)), group;

        if (g->shape == TI_COMM_INTER) {
            group = write_group(d, OTF2_GROUP_TYPE_COMM_GROUP, first, g->first, g->member);
            write_group(d, OTF2_GROUP_TYPE_COMM_GROUP, first, g->size - g->first,
                        g->member + g->first);
            must(d, OTF2_GlobalDefWriter_WriteInterComm(d->g, (uint32_t)i, name, group, group + 1,
                                                        OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
            continue;
        }
        group = is_self(d, c->job, c->gid)
                    ? write_group(d, OTF2_GROUP_TYPE_COMM_SELF, 0, 0, NULL)
                    : write_group(d, OTF2_GROUP_TYPE_COMM_GROUP, first, g->size, g->member);
        must(d, OTF2_GlobalDefWriter_WriteComm(d->g, (uint32_t)i, name, group, OTF2_UNDEFINED_COMM,
                                               OTF2_COMM_FLAG_NONE));
    }
}

OTF2_ErrorCode ti__otf2_define(struct ti__otf2_defs *d, OTF2_Archive *archive,
                               const uint64_t *events, uint64_t length)
{
    uint32_t mpi = ti__otf2_string(d, "MPI"), source = ti__otf2_string(d, "source");
    char buf[256];

    d->g = OTF2_Archive_GetGlobalDefWriter(archive);
    if (!d->g)
        return OTF2_ERROR_INVALID;
    /* number the strings that are not numbered yet: strings stand before what refers to them */
    write_places(d, events, true);
    for (size_t i = 0; i < d->comms.n; i++)
        ti__otf2_string(d, name_of(d, &d->comm[i], buf, sizeof buf));
    must(d, OTF2_GlobalDefWriter_WriteClockProperties(d->g, TI__OTF2_TICKS, 0, length,
                                                      OTF2_UNDEFINED_TIMESTAMP));
    write_strings(d);
    must(d, OTF2_GlobalDefWriter_WriteParadigm(d->g, OTF2_PARADIGM_MPI, mpi,
                                               OTF2_PARADIGM_CLASS_PROCESS));
    must(d,
         OTF2_GlobalDefWriter_WriteAttribute(d->g, TI__OTF2_SOURCE, source, 0, OTF2_TYPE_STRING));
    write_places(d, events, false);
    write_regions(d);
    write_group(d, OTF2_GROUP_TYPE_COMM_LOCATIONS, 0, d->t->show->np, NULL);
    write_comms(d);
    must(d, OTF2_Archive_CloseGlobalDefWriter(archive, d->g));
    return d->code;
}
