/*
 * Events: what a trace is made of.
 *
 * An event is one MPI call with canonical parameters, preceded by the volume of the compute burst
 * before it.  TI_FIELDS and TI_OPS list all fields and operations.  Recorder, writer, reader,
 * check, linter, replay bridge and ti-info are built from these two lists.  HACKING.md says what a
 * new operation needs besides its row.
 *
 * Nothing in an event depends on time.  An unsuccessful poll is no event.  A receive with a
 * wildcard carries the source and tag that matched.  Request numbers follow from the order of the
 * calls.
 */
#ifndef TI_EVENT_EVENT_H
#define TI_EVENT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Fields: X(name, text, meaning).  A field is a 64-bit integer.  The `mask` of an event has one bit
 * for each field that the event has; TI_OPS lists the fields of each operation.
 *
 * Peers are relative: partner's rank minus own rank, both in the event's communicator.  So the same
 * program step looks the same on every rank.
 */
#define TI_FIELDS(X)                                                                               \
    X(COMM, "comm", "communicator: 0 world, 1 self, then as this rank met them")                   \
    X(PEER, "peer",                                                                                \
      "partner of the send, or of a lone receive: its rank minus ours, "                           \
      "TI_ANY (MPI_ANY_SOURCE) or TI_NULL (MPI_PROC_NULL)")                                        \
    X(TAG, "tag", "its tag, or TI_ANY")                                                            \
    X(BYTES, "bytes",                                                                              \
      "packed bytes given: of the message; of one rank's share in "                                \
      "a collective, for the vector forms the whole own share")                                    \
    X(ESIZE, "esize", "packed bytes of one element of it")                                         \
    X(PEER2, "rpeer", "source of the receive half of a send-receive")                              \
    X(TAG2, "rtag", "its tag, or TI_ANY")                                                          \
    X(BYTES2, "rbytes", "packed bytes of the receive side, where there are two")                   \
    X(ESIZE2, "resize", "packed bytes of one element of it")                                       \
    X(FROM, "from", "source that matched a wildcard: its rank minus ours")                         \
    X(FROMTAG, "fromtag", "tag that matched a wildcard")                                           \
    X(ROOT, "root", "root's rank in the communicator")                                             \
    X(REDOP, "redop", "reduction operation, see TI_REDOPS")                                        \
    X(REQ, "req", "request: lowest number no live request had when it was made")                   \
    X(ALL, "all", "1: the call completed every active request of the rank")                        \
    X(COLOR, "color",                                                                              \
      "colour of a split, or TI_NULL (MPI_UNDEFINED); of a split by "                              \
      "type 0 for MPI_COMM_TYPE_SHARED, 1 for any other type")                                     \
    X(KEY, "key", "key of a split; `high` of an intercommunicator merge")                          \
    X(NEWCOMM, "newcomm", "communicator made, or TI_NULL (MPI_COMM_NULL)")                         \
    X(LEVEL, "level",                                                                              \
      "argument of MPI_Pcontrol; thread level of MPI_Init_thread, 0 "                              \
      "of MPI_Init; error code of MPI_Abort")                                                      \
    X(CALL, "call", "string number of the name of a call that is not traced")                      \
    X(REORDER, "reorder", "whether a topology was allowed to reorder the ranks")                   \
    X(MSG, "msg", "matched message: lowest number no live one had when it was probed")             \
    X(COMM2, "peercomm", "communicator of the leaders of an intercommunicator")                    \
    X(WIN, "win", "window: its number, as this rank met them")                                     \
    X(FILE, "file", "file handle: its number, as this rank met them")                              \
    X(OFFSET, "offset",                                                                            \
      "explicit offset in elementary types; displacement of a view "                               \
      "in bytes")                                                                                  \
    X(MODE, "mode", "assertions, lock type, access mode or whence, see TI_MODES")                  \
    X(NAME, "name", "string number of a file's name")                                              \
    X(PART, "part", "partitions of a partitioned message; the first one made ready")

/* clang-format off */
#define TI_FIELD_ENUM(name, text, meaning) TI_F_##name,
enum ti_field { TI_FIELDS(TI_FIELD_ENUM) TI_F_COUNT };
#define TI_FIELD_MASK(name, text, meaning) TI_M_##name = 1u << TI_F_##name,
enum { TI_FIELDS(TI_FIELD_MASK) TI_M_NONE = 0 };
/* clang-format on */

/* Special values of PEER, PEER2, TAG, TAG2, COLOR, NEWCOMM and ROOT.  TI_NULL in FROM and FROMTAG
 * means that the request was cancelled and matched nothing. */
#define TI_ANY  INT64_MIN       /* MPI_ANY_SOURCE, MPI_ANY_TAG */
#define TI_NULL (INT64_MIN + 1) /* MPI_PROC_NULL, MPI_UNDEFINED, MPI_COMM_NULL */
#define TI_SELF (INT64_MIN + 2) /* MPI_ROOT: this rank is, in the other group */

/* Bits of MODE: X(name, bit, text).  The trace has numbers of its own, because those of MPI
 * libraries differ.  A lock has EXCLUSIVE or no bit; a seek has CUR, END or no bit. */
/* clang-format off */
#define TI_MODES(X)                                                                     \
    X(NOCHECK, 0, "nocheck") X(NOSTORE, 1, "nostore") X(NOPUT, 2, "noput")              \
    X(NOPRECEDE, 3, "noprecede") X(NOSUCCEED, 4, "nosucceed")                           \
    X(EXCLUSIVE, 5, "exclusive") X(RDONLY, 6, "rdonly") X(WRONLY, 7, "wronly")          \
    X(RDWR, 8, "rdwr") X(CREATE, 9, "create") X(EXCL, 10, "excl")                       \
    X(DELETE, 11, "delete_on_close") X(UNIQUE, 12, "unique_open")                       \
    X(SEQUENTIAL, 13, "sequential") X(APPEND, 14, "append") X(CUR, 15, "cur")           \
    X(END, 16, "end")
#define TI_MODE_ENUM(name, bit, text) TI_MODE_##name = 1 << (bit),
enum { TI_MODES(TI_MODE_ENUM) TI_MODE_NONE = 0 };
/* clang-format on */

