/*
 * libtiara: read time-independent MPI traces.
 *
 * A trace has, for each rank of an MPI program, its MPI calls with their parameters, and the volume
 * of each compute burst between two calls (such as instructions).  It has no times.  The library
 * opens what ti-acquire, ti-gather and ti-info write, gives metadata, events and loops, sums over
 * all ranks, and verifies.  Compile with `pkg-config --cflags --libs tiara`.
 *
 *   struct tiara_error err;
 *   struct tiara_trace *t;
 *   struct tiara_rank *r;
 *   const struct tiara_event *ev;
 *
 *   if (tiara_open("lu.tib", &t, &err) || tiara_rank_open(t, 0, 0, &r, &err))
 *       return fprintf(stderr, "%s\n", err.text);
 *   while (tiara_next(r, &ev, &err) > 0)
 *       printf("%llu %s\n", (unsigned long long)ev->volume, tiara_op_name(ev->op));
 *   tiara_rank_close(r);
 *   tiara_close(t);
 *
 * Errors.  Functions that can fail return an enum tiara_status, TIARA_OK being 0, and fill *err,
 * which may be NULL.  The library prints nothing and does not end the program, also when memory is
 * short: that is TIARA_IO.  Nothing in a file is trusted: a damaged one gives TIARA_INPUT and a
 * sentence that names file, place and cause.
 *
 * Ownership.  What an open or read function returns through a pointer is released by the function
 * named with it, which accepts NULL.  Close ranks, shapes and groups before their trace.  Strings
 * and arrays that are returned belong to the object; they are valid until it is closed, unless
 * said otherwise.  Text is what the trace has: it may have any character but NUL.
 *
 * Threads.  Different traces may be used by different threads at the same time.  A trace, with all
 * that was opened of it, is for one thread at a time; open it once for each thread.
 *
 * Memory.  A rank that is open takes the tables of its trace and one chunk, some 100 KB as a rule,
 * whatever the length of the trace.
 *
 * ABI.  libtiara.so.1 keeps all functions, structs and numbers of this header: they get no other
 * meaning and no new members.  New functions get a new version of symbols (TIARA_1.1, ...).  Only
 * the numbers of operations are those of the library that is loaded: ask tiara_op_find().
 */
#ifndef TI_API_TIARA_H
#define TI_API_TIARA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- errors -------------------------------------------------------------- */

enum tiara_status {
    TIARA_OK = 0,
    TIARA_PARTIAL = 1, /* something is missing: a trace was cut off, or is of some ranks only */
    TIARA_USAGE = 2,   /* an argument makes no sense */
    TIARA_INPUT = 3,   /* an input is malformed, or cannot be used */
    TIARA_IO = 4       /* a file cannot be read, or memory is short */
};

struct tiara_error {
    enum tiara_status status;
    char text[1024]; /* a sentence: what failed, and why */
    char hint[512];  /* what to do about it, or "" */
};

/* The version of the library, such as "1.2.0". */
const char *tiara_version(void);

/* --- operations and fields ----------------------------------------------- */

/*
 * Fields of an event.  Which ones an event has depends on its operation; tiara-trace(5) lists all.
 *
 * A peer is relative: the partner's rank minus ours, in the communicator of the event.
 * tiara_rank_world() gives its rank in MPI_COMM_WORLD.
 */
