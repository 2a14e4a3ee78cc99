/*
 * The same glibc everywhere.
 *
 * glibc chooses among several forms of memcpy() and its like, and of some of libm, by
 * what it finds out about the processor: what instructions it has, and how large its
 * caches are.  Their instruction counts differ, so that bursts differ between nodes of
 * different kinds though the program is the same.
 *
 * With these values of GLIBC_TUNABLES the choice is the one for any processor that has a
 * level of x86-64's instruction set, or more: what is beyond the level, what is an
 * opinion on one model, and the string instructions' fast microcode are switched off,
 * cache sizes are given.  Names that a release of glibc does not have it ignores; they
 * are those of 2.26 and later.
 */
#ifndef TI_ISA_H
#define TI_ISA_H

/* A level as a number, 1 to 4 ("x86-64" is "x86-64-v1"); 0 for what is none.  And back. */
int ti_isa_level(const char *text);
const char *ti_isa_name(int level);

/* Highest with tunables. */
#define TI_ISA_MAX 3

#define TI_ISA_LEVELS "x86-64, x86-64-v2 or x86-64-v3"

/* The value for `level`; NULL if it is none of the above.  There is none for v4, which
 * valgrind does not have. */
const char *ti_isa_tunables(const char *level);

#endif
