#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/order.h"
#include "fold/seek.h"
#include "fold/shape.h"
#include "fold/trips.h"
#include "trace/reader_internal.h"

#define WINDOWS_MAX (1u << 20)

/* Let the file be the record's blobs, one after the other.  False: no memory. */
static bool join_blobs(struct ti_reader *r)
{
    const struct ti_record *record = r->source;
    struct trace_file *f = &r->file;
    size_t bytes = 0;

    for (size_t i = 0; i < record->nblobs; i++)
        bytes += record->blob[i].n;
    f->bytes = (int64_t)bytes;
    f->memory = record->blob[0].data;
    if (record->nblobs == 1)
        return true;
    f->memory = f->own_memory = malloc(bytes + 1);
    if (!f->memory)
        return false;
    for (size_t i = 0, at = 0; i < record->nblobs; at += record->blob[i++].n)
        memcpy(f->own_memory + at, record->blob[i].data, record->blob[i].n);
    return true;
}

/* Read a record that is a copy of a rank file. */
static ti_status start_copy(struct ti_reader *r, const struct trace_file *run, struct ti_err *err)
{
    ti_status st;

    if (!join_blobs(r))
        return ti__file_no_memory(&r->file, err);
    st = ti__reader_start(r, err);
    if (!st && (r->file.rank != run->rank || r->file.nranks != run->nranks ||
                memcmp(r->file.run_id, run->run_id, TI_RUN_ID_BYTES) != 0))
        return ti_err_set(err, TI_ERR_INPUT, "'%s' is damaged: it is of another rank or run",
                          r->file.name);
    return st;
}

/* The end of a buffer; NULL, which has no end, if it is empty. */
static const uint8_t *end_of(const struct ti_buffer *b)
{
    return b->n ? b->data + b->n : b->data;
}

/* Add what a folded trace says once to the tables; false if it is malformed. */
static bool add_tables(struct ti_reader *r, const struct ti_folded_tables *t)
{
    struct tables *to = &r->tables;

    return ti__tables_pairs(to, t->info.data, end_of(&t->info)) &&
           ti__tables_strings(to, t->strings.data, end_of(&t->strings)) &&
           ti__tables_comms(to, r->file.rank, r->file.nranks, t->comms.data, end_of(&t->comms));
}

static ti_status start_folded(struct ti_reader *r, struct ti_err *err)
{
    struct ti_folded_tables t;
    const char *wrong;

    errno = 0;
    wrong = ti_folded_open(r->source, r->file.nranks, &r->folded, &t);
    if (!wrong && (!add_tables(r, &t) || !ti__tables_extras(&r->tables)))
        wrong = "its record is malformed";
    if (!wrong && ti_folded_extras(r->folded) != (uint32_t)r->tables.nextras)
        wrong = "its record has other extra columns than its metadata";
    r->folded_end = t.totals;
    t.totals = (struct ti_buffer){.data = NULL};
    ti_folded_tables_free(&t);
    if (wrong && errno == ENOMEM)
        return ti__file_no_memory(&r->file, err);
    if (wrong)
        return ti_err_set(err, TI_ERR_INPUT, "'%s' is damaged: %s", r->file.name, wrong);
    return TI_OK;
}

static ti_status start_record(struct ti_reader *r, const struct trace_file *run, struct ti_err *err)
{
    if (ti_record_is_copy(r->source))
        return start_copy(r, run, err);
    r->file.rank = run->rank;
    r->file.nranks = run->nranks;
    memcpy(r->file.run_id, run->run_id, TI_RUN_ID_BYTES);
    return start_folded(r, err);
}

ti_status ti_reader_open_record(struct ti_record *record, uint32_t nranks, const uint8_t *run_id,
                                const char *name, struct ti_reader **out, struct ti_err *err)
{
    return ti_reader_open_record_sharing(record, nranks, run_id, name, NULL, out, err);
}

ti_status ti_reader_open_record_sharing(struct ti_record *record, uint32_t nranks,
                                        const uint8_t *run_id, const char *name,
                                        struct ti_rank_lists *lists, struct ti_reader **out,
                                        struct ti_err *err)
{
    struct trace_file run = {.rank = record->rank, .nranks = nranks};
    struct ti_reader *r;
    ti_status st = ti__reader_new(name, &r, err);

    if (st) {
        ti_record_free(record);
        return st;
    }
    r->record = *record;
    r->source = &r->record;
    r->tables.lists = lists;
    *record = (struct ti_record){.memory = NULL};
    memcpy(run.run_id, run_id, TI_RUN_ID_BYTES);
    st = start_record(r, &run, err);
    if (st)
        ti_reader_close(r);
    else
        *out = r;
    return st;
}

struct ti_folded *ti_reader_folded(const struct ti_reader *r)
{
    return r->folded;
}

/* A window: its number, and its communicator. */
struct window {
    int64_t number, comm;
};

TI_ORDER_BY(by_number, struct window, number)