enum tiara_field {
    TIARA_COMM,    /* communicator: 0 world, 1 self, then in the order in which this rank met them */
    TIARA_PEER,    /* partner of a send, or of a lone receive: TIARA_ANY, TIARA_NULL, or relative */
    TIARA_TAG,     /* its tag, or TIARA_ANY */
    TIARA_BYTES,   /* packed bytes: of the message; of one rank's share in a collective */
    TIARA_ESIZE,   /* packed bytes of one element of it */
    TIARA_RPEER,   /* source of the receive half of a send-receive */
    TIARA_RTAG,    /* its tag, or TIARA_ANY */
    TIARA_RBYTES,  /* packed bytes of the receive side, where there are two */
    TIARA_RESIZE,  /* packed bytes of one element of it */
    TIARA_FROM,    /* source that matched a wildcard, relative; TIARA_NULL: it was cancelled */
    TIARA_FROMTAG, /* tag that matched a wildcard */
    TIARA_ROOT,    /* root's rank in the communicator, TIARA_NULL or TIARA_SELF */
    TIARA_REDOP,   /* reduction operation: tiara_redop_name() */
    TIARA_REQ,     /* request: lowest number no live request had when it was made */
    TIARA_ALL,     /* 1: the call completed every active request of the rank */
    TIARA_COLOR,   /* colour of a split, or TIARA_NULL */
    TIARA_KEY,     /* key of a split */
    TIARA_NEWCOMM, /* communicator made, or TIARA_NULL */
    TIARA_LEVEL,   /* argument of MPI_Pcontrol, thread level of MPI_Init_thread, or error code */
    TIARA_CALL,    /* number of the name of a call that is not traced: tiara_rank_name() */
    TIARA_REORDER, /* whether a topology was allowed to reorder the ranks */
    TIARA_MSG,     /* matched message: lowest number no live one had when it was probed */
    TIARA_PEERCOMM, /* communicator of the leaders of an intercommunicator */
    TIARA_WIN,      /* window: its number, in the order in which this rank met them */
    TIARA_FILE,     /* file handle: the same */
    TIARA_OFFSET,   /* explicit offset in elementary types; displacement of a view in bytes */
    TIARA_MODE,     /* assertions, lock type, access mode or whence, as bits */
    TIARA_NAME,     /* number of the name of a file: tiara_rank_name() */
    TIARA_PART      /* partitions of a partitioned message; the first one made ready */
};

/* Special values of fields. */
#define TIARA_ANY  INT64_MIN       /* MPI_ANY_SOURCE, MPI_ANY_TAG */
#define TIARA_NULL (INT64_MIN + 1) /* MPI_PROC_NULL, MPI_UNDEFINED, MPI_COMM_NULL */
#define TIARA_SELF (INT64_MIN + 2) /* MPI_ROOT: this rank is the root, in the other group */
#define TIARA_NONE (INT64_MIN + 3) /* tiara_read(): the event lacks the field */

/* Number of operations and fields that this library knows, and their names, as `ti-info --dump`
 * prints them ("isend", "peer"); NULL if the number is none.  A later library may know more. */
int tiara_ops(void);
int tiara_fields(void);
const char *tiara_op_name(uint32_t op);
const char *tiara_field_name(int field);
const char *tiara_redop_name(int64_t redop);

/* The number of an operation by its name; -1: there is none. */
int tiara_op_find(const char *name);

/* Whether an operation is a collective, sends a message to its peer, receives one. */
bool tiara_op_is_collective(uint32_t op);
bool tiara_op_sends(uint32_t op);
bool tiara_op_receives(uint32_t op);

/* --- traces -------------------------------------------------------------- */

struct tiara_trace;

/* Open a bundle (.tib), a run directory, a merged trace, or the trace of one rank. */
enum tiara_status tiara_open(const char *path, struct tiara_trace **out, struct tiara_error *err);
void tiara_close(struct tiara_trace *t);

const char *tiara_path(const struct tiara_trace *t);

/* "bundle", "run directory", "merged trace" or "rank file". */
const char *tiara_kind(const struct tiara_trace *t);

/* Ranks of the run; of these, those whose traces are here; and whether one rank's is. */
int64_t tiara_ranks(const struct tiara_trace *t);
int64_t tiara_ranks_here(const struct tiara_trace *t);
bool tiara_has(const struct tiara_trace *t, int64_t rank);

/* Stored bytes of all traces, compressed as they are. */
int64_t tiara_stored_bytes(const struct tiara_trace *t);

/* The id of the run, 32 hexadecimal digits, which all traces of a run share; "" if no trace has one
 * that can be read. */
