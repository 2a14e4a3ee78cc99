#include <sys/mman.h>

#include "minitrace/core/thread.h"

_Thread_local struct ti_thread ti_thread;
struct ti_thread *ti_owner;

bool ti_excludes_pass_through(void)
{
    return (ti_state.shared || ti_state.counter.sum) &&
           !(ti_state.counter.sum && !ti_state.counter.others);
}

/* The dispatcher calls this before each shim, including nested ones. */
static void read_before_shim(void)
{
    if (ti_is_active() && (ti_thread.first || ti_excludes_pass_through()))
        ti_thread.now = ti_state.counter.read();
}

/* Whether only the first thread may read the counter: it sums threads up without telling them
 * apart. */
static bool only_first_reads(void)
{
    return ti_state.counter.sum && (!ti_state.counter.others || ti_state.counter.nalso);
}

void ti_threads_begin(int level)
{
    ti_state.level = level;
    ti_state.shared = level == MPI_THREAD_SERIALIZED && !only_first_reads();
    ti_state.many_counts = ti_state.counter.sum || ti_state.extras;
    ti_state.slow_path = ti_state.shared || ti_state.many_counts;
    ti_state.account = &ti_thread.account;
    if ((ti_state.shared || ti_state.counter.sum) &&
        ti_state.counter.read_elsewhere) /* valid in this thread too */
        ti_state.counter.read = ti_state.counter.read_elsewhere;
    ti_thread.first = true;
    ti_thread.known = true;
    ti_thread.fast = !ti_state.slow_path;
    if (ti_state.counter.read)
        ti_mpi_backend.read_before_shims(read_before_shim);
    __atomic_store_n(&ti_now_word, ti_state.counter.word, __ATOMIC_RELAXED);
    madvise(&ti_flags, sizeof ti_flags, MADV_WIPEONFORK);
    __atomic_store_n(&ti_flags.no_conflict, true, __ATOMIC_RELAXED);
    __atomic_store_n(&ti_flags.active, true, __ATOMIC_RELEASE);
    ti_set_stopped(false);
}

void ti_threads_end(void)
{
    __atomic_store_n(&ti_flags.active, false, __ATOMIC_RELAXED);
    __atomic_store_n(&ti_flags.no_conflict, false, __ATOMIC_RELAXED);
    ti_flags.fast_emit = false;
}

bool ti_thread_is_first(void)
{
    return ti_thread.first;
}

bool ti_thread_acquire(void)
{
    return ti_is_owner(&ti_thread) || ti_try_acquire(&ti_thread);
}

const char *ti_why_conflict(void)
{
    if (ti_state.level == MPI_THREAD_MULTIPLE)
        return "a second thread calls MPI, and what threads do at once (MPI_THREAD_MULTIPLE) has "
               "no order but that of time";
    if (ti_state.shared)
        return "a second thread called MPI while one was in a call, against the rules of "
               "MPI_THREAD_SERIALIZED";
    if (ti_state.level == MPI_THREAD_SERIALIZED)
        return "a second thread calls MPI, and this counter sums up threads for the one that "
               "called MPI_Init only";
    return "a second thread calls MPI, against the rules of MPI_THREAD_SINGLE and "
           "MPI_THREAD_FUNNELED, one of which the application asked for";
}

bool ti_thread_conflict(void)
{
    return __builtin_expect(!__atomic_load_n(&ti_flags.no_conflict, __ATOMIC_RELAXED), 0);
}

void ti_stop_conflict(void)
{
    ti_stop_recording("%s", ti_why_conflict());
}

void ti_note_conflict(unsigned op)
{
    __atomic_store_n(&ti_flags.no_conflict, false, __ATOMIC_RELAXED);
    /* MPI allows no other call during or after MPI_Finalize, so no owner is disturbed */
    if (op == TI_OP_FINALIZE && !ti_state.shared &&
        __atomic_load_n(&ti_state.inside.phase, __ATOMIC_RELAXED) == TI_OUTSIDE)
        ti_stop_conflict();
}
