/* Applications that a tracer could harm: harmless WHAT.  On 2 ranks. */
#include "tests/mpi/expect.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int out[64], in[64], peer;

static void talk(int times)
{
    for (int i = 0; i < times; i++)
        MPI_Sendrecv(out, 8, MPI_INT, peer, 1, in, 8, MPI_INT, peer, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
}

/* Says something on both outputs, and behind it how it was buffered. */
static void output(void)
{
    if (rank == 0) {
        printf("to standard output, %d\n", isatty(STDOUT_FILENO));
        fprintf(stderr, "to standard error, %d\n", isatty(STDERR_FILENO));
        printf("without a newline");
    }
    talk(500);
}

/* Children that end in different ways; the trace is the parent's. */
static void children(void)
{
    int status;

    for (int how = 0; how < 3; how++) {
        pid_t child = fork();

        if (child == 0) {
            if (how == 0)
                exit(0);
            if (how == 1)
                _exit(0);
            execlp("true", "true", (char *)NULL);
            _exit(127);
        }
        MUST(child > 0 && waitpid(child, &status, 0) == child && status == 0);
        talk(100);
    }
    MUST(system("exit 3") >> 8 == 3);
    talk(100);
}

static void *other_thread(void *arg)
{
    usleep(20000);
    for (int i = 0; i < 1000; i++)
        MPI_Sendrecv(out, 1, MPI_INT, 0, 2, in + 32, 1, MPI_INT, 0, 2, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
    return arg;
}

/* A second thread begins to call MPI while the first is in a call, most likely one
 * that makes a communicator; and goes on at the same time. */
static void threads(void)
{
    pthread_t thread;
    MPI_Comm comm;

    MUST(pthread_create(&thread, NULL, other_thread, NULL) == 0);
    for (int i = 0; i < 1500; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_free(&comm);
    }
    pthread_join(thread, NULL);
    talk(100);
}

/* A worker thread that does not call MPI. */
static void *silent_thread(void *arg)
{
    volatile int work = 0;

    (void)arg;
    for (int i = 0; i < 1000000; i++)
        work++;
    return NULL;
}

static void funneled(void)
{
    pthread_t thread;

    MUST(pthread_create(&thread, NULL, silent_thread, NULL) == 0);
    talk(100);
    pthread_join(thread, NULL);
    talk(100);
}

/* Which kinds of calls change errno.  Enough of them that the library writes its
 * file in between. */
static void keeps_errno(void)
{
    enum { SEND, RECV, ISEND, WAIT, BARRIER, DUP, FREE, SIZE, KINDS };
    static const char *const name[] = {"send",    "recv",     "isend",     "wait",
                                       "barrier", "comm_dup", "comm_free", "comm_size"};
    int changed[KINDS] = {0}, n;
    MPI_Request request;
    MPI_Comm comm;

#define CALL(kind, call)                                                                           \
    do {                                                                                           \
        errno = 12345;                                                                             \
        call;                                                                                      \
        changed[kind] += errno != 12345;                                                           \
    } while (0)
    for (int i = 0; i < 20000; i++) {
        CALL(ISEND, MPI_Isend(out, 1, MPI_INT, 0, i % 1000, MPI_COMM_SELF, &request));
        CALL(RECV, MPI_Recv(in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF,
                            MPI_STATUS_IGNORE));
        CALL(WAIT, MPI_Wait(&request, MPI_STATUS_IGNORE));
        CALL(SEND, MPI_Send(out, i % 60, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_SELF));
        CALL(SIZE, MPI_Comm_size(MPI_COMM_SELF, &n));
        if (i % 1000 == 0) {
            CALL(DUP, MPI_Comm_dup(MPI_COMM_SELF, &comm));
            CALL(BARRIER, MPI_Barrier(comm));
            CALL(FREE, MPI_Comm_free(&comm));
        }
    }
    for (int k = 0; k < KINDS; k++)
        if (rank == 0)
            printf("%s: %d changed\n", name[k], changed[k]);
}

/* Requests that the library has not seen being made, several in one call. */
static void strangers(void)
{
    MPI_Request request[4];

    for (int i = 0; i < 2; i++) {
        PMPI_Irecv(in + i, 1, MPI_INT, peer, i, MPI_COMM_WORLD, &request[i]);
        PMPI_Isend(out + i, 1, MPI_INT, peer, i, MPI_COMM_WORLD, &request[2 + i]);
    }
    MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
    talk(10);
}

/* A trace that does not compress. */
static void noisy(void)
{
    unsigned seed = (unsigned)rank + 1;
    int changed = 0;

    for (int i = 0; i < 100000; i++) {
        seed = seed * 1103515245 + 12345;
        errno = 12345;
        MPI_Send(out, (int)(seed >> 8 & 4095), MPI_INT, MPI_PROC_NULL, (int)(seed >> 16 & 32767),
                 MPI_COMM_WORLD);
        changed += errno != 12345;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("errno was changed %d times\n", changed);
}

/* Closes the descriptor of the trace, as closefrom() would, and has its number for a file
 * of its own, which the library must leave alone. */
static void take_descriptor(void)
{
    char link[64], name[4096];
    FILE *mine = tmpfile();
    struct stat st;

    fputs("precious", mine);
    fflush(mine);
    for (int fd = 3; fd < 1024; fd++) {
        ssize_t n;

        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        n = readlink(link, name, sizeof name);
        if (n > 3 && memcmp(name + n - 3, ".ti", 3) == 0)
            dup2(fileno(mine), fd);
    }
    MUST(chdir("/") == 0);
    noisy();
    MUST(fstat(fileno(mine), &st) == 0 && st.st_size == 8);
    fclose(mine);
}

static void on_alarm(int sig)
{
    MPI_Abort(MPI_COMM_WORLD, sig);
}

/* MPI is called, and may not be, in the middle of whatever is going on. */
static void alarmed(void)
{
    struct itimerval soon = {.it_value.tv_usec = 20000};

    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &soon, NULL);
    for (;;)
        noisy();
}

/* A message of 2^73 bytes, to nobody. */
static void huge(void)
{
    MPI_Datatype some, many;

    MPI_Type_contiguous(1 << 20, MPI_INT, &some);
    MPI_Type_contiguous(2147483647, some, &many);
    MPI_Type_commit(&many);
    talk(5);
    MPI_Send(out, 1 << 20, many, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    talk(5);
}

/* Files may not grow: writing beyond the limit would bring SIGXFSZ, which ends
 * a process. */
static void limited(void)
{
    struct rlimit files;

    getrlimit(RLIMIT_FSIZE, &files);
    files.rlim_cur = 65536;
    setrlimit(RLIMIT_FSIZE, &files);
    noisy();
}

int main(int argc, char **argv)
{
    static const char *const level[] = {"single", "funneled", "serialized", "multiple"};
    const char *what = argc == 2 ? argv[1] : "";
    int provided = -1, flag;

    MPI_Initialized(&flag);
    if (flag || strcmp(what, "no-mpi") == 0)
        return flag;
    for (int i = 0; i < 4; i++)
        if (strcmp(what, level[i]) == 0 || (i == 3 && strcmp(what, "threads") == 0))
            MPI_Init_thread(&argc, &argv, i, &provided);
    if (provided < 0)
        MPI_Init(&argc, &argv);
    expect_begin(provided < 0 ? 0 : provided);
    peer = size == 1 ? 0 : 1 - rank;

    if (strcmp(what, "output") == 0)
        output();
    else if (strcmp(what, "children") == 0)
        children();
    else if (strcmp(what, "descriptor") == 0)
        take_descriptor();
    else if (strcmp(what, "huge") == 0)
        huge();
    else if (strcmp(what, "alarmed") == 0)
        alarmed();
    else if (strcmp(what, "threads") == 0 && provided == MPI_THREAD_MULTIPLE)
        threads();
    else if (strcmp(what, "funneled") == 0)
        funneled();
    else if (strcmp(what, "errno") == 0)
        keeps_errno();
    else if (strcmp(what, "strangers") == 0)
        strangers();
    else if (strcmp(what, "noisy") == 0)
        noisy();
    else if (strcmp(what, "limited") == 0)
        limited();
    else if (strcmp(what, "single") && strcmp(what, "serialized") && strcmp(what, "multiple"))
        talk(300);

    if (strcmp(what, "return") == 0) /* no MPI_Finalize */
        return 5;
    if (strcmp(what, "exit") == 0)
        exit(6);
    if (strcmp(what, "orphan") == 0)
        children();
    if (strcmp(what, "_exit") == 0 || strcmp(what, "orphan") == 0)
        _exit(7);
    if (strcmp(what, "kill") == 0)
        abort();
    if (strcmp(what, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 8);

    expect_end();
    MPI_Finalize();
    MPI_Finalized(&flag);
    return !flag;
}
