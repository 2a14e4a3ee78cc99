/* Whether one MPI call is made inside another one, or the other was left by longjmp(). */
#include <signal.h>

#include "minitrace/core/thread.h"

#if defined __x86_64__ || defined __aarch64__
/* Bounds of this library's code, set by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static bool is_ours(uintptr_t address)
{
    return address >= (uintptr_t)__ehdr_start && address < (uintptr_t)etext;
}
#endif

#ifdef __x86_64__
#define SHIM_WORDS 64 /* more than the stack frame of any shim */

/* The old frame is gone if its return address was overwritten, or if the stack below it has no
 * return address into a shim.  Not detected: a new frame that lies over the old one without having
 * written there.  Such a call is taken for a nested one, see abandon_call(). */
static bool is_below(const uintptr_t *old, const void *site, const uintptr_t *frame)
{
    if (*--old != (uintptr_t)site)
        return false;
    /* include the new call's own return address: MPI may have reached this shim by a jump, as
     * MPICH's mpi_pcontrol_ does */
    for (int i = 0; i < SHIM_WORDS && --old >= frame - 1; i++)
        if (is_ours(*old))
            return true;
    return false;
}
#elif defined __aarch64__
/* Strip the pointer authentication code from a return address. */
static uintptr_t unsigned_address(uintptr_t address)
{
    register uintptr_t lr __asm__("x30") = address;

    __asm__("hint 7" : "+r"(lr)); /* xpaclri: does nothing on older processors */
    return lr;
}

/*
 * A frame starts with a record: address of the caller's record, and return address.  The old frame
 * is gone if the chain of records from the new frame leads past it; or if another record lies
 * there now, with a different return address or without a return address into a shim below it. A
 * broken chain (code that uses x29 for other purposes) proves nothing; the call is taken for a
 * nested one.
 */
static bool is_below(const uintptr_t *old, const void *site, const uintptr_t *frame)
{
    const uintptr_t *at = frame, *last;

    do {
        last = at;
        at = (const uintptr_t *)*at;
    } while (at > last && at < old && (uintptr_t)at % 16 == 0);
    if (at != old)
        return at < old || (uintptr_t)at % 16 != 0;
    if (unsigned_address(old[1]) != (uintptr_t)site)
        return false;
    while (--old > frame)
        if (is_ours(unsigned_address(*old)))
            return true;
    return false;
}
#else
static bool is_below(const uintptr_t *old, const void *site, const uintptr_t *frame)
{
    (void)old;
    (void)site;
    (void)frame;
    return true;
}
#endif

static bool is_on(const stack_t *stack, const void *frame)
{
    return (uintptr_t)frame - (uintptr_t)stack->ss_sp < stack->ss_size;
}

/*
 * If `in` was left by longjmp() or an
 * exception, for instance from an error handler, its frame is gone: the new frame is at its place
 * or above it, or below it but not called from it.
 */
bool ti_is_nested(const struct ti_inside *in, const void *frame)
{
    stack_t other;

    /* a signal handler's stack may lie anywhere */
    if ((uintptr_t)frame >= (uintptr_t)in->frame && sigaltstack(NULL, &other) == 0 &&
        other.ss_flags & SS_ONSTACK && !is_on(&other, in->frame))
        return true;
    return (uintptr_t)frame < (uintptr_t)in->frame && is_below(in->frame, in->site, frame);
}
