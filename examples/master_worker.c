/*
 * Master and workers.  Rank 0 sends items of varying size and receives results
 * from any worker (MPI_ANY_SOURCE).  With its result a worker requests the next
 * item.  At the end each worker receives the stop tag.
 *
 * The assignment of items to workers depends on timing, and so does the trace.
 * The sum of the results does not.  Rank 0 verifies the sum, and that each item
 * was returned once.
 */
#include "examples/example.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>

enum { TAG_ITEM = 1, TAG_RESULT, TAG_STOP };
enum { ROUNDS = 8 }; /* passes of a worker over an item */

static const char usage[] = "master_worker [ITEMS [WORDS]], WORDS: the largest size of an item";

enum { ITEMS, WORDS, NARGS };

static struct ex_arg args[NARGS] = {
    [ITEMS] = {"items", 100, 0, INT_MAX},
    [WORDS] = {"words", 1000, 1, INT_MAX - 1},
};

static uint64_t mix(uint64_t v)
{
    v = v * 6364136223846793005u + 1442695040888963407u;
    return v ^ v >> 32;
}

/* Number of words in item `number`: 1 to `most`. */
static int size_of_item(int64_t number, int64_t most)
{
    return (int)(1 + mix((uint64_t)number + 1) % (uint64_t)most);
}

/* Fill a message with the number of the item and its words.  Returns its length in words. */
static int make_item(int64_t number, int64_t most, uint64_t *message)
{
    int words = size_of_item(number, most);
    uint64_t word = (uint64_t)number;

    message[0] = (uint64_t)number;
    for (int i = 1; i <= words; i++)
        message[i] = word = mix(word);
    return words + 1;
}

static uint64_t work(const uint64_t *words, int nwords)
{
    uint64_t result = 0;

    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < nwords; i++)
            result = mix(result + words[i]);
    return result;
}

/* Returns whether all results are correct. */
static bool master(int np, int64_t items, int64_t most, uint64_t *message)
{
    int64_t sent = 0, done = 0;
    uint64_t sum = 0, expected = 0;
    unsigned char *seen = ex_zeros(items, 1);
    bool ok = true;

    for (int worker = 1; worker < np; worker++) {
        if (sent < items)
            MPI_Send(message, make_item(sent++, most, message), MPI_UINT64_T, worker, TAG_ITEM,
                     MPI_COMM_WORLD);
        else
            MPI_Send(NULL, 0, MPI_UINT64_T, worker, TAG_STOP, MPI_COMM_WORLD);
    }
    while (done < items) {
        uint64_t result[2];
        MPI_Status status;

        MPI_Recv(result, 2, MPI_UINT64_T, MPI_ANY_SOURCE, TAG_RESULT, MPI_COMM_WORLD, &status);
        done++;
        if (result[0] < (uint64_t)items)
            ok &= !seen[result[0]]++;
        else
            ok = false;
        sum += result[1];
        if (sent < items)
            MPI_Send(message, make_item(sent++, most, message), MPI_UINT64_T, status.MPI_SOURCE,
                     TAG_ITEM, MPI_COMM_WORLD);
        else
            MPI_Send(NULL, 0, MPI_UINT64_T, status.MPI_SOURCE, TAG_STOP, MPI_COMM_WORLD);
    }

    for (int64_t number = 0; number < items; number++) {
        int length = make_item(number, most, message);

        expected += work(message + 1, length - 1);
    }
    ex_free(seen);
    return ok && sum == expected;
}

static void worker(int64_t most, uint64_t *message)
{
    for (;;) {
        uint64_t result[2];
        MPI_Status status;
        int length;

        MPI_Recv(message, (int)most + 1, MPI_UINT64_T, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == TAG_STOP)
            return;
        MPI_Get_count(&status, MPI_UINT64_T, &length);
        result[0] = message[0];
        result[1] = work(message + 1, length - 1);
        MPI_Send(result, 2, MPI_UINT64_T, 0, TAG_RESULT, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int rank, np, ok = 1;
    const char *wrong;
    uint64_t *message;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    wrong = ex_args(argc, argv, NARGS, args);
    if (wrong)
        return ex_usage(rank, usage, "%s", wrong);
    if (np < 2)
        return ex_usage(rank, usage, "a master and a worker make 2 ranks or more");

    message = ex_zeros(args[WORDS].value + 1, sizeof *message);
    if (rank == 0)
        ok = master(np, args[ITEMS].value, args[WORDS].value, message);
    else
        worker(args[WORDS].value, message);
    MPI_Bcast(&ok, 1, MPI_INT, 0, MPI_COMM_WORLD);
    ex_free(message);
    return ex_verdict(rank, ok, "master_worker: %d items, %d workers", (int)args[ITEMS].value,
                      np - 1);
}
