/*
 * ticount: what a traced process and our valgrind tool say to each other.
 *
 * The process asks once, by a valgrind client request, for the address of the
 * live counter.  From then on a plain 64-bit load from there reads how many
 * instructions the calling thread has executed: the address is the same in all
 * threads, and valgrind, which runs one at a time, exchanges the value when it
 * changes to another.  Values grow by one per instruction; a thread starts at
 * 0; fork() hands the count on, execve() starts again at 0.  Never write there.
 * The next word, 8 bytes on, is what all other threads of the process have
 * executed, those that have ended among them.
 *
 * The third word, with --outside=yes, is what the calling thread has executed
 * outside of MPI's functions, up to when it entered the one that it is in: read it
 * inside one.  It is inside from the first instruction of any function that
 * libminitrace knows (MPI_X and PMPI_X in C, Fortran and Fortran 2008, found by their
 * symbols) until that function's return, or until longjmp() or an exception has left
 * it; callbacks and signal handlers in between are inside.  One instruction a call,
 * the one that leads into MPI, is taken out, as the recorder takes it out of a burst;
 * what comes before it, the call if it goes through the PLT, is outside.  Whether
 * libminitrace is loaded makes no difference.
 *
 * Two requests are about the busiest of the other threads.  LONGEST returns how many
 * instructions that thread has executed since the last MARK.  MARK begins the next such
 * period where the last LONGEST ended.
 *
 * What a load sees is the count at the start of its superblock.  Every call
 * and jump, direct or through the PLT, starts one; so a load that precedes a
 * function's first branch, among its first 60 instructions, reads the count at
 * the function's entry: all that was executed before it, the call and the
 * PLT's jump included, and nothing of its own.
 *
 * A rep-prefixed string instruction counts once, whatever its repeat count.
 *
 * How to run it:
 *
 *   VALGRIND_LIB=$O/libexec/valgrind \
 *       valgrind --tool=ticount --command-line-only=yes --vgdb=no --trace-children=yes ./app
 *
 *   --command-line-only=yes   no options from VALGRIND_OPTS and .valgrindrc, where one
 *                         that only another tool knows would stop the run
 *   --vgdb=no             no debugger pipes in the temporary folder
 *   --trace-children=yes  follows a shell wrapper to the application; costs
 *                         0.2 CPU-seconds for each shell
 *   --report=yes          ticount's own: one line with the process's total on
 *                         stderr at its end; without it ticount says nothing
 *                         unless valgrind itself is in trouble (-q not needed)
 *   --outside=yes         ticount's own: count the third word, which slows all code
 *                         down somewhat, and report it from MPI_Init to MPI_Finalize
 *
 * ticount sets --vex-guest-chase and --vex-iropt-unroll-thresh itself, and wins.
 * A process that dumps core leaves vgcore.PID in its directory; ulimit -c 0 prevents
 * that.
 *
 * An instruction that valgrind does not know raises SIGILL; if it is one of AVX-512,
 * ticount says so, and where, in one line for each process.
 *
 * What it costs, CPU time, smallest of 3 runs on a 2-core AMD EPYC virtual
 * machine with valgrind 3.19 and Open MPI 4.1.4, "none" being valgrind's tool
 * that does nothing:
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
 * Of MPI_Init's 0.73 s, perf's samples give about 70 % to valgrind translating
 * and finding 34 300 blocks, 11 % to it reading symbols and line numbers (no
 * option turns that off), 5 % to the translated code, the rest to the kernel.
 * Nothing tried saved more than 0.07 s: choosing Open MPI's pml, btl and coll
 * components by hand saves that, --vex-iropt-level=0 saves 0.05 s but makes the
 * integer code 2.5 times slower still.  HWLOC_COMPONENTS=-x86,
 * --read-inline-info=no, --smc-check=none, --vex-regalloc-version=2 and
 * --vex-iropt-level=1 save nothing that can be told from noise, and are left
 * alone.  On another machine (Intel, loaded; 1.17 s): binding symbols at the first
 * call instead of LD_BIND_NOW=1 saves 0.01 s, stripping a program of 60,000
 * functions compiled with -g 0.01 s; --outside=yes costs 0.07 s.
 */
#ifndef TI_TICOUNT_H
#define TI_TICOUNT_H

/* Request (version, 0, 0, 0, 0): the address of the live counter, a uint64_t[3].
 * 0, the default, without ticount or if it speaks another version. */
#define TI_TICOUNT_REQ_WORD (('T' << 24) | ('I' << 16))
#define TI_TICOUNT_VERSION  4

/* Requests without arguments, see above.  0 without ticount. */
#define TI_TICOUNT_REQ_LONGEST (TI_TICOUNT_REQ_WORD + 1)
#define TI_TICOUNT_REQ_MARK    (TI_TICOUNT_REQ_WORD + 2)

/* The third word where that is not counted. */
#define TI_TICOUNT_NO_OUTSIDE (~0ULL)

#endif