#define TI_M_P2P   (TI_M_COMM | TI_M_PEER | TI_M_TAG | TI_M_BYTES | TI_M_ESIZE)
#define TI_M_P2P2  (TI_M_PEER2 | TI_M_TAG2 | TI_M_BYTES2 | TI_M_ESIZE2)
#define TI_M_COLL  (TI_M_COMM | TI_M_BYTES | TI_M_ESIZE)
#define TI_M_COLL2 (TI_M_COLL | TI_M_BYTES2 | TI_M_ESIZE2)
#define TI_M_MATCH (TI_M_FROM | TI_M_FROMTAG)
#define TI_M_MADE  (TI_M_COMM | TI_M_NEWCOMM)
#define TI_M_RMA   (TI_M_WIN | TI_M_PEER | TI_M_BYTES | TI_M_ESIZE)
#define TI_M_RMA2  (TI_M_RMA | TI_M_BYTES2 | TI_M_ESIZE2)
#define TI_M_IO    (TI_M_FILE | TI_M_BYTES | TI_M_ESIZE)

/*
 * Traits: the effects of an operation on messages, requests and other ranks.  Code tests for a
 * trait (ti_op_is()) where operations have an effect in common.
 */
enum ti_trait {
    /* Messages.  A persistent operation has these effects at each of its starts. */
    TI_T_SENDS = 1 << 0,       /* a message to PEER */
    TI_T_RECEIVES = 1 << 1,    /* a message from PEER, or from PEER2 if it also sends */
    TI_T_BUFFERED = 1 << 2,    /* a send that never waits for the receive */
    TI_T_SYNCHRONOUS = 1 << 3, /* a send that always waits for the receive */
    TI_T_PARTITIONED = 1 << 4,
    TI_T_PROBES = 1 << 5, /* matched probe: the message MSG leaves the queue */
    TI_T_PROBED = 1 << 6, /* receives the message MSG of a matched probe */

    /* Requests. */
    TI_T_REQUEST = 1 << 7,    /* makes the request REQ, which is active until it is completed */
    TI_T_PERSISTENT = 1 << 8, /* the request is active from each start, and exists until freed */
    TI_T_STARTS = 1 << 9,     /* persistent requests */
    TI_T_COMPLETES = 1 << 10, /* requests, or frees them */
    TI_T_CANCELS = 1 << 11,   /* the request REQ */
    TI_T_USES = 1 << 12,      /* a partitioned or generalized request REQ */
    TI_T_POLLS = 1 << 13,     /* may be unsuccessful, or repeat an answer: then it is no event */

    /* Groups of ranks. */
    TI_T_BY_ALL = 1 << 14,     /* all members of the communicator, window or file call it */
    TI_T_COLLECTIVE = 1 << 15, /* one of TI_COLLECTIVES; the persistent forms lack BY_ALL,
                                * because all members call their starts instead */

    /* Collectives: which ranks give blocks to which.  The default: each rank gives one block,
     * the same one, to all. */
    TI_T_FROM_ROOT = 1 << 16,
    TI_T_TO_ROOT = 1 << 17,
    TI_T_NEIGHBOURS = 1 << 18,   /* to its destinations, from its sources, not to all */
    TI_T_BLOCKS = 1 << 19,       /* each taker gets a block of its own */
    TI_T_COUNTS_GIVEN = 1 << 20, /* vector 1 counts these blocks, in ESIZE */
    TI_T_COUNTS_TAKEN = 1 << 21, /* the last vector counts blocks that are taken, in ESIZE2 */
    TI_T_MIRRORED = 1 << 22,     /* between two groups, BYTES of one are BYTES2 of the other */
    TI_T_SAME_VECTORS = 1 << 23, /* all members give the same vectors */

    /* Communicators: the neighbours of the new one. */
    TI_T_COPIES = 1 << 24,  /* those of the old one */
    TI_T_GRID = 1 << 25,    /* of the grid "dims", "periods" */
    TI_T_SUBGRID = 1 << 26, /* of the dimensions "remain" of the old one */
    TI_T_GRAPH = 1 << 27,   /* the first vector, and the last */

    /* One-sided communication, and access to files: ways that bytes go. */
    TI_T_PUTS = 1 << 28,
    TI_T_GETS = 1 << 29,
    TI_T_READS = 1 << 30,
    TI_T_WRITES = INT32_MIN
};

/*
 * Operations: X(name, text, fields that are always there, fields that may be there, fields that are
 * equal on all members, traits, name of vector 1, name of vector 2).
 *
 * A vector is a list of 64-bit integers; "" means that the operation has none.
 */
/* clang-format off */
#define TI_OPS(X)                                                                       \
    TI_OPS_PROCESS(X) TI_OPS_P2P(X) TI_OPS_REQUESTS(X) TI_COLLECTIVES(TI_COLLECTIVE, X) \
    TI_OPS_COMMS(X) TI_OPS_RMA(X) TI_OPS_FILES(X)
/* clang-format on */

#define TI_OPS_PROCESS(X)                                                                          \
    X(INIT, "init", 0, TI_M_LEVEL, 0, 0, "", "")                                                   \
    X(FINALIZE, "finalize", 0, 0, 0, 0, "", "")                                                    \
    X(ABORT, "abort", TI_M_COMM | TI_M_LEVEL, 0, 0, 0, "", "")                                     \
    X(PCONTROL, "pcontrol", TI_M_LEVEL, 0, 0, 0, "", "")                                           \
    X(UNTRACED, "untraced", TI_M_CALL, 0, 0, 0, "", "")

/*
 * Point to point.  A persistent request (..._init) keeps its number until MPI_Request_free; it is
 * active from a start to its completion.
 *
 * Partitioned messages: BYTES is the size of the whole message, PART the number of partitions.  In
 * the calls that make partitions ready, PART is one of them, the first and last, or a list.
 *
 * A matched probe takes the message.  FROM and FROMTAG say what a wildcard matched.  The receive
 * (mrecv, imrecv) has the same communicator, and the PEER and TAG of the message.  MSG is -1 for
 * MPI_MESSAGE_NO_PROC, whose receive has communicator 0 and any tag.  An iprobe of MPI_PROC_NULL is
 * no event.
 *
 * A successful probe or iprobe is no event if it repeats an earlier one, with the same arguments
 * and the same answer, and only probes lie between.  The recorder may forget a probe after 16
 * different ones in a row.
 */
