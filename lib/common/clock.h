/*
 * Time, in seconds.  Both clocks only go forward, whatever is done to the machine's.
 */
#ifndef TI_CLOCK_H
#define TI_CLOCK_H

/* Since some moment: for timeouts and durations. */
double ti_now(void);

/* Since the epoch: as the machine's clock was when this process first asked, and from then on as
 * ti_now() goes.  For what is told to people; differences are durations as well. */
double ti_wall(void);

/* A time of the machine's clock, of a file for instance, on ti_wall(): the same, unless that
 * clock was set since; then ti_wall(). */
double ti_wall_of(double machine);

#endif
