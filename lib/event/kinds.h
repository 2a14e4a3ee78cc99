/*
 * Numbers that a trace has for what is no event: kinds of strings and of communicators, and how a
 * rank's trace ended.  All encodings of traces (trace/trace.h, fold/record_layout.h) have the same.
 */
#ifndef TI_EVENT_KINDS_H
#define TI_EVENT_KINDS_H

/* Kinds of strings; the values are those in the file. */
enum ti_string { TI_STRING_SITE = 's', TI_STRING_CALL = 'c', TI_STRING_FILE = 'f' };

/* How a communicator was made; the values are those in the file. */
enum ti_comm_kind {
    TI_KIND_WORLD = 'w',
    TI_KIND_SELF = 's',
    TI_KIND_DUP = 'd',    /* comm_dup and its relatives */
    TI_KIND_SPLIT = 'p',  /* by colour or by type */
    TI_KIND_CREATE = 'c', /* from a group */
    TI_KIND_CART = 'g',
    TI_KIND_GRAPH = 'n',
    TI_KIND_DIST_GRAPH = 'a',
    TI_KIND_MERGED = 'm', /* from an intercommunicator */
    TI_KIND_INTER = 'i'   /* any intercommunicator */
};

/* How a rank's trace ended. */
#define TI_ENDS(X)                                                                                 \
    X(COMPLETE, 0, "complete")                                                                     \
    X(ABORTED, 1, "ended by MPI_Abort")                                                            \
    X(NO_FINALIZE, 2, "the process ended without MPI_Finalize")                                    \
    X(STOPPED, 3, "the library stopped recording")                                                 \
    X(KILLED, 4, "cut off: no end was written")

#define TI_END_ENUM(name, number, text) TI_END_##name = number,
enum ti_end { TI_ENDS(TI_END_ENUM) TI_END_COUNT };

#endif
