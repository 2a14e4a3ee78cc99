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
 * HELLO      {"tiara": VERSION, "protocol": 3, "host": ..., "pid": N, "family": "x86_64",
 *             "folder": where its files are, "shipped": whether they were sent just now}
 *
 * "facts"    {"program": PATH or NAME, "trace_dir": DIR, "counter": NAME or null, "sum": bool,
 *             "also": EVENTS to be counted besides, "mpirun": bool, "cwd": where relative names
 *             start}; what is left out is not looked at
 *            "memory_bytes", "limited_by", "total_bytes" (MemTotal), "swap_bytes", "cores",
 *            "processes" (that may be started, where there is a limit), "cpu", "family", "isa",
 *            "glibc",
 *            "cwd": true if it is there,
 *            "program": {"path", "bytes", "sha256", "mpi": "openmpi", "other", "none", "unknown"
 *            or "static", "elf", "blocks", "setid"} or {"error", "hint"},
 *            "trace_dir": {"path", "free_bytes", "remote": bool} or {"error"},
 *            "counter": {"counter" (for TIARA_COUNTER), "backend", "event", "exact", "estimate",
 *            "valgrind", "why"} or {"error", "hint"},
 *            "mpi": {"version", "orted", "prted"} or {"error", "hint"}
 *            The scheduler's grant is not known here.  Answered when it is known, others may be
 *            answered before; so are "ranks", "list", "crc" and "remove".
 * "open"     {"run_id", "trace_dir", "np", "ranks": [[FIRST, LAST], ...], "force",
 *             "program": argv[0] there, or null for that of `ti-node run`, "env": [VAR=VALUE...],
 *             "wrapper": [...], "node": our name for it, "cwd": for the ranks if it is there,
 *             "idle": bool (SCHED_IDLE), "drowsy": bool (TI_TIMER_SLACK_NS), "valgrind": bool
 * (VALGRIND_LIB is set to our tool's folder there), "no_core": bool, "scratch": [at most 2
 * directories, made for the run and removed with all in them when ti-node ends]} makes and locks
 * the run directory, writes what "ti-node run" needs there (RUN.json): "directory".  LD_PRELOAD,
 * TIARA_TRACE_DIR and TIARA_RUN_ID are set by `ti-node run`; LD_PRELOAD in "env" comes before our
 * library.  A directory is one node's: where nodes share a file system, give each its own.  It is
 * removed in the end if nothing was traced. "spawn"    {"stream": N > 0, "command": for /bin/sh -c,
 * "files": descriptors} a process of the run, with TIARA_NODE (this program), TIARA_NODE_NAME and
 *            TIARA_RUN_FILE set: "pid".  OUTPUT and ERRPUT frames follow, and in the end the
 *            unasked {"is": "ended", "stream": N, "status": wait status}; what those that it left
 *            behind still write comes later
 * "kill"     {"stream": N, "signal": number, or left out: SIGKILL}
 *            a signal to that process and what it started in its process group, as when who
 *            wanted it is gone: "found": false if it has ended already.  "ended" follows as ever
 * "watch"    {"every_ms": N; 0: stop}
 *            answered at once, and then every so often by the unasked
 *            {"is": "status", "started", "finished", "bytes", "last_start" (epoch seconds),
 *             "alive" (processes of the run), "rss_bytes" (theirs, shared memory left out),
 *             "room_bytes" (memory that is left), "swap_out_bytes" (since the watch began),
 *             "free_bytes" (disk)}
 * "waits"    {}
 *            connections that processes of the run try to make and that are not answered:
 *            "waits": ["10.0.0.2:43211", ...], and how many processes it has there: "alive"
 * "end"      {"grace_s": S}
 *            end every process of the run: "found", "left"
 * "ranks"    {}
 *            what the ends of the traces say: ti_ranks_report(), for ti_ranks_merge()
 * "list"     {"directory", "run_id" (unless opened)}
 *            what traces of that run are in the directory: any number of the unasked
 *            {"is": "listed", "id", "traces": [[RANK, BYTES, INODE, MTIME_NS, END], ...]} with at
 *            most 1,000 of them each, END being whether the mark of the end is there; the answer
 *            comes last: "traces", how many.  A directory that is not there has none, and
 *            "exists" is false.
 * "crc"      {"ranks", "directory", "run_id" as for "send"}
 *            "crc": [[RANK, BYTES, CRC32C], ...] of whole files, at most 1,000 ranks at a time;
 *            what cannot be read is left out
 * "send"     {"ranks": [[FIRST, LAST], ...], "directory", "run_id" (these two unless opened),
 *             "from": [[RANK, BYTES, CRC32C], ...] which is there already, or left out,
 *             "credit": bytes of DATA that may be sent before "more" is said, or left out: all}
 *            DATA frames of each rank's file, in order, after each
 *            {"is": "sent", "rank": N, "bytes", "crc32c"}, of the whole file, or
 *            {"is": "sent", "rank": N, "error"}; before its first DATA the unasked
 *            {"is": "sending", "rank": N, "from": B, "bytes": size of the file}, where B is BYTES
 *            of "from" if the file begins with these, else 0; the answer comes last: "sent",
 *            how many
 * "more"     {"credit": N}
 *            so many bytes more of what is being sent; nothing answers it, not even an error,
 *            as all may have been sent meanwhile
 * "remove"   {"ranks", "directory", "run_id" as above}
 *            delete those traces of the run, RUN.json when none is left, and the directory if
 *            nothing else is in it: "removed", how many
 * "beat"     {"every_ms": N; 0: stop, "listen_ms": M; 0 or left out: for ever}
 *            answered at once, and then every so often by the unasked {"is": "beat"}: a node
 *            that has nothing to say can be told from one that hangs.  When nothing more comes
 *            from who asked for M ms, the channel counts as ended: a connection that was cut
 *            does not always say so
 * "reach"    {"stream": N > 0, "host": [USER@]HOST[:PORT], "tiara": DIR or null,
 *             "known": [lines for known_hosts] or left out, "forward_agent": bool,
 *             "connect_s": S, "answer_s": S, "silence_s": S}
 *            become a relay: start ti-node on another node, by this one's OpenSSH client, with
 *            its user's configuration; what it needs there is sent from here
 *            (node/bootstrap.h).  Host keys are checked against "known" and this node's own
 *            known_hosts, never added.  Answered at once.  Then OUTPUT frames of the stream are
 *            what that ti-node says, from its HELLO on, byte for byte, unread here; INPUT frames
 *            go to it, an empty one is their end; in the end the unasked {"is": "ended", "stream":
 * N, "end": name of an enum ti_channel_end, "error", "hint"}; before its HELLO, as long as what it
 * needs is sent there and taken, the unasked {"is": "moved", "stream": N} every few seconds.  A try
 * ends after "connect_s", or when nothing comes for "answer_s" (struct ti_remote_config).  Nothing
 * a child says is interpreted here, and a child that says nothing, or does not listen, holds up
 *            nobody else.  At most TI_RELAY_CHILDREN at a time, 8 of them connecting.
 * "unreach"  {"stream": N}
 *            end that connection
 * "leave"    keep processes and files when the channel ends
 */
#ifndef TI_MESSAGES_H
#define TI_MESSAGES_H

#define TI_PROTOCOL 3

/* The "error" of "sent" where there is no file of that rank. */
#define TI_MSG_NO_TRACE "no trace"

#define TI_RELAY_CHILDREN 256

#endif
