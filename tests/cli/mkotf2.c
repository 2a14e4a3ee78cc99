/*
 * Write an OTF2 trace of four ranks as Score-P would, for tests of ti-convert --from otf2.
 *
 *   mkotf2 [--counter] [--simple] [--break WHAT] DIR
 *
 * The trace is DIR/traces.otf2.  With --counter it has PAPI_TOT_INS, which grows by 3 for each
 * nanosecond of a burst and by 2 for each nanosecond in MPI.  --simple leaves out what SimGrid's
 * action files cannot express.  --break makes something that is not as it should be: see the uses
 * of broken().
 */
#include <otf2/otf2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NP 4

/* Regions; the first two are no MPI calls. */
/* clang-format off */
#define REGIONS(X)                                                                             \
    X(main) X(work) X(MPI_Init) X(MPI_Finalize) X(MPI_Comm_rank) X(MPI_Comm_split) X(MPI_Send) \
    X(MPI_Ssend) X(MPI_Recv) X(MPI_Isend) X(MPI_Irecv) X(MPI_Wait) X(MPI_Waitall) X(MPI_Test)  \
    X(MPI_Cancel) X(MPI_Sendrecv) X(MPI_Barrier) X(MPI_Bcast) X(MPI_Reduce) X(MPI_Allreduce)   \
    X(MPI_Gather) X(MPI_Scatter) X(MPI_Allgather) X(MPI_Alltoall) X(MPI_Gatherv)               \
    X(MPI_Scatterv) X(MPI_Allgatherv) X(MPI_Alltoallv) X(MPI_Reduce_scatter)                   \
    X(MPI_Reduce_scatter_block) X(MPI_Scan) X(MPI_Exscan) X(MPI_Ibcast) X(MPI_Iallgatherv)     \
    X(MPI_Put) X(MPI_Start)
/* clang-format on */

enum region {
#define REGION(name) R_##name,
    REGIONS(REGION) R_COUNT
};
static const char *const names[] = {
#define NAME(name) #name,
    REGIONS(NAME)};

enum comm { WORLD, SELF, EVEN, ODD, FIRST, BETWEEN, NOWHERE };

static bool counter, simple;
static const char *what = "";

static OTF2_Archive *archive;
static OTF2_EvtWriter *w;
static uint64_t now, count, requests; /* ns; the clock of the trace has two ticks for each */
static uint32_t me;

static bool broken(const char *how)
{
    return !strcmp(what, how);
}

static void must(OTF2_ErrorCode code)
{
    if (code) {
        fprintf(stderr, "mkotf2: %s\n", OTF2_Error_GetDescription(code));
        exit(1);
    }
}

/* ---- a rank ---- */

static void metric(void)
{
    OTF2_Type type = OTF2_TYPE_UINT64;
    OTF2_MetricValue value = {.unsigned_int = count};

    if (counter && !(broken("metric") && me == 2))
        must(OTF2_EvtWriter_Metric(w, NULL, 2 * now, 0, 1, &type, &value));
}

static void enter(enum region region)
{
    metric();
    must(OTF2_EvtWriter_Enter(w, NULL, 2 * now, region));
}

static void leave(enum region region)
{
    now += 10;
    count += 20;
    metric();
    must(OTF2_EvtWriter_Leave(w, NULL, 2 * now, region));
}

/* A burst, a part of which is a region of the program. */
static void compute(uint64_t ns)
{
    now += ns / 2;
    count += 3 * (ns / 2);
    enter(R_work);
    now += ns - ns / 2;
    count += 3 * (ns - ns / 2);
    metric();
    must(OTF2_EvtWriter_Leave(w, NULL, 2 * now, R_work));
}

static void nothing(enum region region)
{
    enter(region);
    leave(region);
}

static void send(enum region region, uint32_t peer, enum comm comm, uint32_t tag, uint64_t bytes)
{
    enter(region);
    must(OTF2_EvtWriter_MpiSend(w, NULL, 2 * now, peer, comm, tag, bytes));
    leave(region);
}

