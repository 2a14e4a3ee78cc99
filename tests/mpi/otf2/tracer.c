/*
 * A tracer that writes OTF2 by the rules of Score-P, preloaded into the example programs by
 * otf2.sh.  It knows only the MPI calls of these programs, and at most one MPI_Comm_split of
 * the world.  The trace is $OTF2_DIR/traces.otf2.
 */
#define OTF2_MPI_USE_PMPI
#include <otf2/OTF2_MPI_Collectives.h>
#include <otf2/otf2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* clang-format off */
#define REGIONS(X)                                                                        \
    X(Init) X(Finalize) X(Send) X(Recv) X(Isend) X(Irecv) X(Wait) X(Waitall) X(Bcast)     \
    X(Allreduce) X(Alltoall) X(Alltoallv) X(Exscan) X(Comm_split)
/* clang-format on */
enum region {
#define REGION(name) R_##name,
    REGIONS(REGION) R_COUNT
};
static const char *const names[] = {
#define NAME(name) "MPI_" #name,
    REGIONS(NAME)};

#define REQUESTS 256

static OTF2_Archive *archive;
static OTF2_EvtWriter *w;
static int me, np, leader = -1; /* leader: first member of our half after MPI_Comm_split */
static MPI_Comm part = MPI_COMM_NULL;
static uint64_t ids;
static struct {
    MPI_Request handle;
    uint64_t id;
    MPI_Comm comm;
    MPI_Datatype type;
    int receives;
} live[REQUESTS];

static void must(OTF2_ErrorCode code)
{
    if (code) {
        fprintf(stderr, "tracer: %s\n", OTF2_Error_GetDescription(code));
        abort();
    }
}

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void enter(enum region region)
{
    must(OTF2_EvtWriter_Enter(w, NULL, now(), region));
}

static int leave(enum region region, int result)
{
    must(OTF2_EvtWriter_Leave(w, NULL, now(), region));
    return result;
}

/* ---- what a call says ---- */

static uint32_t comm_id(MPI_Comm comm)
{
    return comm == MPI_COMM_WORLD ? 0 : 1 + (uint32_t)leader;
}

static uint64_t bytes(int count, MPI_Datatype type)
{
    int size;

    PMPI_Type_size(type, &size);
    return (uint64_t)count * (uint64_t)size;
}

static uint64_t got(MPI_Status *status, MPI_Datatype type)
{
    int count;

    PMPI_Get_count(status, type, &count);
    return bytes(count, type);
}

static uint64_t size_of(MPI_Comm comm)
{
    int size;

    PMPI_Comm_size(comm, &size);
    return (uint64_t)size;
}

static uint64_t rank_in(MPI_Comm comm)
{
    int rank;

    PMPI_Comm_rank(comm, &rank);
    return (uint64_t)rank;
}

static void coll(OTF2_CollectiveOp op, MPI_Comm comm, uint32_t root, uint64_t gives, uint64_t takes)
{
    must(OTF2_EvtWriter_MpiCollectiveBegin(w, NULL, now()));
    must(OTF2_EvtWriter_MpiCollectiveEnd(w, NULL, now(), op, comm_id(comm), root, gives, takes));
}

static uint64_t request(MPI_Request handle, MPI_Comm comm, MPI_Datatype type, int receives)
{
    int i = 0;

    while (i < REQUESTS && live[i].id)
        i++;
    if (i == REQUESTS)
        abort();
    live[i].handle = handle;
    live[i].comm = comm;
    live[i].type = type;
    live[i].receives = receives;
    return live[i].id = ++ids;
}

/* Find a request before MPI forgets it.  Open MPI has one handle for all that are complete at
 * once, so each is found only once. */
static int find(MPI_Request handle)
{
    for (int i = 0; i < REQUESTS; i++)
        if (live[i].id && live[i].handle == handle && handle != MPI_REQUEST_NULL) {
            live[i].handle = MPI_REQUEST_NULL;
            return i;
        }
    return -1;
}

static void complete(int i, MPI_Status *status)
{
    if (i < 0)
        return;
    if (live[i].receives)
        must(OTF2_EvtWriter_MpiIrecv(w, NULL, now(), (uint32_t)status->MPI_SOURCE,
                                     comm_id(live[i].comm), (uint32_t)status->MPI_TAG,
                                     got(status, live[i].type), live[i].id));
    else
        must(OTF2_EvtWriter_MpiIsendComplete(w, NULL, now(), live[i].id));
    live[i].id = 0;
}

/* ---- the calls ---- */

int MPI_Send(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    enter(R_Send);
    if (to != MPI_PROC_NULL)
        must(OTF2_EvtWriter_MpiSend(w, NULL, now(), (uint32_t)to, comm_id(comm), (uint32_t)tag,
                                    bytes(count, type)));
    return leave(R_Send, PMPI_Send(buf, count, type, to, tag, comm));
}

