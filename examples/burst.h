/*
 * A compute burst of a known size.
 *
 *   instructions   BURST_MIN or more; burst() returns at once if it is less
 *
 * From the call to the return, both included, burst() executes exactly
 * `instructions` instructions if BURST_EXACT is 1 (x86-64 and aarch64).
 * Elsewhere the count is approximate.  The caller's instructions that prepare
 * the argument are not included.  burst() does not access memory and may be
 * called from any thread.
 *
 * From Fortran:
 *   call burst(n)        with integer(8) n and no interface, through burst_
 *   call burst(n)        with an interface bind(c), name='burst', value
 */
#ifndef TI_EXAMPLES_BURST_H
#define TI_EXAMPLES_BURST_H

#include <stdint.h>

#define BURST_MIN 10

#if defined(__x86_64__) && defined(__LP64__) || defined(__aarch64__)
#define BURST_EXACT 1
#else
#define BURST_EXACT 0
#endif

void burst(int64_t instructions);
void burst_(const int64_t *instructions);

#endif
