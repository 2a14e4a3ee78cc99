/*
 * The dictionary of compression (deflateSetDictionary()) for the metadata of a rank file: chunks
 * INF and TOT.  It has keys and usual values as these chunks have them, each after its length, so
 * that what every rank repeats takes a few bytes.  The two chunks that most traces have are last,
 * because the library's window of deflate reaches back 1,786 bytes only.
 *
 * The dictionary is a part of the format: a change of one byte is a new TI_CHUNK_VERSION.  A text
 * that is not in the dictionary only takes more space.
 */
#ifndef TI_TRACE_METADATA_H
#define TI_TRACE_METADATA_H

static const char ti_metadata_dictionary[] =
    /* what some traces have, and values of other machines */
    "\05extra\26burst_ns:ns call_ns:ns\21extra_calibration\10times_ns"
    "\35Intel(R) Xeon(R) CPU @ GHz\24MPICH Version: 4.0.2\11x86-64-v3\07aarch64"
    /* the counters but blocks */
    "\07counter\04papi\05event\14PAPI_TOT_INS\04unit\14instructions\05exact\02no\10estimate\02no"
    "\04read\05rdpmc\07threads\03sum"
    "\07counter\10valgrind\05event\22guest instructions\04unit\14instructions\05exact\03yes"
    "\10estimate\02no\04read\16client request\07threads\06caller"
    "\07counter\07cputime\05event\27CLOCK_THREAD_CPUTIME_ID\04unit\13nanoseconds\05exact\02no"
    "\10estimate\03yes\04read\13system call\07threads\06caller\04mode\05whole"
    /* TOT behind its numbers */
    "\15flush_seconds\10"
    "0.000\14init_seconds\10"
    "0.\13app_seconds\10"
    "0."
    "\14memory_bytes\06"
    "159744\15spilled_bytes\01"
    "0\17negative_bursts\01"
    "0"
    "\17abandoned_calls\01"
    "0\10untraced\0\05whole\0\07outside\0\06blocks\0\12blocks_own\0"
    "\06reason\0\11caller_ns\0\10other_ns\01"
    "0\16node_questions\01"
    "0\07samples\01"
    "0"
    "\11uncounted\01"
    "0\14uncounted_in\0\07unknown\01"
    "0"
    /* INF */
    "\04rank\01"
    "0\04host\0\13application\0\07command\0\07counter\06blocks\05event"
    "+instructions of code compiled with ti-mpicc\04unit\14instructions\05exact\03yes"
    "\10estimate\02no\04read\04load\07threads\06caller\04mode\04full\13calibration"
    "00 spread 0 samples 64 noted 0 double 0 address 0\03cpu\10AMD EPYC\03isa\11x86-64-v4"
    "\10tunables\0\03mpi\17Open MPI v4.1.4\07library\05"
    "0.1.0\16ranks_per_node\0";

#define TI_METADATA_DICTIONARY_BYTES (sizeof ti_metadata_dictionary - 1)

#endif