static void recv(uint32_t peer, enum comm comm, uint32_t tag, uint64_t bytes)
{
    enter(R_MPI_Recv);
    must(OTF2_EvtWriter_MpiRecv(w, NULL, 2 * now, peer, comm, tag, bytes));
    leave(R_MPI_Recv);
}

static uint64_t isend(uint32_t peer, enum comm comm, uint32_t tag, uint64_t bytes)
{
    enter(R_MPI_Isend);
    must(OTF2_EvtWriter_MpiIsend(w, NULL, 2 * now, peer, comm, tag, bytes, ++requests));
    leave(R_MPI_Isend);
    return requests;
}

static uint64_t irecv(void)
{
    enter(R_MPI_Irecv);
    must(OTF2_EvtWriter_MpiIrecvRequest(w, NULL, 2 * now, ++requests));
    leave(R_MPI_Irecv);
    return requests;
}

static void sent(uint64_t request)
{
    must(OTF2_EvtWriter_MpiIsendComplete(w, NULL, 2 * now, request));
}

static void received(uint32_t peer, enum comm comm, uint32_t tag, uint64_t bytes, uint64_t request)
{
    must(OTF2_EvtWriter_MpiIrecv(w, NULL, 2 * now, peer, comm, tag, bytes, request));
}

static void coll(enum region region, OTF2_CollectiveOp op, enum comm comm, int root, uint64_t gives,
                 uint64_t takes)
{
    uint32_t r = root < 0 ? OTF2_COLLECTIVE_ROOT_NONE : (uint32_t)root;

    enter(region);
    must(OTF2_EvtWriter_MpiCollectiveBegin(w, NULL, 2 * now));
    must(OTF2_EvtWriter_MpiCollectiveEnd(w, NULL, 2 * now, op, comm, r, gives, takes));
    leave(region);
}

static void icoll(enum region region, OTF2_CollectiveOp op, int root, uint64_t gives,
                  uint64_t takes)
{
    uint32_t r = root < 0 ? OTF2_COLLECTIVE_ROOT_NONE : (uint32_t)root;

    enter(region);
    must(OTF2_EvtWriter_NonBlockingCollectiveRequest(w, NULL, 2 * now, ++requests));
    leave(region);
    compute(50);
    enter(R_MPI_Wait);
    if (!broken("never"))
        must(OTF2_EvtWriter_NonBlockingCollectiveComplete(w, NULL, 2 * now, op, WORLD, r, gives,
                                                          takes, requests));
    leave(R_MPI_Wait);
}

