/*
 * What ti-acquire and ti-gather ask of ti-node, and what it answers: JSON
 * objects in frames (node/frame.h).
 *
 * ti-node is one program, at the node's end of one channel that lasts as long
 * as the acquisition.  It trusts nothing it is told beyond what the user could
 * do there by ssh anyway, and executes nothing but what "spawn" names.  When its
 * standard input ends, it ends every process of the run (they carry
 * TIARA_RUN_ID), unless told "leave", and itself: whoever started a run and is
 * gone, by whatever accident, leaves nothing behind on any node.
 *
 * A request is {"do": NAME, "id": N, ...}; it is answered by one {"is": NAME, "id": N, ...},
 * or {"is": "error", "id": N, "error": TEXT, "hint": TEXT, "status": N}.
 *
 * HELLO      {"tiara": VERSION, "protocol": 1, "host": ..., "pid": N, "family": "x86_64",
 *             "folder": where its files are, "shipped": whether they were sent just now}
 *
 * "facts"    {"program": PATH or NAME, "trace_dir": DIR, "counter": NAME or null, "sum": bool,
 *             "mpirun": bool}
 *            "memory_bytes", "limited_by", "total_bytes" (MemTotal), "swap_bytes", "cores",
 *            "cpu", "family", "isa", "glibc",
 *            "program": {"path", "bytes", "sha256"} or {"error", "hint"},
 *            "trace_dir": {"path", "free_bytes", "remote": bool} or {"error"},
 *            "counter": {"name", "exact"} or {"error"},
 *            "mpi": {"version", "orted"} or {"error"}
 * "open"     {"run_id", "trace_dir", "np", "ranks": [[FIRST, LAST], ...], "force",
 *             "program": argv[0] there, "env": [VAR=VALUE...], "wrapper": [...], "node": our name
 *             for it}
 *            makes and locks the run directory, writes what "ti-node run" needs: "directory"
 * "spawn"    {"stream": N, "command": for /bin/sh -c} a process of the run, with
 *            TIARA_NODE (this program), TIARA_NODE_NAME and TIARA_RUN_FILE set; "pid".
 *            OUTPUT and ERRPUT frames follow, and in the end the unasked
 *            {"is": "ended", "stream": N, "status": wait status}
 * "watch"    {"every_ms": N; 0: stop} answered at once, and then every so often by the unasked
 *            {"is": "status", "started", "finished", "bytes", "last_start" (epoch seconds),
 *             "alive" (processes of the run), "rss_bytes" (theirs), "room_bytes" (memory that is
 *             left), "swap_out_bytes" (since the watch began), "free_bytes" (disk)}
 * "end"      {"grace_s": S} end every process of the run: "found", "left"
 * "ranks"    what the ends of the traces say: the object of ti_ranks_json() and sums
 * "send"     {"ranks": [[FIRST, LAST], ...]} DATA frames of each rank's file, in order, then for
 *            each {"is": "sent", "rank": N, "bytes", "crc32c"} or {"is": "sent", "rank": N,
 *            "error"}; the answer comes last
 * "remove"   {"ranks": ...} delete those traces of the run, and its directory if we made it and
 *            nothing else is in it: "removed"
 * "leave"    keep processes and files when the channel ends
 */
#ifndef TI_MESSAGES_H
#define TI_MESSAGES_H

#define TI_PROTOCOL 1

#endif
