/*
 * The counters that code compiled with ti-mpicc adds to: the number of its instructions that the
 * calling thread has executed.  They are in the executable, which exports them to its shared
 * objects; or in a shared library, if the executable was linked without ti-mpicc.
 */
#include <stdint.h>

extern _Thread_local uint64_t tiara_blocks, tiara_blocks_own;
_Thread_local uint64_t tiara_blocks;
_Thread_local uint64_t tiara_blocks_own; /* instructions executed to count (--tiara-audit) */