static void messages(void)
{
    uint32_t right = (me + 1) % NP, left = (me + NP - 1) % NP;
    uint64_t r = irecv(), s;

    s = isend(right, WORLD, 7, 100 + me);
    compute(500);
    enter(R_MPI_Waitall);
    received(left, WORLD, 7, 100 + left, r);
    sent(s);
    leave(R_MPI_Waitall);
    compute(101);
    nothing(R_MPI_Comm_rank);
    compute(99);
    if (me == 0)
        send(R_MPI_Send, 1, WORLD, 3, 5000);
    else if (me == 1)
        recv(0, WORLD, 3, 5000);
    else if (me == 2)
        send(simple ? R_MPI_Send : R_MPI_Ssend, 3, WORLD, 3, 6000);
    else
        recv(2, WORLD, 3, 6000);
    if (simple)
        return;
    enter(R_MPI_Sendrecv);
    must(OTF2_EvtWriter_MpiSend(w, NULL, 2 * now, me ^ 1, WORLD, 4, 70 + me));
    must(OTF2_EvtWriter_MpiRecv(w, NULL, 2 * now, me ^ 1, WORLD, 4, 70 + (me ^ 1)));
    leave(R_MPI_Sendrecv);
    enter(R_MPI_Sendrecv); /* along a line: the ends have no partner */
    if (me < NP - 1)
        must(OTF2_EvtWriter_MpiSend(w, NULL, 2 * now, me + 1, WORLD, 5, 80));
    if (me > 0)
        must(OTF2_EvtWriter_MpiRecv(w, NULL, 2 * now, me - 1, WORLD, 5, 80));
    leave(R_MPI_Sendrecv);
    nothing(R_MPI_Send); /* to MPI_PROC_NULL */
    if (me == 0) {
        r = irecv();
        enter(R_MPI_Cancel);
        must(OTF2_EvtWriter_MpiRequestCancelled(w, NULL, 2 * now, r));
        leave(R_MPI_Cancel);
        r = irecv();
        nothing(R_MPI_Test);
        compute(60);
        enter(R_MPI_Test);
        received(1, WORLD, 9, 12, r);
        leave(R_MPI_Test);
    } else if (me == 1) {
        enter(R_MPI_Start); /* a persistent send */
        must(OTF2_EvtWriter_MpiIsend(w, NULL, 2 * now, 0, WORLD, 9, 12, ++requests));
        leave(R_MPI_Start);
        enter(R_MPI_Wait);
        sent(requests);
        leave(R_MPI_Wait);
    }
}

#define C(name) R_MPI_##name

static void collectives(void)
{
    coll(C(Barrier), OTF2_COLLECTIVE_OP_BARRIER, WORLD, -1, 0, 0);
    compute(40);
    coll(C(Bcast), OTF2_COLLECTIVE_OP_BCAST, WORLD, 1, me == 1 ? NP * 800 : 0, 800);
    if (simple)
        return;
    coll(C(Reduce), OTF2_COLLECTIVE_OP_REDUCE, WORLD, 2, 64, me == 2 ? NP * 64 : 0);
    coll(C(Reduce), OTF2_COLLECTIVE_OP_REDUCE, WORLD, 2, me == 2 ? 0 : 72, me == 2 ? 3 * 72 : 0);
    coll(C(Allreduce), OTF2_COLLECTIVE_OP_ALLREDUCE, WORLD, -1, NP * 8, NP * 8);
    coll(C(Allreduce), OTF2_COLLECTIVE_OP_ALLREDUCE, WORLD, -1, 3 * 9, 3 * 9);
    coll(C(Gather), OTF2_COLLECTIVE_OP_GATHER, WORLD, 0, 16, me ? 0 : NP * 16);
    coll(C(Scatter), OTF2_COLLECTIVE_OP_SCATTER, WORLD, 3, me == 3 ? 3 * 24 : 0, me == 3 ? 0 : 24);
    coll(C(Allgather), OTF2_COLLECTIVE_OP_ALLGATHER, WORLD, -1, NP * 32, NP * 32);
    coll(C(Alltoall), OTF2_COLLECTIVE_OP_ALLTOALL, WORLD, -1, NP * 40, NP * 40);
    coll(C(Gatherv), OTF2_COLLECTIVE_OP_GATHERV, WORLD, 1, 10 * (me + 1),
         me == 1 ? broken("sum") ? 101 : 100 : 0);
    coll(C(Scatterv), OTF2_COLLECTIVE_OP_SCATTERV, WORLD, 0, me ? 0 : 90 + 0, me ? 15 * me : 0);
    coll(C(Allgatherv), OTF2_COLLECTIVE_OP_ALLGATHERV, WORLD, -1, NP * 11 * (me + 1), 110);
    coll(C(Allgatherv), OTF2_COLLECTIVE_OP_ALLGATHERV, WORLD, -1, 3 * 7 * (me + 1),
         70 - 7 * (me + 1));
    coll(C(Alltoallv), OTF2_COLLECTIVE_OP_ALLTOALLV, WORLD, -1, 100 * (me + 1), 400 - 100 * me);
    coll(C(Reduce_scatter), OTF2_COLLECTIVE_OP_REDUCE_SCATTER, WORLD, -1, 80, NP * 8 * (me + 1));
    coll(C(Reduce_scatter_block), OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK, WORLD, -1, NP * 16,
         NP * 16);
    coll(C(Scan), OTF2_COLLECTIVE_OP_SCAN, WORLD, -1, (NP - me) * 48, (me + 1) * 48);
    if (me < 3) /* in place */
        coll(C(Scan), OTF2_COLLECTIVE_OP_SCAN, FIRST, -1, (2 - me) * 8, me * 8);
    coll(C(Exscan), OTF2_COLLECTIVE_OP_EXSCAN, WORLD, -1, (NP - me - 1) * 56, me * 56);
    icoll(C(Ibcast), OTF2_COLLECTIVE_OP_BCAST, 0, me ? 0 : NP * 33, 33);
    icoll(C(Iallgatherv), OTF2_COLLECTIVE_OP_ALLGATHERV, -1, NP * 5 * (me + 1), 50);
}

