#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/crc32c.h"
#include "event/columns.h"
#include "fold/record.h"
#include "fold/seek.h"
#include "fold/shape.h"
#include "fold/trips.h"
#include "tests/fuzz/fuzz.h"
#include "tests/verify.h"
#include "trace/reader.h"

enum { LEAVE_ALL = 1, LEAVE_FIELDS = 2, LEAVE_INDEX = 4 };

/* Not optimised away: every byte given is looked at. */
static volatile uint64_t sink;

static void look(const char *text)
{
    if (text)
        sink += strlen(text);
}

static void must(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "fuzz: %s\n", what);
    abort();
}

int ti_fuzz_file(const uint8_t *data, size_t bytes)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    must(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes, "no memory for a file");
    return fd;
}

/* ---------------------------------------------------------------- repair -- */

struct repair {
    uint8_t *trace;
    size_t bytes, at;
    uint64_t events, chunks;
    uint32_t rank, all_crc, leave;
};

static void repair_index(const struct repair *r, uint8_t *payload, uint32_t *stored)
{
    uint8_t idx[2 * TI_VARINT_MAX + TI_CRC_BYTES];
    int n = ti_put_varint(idx, r->chunks);

    n += ti_put_varint(idx + n, r->at);
    ti_put_u32(idx + n, r->all_crc);
    n += TI_CRC_BYTES;
    if ((size_t)n + TI_CRC_BYTES > r->bytes - r->at - TI_CHUNK_BYTES)
        return;
    memcpy(payload, idx, (size_t)n);
    *stored = (uint32_t)n;
}

/* One chunk; false where there is no room for it. */
static int repair_chunk(struct repair *r)
{
    uint8_t *h = r->trace + r->at, *payload = h + TI_CHUNK_BYTES;
    size_t room = r->bytes - r->at;
    uint32_t stored;

    if (room < TI_CHUNK_BYTES + TI_CRC_BYTES)
        return 0;
    room -= TI_CHUNK_BYTES + TI_CRC_BYTES;
    stored = ti_get_u32(h + 24);
    if (!(r->leave & LEAVE_FIELDS)) {
        if (r->chunks == 0)
            r->rank = ti_get_u32(h + 4) % ti_get_u32(r->trace + 20);
        ti_put_u32(h + 4, r->rank);
        ti_put_u64(h + 8, r->events);
        if (h[0] == TI_CHUNK_IDX && !(r->leave & LEAVE_INDEX))
            repair_index(r, payload, &stored);
        if (h[3] == TI_CODEC_RAW)
            ti_put_u32(h + 20, stored);
        ti_put_u32(h + 24, stored);
    }
    ti_put_u32(h + 28, ti_crc32c(0, h, 28));
    if (stored > room)
        return 0;
    ti_put_u32(payload + stored, ti_crc32c(0, payload, stored));
    if (h[0] == TI_CHUNK_EVT || h[0] == TI_CHUNK_FLD)
        r->events += ti_get_u32(h + 16);
    r->all_crc = ti_crc32c(r->all_crc, h + 28, TI_CRC_BYTES);
    r->all_crc = ti_crc32c(r->all_crc, payload + stored, TI_CRC_BYTES);
    r->chunks++;
    r->at += TI_CHUNK_BYTES + stored + TI_CRC_BYTES;
    return 1;
}

void ti_fuzz_repair(uint8_t *trace, size_t bytes)
{
    struct repair r = {.trace = trace, .bytes = bytes, .at = TI_HEADER_BYTES};

    if (bytes < TI_HEADER_BYTES)
        return;
    r.leave = ti_get_u32(trace + 40);
    if (r.leave & LEAVE_ALL)
        return;
    if (!(r.leave & LEAVE_FIELDS)) {
        memcpy(trace, TI_MAGIC, TI_MAGIC_BYTES);
        ti_put_u16(trace + 8, TI_MAJOR);
        ti_put_u32(trace + 12, 0);
        if (ti_get_u32(trace + 20) == 0)
            ti_put_u32(trace + 20, 1);
    }
    ti_put_u32(trace + 44, ti_crc32c(0, trace, 44));
    while (repair_chunk(&r))
        ;
}

