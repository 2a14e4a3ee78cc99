#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event/columns.h"
#include "trace/reader_internal.h"

/* -------------------------------------------------------- chunk by chunk -- */

bool ti__reader_totals(struct ti_reader *r, const uint8_t *p, const uint8_t *end)
{
    if (end - p < 25 || p[24] >= TI_END_KILLED)
        return false;
    r->totals.volume = ti_get_u64(p);
    r->totals.events = ti_get_u64(p + 8);
    r->totals.hash = ti_get_u64(p + 16);
    r->end = (enum ti_end)p[24];
    r->have_totals = true;
    r->first_pairs = (int)r->tables.npairs;
    return ti__tables_pairs(&r->tables, p + 25, end);
}

/* Parse IDX, which is about the file up to here. */
static bool parse_index(struct ti_reader *r, const struct trace_file *here, const uint8_t *p,
                        const uint8_t *end)
{
    uint64_t chunks, bytes;

    if (!ti_get_varint(&p, end, &chunks) || !ti_get_varint(&p, end, &bytes) ||
        end - p != TI_CRC_BYTES)
        return false;
    r->have_index = true;
    return chunks == here->nchunks && bytes == (uint64_t)here->at && ti_get_u32(p) == here->all_crc;
}

/* Whether this version can read the chunk, or need not: then *optional is set. */
static ti_status check_type(const struct ti_reader *r, const struct ti_chunk *c, bool *optional,
                            struct ti_err *err)
{
    *optional = false;
    if (c->type <= TI_CHUNK_FLD && c->type != TI_CHUNK_NONE &&
        c->version >= TI_CHUNK_VERSION_LEAST && c->version <= TI_CHUNK_VERSION)
        return TI_OK;
    *optional = c->flags & TI_CHUNK_OPTIONAL;
    if (*optional)
        return TI_OK;
    ti_err_set(err, TI_ERR_INPUT,
               "'%s' has a chunk of type %u, version %u, which this version cannot read",
               r->file.name, c->type, c->version);
    ti_err_hint(err, "use a newer Tiara");
    return TI_ERR_INPUT;
}

/* Add the payload of a chunk that has no events to what the reader knows. */
static ti_status parse_chunk(struct ti_reader *r, const struct ti_chunk *c, struct ti_err *err)
{
    const struct trace_file here = r->file;
    const uint8_t *end;
    uint8_t *p;
    bool ok = true;
    ti_status st = ti__file_payload(&r->file, c, &p, err);

    if (st)
        return st;
    end = p + c->raw;
    switch (c->type) {
    case TI_CHUNK_INF:
        ok = ti__tables_pairs(&r->tables, p, end);
        break;
    case TI_CHUNK_STR:
        ok = ti__tables_strings(&r->tables, p, end);
        break;
    case TI_CHUNK_COM:
        ok = ti__tables_comms(&r->tables, here.rank, here.nranks, p, end);
        break;
    case TI_CHUNK_VEC:
        ok = ti__tables_long_vec(&r->tables, p, end);
        break;
    case TI_CHUNK_XTR:
        ok = ti__decoder_keep_extras(&r->decoder, c, p);
        if (ok)
            return TI_OK;
        break;
    case TI_CHUNK_TOT:
        ok = !r->have_totals && ti__reader_totals(r, p, end);
        break;
    case TI_CHUNK_IDX:
        ok = parse_index(r, &here, p, end);
        r->file.at_end = true;
        break;
    }
    free(p);
    return ok ? TI_OK : ti__file_damaged(&r->file, here.at, err, "a chunk's content is malformed");
}

/* Load the events of a chunk, and the extra values that came before it. */
static ti_status load_events(struct ti_reader *r, const struct ti_chunk *c, struct ti_err *err)
{
    uint8_t *payload;
    ti_status st;

    r->chunk_at = r->file.at;
    st = ti__file_payload(&r->file, c, &payload, err);
    if (st)
        return st;
    if (!ti__decoder_load(&r->decoder, c, payload) || c->first != r->events)
        return ti__file_damaged(&r->file, r->chunk_at, err, "a chunk of events is malformed");
    if (!ti__decoder_load_extras(&r->decoder, c))
        return ti__file_damaged(&r->file, r->chunk_at, err,
                                "the extra values before a chunk of events are not its own, or "
                                "malformed");
    return TI_OK;
}

