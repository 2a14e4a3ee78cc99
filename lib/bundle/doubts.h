/*
 * Doubts: why the durations in a trace, and rates that follow from them, are not those of the
 * machine.  All tools that show or use such a rate ask here, and print the same sentences.
 */
#ifndef TI_BUNDLE_DOUBTS_H
#define TI_BUNDLE_DOUBTS_H

#include <jansson.h>
#include <stdbool.h>

#define TI_DOUBTS_MAX 3

struct ti_doubts {
    int n;
    char text[TI_DOUBTS_MAX][160];
};

/* Whether programs run slower under this counter; false for NULL.  Traces have only its name. */
bool ti_doubts_slowed(const char *counter);

/* Doubts of durations.  `run`: RUN.json or MANIFEST.json, NULL if it is not known; `slowed`: by the
 * counter of some rank. */
void ti_doubts_of_durations(const json_t *run, bool slowed, struct ti_doubts *out);

/* Adds the doubt whether one rate fits ranks whose rates are from `least` to `most` `unit` a
 * second. */
void ti_doubts_of_rates(double least, double most, const char *unit, struct ti_doubts *out);

#endif
