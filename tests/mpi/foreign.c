/* Actions of an application on the process that the library must cope with: foreign WHAT.
 * On 2 ranks. */
#include "tests/mpi/expect.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

static char in[20000], out[20000];

static void talk(int times)
{
    for (int i = 0; i < times; i++)
        MPI_Sendrecv(out, i % 20000, MPI_BYTE, 1 - rank, 1, in, sizeof in, MPI_BYTE, 1 - rank, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void on_alarm(int sig)
{
    (void)sig;
    MPI_Wtime();
}

/* A handler on a stack above the frames of MPI calls calls MPI itself, as it may not, and does
 * well without us. */
static void alternate(void)
{
    char stack[65536];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART | SA_ONSTACK};
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};

    sigaltstack(&other, NULL);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    talk(20000);
    setitimer(ITIMER_REAL, &never, NULL);
}

/* Closes descriptors that are the counter's, and reads a file of its own by the numbers that it
 * gets then. */
static void counters(void)
{
    char link[64], name[4096];
    int fd[8], n = 0;

    for (int i = 3; i < 1024; i++) {
        ssize_t length;

        snprintf(link, sizeof link, "/proc/self/fd/%d", i);
        length = readlink(link, name, sizeof name - 1);
        name[length < 0 ? 0 : length] = '\0';
        if (strstr(name, "perf_event")) {
            MUST(i > 256); /* or a file of ours would get the number */
            close(i);
        }
    }
    while (n < 8 && (fd[n] = open("/proc/self/exe", O_RDONLY)) >= 0)
        n++;
    for (int i = 0; i < 100; i++) {
        talk(1);
        for (int k = 0; k < n; k++) {
            char c;

            MUST(lseek(fd[k], 0, SEEK_CUR) == i && read(fd[k], &c, 1) == 1);
        }
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    struct rlimit files = {18, 4096};

    if (strcmp(what, "files") == 0)
        setrlimit(RLIMIT_NOFILE, &files);
    MPI_Init(&argc, &argv);
    expect_begin(0);
    if (strcmp(what, "locale") == 0) {
        MUST(setlocale(LC_ALL, argv[2]));
        usleep(300000);
    }
    if (strcmp(what, "alternate") == 0)
        alternate();
    if (strcmp(what, "counters") == 0)
        counters();
    talk(10);
    expect_end();
    MPI_Finalize();
    return 0;
}
