/*
 * Datatypes of every combiner: a volume is the packed size, whatever the type looks
 * like in memory.  Sizes here follow from the standard and the sizes of C's types.
 * Nothing is sent far: the receiver is MPI_PROC_NULL, but for a last message.
 */
#define OMPI_OMIT_MPI1_COMPAT_DECLS 0 /* Open MPI declares MPI-1's forms only so */
#include "tests/mpi/expect.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static char buf[4096];

/* A message of `count` elements of `bytes` bytes. */
static void message(int count, MPI_Datatype type, long long bytes)
{
    expect("send comm=0 peer=null tag=1 bytes=%lld esize=%lld", count * bytes, bytes);
    MPI_Send(buf, count, type, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
}

/* A derived type, twice used, then freed. */
static void derived(MPI_Datatype type, int combiner, long long bytes)
{
    int ints, addresses, types, found;

    MPI_Type_commit(&type);
    message(2, type, bytes);
    message(1, type, bytes);
    MPI_Type_get_envelope(type, &ints, &addresses, &types, &found);
    MUST(found == combiner);
    MPI_Type_free(&type);
    MUST(type == MPI_DATATYPE_NULL);
}

static void named(void)
{
    message(3, MPI_BYTE, 1);
    message(3, MPI_PACKED, 1);
    message(3, MPI_CHAR, 1);
    message(3, MPI_WCHAR, sizeof(wchar_t));
    message(3, MPI_SHORT, 2);
    message(3, MPI_UNSIGNED, 4);
    message(3, MPI_LONG_LONG, 8);
    message(3, MPI_INT64_T, 8);
    message(3, MPI_FLOAT, 4);
    message(3, MPI_LONG_DOUBLE, sizeof(long double));
    message(3, MPI_C_BOOL, 1);
    message(3, MPI_C_DOUBLE_COMPLEX, 16);
    message(3, MPI_AINT, sizeof(MPI_Aint));
    message(3, MPI_OFFSET, sizeof(MPI_Offset));
    message(3, MPI_COUNT, sizeof(MPI_Count));
    /* pairs: what is between value and index is not sent */
    message(3, MPI_2INT, 8);
    message(3, MPI_FLOAT_INT, 8);
    message(3, MPI_DOUBLE_INT, 12);
    message(3, MPI_SHORT_INT, 6);
    message(3, MPI_LONG_INT, sizeof(long) + 4);
    message(0, MPI_INT, 4);
}

static void regular(void)
{
    MPI_Datatype type;

    MPI_Type_dup(MPI_INT, &type);
    derived(type, MPI_COMBINER_DUP, 4);
    MPI_Type_contiguous(3, MPI_INT, &type);
    derived(type, MPI_COMBINER_CONTIGUOUS, 12);
    MPI_Type_contiguous(0, MPI_INT, &type);
    derived(type, MPI_COMBINER_CONTIGUOUS, 0);
    MPI_Type_vector(3, 2, 4, MPI_INT, &type);
    derived(type, MPI_COMBINER_VECTOR, 24);
    MPI_Type_create_hvector(3, 2, 100, MPI_INT, &type);
    derived(type, MPI_COMBINER_HVECTOR, 24);
    MPI_Type_create_resized(MPI_INT, 0, 64, &type);
    derived(type, MPI_COMBINER_RESIZED, 4);
}

static void irregular(void)
{
    int lengths[3] = {1, 2, 3}, starts[3] = {0, 5, 9};
    MPI_Aint far[3] = {0, 40, 200};
    MPI_Datatype type, fields[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};

    MPI_Type_indexed(3, lengths, starts, MPI_INT, &type);
    derived(type, MPI_COMBINER_INDEXED, 24);
    MPI_Type_create_hindexed(3, lengths, far, MPI_INT, &type);
    derived(type, MPI_COMBINER_HINDEXED, 24);
    MPI_Type_create_indexed_block(3, 2, starts, MPI_INT, &type);
    derived(type, MPI_COMBINER_INDEXED_BLOCK, 24);
    MPI_Type_create_hindexed_block(3, 2, far, MPI_INT, &type);
    derived(type, MPI_COMBINER_HINDEXED_BLOCK, 24);
    MPI_Type_create_struct(3, lengths, far, fields, &type);
    derived(type, MPI_COMBINER_STRUCT, 4 + 2 * 8 + 3);
#ifdef OPEN_MPI
    MPI_Type_hvector(3, 2, 100, MPI_INT, &type);
    derived(type, MPI_COMBINER_HVECTOR, 24);
    MPI_Type_hindexed(3, lengths, far, MPI_INT, &type);
    derived(type, MPI_COMBINER_HINDEXED, 24);
    MPI_Type_struct(3, lengths, far, fields, &type);
    derived(type, MPI_COMBINER_STRUCT, 4 + 2 * 8 + 3);
#endif
}

static void arrays(void)
{
    int whole[2] = {4, 5}, part[2] = {2, 3}, start[2] = {1, 1};
    int gsize = 10, distribution = MPI_DISTRIBUTE_BLOCK, argument = MPI_DISTRIBUTE_DFLT_DARG;
    int procs = 4, blocks[4] = {3, 3, 3, 1};
    MPI_Datatype type;

    MPI_Type_create_subarray(2, whole, part, start, MPI_ORDER_C, MPI_INT, &type);
    derived(type, MPI_COMBINER_SUBARRAY, 2 * 3 * 4);
    for (int i = 0; i < 4; i++) {
        MPI_Type_create_darray(4, i, 1, &gsize, &distribution, &argument, &procs, MPI_ORDER_C,
                               MPI_INT, &type);
        derived(type, MPI_COMBINER_DARRAY, 4LL * blocks[i]);
    }
}

/* Types by precision: MPI's own, although they have no name; never freed. */
static void by_precision(void)
{
    MPI_Datatype type;

    for (int turn = 0; turn < 2; turn++) {
        MPI_Type_create_f90_real(6, 30, &type);
        message(2, type, 4);
        MPI_Type_create_f90_real(15, 300, &type);
        message(2, type, 8);
        MPI_Type_create_f90_complex(6, 30, &type);
        message(2, type, 8);
        MPI_Type_create_f90_integer(9, &type);
        message(2, type, 4);
        MPI_Type_create_f90_integer(18, &type);
        message(2, type, 8);
    }
}

/* A handle means the type that it was given to last. */
static void handles_again(void)
{
    MPI_Datatype type, many[1000];

    for (int i = 1; i < 300; i++) {
        MPI_Type_contiguous(i, MPI_BYTE, &type);
        MPI_Type_commit(&type);
        message(1, type, i);
        if (i % 2)
            MPI_Type_free(&type);
        else
            PMPI_Type_free(&type); /* as a library may that looks past us */
    }
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < 1000; i++) {
            if (turn == 0) {
                MPI_Type_contiguous(i, MPI_SHORT, &many[i]);
                MPI_Type_commit(&many[i]);
            }
            message(2, many[i], 2 * i);
        }
    for (int i = 0; i < 1000; i++)
        MPI_Type_free(&many[i]);
}

