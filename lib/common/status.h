/*
 * Results of functions that can fail, and the exit statuses of the programs.  The man pages list
 * them under EXIT STATUS.  Once released, the numbers stay.
 */
#ifndef TI_COMMON_STATUS_H
#define TI_COMMON_STATUS_H

typedef enum {
    TI_OK = 0,
    TI_ERR_PARTIAL = 1, /* finished, but something is missing */
    TI_ERR_USAGE = 2,   /* bad command line */
    TI_ERR_INPUT = 3,   /* an input is malformed or cannot be used */
    TI_ERR_IO = 4,      /* local file, memory or process problem */
    TI_ERR_REMOTE = 5,  /* SSH or remote problem */
    TI_ERR_APP = 6      /* the application failed */
} ti_status;

#endif
