/* Blocking point-to-point, in a ring: each rank sends to the next and receives
 * from the previous one, on any number of ranks. */
#include "tests/mpi/expect.h"

#include <string.h>

#define TAG_MAX 32767 /* the least MPI_TAG_UB there may be */

static int next, prev, out[64], in[64];
static char *big;

/* A message on its way whose send cannot block. */
static void bsend(int count, int tag)
{
    expect("bsend comm=0 peer=%s tag=%d bytes=%d esize=4", to(next), tag, 4 * count);
    MPI_Bsend(out, count, MPI_INT, next, tag, MPI_COMM_WORLD);
}

static void send_modes(void)
{
    static const struct {
        const char *name;
        int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
    } mode[] = {
        {"send", MPI_Send}, {"bsend", MPI_Bsend}, {"ssend", MPI_Ssend}, {"rsend", MPI_Rsend}};
    MPI_Request request;

    for (int m = 0; m < 4; m++)
        for (int count = 0; count <= 20; count += 10) {
            int tag = count ? m : TAG_MAX;

            expect("irecv comm=0 peer=%s tag=%d bytes=160 esize=8 req=0", to(prev), tag);
            MPI_Irecv(in, 20, MPI_DOUBLE, prev, tag, MPI_COMM_WORLD, &request);
            expect("barrier comm=0");
            MPI_Barrier(MPI_COMM_WORLD);
            expect("%s comm=0 peer=%s tag=%d bytes=%d esize=8", mode[m].name, to(next), tag,
                   8 * count);
            mode[m].send(out, count, MPI_DOUBLE, next, tag, MPI_COMM_WORLD);
            expect("wait req=0");
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
}

/* Results of calls do not depend on being traced. */
static void told(const MPI_Status *status, int source, int tag, int count)
{
    int got;

    MUST(status->MPI_SOURCE == source && status->MPI_TAG == tag);
    MPI_Get_count(status, MPI_INT, &got);
    MUST(got == count);
}

static void receives(void)
{
    static const struct {
        int any_source, any_tag;
    } how[] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};

    for (int h = 0; h < 4; h++)
        for (int ignore = 0; ignore < 2; ignore++) {
            int source = how[h].any_source ? MPI_ANY_SOURCE : prev;
            int tag = how[h].any_tag ? MPI_ANY_TAG : 40 + h;
            char tag_text[16], match[64] = "";
            MPI_Status status;

            memset(&status, 0x55, sizeof status);
            snprintf(tag_text, sizeof tag_text, "%d", tag);
            if (how[h].any_source || how[h].any_tag)
                snprintf(match, sizeof match, " from=%s fromtag=%d", to(prev), 40 + h);
            bsend(5, 40 + h);
            expect("recv comm=0 peer=%s tag=%s bytes=64 esize=4%s",
                   how[h].any_source ? "any" : to(prev), how[h].any_tag ? "any" : tag_text, match);
            MPI_Recv(in, 16, MPI_INT, source, tag, MPI_COMM_WORLD,
                     ignore ? MPI_STATUS_IGNORE : &status);
            if (!ignore)
                told(&status, prev, 40 + h, 5);
        }
}

