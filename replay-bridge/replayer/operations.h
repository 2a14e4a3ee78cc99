/*
 * Operations: how the replayer replays each operation.
 *
 * Columns: X(operation of event/event.h, function of the replayer, class in ti-smpi-replay,
 * replacement or reason).  ti-live-replay calls the recorded MPI function, unless the MPI library
 * lacks it (Open MPI 4 lacks MPI-4 functions).
 *
 *   OWN      calls the recorded MPI function
 *   LOWERED  calls a replacement that takes as long: SMPI lacks the function, or it is wrong there
 *   REFUSED  cannot be replayed: a trace with such an event is refused before the replay starts
 *
 * tools/replay-table makes the table in ti-smpi-replay(1) from this list.  If a row is missing or
 * repeated, replay.c does not compile.
 */
#ifndef TI_REPLAY_BRIDGE_REPLAYER_OPERATIONS_H
#define TI_REPLAY_BRIDGE_REPLAYER_OPERATIONS_H

/* clang-format off */
#define TI_REPLAYED(X)                                                                           \
    X(INIT, init, OWN, "")                                                                       \
    X(FINALIZE, finalize, OWN, "")                                                               \
    X(ABORT, refused, REFUSED, "the run was aborted")                                            \
    X(PCONTROL, pcontrol, LOWERED, "nothing: it takes no time")                                  \
    X(UNTRACED, refused, REFUSED, "a call that is not traced")                                   \
                                                                                                 \
    X(SEND, send, OWN, "")                                                                       \
    X(BSEND, send, OWN, "")                                                                      \
    X(SSEND, send, OWN, "")                                                                      \
    X(RSEND, send, OWN, "")                                                                      \
    X(RECV, recv, OWN, "")                                                                       \
    X(ISEND, nonblocking, OWN, "")                                                               \
    X(IBSEND, nonblocking, OWN, "")                                                              \
    X(ISSEND, nonblocking, OWN, "")                                                              \
    X(IRSEND, nonblocking, OWN, "")                                                              \
    X(IRECV, nonblocking, OWN, "")                                                               \
    X(SEND_INIT, persistent, LOWERED, "MPI_Isend at each start")                                 \
    X(BSEND_INIT, persistent, LOWERED, "MPI_Ibsend at each start")                               \
    X(SSEND_INIT, persistent, LOWERED, "MPI_Issend at each start")                               \
    X(RSEND_INIT, persistent, LOWERED, "MPI_Irsend at each start")                               \
    X(RECV_INIT, persistent, LOWERED, "MPI_Irecv at each start")                                 \
    X(SENDRECV, sendrecv, OWN, "")                                                               \
    X(SENDRECV_REPLACE, sendrecv, LOWERED, "MPI_Sendrecv")                                       \
    X(ISENDRECV, nonblocking, LOWERED, "MPI_Isend and MPI_Irecv")                                \
    X(ISENDRECV_REPLACE, nonblocking, LOWERED, "MPI_Isend and MPI_Irecv")                        \
    X(PROBE, probe, OWN, "")                                                                     \
    X(IPROBE, probe, LOWERED, "MPI_Probe: unsuccessful polls are not in the trace")              \
    X(MPROBE, mprobe, LOWERED, "MPI_Recv of the message")                                        \
    X(IMPROBE, mprobe, LOWERED, "MPI_Recv of the message")                                       \
    X(MRECV, mrecv, LOWERED, "nothing: the probe received it")                                   \
    X(IMRECV, imrecv, LOWERED, "nothing: the probe received it")                                 \
    X(PSEND_INIT, persistent, LOWERED, "MPI_Isend of all partitions when the last is ready")     \
    X(PRECV_INIT, persistent, LOWERED, "MPI_Irecv of all partitions at each start")              \
    X(PREADY, pready, LOWERED, "see psend_init")                                                 \
    X(PREADY_RANGE, pready, LOWERED, "see psend_init")                                           \
    X(PREADY_LIST, pready, LOWERED, "see psend_init")                                            \
    X(PARRIVED, parrived, LOWERED, "nothing: it takes no time")                                  \
                                                                                                 \
    X(START, start, LOWERED, "the non-blocking function")                                        \
    X(STARTALL, start, LOWERED, "the non-blocking function of each")                             \
    X(WAIT, complete, OWN, "")                                                                   \
    X(WAITALL, complete, OWN, "")                                                                \
    X(WAITANY, complete, LOWERED, "MPI_Wait for the request that completed")                     \
    X(WAITSOME, complete, LOWERED, "MPI_Waitall for the requests that completed")                \
    X(TEST, complete, LOWERED, "MPI_Wait: unsuccessful polls are not in the trace")              \
    X(TESTALL, complete, LOWERED, "MPI_Waitall: unsuccessful polls are not in the trace")        \
    X(TESTANY, complete, LOWERED, "MPI_Wait for the request that completed")                     \
    X(TESTSOME, complete, LOWERED, "MPI_Waitall for the requests that completed")                \
    X(REQUEST_FREE, request_free, LOWERED, "nothing: no call waits for it")                      \
    X(CANCEL, cancel, LOWERED, "MPI_Cancel where a receive completes as cancelled") \
    X(GREQUEST_START, grequest_start, LOWERED, "nothing: it takes no time")                      \
    X(GREQUEST_COMPLETE, grequest_complete, LOWERED, "nothing: it takes no time")                \
                                                                                                 \
    X(BARRIER, collective, OWN, "")                                                              \
    X(IBARRIER, nonblocking, LOWERED, "MPI_Iallgather of a byte: MPI_Ibarrier does not wait")    \
    X(BARRIER_INIT, persistent, LOWERED, "MPI_Iallgather of a byte at each start")               \
    TI_REPLAYED_COLLECTIVE(X, BCAST)                                                             \
    TI_REPLAYED_COLLECTIVE(X, REDUCE)                                                            \
    TI_REPLAYED_COLLECTIVE(X, ALLREDUCE)                                                         \
    TI_REPLAYED_COLLECTIVE(X, GATHER)                                                            \
    TI_REPLAYED_COLLECTIVE(X, GATHERV)                                                           \
    TI_REPLAYED_COLLECTIVE(X, SCATTER)                                                           \
    TI_REPLAYED_COLLECTIVE(X, SCATTERV)                                                          \
    TI_REPLAYED_COLLECTIVE(X, ALLGATHER)                                                         \
    TI_REPLAYED_COLLECTIVE(X, ALLGATHERV)                                                        \
    TI_REPLAYED_COLLECTIVE(X, ALLTOALL)                                                          \
    TI_REPLAYED_COLLECTIVE(X, ALLTOALLV)                                                         \
    TI_REPLAYED_COLLECTIVE(X, ALLTOALLW)                                                         \
    TI_REPLAYED_COLLECTIVE(X, REDUCE_SCATTER)                                                    \
    TI_REPLAYED_COLLECTIVE(X, REDUCE_SCATTER_BLOCK)                                              \
    TI_REPLAYED_COLLECTIVE(X, SCAN)                                                              \
    TI_REPLAYED_COLLECTIVE(X, EXSCAN)                                                            \
    TI_REPLAYED_NEIGHBOURS(X, NEIGHBOR_ALLGATHER)                                                \
    TI_REPLAYED_NEIGHBOURS(X, NEIGHBOR_ALLGATHERV)                                               \
    TI_REPLAYED_NEIGHBOURS(X, NEIGHBOR_ALLTOALL)                                                 \
    TI_REPLAYED_NEIGHBOURS(X, NEIGHBOR_ALLTOALLV)                                                \
    TI_REPLAYED_NEIGHBOURS(X, NEIGHBOR_ALLTOALLW)                                                \
                                                                                                 \
    X(COMM_DUP, comm_dup, OWN, "")                                                               \
    X(COMM_DUP_WITH_INFO, comm_dup, OWN, "")                                                     \
    X(COMM_IDUP, comm_dup, LOWERED, "MPI_Comm_dup")                                              \
    X(COMM_IDUP_WITH_INFO, comm_dup, LOWERED, "MPI_Comm_dup")                                    \
    X(COMM_SPLIT, comm_split, OWN, "")                                                           \
    X(COMM_SPLIT_TYPE, comm_split, LOWERED, "MPI_Comm_split into the groups that were recorded") \
    X(COMM_CREATE, comm_create, OWN, "")                                                         \
    X(COMM_CREATE_GROUP, comm_create, OWN, "")                                                   \
    X(CART_CREATE, cart_create, OWN, "")                                                         \
    X(CART_SUB, cart_sub, OWN, "")                                                               \
    X(GRAPH_CREATE, graph_create, LOWERED, "MPI_Comm_split")                                     \
    X(DIST_GRAPH_CREATE, graph_create, LOWERED, "MPI_Comm_split")                                \
    X(DIST_GRAPH_CREATE_ADJACENT, graph_create, LOWERED, "MPI_Comm_split")                       \
    X(INTERCOMM_CREATE, intercomm_create, LOWERED, "MPI_Comm_create_group of both groups")       \
    X(INTERCOMM_MERGE, intercomm_merge, LOWERED, "MPI_Comm_split of both groups")                \
    X(COMM_SET_INFO, comm_set_info, LOWERED, "nothing: it takes no time")                        \
    X(COMM_FREE, comm_free, OWN, "")                                                             \
    X(COMM_DISCONNECT, comm_free, OWN, "")                                                       \
                                                                                                 \
    X(WIN_CREATE, win_create, OWN, "")                                                           \
    X(WIN_ALLOCATE, win_create, LOWERED, "MPI_Win_create")                                       \
    X(WIN_ALLOCATE_SHARED, win_create, LOWERED, "MPI_Win_create")                                \
    X(WIN_CREATE_DYNAMIC, win_create, LOWERED, "MPI_Win_create")                                 \
    X(WIN_ATTACH, win_attach, LOWERED, "nothing: it takes no time")                              \
    X(WIN_DETACH, win_attach, LOWERED, "nothing: it takes no time")                              \
    X(WIN_SET_INFO, win_set_info, LOWERED, "nothing: it takes no time")                          \
    X(WIN_FREE, win_free, OWN, "")                                                               \
    X(PUT, transfer, OWN, "")                                                                    \
    X(GET, transfer, OWN, "")                                                                    \
    X(ACCUMULATE, transfer, OWN, "")                                                             \
    X(GET_ACCUMULATE, transfer, OWN, "")                                                         \
    X(FETCH_AND_OP, transfer, OWN, "")                                                           \
    X(COMPARE_AND_SWAP, transfer, OWN, "")                                                       \
    X(RPUT, transfer, OWN, "")                                                                   \
    X(RGET, transfer, OWN, "")                                                                   \
    X(RACCUMULATE, transfer, OWN, "")                                                            \
    X(RGET_ACCUMULATE, transfer, OWN, "")                                                        \
    X(WIN_FENCE, win_fence, OWN, "")                                                             \
    X(WIN_START, win_start, OWN, "")                                                             \
    X(WIN_COMPLETE, win_complete, OWN, "")                                                       \
    X(WIN_POST, win_start, OWN, "")                                                              \
    X(WIN_WAIT, win_complete, OWN, "")                                                           \
    X(WIN_TEST, win_complete, LOWERED, "MPI_Win_wait")                                           \
    X(WIN_LOCK, win_lock, OWN, "")                                                               \
    X(WIN_LOCK_ALL, win_lock, OWN, "")                                                           \
    X(WIN_UNLOCK, win_lock, OWN, "")                                                             \
    X(WIN_UNLOCK_ALL, win_lock, OWN, "")                                                         \
    X(WIN_FLUSH, win_lock, OWN, "")                                                              \
    X(WIN_FLUSH_ALL, win_lock, OWN, "")                                                          \
    X(WIN_FLUSH_LOCAL, win_lock, OWN, "")                                                        \
    X(WIN_FLUSH_LOCAL_ALL, win_lock, OWN, "")                                                    \
    X(WIN_SYNC, win_lock, LOWERED, "nothing: it takes no time")                                  \
                                                                                                 \
    X(FILE_OPEN, file_open, LOWERED, "MPI_Barrier: it does not use the disk")                    \
    X(FILE_CLOSE, file_close, LOWERED, "MPI_Barrier: it does not use the disk")                  \
    X(FILE_DELETE, file_delete, LOWERED, "nothing: it does not use the disk")                    \
    X(FILE_SET_VIEW, file_set, LOWERED, "MPI_Barrier: it does not use the disk")                 \
    X(FILE_SET_SIZE, file_set, LOWERED, "MPI_Barrier: it does not use the disk")                 \
    X(FILE_PREALLOCATE, file_set, LOWERED, "MPI_Barrier: it does not use the disk")              \
    X(FILE_SET_INFO, file_set, LOWERED, "MPI_Barrier: it does not use the disk")                 \
    X(FILE_SET_ATOMICITY, file_set, LOWERED, "MPI_Barrier: it does not use the disk")            \
    X(FILE_SEEK_SHARED, file_set, LOWERED, "MPI_Barrier: it does not use the disk")              \
    X(FILE_SYNC, file_set, LOWERED, "MPI_Barrier: it does not use the disk")                     \
    TI_REPLAYED_ACCESS(X, READ)                                                                  \
    TI_REPLAYED_ACCESS(X, WRITE)

