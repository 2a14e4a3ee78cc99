#include "trace/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "common/sums.h"

static uint64_t field(const struct ti_event *ev, unsigned f)
{
    return ev->mask & 1u << f ? (uint64_t)ev->arg[f] : 0;
}

static uint64_t sum(const struct ti_vec *vec)
{
    uint64_t total = 0;

    for (int64_t i = 0; i < vec->len; i++)
        total += (uint64_t)ti_vec_at(vec, i);
    return total;
}

/* A product of sizes; UINT64_MAX if it is too large. */
static uint64_t product(uint64_t bytes, uint64_t times)
{
    uint64_t all = 0;

    ti_sum_add(&all, bytes, times);
    return all;
}

/* Add to a count of a scan. */
static void count(struct ti_scan *scan, uint64_t *sum_of, uint64_t value, uint64_t times)
{
    scan->overflow |= !ti_sum_add(sum_of, value, times) || *sum_of == UINT64_MAX;
}

enum ti_op_kind ti_op_kind(uint32_t op)
{
    if (ti_op_is(op, TI_T_PUTS) || ti_op_is(op, TI_T_GETS))
        return TI_OP_KIND_RMA;
    if (ti_op_is(op, TI_T_READS) || ti_op_is(op, TI_T_WRITES))
        return TI_OP_KIND_FILE;
    return TI_OP_KIND_OTHER;
}

/* Whether the partner is MPI_PROC_NULL, so that nothing is moved. */
static bool to_nobody(const struct ti_event *ev)
{
    return field(ev, TI_F_PEER) == (uint64_t)TI_NULL;
}

bool ti_rma_puts(const struct ti_event *ev, uint64_t *bytes)
{
    *bytes = field(ev, TI_F_BYTES);
    return ti_op_is(ev->op, TI_T_PUTS) && field(ev, TI_F_REDOP) != TI_REDOP_NO_OP && !to_nobody(ev);
}

bool ti_rma_gets(const struct ti_event *ev, uint64_t *bytes)
{
    /* operations with one side get as much as they give */
    *bytes = field(ev, ev->mask & TI_M_BYTES2 ? TI_F_BYTES2 : TI_F_BYTES);
    return ti_op_is(ev->op, TI_T_GETS) && !to_nobody(ev);
}

static void count_rma(struct ti_scan *scan, struct ti_op_count *op, const struct ti_event *ev)
{
    uint64_t bytes;

    if (ti_rma_gets(ev, &bytes))
        count(scan, &op->got, bytes, 1);
    if (ti_rma_puts(ev, &bytes))
        count(scan, &op->bytes, bytes, 1);
}

static void count_file(struct ti_scan *scan, struct ti_op_count *op, const struct ti_event *ev)
{
    uint64_t moved = field(ev, ev->mask & TI_M_BYTES2 ? TI_F_BYTES2 : TI_F_BYTES);

    count(scan, ti_op_is(ev->op, TI_T_READS) ? &op->got : &op->bytes, moved, 1);
}

/* ---- how many neighbours a rank sends to, for the calls that do not say ---- */

static uint64_t neighbours(const struct ti_scan *scan, uint64_t comm)
{
    return comm < scan->ndestinations ? scan->destinations[comm] : 0;
}

/* Learn the number of neighbours from the event that makes a communicator.  A duplicate has the
 * number of its parent.  False: no memory. */
static bool learn_neighbours(struct ti_scan *scan, const struct ti_reader *r,
                             const struct ti_event *ev)
{
    int64_t made = (int64_t)field(ev, TI_F_NEWCOMM);
    uint64_t n;

    if (ti_op_is(ev->op, TI_T_GRID))
        n = 2 * (uint64_t)ev->vec[0].len;
    else if (ti_op_is(ev->op, TI_T_SUBGRID))
        n = 2 * sum(&ev->vec[0]);
    else if (ti_op_is(ev->op, TI_T_GRAPH))
        n = (uint64_t)ev->vec[ti_op_last_vec(ev->op)].len;
    else if (ti_op_is(ev->op, TI_T_COPIES))
        n = neighbours(scan, field(ev, TI_F_COMM));
    else
        return true;
    if (n == 0 || made < 0 || !ti_reader_comm(r, made))
        return true;
    if (!TI_ROOM(scan->destinations, &scan->ndestinations, (size_t)made + 1))
        return false;
    scan->destinations[made] = n;
    return true;
}