/* ------------------------------------------------------------------ read -- */

/* All that the reader tells beside the events. */
static void questions(const struct ti_reader *r)
{
    const struct ti_comm *comm;
    const char *key, *value;
    struct ti_totals totals;

    for (int i = 0; ti_reader_info_at(r, i, &key, &value); i++) {
        look(key);
        look(value);
        if (i < 100)
            look(ti_reader_info(r, key));
    }
    for (int64_t i = 0; i == 0 || ti_reader_string(r, TI_STRING_SITE, i); i++)
        look(ti_reader_string(r, TI_STRING_SITE, i));
    for (int64_t i = 0; i == 0 || ti_reader_string(r, TI_STRING_CALL, i); i++)
        look(ti_reader_string(r, TI_STRING_CALL, i));
    for (int64_t i = -1; i < 0 || (comm = ti_reader_comm(r, i)); i++) {
        if (i < 0)
            continue;
        must(comm->rank >= 0 && comm->rank < comm->size, "own rank is outside of a communicator");
        must(comm->member[comm->rank] == (int32_t)ti_reader_rank(r), "own rank is another's");
        for (int64_t k = 0; k < comm->size; k++)
            must(comm->member[k] >= 0 && comm->member[k] < (int64_t)ti_reader_nranks(r),
                 "a member is no rank");
    }
    for (int i = 0; i < ti_reader_extras(r); i++) {
        look(ti_reader_extra_unit(r, i));
        must(ti_reader_extra(r, ti_reader_extra_name(r, i)) <= i, "an extra column is not found");
    }
    look(ti_end_text(ti_reader_end(r)));
    sink += ti_reader_totals(r, &totals);
    sink += ti_reader_run_id(r)[TI_RUN_ID_BYTES - 1];
}

/* The outcome of a reading. */
struct outcome {
    int last; /* of ti_reader_next(); 1: there is more than the limit */
    uint64_t events, hash;
    enum ti_end end;
};

static void check_event(const struct ti_reader *r, const struct ti_event *ev)
{
    const struct ti_op_info *op = ti_op_info(ev->op);

    must(ev->op < TI_OP_COUNT, "an operation is out of range");
    must((ev->mask & op->fields) == op->fields, "a field is missing");
    must(!(ev->mask & ~(op->fields | op->optional)), "a field is too much");
    must(!ev->site || ti_reader_string(r, TI_STRING_SITE, ev->site), "a call site is missing");
    for (int v = 0; v < TI_VECS; v++)
        must(ev->vec[v].len >= 0 && (op->vec[v][0] || ev->vec[v].len == 0), "a vector is wrong");
    for (int i = 0; ev->extra && i < ti_reader_extras(r); i++)
        sink += ev->extra[i];
    if (ev->mask & TI_M_PEER)
        sink += (uint64_t)ti_reader_world(r, ev->arg[TI_F_COMM], ev->arg[TI_F_PEER]);
}

/* At most `limit` events, and 64 times as many elements of vectors. */
static struct outcome read_events(struct ti_reader *r, uint64_t limit)
{
    struct outcome o = {1, 0, TI_HASH_START, TI_END_COUNT};
    struct ti_event ev;
    struct ti_err err;
    uint64_t elements = 0;

    while (o.events + elements / 64 < limit && (o.last = ti_reader_next(r, &ev, &err)) > 0) {
        check_event(r, &ev);
        o.hash = ti_hash_event(o.hash, &ev);
        elements += (uint64_t)ev.vec[0].len + (uint64_t)ev.vec[1].len;
        o.events++;
    }
    if (o.last < 0)
        must(err.text[0] != '\0', "an error without a text");
    o.end = ti_reader_end(r);
    return o;
}

void ti_fuzz_read_all(struct ti_reader *r)
{
    read_events(r, TI_FUZZ_EVENTS);
    questions(r);
}

