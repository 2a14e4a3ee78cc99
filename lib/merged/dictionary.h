/*
 * The dictionary of compression (deflateSetDictionary()) for the chunks of a merged trace.  It has
 * the texts that most records contain, in their order: short traces would consist of them.
 *
 * The dictionary is a part of the format: a change of one byte is a new TI_MERGED_VERSION.  A text
 * that is not in the dictionary only takes more space.
 */
#ifndef TI_MERGED_DICTIONARY_H
#define TI_MERGED_DICTIONARY_H

static const char ti_dictionary[] =
    /* values of metadata */
    "MPICH Version: 4.0.2"
    "GenuineIntelIntel(R) Xeon(R) CPU @ GHzAMD EPYC"
    "papiPAPI_TOT_INSinstructionsnonordpmccallerfull"
    "cputimeCPU timenanosecondsnonosystem callcallerfull"
    "valgrindguest instructionsinstructionsyesnoclient requestcallerfull"
    "sumwhole"
    "build/examples/build/blocks/"
    "blocksinstructions of code compiled with ti-mpiccinstructionsyesnoloadcallerfull"
    "0 spread 0 samples 64 noted 0 double 0 address 0"
    "AMD EPYCx86-64-v2x86-64-v3x86-64-v4Open MPI v4.1.40.1.0"
    /* of a call site */
    "+0x []"
    /* keys of metadata, and forms of values; communicators, strings, volumes */
    "extra\0extra_calibration\0times_ns\0volumes\0extras\0"
    "rank\0host\0application\0command\0counter\0event\0unit\0exact\0estimate\0read\0threads\0mode\0"
    "calibration\0cpu\0isa\0tunables\0mpi\0library\0ranks_per_node\0flush_seconds\0init_seconds\0"
    "app_seconds\0memory_bytes\0spilled_bytes\0negative_bursts\0abandoned_calls\0untraced\0whole\0"
    "outside\0blocks\0blocks_own\0reason\0caller_ns\0other_ns\0node_questions\0samples\0uncounted\0"
    "uncounted_in\0unknown\0"
    "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\7\7\7\1\1\1\1\0\1\0\1\0\0\1\1\1\1\1\0\1"
    "\2\0w\0\1s\0";

#define TI_DICTIONARY_BYTES (sizeof ti_dictionary - 1)

#endif
