/* A program that is not linked with MPI: it loads the library named by its argument
 * for itself alone and asks where the functions are. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void *mpi;

static void *ask(const char *name)
{
    void *function = dlsym(mpi, name);

    if (!function) {
        fprintf(stderr, "no %s: %s\n", name, dlerror());
        exit(1);
    }
    return function;
}

#define ASK(name) ((__typeof__(&name))ask(#name))

int main(int argc, char **argv)
{
    int rank, size, got = -1;
    MPI_Comm world;
    MPI_Datatype type;

    mpi = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!mpi) {
        fprintf(stderr, "cannot load MPI: %s\n", dlerror());
        return 1;
    }
    if (dlsym(mpi, "MPI_No_such_function") || !dlerror())
        return 3;
#ifdef OPEN_MPI
    world = (MPI_Comm)ask("ompi_mpi_comm_world");
    type = (MPI_Datatype)ask("ompi_mpi_int");
#else
    world = MPI_COMM_WORLD;
    type = MPI_INT;
#endif
    ASK(MPI_Init)(&argc, &argv);
    ASK(MPI_Comm_rank)(world, &rank);
    ASK(MPI_Comm_size)(world, &size);
    ASK(MPI_Sendrecv)
    (&rank, 1, type, (rank + 1) % size, 1, &got, 1, type, (rank + size - 1) % size, 1, world,
     MPI_STATUS_IGNORE);
    ASK(MPI_Barrier)(world);
    ASK(MPI_Finalize)();
    return got == (rank + size - 1) % size ? 0 : 2;
}