/* ------------------------------------------------------ what is given ---- */

uint64_t ti_scan_collective(const struct ti_scan *scan, const struct ti_reader *r,
                            const struct ti_event *ev)
{
    const struct ti_comm *comm = ti_reader_comm(r, (int64_t)field(ev, TI_F_COMM));
    uint64_t bytes = field(ev, TI_F_BYTES);
    bool other_root = field(ev, TI_F_ROOT) == (uint64_t)TI_SELF;

    if (ti_op_is(ev->op, TI_T_FROM_ROOT | TI_T_COUNTS_GIVEN)) /* as much as one rank takes */
        return field(ev, TI_F_BYTES2);
    if (ti_op_is(ev->op, TI_T_FROM_ROOT))
        return bytes;
    if (ti_op_is(ev->op, TI_T_TO_ROOT))
        return other_root ? 0 : bytes;
    if (ti_op_is(ev->op, TI_T_COUNTS_GIVEN))
        return product(field(ev, TI_F_ESIZE), sum(&ev->vec[0]));
    if (!ti_op_is(ev->op, TI_T_BLOCKS))
        return bytes;
    if (ti_op_is(ev->op, TI_T_NEIGHBOURS))
        return product(bytes, neighbours(scan, field(ev, TI_F_COMM)));
    if (!comm)
        return bytes;
    /* the blocks of a reduction are for the own group */
    return product(bytes, (uint64_t)(comm->remote && !(ev->mask & TI_M_REDOP) ? comm->remote_size
                                                                              : comm->size));
}

const char *ti_negative_size(const struct ti_event *ev)
{
    static const struct {
        enum ti_field field;
        const char *text;
    } size[] = {{TI_F_BYTES, "bytes"},
                {TI_F_ESIZE, "esize"},
                {TI_F_BYTES2, "rbytes"},
                {TI_F_ESIZE2, "resize"}};

    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        if (ev->mask >> size[i].field & 1 && ev->arg[size[i].field] < 0)
            return size[i].text;
    return NULL;
}

/* Bytes that a call gives, or each start of the persistent request that it makes. */
static struct ti_start gives(const struct ti_scan *scan, const struct ti_reader *r,
                             const struct ti_event *ev)
{
    struct ti_start s = {.op = ev->op};

    if (ti_op_is(ev->op, TI_T_SENDS)) {
        s.messages = field(ev, TI_F_PEER) != (uint64_t)TI_NULL;
        s.bytes = s.messages ? field(ev, TI_F_BYTES) : 0;
    } else if (ti_op_collective(ev->op)) {
        s.bytes = ti_scan_collective(scan, r, ev);
    }
    return s;
}

static void add(struct ti_scan *scan, const struct ti_start *s)
{
    scan->messages += s->messages;
    count(scan, &scan->op[s->op].bytes, s->bytes, 1);
}

/* ------------------------------------------------- persistent requests ---- */

/* Larger request numbers are taken for damage. */
#define MOST_REQUESTS (INT64_C(1) << 20)

/* Remember what each start of a persistent request gives.  False: no memory. */
static bool remember(struct ti_scan *scan, const struct ti_reader *r, const struct ti_event *ev)
{
    int64_t number = (int64_t)field(ev, TI_F_REQ);

    if (number < 0 || number >= MOST_REQUESTS)
        return true;
    if (!TI_ROOM(scan->starts, &scan->nstarts, (size_t)number + 1))
        return false;
    scan->starts[number] = gives(scan, r, ev);
    return true;
}