static void drop_folded_chunk(struct ti_reader *r)
{
    ti_folded_close(r->folded_chunk);
    free(r->folded_payload);
    r->folded_chunk = NULL;
    r->folded_payload = NULL;
    r->folded_left = 0;
}

/* Open a chunk of folded events. */
static ti_status open_folded_chunk(struct ti_reader *r, const struct ti_chunk *c,
                                   struct ti_err *err)
{
    const char *wrong = "a chunk of events is malformed";
    ti_status st;

    r->chunk_at = r->file.at;
    if (r->decoder.xtr)
        return ti__file_damaged(&r->file, r->chunk_at, err,
                                "extra values are not followed by their events");
    ti__decoder_drop(&r->decoder); /* no chunk goes on with this one */
    st = ti__file_payload(&r->file, c, &r->folded_payload, err);
    if (st)
        return st;
    if (c->first == r->events && c->events &&
        !ti_folded_open_chunk(r->folded_payload, c->raw, r->tables.sites.n, &r->folded_chunk) &&
        ti_folded_events(r->folded_chunk) == c->events)
        wrong = NULL;
    if (!wrong && ti_folded_extras(r->folded_chunk) != (uint32_t)r->tables.nextras)
        wrong = "a chunk of events has other extra values than the metadata names";
    if (wrong)
        return ti__file_damaged(&r->file, r->chunk_at, err, wrong);
    r->folded_left = c->events;
    if (r->want_extras)
        ti_folded_want_extras(r->folded_chunk);
    return TI_OK;
}

/* Count the events of a chunk without reading them. */
static ti_status skip_events(struct ti_reader *r, const struct ti_chunk *c, struct ti_err *err)
{
    ti_status st;

    if (c->first != r->events)
        return ti__file_damaged(&r->file, r->file.at, err, "events are missing before a chunk");
    st = ti__file_pass(&r->file, c, err);
    if (!st)
        r->events += c->events;
    return st;
}

/* At any end: check the end mark and find out how the trace ended. */
static ti_status finish(struct ti_reader *r, struct ti_err *err)
{
    if (!r->have_index || !r->have_totals) {
        r->end = TI_END_KILLED;
        r->have_totals = false;
        return TI_OK;
    }
    if (!ti__file_at_end_mark(&r->file)) {
        if (r->file.bytes - r->file.at < TI_MAGIC_BYTES) {
            r->end = TI_END_KILLED;
            return TI_OK;
        }
        return ti__file_damaged(&r->file, r->file.at, err, "the end mark is wrong");
    }
    if (r->totals.events != r->events)
        return ti__file_damaged(&r->file, r->file.at, err,
                                "the number of events is not what the totals say");
    return TI_OK;
}

/* Process chunks up to and including the next EVT or FLD; with `skip`, to the end without the
 * payloads of EVT, FLD, XTR and VEC. */
static ti_status advance(struct ti_reader *r, bool skip, struct ti_err *err)
{
    ti_status st = TI_OK;

    r->decoder.left = 0;
    drop_folded_chunk(r);
    while (!st && !r->file.at_end) {
        struct ti_chunk c;
        bool optional;

        st = ti__file_chunk(&r->file, &c, err);
        if (st || r->file.at_end)
            break;
        st = check_type(r, &c, &optional, err);
        if (st)
            break;
        if (optional || (c.type == TI_CHUNK_VEC && skip) ||
            (c.type == TI_CHUNK_XTR && (skip || !r->want_extras)))
            st = ti__file_pass(&r->file, &c, err);
        else if ((c.type == TI_CHUNK_EVT || c.type == TI_CHUNK_FLD) && skip)
            st = skip_events(r, &c, err);
        else if (c.type == TI_CHUNK_FLD)
            return open_folded_chunk(r, &c, err);
        else if (c.type == TI_CHUNK_EVT)
            return load_events(r, &c, err);
        else
            st = parse_chunk(r, &c, err);
    }
    return st ? st : finish(r, err);
}

static int fail(struct ti_reader *r, ti_status status)
{
    r->status = status;
    r->file.at_end = true;
    r->decoder.left = 0;
    r->folded_left = 0;
    r->end = TI_END_KILLED;
    r->have_totals = false;
    return -1;
}

/* The next event of a chunk of folded events. */
static bool next_in_folded_chunk(struct ti_reader *r, struct ti_event *ev)
{
    r->folded_left--;
    return ti_folded_next(r->folded_chunk, ev) > 0;
}

