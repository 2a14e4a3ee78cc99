/*
 * Messages between the two groups of an intercommunicator: every mode, in its
 * blocking, non-blocking and persistent form; every receive and probe, with every
 * wildcard.  A partner is a rank of the other group, told as that rank minus ours
 * in our own.  Every third rank of the world against the others, each pair in its
 * turn, while the others wait.
 */
#include "tests/mpi/expect.h"

#define MOST 64
#define C    3 /* number of the intercommunicator; 2 was the one of a group */

static MPI_Comm comm;
static int group[2][MOST], members[2], side, me; /* world ranks; own side and rank */
static int peer, peer_world;                     /* partner of the moment */
static int out, in, flag;
static MPI_Request request;
static MPI_Status status;

enum { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };
enum { STANDARD, BUFFERED, SYNCHRONOUS, READY, MODES };

typedef int send_call(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int isend_call(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static const struct {
    const char *name;
    send_call *send;
    isend_call *isend, *init;
} mode[MODES] = {{"send", MPI_Send, MPI_Isend, MPI_Send_init},
                 {"bsend", MPI_Bsend, MPI_Ibsend, MPI_Bsend_init},
                 {"ssend", MPI_Ssend, MPI_Issend, MPI_Ssend_init},
                 {"rsend", MPI_Rsend, MPI_Irsend, MPI_Rsend_init}};

static const char *partner(void)
{
    return at(peer - me, peer_world);
}

static void start(void)
{
    expect("start req=0");
    MPI_Start(&request);
}

static void release(void)
{
    expect("request_free req=0");
    MPI_Request_free(&request);
}

/* Complete a request; `matched` is what a wildcard adds. */
static void wait_for(const char *matched)
{
    expect("wait%s req=0", matched);
    MPI_Wait(&request, &status);
}

static void send(int m, int form, int tag)
{
    const char *name = mode[m].name;

    if (m == READY) { /* its receive is there once this has come */
        expect("recv comm=%d peer=%s tag=99 bytes=0 esize=4", C, partner());
        MPI_Recv(NULL, 0, MPI_INT, peer, 99, comm, MPI_STATUS_IGNORE);
    }
    out = 1000 * rank + tag;
    switch (form) {
    case BLOCKING:
        expect("%s comm=%d peer=%s tag=%d bytes=4 esize=4", name, C, partner(), tag);
        mode[m].send(&out, 1, MPI_INT, peer, tag, comm);
        break;
    case NONBLOCKING:
        expect("i%s comm=%d peer=%s tag=%d bytes=4 esize=4 req=0", name, C, partner(), tag);
        mode[m].isend(&out, 1, MPI_INT, peer, tag, comm, &request);
        wait_for("");
        break;
    default:
        expect("%s_init comm=%d peer=%s tag=%d bytes=4 esize=4 req=0", name, C, partner(), tag);
        mode[m].init(&out, 1, MPI_INT, peer, tag, comm, &request);
        start();
        wait_for("");
        release();
    }
}

/* With a wildcard or two: bit 0 the source, bit 1 the tag. */
static int wild;
static char wanted[64], matched[64];

static int source(void)
{
    return wild & 1 ? MPI_ANY_SOURCE : peer;
}

static int tag_of(int tag)
{
    return wild & 2 ? MPI_ANY_TAG : tag;
}

static void want(int how, int tag)
{
    char number[16];

    wild = how;
    snprintf(number, sizeof number, "%d", tag);
    snprintf(wanted, sizeof wanted, "peer=%s tag=%s", wild & 1 ? "any" : partner(),
             wild & 2 ? "any" : number);
    matched[0] = '\0';
    if (wild)
        snprintf(matched, sizeof matched, " from=%+d fromtag=%d", peer - me, tag);
}

/* "+1(5)" where the event's communicator says who that is. */
static const char *matched_in_full(int tag)
{
    static char text[64];

    text[0] = '\0';
    if (wild)
        snprintf(text, sizeof text, " from=%s fromtag=%d", partner(), tag);
    return text;
}

static void ready(int m)
{
    if (m != READY)
        return;
    expect("send comm=%d peer=%s tag=99 bytes=0 esize=4", C, partner());
    MPI_Send(NULL, 0, MPI_INT, peer, 99, comm);
}

static void probe(int tag)
{
    expect("probe comm=%d %s%s", C, wanted, matched_in_full(tag));
    MPI_Probe(source(), tag_of(tag), comm, MPI_STATUS_IGNORE);
    expect("iprobe comm=%d %s%s", C, wanted, matched_in_full(tag));
    do
        MPI_Iprobe(source(), tag_of(tag), comm, &flag, MPI_STATUS_IGNORE);
    while (!flag);
}

/* Messages in a mode that needs no receive to be there. */
static void receive_late(int form, int tag)
{
    MPI_Message message;

    if (form == BLOCKING) {
        probe(tag);
        expect("recv comm=%d %s bytes=8 esize=4%s", C, wanted, matched_in_full(tag));
        MPI_Recv(&in, 2, MPI_INT, source(), tag_of(tag), comm, MPI_STATUS_IGNORE);
    } else {
        expect("%s comm=%d %s%s msg=0", form == NONBLOCKING ? "mprobe" : "improbe", C, wanted,
               matched_in_full(tag));
        if (form == NONBLOCKING)
            MPI_Mprobe(source(), tag_of(tag), comm, &message, MPI_STATUS_IGNORE);
        else
            do
                MPI_Improbe(source(), tag_of(tag), comm, &flag, &message, MPI_STATUS_IGNORE);
            while (!flag);
        if (form == NONBLOCKING) {
            expect("mrecv comm=%d peer=%s tag=%d bytes=4 esize=4 msg=0", C, partner(), tag);
            MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        } else {
            expect("imrecv comm=%d peer=%s tag=%d bytes=4 esize=4 req=0 msg=0", C, partner(), tag);
            MPI_Imrecv(&in, 1, MPI_INT, &message, &request);
            wait_for("");
        }
    }
}

static void receive_early(int m, int form, int tag)
{
    if (form == PERSISTENT) {
        expect("recv_init comm=%d %s bytes=4 esize=4 req=0", C, wanted);
        MPI_Recv_init(&in, 1, MPI_INT, source(), tag_of(tag), comm, &request);
        start();
    } else {
        expect("irecv comm=%d %s bytes=4 esize=4 req=0", C, wanted);
        MPI_Irecv(&in, 1, MPI_INT, source(), tag_of(tag), comm, &request);
    }
    ready(m);
    wait_for(matched);
    MUST(status.MPI_SOURCE == peer && status.MPI_TAG == tag);
    if (form == PERSISTENT)
        release();
}

static void receive(int m, int form, int how, int tag)
{
    in = -1;
    want(how, tag);
    if (m == READY || m == STANDARD)
        receive_early(m, form, tag);
    else
        receive_late(form, tag);
    MUST(in == 1000 * peer_world + tag);
}

static void both_ways(void)
{
    int got = -1;

    for (int how = 0; how < 4; how++) {
        want(how, 5);
        out = 1000 * rank;
        expect("sendrecv comm=%d peer=%s tag=5 bytes=4 esize=4 rpeer=%s rtag=%s rbytes=4 "
               "resize=4%s",
               C, partner(), wild & 1 ? "any" : partner(), wild & 2 ? "any" : "5",
               matched_in_full(5));
        MPI_Sendrecv(&out, 1, MPI_INT, peer, 5, &got, 1, MPI_INT, source(), tag_of(5), comm,
                     MPI_STATUS_IGNORE);
        MUST(got == 1000 * peer_world);
    }
}

/* All there is between this rank and its partner; side 0 begins. */
static void exchange(void)
{
    int tag = 0;

    for (int from = 0; from < 2; from++)
        for (int m = 0; m < MODES; m++)
            for (int form = 0; form < FORMS; form++, tag++) {
                if (from == side)
                    send(m, form, tag);
                else
                    receive(m, form, (m + form) % 4, tag);
            }
    both_ways();
}

static void pairs(void)
{
    for (int i = 0; i < members[0]; i++)
        for (int j = 0; j < members[1]; j++) {
            expect("barrier comm=%d", C);
            MPI_Barrier(comm);
            peer = side ? i : j;
            peer_world = group[!side][peer];
            if (me == (side ? j : i))
                exchange();
        }
}

static void nobody(void)
{
    expect("barrier comm=%d", C);
    MPI_Barrier(comm);
    expect("send comm=%d peer=null tag=1 bytes=4 esize=4", C);
    MPI_Send(&out, 1, MPI_INT, MPI_PROC_NULL, 1, comm);
    expect("recv comm=%d peer=null tag=any bytes=4 esize=4", C);
    MPI_Recv(&in, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
}

static void connect(void)
{
    MPI_Comm local;
    int leader;

    side = rank % 3 != 0;
    for (int r = 0; r < size; r++)
        group[r % 3 != 0][members[r % 3 != 0]++] = r;
    leader = group[!side][0];
    expect("comm_split comm=0 color=%d key=0 newcomm=2", side);
    MPI_Comm_split(MPI_COMM_WORLD, side, 0, &local);
    MPI_Comm_rank(local, &me);
    if (me == 0)
        expect("intercomm_create comm=2 peer=%s tag=8 root=0 newcomm=%d peercomm=0", to(leader), C);
    else
        expect("intercomm_create comm=2 tag=8 root=0 newcomm=%d", C);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, leader, 8, &comm);
    expect("comm_free comm=2");
    MPI_Comm_free(&local);
}

int main(int argc, char **argv)
{
    int attached = 1 << 20;
    void *buffer = malloc((size_t)attached);

    MPI_Init(&argc, &argv);
    expect_begin(0);
    MUST(size > 1 && size <= MOST);
    MPI_Buffer_attach(buffer, attached);
    connect();
    pairs();
    nobody();
    expect("comm_free comm=%d", C);
    MPI_Comm_free(&comm);
    MPI_Buffer_detach(&buffer, &attached);
    expect_end();
    MPI_Finalize();
    free(buffer);
    return 0;
}