const char *tiara_run_id(const struct tiara_trace *t);

/* The text of MANIFEST.json of a bundle, or of RUN.json of a run directory: who ran what, where,
 * when, and how.  tiara-bundle(5) lists the keys.  *json is NULL if there is none. */
enum tiara_status tiara_manifest(struct tiara_trace *t, const char **json, struct tiara_error *err);

/* Ranks that are opened from now on draw values of which the trace has statistics only by this
 * seed.  It is 0 at first. */
void tiara_seed(struct tiara_trace *t, uint64_t seed);

/* From now on look for debug information, for the source lines of call sites: first in `folders`,
 * separated by ':' (or NULL), then where the program was, and where debuggers look. */
enum tiara_status tiara_find_sources(struct tiara_trace *t, const char *folders,
                                     struct tiara_error *err);

/* --- the events of a rank ------------------------------------------------ */

struct tiara_rank;

#define TIARA_EXTRAS 1u /* flag of tiara_rank_open(): read extra columns, too */

/* Open the trace of a rank; it begins with its first event.  TIARA_INPUT: it is not here. */
enum tiara_status tiara_rank_open(struct tiara_trace *t, int64_t rank, unsigned flags,
                                  struct tiara_rank **out, struct tiara_error *err);
void tiara_rank_close(struct tiara_rank *r);

/* A list of integers of `width` 4 or 8 bytes each, such as the counts of MPI_Alltoallv. */
struct tiara_vector {
    const void *data;
    int width;
    int64_t length;
};
int64_t tiara_vector_at(const struct tiara_vector *v, int64_t i);

#define TIARA_FIELDS_ROOM 64

struct tiara_event {
    uint64_t volume; /* of the burst before the call, in the unit of the counter */
    uint32_t op;     /* tiara_op_name() */
    uint32_t site;   /* number of the call site: tiara_rank_site(); 0: not known */
    uint64_t fields; /* bit f: it has field f */
    int64_t value[TIARA_FIELDS_ROOM]; /* by enum tiara_field; only those that it has are set */
    struct tiara_vector vector[2];    /* length 0: none */
    const uint64_t *extra; /* values of the extra columns; NULL without TIARA_EXTRAS, and where the
                            * trace has none for the event */
};

/* The next event: 1, and *ev is valid until the next call for this rank; 0 at the end, see
 * tiara_rank_end(); -1 on damage, and the events so far are sound. */
int tiara_next(struct tiara_rank *r, const struct tiara_event **ev, struct tiara_error *err);

/* Go to event `number`, from 0, which tiara_next() then gives: 1; 0 if there are no so many; -1 on
 * damage.  Of a trace that is stored folded, events before it are not read. */
int tiara_seek(struct tiara_rank *r, uint64_t number, struct tiara_error *err);

/*
 * Read events into an array of records, such as a structured array of NumPy.
 *
 * Each member of a record is one int64_t, `offset` bytes after its start.  `what` is
 * TIARA_READ_OP, TIARA_READ_SITE, TIARA_READ_VOLUME (as uint64_t), TIARA_READ_FIELD + f, or
 * TIARA_READ_WORLD + f: the world rank of a peer, where that is one.  TIARA_NONE where the event
 * lacks it.  TIARA_READ_EXTRA + i is extra column i, as uint64_t, 0 where there is none.
 */
enum {
    TIARA_READ_OP = 0,
    TIARA_READ_SITE = 1,
    TIARA_READ_VOLUME = 2,
    TIARA_READ_FIELD = 1000,
    TIARA_READ_WORLD = 2000,
    TIARA_READ_EXTRA = 3000
};
struct tiara_member {
    int what;
    size_t offset;
};

/* Fill up to `n` records of `stride` bytes at `records`.  Returns how many were filled, less than
 * `n` at the end only; -1 on damage, or if a member makes no sense. */
int64_t tiara_read(struct tiara_rank *r, const struct tiara_member *member, int members,
                   void *records, size_t stride, int64_t n, struct tiara_error *err);