int MPI_Recv(void *buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    MPI_Status own;
    int result;

    enter(R_Recv);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    result = PMPI_Recv(buf, count, type, from, tag, comm, status);
    if (from != MPI_PROC_NULL)
        must(OTF2_EvtWriter_MpiRecv(w, NULL, now(), (uint32_t)status->MPI_SOURCE, comm_id(comm),
                                    (uint32_t)status->MPI_TAG, got(status, type)));
    return leave(R_Recv, result);
}

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *req)
{
    int result;

    enter(R_Isend);
    result = PMPI_Isend(buf, count, type, to, tag, comm, req);
    if (to != MPI_PROC_NULL)
        must(OTF2_EvtWriter_MpiIsend(w, NULL, now(), (uint32_t)to, comm_id(comm), (uint32_t)tag,
                                     bytes(count, type), request(*req, comm, type, 0)));
    return leave(R_Isend, result);
}

int MPI_Irecv(void *buf, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *req)
{
    int result;

    enter(R_Irecv);
    result = PMPI_Irecv(buf, count, type, from, tag, comm, req);
    if (from != MPI_PROC_NULL)
        must(OTF2_EvtWriter_MpiIrecvRequest(w, NULL, now(), request(*req, comm, type, 1)));
    return leave(R_Irecv, result);
}

int MPI_Wait(MPI_Request *req, MPI_Status *status)
{
    int i = find(*req), result;
    MPI_Status own;

    enter(R_Wait);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    result = PMPI_Wait(req, status);
    complete(i, status);
    return leave(R_Wait, result);
}

int MPI_Waitall(int n, MPI_Request *req, MPI_Status *status)
{
    static int which[REQUESTS];
    static MPI_Status own[REQUESTS];
    int result;

    if (n > REQUESTS)
        abort();
    enter(R_Waitall);
    for (int i = 0; i < n; i++)
        which[i] = find(req[i]);
    if (status == MPI_STATUSES_IGNORE)
        status = own;
    result = PMPI_Waitall(n, req, status);
    for (int i = 0; i < n; i++)
        complete(which[i], &status[i]);
    return leave(R_Waitall, result);
}

int MPI_Bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    uint64_t b = bytes(count, type), n = size_of(comm), rank = rank_in(comm);
    int result;

    enter(R_Bcast);
    result = PMPI_Bcast(buf, count, type, root, comm);
    coll(OTF2_COLLECTIVE_OP_BCAST, comm, (uint32_t)root, rank == (uint64_t)root ? n * b : 0, b);
    return leave(R_Bcast, result);
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    uint64_t all = bytes(count, type) * (size_of(comm) - (in == MPI_IN_PLACE));
    int result;

    enter(R_Allreduce);
    result = PMPI_Allreduce(in, out, count, type, op, comm);
    coll(OTF2_COLLECTIVE_OP_ALLREDUCE, comm, OTF2_COLLECTIVE_ROOT_NONE, all, all);
    return leave(R_Allreduce, result);
}

int MPI_Exscan(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    uint64_t b = bytes(count, type), n = size_of(comm), rank = rank_in(comm);
    int result;

    enter(R_Exscan);
    result = PMPI_Exscan(in, out, count, type, op, comm);
    coll(OTF2_COLLECTIVE_OP_EXSCAN, comm, OTF2_COLLECTIVE_ROOT_NONE, (n - rank - 1) * b, rank * b);
    return leave(R_Exscan, result);
}

int MPI_Alltoall(const void *in, int count, MPI_Datatype type, void *out, int takes,
                 MPI_Datatype taken, MPI_Comm comm)
{
    uint64_t n = size_of(comm);
    int result;

    enter(R_Alltoall);
    result = PMPI_Alltoall(in, count, type, out, takes, taken, comm);
    coll(OTF2_COLLECTIVE_OP_ALLTOALL, comm, OTF2_COLLECTIVE_ROOT_NONE, n * bytes(count, type),
         n * bytes(takes, taken));
    return leave(R_Alltoall, result);
}

