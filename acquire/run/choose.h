/*
 * Which counter: asked for, or found by trying.  A counter is tried in a
 * process of its own, so that nothing of it stays in this one.
 */
#ifndef TI_CHOOSE_H
#define TI_CHOOSE_H

#include <stdbool.h>

#include "common/err.h"
#include "node/program.h"

struct ti_counter_choice {
    char counter[96]; /* for TIARA_COUNTER: "papi:PAPI_TOT_INS", "valgrind", "blocks", ... */
    char backend[16];
    char event[64];
    bool exact, estimate;
    bool valgrind;
    char valgrind_lib[4096]; /* VALGRIND_LIB, if valgrind */
    char why[1024];          /* for "auto": why not papi; else "" */
};

/*
 * `wanted` is the option's argument.  `sum`: it must count for all threads of a
 * process.  `program` is what will be run.  `lib` is the folder of our valgrind
 * tool, or NULL if there is none.  TI_ERR_USAGE for an unknown name,
 * TI_ERR_INPUT when it does not count here.
 */
ti_status ti_counter_choose(const char *wanted, bool sum, const struct ti_program *program,
                            const char *lib, struct ti_counter_choice *out, struct ti_err *err);

/* Whether the PAPI events `also` count here beside what was chosen: TI_ERR_USAGE or
 * TI_ERR_INPUT says why not.  Beside valgrind and blocks, whether they count at all;
 * of events that the program itself defines, nothing. */
ti_status ti_counter_check_also(const char *also, bool sum, const struct ti_counter_choice *choice,
                                struct ti_err *err);

#endif
