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

/* "2013-06-01T12:00:00Z", for seconds since the epoch, into buf; returns buf. */
char *ti_time_text(double seconds, char buf[32]);

/* Seconds rounded to milliseconds, the precision of all times that are written. */
double ti_milliseconds(double seconds);

#endif
