/*
 * ticount: the interface between a traced process and our valgrind tool.
 *
 * The process asks once, by a valgrind client request, for the address of the live counter:
 * three 64-bit words, which it must not write.
 *
 * Word 0 is the number of instructions that the calling thread has executed; a plain load
 * reads it.  The address is the same in all threads: valgrind runs one thread at a time, and
 * the word is exchanged when valgrind switches threads.  A thread starts at 0.  A child of
 * fork() continues its parent's count, execve() starts again at 0.
 *
 * Word 1 is what all other threads of the process have executed, including those that have
 * ended.
 *
 * Word 2, with --outside=yes, is what the calling thread has executed outside MPI's functions
 * up to its last entry into MPI; read it inside MPI.  A thread is inside from the first
 * instruction of any function that libminitrace knows (MPI_X and PMPI_X in C, Fortran and
 * Fortran 2008, found by their symbols) until that function returns or is left by longjmp()
 * or an exception.  Callbacks and signal handlers in between are inside.  The one instruction
 * per call that leads into MPI is taken out, as the recorder takes it out of a burst; what
 * comes before it, the call if it goes through the PLT, is outside.  It makes no difference
 * whether libminitrace is loaded.
 *
 * Two requests are about the busiest of the other threads.  LONGEST returns how many
 * instructions that thread has executed since the last MARK.  MARK begins the next such
 * interval where the last LONGEST ended.
 *
 * A load sees the count at the start of its superblock.  Every call and jump, direct or
 * through the PLT, starts one.  So a load before a function's first branch, among its first
 * 60 instructions, reads the count at the function's entry: everything executed before it,
 * including the call and the PLT's jump, and nothing of its own.
 *
 * A rep-prefixed string instruction counts once, whatever its number of rounds.
 *
 * How to run it:
 *
 *   VALGRIND_LIB=$O/libexec/valgrind \
 *       valgrind --tool=ticount --command-line-only=yes --vgdb=no --trace-children=yes ./app
 *
 *   --command-line-only=yes   no options from VALGRIND_OPTS and .valgrindrc: an option that
 *                         only another tool knows would stop the run
 *   --vgdb=no             no debugger pipes in the temporary folder
 *   --trace-children=yes  follows a shell script to the application; costs 0.2 CPU-seconds
 *                         per shell
 *   --report=yes          ticount's own: print the process's total on stderr at its end.
 *                         Without it ticount prints nothing unless valgrind itself fails
 *                         (-q is not needed)
 *   --outside=yes         ticount's own: count word 2, which slows all code down somewhat,
 *                         and report it from MPI_Init to MPI_Finalize
 *
 * ticount sets --vex-guest-chase and --vex-iropt-unroll-thresh itself; the command line
 * cannot change them.  A process that dumps core leaves vgcore.PID in its directory;
 * ulimit -c 0 prevents that.
 *
 * An instruction that valgrind does not know raises SIGILL.  If it is an AVX-512
 * instruction, ticount prints that and its address, once per process.
 *
 * CPU time, minimum of 3 runs on a 2-core AMD EPYC virtual machine with valgrind 3.19 and
 * Open MPI 4.1.4; "none" is valgrind's tool that does nothing:
 *
 *                                     ticount    none
 *   integer code (sieve, xorshift)      2.6       2.2   times native
 *   floating point (5-point stencil)    4.4       3.6   times native
 *   8-byte ping-pong, elapsed           5.7       4.6   times native
 *   starting /bin/true                 0.13             CPU-seconds
 *   MPI_Init and MPI_Finalize, a rank  0.73             CPU-seconds (native 0.08)
 *   memory of such a rank                42             MB resident (native 10)
 *   one read of the counter             1.2             nanoseconds, its loop included
 *
 * By perf's samples, of the 0.73 s in MPI_Init, valgrind's translating and finding 34 300
 * blocks takes about 70 %, its reading of symbols and line numbers 11 % (no option turns that
 * off), the translated code 5 %, the kernel the rest.  No option tried saved more than 0.07 s:
 * choosing Open MPI's pml, btl and coll components by hand saves that much;
 * --vex-iropt-level=0 saves 0.05 s but makes the integer code 2.5 times slower still.
 * HWLOC_COMPONENTS=-x86, --read-inline-info=no, --smc-check=none,
 * --vex-regalloc-version=2 and --vex-iropt-level=1 save nothing measurable.  On another
 * machine (Intel, loaded; 1.17 s), binding symbols at the first call instead of
 * LD_BIND_NOW=1 saves 0.01 s, stripping a program of 60,000 functions compiled with -g
 * 0.01 s; --outside=yes costs 0.07 s.
 */
#ifndef TI_MINITRACE_VALGRIND_TICOUNT_H
#define TI_MINITRACE_VALGRIND_TICOUNT_H

/* Request (version, 0, 0, 0, 0).  Returns the address of the live counter, a uint64_t[3]; or 0 if
 * there is no ticount, or one of another version. */
#define TI_TICOUNT_REQ_WORD (('T' << 24) | ('I' << 16))
#define TI_TICOUNT_VERSION  4

/* Requests without arguments, see above.  0 without ticount. */
#define TI_TICOUNT_REQ_LONGEST (TI_TICOUNT_REQ_WORD + 1)
#define TI_TICOUNT_REQ_MARK    (TI_TICOUNT_REQ_WORD + 2)

/* Word 2 if it is not counted. */
#define TI_TICOUNT_NO_OUTSIDE (~0ULL)

#endif
