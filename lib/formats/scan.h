/*
 * What one reading of a rank's trace tells: counts per operation, volume, hash;
 * the trace is checked on the way.
 */
#ifndef TI_SCAN_H
#define TI_SCAN_H

#include "formats/caveats.h"
#include "formats/reader.h"

/*
 * Bytes of an operation are what the rank hands over: the message of a send (none
 * to MPI_PROC_NULL); in a collective the rank's own share to everybody (a null
 * neighbour counts like others), and where only the root gives (bcast, scatter,
 * scatterv) what it hands to one rank; what it puts into a window (the origin) or
 * writes to a file.  Receives, waits and the rest have none.  What a persistent
 * request hands over counts with the operation that made it, each time it is
 * started.  `got` is what a one-sided operation brings back (the target's side) or
 * the rank reads from a file.  Of a file, split and non-blocking calls count with
 * what they ask for, the others with what was moved.
 */
struct ti_op_count {
    uint64_t events, bytes, got;
};

/* One-sided transfers and accesses to files. */
enum ti_op_kind { TI_OP_KIND_OTHER, TI_OP_KIND_RMA, TI_OP_KIND_FILE };
enum ti_op_kind ti_op_kind(uint32_t op);

/* Whether a one-sided operation hands bytes to its target, or brings some back from there,
 * and how many; an atomic operation may do both. */
bool ti_rma_puts(const struct ti_event *ev, uint64_t *bytes);
bool ti_rma_gets(const struct ti_event *ev, uint64_t *bytes);

/* What each start of a persistent request hands over, counted with `op`. */
struct ti_start {
    uint32_t op, messages;
    uint64_t bytes;
};

/* How often a call that is not traced was met. */
struct ti_call_count {
    char *name;
    uint64_t calls;
};

/* What was subtracted from bursts: least and most of the ranks, and the largest spread
 * of a rank's samples.  With `ranks` 0, none said. */
struct ti_burst_overhead {
    int64_t ranks;
    uint64_t least, most, spread;
};

struct ti_scan {
    uint64_t events, volume, hash;
    uint64_t negative; /* bursts shorter than what was to be subtracted */
    struct ti_burst_overhead calibration;
    struct ti_caveats caveats;
    /* from the end of MPI_Init to the entry of MPI_Finalize, as counted, and what of
     * it was outside MPI; as far as the trace tells */
    uint64_t whole, outside;
    bool whole_known, outside_known;
    /* meanwhile, by code compiled with ti-mpicc: counted, and executed to count; 0: none */
    uint64_t blocks, blocks_own;
    struct ti_op_count op[TI_OP_COUNT];
    uint64_t messages; /* sends that were not to MPI_PROC_NULL */
    enum ti_end end;
    struct ti_call_count *untraced; /* in the order they were met */
    int nuntraced;

    struct ti_start *starts; /* by number of the request */
    int64_t nstarts;
    uint64_t *destinations; /* by index of the communicator: neighbours to send to */
    int64_t ndestinations;
};

/*
 * Read `r` to its end.  Returns TI_OK, also for a trace that was cut off (see
 * `end`); TI_ERR_INPUT for one that is damaged: *scan then covers what was
 * sound.  Call ti_scan_free() in any case.
 */
ti_status ti_scan_read(struct ti_reader *r, struct ti_scan *scan, struct ti_err *err);
void ti_scan_free(struct ti_scan *scan);

/* The same in steps, for who reads the events anyway: begin, each event, and
 * once ti_reader_next() gave 0, the end. */
void ti_scan_begin(struct ti_scan *scan);
ti_status ti_scan_event(struct ti_scan *scan, const struct ti_reader *r, const struct ti_event *ev,
                        struct ti_err *err);
ti_status ti_scan_end(struct ti_scan *scan, const struct ti_reader *r, struct ti_err *err);

/* Bytes that the rank hands over in the collective call `ev`; of a persistent one, in each start.
 * The making of its communicator has gone through ti_scan_event(). */
uint64_t ti_scan_collective(const struct ti_scan *scan, const struct ti_reader *r,
                            const struct ti_event *ev);

/* Add `calls` of `name` to a list that ti_scan_free(), or free() of names and
 * list, releases; false when memory is short. */
bool ti_call_count_add(struct ti_call_count **list, int *n, const char *name, uint64_t calls);

/* One word for an end, as it is in the manifest ("complete", "killed"), and
 * back; TI_END_COUNT for what is none. */
const char *ti_end_word(enum ti_end end);
enum ti_end ti_end_of_word(const char *word);

/* Add what `more` says to *all. */
void ti_burst_overhead_add(struct ti_burst_overhead *all, const struct ti_burst_overhead *more);

/* Whether a metadata value says yes: anything but "0", "no", "false" and none. */
bool ti_info_yes(const char *value);

/* Whether the trace's volumes are an estimate: a time, not a count. */
bool ti_info_estimate(const struct ti_reader *r);

#endif
