/*
 * A program for smpirun that is executed by itself.
 *
 * smpicc makes a shared object, which smpirun loads; executed, such an object has no entry point
 * and crashes.  alone.c gives it one.
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_ALONE_H
#define TI_REPLAY_BRIDGE_REPLAYER_ALONE_H

/* The main function of a program that is executed by itself.  It must not call MPI or SimGrid.
 * Returns the exit status. */
int ti_alone(int argc, char **argv);

#endif
