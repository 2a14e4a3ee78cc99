/*
 * Chooses the counter: the one asked for, or the best one that works.  A counter is tried in a
 * process of its own, so that it leaves nothing behind in this one.
 */
#ifndef TI_ACQUIRE_RUN_CHOOSE_H
#define TI_ACQUIRE_RUN_CHOOSE_H

#include <stdbool.h>

#include "common/err.h"
#include "minitrace/counters/counter.h"
#include "program/program.h"

struct ti_counter_choice {
    const struct ti_counter_backend *of; /* NULL: not known */
    char counter[96];                    /* value of TIARA_COUNTER: "papi:PAPI_TOT_INS", ... */
    char event[64];
    bool exact, estimate;
    bool valgrind;           /* the program runs under the wrapper of the back end, valgrind */
    char valgrind_lib[4096]; /* value of the wrapper's variable, VALGRIND_LIB */
    char why[1024];          /* for "auto": why the first one was not chosen; else "" */
};

/*
 * Choose a counter.
 *
 *   wanted   argument of --counter
 *   sum      it must count all threads of a process
 *   program  what will be run
 *   lib      folder of our valgrind tool; NULL: there is none
 *
 * TI_ERR_USAGE: unknown name.  TI_ERR_INPUT: it does not count here.
 */
ti_status ti_counter_choose(const char *wanted, bool sum, const struct ti_program *program,
                            const char *lib, struct ti_counter_choice *out, struct ti_err *err);

/* Check that the PAPI events `also` count here together with the chosen counter.  For counters that
 * count in the program only, it is checked whether they count at all; events that the program
 * defines itself are not checked.  TI_ERR_USAGE, TI_ERR_INPUT. */
ti_status ti_counter_check_also(const char *also, bool sum, const struct ti_counter_choice *choice,
                                struct ti_err *err);

#endif