/* The next event from chunks of events; returns as ti_reader_next(). */
static int next_in_chunk(struct ti_reader *r, struct ti_event *ev, struct ti_err *err)
{
    ti_status st;
    bool ok;

    if (__builtin_expect(r->decoder.left == 0, 0) && r->folded_left == 0) {
        if (r->file.at_end)
            return 0;
        st = advance(r, false, err);
        if (st)
            return fail(r, st);
        if (r->file.at_end)
            return 0;
    }
    ok = r->folded_left ? next_in_folded_chunk(r, ev) : ti__decoder_next(&r->decoder, ev);
    if (!ok) {
        bool no_memory =
            r->folded_chunk ? ti_folded_no_memory(r->folded_chunk) : r->decoder.no_memory;

        errno = no_memory ? ENOMEM : 0;
        return fail(r,
                    ti__file_damaged(&r->file, r->chunk_at, err, "a chunk of events is malformed"));
    }
    return 1;
}

/* The next event of a folded trace. */
static int next_folded(struct ti_reader *r, struct ti_event *ev, struct ti_err *err)
{
    int more = r->file.at_end ? 0 : ti_folded_next(r->folded, ev);
    ti_status st = TI_OK;

    if (more > 0)
        return more;
    if (more < 0) {
        errno = ti_folded_no_memory(r->folded) ? ENOMEM : 0;
        st = ti_reader_malformed(r, err);
    } else if (!r->file.at_end) {
        st = ti__record_end(r, err);
    }
    return st ? fail(r, st) : 0;
}

int ti_reader_next(struct ti_reader *r, struct ti_event *ev, struct ti_err *err)
{
    int more = r->folded ? next_folded(r, ev, err) : next_in_chunk(r, ev, err);

    if (__builtin_expect(more <= 0, 0))
        return more;
    if (__builtin_expect((ev->mask & (TI_M_WIN | TI_M_COMM)) == (TI_M_WIN | TI_M_COMM), 0) &&
        !ti__tables_window(&r->tables, ev))
        return fail(r, ti__file_no_memory(&r->file, err));
    r->events++;
    return 1;
}

ti_status ti_reader_skip(struct ti_reader *r, struct ti_err *err)
{
    if (r->file.at_end)
        return TI_OK;
    if (r->folded)
        return ti__record_end(r, err);
    r->events += r->decoder.left + r->folded_left;
    return advance(r, true, err);
}

/* -------------------------------------------------------- open and close -- */

ti_status ti__reader_start(struct ti_reader *r, struct ti_err *err)
{
    struct ti_chunk c;
    bool optional;
    ti_status st = ti__file_header(&r->file, err);

    if (!st)
        st = ti__file_chunk(&r->file, &c, err);
    if (st)
        return st;
    if (r->file.at_end)
        return ti_err_set(err, TI_ERR_INPUT, "'%s' was cut off before its first chunk",
                          r->file.name);
    if (c.type != TI_CHUNK_INF)
        return ti__file_damaged(&r->file, r->file.at, err, "it does not begin with metadata");
    st = check_type(r, &c, &optional, err);
    if (!st)
        st = optional ? ti__file_pass(&r->file, &c, err) : parse_chunk(r, &c, err);
    if (!st && !ti__tables_extras(&r->tables))
        st = ti__file_no_memory(&r->file, err);
    return st;
}

ti_status ti__reader_new(const char *name, struct ti_reader **out, struct ti_err *err)
{
    struct ti_reader *r = calloc(1, sizeof *r);

    if (!r || !(r->file.name = strdup(name))) {
        free(r);
        errno = ENOMEM;
        return ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", name);
    }
    r->decoder.tables = &r->tables;
    r->end = TI_END_KILLED;
    *out = r;
    return TI_OK;
}

ti_status ti_reader_open_at(int fd, int64_t offset, int64_t bytes, const char *name,
                            struct ti_reader **out, struct ti_err *err)
{
    struct ti_reader *r;
    ti_status st = ti__reader_new(name, &r, err);

    if (st)
        return st;
    r->file.fd = fd;
    r->file.start = offset;
    r->file.bytes = bytes;
    st = ti__reader_start(r, err);
    if (st)
        ti_reader_close(r);
    else
        *out = r;
    return st;
}

