/*
 * A run directory looked at: which ranks' traces are there and sound, what is
 * wrong with the others, and what the run was.
 */
#ifndef TI_RUN_H
#define TI_RUN_H

#include <jansson.h>
#include <signal.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "formats/scan.h"

/* X(name, gathered, text): what became of a rank. */
#define TI_RANK_STATES(X)                                                                          \
    X(MISSING, false, "missing")                                                                   \
    X(OK, true, "complete")                                                                        \
    X(CUT, true, "incomplete, kept as far as it goes")                                             \
    X(AWAY, false, "on a node, to be fetched") /* of a plan */                                     \
    X(UNREADABLE, false, "unreadable")                                                             \
    X(DAMAGED, false, "damaged")                                                                   \
    X(MISNAMED, false, "under a wrong name")                                                       \
    X(DUPLICATE, false, "there more than once")                                                    \
    X(FOREIGN, false, "of another run")

#define TI_RANK_STATE_ENUM(name, gathered, text) TI_RANK_##name,
enum ti_rank_state { TI_RANK_STATES(TI_RANK_STATE_ENUM) TI_RANK_STATE_COUNT };

struct ti_run_rank;

/* Why it is not OK; NULL when it is. */
const char *ti_run_reason(const struct ti_run_rank *rank);

const char *ti_rank_state_text(enum ti_rank_state state);

/* All zero is a rank that is missing: a file of 1 KB may claim millions of them, and what is not
 * touched takes no memory. */
struct ti_run_rank {
    enum ti_rank_state state;
    const char *name; /* of its file; NULL if there is none */
    char *reason;     /* NULL when OK, or where there is just no file; see ti_run_reason() */
    int node;         /* number in `node`, from 1; 0: unknown */
    enum ti_end end;
    uint64_t events, volume, hash;
    uint32_t crc32; /* of the whole file, as in zip */
    /* of what the bundle has of it: known when its sources are removed; nodes tell the same */
    uint32_t crc32c;
    struct stat file;
};

/* A file that is not used: of a rank that has a better one, or of none. */
struct ti_run_stray {
    const char *name;
    char *reason;
};

struct ti_run_file; /* private */
struct ti_differ;
struct ti_scanner;

struct ti_run {
    char *path;
    int fd;       /* of the directory */
    json_t *json; /* RUN.json; NULL if there is none */

    uint8_t run_id[TI_RUN_ID_BYTES];
    int64_t nranks;
    struct ti_run_rank *rank;
    int64_t gathered, complete; /* ranks: with a trace to gather, with a whole one */
    int64_t away;               /* of a plan: ranks that are AWAY; whoever plans counts them */
    struct ti_run_stray *stray;
    int nstrays;
    int foreign; /* strays of another run */
    char **node;
    int nnodes;
    json_t *node_numbers; /* by name: there may be thousands, and a million ranks on them */

    /* what the traces say of the run, from the first that says it; may be NULL */
    json_t *info;
    json_t *differ; /* see formats/differ.h */
    bool counters_differ;
    bool exact;    /* all of them */
    bool estimate; /* some of them */

    /* sums over the gathered ranks */
    int64_t bytes;
    uint64_t events, volume, messages, negative;
    struct ti_calibration calibration;
    struct ti_caveats caveats;
    uint64_t whole, outside; /* as in formats/scan.h, of the ranks that know */
    int64_t with_whole, with_outside;
    uint64_t blocks, blocks_own; /* the same; 0: none */
    struct ti_op_count op[TI_OP_COUNT];
    struct ti_call_count *untraced;
    int nuntraced;
    double flush_seconds, init_seconds_max, app_seconds_max;
    int64_t memory_bytes_max;

    double started, check_seconds; /* since the epoch; taken */
    /* what was fetched from nodes just before; 0 ranks: nothing.  Whoever fetched fills it. */
    struct {
        double started, seconds;
        int64_t nodes, ranks, bytes;
    } fetch;
    json_t *gathering; /* how they came here, for the manifest; NULL: nothing to tell */

    struct ti_run_file *file;
    int64_t nfiles;
    struct ti_differ *differing; /* this, too, while ranks are checked */
    struct ti_scanner *ahead;
};

/* Set (by a signal handler) to make ti_run_check() and ti_bundle_write() give
 * up with an error. */
extern volatile sig_atomic_t ti_gather_stop;

/*
 * Look at the run directory `path`, whose RUN.json is `json` (NULL: there is none), read every
 * trace in it and check it whole, several at a time.  What `ahead` (gather/scanner.h; NULL:
 * nothing) has read is not read again.  *out is set on success only; release it with ti_run_free().
 * Returns TI_OK, whatever the state of the ranks, TI_ERR_IO, or TI_ERR_INPUT if nothing in it can
 * be gathered.
 */
ti_status ti_run_check(const char *path, json_t *json, struct ti_scanner *ahead,
                       struct ti_run **out, struct ti_err *err);
void ti_run_free(struct ti_run *run); /* NULL is fine */

static inline bool ti_run_gathers(const struct ti_run *run, int64_t rank)
{
    return run->rank[rank].state == TI_RANK_OK || run->rank[rank].state == TI_RANK_CUT;
}

/* Which ranks are missing, or here and incomplete (`gathered`): an object for all of one state and
 * reason, in the order of the first of each: {"ranks": [[0, 7], [9, 9]], "state": "missing",
 * "reason": "no file"}. */
json_t *ti_run_bad_ranks(const struct ti_run *run, bool gathered);

#endif