#define TI_OPS_P2P(X)                                                                              \
    X(SEND, "send", TI_M_P2P, 0, 0, TI_T_SENDS, "", "")                                            \
    X(BSEND, "bsend", TI_M_P2P, 0, 0, TI_T_SENDS | TI_T_BUFFERED, "", "")                          \
    X(SSEND, "ssend", TI_M_P2P, 0, 0, TI_T_SENDS | TI_T_SYNCHRONOUS, "", "")                       \
    X(RSEND, "rsend", TI_M_P2P, 0, 0, TI_T_SENDS, "", "")                                          \
    X(RECV, "recv", TI_M_P2P, TI_M_MATCH, 0, TI_T_RECEIVES, "", "")                                \
    X(ISEND, "isend", TI_M_P2P | TI_M_REQ, 0, 0, TI_T_SENDS | TI_T_REQUEST, "", "")                \
    X(IBSEND, "ibsend", TI_M_P2P | TI_M_REQ, 0, 0, TI_T_SENDS | TI_T_BUFFERED | TI_T_REQUEST, "",  \
      "")                                                                                          \
    X(ISSEND, "issend", TI_M_P2P | TI_M_REQ, 0, 0, TI_T_SENDS | TI_T_SYNCHRONOUS | TI_T_REQUEST,   \
      "", "")                                                                                      \
    X(IRSEND, "irsend", TI_M_P2P | TI_M_REQ, 0, 0, TI_T_SENDS | TI_T_REQUEST, "", "")              \
    X(IRECV, "irecv", TI_M_P2P | TI_M_REQ, 0, 0, TI_T_RECEIVES | TI_T_REQUEST, "", "")             \
    X(SEND_INIT, "send_init", TI_M_P2P | TI_M_REQ, 0, 0,                                           \
      TI_T_SENDS | TI_T_REQUEST | TI_T_PERSISTENT, "", "")                                         \
    X(BSEND_INIT, "bsend_init", TI_M_P2P | TI_M_REQ, 0, 0,                                         \
      TI_T_SENDS | TI_T_BUFFERED | TI_T_REQUEST | TI_T_PERSISTENT, "", "")                         \
    X(SSEND_INIT, "ssend_init", TI_M_P2P | TI_M_REQ, 0, 0,                                         \
      TI_T_SENDS | TI_T_SYNCHRONOUS | TI_T_REQUEST | TI_T_PERSISTENT, "", "")                      \
    X(RSEND_INIT, "rsend_init", TI_M_P2P | TI_M_REQ, 0, 0,                                         \
      TI_T_SENDS | TI_T_REQUEST | TI_T_PERSISTENT, "", "")                                         \
    X(RECV_INIT, "recv_init", TI_M_P2P | TI_M_REQ, 0, 0,                                           \
      TI_T_RECEIVES | TI_T_REQUEST | TI_T_PERSISTENT, "", "")                                      \
    X(SENDRECV, "sendrecv", TI_M_P2P | TI_M_P2P2, TI_M_MATCH, 0, TI_T_SENDS | TI_T_RECEIVES, "",   \
      "")                                                                                          \
    X(SENDRECV_REPLACE, "sendrecv_replace", TI_M_P2P | TI_M_P2P2, TI_M_MATCH, 0,                   \
      TI_T_SENDS | TI_T_RECEIVES, "", "")                                                          \
    X(ISENDRECV, "isendrecv", TI_M_P2P | TI_M_P2P2 | TI_M_REQ, 0, 0,                               \
      TI_T_SENDS | TI_T_RECEIVES | TI_T_REQUEST, "", "")                                           \
    X(ISENDRECV_REPLACE, "isendrecv_replace", TI_M_P2P | TI_M_P2P2 | TI_M_REQ, 0, 0,               \
      TI_T_SENDS | TI_T_RECEIVES | TI_T_REQUEST, "", "")                                           \
    X(PROBE, "probe", TI_M_COMM | TI_M_PEER | TI_M_TAG, TI_M_MATCH, 0, TI_T_POLLS, "", "")         \
    X(IPROBE, "iprobe", TI_M_COMM | TI_M_PEER | TI_M_TAG, TI_M_MATCH, 0, TI_T_POLLS, "", "")       \
    X(MPROBE, "mprobe", TI_M_COMM | TI_M_PEER | TI_M_TAG | TI_M_MSG, TI_M_MATCH, 0, TI_T_PROBES,   \
      "", "")                                                                                      \
    X(IMPROBE, "improbe", TI_M_COMM | TI_M_PEER | TI_M_TAG | TI_M_MSG, TI_M_MATCH, 0,              \
      TI_T_PROBES | TI_T_POLLS, "", "")                                                            \
    X(MRECV, "mrecv", TI_M_P2P | TI_M_MSG, 0, 0, TI_T_PROBED, "", "")                              \
    X(IMRECV, "imrecv", TI_M_P2P | TI_M_MSG | TI_M_REQ, 0, 0, TI_T_PROBED | TI_T_REQUEST, "", "")  \
    X(PSEND_INIT, "psend_init", TI_M_P2P | TI_M_PART | TI_M_REQ, 0, 0,                             \
      TI_T_SENDS | TI_T_PARTITIONED | TI_T_REQUEST | TI_T_PERSISTENT, "", "")                      \
    X(PRECV_INIT, "precv_init", TI_M_P2P | TI_M_PART | TI_M_REQ, 0, 0,                             \
      TI_T_RECEIVES | TI_T_PARTITIONED | TI_T_REQUEST | TI_T_PERSISTENT, "", "")                   \
    X(PREADY, "pready", TI_M_REQ | TI_M_PART, 0, 0, TI_T_USES, "", "")                             \
    X(PREADY_RANGE, "pready_range", TI_M_REQ, 0, 0, TI_T_USES, "range", "")                        \
    X(PREADY_LIST, "pready_list", TI_M_REQ, 0, 0, TI_T_USES, "partitions", "")                     \
    X(PARRIVED, "parrived", TI_M_REQ | TI_M_PART, 0, 0, TI_T_USES | TI_T_POLLS, "", "")

/*
 * Requests.  "matched" is a list of triples (request, from, fromtag): one for each receive with a
 * wildcard that the call completed, and one for each cancelled request, where `from` and `fromtag`
 * are TI_NULL.
 */
