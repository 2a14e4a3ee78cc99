/*
 * The shims of Init, Finalize, Abort and Pcontrol, in each binding: they begin, end and interrupt
 * recording.  All others are generated.
 */

#include <errno.h>
#include <stdio.h>

#include "minitrace/begin.h"
#include "minitrace/recorders/shared.h"

/* ----------------------------------------------------------------- Init -- */

/* MPI may implement one binding by another, so only the outermost call begins recording.  It
 * leaves as all shims do, by ti_leave(): no local variable may have its address taken. */
static int depth;

static double beginning(void)
{
    return depth++ ? 0 : ti_seconds();
}

/* MPI_Init: its event has the level single, but a higher level may have been forced on it, by Open
 * MPI's OMPI_MPI_THREAD_LEVEL for instance. */
static int begun(double start, int rc)
{
    static int level = MPI_THREAD_SINGLE;

    if (--depth || rc != MPI_SUCCESS)
        return rc;
    PMPI_Query_thread(&level);
    ti_recording_begin(start, MPI_THREAD_SINGLE, level);
    return ti_leave(rc);
}

/* MPI_Init_thread: the application keeps to the level that it asked for, even if it was given a
 * higher one. */
static int begun_with(double start, int rc, int required, int provided)
{
    if (--depth || rc != MPI_SUCCESS)
        return rc;
    ti_recording_begin(start, provided, required < provided ? required : provided);
    return ti_leave(rc);
}

int MPI_Init(int *argc, char ***argv)
{
    double start = beginning();
    int rc = TI_NEXT(MPI_Init)(argc, argv);

    return begun(start, rc);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    double start = beginning();
    int rc = TI_NEXT(MPI_Init_thread)(argc, argv, required, provided);

    return begun_with(start, rc, required, rc ? 0 : *provided);
}

/* Fortran.  In mpi_f08, an absent ierror is a null pointer. */
#define FORTRAN_INIT(init, init_thread)                                                            \
    void init(MPI_Fint *ierr);                                                                     \
    void init(MPI_Fint *ierr)                                                                      \
    {                                                                                              \
        double start = beginning();                                                                \
        static MPI_Fint rc;                                                                        \
                                                                                                   \
        TI_NEXT(init)(&rc);                                                                        \
        if (ierr)                                                                                  \
            *ierr = rc;                                                                            \
        begun(start, rc);                                                                          \
    }                                                                                              \
    void init_thread(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierr);                      \
    void init_thread(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierr)                       \
    {                                                                                              \
        double start = beginning();                                                                \
        static MPI_Fint rc;                                                                        \
                                                                                                   \
        TI_NEXT(init_thread)(required, provided, &rc);                                             \
        if (ierr)                                                                                  \
            *ierr = rc;                                                                            \
        begun_with(start, rc, *required, rc ? 0 : *provided);                                      \
    }

/* ------------------------------------------------------------- Finalize -- */

/* MPI_Finalize of MPICH before 4.2 may hang on several nodes.  ti-acquire then ends the ranks,
 * whose output shall be out. */
static void flush_output(void)
{
#ifdef MPICH_VERSION
    int kept = errno;

    fflush(stdout);
    errno = kept;
#endif
}

/* Write the last event.  The trace is closed before MPI_Finalize runs. */
static void end(struct ti_mpi_call *c)
{
    struct ti_event ev = {0};

    ti_span_end();
    ti_emit(c, &ev, true);
    ti_recording_end(TI_END_COMPLETE);
    flush_output();
    ti_leave(0);
}

int MPI_Finalize(void)
{
    struct ti_mpi_call *c = TI_ENTER(TI_OP_FINALIZE, TI_BINDING_C);
    int rc;

    if (c)
        end(c);
    rc = TI_NEXT(MPI_Finalize)();
    ti_linger();
    return rc;
}

#define FORTRAN_FINALIZE(finalize)                                                                 \
    void finalize(MPI_Fint *ierr);                                                                 \
    void finalize(MPI_Fint *ierr)                                                                  \
    {                                                                                              \
        struct ti_mpi_call *c = TI_ENTER(TI_OP_FINALIZE, TI_BINDING_FORTRAN);                      \
        MPI_Fint lent;                                                                             \
                                                                                                   \
        if (c)                                                                                     \
            end(c);                                                                                \
        TI_NEXT(finalize)(ierr ? ierr : &lent);                                                    \
        ti_linger();                                                                               \
    }

