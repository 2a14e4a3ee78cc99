/*
 * The times that ti-calibrate-mpi prints (ping.c says how), by kind and size.
 */
#ifndef TI_SAMPLES_H
#define TI_SAMPLES_H

#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

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
    double size;           /* bytes; of TI_SAMPLE_RATE instructions */
    double median, spread; /* seconds; half the range that the middle half of them is in */
    int times;
};

struct ti_samples {
    int64_t eager; /* bytes of the largest message whose send waits for nobody */
    struct ti_timing *timed[TI_SAMPLE_KINDS]; /* in ascending order of size */
    int n[TI_SAMPLE_KINDS];
};

/*
 * Read them, up to the line "end".  Lines that begin with another word are not ours.  *out is
 * released with ti_samples_free(), after errors too.  TI_ERR_INPUT with the line for what is
 * malformed, and if there is no "end"; TI_ERR_IO.
 */
ti_status ti_samples_read(FILE *in, struct ti_samples *out, struct ti_err *err);
void ti_samples_free(struct ti_samples *s);

/* Median, and half the range of the middle half, of n > 0 values, which are sorted. */
double ti_median(double *value, int n, double *spread);

#endif
