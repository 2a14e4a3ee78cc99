/*
 * Events: what a trace is made of.
 *
 * An event is one MPI call with canonical parameters, preceded by the volume
 * of the compute burst before it.  The two lists below are the only ones:
 * recorder, writer, reader, linter, replay bridge, ti-info and the
 * documentation work from them.
 *
 * Nothing in an event depends on when it happened: a poll that answers "no" is
 * not an event, a wildcard receive carries the source and tag that matched, and
 * request indices follow from the order of the calls alone.
 */
#ifndef TI_EVENT_H
#define TI_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Fields: X(name, text, meaning).  A field is a 64-bit integer.  Which fields
 * an event has is said by its `mask`, field by field; most follow from the
 * operation, see TI_OPS.
 *
 * Peers are stored relative: partner's rank minus own rank, both in the event's
 * communicator, so that the same program step looks the same on every rank.
 */
#define TI_FIELDS(X)                                                                   \
    X(COMM, "comm", "communicator: 0 world, 1 self, then as this rank met them")       \
    X(PEER, "peer", "partner of the send, or of a lone receive: its rank minus ours, " \
                    "TI_ANY (MPI_ANY_SOURCE) or TI_NULL (MPI_PROC_NULL)")              \
    X(TAG, "tag", "its tag, or TI_ANY")                                                \
    X(BYTES, "bytes", "packed bytes given: of the message; of one rank's share in "    \
                      "a collective, for the vector forms the whole own share")        \
    X(ESIZE, "esize", "packed bytes of one element of it")                             \
    X(PEER2, "rpeer", "source of the receive half of a send-receive")                  \
    X(TAG2, "rtag", "its tag, or TI_ANY")                                              \
    X(BYTES2, "rbytes", "packed bytes of the receive side, where there are two")       \
    X(ESIZE2, "resize", "packed bytes of one element of it")                           \
    X(FROM, "from", "source that matched a wildcard: its rank minus ours")             \
    X(FROMTAG, "fromtag", "tag that matched a wildcard")                               \
    X(ROOT, "root", "root's rank in the communicator")                                 \
    X(REDOP, "redop", "reduction operation, see TI_REDOPS")                            \
    X(REQ, "req", "request: lowest number no live request had when it was made")       \
    X(ALL, "all", "1: the call completed every live request of the rank")              \
    X(COLOR, "color", "colour of a split, or TI_NULL (MPI_UNDEFINED)")                 \
    X(KEY, "key", "key of a split")                                                    \
    X(NEWCOMM, "newcomm", "communicator made, or TI_NULL (MPI_COMM_NULL)")             \
    X(LEVEL, "level", "argument of MPI_Pcontrol; thread level of MPI_Init_thread, 0 "  \
                      "of MPI_Init; error code of MPI_Abort")                                       \
    X(CALL, "call", "string number of the name of a call that is not traced")          \
    X(REORDER, "reorder", "whether MPI_Cart_create was allowed to reorder")

/* clang-format off */
#define TI_FIELD_ENUM(name, text, meaning) TI_F_##name,
enum ti_field { TI_FIELDS(TI_FIELD_ENUM) TI_F_COUNT };
#define TI_FIELD_MASK(name, text, meaning) TI_M_##name = 1u << TI_F_##name,
enum { TI_FIELDS(TI_FIELD_MASK) TI_M_NONE = 0 };
/* clang-format on */

/* Values of PEER, PEER2, TAG, TAG2, COLOR and NEWCOMM that are no number. */
#define TI_ANY INT64_MIN
#define TI_NULL (INT64_MIN + 1)

#define TI_M_P2P (TI_M_COMM | TI_M_PEER | TI_M_TAG | TI_M_BYTES | TI_M_ESIZE)
#define TI_M_P2P2 (TI_M_PEER2 | TI_M_TAG2 | TI_M_BYTES2 | TI_M_ESIZE2)
#define TI_M_COLL (TI_M_COMM | TI_M_BYTES | TI_M_ESIZE)
#define TI_M_MATCH (TI_M_FROM | TI_M_FROMTAG)

/*
 * Operations: X(name, text, fields always there, fields there when it applies,
 * vector 1, vector 2).
 *
 * A vector is a list of 64-bit integers; "" means the operation has none.
 * "matched" is a list of triples (request, from, fromtag), one for each
 * wildcard receive among the requests that the call completed.
 *
 * Collectives: BYTES is what one rank contributes (bcast: the message; gather,
 * allgather, alltoall: the block a rank sends to one partner; scatter: the
 * block each rank receives; reductions: the vector), BYTES2/ESIZE2 the receive
 * side.  On a rank where MPI ignores a side (the non-root side of gather and
 * scatter; MPI_IN_PLACE), that side is taken from the one that counts.
 * Counts in vectors are elements of ESIZE (sendcounts) or ESIZE2 (recvcounts)
 * bytes; displacements move no bytes and are not recorded.
 */