/* A trace that can be opened again and again: a record, or bytes of a file. */
struct trace {
    const struct ti_record *record; /* NULL: a file */
    uint32_t nranks;
    int fd;
    int64_t offset, bytes;
    uint64_t limit;
};

static ti_status open_trace(const struct trace *t, struct ti_reader **out, struct ti_err *err)
{
    static const uint8_t run_id[TI_RUN_ID_BYTES] = "fuzz";
    struct ti_record borrowed;

    if (!t->record)
        return ti_reader_open_at(t->fd, t->offset, t->bytes, "fuzz", out, err);
    borrowed = *t->record;
    borrowed.memory = NULL;
    return ti_reader_open_record(&borrowed, t->nranks, run_id, "fuzz", out, err);
}

/* Verifying reads what events do not need, but of a record not the events; of a file all of them.
 */
static ti_status verify(struct ti_reader *r, const struct trace *t, const struct outcome *all)
{
    uint64_t verified = 0;
    struct ti_err err;
    ti_status st;

    if (all->last > 0 && !t->record)
        return TI_ERR_PARTIAL;
    st = verify_trace(r, &verified, &err);
    must(all->last >= 0 || st != TI_OK, "verified although damaged");
    must(all->last > 0 || verified == all->events || (t->record && st != TI_OK),
         "verifying meets other events");
    return st;
}

/* A hash of events that leaves out volumes, which may be drawn in another order. */
static uint64_t calls_of(struct ti_reader *r, uint64_t limit, uint64_t *events)
{
    uint64_t hash = TI_HASH_START;
    struct ti_event ev;
    struct ti_err err;

    for (*events = 0; *events < limit && ti_reader_next(r, &ev, &err) > 0; ++*events) {
        check_event(r, &ev);
        ev.volume = 0;
        hash = ti_hash_event(hash, &ev);
    }
    return hash;
}

/* Of a folded trace, the shape has the events that there are, and seeking leads where reading does.
 */
static void seek(struct ti_reader *r, const struct trace *t, const struct outcome *all)
{
    struct ti_folded *f = ti_reader_folded(r);
    uint64_t to = all->events / 2, events = 0, n, m, hash;
    struct ti_column_stats stats;
    struct ti_reader *again;
    struct ti_place place;
    struct ti_err err;
    int found;

    if (!f || !ti_folded_check(f))
        return;
    for (uint32_t i = 0; i < ti_shape_nodes(f); i++) {
        struct ti_shape_node node = ti_shape_node(f, i);

        if (node.loop) {
            must(ti_shape_trips(f, i, &stats) && stats.min > 0, "trips are wrong");
            continue;
        }
        must(ti_shape_volumes(f, i, 0, &stats) && stats.n == node.passes, "volumes are wrong");
        for (uint32_t rest = node.mask; rest; rest &= rest - 1)
            must(ti_shape_field(f, i, (uint32_t)__builtin_ctz(rest), &stats), "a field is wrong");
        events += node.passes;
    }
    must(events == ti_folded_events(f), "the shape has other events");
    ti_reader_seek(r, 1, all->events * 100, &place, &err);
    if (all->last < 0 || to == 0)
        return;
    found = ti_reader_seek(r, 0, to, &place, &err);
    must(found > 0 && place.event == to, "an event is not found");
    must(open_trace(t, &again, &err) == TI_OK, "opened once, but not again");
    calls_of(again, to, &n);
    hash = calls_of(again, all->events - to, &n);
    must(hash == calls_of(r, all->events - to, &m) && n == m, "other events after seeking");
    ti_reader_close(again);
    must(ti_reader_seek(r, 0, events, &place, &err) == 0, "an event behind the end is found");
}

