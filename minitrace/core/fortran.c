/*
 * Fortran's constants.  What a program passes for MPI_IN_PLACE or an ignored status is the address
 * of a variable, which each MPI library keeps elsewhere.
 */
#include "minitrace/core/state.h"

#ifdef OPEN_MPI

void ti_fortran_begin(void)
{
}

/* Common blocks of the MPI library, one for each Fortran interface. */
extern char mpi_fortran_in_place_[];
extern char mpi_fortran_status_ignore_[];
extern char mpi_fortran_statuses_ignore_[];

bool ti_fortran_in_place(const void *buffer)
{
    return buffer == mpi_fortran_in_place_;
}

bool ti_descriptor_in_place(const void *descriptor)
{
    return *(void *const *)descriptor == mpi_fortran_in_place_; /* its base_addr */
}

bool ti_fortran_ignores(const void *status)
{
    return !status || status == mpi_fortran_status_ignore_;
}

bool ti_fortran_ignores_all(const void *statuses)
{
    return !statuses || statuses == mpi_fortran_statuses_ignore_;
}

#else

#include <dlfcn.h>

struct ti_looked_up ti_looked_up;

static void look_up(void)
{
#define LOOK_UP(name)                                                                              \
    ti_looked_up.name = (__typeof__(ti_looked_up.name))dlsym(ti_mpi_backend.mpi, "PMPI_" #name);
    TI_LOOKED_UP(LOOK_UP)
#undef LOOK_UP
}

#ifdef TI_STANDARD_ABI

/* The ABI is of C.  A library for Fortran calls its C functions, whose shims record the calls; so
 * no argument comes in Fortran's form. */
void ti_fortran_begin(void)
{
    look_up();
}

bool ti_fortran_ignores(const void *status)
{
    return !status;
}

bool ti_fortran_ignores_all(const void *statuses)
{
    return !statuses;
}

#else /* MPICH */

/* Variables of the C library that hold the addresses of Fortran's constants; those of mpi_f08 are
 * the constants themselves. */
static void *const *status_ignore, *const *statuses_ignore;
static void *const *f08_status_ignore, *const *f08_statuses_ignore;
static const void *f08_in_place;

/* The same in the Fortran library.  It may be loaded later, and fills in its addresses and those
 * above at its first call, or when find() calls its initialization. */
static void *const *in_place;

void ti_fortran_begin(void)
{
    void *mpi = ti_mpi_backend.mpi;

    look_up();
    status_ignore = dlsym(mpi, "MPI_F_STATUS_IGNORE");
    statuses_ignore = dlsym(mpi, "MPI_F_STATUSES_IGNORE");
    f08_status_ignore = dlsym(mpi, "MPI_F08_STATUS_IGNORE");
    f08_statuses_ignore = dlsym(mpi, "MPI_F08_STATUSES_IGNORE");
}

static void *library_for_fortran(void)
{
    static const char *const names[] = {"libmpichfort.so.12", "libmpifort.so.12"};
    void *handle = NULL;

    for (int i = 0; i < 2 && !handle; i++)
        handle = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
    return handle;
}

/* Look up the Fortran library, and have it fill in the addresses. */
static void find(void)
{
    void *library;
    void (*init)(void);

    if (in_place && *in_place)
        return;
    library = library_for_fortran();
    if (!library)
        return;
    init = (void (*)(void))dlsym(library, "mpirinitf_");
    in_place = dlsym(library, "MPIR_F_MPI_IN_PLACE");
    f08_in_place = dlsym(RTLD_DEFAULT, "MPIR_F08_MPI_IN_PLACE");
    if (!f08_in_place)
        f08_in_place = dlsym(library, "MPIR_F08_MPI_IN_PLACE");
    if (init && in_place && !*in_place)
        init();
}

bool ti_fortran_in_place(const void *buffer)
{
    find();
    return in_place && buffer == *in_place;
}

bool ti_descriptor_in_place(const void *descriptor)
{
    find();
    return *(void *const *)descriptor == f08_in_place; /* its base_addr */
}

bool ti_fortran_ignores(const void *status)
{
    find();
    return !status || status == *status_ignore || status == *f08_status_ignore;
}

bool ti_fortran_ignores_all(const void *statuses)
{
    find();
    return !statuses || statuses == *statuses_ignore || statuses == *f08_statuses_ignore;
}

#endif
#endif