/* The text of the last event that tiara_next() gave, as `ti-info --dump` prints it; valid until the
 * next call for this rank.  NULL: there is none, or no memory. */
const char *tiara_event_text(struct tiara_rank *r);

/* The world rank of a peer of the last event that was read (TIARA_PEER, TIARA_RPEER, TIARA_FROM), or
 * one of the special values, or TIARA_NONE: it has none. */
int64_t tiara_rank_world(const struct tiara_rank *r, int field);

/* How a trace ended. */
enum tiara_end {
    TIARA_END_UNKNOWN,   /* it has not been read to its end yet */
    TIARA_END_COMPLETE,  /* by MPI_Finalize */
    TIARA_END_INCOMPLETE /* otherwise, or it is damaged: see the text */
};
enum tiara_end tiara_rank_end(const struct tiara_rank *r);

/* The same in words, with the reason if the recorder knew one; "" if that is not known yet. */
const char *tiara_rank_end_text(struct tiara_rank *r);

/* Sums over the whole trace: read to its end without decoding events.  The rank is at its end
 * then.  *complete as TIARA_END_COMPLETE. */
enum tiara_status tiara_rank_totals(struct tiara_rank *r, uint64_t *events, uint64_t *volume,
                                    bool *complete, struct tiara_error *err);

int64_t tiara_rank_number(const struct tiara_rank *r);

/* Metadata of the rank: the value of a key of tiara-trace(5), NULL if it has none; and pair `i` from
 * 0 on, false past the last.  Some are at the end of a trace, and are there once it was read. */
const char *tiara_rank_info(const struct tiara_rank *r, const char *key);
bool tiara_rank_info_at(const struct tiara_rank *r, int i, const char **key, const char **value);

/* Extra columns, such as durations: how many, and the name and unit of one; NULL if there is none
 * of that number. */
int tiara_rank_extras(const struct tiara_rank *r);
const char *tiara_rank_extra_name(const struct tiara_rank *r, int i);
const char *tiara_rank_extra_unit(const struct tiara_rank *r, int i);

/* A call site by its number, as the trace has it: "lu+0x1f30 [BUILD-ID]"; NULL: not known (yet). */
const char *tiara_rank_site(const struct tiara_rank *r, uint32_t site);

/* The same for people: "exchange lu.c:120" if tiara_find_sources() was called and it is known, else
 * "lu+0x1f30"; valid until the next call for this rank; "" for a site that is not known. */
const char *tiara_rank_source(struct tiara_rank *r, uint32_t site);

/* The name of value `number` of the fields TIARA_CALL or TIARA_NAME; NULL: there is none (yet). */
const char *tiara_rank_name(const struct tiara_rank *r, int field, int64_t number);

/* A communicator by its number, among those met so far; false if there is none. */
struct tiara_comm {
    int64_t rank;          /* our rank in it */
    int64_t size;          /* ranks */
    const int32_t *member; /* their world ranks */
    int64_t remote_size;   /* of the other group of an intercommunicator; 0: it is none */
    const int32_t *remote;
};
bool tiara_rank_comm(const struct tiara_rank *r, int64_t number, struct tiara_comm *out);

/* --- the loops of a rank ------------------------------------------------- */

/*
 * The shape of a rank: its loops and calls, without expanding them.  Nodes are numbered in preorder
 * from 0; a node is a loop or a call.  The body of loop `i` begins with node i + 1, and ends before
 * node `end`.  The cost depends on the size of the trace as it is stored, not on its events.
 */
struct tiara_shape;

/* Open it; a rank that is not stored folded is read and folded first. */
enum tiara_status tiara_shape_open(struct tiara_trace *t, int64_t rank, struct tiara_shape **out,
                                   struct tiara_error *err);
void tiara_shape_close(struct tiara_shape *s);

/* Statistics of a list of integers.  `sum` is modulo 2^64. */
struct tiara_stats {
    uint64_t n, sum;
    int64_t least, most; /* 0 if n is 0 */
};

