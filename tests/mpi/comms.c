/* Communicators: how they are numbered, and what is relative to them.  On 3 or
 * more ranks. */
#include "tests/mpi/expect.h"

static int out, in;

/* A message to the next rank in comm, whose world ranks are `world`. */
static void ring(MPI_Comm comm, int c, const int *world)
{
    int me, n, next, prev;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    MUST(world[me] == rank);
    next = (me + 1) % n;
    prev = (me + n - 1) % n;
    expect("sendrecv comm=%d peer=%s tag=3 bytes=4 esize=4 rpeer=any rtag=3 rbytes=4 resize=4 "
           "from=%s fromtag=3",
           c, at(next - me, world[next]), at(prev - me, world[prev]));
    MPI_Sendrecv(&out, 1, MPI_INT, next, 3, &in, 1, MPI_INT, MPI_ANY_SOURCE, 3, comm,
                 MPI_STATUS_IGNORE);
    expect("bcast comm=%d bytes=4 esize=4 root=%d", c, n - 1);
    MPI_Bcast(&in, 1, MPI_INT, n - 1, comm);
}

static void dup_and_split(const int *world)
{
    MPI_Comm twin, half, twin_of_half;
    int reverse[64], odd[64], n = 0, c = 2;

    expect("comm_dup comm=0 newcomm=%d", c);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    ring(twin, 2, world);

    /* all in one, in opposite order */
    expect("comm_split comm=2 color=7 key=%d newcomm=3", -10 * rank);
    MPI_Comm_split(twin, 7, -10 * rank, &half);
    for (int i = 0; i < size; i++)
        reverse[i] = size - 1 - i;
    ring(half, 3, reverse);
    expect("comm_free comm=3");
    MPI_Comm_free(&half);
    MUST(half == MPI_COMM_NULL);

    /* the odd ranks; the even ones are in none.  A number is not used twice,
     * whatever handle the library gives. */
    if (rank % 2) {
        expect("comm_split comm=0 color=1 key=0 newcomm=4");
        for (int i = 1; i < size; i += 2)
            odd[n++] = i;
    } else {
        expect("comm_split comm=0 color=null key=0 newcomm=null");
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2 ? 1 : MPI_UNDEFINED, 0, &half);
    MUST((half == MPI_COMM_NULL) == (rank % 2 == 0));
    c = 4;
    if (rank % 2) {
        ring(half, 4, odd);
        expect("comm_dup comm=4 newcomm=5");
        MPI_Comm_dup(half, &twin_of_half);
        ring(twin_of_half, 5, odd);
        expect("comm_free comm=4");
        MPI_Comm_free(&half);
        ring(twin_of_half, 5, odd);
        expect("comm_free comm=5");
        MPI_Comm_free(&twin_of_half);
        c = 6;
    }
    expect("comm_free comm=2");
    MPI_Comm_free(&twin);

    /* made and freed again and again: new numbers each time */
    for (int i = 0; i < 70; i++) {
        expect("comm_dup comm=0 newcomm=%d", c);
        MPI_Comm_dup(MPI_COMM_WORLD, &twin);
        expect("barrier comm=%d", c);
        MPI_Barrier(twin);
        expect("comm_free comm=%d", c);
        MPI_Comm_free(&twin);
        c++;
    }
    expect("allreduce comm=0 bytes=4 esize=4 redop=max");
    MPI_Allreduce(MPI_IN_PLACE, &c, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
}

/* How many this rank has met. */
static int met;

static void create_and_cart(void)
{
    int members[2] = {size - 1, 0}, dims[2] = {2, 1}, periods[2] = {1, 0}, line = size, yes = 1;
    int cart_world[2] = {0, 1}, all[64], coords[1], position;
    MPI_Group world, group;
    MPI_Comm pair, cart, many[40];

    /* the last and the first rank, in this order */
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 2, members, &group);
    if (rank == 0 || rank == size - 1)
        expect("comm_create comm=0 newcomm=%d", met);
    else
        expect("comm_create comm=0 newcomm=null");
    MPI_Comm_create(MPI_COMM_WORLD, group, &pair);
    if (pair != MPI_COMM_NULL) {
        ring(pair, met, members);
        expect("comm_free comm=%d", met++);
        MPI_Comm_free(&pair);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&world);

    /* 2 x 1 of the ranks; the others are in none */
    if (rank < 2)
        expect("cart_create comm=0 newcomm=%d reorder=0 dims=[2,1] periods=[1,0]", met);
    else
        expect("cart_create comm=0 newcomm=null reorder=0 dims=[2,1] periods=[1,0]");
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
    MUST((cart == MPI_COMM_NULL) == (rank >= 2));
    if (cart != MPI_COMM_NULL) {
        ring(cart, met, cart_world);
        expect("comm_free comm=%d", met++);
        MPI_Comm_free(&cart);
    }
    expect("cart_create comm=0 newcomm=%d reorder=1 dims=[%d] periods=[1]", met, size);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &line, &yes, 1, &cart);
    MPI_Comm_rank(cart, &position);
    MPI_Cart_coords(cart, position, 1, coords);
    expect("allgather comm=%d bytes=4 esize=4 rbytes=4 resize=4", met);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, cart);
    ring(cart, met, all);
    expect("comm_free comm=%d", met++);
    MPI_Comm_free(&cart);

    /* many at once */
    for (int i = 0; i < 40; i++) {
        expect("comm_dup comm=0 newcomm=%d", met + i);
        MPI_Comm_dup(MPI_COMM_WORLD, &many[i]);
    }
    for (int i = 0; i < 40; i += 2) {
        expect("comm_free comm=%d", met + i);
        MPI_Comm_free(&many[i]);
    }
    for (int i = 1; i < 40; i += 2) {
        expect("barrier comm=%d", met + i);
        MPI_Barrier(many[i]);
        expect("comm_free comm=%d", met + i);
        MPI_Comm_free(&many[i]);
    }
    met += 40;
}

/* A request lives on after its communicator was freed. */
static void request_outlives(void)
{
    int me, n, next, prev;
    MPI_Request requests[2];
    MPI_Comm comm;

    expect("comm_split comm=0 color=0 key=%d newcomm=%d", size - rank, met);
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &comm);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    next = (me + 1) % n;
    prev = (me + n - 1) % n;
    expect("irecv comm=%d peer=any tag=any bytes=4 esize=4 req=0", met);
    MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[0]);
    expect("isend comm=%d peer=%s tag=8 bytes=4 esize=4 req=1", met,
           at(next - me, size - 1 - next));
    MPI_Isend(&out, 1, MPI_INT, next, 8, comm, &requests[1]);
    expect("comm_free comm=%d", met++);
    MPI_Comm_free(&comm);
    expect("waitall all=1 matched=[0:%+d:8]", prev - me);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    int world[64];

    MPI_Init(&argc, &argv);
    expect_begin(0);
    for (int i = 0; i < size; i++)
        world[i] = i;
    dup_and_split(world);
    met = 2 + 2 + (rank % 2 ? 2 : 0) + 70;
    create_and_cart();
    request_outlives();
    expect_end();
    MPI_Finalize();
    return 0;
}
