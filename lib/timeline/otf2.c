/*
 * Timelines as OTF2 traces, with the records that Score-P writes: an enter and a leave of each MPI
 * function, and between them its messages, requests and collectives.  What a rank does otherwise is
 * in a region "application".  One-sided communication and files have enters and leaves only, and so
 * have collectives of neighbours, for which OTF2 has no name.
 */
#include "timeline/otf2.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/folder.h"
#include "common/map.h"

/* A collective, until it is complete. */
struct coll {
    uint64_t id; /* of its request; 0: there is none */
    OTF2_CollectiveOp op;
    uint32_t comm, root;
    uint64_t given, taken;
};

/* A request of the trace: the numbers of its requests in OTF2, 0 where it has none. */
struct request {
    uint64_t send, receive;
    struct coll coll;
};

struct state {
    OTF2_Archive *archive;
    OTF2_EvtWriter *w; /* of the current rank */
    OTF2_AttributeList *attributes;
    struct ti__otf2_defs *defs;
    struct request *request; /* of the current rank, by number */
    size_t nrequests, requests_cap;
    struct request none;
    uint64_t ids, last;  /* requests so far; ticks of the end */
    uint64_t *events;    /* records of each rank */
    OTF2_ErrorCode code; /* the first error */
    char said[300];      /* what the library said of it */
};

/* ---- errors ---- */

/* Keeps the first error that the library reports; it would print each to stderr. */
static OTF2_ErrorCode hear(void *user, const char *file, uint64_t line, const char *function,
                           OTF2_ErrorCode code, const char *format, va_list ap)
{
    struct state *s = user;

    (void)file;
    (void)line;
    (void)function;
    if (!s->said[0])
        vsnprintf(s->said, sizeof s->said, format, ap);
    return code;
}

static void must(struct state *s, OTF2_ErrorCode code)
{
    if (!s->code)
        s->code = code;
}

static ti_status failed(const struct ti_timeline *t, struct ti_err *err)
{
    const struct state *s = t->state;

    return ti_err_set(err, TI_ERR_IO, "cannot write '%s': %s%s%s", t->path, s->said,
                      s->said[0] ? ": " : "", OTF2_Error_GetDescription(s->code));
}

/* ---- files ---- */

/* "lu" of "/tmp/lu.otf2". */
static void name_of(const struct ti_timeline *t, char name[PATH_MAX])
{
    const char *base = strrchr(t->path, '/');

    base = base ? base + 1 : t->path;
    snprintf(name, PATH_MAX, "%.*s", (int)(strrchr(base, '.') - base), base);
}

/* Writes the path of part `i` of the trace below `folder`; the anchor file comes last. */
static bool part_of(const char *folder, const char *name, int i, char path[PATH_MAX])
{
    static const char *const endings[] = {"", ".def", ".otf2"};

    return snprintf(path, PATH_MAX, "%s/%s%s", folder, name, endings[i]) < PATH_MAX;
}

static ti_status check_absent(struct ti_timeline *t, struct ti_err *err)
{
    char name[PATH_MAX], path[PATH_MAX];
    struct stat is;

    name_of(t, name);
    for (int i = 0; i < 3; i++) {
        if (!part_of(t->real, name, i, path))
            return ti_err_set(err, TI_ERR_USAGE, "the path '%s' is too long", t->path);
        if (lstat(path, &is) == 0) {
            ti_err_set(err, TI_ERR_USAGE,
                       "'%s' exists already, and OTF2 traces are not overwritten", path);
            ti_err_hint(err, "give a name of which the folder NAME and the files NAME.def and "
                             "NAME.otf2 do not exist");
            return TI_ERR_USAGE;
        }
    }
    return TI_OK;
}

static ti_status open_trace(struct ti_timeline *t, struct ti_err *err)
{
    const char *slash = strrchr(t->path, '/');
    char part[PATH_MAX];
    ti_status st;

    t->lock = -1;
    t->real =
        !slash ? strdup(".") : strndup(t->path, slash == t->path ? 1 : (size_t)(slash - t->path));
    if (!t->real)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", t->path);
    st = check_absent(t, err);
    if (st)
        return st;
    if (!ti_folder_make(t->real, part, sizeof part, &t->lock) || !(t->part = strdup(part)))
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", t->path);
    return TI_OK;
}

