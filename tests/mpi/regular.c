/*
 * A regular loop, and what comes into its way:
 *
 *   regular plain|fork|threads|abort|exit|kill [TRIPS]
 *
 * fork: in the middle of the loop a child goes on with it on its own, calls MPI, and exits.
 * threads: the threads of a rank take turns, a call each (MPI_THREAD_SERIALIZED).
 * abort, exit, kill: after the loop rank 1 ends the run by MPI_Abort, by exit() without
 * MPI_Finalize, or by SIGKILL, when all have left the last barrier.
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, np, trips = 1000;

static void message(void)
{
    int in, next = (rank + 1) % np, last = (rank + np - 1) % np;

    MPI_Sendrecv(&rank, 1, MPI_INT, next, 3, &in, 1, MPI_INT, last, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void sum(void)
{
    double mine = 1, all;

    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* Calls that need no other process. */
static void child(void)
{
    for (int i = 0; i < 3 * trips; i++) {
        MPI_Send(&i, 1, MPI_INT, MPI_PROC_NULL, i % 2, MPI_COMM_WORLD);
        MPI_Recv(&i, 1, MPI_INT, MPI_PROC_NULL, i % 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    exit(0);
}

static void fork_once(void)
{
    pid_t pid = fork();

    if (pid == 0)
        child();
    waitpid(pid, NULL, 0);
}

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int whose;

/* Thread `arg`, 0 or 1, makes every second call. */
static void *take_turns(void *arg)
{
    int me = arg != NULL;

    for (int i = 0; i < trips; i++) {
        pthread_mutex_lock(&turn);
        while (whose != me)
            pthread_cond_wait(&turned, &turn);
        if (me)
            sum();
        else
            message();
        whose = !me;
        pthread_cond_broadcast(&turned);
        pthread_mutex_unlock(&turn);
    }
    return NULL;
}

static void end(const char *how)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && !strcmp(how, "abort"))
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (rank == 1 && !strcmp(how, "exit"))
        exit(7);
    if (rank == 1 && !strcmp(how, "kill"))
        raise(SIGKILL);
    if (!strcmp(how, "abort") || !strcmp(how, "exit") || !strcmp(how, "kill"))
        pause();
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "plain";
    int level;
    pthread_t other;

    if (argc > 2)
        trips = atoi(argv[2]);
    MPI_Init_thread(&argc, &argv,
                    !strcmp(how, "threads") ? MPI_THREAD_SERIALIZED : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    if (!strcmp(how, "threads")) {
        pthread_create(&other, NULL, take_turns, &rank);
        take_turns(NULL);
        pthread_join(other, NULL);
    } else {
        for (int i = 0; i < trips; i++) {
            message();
            if (i == trips / 2 && !strcmp(how, "fork"))
                fork_once();
            sum();
        }
    }
    end(how);
    MPI_Finalize();
    return 0;
}