/* Sizes that no int holds. */
static void large(void)
{
    MPI_Datatype type, larger;

    message(2147483647, MPI_DOUBLE, 8);
    MPI_Type_contiguous(1 << 30, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    message(3, type, 8LL << 30);
    MPI_Type_contiguous(1 << 10, type, &larger);
    MPI_Type_commit(&larger);
    message(5, larger, 8LL << 40);
    MPI_Type_free(&type);
    message(5, larger, 8LL << 40);
    MPI_Type_free(&larger);
}

static int copies, deletes;

static int copy(MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag)
{
    (void)type, (void)key, (void)extra;
    copies++;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_it(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type, (void)key, (void)extra;
    MUST(value == buf);
    deletes++;
    return MPI_SUCCESS;
}

/* The application's attributes are its own. */
static void attributes(void)
{
    MPI_Datatype type, twin;
    int key, other, flag;
    void *value;

    MPI_Type_create_keyval(copy, delete_it, &key, NULL);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &other, NULL);
    MPI_Type_vector(2, 1, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    message(1, type, 8);
    MPI_Type_get_attr(type, key, &value, &flag);
    MUST(!flag);
    MPI_Type_set_attr(type, key, buf);
    message(1, type, 8);
    MPI_Type_get_attr(type, key, &value, &flag);
    MUST(flag && value == buf);
    MPI_Type_dup(type, &twin);
    MUST(copies == 1 && deletes == 0);
    MPI_Type_free(&type);
    message(1, twin, 8);
    MPI_Type_get_attr(twin, other, &value, &flag);
    MUST(!flag);
    MPI_Type_get_attr(twin, key, &value, &flag);
    MUST(flag && value == buf);
    MPI_Type_free(&twin);
    MUST(copies == 1 && deletes == 2);
    MPI_Type_free_keyval(&key);
    MPI_Type_free_keyval(&other);
}

/* The data that was sent arrives: every second int of ten, to the next rank. */
static void to_the_next(void)
{
    int out[10], in[10], next = (rank + 1) % size, prev = (rank + size - 1) % size;
    MPI_Datatype type;

    for (int i = 0; i < 10; i++) {
        out[i] = 100 * rank + i;
        in[i] = -1;
    }
    MPI_Type_vector(5, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    expect("sendrecv comm=0 peer=%s tag=2 bytes=20 esize=20 rpeer=%s rtag=2 rbytes=20 resize=4",
           to(next), to(prev));
    MPI_Sendrecv(out, 1, type, next, 2, in, 5, MPI_INT, prev, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 5; i++)
        MUST(in[i] == 100 * prev + 2 * i);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin(0);
    named();
    regular();
    irregular();
    arrays();
    by_precision();
    handles_again();
    large();
    attributes();
    to_the_next();
    expect_end();
    MPI_Finalize();
    return 0;
}