/* Append the windows that a call makes to *list, of *n; false if its columns are malformed, or
 * memory is short. */
static bool add_windows(const struct ti_folded *f, uint32_t call, uint64_t passes,
                        struct window **list, size_t *n, size_t *cap)
{
    int64_t *number = malloc((2 * passes + 1) * sizeof *number);
    bool fine = number && TI_ROOM(*list, cap, *n + passes + 1) &&
                ti_shape_field_values(f, call, TI_F_WIN, passes, number) &&
                ti_shape_field_values(f, call, TI_F_COMM, passes, number + passes);

    for (uint64_t i = 0; fine && i < passes; i++)
        (*list)[(*n)++] = (struct window){number[i], number[passes + i]};
    free(number);
    return fine;
}

/* Tables know the windows of all events before the next one.  To be there anywhere, they must know
 * those of the whole trace.  Calls that make more than WINDOWS_MAX are left out. */
static bool know_windows(struct ti_reader *r)
{
    struct window *list = NULL;
    size_t n = 0, cap = 0;
    bool fine = true;

    for (uint32_t i = 0; fine && i < ti_shape_nodes(r->folded); i++) {
        struct ti_shape_node node = ti_shape_node(r->folded, i);

        if (!node.loop && (node.mask & (TI_M_WIN | TI_M_COMM)) == (TI_M_WIN | TI_M_COMM) &&
            node.passes + n <= WINDOWS_MAX)
            fine = add_windows(r->folded, i, node.passes, &list, &n, &cap);
    }
    if (n)
        qsort(list, n, sizeof *list, by_number);
    for (size_t i = 0; fine && i < n; i++) {
        struct ti_event ev;

        ev.arg[TI_F_WIN] = list[i].number;
        ev.arg[TI_F_COMM] = list[i].comm;
        fine = ti__tables_window(&r->tables, &ev);
    }
    free(list);
    return fine;
}

int ti_reader_seek(struct ti_reader *r, uint32_t columns, uint64_t value, struct ti_place *out,
                   struct ti_err *err)
{
    int found = -1;

    errno = 0;
    if (know_windows(r))
        found = columns ? ti_folded_seek_sum(r->folded, columns, value, out)
                        : ti_folded_seek_event(r->folded, value, out);
    if (found < 0 && errno == ENOMEM)
        ti__file_no_memory(&r->file, err);
    else if (found < 0)
        ti_err_set(err, TI_ERR_INPUT, "'%s' is damaged, or its values add up to more than 2^62",
                   r->file.name);
    if (found > 0) {
        r->events = out->event;
        r->file.at_end = false;
    }
    return found;
}

bool ti_reader_trip(struct ti_reader *r, struct ti_trip_start *out)
{
    return r->folded && !r->file.at_end && ti_folded_trip(r->folded, out);
}

bool ti_reader_leave_out(struct ti_reader *r, uint64_t n, const struct ti_trip_period *p)
{
    r->events += n * p->events;
    return ti_folded_leave_out(r->folded, n, p);
}

ti_status ti_reader_again(const struct ti_reader *r, struct ti_reader **out, struct ti_err *err)
{
    struct ti_reader *again;
    ti_status st;

    if (!r->source)
        return ti_reader_open_at(r->file.fd, r->file.start, r->file.bytes, r->file.name, out, err);
    st = ti__reader_new(r->file.name, &again, err);
    if (st)
        return st;
    again->source = r->source;
    again->tables.lists = r->tables.lists;
    st = start_record(again, &r->file, err);
    if (st)
        ti_reader_close(again);
    else
        *out = again;
    return st;
}

int64_t ti_reader_file_bytes(const struct ti_reader *r)
{
    return r->folded ? 0 : r->file.bytes;
}

ti_status ti_reader_file(const struct ti_reader *r, uint8_t **data, size_t *bytes,
                         struct ti_err *err)
{
    const struct trace_file *f = &r->file;
    ti_status st = TI_OK;

    *data = NULL;
    *bytes = 0;
    if (r->folded)
        return TI_OK;
    *data = malloc((size_t)f->bytes + 1);
    if (!*data)
        return ti__file_no_memory(f, err);
    *bytes = (size_t)f->bytes;
    if (f->memory)
        memcpy(*data, f->memory, *bytes);
    else
        st = ti_read_at(f->fd, f->start, *data, *bytes, f->name, err);
    if (st) {
        free(*data);
        *data = NULL;
    }
    return st;
}

bool ti_reader_hash_is(const struct ti_reader *r, uint64_t hash)
{
    return r->totals.hash == hash || (r->folded && r->totals.hash == ti_record_hash(r->source));
}

ti_status ti__record_end(struct ti_reader *r, struct ti_err *err)
{
    const struct ti_buffer *t = &r->folded_end;

    r->file.at_end = true;
    r->events = ti_folded_events(r->folded);
    errno = 0;
    if (t->n && !ti__reader_totals(r, t->data, t->data + t->n))
        return ti_reader_malformed(r, err);
    return TI_OK;
}