#define TI_OPS_REQUESTS(X)                                                                         \
    X(START, "start", TI_M_REQ, 0, 0, TI_T_STARTS, "", "")                                         \
    X(STARTALL, "startall", 0, 0, 0, TI_T_STARTS, "requests", "")                                  \
    X(WAIT, "wait", TI_M_REQ, TI_M_MATCH, 0, TI_T_COMPLETES, "", "")                               \
    X(WAITALL, "waitall", 0, TI_M_ALL, 0, TI_T_COMPLETES, "requests", "matched")                   \
    X(WAITANY, "waitany", TI_M_REQ, TI_M_MATCH, 0, TI_T_COMPLETES, "", "")                         \
    X(WAITSOME, "waitsome", 0, TI_M_ALL, 0, TI_T_COMPLETES, "requests", "matched")                 \
    X(TEST, "test", TI_M_REQ, TI_M_MATCH, 0, TI_T_COMPLETES | TI_T_POLLS, "", "")                  \
    X(TESTALL, "testall", 0, TI_M_ALL, 0, TI_T_COMPLETES | TI_T_POLLS, "requests", "matched")      \
    X(TESTANY, "testany", TI_M_REQ, TI_M_MATCH, 0, TI_T_COMPLETES | TI_T_POLLS, "", "")            \
    X(TESTSOME, "testsome", 0, TI_M_ALL, 0, TI_T_COMPLETES | TI_T_POLLS, "requests", "matched")    \
    X(REQUEST_FREE, "request_free", TI_M_REQ, 0, 0, TI_T_COMPLETES, "", "")                        \
    X(CANCEL, "cancel", TI_M_REQ, 0, 0, TI_T_CANCELS, "", "")                                      \
    X(GREQUEST_START, "grequest_start", TI_M_REQ, 0, 0, TI_T_REQUEST, "", "")                      \
    X(GREQUEST_COMPLETE, "grequest_complete", TI_M_REQ, 0, 0, TI_T_USES, "", "")

/*
 * Collectives: Y(X, NAME, text, fields, optional fields, same fields, traits, vector 1,
 * vector 2).  Each row stands for three adjacent operations: NAME; INAME, which makes a request;
 * and NAME_INIT, which makes a persistent one.  The fields are the same, with REQ in the latter
 * two.
 *
 * BYTES is the contribution of one rank (bcast: the message; gather, allgather, alltoall: the block
 * for one partner; scatter: the block that each rank receives; reductions: the vector).  BYTES2 and
 * ESIZE2 are the receive side.  Where MPI ignores a side (non-root ranks of gather and scatter,
 * MPI_IN_PLACE), it is a copy of the significant side.  Counts in vectors are in elements of ESIZE
 * (sendcounts) or ESIZE2 (recvcounts) bytes.  In the w forms types differ from partner to partner:
 * counts are bytes and the element size is 1.  Displacements move no bytes and are not recorded.
 *
 * The partners of the neighbour forms are those of the topology: one count for each destination
 * (send) or source (receive), in the topology's order.  MPI may return the neighbours of a graph
 * made by dist_graph_create in any order, even that of arrival.  Here they ascend; edges between
 * the same ranks ascend by weight.
 *
 * On an intercommunicator the partners are the other group; reduce_scatter has a count for each
 * rank of the own group.  ROOT is TI_SELF on the root, which has no share of its own: its BYTES in
 * gatherv and BYTES2 in scatterv are 0.  ROOT is TI_NULL on the other ranks of its group, which
 * take no part: their sizes are 0, their REDOP is null, and they have no vectors.
 */
#define TI_COLLECTIVES(Y, X)                                                                       \
    Y(X, BARRIER, "barrier", TI_M_COMM, 0, 0, 0, "", "")                                           \
    Y(X, BCAST, "bcast", TI_M_COLL | TI_M_ROOT, 0, TI_M_ROOT | TI_M_BYTES, TI_T_FROM_ROOT, "", "") \
    Y(X, REDUCE, "reduce", TI_M_COLL | TI_M_ROOT | TI_M_REDOP, 0,                                  \
      TI_M_ROOT | TI_M_REDOP | TI_M_BYTES, TI_T_TO_ROOT, "", "")                                   \
    Y(X, ALLREDUCE, "allreduce", TI_M_COLL | TI_M_REDOP, 0, TI_M_REDOP | TI_M_BYTES, 0, "", "")    \
    Y(X, GATHER, "gather", TI_M_COLL2 | TI_M_ROOT, 0, TI_M_ROOT | TI_M_BYTES,                      \
      TI_T_TO_ROOT | TI_T_BLOCKS, "", "")                                                          \
    Y(X, GATHERV, "gatherv", TI_M_COLL | TI_M_ROOT, TI_M_ESIZE2, TI_M_ROOT,                        \
      TI_T_TO_ROOT | TI_T_COUNTS_TAKEN, "recvcounts", "")                                          \
    Y(X, SCATTER, "scatter", TI_M_COLL2 | TI_M_ROOT, 0, TI_M_ROOT | TI_M_BYTES2,                   \
      TI_T_FROM_ROOT | TI_T_BLOCKS, "", "")                                                        \
    Y(X, SCATTERV, "scatterv", TI_M_COMM | TI_M_BYTES2 | TI_M_ESIZE2 | TI_M_ROOT, TI_M_ESIZE,      \
      TI_M_ROOT, TI_T_FROM_ROOT | TI_T_COUNTS_GIVEN, "sendcounts", "")                             \
    Y(X, ALLGATHER, "allgather", TI_M_COLL2, 0, TI_M_BYTES, TI_T_MIRRORED, "", "")                 \
    Y(X, ALLGATHERV, "allgatherv", TI_M_COLL | TI_M_ESIZE2, 0, 0, TI_T_COUNTS_TAKEN, "recvcounts", \
      "")                                                                                          \
    Y(X, ALLTOALL, "alltoall", TI_M_COLL2, 0, TI_M_BYTES, TI_T_MIRRORED | TI_T_BLOCKS, "", "")     \
    Y(X, ALLTOALLV, "alltoallv", TI_M_COMM | TI_M_ESIZE | TI_M_ESIZE2, 0, 0,                       \
      TI_T_COUNTS_GIVEN | TI_T_COUNTS_TAKEN, "sendcounts", "recvcounts")                           \
    Y(X, ALLTOALLW, "alltoallw", TI_M_COMM | TI_M_ESIZE | TI_M_ESIZE2, 0, 0,                       \
      TI_T_COUNTS_GIVEN | TI_T_COUNTS_TAKEN, "sendbytes", "recvbytes")                             \
    Y(X, REDUCE_SCATTER, "reduce_scatter", TI_M_COMM | TI_M_ESIZE | TI_M_REDOP, 0, TI_M_REDOP,     \
      TI_T_COUNTS_GIVEN | TI_T_SAME_VECTORS, "recvcounts", "")                                     \
    Y(X, REDUCE_SCATTER_BLOCK, "reduce_scatter_block", TI_M_COLL | TI_M_REDOP, 0,                  \
      TI_M_REDOP | TI_M_BYTES, TI_T_BLOCKS, "", "")                                                \
    Y(X, SCAN, "scan", TI_M_COLL | TI_M_REDOP, 0, TI_M_REDOP | TI_M_BYTES, 0, "", "")              \
    Y(X, EXSCAN, "exscan", TI_M_COLL | TI_M_REDOP, 0, TI_M_REDOP | TI_M_BYTES, 0, "", "")          \
    Y(X, NEIGHBOR_ALLGATHER, "neighbor_allgather", TI_M_COLL2, 0, 0, TI_T_NEIGHBOURS, "", "")      \
    Y(X, NEIGHBOR_ALLGATHERV, "neighbor_allgatherv", TI_M_COLL | TI_M_ESIZE2, 0, 0,                \
      TI_T_NEIGHBOURS | TI_T_COUNTS_TAKEN, "recvcounts", "")                                       \
    Y(X, NEIGHBOR_ALLTOALL, "neighbor_alltoall", TI_M_COLL2, 0, 0, TI_T_NEIGHBOURS | TI_T_BLOCKS,  \
      "", "")                                                                                      \
    Y(X, NEIGHBOR_ALLTOALLV, "neighbor_alltoallv", TI_M_COMM | TI_M_ESIZE | TI_M_ESIZE2, 0, 0,     \
      TI_T_NEIGHBOURS | TI_T_COUNTS_GIVEN | TI_T_COUNTS_TAKEN, "sendcounts", "recvcounts")         \
    Y(X, NEIGHBOR_ALLTOALLW, "neighbor_alltoallw", TI_M_COMM | TI_M_ESIZE | TI_M_ESIZE2, 0, 0,     \
      TI_T_NEIGHBOURS | TI_T_COUNTS_GIVEN | TI_T_COUNTS_TAKEN, "sendbytes", "recvbytes")