static void close_trace(struct ti_timeline *t)
{
    struct state *s = t->state;

    if (s) {
        if (s->archive && s->w)
            OTF2_Archive_CloseEvtWriter(s->archive, s->w);
        if (s->archive)
            OTF2_Archive_Close(s->archive);
        if (s->attributes)
            OTF2_AttributeList_Delete(s->attributes);
        OTF2_Error_RegisterCallback(NULL, NULL);
        ti__otf2_defs_free(s->defs);
        free(s->request);
        free(s->events);
        free(s);
    }
    if (t->part)
        ti_folder_remove(t->part, t->lock);
}

static ti_status publish(struct ti_timeline *t, struct ti_err *err)
{
    char name[PATH_MAX], from[PATH_MAX], to[PATH_MAX];
    ti_status st = check_absent(t, err);

    name_of(t, name);
    for (int i = 0; i < 3 && !st; i++)
        if (!part_of(t->part, name, i, from) || !part_of(t->real, name, i, to) ||
            rename(from, to) != 0)
            st = ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", t->path);
    t->done = !st;
    return st;
}

/* ---- begin and end ---- */

static OTF2_FlushType flush(void *user, OTF2_FileType type, OTF2_LocationRef location, void *caller,
                            bool final)
{
    (void)user;
    (void)type;
    (void)location;
    (void)caller;
    (void) final;
    return OTF2_FLUSH;
}

