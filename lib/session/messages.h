/* clang-format off */
/*
 * The requests of ti-acquire and ti-gather to ti-node, and its answers: JSON objects in frames
 * (session/frame.h).
 *
 * ti-node runs at the node's end of one channel, for as long as the channel is open.  A request
 * can do no more than the user could do there by ssh, and only "spawn" names a program to execute.
 * When its standard input ends, ti-node ends every process of the run (they carry TIARA_RUN_ID) and
 * itself, except after "leave".  So nothing is left behind on any node when ti-acquire dies.
 *
 * A request is {"do": NAME, "id": N, ...}.  Its answer, if it has one, is
 * {"is": NAME, "id": N, ...}, or
 * {"is": "error", "id": N, "error": TEXT, "hint": TEXT, "status": N}.
 * ti-node also sends messages without an id, which answer no request.
 *
 * Below, first the frame HELLO, then each request: in braces its members, and then those of the
 * answer.
 *
 * HELLO      {"tiara": VERSION, "protocol": 3, "host": ..., "pid": N, "family": "x86_64",
 *             "folder": of its files, "shipped": whether they were sent just now}
 *            The first frame; it answers no request.
 *
 * "facts"    {"program": PATH or NAME, "trace_dir": DIR, "counter": NAME or null, "sum": bool,
 *             "also": EVENTS to be counted besides, "mpirun": bool, "cwd": base of relative names}
 *            Keys that the request leaves out are not examined.
 *            "memory_bytes", "limited_by", "total_bytes" (MemTotal), "swap_bytes", "cores",
 *            "processes" (that may be started, if there is a limit), "cpu", "family", "isa",
 *            "glibc",
 *            "cwd": whether it exists,
 *            "program": {"path", "bytes", "sha256", "mpi": "openmpi", "other", "none", "unknown"
 *            or "static", "elf", "blocks", "setid"} or {"error", "hint"},
 *            "trace_dir": {"path", "free_bytes", "remote": bool} or {"error"},
 *            "counter": {"counter" (for TIARA_COUNTER), "backend", "event", "exact", "estimate",
 *            "valgrind", "why"} or {"error", "hint"},
 *            "mpi": {"version", "orted", "prted"} or {"error", "hint"}
 *            "facts", "ranks", "list", "crc" and "remove" take time and are worked on in a process
 *            of their own: later requests may be answered first.
 * "open"     {"run_id", "trace_dir", "np", "ranks": [[FIRST, LAST], ...], "force",
 *             "program": argv[0] on this node, or null for that of `ti-node run`,
 *             "env": [VAR=VALUE...], "wrapper": [...], "node": its name,
 *             "cwd": of the ranks, if it exists, "idle": bool (SCHED_IDLE),
 *             "timer_slack": bool (TI_TIMER_SLACK_NS), "valgrind": bool (set VALGRIND_LIB to the
 *             folder of our tool), "no_core": bool, "scratch": [at most 2 directories, made for
 *             the run and removed with their contents when ti-node ends]}
 *            Makes and locks the run directory, and writes into its NODE.json what `ti-node run`
 *            needs: "directory".  `ti-node run` sets LD_PRELOAD, TIARA_TRACE_DIR and TIARA_RUN_ID;
 *            an LD_PRELOAD in "env" comes before our library.  Each node must have a directory of
 *            its own, also on a shared file system.  It is removed in the end if nothing is traced.
 * "spawn"    {"stream": N > 0, "command": for /bin/sh -c, "files": number of descriptors}
 *            Starts a process of the run with TIARA_NODE (this program), TIARA_NODE_NAME and
 *            TIARA_NODE_FILE in its environment: "pid".  Its output follows in OUTPUT and STDERR
 *            frames, then {"is": "ended", "stream": N, "status": wait status} without an id.
 *            Processes that it left behind may write later.
 * "kill"     {"stream": N, "signal": number, or left out: SIGKILL}
 *            Signals the process and its process group: "found", false if it has ended already.
 *            "ended" follows as usual.
 * "watch"    {"every_ms": N; 0: stop}
 *            Answered at once; then, each interval, comes a message without an id:
 *            {"is": "status", "started", "finished", "bytes", "last_start" (epoch seconds),
 *             "alive" (processes of the run), "rss_bytes" (theirs, without shared memory),
 *             "room_bytes" (available memory), "swap_out_bytes" (since the watch began),
 *             "free_bytes" (disk)}
 * "waits"    {}
 *            "waits": ["10.0.0.2:43211", ...], the connections that processes of the run try to
 *            make without an answer; "alive": the number of these processes
 * "end"      {"grace_s": S}
 *            Ends every process of the run: "found", "left" are their numbers.
 * "ranks"    {}
 *            Summary of the ends of the traces: ti_ranks_report(), for ti_ranks_merge().
 * "list"     {"directory", "run_id" (both may be left out after "open")}
 *            Lists the traces of the run in the directory: any number of
 *            {"is": "listed", "id", "traces": [[RANK, BYTES, INODE, MTIME_NS, END], ...]}, each of
 *            at most 1,000 traces; END tells whether the trace has its end mark.  The answer comes
 *            last: "traces", their number; "exists" is false if there is no such directory.
 * "crc"      {"ranks", "directory", "run_id" as for "send"}
 *            "crc": [[RANK, BYTES, CRC32C], ...] of whole files; at most 1,000 ranks.  Files that
 *            cannot be read are left out.
 * "send"     {"ranks": [[FIRST, LAST], ...], "directory", "run_id" (as for "list"),
 *             "from": [[RANK, BYTES, CRC32C], ...] that the receiver has already; may be left out,
 *             "credit": bytes of DATA that may be sent before "more" comes; left out: no limit,
 *             "merge": bool}
 *            For each rank, in order: {"is": "sending", "rank": N, "from": B, "bytes": size of the
 *            file}, where B is BYTES of "from" if the file begins with these bytes, else 0; DATA
 *            frames; {"is": "sent", "rank": N, "bytes", "crc32c"} of the whole file, or
 *            {"is": "sent", "rank": N, "error"}.  The answer comes last: "sent", how many ranks.
 *            With "merge", ranks that ascend, at most TI_MSG_MERGE_RANKS, are first merged into one
 *            trace.  It is sent like the file of its first rank, where "sending" has "merged":
 *            [[RANK, BYTES, CRC32C], ...], the ranks in it and the files they were.  Files of the
 *            other ranks follow, or of all, if "sent" of the merged trace has an "error".  The
 *            answer's "not_merged" says why there is no merged trace.  While ranks are merged,
 *            {"is": "merging"} comes every quarter of a second of processor time, without an id.
 * "more"     {"credit": N}
 *            Adds to the credit of "send".  It has no answer and causes no error, because
 *            everything may have been sent before it arrives.
 * "remove"   {"ranks", "directory", "run_id" as for "list"}
 *            Deletes these traces of the run, NODE.json when no trace is left, and the directory if
 *            it is empty then, and not if nothing in it was of the run: "removed", the number
 *            of traces.
 * "beat"     {"every_ms": N; 0: stop, "listen_ms": M; 0 or left out: no timeout}
 *            Heartbeats.  Answered at once; then, each interval, {"is": "beat"} (no id).
 *            When nothing arrives at ti-node for M ms, the channel counts as closed: a connection
 *            that was cut does not always report it.
 * "reach"    {"stream": N > 0, "host": [USER@]HOST[:PORT], "tiara": DIR or null,
 *             "known": [lines for known_hosts] or left out, "forward_agent": bool,
 *             "connect_s": S, "answer_s": S, "silence_s": S}
 *            Makes this ti-node a relay: it starts a child, a ti-node on another node, with this
 *            node's OpenSSH client and its user's configuration.  Files that the child needs are
 *            sent from here (session/bootstrap.h).  Host keys are checked against "known" and this
 *            node's known_hosts, and never added.  Answered at once.
 *            Then OUTPUT frames of the stream carry the bytes of the child, from its HELLO on,
 *            unread.  INPUT frames go to the child; an empty one closes its input.  While files are
 *            sent to the child and it takes them, {"is": "moved", "stream": N} comes every few
 *            seconds.  In the end comes {"is": "ended", "stream": N, "end": name of an enum
 *            ti_channel_end, "error", "hint"}.  These messages have no id.
 *            Connecting is abandoned after "connect_s", or when nothing comes for "answer_s"
 *            (struct ti_remote_config).  A child that is silent or takes nothing does not delay the
 *            others.  At most TI_RELAY_CHILDREN at a time, TI_RELAY_STARTING of them connecting.
 * "unreach"  {"stream": N}
 *            Closes the connection to that child.
 * "leave"    {}
 *            Keeps processes and files when the channel ends.
 */
/* clang-format on */
#ifndef TI_SESSION_MESSAGES_H
#define TI_SESSION_MESSAGES_H

#define TI_PROTOCOL 3

/* The "error" of "sent" if the rank has no file. */
#define TI_MSG_NO_TRACE "no trace"

/* Ranks of one merged trace: a frame has room for a list of them. */
#define TI_MSG_MERGE_RANKS 1000

#define TI_RELAY_CHILDREN 256

#endif