int MPI_Alltoallv(const void *in, const int *counts, const int *at, MPI_Datatype type, void *out,
                  const int *takes, const int *to, MPI_Datatype taken, MPI_Comm comm)
{
    uint64_t n = size_of(comm), sent = 0, received = 0;
    int result;

    enter(R_Alltoallv);
    result = PMPI_Alltoallv(in, counts, at, type, out, takes, to, taken, comm);
    for (uint64_t i = 0; i < n; i++) {
        sent += bytes(counts[i], type);
        received += bytes(takes[i], taken);
    }
    coll(OTF2_COLLECTIVE_OP_ALLTOALLV, comm, OTF2_COLLECTIVE_ROOT_NONE, sent, received);
    return leave(R_Alltoallv, result);
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *out)
{
    int result, first = 0;
    MPI_Group world, group;

    if (comm != MPI_COMM_WORLD || leader >= 0)
        abort();
    enter(R_Comm_split);
    result = PMPI_Comm_split(comm, color, key, out);
    part = *out;
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Comm_group(part, &group);
    PMPI_Group_translate_ranks(group, 1, &first, world, &leader);
    coll(OTF2_COLLECTIVE_OP_CREATE_HANDLE, comm, OTF2_COLLECTIVE_ROOT_NONE, 0, 0);
    return leave(R_Comm_split, result);
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

int MPI_Init(int *argc, char ***argv)
{
    static OTF2_FlushCallbacks flushes = {.otf2_pre_flush = flush};
    uint64_t begin = now();
    int result = PMPI_Init(argc, argv);

    PMPI_Comm_rank(MPI_COMM_WORLD, &me);
    PMPI_Comm_size(MPI_COMM_WORLD, &np);
    archive = OTF2_Archive_Open(getenv("OTF2_DIR"), "traces", OTF2_FILEMODE_WRITE,
                                OTF2_CHUNK_SIZE_EVENTS_DEFAULT, OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT,
                                OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    must(OTF2_Archive_SetFlushCallbacks(archive, &flushes, NULL));
    must(OTF2_MPI_Archive_SetCollectiveCallbacks(archive, MPI_COMM_WORLD, MPI_COMM_NULL));
    must(OTF2_Archive_SetCreator(archive, "Score-P, almost"));
    must(OTF2_Archive_OpenEvtFiles(archive));
    w = OTF2_Archive_GetEvtWriter(archive, (uint64_t)me);
    must(OTF2_EvtWriter_Enter(w, NULL, begin, R_Init));
    return leave(R_Init, result);
}

static OTF2_GlobalDefWriter *g;

static uint32_t text(const char *string)
{
    static uint32_t n;

    must(OTF2_GlobalDefWriter_WriteString(g, n, string));
    return n++;
}

/* Group `self` and communicator `comm` with these world ranks. */
static void define_comm(uint32_t self, uint32_t comm, uint32_t n, const uint64_t *members)
{
    must(OTF2_GlobalDefWriter_WriteGroup(g, self, text(""), OTF2_GROUP_TYPE_COMM_GROUP,
                                         OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, n, members));
    must(OTF2_GlobalDefWriter_WriteComm(g, comm, text(""), self, OTF2_UNDEFINED_COMM,
                                        OTF2_COMM_FLAG_NONE));
}

/* At rank 0: `of` has the leader of each rank and its rank in the part, if there are parts. */
static void define(const uint64_t *events, const int (*of)[2])
{
    uint64_t *all = calloc((size_t)np, sizeof *all), *some = calloc((size_t)np, sizeof *some);
    uint32_t none = text("");

    must(OTF2_GlobalDefWriter_WriteClockProperties(g, 1000000000, 0, now(),
                                                   OTF2_UNDEFINED_TIMESTAMP));
    for (uint32_t r = 0; r < R_COUNT; r++)
        must(OTF2_GlobalDefWriter_WriteRegion(g, r, text(names[r]), none, none,
                                              OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_MPI,
                                              OTF2_REGION_FLAG_NONE, none, 0, 0));
    must(OTF2_GlobalDefWriter_WriteSystemTreeNode(g, 0, none, none,
                                                  OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    for (int i = 0; i < np; i++) {
        all[i] = (uint64_t)i;
        must(OTF2_GlobalDefWriter_WriteLocationGroup(g, (uint32_t)i, none,
                                                     OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                     OTF2_UNDEFINED_LOCATION_GROUP));
        must(OTF2_GlobalDefWriter_WriteLocation(g, all[i], none, OTF2_LOCATION_TYPE_CPU_THREAD,
                                                events[i], (uint32_t)i));
    }
    must(OTF2_GlobalDefWriter_WriteGroup(g, 0, none, OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                         OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, (uint32_t)np,
                                         all));
    define_comm(1, 0, (uint32_t)np, all);
    for (int first = 0; first < np; first++) {
        uint32_t n = 0;

        for (int i = 0; i < np; i++)
            if (of[i][0] == first) {
                some[of[i][1]] = (uint64_t)i;
                n++;
            }
        if (n)
            define_comm(2 + (uint32_t)first, 1 + (uint32_t)first, n, some);
    }
    free(all);
    free(some);
}

int MPI_Finalize(void)
{
    uint64_t *events = calloc((size_t)np, sizeof *events), mine;
    int(*of)[2] = calloc((size_t)np, sizeof *of),
    own[2] = {leader, leader < 0 ? 0 : (int)rank_in(part)};

    enter(R_Finalize);
    leave(R_Finalize, 0);
    must(OTF2_EvtWriter_GetNumberOfEvents(w, &mine));
    must(OTF2_Archive_CloseEvtWriter(archive, w));
    must(OTF2_Archive_CloseEvtFiles(archive));
    PMPI_Gather(&mine, 1, MPI_UINT64_T, events, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    PMPI_Gather(own, 2, MPI_INT, of, 2, MPI_INT, 0, MPI_COMM_WORLD);
    if (me == 0) {
        g = OTF2_Archive_GetGlobalDefWriter(archive);
        define(events, of);
        must(OTF2_Archive_CloseGlobalDefWriter(archive, g));
    }
    PMPI_Barrier(MPI_COMM_WORLD);
    must(OTF2_Archive_Close(archive));
    free(events);
    free(of);
    return PMPI_Finalize();
}