static ti_status begin(struct ti_timeline *t, struct ti_err *err)
{
    static const OTF2_FlushCallbacks flushes = {.otf2_pre_flush = flush};
    size_t none = 0, room = 0;
    struct state *s = ti_grow(NULL, &none, 1, sizeof *s);
    char name[PATH_MAX];

    name_of(t, name);
    t->state = s;
    s->events = ti_grow(NULL, &room, (size_t)t->show->np + 1, sizeof *s->events);
    s->defs = ti__otf2_defs_new(t);
    s->attributes = OTF2_AttributeList_New();
    OTF2_Error_RegisterCallback(hear, s);
    s->archive = OTF2_Archive_Open(
        t->part, name, OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_EVENTS_DEFAULT,
        OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (!s->archive || !s->attributes) {
        s->code = OTF2_ERROR_INVALID;
        return failed(t, err);
    }
    must(s, OTF2_Archive_SetFlushCallbacks(s->archive, &flushes, NULL));
    must(s, OTF2_Archive_SetSerialCollectiveCallbacks(s->archive));
    must(s, OTF2_Archive_SetCreator(s->archive, "Tiara " TI_VERSION));
    must(s, OTF2_Archive_SetDescription(s->archive, t->intervals ? "times of a replay"
                                                                 : "times of the traced run"));
    must(s, OTF2_Archive_OpenEvtFiles(s->archive));
    return s->code ? failed(t, err) : TI_OK;
}

/* ---- ranks ---- */

static void rank_starts(struct ti_timeline *t, int64_t rank, double when)
{
    struct state *s = t->state;

    s->nrequests = 0;
    s->ids = 0;
    s->w = OTF2_Archive_GetEvtWriter(s->archive, (uint64_t)rank);
    if (s->w)
        must(s, OTF2_EvtWriter_Enter(s->w, NULL, ti__ns(when), TI__OTF2_PROGRAM));
    else
        must(s, OTF2_ERROR_INVALID);
}

static void rank_ends(struct ti_timeline *t, int64_t rank, double when)
{
    struct state *s = t->state;

    if (!s->w)
        return;
    s->last = ti__ns(when) > s->last ? ti__ns(when) : s->last;
    must(s, OTF2_EvtWriter_Leave(s->w, NULL, ti__ns(when), TI__OTF2_PROGRAM));
    must(s, OTF2_EvtWriter_GetNumberOfEvents(s->w, &s->events[rank]));
    must(s, OTF2_Archive_CloseEvtWriter(s->archive, s->w));
    s->w = NULL;
}

static void write_local_definitions(struct ti_timeline *t)
{
    struct state *s = t->state;

    must(s, OTF2_Archive_OpenDefFiles(s->archive));
    for (int64_t rank = 0; rank < t->show->np && !s->code; rank++) {
        OTF2_DefWriter *d = OTF2_Archive_GetDefWriter(s->archive, (uint64_t)rank);

        must(s, d ? OTF2_Archive_CloseDefWriter(s->archive, d) : OTF2_ERROR_INVALID);
    }
    must(s, OTF2_Archive_CloseDefFiles(s->archive));
}

static ti_status end(struct ti_timeline *t, struct ti_err *err)
{
    struct state *s = t->state;

    for (int64_t rank = 0; rank < t->show->np; rank++)
        if (!s->events[rank]) { /* readers expect a file of each rank */
            rank_starts(t, rank, 0);
            rank_ends(t, rank, 0);
        }
    must(s, OTF2_Archive_CloseEvtFiles(s->archive));
    write_local_definitions(t);
    must(s, ti__otf2_define(s->defs, s->archive, s->events, s->last));
    must(s, OTF2_Archive_Close(s->archive));
    s->archive = NULL;
    return s->code ? failed(t, err) : publish(t, err);
}

/* ---- calls ---- */

/* A call while its records are written. */
struct call {
    struct state *s;
    const struct ti__timed *e;
    uint64_t from, to; /* ticks */
};

/* Make the request of a call.  A sound trace gives it the lowest free number. */
static void new_request(struct state *s, const struct ti_step *step)
{
    int64_t number = step->ev.arg[TI_F_REQ];

    if (!ti_op_is(step->ev.op, TI_T_REQUEST) || number < 0 || (size_t)number > s->nrequests)
        return;
    s->nrequests += (size_t)number == s->nrequests;
    s->request = ti_grow(s->request, &s->requests_cap, s->nrequests, sizeof *s->request);
    s->request[number] = (struct request){0};
}

/* The request `number` of the trace; an empty one if there is none. */
static struct request *request_of(struct state *s, int64_t number)
{
    s->none = (struct request){0};
    return number >= 0 && (size_t)number < s->nrequests ? &s->request[number] : &s->none;
}

/* The other side of a message; false: there is none. */
static bool address(const struct call *c, const struct ti_msg *m, uint32_t *peer, uint32_t *comm)
{
    int64_t member =
        m->null || m->unknown ? -1 : ti__otf2_member(c->s->defs, c->e->job, m->gid, m->peer);

    if (member < 0)
        return false;
    *peer = (uint32_t)member;
    *comm = ti__otf2_comm(c->s->defs, c->e->job, m->gid);
    return true;
}

static uint32_t tag_of(const struct ti_msg *m)
{
    return m->tag >= 0 ? (uint32_t)m->tag : 0;
}

static uint64_t bytes_of(const struct ti_msg *m)
{
    return m->bytes >= 0 ? (uint64_t)m->bytes : 0;
}

static void posts(const struct call *c, const struct ti_msg *m)
{
    struct state *s = c->s;
    struct request *q = m->req >= 0 ? request_of(s, m->req) : NULL;
    uint32_t peer, comm;

    if (q)
        *(m->recv ? &q->receive : &q->send) = 0;
    if (!address(c, m, &peer, &comm))
        return;
    if (!q && m->recv)
        must(s, OTF2_EvtWriter_MpiRecv(s->w, NULL, c->to, peer, comm, tag_of(m), bytes_of(m)));
    else if (!q)
        must(s, OTF2_EvtWriter_MpiSend(s->w, NULL, c->from, peer, comm, tag_of(m), bytes_of(m)));
    else if (m->recv)
        must(s, OTF2_EvtWriter_MpiIrecvRequest(s->w, NULL, c->from, q->receive = ++s->ids));
    else
        must(s, OTF2_EvtWriter_MpiIsend(s->w, NULL, c->from, peer, comm, tag_of(m), bytes_of(m),
                                        q->send = ++s->ids));
}

static void completes(const struct call *c, const struct ti_msg *m)
{
    struct state *s = c->s;
    struct request *q = request_of(s, m->req);
    uint64_t *id = m->recv ? &q->receive : &q->send;
    uint32_t peer, comm;

    if (!*id)
        return;
    if (m->cancelled)
        must(s, OTF2_EvtWriter_MpiRequestCancelled(s->w, NULL, c->to, *id));
    else if (!m->recv)
        must(s, OTF2_EvtWriter_MpiIsendComplete(s->w, NULL, c->to, *id));
    else if (address(c, m, &peer, &comm))
        must(s,
             OTF2_EvtWriter_MpiIrecv(s->w, NULL, c->to, peer, comm, tag_of(m), bytes_of(m), *id));
    *id = 0;
}

/* ---- collectives ---- */

/* The kind of a collective call; false: OTF2 has none. */
static bool collective_op(const struct ti_event *ev, OTF2_CollectiveOp *out)
{
    static const struct {
        uint32_t ours;
        OTF2_CollectiveOp theirs;
    } ops[] = {
        {TI_OP_BARRIER, OTF2_COLLECTIVE_OP_BARRIER},
        {TI_OP_BCAST, OTF2_COLLECTIVE_OP_BCAST},
        {TI_OP_GATHER, OTF2_COLLECTIVE_OP_GATHER},
        {TI_OP_GATHERV, OTF2_COLLECTIVE_OP_GATHERV},
        {TI_OP_SCATTER, OTF2_COLLECTIVE_OP_SCATTER},
        {TI_OP_SCATTERV, OTF2_COLLECTIVE_OP_SCATTERV},
        {TI_OP_ALLGATHER, OTF2_COLLECTIVE_OP_ALLGATHER},
        {TI_OP_ALLGATHERV, OTF2_COLLECTIVE_OP_ALLGATHERV},
        {TI_OP_ALLTOALL, OTF2_COLLECTIVE_OP_ALLTOALL},
        {TI_OP_ALLTOALLV, OTF2_COLLECTIVE_OP_ALLTOALLV},
        {TI_OP_ALLTOALLW, OTF2_COLLECTIVE_OP_ALLTOALLW},
        {TI_OP_ALLREDUCE, OTF2_COLLECTIVE_OP_ALLREDUCE},
        {TI_OP_REDUCE, OTF2_COLLECTIVE_OP_REDUCE},
        {TI_OP_REDUCE_SCATTER, OTF2_COLLECTIVE_OP_REDUCE_SCATTER},
        {TI_OP_SCAN, OTF2_COLLECTIVE_OP_SCAN},
        {TI_OP_EXSCAN, OTF2_COLLECTIVE_OP_EXSCAN},
        {TI_OP_REDUCE_SCATTER_BLOCK, OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK},
        {TI_OP_COMM_FREE, OTF2_COLLECTIVE_OP_DESTROY_HANDLE},
        {TI_OP_COMM_DISCONNECT, OTF2_COLLECTIVE_OP_DESTROY_HANDLE},
    };

    *out = OTF2_COLLECTIVE_OP_CREATE_HANDLE;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (ops[i].ours == ti_op_base(ev->op)) {
            *out = ops[i].theirs;
            return true;
        }
    return (ev->mask & TI_M_NEWCOMM) != 0;
}

/* Ranks of a communicator that a root's number stands for. */
static uint32_t root_of(const struct ti_event *ev)
{
    int64_t root = ev->arg[TI_F_ROOT];

    if (!(ev->mask & TI_M_ROOT) || !ti_op_is(ev->op, TI_T_COLLECTIVE))
        return OTF2_COLLECTIVE_ROOT_NONE;
    return root == TI_SELF   ? OTF2_COLLECTIVE_ROOT_SELF
           : root == TI_NULL ? OTF2_COLLECTIVE_ROOT_THIS_GROUP
                             : (uint32_t)root;
}

static void collective(const struct call *c, const struct ti_coll_call *k)
{
    struct state *s = c->s;
    struct coll coll = {.root = root_of(k->ev)};

    if (k->on.gid < 0 || !collective_op(k->ev, &coll.op))
        return;
    coll.comm = ti__otf2_comm(s->defs, c->e->job, k->on.gid);
    if (ti_op_is(k->ev->op, TI_T_COLLECTIVE))
        ti__totals(k->ev, k->on.npeers, k->on.rank, &coll.given, &coll.taken);
    if (k->ev->mask & TI_M_REQ) {
        coll.id = ++s->ids;
        request_of(s, k->ev->arg[TI_F_REQ])->coll = coll;
        must(s, OTF2_EvtWriter_NonBlockingCollectiveRequest(s->w, NULL, c->from, coll.id));
        return;
    }
    must(s, OTF2_EvtWriter_MpiCollectiveBegin(s->w, NULL, c->from));
    must(s, OTF2_EvtWriter_MpiCollectiveEnd(s->w, NULL, c->to, coll.op, coll.comm, coll.root,
                                            coll.given, coll.taken));
}

static void complete_collective(const struct call *c, int64_t number)
{
    struct state *s = c->s;
    struct coll *k = &request_of(s, number)->coll;

    if (k->id)
        must(s, OTF2_EvtWriter_NonBlockingCollectiveComplete(s->w, NULL, c->to, k->op, k->comm,
                                                             k->root, k->given, k->taken, k->id));
    k->id = 0;
}

/* The walk tells which messages a call completes, but not which collectives. */
static void complete_collectives(const struct call *c)
{
    const struct ti_event *ev = &c->e->step->ev;
    bool all = (ev->mask & TI_M_ALL) && ev->arg[TI_F_ALL];

    if (!ti_op_is(ev->op, TI_T_COMPLETES))
        return;
    if (ev->mask & TI_M_REQ)
        complete_collective(c, ev->arg[TI_F_REQ]);
    for (size_t i = 0; all && i < c->s->nrequests; i++)
        complete_collective(c, (int64_t)i);
    for (int64_t i = 0; !all && ti_op_vecs(ev->op) && i < ev->vec[0].len; i++)
        complete_collective(c, ti_vec_at(&ev->vec[0], i));
}

/* ---- a whole call ---- */

static uint32_t region_of(struct state *s, const struct ti__timed *e)
{
    const struct ti_event *ev = &e->step->ev;
    char name[64] = "MPI_";
    const char *call = NULL;

    if (ev->op == TI_OP_UNTRACED)
        call = ti_reader_string(e->r, TI_STRING_CALL, ev->arg[TI_F_CALL]);
    if (call)
        return ti__otf2_region(s->defs, call, ev->op);
    snprintf(name + 4, sizeof name - 4, "%s%s", ti_op_info(ev->op)->text,
             ev->op == TI_OP_INIT && (ev->mask & TI_M_LEVEL) && ev->arg[TI_F_LEVEL] > 0 ? "_thread"
                                                                                        : "");
    name[4] = (char)(name[4] - 'a' + 'A');
    return ti__otf2_region(s->defs, name, ev->op);
}

static void put_source(struct state *s, const struct ti_timeline *t, const struct ti__timed *e)
{
    char text[512];

    if (*e->site)
        must(s, OTF2_AttributeList_AddStringRef(
                    s->attributes, TI__OTF2_SOURCE,
                    ti__otf2_string(
                        s->defs, ti_site_text(t->show->symbolizer, e->site, text, sizeof text))));
}

static void leaves(struct ti_timeline *t, const struct ti__timed *e)
{
    struct state *s = t->state;
    const struct ti_step *step = e->step;
    const struct call c = {s, e, ti__ns(e->when.call), ti__ns(e->when.end)};
    uint32_t region = region_of(s, e);

    if (!s->w)
        return;
    new_request(s, step);
    put_source(s, t, e);
    must(s, OTF2_EvtWriter_Enter(s->w, s->attributes, c.from, region));
    /* the records of an event are in the order of time: what it receives comes last */
    for (size_t i = 0; i < step->nposted; i++)
        if (!step->posted[i].recv || step->posted[i].req >= 0)
            posts(&c, &step->posted[i]);
    for (size_t i = 0; i < step->ncalls; i++)
        collective(&c, &step->call[i]);
    for (size_t i = 0; i < step->nposted; i++)
        if (step->posted[i].recv && step->posted[i].req < 0)
            posts(&c, &step->posted[i]);
    for (size_t i = 0; i < step->ndone; i++)
        completes(&c, &step->done[i]);
    complete_collectives(&c);
    must(s, OTF2_EvtWriter_Leave(s->w, NULL, c.to, region));
}

const struct ti__format ti__otf2 = {.endings = ".otf2",
                                    .by_rank = true,
                                    .open = open_trace,
                                    .begin = begin,
                                    .rank_starts = rank_starts,
                                    .leaves = leaves,
                                    .rank_ends = rank_ends,
                                    .end = end,
                                    .close = close_trace};
