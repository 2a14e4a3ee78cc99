/*
 * The start of a rank: what `ti-node run` does, which mpirun starts in the program's
 * place on every node.
 */
#ifndef TI_START_H
#define TI_START_H

/* Ends like this when a rank must not run here: before anything of it is traced. */
#define TI_START_REFUSED 113

/*
 * Become the rank: look into TIARA_RUN_FILE (written by "open", node/messages.h), see that
 * this rank is planned for this node, set its environment, directory and scheduling class,
 * and execute `argv` (its program instead of argv[0], where it has one) behind its wrapper.
 * With `census` only prints "TIARA-CENSUS RANK NODE".  Returns an exit status when it
 * cannot, having said why.
 */
int ti_start(int argc, char *const *argv, int census);

#endif
