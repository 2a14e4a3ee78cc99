/*
 * The result of the check of a script (see script.h), which stands between MPI_Init
 * and MPI_Finalize; the events of each rank count from 1, therefore.
 */
#ifndef TI_TESTS_UNIT_SOUND_H
#define TI_TESTS_UNIT_SOUND_H

#include "sound/check.h"

/* The outcome of the last one. */
extern struct ti_check check;
extern struct ti_problems problems;

/* Check it; `missing` is a rank left out, or -1.  The check of the folded traces must say the same.
 */
void check_of(int np, int missing, const char *script);

/* Check the folded traces only, with to[rank] trips of the loops that have `from`. */
void check_stretched(int np, const char *script, int64_t from, const int64_t *to);

/* The check found exactly `n` problems, the first of them on `rank` at `event` with `why`
 * in its text. */
void expect_problem(const char *script, uint64_t n, int64_t rank, uint64_t event, const char *why);

/* Check it, and expect that; or none. */
void unsound(uint64_t n, int64_t rank, uint64_t event, const char *why, int np, const char *script);
void sound(int np, const char *script);

/* Messages and bytes that were sent and received. */
void conserved(uint64_t messages, uint64_t bytes);

/* `n` requests are leaked, the first on `rank` at `event` by `call`. */
void leaks(uint64_t n, int64_t rank, uint64_t event, const char *call);

/* Events that the check of the folded traces left out. */
uint64_t left_out(void);

void sound_forget(void);

#endif