#define TI_COLLECTIVE(X, name, text, fields, optional, same, traits, vec1, vec2)                   \
    X(name, text, fields, optional, same, (traits) | TI_T_COLLECTIVE | TI_T_BY_ALL, vec1, vec2)    \
    X(I##name, "i" text, (fields) | TI_M_REQ, optional, same,                                      \
      (traits) | TI_T_COLLECTIVE | TI_T_BY_ALL | TI_T_REQUEST, vec1, vec2)                         \
    X(name##_INIT, text "_init", (fields) | TI_M_REQ, optional, same,                              \
      (traits) | TI_T_COLLECTIVE | TI_T_REQUEST | TI_T_PERSISTENT, vec1, vec2)

/*
 * Communicators.  The COM chunks of the trace have the members of NEWCOMM; of an intercommunicator,
 * those of both groups.  Neighbours are ranks of the new communicator minus our rank.  The
 * communicator that comm_idup makes exists from the completion of the request on.
 */
#define TI_OPS_COMMS(X)                                                                            \
    X(COMM_DUP, "comm_dup", TI_M_MADE, 0, 0, TI_T_BY_ALL | TI_T_COPIES, "", "")                    \
    X(COMM_DUP_WITH_INFO, "comm_dup_with_info", TI_M_MADE, 0, 0, TI_T_BY_ALL | TI_T_COPIES, "",    \
      "")                                                                                          \
    X(COMM_IDUP, "comm_idup", TI_M_MADE | TI_M_REQ, 0, 0,                                          \
      TI_T_REQUEST | TI_T_BY_ALL | TI_T_COPIES, "", "")                                            \
    X(COMM_IDUP_WITH_INFO, "comm_idup_with_info", TI_M_MADE | TI_M_REQ, 0, 0,                      \
      TI_T_REQUEST | TI_T_BY_ALL | TI_T_COPIES, "", "")                                            \
    X(COMM_SPLIT, "comm_split", TI_M_MADE | TI_M_COLOR | TI_M_KEY, 0, 0, TI_T_BY_ALL, "", "")      \
    X(COMM_SPLIT_TYPE, "comm_split_type", TI_M_MADE | TI_M_COLOR | TI_M_KEY, 0, 0, TI_T_BY_ALL,    \
      "", "")                                                                                      \
    X(COMM_CREATE, "comm_create", TI_M_MADE, 0, 0, TI_T_BY_ALL, "", "")                            \
    X(COMM_CREATE_GROUP, "comm_create_group", TI_M_MADE | TI_M_TAG, 0, 0, TI_T_BY_ALL, "", "")     \
    X(CART_CREATE, "cart_create", TI_M_MADE | TI_M_REORDER, 0, 0,                                  \
      TI_T_BY_ALL | TI_T_GRID | TI_T_SAME_VECTORS, "dims", "periods")                              \
    X(CART_SUB, "cart_sub", TI_M_MADE, 0, 0, TI_T_BY_ALL | TI_T_SUBGRID | TI_T_SAME_VECTORS,       \
      "remain", "")                                                                                \
    X(GRAPH_CREATE, "graph_create", TI_M_MADE | TI_M_REORDER, 0, 0, TI_T_BY_ALL | TI_T_GRAPH,      \
      "neighbours", "")                                                                            \
    X(DIST_GRAPH_CREATE, "dist_graph_create", TI_M_MADE | TI_M_REORDER, 0, 0,                      \
      TI_T_BY_ALL | TI_T_GRAPH, "sources", "destinations")                                         \
    X(DIST_GRAPH_CREATE_ADJACENT, "dist_graph_create_adjacent", TI_M_MADE | TI_M_REORDER, 0, 0,    \
      TI_T_BY_ALL | TI_T_GRAPH, "sources", "destinations")                                         \
    X(INTERCOMM_CREATE, "intercomm_create", TI_M_MADE | TI_M_ROOT | TI_M_TAG,                      \
      TI_M_COMM2 | TI_M_PEER, TI_M_ROOT | TI_M_TAG, TI_T_BY_ALL, "", "")                           \
    X(INTERCOMM_MERGE, "intercomm_merge", TI_M_MADE | TI_M_KEY, 0, 0, TI_T_BY_ALL, "", "")         \
    X(COMM_SET_INFO, "comm_set_info", TI_M_COMM, 0, 0, TI_T_BY_ALL, "", "")                        \
    X(COMM_FREE, "comm_free", TI_M_COMM, 0, 0, TI_T_BY_ALL, "", "")                                \
    X(COMM_DISCONNECT, "comm_disconnect", TI_M_COMM, 0, 0, TI_T_BY_ALL, "", "")

