/*
 * Random programs, and the traces that they leave, for tests of folded traces.
 */
#ifndef TI_TESTS_UNIT_PROGRAMS_H
#define TI_TESTS_UNIT_PROGRAMS_H

#include "event/event.h"
#include "trace/trace.h"

/* A call, or a loop if `trips` is above 0. */
struct statement {
    struct ti_event ev;
    int32_t vec[TI_VECS][12];
    uint32_t values[TI_F_COUNT]; /* a field takes so many different values */
    uint32_t vector_values;
    uint64_t noise; /* of the volume */
    uint32_t trips, varying;
    struct statement *child, *next;
};

/* Fixtures of a group of tests: a folder, and the name of rank 3's file in it. */
extern char program_path[96];
int program_setup(void **state);
int program_cleanup(void **state);

extern const uint8_t program_run_id[TI_RUN_ID_BYTES];

/* State of the random numbers, which are the same in each run; and a number below `below`. */
extern uint64_t program_seed;
uint64_t program_rnd(uint64_t below);

/* A call of an operation whose fields are 0. */
struct statement program_call(uint32_t op, uint64_t volume);

/* A list of up to `n` + 1 statements, in loops up to `depth` deep. */
struct statement *program_random(int depth, uint64_t n);
void program_free(struct statement *s);

/* Write the trace of rank 3 of 8: part of an iteration of a program, then `iterations`; with
 * `extras`, if that is not 0, two extra columns; up to `most` events. */
void program_trace(const char *path, const struct statement *program, int iterations, int extras,
                   uint64_t most, enum ti_end end);

#endif
