/* Matched probes, in a ring as in p2p.c.  A message has the lowest number that no
 * other one had that was probed and not received yet. */
#include "tests/mpi/expect.h"

#ifdef MPI_ABI_VERSION /* the standard ABI has other names */
#define MPI_Fint        int
#define MPI_Message_c2f MPI_Message_toint
#define MPI_Message_f2c MPI_Message_fromint
#endif

static int next, prev, out[8], in[8], flag;
static MPI_Message message[8];
static MPI_Request request;
static MPI_Status status;

static void bsend(int count, int tag)
{
    expect("bsend comm=0 peer=%s tag=%d bytes=%d esize=4", to(next), tag, 4 * count);
    MPI_Bsend(out, count, MPI_INT, next, tag, MPI_COMM_WORLD);
}

static void probe(void)
{
    static const struct {
        int any_source, any_tag;
    } how[] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};

    for (int poll = 0; poll < 2; poll++)
        for (int h = 0; h < 4; h++)
            for (int ignore = 0; ignore < 2; ignore++) {
                int source = how[h].any_source ? MPI_ANY_SOURCE : prev, tag = 10 + h;
                int wanted = how[h].any_tag ? MPI_ANY_TAG : tag;
                char tag_text[16], match[64] = "";

                bsend(3, tag);
                snprintf(tag_text, sizeof tag_text, "%d", tag);
                if (h > 0)
                    snprintf(match, sizeof match, " from=%s fromtag=%d", to(prev), tag);
                expect("%s comm=0 peer=%s tag=%s%s msg=0", poll ? "improbe" : "mprobe",
                       how[h].any_source ? "any" : to(prev), how[h].any_tag ? "any" : tag_text,
                       match);
                if (poll) {
                    do
                        MPI_Improbe(source, wanted, MPI_COMM_WORLD, &flag, message,
                                    ignore ? MPI_STATUS_IGNORE : &status);
                    while (!flag);
                } else {
                    MPI_Mprobe(source, wanted, MPI_COMM_WORLD, message,
                               ignore ? MPI_STATUS_IGNORE : &status);
                }
                MUST(ignore || (status.MPI_SOURCE == prev && status.MPI_TAG == tag));
                if (ignore) {
                    expect("mrecv comm=0 peer=%s tag=%d bytes=32 esize=4 msg=0", to(prev), tag);
                    MPI_Mrecv(in, 8, MPI_INT, message, &status);
                } else {
                    expect("imrecv comm=0 peer=%s tag=%d bytes=32 esize=4 req=0 msg=0", to(prev),
                           tag);
                    MPI_Imrecv(in, 8, MPI_INT, message, &request);
                    expect("wait req=0");
                    MPI_Wait(&request, &status);
                }
                MUST(message[0] == MPI_MESSAGE_NULL && status.MPI_SOURCE == prev &&
                     status.MPI_TAG == tag);
            }
}

/* Received in another order than probed, from elsewhere than where MPI put the
 * handle. */
static void numbers(void)
{
    struct {
        char pad[24];
        MPI_Message message;
    } boxed[3];

    for (int i = 0; i < 3; i++)
        bsend(1, i);
    for (int i = 2; i >= 0; i--) {
        expect("mprobe comm=0 peer=%s tag=%d msg=%d", to(prev), i, 2 - i);
        MPI_Mprobe(prev, i, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE);
        boxed[i].message = message[0];
    }
    expect("mrecv comm=0 peer=%s tag=1 bytes=4 esize=4 msg=1", to(prev));
    MPI_Mrecv(in, 1, MPI_INT, &boxed[1].message, MPI_STATUS_IGNORE);
    bsend(1, 9);
    expect("mprobe comm=0 peer=any tag=9 from=%s fromtag=9 msg=1", to(prev));
    MPI_Mprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE);
    expect("mrecv comm=0 peer=%s tag=2 bytes=4 esize=4 msg=0", to(prev));
    MPI_Mrecv(in, 1, MPI_INT, &boxed[2].message, MPI_STATUS_IGNORE);
    expect("mrecv comm=0 peer=%s tag=9 bytes=32 esize=8 msg=1", to(prev));
    MPI_Mrecv(in, 4, MPI_DOUBLE, message, MPI_STATUS_IGNORE);
    expect("imrecv comm=0 peer=%s tag=0 bytes=4 esize=4 req=0 msg=2", to(prev));
    MPI_Imrecv(in, 1, MPI_INT, &boxed[0].message, &request);
    expect("waitall all=1");
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
}

/* A probe that gives its answer again is no event until something else happened,
 * or there were too many to remember. */
