/*
 * The one list of outcomes: enum, exit status, text and the man pages' EXIT
 * STATUS section all come from it.  Once released, the numbers stay.
 */
#ifndef TI_STATUS_H
#define TI_STATUS_H

#define TI_STATUSES(X)                                                  \
    X(TI_OK, 0, "success")                                              \
    X(TI_ERR_PARTIAL, 1, "finished, but something is missing")          \
    X(TI_ERR_USAGE, 2, "bad command line")                              \
    X(TI_ERR_INPUT, 3, "an input is malformed or cannot be used")       \
    X(TI_ERR_IO, 4, "local file, memory or process problem")            \
    X(TI_ERR_REMOTE, 5, "SSH or remote problem")                        \
    X(TI_ERR_APP, 6, "the application failed")

#define TI_STATUS_ENUM(name, exit_status, text) name = exit_status,
typedef enum { TI_STATUSES(TI_STATUS_ENUM) } ti_status;
#undef TI_STATUS_ENUM

/* The text of a status, from the list above; never NULL. */
const char *ti_status_text(ti_status st);

#endif