/* The local number of a communicator: those of the halves are exchanged, see local(). */
static void sub(void)
{
    coll(C(Comm_split), OTF2_COLLECTIVE_OP_CREATE_HANDLE, WORLD, -1, 0, 0);
    compute(30);
    if (me < 2)
        send(C(Send), 1, me % 2 ? EVEN : ODD, 1, 44 + me);
    else
        recv(0, me % 2 ? EVEN : ODD, 1, 42 + me);
    coll(C(Allreduce), OTF2_COLLECTIVE_OP_ALLREDUCE, me % 2 ? EVEN : ODD, -1, 2 * 16, 2 * 16);
    coll(C(Bcast), OTF2_COLLECTIVE_OP_BCAST, SELF, 0, 20, 20);
}

static void wrong(void)
{
    if (broken("outside"))
        must(OTF2_EvtWriter_MpiSend(w, NULL, 2 * now, 1, WORLD, 3, 5000));
    if (broken("comm"))
        send(C(Send), 1, NOWHERE, 3, 5000);
    if (broken("between"))
        send(C(Send), 1, BETWEEN, 3, 5000);
    if (broken("member"))
        send(C(Send), 1, me % 2 ? ODD : EVEN, 3, 5000);
    if (broken("peer"))
        send(C(Send), 4, WORLD, 3, 5000);
    if (broken("tag"))
        send(C(Send), 1, WORLD, 1u << 31, 5000);
    if (broken("bytes"))
        send(C(Send), 1, WORLD, 3, UINT64_MAX);
    if (broken("lonely"))
        send(C(Send), (me + 1) % NP, WORLD, 3, 5000);
    if (broken("blocking-send"))
        send(R_MPI_Isend, 1, WORLD, 3, 5000);
    if (broken("blocking-recv")) {
        enter(C(Wait));
        must(OTF2_EvtWriter_MpiRecv(w, NULL, 2 * now, 1, WORLD, 3, 5000));
        leave(C(Wait));
    }
    if (broken("request-twice")) {
        irecv();
        requests--;
        irecv();
    }
    if (broken("request")) {
        enter(C(Wait));
        sent(1000);
        leave(C(Wait));
    }
    if (broken("leave"))
        leave(C(Barrier));
    if (broken("region"))
        nothing(1000);
    if (broken("backwards"))
        count -= 100;
    if (broken("root"))
        coll(C(Bcast), OTF2_COLLECTIVE_OP_BCAST, WORLD, 4, 8, 8);
    if (broken("odd"))
        coll(C(Allgather), OTF2_COLLECTIVE_OP_ALLGATHER, WORLD, -1, 7, 7);
    if (broken("switch"))
        must(OTF2_EvtWriter_MeasurementOnOff(w, NULL, 2 * now, OTF2_MEASUREMENT_OFF));
    if (broken("untraced"))
        nothing(C(Put));
    if (broken("differ"))
        coll(C(Gatherv), me ? OTF2_COLLECTIVE_OP_GATHERV : OTF2_COLLECTIVE_OP_SCATTERV, WORLD, 0, 0,
             0);
}

