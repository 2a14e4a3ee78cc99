/*
 * The definitions of a trace: first as they come, then, since they name each other, what they mean.
 */
#include <otf2/otf2.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/limits.h"
#include "replay-bridge/otf2/internal.h"

struct group {
    OTF2_GroupType type;
    bool mpi, global; /* members are locations */
    uint32_t n;
    uint64_t *member;
};

/* Definitions by their numbers: `numbers` gives the index of a number. */
struct ti__otf2_names {
    struct ti__otf2 *im;
    struct ti_map strings, groups, nodes, processes, members, locations;
    char **string;
    size_t strings_cap;
    struct group *group;
    size_t groups_cap;
    uint32_t *node_name, *process_node; /* of a system tree node; of a location group */
    size_t nodes_cap, processes_cap;
    struct raw_location {
        uint64_t id;
        uint32_t process;
        bool thread;
    } * location;
    size_t locations_cap;
    struct raw_region {
        uint32_t name;
        bool mpi;
    } * region;
    size_t regions_cap;
    struct raw_comm {
        uint32_t name, group;
        bool inter;
    } * comm;
    size_t comms_cap;
    struct raw_metric {
        uint32_t name;
        bool usable; /* it counts from the start of the program, in whole numbers */
    } * metric;
    size_t metrics_cap;
    struct raw_class {
        uint32_t id, *member;
        int n;
    } * class;
    size_t nclasses, classes_cap;
};

/* ---- as they come ---- */

static OTF2_CallbackCode refuse(struct ti__otf2 *im, const char *why)
{
    im->st = ti_err_set(im->err, TI_ERR_INPUT, "'%s': %s", im->path, why);
    return OTF2_CALLBACK_INTERRUPT;
}

/* The index of the new number `id`; -1 if it is not new. */
static int64_t add(struct ti_map *map, uint64_t id)
{
    size_t known = map->n;
    int64_t i = ti_map_add(map, (int64_t)id, 0, 0, 0);

    return (size_t)i == known ? i : -1;
}

static int64_t find(const struct ti_map *map, uint64_t id)
{
    return ti_map_find(map, (int64_t)id, 0, 0, 0);
}

#define TWICE "a definition is there twice"