#define TI_OPS(X)                                                                         \
    X(INIT, "init", 0, TI_M_LEVEL, "", "")                                                \
    X(FINALIZE, "finalize", 0, 0, "", "")                                                 \
    X(ABORT, "abort", TI_M_COMM | TI_M_LEVEL, 0, "", "")                                  \
    X(PCONTROL, "pcontrol", TI_M_LEVEL, 0, "", "")                                        \
    X(UNTRACED, "untraced", TI_M_CALL, 0, "", "")                                         \
    X(SEND, "send", TI_M_P2P, 0, "", "")                                                  \
    X(BSEND, "bsend", TI_M_P2P, 0, "", "")                                                \
    X(SSEND, "ssend", TI_M_P2P, 0, "", "")                                                \
    X(RSEND, "rsend", TI_M_P2P, 0, "", "")                                                \
    X(RECV, "recv", TI_M_P2P, TI_M_MATCH, "", "")                                         \
    X(ISEND, "isend", TI_M_P2P | TI_M_REQ, 0, "", "")                                     \
    X(IBSEND, "ibsend", TI_M_P2P | TI_M_REQ, 0, "", "")                                   \
    X(ISSEND, "issend", TI_M_P2P | TI_M_REQ, 0, "", "")                                   \
    X(IRSEND, "irsend", TI_M_P2P | TI_M_REQ, 0, "", "")                                   \
    X(IRECV, "irecv", TI_M_P2P | TI_M_REQ, 0, "", "")                                     \
    X(SENDRECV, "sendrecv", TI_M_P2P | TI_M_P2P2, TI_M_MATCH, "", "")                     \
    X(SENDRECV_REPLACE, "sendrecv_replace", TI_M_P2P | TI_M_P2P2, TI_M_MATCH, "", "")     \
    X(PROBE, "probe", TI_M_COMM | TI_M_PEER | TI_M_TAG, TI_M_MATCH, "", "")               \
    X(IPROBE, "iprobe", TI_M_COMM | TI_M_PEER | TI_M_TAG, TI_M_MATCH, "", "")             \
    X(WAIT, "wait", TI_M_REQ, TI_M_MATCH, "", "")                                         \
    X(WAITALL, "waitall", 0, TI_M_ALL, "requests", "matched")                             \
    X(WAITANY, "waitany", TI_M_REQ, TI_M_MATCH, "", "")                                   \
    X(WAITSOME, "waitsome", 0, TI_M_ALL, "requests", "matched")                           \
    X(TEST, "test", TI_M_REQ, TI_M_MATCH, "", "")                                         \
    X(TESTALL, "testall", 0, TI_M_ALL, "requests", "matched")                             \
    X(TESTANY, "testany", TI_M_REQ, TI_M_MATCH, "", "")                                   \
    X(TESTSOME, "testsome", 0, TI_M_ALL, "requests", "matched")                           \
    X(REQUEST_FREE, "request_free", TI_M_REQ, 0, "", "")                                  \
    X(BARRIER, "barrier", TI_M_COMM, 0, "", "")                                           \
    X(BCAST, "bcast", TI_M_COLL | TI_M_ROOT, 0, "", "")                                   \
    X(REDUCE, "reduce", TI_M_COLL | TI_M_ROOT | TI_M_REDOP, 0, "", "")                    \
    X(ALLREDUCE, "allreduce", TI_M_COLL | TI_M_REDOP, 0, "", "")                          \
    X(GATHER, "gather", TI_M_COLL | TI_M_ROOT | TI_M_BYTES2 | TI_M_ESIZE2, 0, "", "")     \
    X(GATHERV, "gatherv", TI_M_COLL | TI_M_ROOT, TI_M_ESIZE2, "recvcounts", "")           \
    X(SCATTER, "scatter", TI_M_COLL | TI_M_ROOT | TI_M_BYTES2 | TI_M_ESIZE2, 0, "", "")   \
    X(SCATTERV, "scatterv", TI_M_COMM | TI_M_BYTES2 | TI_M_ESIZE2 | TI_M_ROOT,            \
      TI_M_ESIZE, "sendcounts", "")                                                       \
    X(ALLGATHER, "allgather", TI_M_COLL | TI_M_BYTES2 | TI_M_ESIZE2, 0, "", "")           \
    X(ALLGATHERV, "allgatherv", TI_M_COLL | TI_M_ESIZE2, 0, "recvcounts", "")             \
    X(ALLTOALL, "alltoall", TI_M_COLL | TI_M_BYTES2 | TI_M_ESIZE2, 0, "", "")             \
    X(ALLTOALLV, "alltoallv", TI_M_COMM | TI_M_ESIZE | TI_M_ESIZE2, 0, "sendcounts",      \
      "recvcounts")                                                                       \
    X(REDUCE_SCATTER, "reduce_scatter", TI_M_COMM | TI_M_ESIZE | TI_M_REDOP, 0,           \
      "recvcounts", "")                                                                   \
    X(REDUCE_SCATTER_BLOCK, "reduce_scatter_block", TI_M_COLL | TI_M_REDOP, 0, "", "")    \
    X(SCAN, "scan", TI_M_COLL | TI_M_REDOP, 0, "", "")                                    \
    X(EXSCAN, "exscan", TI_M_COLL | TI_M_REDOP, 0, "", "")                                \
    X(COMM_DUP, "comm_dup", TI_M_COMM | TI_M_NEWCOMM, 0, "", "")                          \
    X(COMM_SPLIT, "comm_split", TI_M_COMM | TI_M_COLOR | TI_M_KEY | TI_M_NEWCOMM, 0, "",  \
      "")                                                                                 \
    X(COMM_CREATE, "comm_create", TI_M_COMM | TI_M_NEWCOMM, 0, "", "")                    \
    X(CART_CREATE, "cart_create", TI_M_COMM | TI_M_NEWCOMM | TI_M_REORDER, 0, "dims",     \
      "periods")                                                                          \
    X(COMM_FREE, "comm_free", TI_M_COMM, 0, "", "")