/*
 * One-sided communication.  PEER is a rank of the window's communicator minus our rank.  BYTES and
 * ESIZE are the origin's side, BYTES2 and ESIZE2 the target's.  With MPI_NO_OP, for which MPI
 * ignores the origin, the origin's side is 0.  "group" holds relative ranks in the group's order. A
 * collective on COMM makes a window: BYTES is its size on this rank, ESIZE its displacement unit.
 */
#define TI_OPS_RMA(X)                                                                              \
    X(WIN_CREATE, "win_create", TI_M_COLL | TI_M_WIN, 0, 0, TI_T_BY_ALL, "", "")                   \
    X(WIN_ALLOCATE, "win_allocate", TI_M_COLL | TI_M_WIN, 0, 0, TI_T_BY_ALL, "", "")               \
    X(WIN_ALLOCATE_SHARED, "win_allocate_shared", TI_M_COLL | TI_M_WIN, 0, 0, TI_T_BY_ALL, "", "") \
    X(WIN_CREATE_DYNAMIC, "win_create_dynamic", TI_M_COMM | TI_M_WIN, 0, 0, TI_T_BY_ALL, "", "")   \
    X(WIN_ATTACH, "win_attach", TI_M_WIN | TI_M_BYTES, 0, 0, 0, "", "")                            \
    X(WIN_DETACH, "win_detach", TI_M_WIN, 0, 0, 0, "", "")                                         \
    X(WIN_SET_INFO, "win_set_info", TI_M_WIN, 0, 0, TI_T_BY_ALL, "", "")                           \
    X(WIN_FREE, "win_free", TI_M_WIN, 0, 0, TI_T_BY_ALL, "", "")                                   \
    X(PUT, "put", TI_M_RMA2, 0, 0, TI_T_PUTS, "", "")                                              \
    X(GET, "get", TI_M_RMA2, 0, 0, TI_T_GETS, "", "")                                              \
    X(ACCUMULATE, "accumulate", TI_M_RMA2 | TI_M_REDOP, 0, 0, TI_T_PUTS, "", "")                   \
    X(GET_ACCUMULATE, "get_accumulate", TI_M_RMA2 | TI_M_REDOP, 0, 0, TI_T_PUTS | TI_T_GETS, "",   \
      "")                                                                                          \
    X(FETCH_AND_OP, "fetch_and_op", TI_M_RMA | TI_M_REDOP, 0, 0, TI_T_PUTS | TI_T_GETS, "", "")    \
    X(COMPARE_AND_SWAP, "compare_and_swap", TI_M_RMA, 0, 0, TI_T_PUTS | TI_T_GETS, "", "")         \
    X(RPUT, "rput", TI_M_RMA2 | TI_M_REQ, 0, 0, TI_T_REQUEST | TI_T_PUTS, "", "")                  \
    X(RGET, "rget", TI_M_RMA2 | TI_M_REQ, 0, 0, TI_T_REQUEST | TI_T_GETS, "", "")                  \
    X(RACCUMULATE, "raccumulate", TI_M_RMA2 | TI_M_REDOP | TI_M_REQ, 0, 0,                         \
      TI_T_REQUEST | TI_T_PUTS, "", "")                                                            \
    X(RGET_ACCUMULATE, "rget_accumulate", TI_M_RMA2 | TI_M_REDOP | TI_M_REQ, 0, 0,                 \
      TI_T_REQUEST | TI_T_PUTS | TI_T_GETS, "", "")                                                \
    X(WIN_FENCE, "win_fence", TI_M_WIN | TI_M_MODE, 0, 0, TI_T_BY_ALL, "", "")                     \
    X(WIN_START, "win_start", TI_M_WIN | TI_M_MODE, 0, 0, 0, "group", "")                          \
    X(WIN_COMPLETE, "win_complete", TI_M_WIN, 0, 0, 0, "", "")                                     \
    X(WIN_POST, "win_post", TI_M_WIN | TI_M_MODE, 0, 0, 0, "group", "")                            \
    X(WIN_WAIT, "win_wait", TI_M_WIN, 0, 0, 0, "", "")                                             \
    X(WIN_TEST, "win_test", TI_M_WIN, 0, 0, TI_T_POLLS, "", "")                                    \
    X(WIN_LOCK, "win_lock", TI_M_WIN | TI_M_PEER | TI_M_MODE, 0, 0, 0, "", "")                     \
    X(WIN_LOCK_ALL, "win_lock_all", TI_M_WIN | TI_M_MODE, 0, 0, 0, "", "")                         \
    X(WIN_UNLOCK, "win_unlock", TI_M_WIN | TI_M_PEER, 0, 0, 0, "", "")                             \
    X(WIN_UNLOCK_ALL, "win_unlock_all", TI_M_WIN, 0, 0, 0, "", "")                                 \
    X(WIN_FLUSH, "win_flush", TI_M_WIN | TI_M_PEER, 0, 0, 0, "", "")                               \
    X(WIN_FLUSH_ALL, "win_flush_all", TI_M_WIN, 0, 0, 0, "", "")                                   \
    X(WIN_FLUSH_LOCAL, "win_flush_local", TI_M_WIN | TI_M_PEER, 0, 0, 0, "", "")                   \
    X(WIN_FLUSH_LOCAL_ALL, "win_flush_local_all", TI_M_WIN, 0, 0, 0, "", "")                       \
    X(WIN_SYNC, "win_sync", TI_M_WIN, 0, 0, 0, "", "")

