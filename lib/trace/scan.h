/*
 * Summary of one rank's trace: counts per operation, volume, hash.  The trace is checked while it
 * is read.
 */
#ifndef TI_TRACE_SCAN_H
#define TI_TRACE_SCAN_H

#include "trace/caveats.h"
#include "trace/reader.h"

/* clang-format off */
/*
 * Totals of one operation.  `bytes` is what the rank gives:
 *   sends         the message; nothing to MPI_PROC_NULL
 *   collectives   the rank's share, summed over its partners (null neighbours count); where only
 *                 the root gives (bcast, scatter, scatterv), its share for one rank
 *   one-sided     what is put into the window (the origin's side)
 *   files         what is written
 * All other operations have 0.  `got` is what a one-sided operation brings back (the target's
 * side), or what is read from a file.  Split and non-blocking calls on files count what they ask
 * for, the others what was moved.  Each start of a persistent request counts with the operation
 * that made the request.
 */
/* clang-format on */
struct ti_op_count {
    uint64_t events, bytes, got;
};

/* Which operations are one-sided transfers or file accesses. */
enum ti_op_kind { TI_OP_KIND_OTHER, TI_OP_KIND_RMA, TI_OP_KIND_FILE };
enum ti_op_kind ti_op_kind(uint32_t op);

/* Whether a one-sided operation sends bytes to its target, and whether it brings bytes back; *bytes
 * is the number.  An atomic operation may do both. */
bool ti_rma_puts(const struct ti_event *ev, uint64_t *bytes);
bool ti_rma_gets(const struct ti_event *ev, uint64_t *bytes);

/* The name of the first size in an event that is below zero; NULL if there is none.  Such an event
 * is damaged: old versions of the library wrote negative sizes where a product overflowed. */
const char *ti_negative_size(const struct ti_event *ev);

/* Messages and bytes that each start of a persistent request gives; they count with `op`. */
struct ti_start {
    uint32_t op, messages;
    uint64_t bytes;
};

/* Number of calls of an MPI function that is not traced. */
struct ti_call_count {
    char *name;
    uint64_t calls;
};

/* The measuring overhead that the library subtracted from each burst: the smallest and largest
 * value of the ranks, and the largest spread of a rank's samples.  `ranks` 0: not known. */
struct ti_burst_overhead {
    int64_t ranks;
    uint64_t least, most, spread;
};

struct ti_scan {
    uint64_t events, volume, hash;
    bool left_out;     /* some events were: `hash` is what the trace says it is */
    bool no_hash;      /* and it does not say, since it was cut off: `hash` is 0 */
    bool overflow;     /* a sum is above 2^64 - 1 */
    uint64_t negative; /* bursts that were shorter than the overhead */
    struct ti_burst_overhead calibration;
    struct ti_caveats caveats;
    /* volume from the end of MPI_Init to the entry of MPI_Finalize, and the part of it outside MPI
     */
    uint64_t whole, outside;
    bool whole_known, outside_known;
    /* in the same time, of code compiled with ti-mpicc: instructions that were counted, and that
     * were executed for counting; 0: none */
    uint64_t blocks, blocks_own;
    struct ti_op_count op[TI_OP_COUNT];
    uint64_t messages; /* sends that were not to MPI_PROC_NULL */
    enum ti_end end;
    struct ti_call_count *untraced; /* in the order they were met */
    int nuntraced;

    struct ti_start *starts; /* by number of the request */
    size_t nstarts;
    uint64_t *destinations; /* by index of the communicator: neighbours to send to */
    size_t ndestinations;
};

/*
 * Read `r` to its end.  Trips of loops that are alike are read once (trace/alike.h). TI_OK
 * also for a trace that was cut off, see `end`.  TI_ERR_INPUT if the trace is damaged, or a sum is
 * above 2^64 - 1: *scan then covers the events before the damage.  TI_ERR_IO.  Call ti_scan_free()
 * in any case.
 *
 * _until: `stop` is called now and then; once it returns true, the result is TI_OK, but *scan
 * covers only what was read so far.
 */
ti_status ti_scan_read(struct ti_reader *r, struct ti_scan *scan, struct ti_err *err);
ti_status ti_scan_read_until(struct ti_reader *r, struct ti_scan *scan, bool (*stop)(void *arg),
                             void *arg, struct ti_err *err);
void ti_scan_free(struct ti_scan *scan);

/* The same in steps, for a caller that reads the events itself: begin, each event, and end once
 * ti_reader_next() returned 0. */
void ti_scan_begin(struct ti_scan *scan);
ti_status ti_scan_event(struct ti_scan *scan, const struct ti_reader *r, const struct ti_event *ev,
                        struct ti_err *err);
ti_status ti_scan_end(struct ti_scan *scan, const struct ti_reader *r, struct ti_err *err);

/* Remember a scan in *mark, which is zeroed or a mark.  False when memory is short: *mark may be
 * released still.  _steady: whether the same events would be counted in the same way as then.
 * _repeat: add `times` times what was counted since then.  The volume of events that are left out
 * is added by ti_scan_end(). */
bool ti_scan_remember(const struct ti_scan *scan, struct ti_scan *mark);
bool ti_scan_steady(const struct ti_scan *scan, const struct ti_scan *mark);
void ti_scan_repeat(struct ti_scan *scan, const struct ti_scan *mark, uint64_t times);
void ti_scan_mark_free(struct ti_scan *mark);

/* Bytes that the rank gives in the collective `ev`, or in each start of a persistent one.  The
 * event that made its communicator must have gone through ti_scan_event(). */
uint64_t ti_scan_collective(const struct ti_scan *scan, const struct ti_reader *r,
                            const struct ti_event *ev);

/* Add `calls` of `name` to a list of *n entries.  The caller frees the names and the list.  False
 * when memory is short. */
bool ti_call_count_add(struct ti_call_count **list, int *n, const char *name, uint64_t calls);

/* The word for an end that the manifest has ("complete", "killed"), and back; TI_END_COUNT for an
 * unknown word. */
const char *ti_end_word(enum ti_end end);
enum ti_end ti_end_of_word(const char *word);

/* Combine `more` into *all. */
void ti_burst_overhead_add(struct ti_burst_overhead *all, const struct ti_burst_overhead *more);

/* Whether a metadata value means yes: anything except NULL, "0", "no" and "false". */
bool ti_info_yes(const char *value);

/* Whether the trace's volumes are an estimate: a time, not a count. */
bool ti_info_estimate(const struct ti_reader *r);

#endif