static void again(void)
{
    enum { TAGS = 18, REMEMBERED = 16 };

    for (int tag = 0; tag < TAGS; tag++)
        bsend(1, 20 + tag);
    for (int turn = 0; turn < 3; turn++)
        for (int tag = 0; tag < TAGS; tag++) {
            if (turn == 0 || tag >= REMEMBERED)
                expect("probe comm=0 peer=%s tag=%d", to(prev), 20 + tag);
            MPI_Probe(prev, 20 + tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    for (int tag = 0; tag < TAGS; tag++) {
        expect("recv comm=0 peer=%s tag=%d bytes=4 esize=4", to(prev), 20 + tag);
        MPI_Recv(in, 1, MPI_INT, prev, 20 + tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (tag == TAGS - 1)
            break; /* what comes next may be here or not */
        expect("iprobe comm=0 peer=any tag=any from=%s fromtag=%d", to(prev), 21 + tag);
        for (int turn = 0; turn < 3; turn++) {
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
            MUST(flag && status.MPI_TAG == 21 + tag);
        }
    }

    /* another call, another way to ask, another communicator: another answer */
    bsend(1, 1);
    expect("probe comm=0 peer=%s tag=1", to(prev));
    expect("iprobe comm=0 peer=%s tag=1", to(prev));
    expect("iprobe comm=0 peer=any tag=1 from=%s fromtag=1", to(prev));
    expect("iprobe comm=0 peer=%s tag=any from=%s fromtag=1", to(prev), to(prev));
    for (int turn = 0; turn < 3; turn++) {
        MPI_Probe(prev, 1, MPI_COMM_WORLD, &status);
        MPI_Iprobe(prev, 1, MPI_COMM_WORLD, &flag, &status);
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Iprobe(prev, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
        MUST(flag && status.MPI_SOURCE == prev && status.MPI_TAG == 1);
    }
    expect("barrier comm=0");
    MPI_Barrier(MPI_COMM_WORLD);
    expect("probe comm=0 peer=%s tag=1", to(prev));
    MPI_Probe(prev, 1, MPI_COMM_WORLD, &status);
    expect("recv comm=0 peer=%s tag=1 bytes=4 esize=4", to(prev));
    MPI_Recv(in, 1, MPI_INT, prev, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Answers "no"; no message; a handle that was in Fortran's hands. */
static void nobody(void)
{
    MPI_Fint handle;

    for (int i = 0; i < 3; i++) {
        MPI_Improbe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, message, MPI_STATUS_IGNORE);
        MUST(!flag);
    }
    expect("mprobe comm=0 peer=null tag=4 msg=-1");
    MPI_Mprobe(MPI_PROC_NULL, 4, MPI_COMM_WORLD, message, &status);
    MUST(message[0] == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL);
    expect("mrecv comm=0 peer=null tag=any bytes=8 esize=4 msg=-1");
    MPI_Mrecv(in, 2, MPI_INT, message, &status);
    MUST(message[0] == MPI_MESSAGE_NULL && status.MPI_SOURCE == MPI_PROC_NULL);
    expect("improbe comm=0 peer=null tag=any msg=-1");
    MPI_Improbe(MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, message, MPI_STATUS_IGNORE);
    MUST(flag && message[0] == MPI_MESSAGE_NO_PROC);
    expect("imrecv comm=0 peer=null tag=any bytes=8 esize=4 req=0 msg=-1");
    MPI_Imrecv(in, 2, MPI_INT, message, &request);
    expect("wait req=0");
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    bsend(1, 5);
    expect("mprobe comm=0 peer=%s tag=5 msg=0", to(prev));
    MPI_Mprobe(prev, 5, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE);
    handle = MPI_Message_c2f(message[0]);
    message[3] = MPI_Message_f2c(handle);
    expect("mrecv comm=0 peer=%s tag=5 bytes=4 esize=4 msg=0", to(prev));
    MPI_Mrecv(in, 1, MPI_INT, &message[3], MPI_STATUS_IGNORE);
}

/* On a communicator in which the ranks are others. */
static void reversed(void)
{
    MPI_Comm back;
    int there = size - 1 - rank; /* the next one there is the previous one here */

    expect("comm_split comm=0 color=0 key=%d newcomm=2", -rank);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &back);
    expect("bsend comm=2 peer=%s tag=6 bytes=4 esize=4", at((there + 1) % size - there, prev));
    MPI_Bsend(out, 1, MPI_INT, (there + 1) % size, 6, back);
    expect("mprobe comm=2 peer=any tag=any from=%s fromtag=6 msg=0",
           at((there + size - 1) % size - there, next));
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, back, message, MPI_STATUS_IGNORE);
    expect("mrecv comm=2 peer=%s tag=6 bytes=4 esize=4 msg=0",
           at((there + size - 1) % size - there, next));
    MPI_Mrecv(in, 1, MPI_INT, message, MPI_STATUS_IGNORE);
    expect("comm_free comm=2");
    MPI_Comm_free(&back);
}

/* Probed where nothing is recorded: its receive is not, either. */
static void out_of_sight(void)
{
    expect("pcontrol level=0");
    MPI_Pcontrol(0);
    for (int i = 0; i < 2; i++)
        MPI_Bsend(out, 1, MPI_INT, next, 7 + i, MPI_COMM_WORLD);
    MPI_Mprobe(prev, 7, MPI_COMM_WORLD, &message[0], MPI_STATUS_IGNORE);
    MPI_Mprobe(prev, 8, MPI_COMM_WORLD, &message[1], MPI_STATUS_IGNORE);
    expect("pcontrol level=1");
    MPI_Pcontrol(1);
    MPI_Mrecv(in, 1, MPI_INT, &message[0], MPI_STATUS_IGNORE);
    MPI_Imrecv(in, 1, MPI_INT, &message[1], &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int attached = 1 << 20;
    void *buffer = malloc((size_t)attached);

    MPI_Init(&argc, &argv);
    expect_begin(0);
    next = (rank + 1) % size;
    prev = (rank + size - 1) % size;
    MPI_Buffer_attach(buffer, attached);
    probe();
    numbers();
    again();
    nobody();
    reversed();
    out_of_sight();
    MPI_Buffer_detach(&buffer, &attached);
    expect_end();
    MPI_Finalize();
    free(buffer);
    return 0;
}
