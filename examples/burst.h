/*
 * A compute burst of a known size.
 *
 *   instructions   BURST_MIN or more; less returns at once
 *
 * From the call to the return, both included, exactly `instructions`
 * instructions are executed where BURST_EXACT is 1 (x86-64 and aarch64);
 * elsewhere the count is approximate.  What the caller needs to prepare the
 * argument comes on top.  Touches no memory; may be called from any thread.
 *
 * From Fortran:
 *   call burst(n)        with integer(8) n and no interface, through burst_
 *   call burst(n)        with an interface bind(c), name='burst', value
 */
#ifndef EXAMPLES_BURST_H
#define EXAMPLES_BURST_H

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