struct tiara_node {
    uint32_t end;    /* the node after it, and after its body */
    bool is_loop;
    uint32_t op;     /* of a call */
    uint32_t site;   /* of a call: tiara_shape_source() */
    uint64_t fields; /* of a call: bit f, it has field f */
    uint64_t passes; /* how often the program passed it */
    struct tiara_stats values; /* of a loop its trips, one for each pass; of a call its volumes */
};

uint32_t tiara_shape_nodes(const struct tiara_shape *s);
enum tiara_status tiara_shape_node(struct tiara_shape *s, uint32_t i, struct tiara_node *out,
                                   struct tiara_error *err);

/* Statistics of a field over all passes of call `i`, which must have it. */
enum tiara_status tiara_shape_field(struct tiara_shape *s, uint32_t i, int field,
                                    struct tiara_stats *out, struct tiara_error *err);

/* The name of loop `i`, as ti-info --phases and --trips have it: "norm lu.c:291^"; the call site of
 * a call for people, as tiara_rank_source().  Valid until the next call for this shape.  NULL: no
 * memory. */
const char *tiara_shape_name(struct tiara_shape *s, uint32_t i);

/* Each different volume of call `i` with how often it occurs, in any order.  `take` returns false to
 * end this.  Neighbours of more than 2^20 different values are taken together at their mean. */
enum tiara_status tiara_shape_volumes(struct tiara_shape *s, uint32_t i,
                                      bool (*take)(void *arg, uint64_t volume, uint64_t times),
                                      void *arg, struct tiara_error *err);

/* --- groups of ranks, and their numbers as functions of the rank ---------- */

/*
 * In a merged trace, ranks with the same calls in the same loops form a group.  A part is one number
 * of all of them, such as the bytes of a send or the first trip count of a loop, or one list; its
 * formula is how it depends on the rank.
 */
struct tiara_group;

/* Number of groups, in the order of their lowest ranks; 0 if each rank has a file of its own. */
uint32_t tiara_groups(const struct tiara_trace *t);

enum tiara_status tiara_group_open(struct tiara_trace *t, uint32_t group, struct tiara_group **out,
                                   struct tiara_error *err);
void tiara_group_close(struct tiara_group *g);

/* A run of consecutive ranks. */
struct tiara_range {
    int64_t first, last;
};

/* The members, in ascending order: *n ranges. */
const struct tiara_range *tiara_group_ranges(const struct tiara_group *g, size_t *n);
int64_t tiara_group_size(const struct tiara_group *g);

struct tiara_part {
    const char *kind; /* "field", "trip counts", "volumes", ...: see tiara-trace(5) */
    uint32_t of;      /* node, symbol, communicator, string or pair of metadata, by kind */
    uint32_t arrival; /* of volumes: which of the ways to reach the call */
    int which;        /* a field, a vector or an extra column, by kind */
    bool is_list;     /* a list: its formula tells which ranks have the same one */
    char formula[96]; /* in words: "7 + 2 * rank" */
};

size_t tiara_group_parts(const struct tiara_group *g);
bool tiara_group_part(const struct tiara_group *g, size_t i, struct tiara_part *out);

/* The values of `n` parts from `first` on of all members: that of part k and the i-th member goes to
 * value[(k - first) * size + i].  Of lists, equal values are equal lists; -1: one that no other rank
 * has. */
enum tiara_status tiara_group_values(struct tiara_group *g, size_t first, size_t n, int64_t *value,
                                     struct tiara_error *err);

/* --- sums over all ranks -------------------------------------------------- */

/*
 * The ranks that a sum is of.  Ranks that are missing, cut off or damaged are no error: what can be
 * read of them is summed up, and this says so.
 */
struct tiara_coverage {
    int64_t ranks;      /* of the run */
    int64_t read;       /* whole, or in part */
    int64_t missing;    /* not here */
    int64_t incomplete; /* cut off */
    int64_t damaged;
    uint64_t unsound;   /* events that make no sense, so that traffic may be missing */
    char why[1024];     /* the first that is not whole, and why; "": all are */
};

