/*
 * What code compiled with ti-mpicc adds to: instructions of its own that the
 * calling thread has executed.  In an executable, which all its shared objects
 * share it with; or, where that was linked without us, in a shared library.
 */
#include <stdint.h>

extern _Thread_local uint64_t tiara_blocks, tiara_blocks_own;
_Thread_local uint64_t tiara_blocks;
_Thread_local uint64_t tiara_blocks_own; /* executed to count (--tiara-audit) */
