/*
 * An application that counts with PAPI itself: own before|after.  It starts its
 * event set before MPI_Init or after it, computes a burst of LENGTH between two
 * barriers, and says whether it counted that.
 */
#include <mpi.h>
#include <papi.h>
#include <stdio.h>
#include <string.h>

#include "examples/burst.h"

#define LENGTH 1000000

static int set = PAPI_NULL, rc;

static void start(void)
{
    rc = PAPI_library_init(PAPI_VER_CURRENT) == PAPI_VER_CURRENT ? PAPI_OK : PAPI_EMISC;
    if (rc == PAPI_OK)
        rc = PAPI_create_eventset(&set);
    if (rc == PAPI_OK)
        rc = PAPI_add_event(set, PAPI_TOT_INS);
    if (rc == PAPI_OK)
        rc = PAPI_start(set);
}

int main(int argc, char **argv)
{
    long long count = 0;

    if (argc > 1 && strcmp(argv[1], "before") == 0)
        start();
    MPI_Init(&argc, &argv);
    if (argc > 1 && strcmp(argv[1], "after") == 0)
        start();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rc == PAPI_OK)
        rc = PAPI_reset(set);
    burst(LENGTH);
    if (rc == PAPI_OK)
        rc = PAPI_read(set, &count);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rc == PAPI_OK)
        rc = PAPI_stop(set, NULL);
    if (rc == PAPI_OK)
        printf("own: %s\n", LENGTH <= count && count < LENGTH + 2000 ? "counted" : "wrong");
    else
        printf("own: %s\n", PAPI_strerror(rc));
    MPI_Finalize();
    return 0;
}