static OTF2_CallbackCode on_clock(void *user, uint64_t resolution, uint64_t offset, uint64_t length,
                                  uint64_t realtime)
{
    struct ti__otf2_names *d = user;

    (void)length;
    (void)realtime;
    d->im->resolution = resolution;
    d->im->offset = offset;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_string(void *user, OTF2_StringRef self, const char *text)
{
    struct ti__otf2_names *d = user;
    int64_t i = add(&d->strings, self);

    if (i < 0)
        return refuse(d->im, TWICE);
    d->string = ti_grow(d->string, &d->strings_cap, d->strings.n, sizeof *d->string);
    d->string[i] = strdup(text);
    return d->string[i] ? OTF2_CALLBACK_SUCCESS : refuse(d->im, "memory is short");
}

static OTF2_CallbackCode on_node(void *user, OTF2_SystemTreeNodeRef self, OTF2_StringRef name,
                                 OTF2_StringRef class, OTF2_SystemTreeNodeRef parent)
{
    struct ti__otf2_names *d = user;
    int64_t i = add(&d->nodes, self);

    (void)class;
    (void)parent;
    if (i < 0)
        return refuse(d->im, TWICE);
    d->node_name = ti_grow(d->node_name, &d->nodes_cap, d->nodes.n, sizeof *d->node_name);
    d->node_name[i] = name;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_process(void *user, OTF2_LocationGroupRef self, OTF2_StringRef name,
                                    OTF2_LocationGroupType type, OTF2_SystemTreeNodeRef node,
                                    OTF2_LocationGroupRef creator)
{
    struct ti__otf2_names *d = user;
    int64_t i = add(&d->processes, self);

    (void)name;
    (void)type;
    (void)creator;
    if (i < 0)
        return refuse(d->im, TWICE);
    d->process_node =
        ti_grow(d->process_node, &d->processes_cap, d->processes.n, sizeof *d->process_node);
    d->process_node[i] = node;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_location(void *user, OTF2_LocationRef self, OTF2_StringRef name,
                                     OTF2_LocationType type, uint64_t events,
                                     OTF2_LocationGroupRef process)
{
    struct ti__otf2_names *d = user;
    int64_t i = add(&d->locations, self);

    (void)name;
    (void)events;
    if (i < 0)
        return refuse(d->im, TWICE);
    d->location = ti_grow(d->location, &d->locations_cap, d->locations.n, sizeof *d->location);
    d->location[i] = (struct raw_location){self, process, type == OTF2_LOCATION_TYPE_CPU_THREAD};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_region(void *user, OTF2_RegionRef self, OTF2_StringRef name,
                                   OTF2_StringRef canonical, OTF2_StringRef description,
                                   OTF2_RegionRole role, OTF2_Paradigm paradigm,
                                   OTF2_RegionFlag flags, OTF2_StringRef file, uint32_t begin,
                                   uint32_t end)
{
    struct ti__otf2_names *d = user;
    int64_t i = add(&d->im->regions, self);

    (void)canonical;
    (void)description;
    (void)role;
    (void)flags;
    (void)file;
    (void)begin;
    (void)end;
    if (i < 0)
        return refuse(d->im, TWICE);
    d->region = ti_grow(d->region, &d->regions_cap, d->im->regions.n, sizeof *d->region);
    d->region[i] = (struct raw_region){name, paradigm == OTF2_PARADIGM_MPI};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_group(void *user, OTF2_GroupRef self, OTF2_StringRef name,
                                  OTF2_GroupType type, OTF2_Paradigm paradigm, OTF2_GroupFlag flags,
                                  uint32_t n, const uint64_t *members)
{
    struct ti__otf2_names *d = user;
    int64_t i = add(&d->groups, self);
    size_t none = 0;
    struct group *g;

    (void)name;
    if (i < 0)
        return refuse(d->im, TWICE);
    if (n > TI_RANKS_MAX)
        return refuse(d->im, "a group has more members than there can be ranks");
    d->group = ti_grow(d->group, &d->groups_cap, d->groups.n, sizeof *d->group);
    g = &d->group[i];
    *g = (struct group){.type = type,
                        .mpi = paradigm == OTF2_PARADIGM_MPI,
                        .global = flags & OTF2_GROUP_FLAG_GLOBAL_MEMBERS,
                        .n = n,
                        .member = ti_grow(NULL, &none, n + 1, sizeof *members)};
    if (n)
        memcpy(g->member, members, n * sizeof *members);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode add_comm(struct ti__otf2_names *d, uint32_t self, struct raw_comm comm)
{
    int64_t i = add(&d->im->comms, self);

    if (i < 0)
        return refuse(d->im, TWICE);
    d->comm = ti_grow(d->comm, &d->comms_cap, d->im->comms.n, sizeof *d->comm);
    d->comm[i] = comm;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_comm(void *user, OTF2_CommRef self, OTF2_StringRef name,
                                 OTF2_GroupRef group, OTF2_CommRef parent, OTF2_CommFlag flags)
{
    (void)parent;
    (void)flags;
    return add_comm(user, self, (struct raw_comm){name, group, false});
}

static OTF2_CallbackCode on_inter_comm(void *user, OTF2_CommRef self, OTF2_StringRef name,
                                       OTF2_GroupRef a, OTF2_GroupRef b, OTF2_CommRef common,
                                       OTF2_CommFlag flags)
{
    (void)b;
    (void)common;
    (void)flags;
    return add_comm(user, self, (struct raw_comm){name, a, true});
}

static OTF2_CallbackCode on_metric(void *user, OTF2_MetricMemberRef self, OTF2_StringRef name,
                                   OTF2_StringRef description, OTF2_MetricType type,
                                   OTF2_MetricMode mode, OTF2_Type value, OTF2_Base base,
                                   int64_t exponent, OTF2_StringRef unit)
{
    struct ti__otf2_names *d = user;
    int64_t i = add(&d->members, self);
    bool whole = value == OTF2_TYPE_UINT64 || value == OTF2_TYPE_INT64;

    (void)description;
    (void)type;
    (void)base;
    (void)unit;
    if (i < 0)
        return refuse(d->im, TWICE);
    d->metric = ti_grow(d->metric, &d->metrics_cap, d->members.n, sizeof *d->metric);
    d->metric[i] =
        (struct raw_metric){name, whole && !exponent && mode == OTF2_METRIC_ACCUMULATED_START};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_class(void *user, OTF2_MetricRef self, uint8_t n,
                                  const OTF2_MetricMemberRef *members,
                                  OTF2_MetricOccurrence occurrence, OTF2_RecorderKind recorder)
{
    struct ti__otf2_names *d = user;
    struct raw_class *c;
    size_t none = 0;

    (void)recorder;
    if (occurrence != OTF2_METRIC_SYNCHRONOUS_STRICT)
        return OTF2_CALLBACK_SUCCESS; /* not every enter and leave of a call would have a value */
    d->class = ti_grow(d->class, &d->classes_cap, d->nclasses + 1, sizeof *d->class);
    c = &d->class[d->nclasses++];
    *c = (struct raw_class){self, ti_grow(NULL, &none, (size_t)n + 1, sizeof *members), n};
    if (n)
        memcpy(c->member, members, n * sizeof *members);
    return OTF2_CALLBACK_SUCCESS;
}

/* ---- what they mean ---- */

static const char *text_of(const struct ti__otf2_names *d, uint32_t string)
{
    int64_t i = find(&d->strings, string);

    return i < 0 ? "" : d->string[i];
}

static ti_status wrong(struct ti__otf2 *im, const char *why)
{
    refuse(im, why);
    return im->st;
}

/* The list of the locations that are ranks. */
static ti_status set_ranks(struct ti__otf2_names *d)
{
    struct ti__otf2 *im = d->im;
    const struct group *g = NULL;
    struct ti_map seen = {0};
    size_t none = 0, hosts = 0;
    ti_status st = TI_OK;

    for (size_t i = 0; i < d->groups.n; i++)
        if (d->group[i].mpi && d->group[i].type == OTF2_GROUP_TYPE_COMM_LOCATIONS)
            g = &d->group[i];
    if (!g || !g->n)
        return wrong(im, "the trace has no MPI processes");
    im->np = g->n;
    im->location = ti_grow(NULL, &none, g->n, sizeof *im->location);
    im->host = ti_grow(NULL, &hosts, g->n, sizeof *im->host);
    for (int64_t rank = 0; rank < im->np && !st; rank++) {
        int64_t at = find(&d->locations, g->member[rank]), process, node;

        im->location[rank] = g->member[rank];
        if (at < 0 || add(&seen, g->member[rank]) < 0) {
            st = wrong(im, "the list of MPI processes is not sound");
            break;
        }
        process = find(&d->processes, d->location[at].process);
        node = process < 0 ? -1 : find(&d->nodes, d->process_node[process]);
        im->host[rank] = node < 0 ? NULL : (char *)text_of(d, d->node_name[node]);
    }
    for (size_t i = 0; i < d->locations.n && !st; i++) {
        if (!d->location[i].thread || find(&seen, d->location[i].id) >= 0)
            continue;
        im->thread = ti_grow(im->thread, &im->threads_cap, im->nthreads + 1, sizeof *im->thread);
        im->thread[im->nthreads++] = d->location[i].id;
    }
    ti_map_free(&seen);
    return st;
}

static void set_regions(struct ti__otf2_names *d)
{
    struct ti__otf2 *im = d->im;

    im->region = ti_grow(NULL, &im->regions_cap, im->regions.n + 1, sizeof *im->region);
    for (size_t i = 0; i < im->regions.n; i++) {
        int64_t s = find(&d->strings, d->region[i].name);
        uint32_t op = 0;

        im->region[i] = (struct ti__otf2_region){NULL, TI_OP_COUNT};
        if (s < 0 || (!d->region[i].mpi && strncmp(d->string[s], "MPI_", 4) != 0))
            continue;
        im->region[i].name = d->string[s];
        if (strncmp(d->string[s], "MPI_", 4) != 0)
            continue;
        while (op < TI_OP_COUNT && strcasecmp(d->string[s] + 4, ti_op_info(op)->text) != 0)
            op++;
        im->region[i].op = strcmp(d->string[s], "MPI_Init_thread") ? op : (uint32_t)TI_OP_INIT;
    }
}

/* The members of a communicator as ranks of the world. */
static ti_status set_members(struct ti__otf2_names *d, const struct group *g,
                             const struct ti_map *ranks, struct ti__otf2_comm *c)
{
    struct ti_map seen = {0};
    size_t none = 0;
    ti_status st = TI_OK;

    c->size = g->n;
    c->member = ti_grow(NULL, &none, (size_t)g->n + 1, sizeof *c->member);
    for (uint32_t i = 0; i < g->n && !st; i++) {
        int64_t rank = g->global ? find(ranks, g->member[i]) : (int64_t)g->member[i];

        if (rank < 0 || rank >= d->im->np || add(&seen, (uint64_t)rank) < 0)
            st = wrong(d->im, "the members of a communicator are not sound");
        else
            c->member[i] = (int32_t)rank;
    }
    ti_map_free(&seen);
    if (!st && !c->size)
        c->kind = TI__OTF2_FOREIGN;
    return st;
}

static bool is_world(const struct ti__otf2 *im, const struct ti__otf2_comm *c)
{
    if (c->kind != TI__OTF2_SUB || c->size != im->np)
        return false;
    for (int64_t i = 0; i < c->size; i++)
        if (c->member[i] != i)
            return false;
    return true;
}

static ti_status set_comms(struct ti__otf2_names *d)
{
    struct ti__otf2 *im = d->im;
    struct ti_map ranks = {0};
    int64_t world = -1;
    ti_status st = TI_OK;

    for (int64_t i = 0; i < im->np; i++)
        add(&ranks, im->location[i]);
    im->comm = ti_grow(NULL, &im->comms_cap, im->comms.n + 1, sizeof *im->comm);
    for (size_t i = 0; i < im->comms.n && !st; i++) {
        struct ti__otf2_comm *c = &im->comm[i];
        int64_t at = find(&d->groups, d->comm[i].group);
        const struct group *g = at < 0 ? NULL : &d->group[at];

        *c = (struct ti__otf2_comm){.kind = TI__OTF2_FOREIGN};
        if (d->comm[i].inter)
            c->kind = TI__OTF2_INTER;
        else if (g && g->mpi && g->type == OTF2_GROUP_TYPE_COMM_SELF)
            *c = (struct ti__otf2_comm){.kind = TI__OTF2_SELF, .size = 1};
        else if (g && g->mpi && g->type == OTF2_GROUP_TYPE_COMM_GROUP) {
            c->kind = TI__OTF2_SUB;
            st = set_members(d, g, &ranks, c);
        }
        if (!st && is_world(im, c) &&
            (world < 0 || !strcmp(text_of(d, d->comm[i].name), "MPI_COMM_WORLD")))
            world = (int64_t)i;
    }
    if (world >= 0)
        im->comm[world].kind = TI__OTF2_WORLD;
    ti_map_free(&ranks);
    return st;
}

/* List the communicators of each rank, in the order of their definitions. */
static void set_membership(struct ti__otf2 *im)
{
    size_t none = 0, total = 0, members = 0;
    size_t *next;

    im->first = ti_grow(NULL, &none, (size_t)im->np + 2, sizeof *im->first);
    next = im->first + 1; /* while it is filled, next[r] is where rank r goes on */
    for (size_t i = 0; i < im->comms.n; i++)
        for (int64_t m = 0; im->comm[i].member && m < im->comm[i].size; m++)
            next[im->comm[i].member[m] + 1]++;
    for (int64_t r = 0; r < im->np; r++) {
        total += next[r];
        next[r] = total;
    }
    total += next[im->np];
    im->member = ti_grow(NULL, &members, total + 1, sizeof *im->member);
    for (size_t i = 0; i < im->comms.n; i++)
        for (int64_t m = 0; im->comm[i].member && m < im->comm[i].size; m++)
            im->member[next[im->comm[i].member[m]]++] =
                (struct ti__otf2_membership){(int32_t)i, (int32_t)m};
}

/* Find the counter of instructions, and the classes that have it. */
static void set_counter(struct ti__otf2_names *d)
{
    static const char *const names[] = {"PAPI_TOT_INS", "instructions", "instructions:u"};
    struct ti__otf2 *im = d->im;

    for (size_t n = 0; n < sizeof names / sizeof names[0] && !im->counts; n++)
        for (size_t i = 0; i < d->nclasses; i++)
            for (int k = 0; k < d->class[i].n; k++) {
                int64_t m = find(&d->members, d->class[i].member[k]), at;

                if (m < 0 || !d->metric[m].usable ||
                    strcmp(text_of(d, d->metric[m].name), names[n]) != 0)
                    continue;
                im->counts = true;
                im->counter = names[n];
                at = ti_map_add(&im->metrics, d->class[i].id, 0, 0, 0);
                im->metric_at = ti_grow(im->metric_at, &im->metric_at_cap, im->metrics.n,
                                        sizeof *im->metric_at);
                im->metric_at[at] = k;
            }
}

/* ---- reading ---- */

static OTF2_ErrorCode read_all(struct ti__otf2_names *d, OTF2_Reader *reader)
{
    OTF2_GlobalDefReader *defs = OTF2_Reader_GetGlobalDefReader(reader);
    OTF2_GlobalDefReaderCallbacks *c = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_ErrorCode code;
    uint64_t n;

    if (!defs || !c) {
        if (c)
            OTF2_GlobalDefReaderCallbacks_Delete(c);
        return OTF2_ERROR_INVALID;
    }
    OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(c, on_clock);
    OTF2_GlobalDefReaderCallbacks_SetStringCallback(c, on_string);
    OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeCallback(c, on_node);
    OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback(c, on_process);
    OTF2_GlobalDefReaderCallbacks_SetLocationCallback(c, on_location);
    OTF2_GlobalDefReaderCallbacks_SetRegionCallback(c, on_region);
    OTF2_GlobalDefReaderCallbacks_SetGroupCallback(c, on_group);
    OTF2_GlobalDefReaderCallbacks_SetCommCallback(c, on_comm);
    OTF2_GlobalDefReaderCallbacks_SetInterCommCallback(c, on_inter_comm);
    OTF2_GlobalDefReaderCallbacks_SetMetricMemberCallback(c, on_metric);
    OTF2_GlobalDefReaderCallbacks_SetMetricClassCallback(c, on_class);
    code = OTF2_Reader_RegisterGlobalDefCallbacks(reader, defs, c, d);
    if (!code)
        code = OTF2_Reader_ReadAllGlobalDefinitions(reader, defs, &n);
    OTF2_GlobalDefReaderCallbacks_Delete(c);
    OTF2_Reader_CloseGlobalDefReader(reader, defs);
    return code;
}

ti_status ti__otf2_define(struct ti__otf2 *im, OTF2_Reader *reader)
{
    size_t none = 0;
    struct ti__otf2_names *d = im->names = ti_grow(NULL, &none, 1, sizeof *d);
    OTF2_ErrorCode code;

    d->im = im;
    code = read_all(d, reader);
    if (im->st)
        return im->st;
    if (code)
        return ti_err_set(im->err, TI_ERR_INPUT, "'%s': cannot read the definitions: %s", im->path,
                          im->heard ? im->said : OTF2_Error_GetDescription(code));
    if (!im->resolution)
        return wrong(im, "the definitions do not say how fast the clock is");
    set_regions(d);
    set_counter(d);
    if (!set_ranks(d) && !set_comms(d))
        set_membership(im);
    return im->st;
}

static void free_names(struct ti__otf2_names *d)
{
    for (size_t i = 0; i < d->strings.n; i++)
        free(d->string[i]);
    for (size_t i = 0; i < d->groups.n; i++)
        free(d->group[i].member);
    for (size_t i = 0; i < d->nclasses; i++)
        free(d->class[i].member);
    ti_map_free(&d->strings);
    ti_map_free(&d->groups);
    ti_map_free(&d->nodes);
    ti_map_free(&d->processes);
    ti_map_free(&d->members);
    ti_map_free(&d->locations);
    free(d->string);
    free(d->group);
    free(d->node_name);
    free(d->process_node);
    free(d->location);
    free(d->region);
    free(d->comm);
    free(d->metric);
    free(d->class);
    free(d);
}

void ti__otf2_definitions_free(struct ti__otf2 *im)
{
    if (im->names)
        free_names(im->names);
    for (size_t i = 0; im->comm && i < im->comms.n; i++) {
        free(im->comm[i].member);
        free(im->comm[i].op);
        free(im->comm[i].share);
    }
    free(im->location);
    free(im->host);
    free(im->thread);
    free(im->region);
    free(im->comm);
    free(im->member);
    free(im->first);
    free(im->metric_at);
    ti_map_free(&im->regions);
    ti_map_free(&im->comms);
    ti_map_free(&im->metrics);
}