static void run(void)
{
    now = 1000 + me;
    count = 0;
    requests = 0;
    metric();
    must(OTF2_EvtWriter_Enter(w, NULL, 2 * now, R_main));
    compute(77);
    if (!broken("init"))
        nothing(R_MPI_Init);
    now += 40; /* no part of the burst */
    must(OTF2_EvtWriter_BufferFlush(w, NULL, 2 * now - 80, 2 * now));
    compute(1000);
    messages();
    if (me == 2 && strcmp(what, "") != 0)
        wrong();
    collectives();
    if (!simple)
        sub();
    compute(200);
    if (!broken("finalize"))
        nothing(R_MPI_Finalize);
    now += 5;
    metric();
    must(OTF2_EvtWriter_Leave(w, NULL, 2 * now, R_main));
}

/* ---- definitions ---- */

static OTF2_GlobalDefWriter *g;

static uint32_t text(const char *string)
{
    static uint32_t n;

    must(OTF2_GlobalDefWriter_WriteString(g, n, string));
    return n++;
}

static void group(uint32_t self, OTF2_GroupType type, uint32_t n, const uint64_t *members)
{
    must(OTF2_GlobalDefWriter_WriteGroup(g, self, text(""), type, OTF2_PARADIGM_MPI,
                                         OTF2_GROUP_FLAG_NONE, n, members));
}

static void comm(enum comm self, const char *name, uint32_t of)
{
    must(OTF2_GlobalDefWriter_WriteComm(g, self, text(name), of, OTF2_UNDEFINED_COMM,
                                        OTF2_COMM_FLAG_NONE));
}

static void comms(void)
{
    uint64_t places[] = {10, 11, 12, 13}, all[] = {0, 1, 2, 3}, even[] = {0, 2}, odd[] = {1, 3};

    if (broken("member-twice"))
        odd[1] = 1;
    if (broken("member-large"))
        odd[1] = 4;
    if (!broken("no-mpi"))
        group(0, OTF2_GROUP_TYPE_COMM_LOCATIONS, NP, places);
    group(1, OTF2_GROUP_TYPE_COMM_GROUP, NP, all);
    group(2, OTF2_GROUP_TYPE_COMM_SELF, 0, NULL);
    group(3, OTF2_GROUP_TYPE_COMM_GROUP, 2, even);
    group(4, OTF2_GROUP_TYPE_COMM_GROUP, 2, odd);
    group(5, OTF2_GROUP_TYPE_COMM_GROUP, 3, all);
    comm(WORLD, "MPI_COMM_WORLD", 1);
    comm(SELF, "MPI_COMM_SELF", 2);
    if (simple)
        return;
    comm(EVEN, "", 3);
    comm(ODD, "", 4);
    comm(FIRST, "", 5);
    must(OTF2_GlobalDefWriter_WriteInterComm(g, BETWEEN, text(""), 3, 4, WORLD,
                                             OTF2_COMM_FLAG_NONE));
}