static void start(struct ti_scan *scan, int64_t number)
{
    if (number >= 0 && (size_t)number < scan->nstarts)
        add(scan, &scan->starts[number]);
}

bool ti_call_count_add(struct ti_call_count **list, int *n, const char *name, uint64_t calls)
{
    struct ti_call_count *grown;

    for (int i = 0; i < *n; i++) {
        if (strcmp((*list)[i].name, name) == 0) {
            (*list)[i].calls += calls;
            return true;
        }
    }
    grown = realloc(*list, (size_t)(*n + 1) * sizeof *grown);
    if (!grown)
        return false;
    *list = grown;
    grown[*n] = (struct ti_call_count){strdup(name), calls};
    if (!grown[*n].name)
        return false;
    ++*n;
    return true;
}

void ti_scan_begin(struct ti_scan *scan)
{
    *scan = (struct ti_scan){.hash = TI_HASH_START, .end = TI_END_KILLED};
}

ti_status ti_scan_event(struct ti_scan *scan, const struct ti_reader *r, const struct ti_event *ev,
                        struct ti_err *err)
{
    struct ti_op_count *op = &scan->op[ev->op < TI_OP_COUNT ? ev->op : 0];
    const char *wrong = ti_negative_size(ev);
    struct ti_start given;
    bool enough = true;

    if (wrong)
        return ti_err_set(err, TI_ERR_INPUT,
                          "rank %u's trace is damaged: the field %s of event %" PRIu64
                          ", %s, is below zero",
                          ti_reader_rank(r), wrong, scan->events, ti_op_info(ev->op)->text);
    scan->events++;
    scan->overflow |= __builtin_add_overflow(scan->volume, ev->volume, &scan->volume);
    scan->hash = ti_hash_event(scan->hash, ev);
    op->events++;
    if (ti_op_is(ev->op, TI_T_PERSISTENT)) {
        enough = remember(scan, r, ev);
    } else if (ti_op_is(ev->op, TI_T_STARTS)) {
        if (ev->mask & TI_M_REQ)
            start(scan, ev->arg[TI_F_REQ]);
        for (int64_t i = 0; i < ev->vec[0].len; i++)
            start(scan, ti_vec_at(&ev->vec[0], i));
    } else if (ti_op_kind(ev->op) == TI_OP_KIND_RMA) {
        count_rma(scan, op, ev);
    } else if (ti_op_kind(ev->op) == TI_OP_KIND_FILE) {
        count_file(scan, op, ev);
    } else if (ev->op == TI_OP_UNTRACED) {
        const char *name = ti_reader_string(r, TI_STRING_CALL, field(ev, TI_F_CALL));

        enough = ti_call_count_add(&scan->untraced, &scan->nuntraced, name ? name : "?", 1);
    } else if (ti_op_is(ev->op, TI_T_SENDS) || ti_op_collective(ev->op)) {
        given = gives(scan, r, ev);
        add(scan, &given);
    } else {
        enough = learn_neighbours(scan, r, ev);
    }
    if (!enough) {
        errno = ENOMEM;
        return ti_err_errno(err, TI_ERR_IO, "cannot count calls");
    }
    return TI_OK;
}

bool ti_scan_remember(const struct ti_scan *scan, struct ti_scan *mark)
{
    struct ti_call_count *untraced = calloc((size_t)scan->nuntraced + 1, sizeof *untraced);
    struct ti_start *starts = malloc((scan->nstarts + 1) * sizeof *starts);
    uint64_t *destinations = malloc((scan->ndestinations + 1) * sizeof *destinations);

    ti_scan_mark_free(mark);
    if (!untraced || !starts || !destinations) {
        free(untraced);
        free(starts);
        free(destinations);
        return false;
    }
    for (int i = 0; i < scan->nuntraced; i++)
        untraced[i].calls = scan->untraced[i].calls;
    if (scan->nstarts)
        memcpy(starts, scan->starts, scan->nstarts * sizeof *starts);
    if (scan->ndestinations)
        memcpy(destinations, scan->destinations, scan->ndestinations * sizeof *destinations);
    *mark = *scan;
    mark->untraced = untraced;
    mark->starts = starts;
    mark->destinations = destinations;
    return true;
}

