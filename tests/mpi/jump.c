/*
 * MPI calls that are left from inside, by longjmp(): jump WHAT.  On any number of
 * ranks.
 *
 *   handler   out of an error handler, to places at the same depth of the stack,
 *             above and below it; events are as if the call had failed
 *   nested    the handler called MPI before: recording stops
 *   unwritten the next call's frames lie over the old ones, but have not written
 *             there: the events are right, or recording stops
 *   abort     the handler calls MPI_Abort
 */
#include "tests/mpi/expect.h"

#include <alloca.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

static jmp_buf back;
static const char *what = "";
static int handled;

static void handle(MPI_Comm *comm, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;

    (void)comm;
    handled++;
    MPI_Error_string(*code, text, &len); /* a pass-through call inside another */
    if (strcmp(what, "nested") == 0)
        MPI_Barrier(MPI_COMM_SELF);
    if (strcmp(what, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 9);
    longjmp(back, 1);
}

static __attribute__((noinline)) void fail_here(void)
{
    MPI_Send(NULL, 1, MPI_INT, size, 1, MPI_COMM_WORLD);
}

/* Call with `bytes` of stack in between, which are written or not. */
static __attribute__((noinline)) void deep(void (*call)(void), size_t bytes, bool written)
{
    volatile char *room = alloca(bytes);

    for (size_t i = 0; written && i < bytes; i++)
        room[i] = 1;
    call();
    room[0] = 2; /* so that the call is none at the end */
}

static void barrier(void)
{
    expect("barrier comm=0");
    MPI_Barrier(MPI_COMM_WORLD);
}

static void receive(void)
{
    int in;

    expect("recv comm=0 peer=null tag=3 bytes=4 esize=4");
    MPI_Recv(&in, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void pass_through(void)
{
    int n = 0;

    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MUST(n == size);
}

/* Fail with much stack, go on with little; and the other way round. */
static void fail_and(void (*then)(void), size_t failing, size_t going_on)
{
    int before = handled;

    if (setjmp(back) == 0) {
        deep(fail_here, failing, true);
        MUST(!"the handler returned");
    }
    MUST(handled == before + 1);
    deep(then, going_on, strcmp(what, "unwritten") != 0);
}

int main(int argc, char **argv)
{
    static const size_t room[] = {16, 64, 100, 256, 1000, 5000};
    void (*const then[])(void) = {barrier, receive, pass_through};
    MPI_Errhandler handler;

    what = argc > 1 ? argv[1] : what;
    MPI_Init(&argc, &argv);
    expect_begin(0);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    barrier();
    if (strcmp(what, "handler") != 0)
        fail_and(barrier, 16, strcmp(what, "unwritten") == 0 ? 20000 : 16);
    else
        for (int a = 0; a < 6; a++)
            for (int b = 0; b < 6; b++)
                for (int t = 0; t < 3; t++)
                    fail_and(then[t], room[a], room[b]);
    receive();
    barrier();
    MPI_Errhandler_free(&handler);
    expect_end();
    MPI_Finalize();
    return 0;
}
