/*
 * The findings of the check of a run directory (bundle/check.h): which ranks' traces are
 * there and sound, what is wrong with the others, and sums and metadata of the run.
 */
#ifndef TI_BUNDLE_RUN_H
#define TI_BUNDLE_RUN_H

#include <jansson.h>
#include <signal.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "trace/scan.h"

/* X(name, gathered, text): state of a rank. */
#define TI_RANK_STATES(X)                                                                          \
    X(MISSING, false, "missing")                                                                   \
    X(OK, true, "complete")                                                                        \
    X(CUT, true, "incomplete, kept as far as it goes")                                             \
    X(AWAY, false, "on a node, to be fetched") /* only in a plan */                                \
    X(UNREADABLE, false, "unreadable")                                                             \
    X(DAMAGED, false, "damaged")                                                                   \
    X(MISNAMED, false, "under a wrong name")                                                       \
    X(DUPLICATE, false, "there more than once")                                                    \
    X(FOREIGN, false, "of another run")

#define TI_RANK_STATE_ENUM(name, gathered, text) TI_RANK_##name,
enum ti_rank_state { TI_RANK_STATES(TI_RANK_STATE_ENUM) TI_RANK_STATE_COUNT };

struct ti_run_rank;

/* Why the rank is not OK; NULL when it is. */
const char *ti_run_reason(const struct ti_run_rank *rank);

const char *ti_rank_state_text(enum ti_rank_state state);

/* All zero is a missing rank: a file of 1 KB may claim millions of ranks, and untouched pages take
 * no memory. */
struct ti_run_rank {
    enum ti_rank_state state;
    const char *name; /* of its file, here or on its node; NULL if there is none */
    char *reason;     /* NULL when OK, or without a file; see ti_run_reason() */
    int node;         /* index in `node` + 1; 0: unknown */
    enum ti_end end;
    uint64_t events, volume, hash;
    uint32_t crc;    /* of the whole file: as in zip; CRC-32C if from_node */
    uint32_t crc32c; /* the same with CRC-32C; set by ti_bundle_remove_sources(),
                      * or by the check if the trace came merged */
    uint32_t record; /* CRC-32C of its record, if ranks are merged; set by ti_bundle_finish() */
    struct stat file; /* of a trace that came merged: only the size, of the file on its node */
    int32_t from_node; /* index + 1 of the node that merged it; 0: none did, its file is here */
};

/* A file that is ignored: its rank has a better one, or there is no such rank. */
struct ti_run_stray {
    const char *name;
    char *reason;
};

struct ti_run_file; /* private */
struct ti_node_traces;
struct ti_differ;
struct ti_scanner;

struct ti_run {
    char *path;
    int fd;       /* of the directory */
    json_t *json; /* RUN.json; NULL if there is none */

    uint8_t run_id[TI_RUN_ID_BYTES];
    int64_t nranks;
    struct ti_run_rank *rank;
    int64_t gathered, complete; /* ranks: with a trace to gather; with a complete one */
    int64_t away;               /* ranks that are AWAY, of a plan; set by ti-gather */
    struct ti_run_stray *stray;
    int nstrays;
    size_t stray_room;
    int foreign; /* strays of another run */
    char **node;
    int nnodes;
    size_t node_room;
    json_t *node_numbers; /* index of each node by name: a map, for thousands of nodes */

    /* metadata of the traces, each key from the first trace that has it */
    json_t *info;
    json_t *differ; /* see trace/differ.h */
    bool counters_differ;
    bool exact;    /* all traces are */
    bool estimate; /* some trace is */

    /* sums over the gathered ranks */
    int64_t bytes;
    uint64_t events, volume, messages, negative;
    struct ti_burst_overhead calibration;
    struct ti_caveats caveats;
    uint64_t whole, outside; /* as in trace/scan.h, of the ranks that have them */
    int64_t with_whole, with_outside;
    uint64_t blocks, blocks_own; /* the same; 0: none */
    struct ti_op_count op[TI_OP_COUNT];
    struct ti_call_count *untraced;
    int nuntraced;
    double flush_seconds, init_seconds_max, app_seconds_max;
    int64_t memory_bytes_max;

    double started, check_seconds; /* since the epoch; duration */
    /* fetched from nodes just before, set by ti-gather; 0 ranks: nothing */
    struct {
        double started, seconds;
        int64_t nodes, ranks, bytes;
    } fetch;
    /* the merged trace in the bundle, set by ti_bundle_finish(); 0 groups: none */
    struct {
        uint64_t groups;
        int64_t copies, bytes;
    } merged;
    json_t *gathering; /* the tree of the fetch, for the manifest; NULL: none */

    struct ti_run_file *file;
    int64_t nfiles;
    struct ti_differ *differing; /* while ranks are checked */
    struct ti_scanner *scanner;
};

/* The hint of every error about a bad RUN.json. */
#define TI_RUN_JSON_HINT                                                                           \
    "nothing was changed: mend it, or move it away, then the traces that are here are gathered "   \
    "without it, and none are fetched from nodes"

/* Set by a signal handler: ti_fetch(), ti_run_check() and ti_bundle_finish() then fail soon. */
extern volatile sig_atomic_t ti_gather_stop;

static inline bool ti_run_gathers(const struct ti_run *run, int64_t rank)
{
    return run->rank[rank].state == TI_RANK_OK || run->rank[rank].state == TI_RANK_CUT;
}

/* The ranks that are not gathered, or with `gathered` those that are and are incomplete.  A list of
 * {"ranks": [[0, 7], [9, 9]], "state": "missing", "reason": "no file"}, one for each state and
 * reason, ordered by first rank. */
json_t *ti_run_bad_ranks(const struct ti_run *run, bool gathered);

#endif
