/*
 * A clock that a test turns, for programs linked with -Wl,--wrap=ti_now.  It runs with the
 * machine's clock until it is first turned; then it moves only when it is turned.
 */
#ifndef TI_TESTS_CLI_TURNED_H
#define TI_TESTS_CLI_TURNED_H

void turn_clock(double seconds);

/* Runs with the machine's clock again, from where it is. */
void release_clock(void);

#endif
