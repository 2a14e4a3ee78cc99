/*
 * Time, in seconds.  Both clocks are monotonic: setting the machine's clock does not change them.
 */
#ifndef TI_COMMON_CLOCK_H
#define TI_COMMON_CLOCK_H

/* CLOCK_MONOTONIC: for timeouts and durations. */
double ti_now(void);

/* Since the epoch: the machine's clock at the first call of this process, plus what ti_now() has
 * advanced since.  For output.  The difference of two values is a duration. */
double ti_wall(void);

/* Convert a time of the machine's clock, such as a file's, to ti_wall().  Returns `machine`, or
 * ti_wall() when the machine's clock was set since the first call of ti_wall(). */
double ti_wall_of(double machine);

#endif
