/*
 * The ring of the paper's figure 1: rank 0 computes, sends to rank 1 and
 * receives from the last rank; every other rank receives, computes and sends
 * on.  ring_mpifh.f, ring_usempi.f90 and ring_f08.f90 are the same program.
 *
 * Between MPI_Init and MPI_Finalize there is as little as possible besides the
 * bursts: the message is filled before MPI_Init and checked at the end.  Each
 * rank adds 1 to the first byte of the received message and sends it on, so an
 * error on any rank is visible at the end.
 */
#include "examples/burst.h"
#include "examples/example.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static const char usage[] = "ring [TURNS [BYTES [INSTRUCTIONS]]]";

enum { TURNS, BYTES, INSTRUCTIONS, NARGS };

static struct ex_arg args[NARGS] = {
    [TURNS] = {"turns", 1, 1, INT_MAX},
    [BYTES] = {"bytes", 1000000, 1, INT_MAX},
    [INSTRUCTIONS] = {"instructions", 1000000, BURST_MIN, INT64_MAX},
};

static signed char pattern(int i)
{
    return (signed char)(i % 100);
}

int main(int argc, char **argv)
{
    const char *wrong = ex_args(argc, argv, NARGS, args);
    int64_t turns = args[TURNS].value, instructions = args[INSTRUCTIONS].value;
    int bytes = (int)args[BYTES].value, rank, np;
    signed char *filled = malloc((size_t)bytes), *empty = calloc((size_t)bytes, 1), *message;

    if (!wrong && (!filled || !empty))
        wrong = "not enough memory for the message";
    for (int i = 0; !wrong && i < bytes; i++)
        filled[i] = pattern(i);

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    if (wrong)
        return ex_usage(rank, usage, "%s", wrong);
    if (np < 2)
        return ex_usage(rank, usage, "a ring needs 2 ranks or more");

    message = rank == 0 ? filled : empty;
    for (int64_t turn = 0; turn < turns; turn++) {
        if (rank == 0) {
            burst(instructions);
            message[0] = (message[0] + 1) & 127;
            MPI_Send(message, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(message, bytes, MPI_BYTE, np - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(message, bytes, MPI_BYTE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            burst(instructions);
            message[0] = (message[0] + 1) & 127;
            MPI_Send(message, bytes, MPI_BYTE, (rank + 1) % np, 0, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();

    /* Rank 0 has the message that it received last, the others the one that they sent last. */
    int64_t hops = rank == 0 ? turns * np : (turns - 1) * np + rank + 1;
    bool ok = message[0] == (hops & 127);
    for (int i = 1; i < bytes; i++)
        ok &= message[i] == pattern(i);
    if (rank == 0)
        printf("ring: %lld turns, %d ranks: %s\n", (long long)turns, np,
               ok ? "verified" : "FAILED");
    free(filled);
    free(empty);
    return ok ? 0 : 1;
}