/*
 * Files.  BYTES is what the call asked for.  BYTES2 is there if MPI's status says that less was
 * read or written (end of file); only blocking calls and ends of split calls have a status.  A view
 * has the size of its file type in BYTES and of its elementary type in ESIZE; OFFSET is TI_NULL for
 * MPI_DISPLACEMENT_CURRENT.  An open that fails is no event on any rank, like all calls that fail.
 * TI_FILE_ACCESS makes the rows of both directions.
 */
#define TI_OPS_FILES(X)                                                                            \
    X(FILE_OPEN, "file_open", TI_M_COMM | TI_M_FILE | TI_M_NAME | TI_M_MODE, 0, TI_M_MODE,         \
      TI_T_BY_ALL, "", "")                                                                         \
    X(FILE_CLOSE, "file_close", TI_M_FILE, 0, 0, TI_T_BY_ALL, "", "")                              \
    X(FILE_DELETE, "file_delete", TI_M_NAME, 0, 0, 0, "", "")                                      \
    X(FILE_SET_VIEW, "file_set_view", TI_M_IO | TI_M_OFFSET, 0, 0, TI_T_BY_ALL, "", "")            \
    X(FILE_SET_SIZE, "file_set_size", TI_M_FILE | TI_M_BYTES, 0, TI_M_BYTES, TI_T_BY_ALL, "", "")  \
    X(FILE_PREALLOCATE, "file_preallocate", TI_M_FILE | TI_M_BYTES, 0, TI_M_BYTES, TI_T_BY_ALL,    \
      "", "")                                                                                      \
    X(FILE_SET_INFO, "file_set_info", TI_M_FILE, 0, 0, TI_T_BY_ALL, "", "")                        \
    X(FILE_SET_ATOMICITY, "file_set_atomicity", TI_M_FILE | TI_M_LEVEL, 0, TI_M_LEVEL,             \
      TI_T_BY_ALL, "", "")                                                                         \
    X(FILE_SEEK_SHARED, "file_seek_shared", TI_M_FILE | TI_M_OFFSET | TI_M_MODE, 0,                \
      TI_M_OFFSET | TI_M_MODE, TI_T_BY_ALL, "", "")                                                \
    X(FILE_SYNC, "file_sync", TI_M_FILE, 0, 0, TI_T_BY_ALL, "", "")                                \
    TI_FILE_ACCESS(X, READ, "read", TI_T_READS)                                                    \
    TI_FILE_ACCESS(X, WRITE, "write", TI_T_WRITES)
