/*
 * The times that ti-calibrate-mpi prints, summarized by kind and size.  The head of ping.c
 * describes the format.
 */
#ifndef TI_REPLAY_BRIDGE_CALIBRATE_SAMPLES_H
#define TI_REPLAY_BRIDGE_CALIBRATE_SAMPLES_H

#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "common/spread.h"

enum ti_sample_kind {
    TI_SAMPLE_SEND,
    TI_SAMPLE_ISEND,
    TI_SAMPLE_RECV,
    TI_SAMPLE_HALF_TRIP,
    TI_SAMPLE_RATE,
    TI_SAMPLE_KINDS
};

/* All times of one kind and size. */
struct ti_timing {
    double size; /* bytes; for TI_SAMPLE_RATE instructions */
    struct ti_spread seconds;
};

struct ti_samples {
    int64_t eager; /* bytes of the largest message whose send does not wait for the receive */
    struct ti_timing *timed[TI_SAMPLE_KINDS]; /* in ascending order of size; owned */
    int n[TI_SAMPLE_KINDS];
    size_t room[TI_SAMPLE_KINDS];
};

/*
 * Read the output of ti-calibrate-mpi.  Lines that begin with an unknown word are skipped: they may
 * come from the MPI library.  Release *out with ti_samples_free(), after errors too.
 *
 * TI_ERR_INPUT for a malformed line, or if the line "end" is missing.
 */
ti_status ti_samples_read(FILE *in, struct ti_samples *out, struct ti_err *err);
void ti_samples_free(struct ti_samples *s);

#endif