bool ti_scan_steady(const struct ti_scan *scan, const struct ti_scan *mark)
{
    if (scan->nstarts != mark->nstarts || scan->ndestinations != mark->ndestinations)
        return false;
    for (size_t i = 0; i < scan->nstarts; i++)
        if (scan->starts[i].op != mark->starts[i].op ||
            scan->starts[i].bytes != mark->starts[i].bytes ||
            scan->starts[i].messages != mark->starts[i].messages)
            return false;
    return !scan->ndestinations || memcmp(scan->destinations, mark->destinations,
                                          scan->ndestinations * sizeof *mark->destinations) == 0;
}

void ti_scan_repeat(struct ti_scan *scan, const struct ti_scan *mark, uint64_t times)
{
    scan->left_out = true;
    scan->events += times * (scan->events - mark->events);
    scan->messages += times * (scan->messages - mark->messages);
    for (int i = 0; i < TI_OP_COUNT; i++) {
        struct ti_op_count *op = &scan->op[i];

        op->events += times * (op->events - mark->op[i].events);
        count(scan, &op->bytes, op->bytes - mark->op[i].bytes, times);
        count(scan, &op->got, op->got - mark->op[i].got, times);
    }
    for (int i = 0; i < scan->nuntraced; i++)
        scan->untraced[i].calls +=
            times * (scan->untraced[i].calls - (i < mark->nuntraced ? mark->untraced[i].calls : 0));
}

void ti_scan_mark_free(struct ti_scan *mark)
{
    free(mark->untraced);
    free(mark->starts);
    free(mark->destinations);
    *mark = (struct ti_scan){.untraced = NULL};
}

void ti_burst_overhead_add(struct ti_burst_overhead *all, const struct ti_burst_overhead *more)
{
    if (!more->ranks)
        return;
    if (!all->ranks || more->least < all->least)
        all->least = more->least;
    if (more->most > all->most)
        all->most = more->most;
    if (more->spread > all->spread)
        all->spread = more->spread;
    all->ranks += more->ranks;
}

void ti_scan_free(struct ti_scan *scan)
{
    for (int i = 0; i < scan->nuntraced; i++)
        free(scan->untraced[i].name);
    free(scan->untraced);
    free(scan->starts);
    free(scan->destinations);
    scan->starts = NULL;
    scan->destinations = NULL;
    scan->nstarts = scan->ndestinations = 0;
    scan->untraced = NULL;
    scan->nuntraced = 0;
}

static const char *const end_words[] = {
    [TI_END_COMPLETE] = "complete",       [TI_END_ABORTED] = "aborted",
    [TI_END_NO_FINALIZE] = "no_finalize", [TI_END_STOPPED] = "stopped",
    [TI_END_KILLED] = "killed",
};
_Static_assert(sizeof end_words / sizeof *end_words == TI_END_COUNT, "a word for each end");

const char *ti_end_word(enum ti_end end)
{
    return (unsigned)end < TI_END_COUNT ? end_words[end] : "?";
}

enum ti_end ti_end_of_word(const char *word)
{
    for (int end = 0; word && end < TI_END_COUNT; end++)
        if (strcmp(ti_end_word((enum ti_end)end), word) == 0)
            return (enum ti_end)end;
    return TI_END_COUNT;
}

bool ti_info_yes(const char *value)
{
    return value && *value && strcmp(value, "0") != 0 && strcmp(value, "no") != 0 &&
           strcmp(value, "false") != 0;
}

bool ti_info_estimate(const struct ti_reader *r)
{
    return ti_info_yes(ti_reader_info(r, "estimate"));
}