/* Messages and one-sided transfers by pairs of ranks, pairs that have none left out. */
struct tiara_traffic {
    size_t n;                    /* pairs */
    const int64_t *from, *to;    /* world ranks */
    const uint64_t *messages, *bytes;
    const uint64_t *one_sided, *one_sided_bytes;
    struct tiara_coverage of;
};
enum tiara_status tiara_traffic(struct tiara_trace *t, struct tiara_traffic **out,
                                struct tiara_error *err);
void tiara_traffic_free(struct tiara_traffic *traffic);

/* Histograms in powers of two.  Class 0 has the values 0; class n > 0 those from 2^(n - 1) on. */
#define TIARA_CLASSES 65
struct tiara_classes {
    uint64_t n, sum; /* of all */
    uint64_t count[TIARA_CLASSES], class_sum[TIARA_CLASSES];
};
struct tiara_histogram {
    struct tiara_classes messages;    /* bytes */
    struct tiara_classes one_sided;   /* bytes */
    struct tiara_classes collectives; /* bytes of a rank's share in a call */
    struct tiara_classes bursts;      /* volumes */
    char unit[64];                    /* of volumes */
    struct tiara_coverage of;
};
enum tiara_status tiara_histogram(struct tiara_trace *t, struct tiara_histogram *out,
                                  struct tiara_error *err);

/*
 * The loops and calls of all ranks.  Ranks with equal loops and calls are one shape, whose numbers
 * are of all of them.
 */
struct tiara_phases;
enum tiara_status tiara_phases(struct tiara_trace *t, struct tiara_phases **out,
                               struct tiara_error *err);
void tiara_phases_free(struct tiara_phases *p);

const struct tiara_coverage *tiara_phases_coverage(const struct tiara_phases *p);
size_t tiara_phases_shapes(const struct tiara_phases *p);

/* The ranks of a shape, in ascending order, and the number of its nodes. */
const struct tiara_range *tiara_phases_ranges(const struct tiara_phases *p, size_t shape, size_t *n);
uint32_t tiara_phases_nodes(const struct tiara_phases *p, size_t shape);

/* A node of a shape.  For a loop, events, bytes and volumes are those of its body. */
struct tiara_phase {
    uint32_t end; /* the node after it, and after its body */
    bool is_loop;
    uint32_t op;      /* of a call */
    const char *name; /* of a loop its name; of a call its call site for people, or "" */
    uint64_t events;
    uint64_t bytes;            /* of messages sent, without persistent ones */
    struct tiara_stats values; /* of a loop its trips, of a call its volumes: over all ranks */
    uint64_t volume;                  /* of all ranks, modulo 2^64 */
    uint64_t least, most;             /* volumes of single ranks */
    int64_t least_rank, most_rank;
};
bool tiara_phases_node(const struct tiara_phases *p, size_t shape, uint32_t i,
                       struct tiara_phase *out);

/*
 * Check that the trace is intact and sound: checksums of all of it; all that is sent is received,
 * all members make the same collective calls, requests are completed once, one-sided communication
 * is in epochs (`ti-info --verify` also compares the manifest with the ranks).
 */
struct tiara_problem {
    int64_t rank;
    int64_t event; /* from 0; -1: none in particular */
    const char *call, *why;
    uint64_t more; /* further problems with the same words */
};
struct tiara_verdict {
    uint64_t problems; /* all of them; 0: what could be read is sound, see `of` */
    size_t n;          /* those that are told */
    const struct tiara_problem *problem;
    uint64_t events, messages, bytes, collectives; /* that were checked, as far as both sides agree */
    struct tiara_coverage of;
};
enum tiara_status tiara_verify(struct tiara_trace *t, struct tiara_verdict **out,
                               struct tiara_error *err);
void tiara_verdict_free(struct tiara_verdict *v);

#ifdef __cplusplus
}
#endif
#endif