/* clang-format off */
#define TI_OP_ENUM(name, text, fields, optional, vec1, vec2) TI_OP_##name,
enum ti_op { TI_OPS(TI_OP_ENUM) TI_OP_COUNT };
/* clang-format on */

/* Reduction operations: X(name, text).  USER_NC: a user's, not commutative. */
#define TI_REDOPS(X)                                                                      \
    X(NULL, "null") X(SUM, "sum") X(PROD, "prod") X(MAX, "max") X(MIN, "min")             \
    X(LAND, "land") X(BAND, "band") X(LOR, "lor") X(BOR, "bor") X(LXOR, "lxor")           \
    X(BXOR, "bxor") X(MAXLOC, "maxloc") X(MINLOC, "minloc") X(REPLACE, "replace")         \
    X(NO_OP, "no_op") X(USER, "user") X(USER_NC, "user_nc")

#define TI_REDOP_ENUM(name, text) TI_REDOP_##name,
enum ti_redop { TI_REDOPS(TI_REDOP_ENUM) TI_REDOP_COUNT };

#define TI_VECS 2 /* vectors an event can have */

/* A list of integers that belongs to somebody else: `width` is 4 or 8 bytes. */
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
};

/* What the lists above say of an operation. */
struct ti_op_info {
    const char *text;
    uint32_t fields;
    uint32_t optional;
    const char *vec[TI_VECS];
};

/* Of an operation below TI_OP_COUNT; never NULL. */
const struct ti_op_info *ti_op_info(uint32_t op);

/* Names of fields and reduction operations; "?" when out of range. */
const char *ti_field_text(unsigned field);
const char *ti_redop_text(int64_t redop);

static inline int64_t ti_vec_at(const struct ti_vec *vec, int64_t i)
{
    return vec->width == 4 ? ((const int32_t *)vec->data)[i] : ((const int64_t *)vec->data)[i];
}

/*
 * Hash of the canonical event stream: everything in the events but the call
 * sites, which differ between builds and languages of one program.  Start with
 * TI_HASH_START, add events in order.  Two ranks' streams are equal, for all
 * practical purposes, when their hashes and event counts are.
 */
#define TI_HASH_START UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t ti_hash_word(uint64_t hash, uint64_t word)
{
    hash ^= word;
    hash *= UINT64_C(0xff51afd7ed558ccd);
    return hash ^ (hash >> 32);
}

/* An event's part of the hash, in three steps: what it begins with, then
 * ti_hash_word() of each field in order, then its vectors. */
static inline uint64_t ti_hash_begin(uint64_t hash, const struct ti_event *ev)
{
    hash = ti_hash_word(hash, (uint64_t)ev->op << 32 | ev->mask);
    return ti_hash_word(hash, ev->volume);
}

static inline uint64_t ti_hash_vecs(uint64_t hash, const struct ti_event *ev)
{
    for (int v = 0; v < TI_VECS; v++) {
        if (!ev->vec[v].len)
            continue;
        hash = ti_hash_word(hash, (uint64_t)ev->vec[v].len << 1 | (uint64_t)v);
        for (int64_t i = 0; i < ev->vec[v].len; i++)
            hash = ti_hash_word(hash, (uint64_t)ti_vec_at(&ev->vec[v], i));
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
