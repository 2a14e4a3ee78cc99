/* The OTF2 library: opens the trace and turns its records into ours. */
#include <otf2/otf2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/scratch.h"
#include "replay-bridge/otf2/internal.h"

/* ---- errors ---- */

/* Keep the first error that the library reports; it would print each to stderr. */
static OTF2_ErrorCode hear(void *user, const char *file, uint64_t line, const char *function,
                           OTF2_ErrorCode code, const char *format, va_list ap)
{
    struct ti__otf2 *im = user;
    int n;

    (void)file;
    (void)line;
    (void)function;
    if (im->heard || code == OTF2_ERROR_INTERRUPTED_BY_CALLBACK)
        return code;
    im->heard = true;
    n = vsnprintf(im->said, sizeof im->said, format, ap);
    if (n >= 0 && (size_t)n < sizeof im->said)
        snprintf(im->said + n, sizeof im->said - (size_t)n, "%s%s", n ? ": " : "",
                 OTF2_Error_GetDescription(code));
    return code;
}

/* The status of a call of the library. */
static ti_status status_of(struct ti__otf2 *im, OTF2_ErrorCode code, const char *what)
{
    if (im->st)
        return im->st; /* one of our callbacks has set im->err */
    if (code == OTF2_SUCCESS)
        return TI_OK;
    return ti_err_set(im->err, TI_ERR_INPUT, "'%s': cannot read %s: %s", im->path, what,
                      im->heard ? im->said : OTF2_Error_GetDescription(code));
}

/* ---- records ---- */

/* Begin a record: its number and time. */
static struct ti__otf2_rank *at(void *user, OTF2_TimeStamp time)
{
    struct ti__otf2_rank *r = user;
    struct ti__otf2 *im = r->im;
    unsigned __int128 ticks = time > im->offset ? time - im->offset : 0;
    uint64_t ns = (uint64_t)(ticks * 1000000000u / im->resolution);

    r->record++;
    if (ns > r->now) /* correction of clocks may set them back */
        r->now = ns;
    return r;
}