ti_status ti_reader_open(const char *path, struct ti_reader **out, struct ti_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat info;
    ti_status st;

    if (fd < 0)
        return ti_err_errno(err, TI_ERR_IO, "cannot open '%s'", path);
    if (fstat(fd, &info) != 0)
        st = ti_err_errno(err, TI_ERR_IO, "cannot read '%s'", path);
    else if (!S_ISREG(info.st_mode))
        st = ti_err_set(err, TI_ERR_INPUT, "'%s' is not a file", path);
    else
        st = ti_reader_open_at(fd, 0, info.st_size, path, out, err);
    if (st)
        close(fd);
    else
        (*out)->file.own_fd = true;
    return st;
}

void ti_reader_close(struct ti_reader *r)
{
    if (!r)
        return;
    ti__decoder_free(&r->decoder);
    drop_folded_chunk(r);
    ti__tables_free(&r->tables);
    ti__file_close(&r->file);
    ti_folded_close(r->folded);
    free(r->folded_end.data);
    ti_record_free(&r->record);
    free(r);
}

void ti_reader_share(struct ti_reader *r, struct ti_rank_lists *lists)
{
    r->tables.lists = lists;
}

/* -------------------------------------------------------------- questions -- */

const char *ti_reader_name(const struct ti_reader *r)
{
    return r->file.name;
}

uint32_t ti_reader_rank(const struct ti_reader *r)
{
    return r->file.rank;
}

uint32_t ti_reader_nranks(const struct ti_reader *r)
{
    return r->file.nranks;
}

const uint8_t *ti_reader_run_id(const struct ti_reader *r)
{
    return r->file.run_id;
}

int ti_reader_info_first(const struct ti_reader *r)
{
    return r->have_totals ? r->first_pairs : (int)r->tables.npairs;
}

void ti_reader_want_extras(struct ti_reader *r)
{
    r->want_extras = true;
    if (r->folded)
        ti_folded_want_extras(r->folded);
}

void ti_reader_seed(struct ti_reader *r, uint64_t seed)
{
    if (r->folded)
        ti_folded_seed(r->folded, seed);
}

ti_status ti_reader_status(const struct ti_reader *r)
{
    return r->status;
}

ti_status ti_reader_malformed(const struct ti_reader *r, struct ti_err *err)
{
    if (errno == ENOMEM)
        return ti__file_no_memory(&r->file, err);
    return ti_err_set(err, TI_ERR_INPUT, "'%s' is damaged: its record is malformed", r->file.name);
}

enum ti_end ti_reader_end(const struct ti_reader *r)
{
    return r->end;
}

const char *ti_end_text(enum ti_end end)
{
    switch (end) {
#define TEXT(name, number, text)                                                                   \
    case TI_END_##name:                                                                            \
        return text;
        TI_ENDS(TEXT)
#undef TEXT
    case TI_END_COUNT:
        break;
    }
    return "?";
}

bool ti_reader_totals(const struct ti_reader *r, struct ti_totals *out)
{
    *out = r->totals;
    return r->have_totals;
}

uint64_t ti_reader_events(const struct ti_reader *r)
{
    return r->events;
}

static const char *call_name(const struct ti_reader *r, const struct ti_event *ev)
{
    const char *name = ti_reader_string(r, TI_STRING_CALL, ev->arg[TI_F_CALL]);

    return name ? name : "?";
}

static bool same_vector(const struct ti_vec *x, const struct ti_vec *y)
{
    if (x->len != y->len)
        return false;
    for (int64_t i = 0; i < x->len; i++)
        if (ti_vec_at(x, i) != ti_vec_at(y, i))
            return false;
    return true;
}

bool ti_reader_same_call(const struct ti_reader *ra, const struct ti_event *a,
                         const struct ti_reader *rb, const struct ti_event *b)
{
    if (a->op != b->op || a->mask != b->mask)
        return false;
    /* names, because strings are numbered in the order in which each rank met them */
    for (uint32_t rest = a->mask; rest; rest &= rest - 1) {
        int f = __builtin_ctz(rest);

        if (f == TI_F_CALL ? strcmp(call_name(ra, a), call_name(rb, b)) != 0
                           : a->arg[f] != b->arg[f])
            return false;
    }
    for (int v = 0; v < TI_VECS; v++)
        if (!same_vector(&a->vec[v], &b->vec[v]))
            return false;
    return true;
}

const char *ti_reader_end_text(const struct ti_reader *r, char *text, size_t bytes)
{
    const char *how = ti_end_text(ti_reader_end(r)), *why = ti_reader_info(r, "reason");

    snprintf(text, bytes, "%s%s%s", how, why && *why ? ": " : "", why ? why : "");
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127)
            *p = '?';
    return text;
}
