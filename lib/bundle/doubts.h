/*
 * Doubts: why the durations in a trace, and rates that follow from them, are not those of the
 * machine.  All tools that show or use such a rate ask here, and print the same sentences.
 */
#ifndef TI_BUNDLE_DOUBTS_H
#define TI_BUNDLE_DOUBTS_H

#include <jansson.h>

#define TI_DOUBTS_MAX 3

struct ti_doubts {
    int n;
    char text[TI_DOUBTS_MAX][160];
};

/* Doubts of durations.  `run`: RUN.json or MANIFEST.json, `counter`: of the trace; each may be NULL
 * if it is not known. */
void ti_doubts_of_durations(const json_t *run, const char *counter, struct ti_doubts *out);

/* Adds the doubt whether one rate fits ranks whose rates are from `least` to `most` `unit` a
 * second. */
void ti_doubts_of_rates(double least, double most, const char *unit, struct ti_doubts *out);

#endif
