/*
 * The start of a rank: `ti-node run`, which mpirun starts on every node instead of the program.
 */
#ifndef TI_NODE_START_H
#define TI_NODE_START_H

/* Exit status if the rank must not run on this node; nothing was traced. */
#define TI_START_REFUSED 113

/*
 * Become the rank.  Reads TIARA_NODE_FILE (written by "open", session/messages.h) and checks that
 * this rank is planned for this node.  Sets environment, directory and scheduling class, and
 * executes `argv` after the wrapper; the file's "program", if present, replaces argv[0].  With
 * `dry_launch`, only prints "TIARA-DRY-LAUNCH RANK NODE".  Returns only on failure or after that:
 * an exit status; errors were printed.
 */
int ti_start(int argc, char *const *argv, int dry_launch);

#endif