/* Trips that are alike can be left out: reading gives the same calls after them. */
static void leave_out(struct ti_reader *r, const struct trace *t, const struct outcome *all)
{
    struct ti_trip_start trip;
    struct ti_reader *whole;
    struct ti_err err;
    uint64_t at = 0, n, alike, runs, hash;

    if (!ti_reader_folded(r) || all->last < 0)
        return;
    must(open_trace(t, &whole, &err) == TI_OK, "opened once, but not again");
    while (at < all->events) {
        while (ti_reader_trip(r, &trip)) {
            struct ti_trip_period p = {1, 0};

            alike = ti_folded_alike(ti_reader_folded(r), &p);
            if (alike == 1)
                alike = ti_folded_find_period(ti_reader_folded(r), &p, &runs);
            must(p.trips >= 1 && alike <= trip.left / p.trips,
                 "more trips are alike than there are");
            if (trip.first || alike <= 1 || p.events > (all->events - at) / alike)
                continue;
            hash = calls_of(whole, p.events, &n);
            for (uint64_t k = 1; k < alike; k++)
                must(calls_of(whole, p.events, &n) == hash && n == p.events, "trips are not alike");
            must(ti_reader_leave_out(r, alike, &p), "trips cannot be left out");
            at += alike * p.events;
        }
        hash = calls_of(r, 1, &n);
        must(hash == calls_of(whole, 1, &runs) && n == runs, "other events after trips");
        at++;
    }
    ti_reader_close(whole);
}

static ti_status read_one_way(struct ti_reader *r, const struct trace *t, int way,
                              struct outcome *all)
{
    struct outcome part;
    struct ti_err err;
    ti_status st = TI_OK;

    switch (way) {
    case 0:
        ti_reader_want_extras(r);
        *all = read_events(r, t->limit);
        must(all->events == ti_reader_events(r), "events given and counted differ");
        break;
    case 1:
        st = ti_reader_skip(r, &err);
        if (all->last == 0)
            must(st == TI_OK && ti_reader_events(r) == all->events && ti_reader_end(r) == all->end,
                 "skipping leads elsewhere");
        break;
    case 2:
        part = read_events(r, all->events / 2);
        st = ti_reader_skip(r, &err);
        if (all->last == 0)
            must(part.last > 0 && st == TI_OK && ti_reader_events(r) == all->events,
                 "skipping from the middle leads elsewhere");
        break;
    case 3:
        part = read_events(r, t->limit);
        must(part.events >= all->events, "extra values hide events");
        must(all->last < 0 || (part.last == all->last && part.hash == all->hash),
             "without extra values there are other events");
        if (part.last > 0) /* damaged extra values end the trace before the limit, others do not */
            st = TI_ERR_PARTIAL;
        break;
    case 4:
        seek(r, t, all);
        st = ti_reader_skip(r, &err);
        break;
    case 5:
        leave_out(r, t, all);
        st = ti_reader_skip(r, &err);
        break;
    default:
        st = verify(r, t, all);
    }
    return st;
}

static void read_all_ways(const struct trace *t)
{
    struct outcome all = {0};
    struct ti_err err;

    for (int way = 0; way < 7; way++) {
        struct ti_reader *r, *again;
        ti_status st = open_trace(t, &r, &err);

        if (st != TI_OK) {
            must(way == 0, "opened once, but not again");
            must(err.text[0] != '\0', "an error without a text");
            return;
        }
        questions(r);
        st = read_one_way(r, t, way, &all);
        questions(r);
        must(all.last > 0 || st != TI_OK || ti_reader_next(r, &(struct ti_event){0}, &err) <= 0,
             "an event behind the end");
        if (t->record && way == 0) {
            must(ti_reader_again(r, &again, &err) == TI_OK, "not opened again");
            must(read_events(again, t->limit).hash == all.hash || all.last < 0,
                 "opened again, other events");
            ti_reader_close(again);
        }
        ti_reader_close(r);
    }
}

void ti_fuzz_read(int fd, int64_t offset, int64_t bytes)
{
    read_all_ways(
        &(struct trace){.fd = fd, .offset = offset, .bytes = bytes, .limit = TI_FUZZ_EVENTS});
}

void ti_fuzz_read_record(const struct ti_record *record, uint32_t nranks, uint64_t limit)
{
    read_all_ways(&(struct trace){.record = record, .nranks = nranks, .limit = limit});
}
