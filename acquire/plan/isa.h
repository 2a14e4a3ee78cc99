/*
 * The same functions of glibc on all processors.
 *
 * glibc has several variants of memcpy() and the like, and of some functions of libm.  It selects
 * them by the instruction sets and cache sizes of the processor.  Their instruction counts
 * differ, so bursts would differ between nodes although the program is the same.
 *
 * These values of GLIBC_TUNABLES make glibc select for a given level of the x86-64 instruction
 * set, on any processor with this level or a higher one.  They switch off what is beyond the
 * level, what is tuned for one model, and fast string instructions; cache sizes are fixed.  A
 * release of glibc ignores names that it does not know; the names are those of 2.26 and later.
 */
#ifndef TI_ACQUIRE_PLAN_ISA_H
#define TI_ACQUIRE_PLAN_ISA_H

/* The level of a name as a number, 1 to 4 ("x86-64" is "x86-64-v1"), 0 for an unknown name; and
 * the name of a level. */
int ti_isa_level(const char *text);
const char *ti_isa_name(int level);

/* The highest level with tunables. */
#define TI_ISA_MAX 3

#define TI_ISA_LEVELS "x86-64, x86-64-v2 or x86-64-v3"

/* The value of GLIBC_TUNABLES for `level`; NULL for any other name.  There is none for v4, which
 * valgrind does not support. */
const char *ti_isa_tunables(const char *level);

#endif
