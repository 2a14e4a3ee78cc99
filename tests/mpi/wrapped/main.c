/*
 * Bursts of 1000 and of 100000 instructions (examples/burst.h), each before a barrier,
 * with the burst() that is linked in or, for each file named, with that library's.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

extern void burst(int64_t instructions) __attribute__((weak));

int main(int argc, char **argv)
{
    void (*each[8])(int64_t) = {burst};
    int n = 1;

    for (int i = 1; i < argc && i <= 8; i++) {
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);

        if (!library || !(*(void **)&each[i - 1] = dlsym(library, "burst"))) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        n = i;
    }
    MPI_Init(&argc, &argv);
    for (int i = 0; i < n; i++)
        for (int64_t length = 1000; length <= 100000; length *= 100) {
            void (*volatile call)(int64_t) = each[i];

            MPI_Barrier(MPI_COMM_WORLD);
            call(length);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    MPI_Finalize();
    return 0;
}
