/*
 * A program for ti-acquire's tests: acquire-app HOW [SECONDS [MEBIBYTES]].
 *
 * The ranks take MEBIBYTES each and talk for SECONDS; HOW says what becomes of
 * it then: "ok", "early" (crashes before MPI_Init), "crash" (once a trace holds
 * events, however slow the machine is), "abort" (with 7), "abort256", "leave" (without
 * MPI_Finalize), "status" (3, behind MPI_Finalize), "nine" (refuses another number of ranks with
 * status 5), "child" (leaves a process behind), "cwd" (changes directory before MPI_Init), "port"
 * (opens and closes one twice), "still" (does nothing for SECONDS), "avx512" and "early512"
 * (executes such an instruction, at the end or before MPI_Init), "illegal" (one
 * that nobody knows), "system" (runs a shell), "more" (talks once more each time it
 * is run: ../rounds has a byte for each), "until" (talks until ../go is there).
 *
 * Each rank makes ../at-work/RANK, if there is that folder, once all have talked, or before it does
 * nothing.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void execute(const char *how)
{
#ifdef __x86_64__
    if (strstr(how, "512"))
        __asm__ volatile(".byte 0x62, 0xf1, 0xfd, 0x48, 0xef, 0xc0"); /* vpxorq zmm0, zmm0, zmm0 */
    if (strcmp(how, "illegal") == 0)
        __asm__ volatile("ud2");
#else
    raise(SIGILL);
#endif
}

/* How often "more" has been run, this time included. */
static int times_run(void)
{
    FILE *f = fopen("../rounds", "a");
    int n;

    if (!f || fputc('.', f) == EOF || fflush(f) != 0)
        exit(1);
    n = (int)ftell(f);
    fclose(f);
    return n;
}

static void say_at_work(int rank)
{
    char path[64];
    FILE *f;

    snprintf(path, sizeof path, "../at-work/%d", rank);
    f = fopen(path, "w");
    if (f)
        fclose(f);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "ok";
    double seconds = argc > 2 ? atof(argv[2]) : 0, start;
    size_t bytes = argc > 3 ? (size_t)atol(argv[3]) << 20 : 0;
    int rank, size, rounds = 0, least = 0, go = 1, got;
    char *memory;

    if (strcmp(how, "early") == 0)
        raise(SIGSEGV);
    if (strcmp(how, "early512") == 0)
        execute(how);
    if (strcmp(how, "cwd") == 0 && chdir("/") != 0)
        return 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(how, "nine") == 0 && size != 9) {
        MPI_Finalize();
        return 5;
    }
    memory = malloc(bytes + 1);
    if (!memory)
        return 1;
    memset(memory, rank, bytes + 1);
    if (strcmp(how, "child") == 0 && rank == 0 && fork() == 0) {
        setsid();
        for (int fd = 0; fd < 64; fd++) /* mpirun waits for its pipes */
            close(fd);
        execlp("sleep", "sleep", "300", (char *)NULL);
        _exit(1);
    }
    if (strcmp(how, "still") == 0) {
        say_at_work(rank);
        sleep((unsigned)seconds);
    }
    for (int i = 0; i < 2 && strcmp(how, "port") == 0; i++) {
        char port[MPI_MAX_PORT_NAME];

        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
    if (strcmp(how, "more") == 0 && rank == 0)
        least = times_run();
    if (strcmp(how, "crash") == 0)
        least = 200; /* two events each; the first chunk of a trace has 256 */
    for (start = MPI_Wtime(); go; rounds++) {
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT,
                     (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        go = MPI_Wtime() - start < seconds || rounds < least ||
             (strcmp(how, "until") == 0 && access("../go", F_OK) != 0);
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (rounds == 0)
            say_at_work(rank);
        usleep(1000);
    }
    if (strcmp(how, "abort") == 0 && rank == size - 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(how, "abort256") == 0 && rank == size - 1)
        MPI_Abort(MPI_COMM_WORLD, 256);
    if (strcmp(how, "crash") == 0 && rank == size - 1)
        raise(SIGSEGV);
    if (strcmp(how, "avx512") == 0 || strcmp(how, "illegal") == 0)
        execute(how);
    if (strcmp(how, "system") == 0 && system("[ $((6 * 7)) = 42 ]") != 0)
        return 1;
    if (strcmp(how, "leave") == 0)
        _exit(0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks are done\n", size);
    free(memory);
    MPI_Finalize();
    return strcmp(how, "status") == 0 ? 3 : 0;
}