static OTF2_CallbackCode done(struct ti__otf2_rank *r, ti_status st)
{
    if (!st && r->record % 65536 == 0)
        st = ti_stop_check(r->im->err);
    r->im->st = st;
    return st ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

/* The parameters that all callbacks of records begin with. */
#define RECORD                                                                                     \
    OTF2_LocationRef location __attribute__((unused)), OTF2_TimeStamp time,                        \
        uint64_t position __attribute__((unused)), void *user,                                     \
        OTF2_AttributeList *attributes __attribute__((unused))

static OTF2_CallbackCode enter_or_leave(void *user, OTF2_TimeStamp time, OTF2_RegionRef region,
                                        bool enter)
{
    struct ti__otf2_rank *r = at(user, time);
    int64_t i = ti_map_find(&r->im->regions, region, 0, 0, 0);
    const struct ti__otf2_region *what;

    if (i < 0)
        return done(r, ti__otf2_wrong(r, "no definition of region %lu", (unsigned long)region));
    what = &r->im->region[i];
    if (!what->name)
        return done(r, TI_OK);
    return done(r, enter ? ti__otf2_enter(r, what) : ti__otf2_leave(r, what));
}

static OTF2_CallbackCode on_enter(RECORD, OTF2_RegionRef region)
{
    return enter_or_leave(user, time, region, true);
}

static OTF2_CallbackCode on_leave(RECORD, OTF2_RegionRef region)
{
    return enter_or_leave(user, time, region, false);
}

/* Score-P writes the values that belong to an enter or leave in front of it. */
static OTF2_CallbackCode on_metric(RECORD, OTF2_MetricRef metric, uint8_t n, const OTF2_Type *types,
                                   const OTF2_MetricValue *values)
{
    struct ti__otf2_rank *r = at(user, time);
    int64_t class = ti_map_find(&r->im->metrics, metric, 0, 0, 0);
    uint64_t value;
    int which;

    if (class < 0)
        return done(r, TI_OK);
    which = r->im->metric_at[class];
    if (which >= n || (types[which] != OTF2_TYPE_UINT64 && types[which] != OTF2_TYPE_INT64))
        return done(r, ti__otf2_wrong(r, "the value of %s is not as defined", r->im->counter));
    value = values[which].unsigned_int; /* an INT64 below 0 is a large value: it ends as an error */
    if (value > INT64_MAX || (r->has_count && value < r->count))
        return done(r, ti__otf2_wrong(r, "the counter %s runs backwards", r->im->counter));
    r->count = value;
    r->has_count = true;
    return done(r, TI_OK);
}

static OTF2_CallbackCode on_flush(RECORD, OTF2_TimeStamp stop)
{
    struct ti__otf2_rank *r = at(user, time);
    uint64_t start = r->now;

    r->record--;
    at(user, stop);
    ti__otf2_pause(r, r->now - start);
    return done(r, TI_OK);
}

static OTF2_CallbackCode on_switch(RECORD, OTF2_MeasurementMode mode)
{
    struct ti__otf2_rank *r = at(user, time);

    if (mode == OTF2_MEASUREMENT_OFF)
        ti__otf2_note(r->im, TI__OTF2_PAUSED,
                      "recording was switched off for a part of the program, which is missing");
    return done(r, TI_OK);
}

static OTF2_CallbackCode give(struct ti__otf2_rank *r, const struct ti__otf2_record *record)
{
    return done(r, ti__otf2_record(r, record));
}

/* Record `kind` of a message; the communicator and the sizes are checked. */
static OTF2_CallbackCode message(struct ti__otf2_rank *r, enum ti__otf2_kind kind, uint32_t peer,
                                 OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t id)
{
    struct ti__otf2_record m = {.kind = kind, .peer = peer, .tag = tag, .id = id};

    m.comm = ti_map_find(&r->im->comms, comm, 0, 0, 0);
    if (m.comm < 0)
        return done(r, ti__otf2_wrong(r, "no definition of communicator %lu", (unsigned long)comm));
    if (tag > INT32_MAX)
        return done(r, ti__otf2_wrong(r, "tag %lu is no tag", (unsigned long)tag));
    if (bytes > TI__OTF2_BYTES_MAX)
        return done(r, ti__otf2_wrong(r, "a message of %llu bytes", (unsigned long long)bytes));
    m.bytes = (int64_t)bytes;
    return give(r, &m);
}

static OTF2_CallbackCode on_send(RECORD, uint32_t peer, OTF2_CommRef comm, uint32_t tag,
                                 uint64_t bytes)
{
    return message(at(user, time), TI__OTF2_SEND, peer, comm, tag, bytes, 0);
}

static OTF2_CallbackCode on_recv(RECORD, uint32_t peer, OTF2_CommRef comm, uint32_t tag,
                                 uint64_t bytes)
{
    return message(at(user, time), TI__OTF2_RECV, peer, comm, tag, bytes, 0);
}

static OTF2_CallbackCode on_isend(RECORD, uint32_t peer, OTF2_CommRef comm, uint32_t tag,
                                  uint64_t bytes, uint64_t id)
{
    return message(at(user, time), TI__OTF2_ISEND, peer, comm, tag, bytes, id);
}

static OTF2_CallbackCode on_irecv(RECORD, uint32_t peer, OTF2_CommRef comm, uint32_t tag,
                                  uint64_t bytes, uint64_t id)
{
    return message(at(user, time), TI__OTF2_IRECVED, peer, comm, tag, bytes, id);
}

/* Callbacks of records that have only a request. */
#define REQUEST(name, of_kind)                                                                     \
    static OTF2_CallbackCode name(RECORD, uint64_t id)                                             \
    {                                                                                              \
        return give(at(user, time), &(struct ti__otf2_record){.kind = of_kind, .id = id});         \
    }
REQUEST(on_isent, TI__OTF2_ISENT)
REQUEST(on_irecv_request, TI__OTF2_IRECV)
REQUEST(on_cancel, TI__OTF2_CANCEL)
REQUEST(on_icoll, TI__OTF2_ICOLL)

static uint32_t collective_op(OTF2_CollectiveOp op)
{
    static const uint32_t ops[] = {
        [OTF2_COLLECTIVE_OP_BARRIER] = TI_OP_BARRIER,
        [OTF2_COLLECTIVE_OP_BCAST] = TI_OP_BCAST,
        [OTF2_COLLECTIVE_OP_GATHER] = TI_OP_GATHER,
        [OTF2_COLLECTIVE_OP_GATHERV] = TI_OP_GATHERV,
        [OTF2_COLLECTIVE_OP_SCATTER] = TI_OP_SCATTER,
        [OTF2_COLLECTIVE_OP_SCATTERV] = TI_OP_SCATTERV,
        [OTF2_COLLECTIVE_OP_ALLGATHER] = TI_OP_ALLGATHER,
        [OTF2_COLLECTIVE_OP_ALLGATHERV] = TI_OP_ALLGATHERV,
        [OTF2_COLLECTIVE_OP_ALLTOALL] = TI_OP_ALLTOALL,
        [OTF2_COLLECTIVE_OP_ALLTOALLV] = TI_OP_ALLTOALLV,
        [OTF2_COLLECTIVE_OP_ALLTOALLW] = TI_OP_ALLTOALLW,
        [OTF2_COLLECTIVE_OP_ALLREDUCE] = TI_OP_ALLREDUCE,
        [OTF2_COLLECTIVE_OP_REDUCE] = TI_OP_REDUCE,
        [OTF2_COLLECTIVE_OP_REDUCE_SCATTER] = TI_OP_REDUCE_SCATTER,
        [OTF2_COLLECTIVE_OP_SCAN] = TI_OP_SCAN,
        [OTF2_COLLECTIVE_OP_EXSCAN] = TI_OP_EXSCAN,
        [OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK] = TI_OP_REDUCE_SCATTER_BLOCK,
        [OTF2_COLLECTIVE_OP_CREATE_HANDLE] = TI_OP_BARRIER,
        [OTF2_COLLECTIVE_OP_CREATE_HANDLE_AND_ALLOCATE] = TI_OP_BARRIER,
    };

    return op < sizeof ops / sizeof ops[0] && ops[op] ? ops[op] : TI_OP_COUNT;
}

static OTF2_CallbackCode collective(struct ti__otf2_rank *r, enum ti__otf2_kind kind,
                                    OTF2_CollectiveOp op, OTF2_CommRef comm, uint32_t root,
                                    uint64_t sent, uint64_t received, uint64_t id)
{
    struct ti__otf2_record c = {
        .kind = kind, .op = collective_op(op), .id = id, .root = root, .makes = op > 16};

    if (root == OTF2_COLLECTIVE_ROOT_NONE)
        c.root = -1;
    if (c.op == TI_OP_COUNT && kind == TI__OTF2_COLL)
        return done(r, TI_OK); /* releases a communicator, a window or memory */
    if (c.op == TI_OP_COUNT)
        return done(r, ti__otf2_wrong(r, "collective operation %d is not known", op));
    c.comm = ti_map_find(&r->im->comms, comm, 0, 0, 0);
    if (c.comm < 0)
        return done(r, ti__otf2_wrong(r, "no definition of communicator %lu", (unsigned long)comm));
    if (sent > TI__OTF2_BYTES_MAX || received > TI__OTF2_BYTES_MAX)
        return done(r, ti__otf2_wrong(r, "a collective of %llu bytes",
                                      (unsigned long long)(sent > received ? sent : received)));
    c.sent = (int64_t)sent;
    c.received = (int64_t)received;
    return give(r, &c);
}

static OTF2_CallbackCode on_collective(RECORD, OTF2_CollectiveOp op, OTF2_CommRef comm,
                                       uint32_t root, uint64_t sent, uint64_t received)
{
    return collective(at(user, time), TI__OTF2_COLL, op, comm, root, sent, received, 0);
}

static OTF2_CallbackCode on_icoll_done(RECORD, OTF2_CollectiveOp op, OTF2_CommRef comm,
                                       uint32_t root, uint64_t sent, uint64_t received, uint64_t id)
{
    return collective(at(user, time), TI__OTF2_ICOLL_DONE, op, comm, root, sent, received, id);
}

/* ---- the archive ---- */

static OTF2_EvtReaderCallbacks *callbacks(void)
{
    OTF2_EvtReaderCallbacks *c = OTF2_EvtReaderCallbacks_New();

    if (!c)
        return NULL;
    OTF2_EvtReaderCallbacks_SetEnterCallback(c, on_enter);
    OTF2_EvtReaderCallbacks_SetLeaveCallback(c, on_leave);
    OTF2_EvtReaderCallbacks_SetMetricCallback(c, on_metric);
    OTF2_EvtReaderCallbacks_SetBufferFlushCallback(c, on_flush);
    OTF2_EvtReaderCallbacks_SetMeasurementOnOffCallback(c, on_switch);
    OTF2_EvtReaderCallbacks_SetMpiSendCallback(c, on_send);
    OTF2_EvtReaderCallbacks_SetMpiRecvCallback(c, on_recv);
    OTF2_EvtReaderCallbacks_SetMpiIsendCallback(c, on_isend);
    OTF2_EvtReaderCallbacks_SetMpiIrecvCallback(c, on_irecv);
    OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback(c, on_isent);
    OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback(c, on_irecv_request);
    OTF2_EvtReaderCallbacks_SetMpiRequestCancelledCallback(c, on_cancel);
    OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(c, on_collective);
    OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveRequestCallback(c, on_icoll);
    OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveCompleteCallback(c, on_icoll_done);
    return c;
}

ti_status ti__otf2_read(OTF2_Reader *reader, struct ti__otf2_rank *r, uint64_t location)
{
    OTF2_EvtReader *events = OTF2_Reader_GetEvtReader(reader, location);
    OTF2_EvtReaderCallbacks *c = callbacks();
    OTF2_ErrorCode code = events && c ? OTF2_SUCCESS : OTF2_ERROR_INVALID;
    char what[64];
    uint64_t n;

    snprintf(what, sizeof what, "the events of location %llu", (unsigned long long)location);
    if (!code)
        code = OTF2_Reader_RegisterEvtCallbacks(reader, events, c, r);
    if (!code)
        code = OTF2_Reader_ReadAllLocalEvents(reader, events, &n);
    if (c)
        OTF2_EvtReaderCallbacks_Delete(c);
    if (events)
        OTF2_Reader_CloseEvtReader(reader, events);
    return status_of(r->im, code, what);
}

/* Local definitions translate the numbers of each location.  Not every trace has them. */
static ti_status read_local(struct ti__otf2 *im, OTF2_Reader *reader, uint64_t location)
{
    OTF2_DefReader *defs = OTF2_Reader_GetDefReader(reader, location);
    OTF2_ErrorCode code;
    uint64_t n;

    if (!defs)
        return TI_OK;
    code = OTF2_Reader_ReadAllLocalDefinitions(reader, defs, &n);
    OTF2_Reader_CloseDefReader(reader, defs);
    return status_of(im, code, "the local definitions");
}

static ti_status open_events(struct ti__otf2 *im, OTF2_Reader *reader)
{
    ti_status st = TI_OK;
    bool local;

    for (int64_t i = 0; i < im->np; i++)
        OTF2_Reader_SelectLocation(reader, im->location[i]);
    for (size_t i = 0; i < im->nthreads; i++)
        OTF2_Reader_SelectLocation(reader, im->thread[i]);
    local = OTF2_Reader_OpenDefFiles(reader) == OTF2_SUCCESS;
    for (int64_t i = 0; i < im->np && local && !st; i++)
        st = read_local(im, reader, im->location[i]);
    for (size_t i = 0; i < im->nthreads && local && !st; i++)
        st = read_local(im, reader, im->thread[i]);
    if (local)
        OTF2_Reader_CloseDefFiles(reader);
    if (!st) {
        im->heard = false; /* a trace without local definitions */
        st = status_of(im, OTF2_Reader_OpenEvtFiles(reader), "the events");
    }
    return st;
}

ti_status ti__otf2_open(struct ti__otf2 *im, OTF2_Reader **out)
{
    OTF2_Reader *reader;
    char *creator = NULL;
    size_t n = strlen(im->path);
    ti_status st;

    if (n < 5 || strcmp(im->path + n - 5, ".otf2") != 0)
        return ti_err_set(im->err, TI_ERR_INPUT,
                          "'%s' is not the anchor file of an OTF2 trace, which ends in .otf2",
                          im->path);
    if (access(im->path, R_OK) != 0)
        return ti_err_errno(im->err, TI_ERR_IO, "cannot read '%s'", im->path);
    OTF2_Error_RegisterCallback(hear, im);
    *out = reader = OTF2_Reader_Open(im->path);
    if (!reader)
        return status_of(im, OTF2_ERROR_INVALID, "the anchor file");
    st = status_of(im, OTF2_Reader_SetSerialCollectiveCallbacks(reader), "the anchor file");
    if (!st && OTF2_Reader_GetCreator(reader, &creator) == OTF2_SUCCESS && creator)
        snprintf(im->creator, sizeof im->creator, "%s", creator);
    free(creator);
    if (!st)
        st = ti__otf2_define(im, reader);
    return st ? st : open_events(im, reader);
}

void ti__otf2_close(OTF2_Reader *reader)
{
    if (reader)
        OTF2_Reader_Close(reader);
    OTF2_Error_RegisterCallback(NULL, NULL);
}