#define TI_FILE_ACCESS(X, NAME, text, traits)                                                      \
    X(FILE_##NAME, "file_" text, TI_M_IO, TI_M_BYTES2, 0, traits, "", "")                          \
    X(FILE_##NAME##_AT, "file_" text "_at", TI_M_IO | TI_M_OFFSET, TI_M_BYTES2, 0, traits, "", "") \
    X(FILE_##NAME##_ALL, "file_" text "_all", TI_M_IO, TI_M_BYTES2, 0, traits | TI_T_BY_ALL, "",   \
      "")                                                                                          \
    X(FILE_##NAME##_AT_ALL, "file_" text "_at_all", TI_M_IO | TI_M_OFFSET, TI_M_BYTES2, 0,         \
      traits | TI_T_BY_ALL, "", "")                                                                \
    X(FILE_##NAME##_SHARED, "file_" text "_shared", TI_M_IO, TI_M_BYTES2, 0, traits, "", "")       \
    X(FILE_##NAME##_ORDERED, "file_" text "_ordered", TI_M_IO, TI_M_BYTES2, 0,                     \
      traits | TI_T_BY_ALL, "", "")                                                                \
    X(FILE_I##NAME, "file_i" text, TI_M_IO | TI_M_REQ, 0, 0, traits | TI_T_REQUEST, "", "")        \
    X(FILE_I##NAME##_AT, "file_i" text "_at", TI_M_IO | TI_M_OFFSET | TI_M_REQ, 0, 0,              \
      traits | TI_T_REQUEST, "", "")                                                               \
    X(FILE_I##NAME##_ALL, "file_i" text "_all", TI_M_IO | TI_M_REQ, 0, 0,                          \
      traits | TI_T_REQUEST | TI_T_BY_ALL, "", "")                                                 \
    X(FILE_I##NAME##_AT_ALL, "file_i" text "_at_all", TI_M_IO | TI_M_OFFSET | TI_M_REQ, 0, 0,      \
      traits | TI_T_REQUEST | TI_T_BY_ALL, "", "")                                                 \
    X(FILE_I##NAME##_SHARED, "file_i" text "_shared", TI_M_IO | TI_M_REQ, 0, 0,                    \
      traits | TI_T_REQUEST, "", "")                                                               \
    X(FILE_##NAME##_ALL_BEGIN, "file_" text "_all_begin", TI_M_IO, 0, 0, traits | TI_T_BY_ALL, "", \
      "")                                                                                          \
    X(FILE_##NAME##_ALL_END, "file_" text "_all_end", TI_M_FILE, TI_M_BYTES2, 0, TI_T_BY_ALL, "",  \
      "")                                                                                          \
    X(FILE_##NAME##_AT_ALL_BEGIN, "file_" text "_at_all_begin", TI_M_IO | TI_M_OFFSET, 0, 0,       \
      traits | TI_T_BY_ALL, "", "")                                                                \
    X(FILE_##NAME##_AT_ALL_END, "file_" text "_at_all_end", TI_M_FILE, TI_M_BYTES2, 0,             \
      TI_T_BY_ALL, "", "")                                                                         \
    X(FILE_##NAME##_ORDERED_BEGIN, "file_" text "_ordered_begin", TI_M_IO, 0, 0,                   \
      traits | TI_T_BY_ALL, "", "")                                                                \
    X(FILE_##NAME##_ORDERED_END, "file_" text "_ordered_end", TI_M_FILE, TI_M_BYTES2, 0,           \
      TI_T_BY_ALL, "", "")

/* clang-format off */
#define TI_OP_ENUM(name, text, fields, optional, same, traits, vec1, vec2) TI_OP_##name,
enum ti_op { TI_OPS(TI_OP_ENUM) TI_OP_COUNT };
/* clang-format on */

/* The three forms of a collective, in the order of their rows. */
enum ti_form { TI_FORM_BLOCKING, TI_FORM_NONBLOCKING, TI_FORM_PERSISTENT, TI_FORM_COUNT };

/* TI_T_* of each operation. */
extern const uint32_t ti_op_traits[TI_OP_COUNT];

/* Whether operation `op` has all of these traits; false if `op` is no operation. */
static inline bool ti_op_is(uint32_t op, uint32_t traits)
{
    return op < TI_OP_COUNT && (ti_op_traits[op] & traits) == traits;
}

static inline bool ti_op_collective(uint32_t op)
{
    return ti_op_is(op, TI_T_COLLECTIVE);
}

/* The form of a collective operation. */
static inline enum ti_form ti_op_form(uint32_t op)
{
    return ti_op_is(op, TI_T_PERSISTENT) ? TI_FORM_PERSISTENT
           : ti_op_is(op, TI_T_REQUEST)  ? TI_FORM_NONBLOCKING
                                         : TI_FORM_BLOCKING;
}

/* The blocking form of a collective operation; any other operation unchanged. */
static inline uint32_t ti_op_base(uint32_t op)
{
    return ti_op_collective(op) ? op - (uint32_t)ti_op_form(op) : op;
}

/* Reduction operations: X(name, text).  USER_NC: a user's, not commutative. */
#define TI_REDOPS(X)                                                                               \
    X(NULL, "null")                                                                                \
    X(SUM, "sum")                                                                                  \
    X(PROD, "prod") X(MAX, "max") X(MIN, "min") X(LAND, "land") X(BAND, "band") X(LOR, "lor")      \
        X(BOR, "bor") X(LXOR, "lxor") X(BXOR, "bxor") X(MAXLOC, "maxloc") X(MINLOC, "minloc")      \
            X(REPLACE, "replace") X(NO_OP, "no_op") X(USER, "user") X(USER_NC, "user_nc")

#define TI_REDOP_ENUM(name, text) TI_REDOP_##name,
enum ti_redop { TI_REDOPS(TI_REDOP_ENUM) TI_REDOP_COUNT };

#define TI_VECS       2  /* vectors an event can have */
#define TI_EXTRAS_MAX 16 /* extra columns a trace can have */

/* A list of integers of `width` 4 or 8 bytes each; `data` is borrowed. */
struct ti_vec {
    const void *data;
    int width;
    int64_t len;
};

struct ti_event {
    uint64_t volume; /* of the burst before the call, in the counter's unit */
    uint32_t op;     /* enum ti_op */
    uint32_t mask;   /* TI_M_* of the fields that are there */
    uint32_t site;   /* call site: 0 unknown, else its string's number in the trace */
    int64_t arg[TI_F_COUNT];
    struct ti_vec vec[TI_VECS];
    const uint64_t *extra; /* set by the reader after ti_reader_want_extras(), else unused */
};

/* Names of extra columns that the tools know. */
#define TI_EXTRA_BURST   "burst_ns" /* duration of the burst before the call, in ns */
#define TI_EXTRA_CALL    "call_ns"  /* duration of the calls since the last event, in ns */
#define TI_EXTRA_LONGEST "longest"  /* where the volume sums up threads: that of the busiest one */

/* The row of an operation in TI_OPS. */
struct ti_op_info {
    char text[28];
    uint32_t fields;
    uint32_t optional;
    uint32_t same; /* fields that are equal on all members, if all call it */
    char vec[TI_VECS][16];
};

/* `op` must be below TI_OP_COUNT.  Never NULL. */
const struct ti_op_info *ti_op_info(uint32_t op);

/* The vectors of an operation: bit 0 is the first one. */
static inline uint32_t ti_op_vecs(uint32_t op)
{
    const struct ti_op_info *info = ti_op_info(op);

    return (uint32_t)(info->vec[0][0] != '\0') | (uint32_t)(info->vec[1][0] != '\0') << 1;
}

/* Index of the operation's last vector: 0 or 1. */
static inline int ti_op_last_vec(uint32_t op)
{
    return ti_op_vecs(op) >> 1 & 1;
}

/* Names of fields and reduction operations; "?" when out of range. */
const char *ti_field_text(unsigned field);
const char *ti_redop_text(int64_t redop);

/* Write the names of the bits of MODE into buf: "nocheck+exclusive", "0" for none.  96 bytes hold
 * any combination that MPI allows; longer text is cut.  Returns buf. */
const char *ti_mode_text(int64_t mode, char *buf, size_t bytes);

static inline int64_t ti_vec_at(const struct ti_vec *vec, int64_t i)
{
    return vec->width == 4 ? ((const int32_t *)vec->data)[i] : ((const int64_t *)vec->data)[i];
}

/*
 * Hash of a stream of events.  It leaves out the call sites, which differ between builds of one
 * program, and the extra values, which differ between runs.  Start with TI_HASH_START and add the
 * events in order.  Streams with equal hashes and numbers of events are taken to be equal.
 */
#define TI_HASH_START UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t ti_hash_word(uint64_t hash, uint64_t word)
{
    hash ^= word;
    hash *= UINT64_C(0xff51afd7ed558ccd);
    return hash ^ (hash >> 32);
}

/* ti_hash_event() in three steps, for the writer: ti_hash_begin(), ti_hash_word() of each field in
 * order, ti_hash_vecs(). */
static inline uint64_t ti_hash_begin(uint64_t hash, const struct ti_event *ev)
{
    hash = ti_hash_word(hash, (uint64_t)ev->op << 32 | ev->mask);
    return ti_hash_word(hash, ev->volume);
}

static inline uint64_t ti_hash_vecs(uint64_t hash, const struct ti_event *ev)
{
    for (int v = 0; v < TI_VECS; v++) {
        const struct ti_vec *vec = &ev->vec[v];
        int64_t len = vec->len;

        if (!len)
            continue;
        hash = ti_hash_word(hash, (uint64_t)len << 1 | (uint64_t)v);
        if (vec->width == 4)
            for (const int32_t *p = vec->data; len; len--)
                hash = ti_hash_word(hash, (uint64_t)(int64_t)*p++);
        else
            for (const int64_t *p = vec->data; len; len--)
                hash = ti_hash_word(hash, (uint64_t)*p++);
    }
    return hash;
}

static inline uint64_t ti_hash_event(uint64_t hash, const struct ti_event *ev)
{
    hash = ti_hash_begin(hash, ev);
    for (uint32_t rest = ev->mask; rest; rest &= rest - 1)
        hash = ti_hash_word(hash, (uint64_t)ev->arg[__builtin_ctz(rest)]);
    return ti_hash_vecs(hash, ev);
}

#endif
