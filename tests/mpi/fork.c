/*
 * A process that fork() makes may call MPI, allowed or not: libraries do when it
 * exits.  Its parent's trace must not show anything of it.  On any number of ranks.
 *
 * The parent has so many live requests that the library keeps them in a file,
 * which the child shares; the child completes them, and makes so many events that
 * the library would write its trace.  None of its calls needs another process.
 */
#include "tests/mpi/expect.h"

#include <pthread.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIVE = 2000, CALLS = 20000 };

static MPI_Request live[LIVE];
static pid_t parent;

/* As a library's, registered before MPI is started. */
static void at_end(void)
{
    int flag;

    if (getpid() == parent)
        return;
    MPI_Initialized(&flag);
    MPI_Finalized(&flag);
    MPI_Comm_rank(MPI_COMM_WORLD, &flag);
    MPI_Send(&flag, 1, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD);
}

/* So that a trace of it does not compress, and is longer than the parent's. */
static void send_much(void)
{
    unsigned seed = 1;

    for (int i = 0; i < CALLS; i++) {
        seed = seed * 1103515245 + 12345;
        MPI_Send(&i, 1, MPI_INT, MPI_PROC_NULL, (int)(seed >> 16 & 32767), MPI_COMM_WORLD);
    }
}

static void child(void)
{
    MPI_Request request;
    MPI_Datatype pair;
    int in;

    expect_file = NULL;
    send_much();
    MPI_Waitall(LIVE, live, MPI_STATUSES_IGNORE);
    for (int i = 0; i < CALLS; i++) {
        MPI_Irecv(&in, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_free(&pair);
    MPI_Pcontrol(0);
}

static void *in_thread(void *arg)
{
    child();
    return arg;
}

static void wait_for(pid_t pid)
{
    int status;

    MUST(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static void step(int tag)
{
    expect("send comm=0 peer=null tag=%d bytes=4 esize=4", tag);
    MPI_Send(&tag, 1, MPI_INT, MPI_PROC_NULL, tag, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    pid_t pid;

    parent = getpid();
    atexit(at_end);
    MPI_Init(&argc, &argv);
    expect_begin(0);
    for (int i = 0; i < LIVE; i++) {
        expect("irecv comm=0 peer=null tag=5 bytes=0 esize=4 req=%d", i);
        MPI_Irecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &live[i]);
    }
    for (int how = 0; how < 3; how++) {
        step(how);
        if (expect_file)
            fflush(expect_file);
        pid = fork();
        if (pid == 0) {
            if (how < 2)
                child();
            else if (pthread_create(&thread, NULL, in_thread, NULL) == 0)
                pthread_join(thread, NULL);
            if (how == 0)
                _exit(0);
            exit(0);
        }
        wait_for(pid);
    }
#if defined __GLIBC__ && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
    /* a child that runs no handlers of pthread_atfork() */
    if (expect_file)
        fflush(expect_file);
    pid = _Fork();
    if (pid == 0) {
        child();
        exit(0);
    }
    wait_for(pid);
#endif
    for (int i = 0; i < LIVE; i++) {
        expect("wait req=%d", LIVE - 1 - i);
        MPI_Wait(&live[LIVE - 1 - i], MPI_STATUS_IGNORE);
    }
    step(3);
    expect_end();
    MPI_Finalize();
    return 0;
}