/* ---------------------------------------------------------------- Abort -- */

static void abort_comm(struct ti_mpi_call *c, MPI_Comm comm, int code)
{
    const struct ti_comm_entry *entry = ti_comm_find(comm);
    struct ti_event ev = {.mask = TI_M_COMM | TI_M_LEVEL};

    ti_span_end();
    ev.arg[TI_F_COMM] = entry ? entry->index : 0;
    ev.arg[TI_F_LEVEL] = code;
    ti_emit(c, &ev, true);
    ti_recording_end(TI_END_ABORTED);
    ti_leave(0);
}

int MPI_Abort(MPI_Comm comm, int code)
{
    struct ti_mpi_call *c = TI_ENTER(TI_OP_ABORT, TI_BINDING_C);

    if (c)
        abort_comm(c, comm, code);
    return TI_NEXT(MPI_Abort)(comm, code);
}

#define FORTRAN_ABORT(abort_)                                                                      \
    void abort_(MPI_Fint *comm, MPI_Fint *code, MPI_Fint *ierr);                                   \
    void abort_(MPI_Fint *comm, MPI_Fint *code, MPI_Fint *ierr)                                    \
    {                                                                                              \
        struct ti_mpi_call *c = TI_ENTER(TI_OP_ABORT, TI_BINDING_FORTRAN);                         \
        MPI_Fint lent;                                                                             \
                                                                                                   \
        if (c)                                                                                     \
            abort_comm(c, PMPI_Comm_f2c(*comm), *code);                                            \
        TI_NEXT(abort_)(comm, code, ierr ? ierr : &lent);                                          \
    }

/* ------------------------------------------------------------- Pcontrol -- */

/* Level 0 stops recording; any other level resumes it. */
static void control(struct ti_mpi_call *c, int level)
{
    struct ti_event ev = {.mask = TI_M_LEVEL};

    ev.arg[TI_F_LEVEL] = level;
    ti_emit(c, &ev, false);
    if (level != 0 && ti_state.stopped) {
        ti_set_stopped(false);
        ti_emit(c, &ev, false);
    }
    ti_set_stopped(level == 0);
}

/* MPI_Pcontrol, defined under another C name without its variable arguments: compilers do not make
 * a tail call from a variadic function.  The variable arguments are for profilers; PMPI_Pcontrol
 * does nothing. */
int ti_pcontrol(int level) __asm__("MPI_Pcontrol") __attribute__((visibility("hidden")));
int ti_pcontrol(int level)
{
    struct ti_mpi_call *c = TI_ENTER(TI_OP_PCONTROL, TI_BINDING_C);

    if (!c)
        return TI_NEXT(MPI_Pcontrol)(level);
    control(c, level);
    return ti_leave(TI_NEXT(MPI_Pcontrol)(level));
}

/* Fortran's MPI_PCONTROL has no ierror in the standard.  MPICH's has one and writes it even if the
 * application passed none.  So the shim passes on whatever is in that register, as without the
 * library, instead of an address of its own. */
#define FORTRAN_PCONTROL(pcontrol)                                                                 \
    void pcontrol(MPI_Fint *level, MPI_Fint *ierr);                                                \
    void pcontrol(MPI_Fint *level, MPI_Fint *ierr)                                                 \
    {                                                                                              \
        struct ti_mpi_call *c = TI_ENTER(TI_OP_PCONTROL, TI_BINDING_FORTRAN);                      \
                                                                                                   \
        if (!c) {                                                                                  \
            TI_NEXT(pcontrol)(level, ierr);                                                        \
            return;                                                                                \
        }                                                                                          \
        control(c, *level);                                                                        \
        TI_NEXT(pcontrol)(level, ierr);                                                            \
        ti_leave(0);                                                                               \
    }

/* ------------------------------------------------------------- Fortran -- */

/* With the standard ABI, Fortran calls C (fortran.c). */
#ifndef TI_STANDARD_ABI
FORTRAN_INIT(mpi_init_, mpi_init_thread_)
FORTRAN_INIT(mpi_init_f08_, mpi_init_thread_f08_)
FORTRAN_FINALIZE(mpi_finalize_)
FORTRAN_FINALIZE(mpi_finalize_f08_)
FORTRAN_ABORT(mpi_abort_)
FORTRAN_ABORT(mpi_abort_f08_)
FORTRAN_PCONTROL(mpi_pcontrol_)
FORTRAN_PCONTROL(mpi_pcontrol_f08_)
#endif