static void nobody(void)
{
    MPI_Status status;
    int flag;

    expect("send comm=0 peer=null tag=3 bytes=16 esize=4");
    MPI_Send(out, 4, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
    expect("ssend comm=0 peer=null tag=3 bytes=16 esize=4");
    MPI_Ssend(out, 4, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
    expect("recv comm=0 peer=null tag=3 bytes=16 esize=4");
    MPI_Recv(in, 4, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect("recv comm=0 peer=null tag=any bytes=16 esize=4");
    MPI_Recv(in, 4, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    told(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    expect("sendrecv comm=0 peer=null tag=1 bytes=4 esize=4 rpeer=null rtag=any rbytes=8 resize=4");
    MPI_Sendrecv(out, 1, MPI_INT, MPI_PROC_NULL, 1, in, 2, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect("probe comm=0 peer=null tag=7");
    MPI_Probe(MPI_PROC_NULL, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    /* a poll that finds nothing, ever: no event */
    MPI_Iprobe(MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    MUST(flag && status.MPI_SOURCE == MPI_PROC_NULL);
}

static void both_ways(void)
{
    MPI_Status status;

    expect("sendrecv comm=0 peer=%s tag=1 bytes=12 esize=4 rpeer=%s rtag=1 rbytes=40 resize=1",
           to(next), to(prev));
    MPI_Sendrecv(out, 3, MPI_INT, next, 1, in, 40, MPI_BYTE, prev, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    expect("sendrecv comm=0 peer=%s tag=2 bytes=12 esize=4 rpeer=any rtag=2 rbytes=40 resize=4 "
           "from=%s fromtag=2",
           to(next), to(prev));
    MPI_Sendrecv(out, 3, MPI_INT, next, 2, in, 10, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    expect("sendrecv comm=0 peer=%s tag=3 bytes=12 esize=4 rpeer=any rtag=any rbytes=40 resize=4 "
           "from=%s fromtag=3",
           to(next), to(prev));
    MPI_Sendrecv(out, 3, MPI_INT, next, 3, in, 10, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                 MPI_COMM_WORLD, &status);
    told(&status, prev, 3, 3);
    expect("sendrecv_replace comm=0 peer=%s tag=4 bytes=80 esize=8 rpeer=%s rtag=4 rbytes=80 "
           "resize=8",
           to(next), to(prev));
    MPI_Sendrecv_replace(in, 10, MPI_DOUBLE, next, 4, prev, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect("sendrecv_replace comm=0 peer=%s tag=5 bytes=20 esize=4 rpeer=%s rtag=any rbytes=20 "
           "resize=4 from=%s fromtag=5",
           to(next), to(prev), to(prev));
    MPI_Sendrecv_replace(in, 5, MPI_INT, next, 5, prev, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    told(&status, prev, 5, 5);
    expect("sendrecv_replace comm=0 peer=null tag=5 bytes=20 esize=4 rpeer=null rtag=6 rbytes=20 "
           "resize=4");
    MPI_Sendrecv_replace(in, 5, MPI_INT, MPI_PROC_NULL, 5, MPI_PROC_NULL, 6, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
}

static void probes(void)
{
    MPI_Status status;
    int flag;

    for (int i = 0; i < 3; i++) { /* nobody sends this: no events */
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MUST(!flag);
    }
    bsend(2, 50);
    expect("probe comm=0 peer=any tag=any from=%s fromtag=50", to(prev));
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect("probe comm=0 peer=%s tag=50", to(prev));
    MPI_Probe(prev, 50, MPI_COMM_WORLD, &status);
    told(&status, prev, 50, 2);
    expect("iprobe comm=0 peer=any tag=50 from=%s fromtag=50", to(prev));
    do
        MPI_Iprobe(MPI_ANY_SOURCE, 50, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    while (!flag);
    expect("iprobe comm=0 peer=%s tag=50", to(prev));
    do
        MPI_Iprobe(prev, 50, MPI_COMM_WORLD, &flag, &status);
    while (!flag);
    told(&status, prev, 50, 2);
    expect("recv comm=0 peer=%s tag=50 bytes=8 esize=4", to(prev));
    MPI_Recv(in, 2, MPI_INT, prev, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Messages that are not sent at once, and types whose packed size is not their
 * extent. */
static void sizes(void)
{
    int lengths[2] = {3, 1};
    MPI_Aint displacements[2] = {0, 32};
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}, column, record, wide, empty;
    MPI_Request request;

    expect("irecv comm=0 peer=any tag=any bytes=1000000 esize=1 req=0");
    MPI_Irecv(big, 1000000, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    expect("ssend comm=0 peer=%s tag=0 bytes=999999 esize=1", to(next));
    MPI_Ssend(big + 1000000, 999999, MPI_CHAR, next, 0, MPI_COMM_WORLD);
    expect("wait from=%+d fromtag=0 req=0", prev - rank);
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    MPI_Type_vector(4, 2, 8, MPI_INT, &column);
    MPI_Type_create_struct(2, lengths, displacements, types, &record);
    MPI_Type_create_resized(MPI_INT, 0, 64, &wide);
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&column);
    MPI_Type_commit(&record);
    MPI_Type_commit(&wide);
    MPI_Type_commit(&empty);
    expect("bsend comm=0 peer=%s tag=1 bytes=32 esize=32", to(next));
    MPI_Bsend(big, 1, column, next, 1, MPI_COMM_WORLD);
    expect("recv comm=0 peer=%s tag=1 bytes=32 esize=4", to(prev));
    MPI_Recv(in, 8, MPI_INT, prev, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect("bsend comm=0 peer=%s tag=2 bytes=60 esize=20", to(next));
    MPI_Bsend(big, 3, record, next, 2, MPI_COMM_WORLD);
    expect("recv comm=0 peer=%s tag=2 bytes=60 esize=20", to(prev));
    MPI_Recv(big + 1000, 3, record, prev, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect("bsend comm=0 peer=%s tag=3 bytes=20 esize=4", to(next));
    MPI_Bsend(big, 5, wide, next, 3, MPI_COMM_WORLD);
    expect("recv comm=0 peer=%s tag=3 bytes=28 esize=4", to(prev));
    MPI_Recv(big + 1000, 7, wide, prev, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect("bsend comm=0 peer=%s tag=4 bytes=0 esize=0", to(next));
    MPI_Bsend(big, 5, empty, next, 4, MPI_COMM_WORLD);
    expect("recv comm=0 peer=%s tag=4 bytes=0 esize=0", to(prev));
    MPI_Recv(big, 5, empty, prev, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&column);
    MPI_Type_free(&record);
    MPI_Type_free(&wide);
    MPI_Type_free(&empty);
}

int main(int argc, char **argv)
{
    int attached = 1 << 20;
    void *buffer = malloc((size_t)attached);

    big = calloc(2, 1000000);
    MPI_Init(&argc, &argv);
    expect_begin(0);
    next = (rank + 1) % size;
    prev = (rank + size - 1) % size;
    MPI_Buffer_attach(buffer, attached);

    send_modes();
    receives();
    nobody();
    both_ways();
    probes();
    sizes();
    /* the communicator of one rank, in which we are rank 0 */
    expect("sendrecv comm=1 peer=%s tag=1 bytes=8 esize=4 rpeer=any rtag=1 rbytes=8 resize=4 "
           "from=%s fromtag=1",
           at(0, rank), at(0, rank));
    MPI_Sendrecv(out, 2, MPI_INT, 0, 1, in, 2, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);

    MPI_Buffer_detach(&buffer, &attached);
    expect_end();
    MPI_Finalize();
    free(buffer);
    free(big);
    return 0;
}
