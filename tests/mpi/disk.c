/*
 * Accesses to files, for replays with disks.  Run as
 *
 *     disk HOW BYTES FOLDER
 *
 * HOW is one of the words below.  Each rank moves BYTES bytes, at its place in a common file; "own"
 * writes a file of each rank's own, "first" lets only rank 0 write, "three" writes three times.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_File file;
static MPI_Offset at;
static int bytes;
static char *data;

static void compute(void)
{
    for (volatile int i = 0; i < 1000000; i++)
        ;
}

static void access_file(const char *how, int rank)
{
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

    if (!strcmp(how, "write") || !strcmp(how, "own") || (!strcmp(how, "first") && rank == 0)) {
        MPI_File_write_at(file, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    } else if (!strcmp(how, "three")) {
        for (int i = 0; i < 3; i++)
            MPI_File_write(file, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    } else if (!strcmp(how, "read")) {
        MPI_File_set_size(file, 0);
        MPI_File_write_at(file, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_File_sync(file);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_File_read_at(file, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    } else if (!strcmp(how, "short")) { /* a read of twice as much as there is */
        MPI_File_set_size(file, bytes);
        MPI_File_read_at(file, 0, data, 2 * bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    } else if (!strcmp(how, "all")) {
        MPI_File_write_at_all(file, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    } else if (!strcmp(how, "iwrite")) { /* two at once, beside a burst */
        MPI_File_iwrite_at(file, at, data, bytes, MPI_BYTE, &request[0]);
        MPI_File_iwrite_at(file, at, data, bytes, MPI_BYTE, &request[1]);
        compute();
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    } else if (!strcmp(how, "iall")) {
        MPI_File_iwrite_at_all(file, at, data, bytes, MPI_BYTE, &request[0]);
        compute();
        MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    } else if (!strcmp(how, "split")) {
        MPI_File_write_at_all_begin(file, at, data, bytes, MPI_BYTE);
        compute();
        MPI_File_write_at_all_end(file, data, MPI_STATUS_IGNORE);
    } else if (!strcmp(how, "nothing")) {
        MPI_File_write_at(file, at, data, 0, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_File_preallocate(file, 1000);
        MPI_File_sync(file);
    }
}

int main(int argc, char **argv)
{
    char path[4096];
    int rank, own;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    own = !strcmp(argv[1], "own");
    bytes = atoi(argv[2]);
    at = own ? 0 : (MPI_Offset)rank * bytes;
    data = calloc(2, (size_t)bytes);
    snprintf(path, sizeof path, own ? "%s/file-%d" : "%s/file", argv[3], rank);
    MPI_File_open(own ? MPI_COMM_SELF : MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR,
                  MPI_INFO_NULL, &file);
    MPI_Barrier(MPI_COMM_WORLD);
    access_file(argv[1], rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_close(&file);
    free(data);
    MPI_Finalize();
    return 0;
}