#define TI_REPLAYED_COLLECTIVE(X, name)                                                          \
    X(name, collective, OWN, "")                                                                 \
    X(I##name, nonblocking, OWN, "")                                                             \
    X(name##_INIT, persistent, LOWERED, "the non-blocking function at each start")

#define TI_REPLAYED_NEIGHBOURS(X, name)                                                          \
    X(name, collective, LOWERED, "MPI_Isend and MPI_Irecv for each neighbour")                   \
    X(I##name, nonblocking, LOWERED, "MPI_Isend and MPI_Irecv for each neighbour")               \
    X(name##_INIT, persistent, LOWERED, "MPI_Isend and MPI_Irecv at each start")

#define TI_REPLAYED_ACCESS(X, name)                                                              \
    X(FILE_##name, file_access, LOWERED, "the disk")                                             \
    X(FILE_##name##_AT, file_access, LOWERED, "the disk")                                        \
    X(FILE_##name##_ALL, file_access, LOWERED, "the disk, then MPI_Barrier")                     \
    X(FILE_##name##_AT_ALL, file_access, LOWERED, "the disk, then MPI_Barrier")                  \
    X(FILE_##name##_SHARED, file_access, LOWERED, "the disk")                                    \
    X(FILE_##name##_ORDERED, file_access, LOWERED, "the disk, then MPI_Barrier")                 \
    X(FILE_I##name, file_access, LOWERED, "the disk, until the request completes")               \
    X(FILE_I##name##_AT, file_access, LOWERED, "the disk, until the request completes")          \
    X(FILE_I##name##_ALL, file_access, LOWERED, "the disk and MPI_Iallgather")                   \
    X(FILE_I##name##_AT_ALL, file_access, LOWERED, "the disk and MPI_Iallgather")                \
    X(FILE_I##name##_SHARED, file_access, LOWERED, "the disk, until the request completes")      \
    X(FILE_##name##_ALL_BEGIN, file_access, LOWERED, "the disk, until the second half")          \
    X(FILE_##name##_ALL_END, file_access, LOWERED, "the end of the access, then MPI_Barrier")    \
    X(FILE_##name##_AT_ALL_BEGIN, file_access, LOWERED, "the disk, until the second half")       \
    X(FILE_##name##_AT_ALL_END, file_access, LOWERED, "the end of the access, then MPI_Barrier") \
    X(FILE_##name##_ORDERED_BEGIN, file_access, LOWERED, "the disk, until the second half")      \
    X(FILE_##name##_ORDERED_END, file_access, LOWERED, "the end of the access, then MPI_Barrier")
/* clang-format on */

#endif