static void definitions(const uint64_t *events, int locations)
{
    uint32_t none = text(""), node, papi = text("PAPI_TOT_INS"), member = 0;

    must(OTF2_GlobalDefWriter_WriteClockProperties(g, broken("clock") ? 0 : 2000000000, 2 * 900,
                                                   2 * 1000000, OTF2_UNDEFINED_TIMESTAMP));
    for (uint32_t r = 0; r < R_COUNT; r++)
        must(OTF2_GlobalDefWriter_WriteRegion(
            g, r, text(names[r]), none, none, OTF2_REGION_ROLE_FUNCTION,
            r < R_MPI_Init ? OTF2_PARADIGM_USER : OTF2_PARADIGM_MPI, OTF2_REGION_FLAG_NONE, none, 0,
            0));
    node = text("node7");
    must(OTF2_GlobalDefWriter_WriteSystemTreeNode(g, 0, node, none,
                                                  OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    for (int i = 0; i < locations; i++) {
        uint32_t process = i < NP ? (uint32_t)i : 0;

        if (i < NP)
            must(OTF2_GlobalDefWriter_WriteLocationGroup(g, process, none,
                                                         OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                         OTF2_UNDEFINED_LOCATION_GROUP));
        must(OTF2_GlobalDefWriter_WriteLocation(g, 10 + (uint64_t)i, none,
                                                OTF2_LOCATION_TYPE_CPU_THREAD, events[i], process));
    }
    comms();
    if (!counter)
        return;
    must(OTF2_GlobalDefWriter_WriteMetricMember(g, 0, papi, none, OTF2_METRIC_TYPE_PAPI,
                                                OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_UINT64,
                                                OTF2_BASE_DECIMAL, 0, none));
    must(OTF2_GlobalDefWriter_WriteMetricClass(g, 0, 1, &member, OTF2_METRIC_SYNCHRONOUS_STRICT,
                                               OTF2_RECORDER_KIND_CPU));
}

/* Local definitions: the numbers of the halves are exchanged. */
static void local(uint64_t location)
{
    const uint64_t global[] = {WORLD, SELF, ODD, EVEN, FIRST, BETWEEN, NOWHERE};
    OTF2_DefWriter *d = OTF2_Archive_GetDefWriter(archive, location);
    OTF2_IdMap *map = OTF2_IdMap_CreateFromUint64Array(7, global, false);

    must(OTF2_DefWriter_WriteMappingTable(d, OTF2_MAPPING_COMM, map));
    OTF2_IdMap_Free(map);
    must(OTF2_Archive_CloseDefWriter(archive, d));
}

/* ---- the archive ---- */

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

int main(int argc, char **argv)
{
    OTF2_FlushCallbacks flushes = {.otf2_pre_flush = flush};
    uint64_t events[NP + 1];
    int locations = NP, i = 1;

    for (; i < argc - 1; i++)
        if (!strcmp(argv[i], "--counter"))
            counter = true;
        else if (!strcmp(argv[i], "--simple"))
            simple = true;
        else if (!strcmp(argv[i], "--break"))
            what = argv[++i];
    if (i >= argc)
        return 2;
    archive = OTF2_Archive_Open(argv[i], "traces", OTF2_FILEMODE_WRITE,
                                OTF2_CHUNK_SIZE_EVENTS_DEFAULT, OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT,
                                OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (!archive)
        return 1;
    must(OTF2_Archive_SetFlushCallbacks(archive, &flushes, NULL));
    must(OTF2_Archive_SetSerialCollectiveCallbacks(archive));
    must(OTF2_Archive_SetCreator(archive, broken("creator") ? "Other 1.0" : "Score-P 8.4"));
    must(OTF2_Archive_OpenEvtFiles(archive));
    locations += broken("thread");
    for (me = 0; me < (uint32_t)locations; me++) {
        w = OTF2_Archive_GetEvtWriter(archive, 10 + me);
        run();
        must(OTF2_EvtWriter_GetNumberOfEvents(w, &events[me]));
        must(OTF2_Archive_CloseEvtWriter(archive, w));
    }
    must(OTF2_Archive_CloseEvtFiles(archive));
    must(OTF2_Archive_OpenDefFiles(archive));
    for (i = 0; i < locations; i++)
        local(10 + (uint64_t)i);
    must(OTF2_Archive_CloseDefFiles(archive));
    g = OTF2_Archive_GetGlobalDefWriter(archive);
    definitions(events, locations);
    must(OTF2_Archive_CloseGlobalDefWriter(archive, g));
    must(OTF2_Archive_Close(archive));
    return 0;
}
