#include "tests/unit/work.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/pass.h"
#include "analysis/shapes.h"
#include "api/tiara.h"
#include "fold/seek.h"
#include "fold/values.h"
#include "merged/view.h"
#include "sound/check.h"
#include "trace/scan.h"

static void add(uint64_t *hash, uint64_t value)
{
    *hash = ti_hash_word(*hash, value);
}

static void add_text(uint64_t *hash, const char *text)
{
    for (; text && *text; text++)
        add(hash, (unsigned char)*text);
}

/* Reads all that a trace says beside its events. */
static ti_status read_metadata(struct ti_source *s, uint64_t *hash, struct ti_err *err)
{
    static const char *const names[] = {"RUN.json", "MANIFEST.json"};
    ti_status st = TI_OK;

    add(hash, (uint64_t)ti_source_nranks(s));
    add(hash, (uint64_t)ti_source_count(s));
    add(hash, (uint64_t)ti_source_size(s));
    add(hash, json_object_size(ti_source_manifest(s)));
    st = ti_source_manifest_status(s, err);
    for (int i = 0; i < 2 && !st; i++) {
        size_t bytes;
        char *text;

        st = ti_source_text(s, names[i], &text, &bytes, err);
        if (!st)
            add(hash, bytes);
        if (!st)
            free(text);
    }
    return st;
}

static ti_status read_events(struct ti_reader *r, uint64_t *hash, struct ti_err *err)
{
    struct ti_event ev;
    int more;

    ti_reader_want_extras(r);
    while ((more = ti_reader_next(r, &ev, err)) > 0) {
        add(hash, ti_hash_event(TI_HASH_START, &ev));
        add_text(hash, ti_reader_string(r, TI_STRING_SITE, ev.site));
        add(hash, (uint64_t)ti_reader_event_comm(r, &ev));
    }
    return more < 0 ? ti_reader_status(r) : TI_OK;
}

static ti_status pass(struct ti_reader *r, uint64_t *hash, struct ti_err *err)
{
    ti_status st = ti_reader_skip(r, err);
    const char *key, *value;

    for (int i = 0; !st && ti_reader_info_at(r, i, &key, &value); i++)
        add_text(hash, value);
    for (int i = 0; !st && i < 8; i++)
        if (ti_reader_comm(r, i))
            add(hash, (uint64_t)ti_reader_comm(r, i)->size);
    add(hash, ti_reader_events(r));
    return st;
}

static ti_status seek(struct ti_reader *r, uint64_t *hash, struct ti_err *err)
{
    struct ti_place place;
    struct ti_event ev;
    int found;

    if (!ti_reader_folded(r))
        return TI_OK;
    errno = 0;
    found = ti_reader_seek(r, 0, ti_folded_events(ti_reader_folded(r)) / 2, &place, err);
    if (found < 0)
        return errno == ENOMEM ? TI_ERR_IO : TI_ERR_INPUT;
    add(hash, place.event);
    if (ti_reader_next(r, &ev, err) < 0)
        return ti_reader_status(r);
    add(hash, ti_hash_event(TI_HASH_START, &ev));
    return TI_OK;
}

static ti_status scan(struct ti_reader *r, uint64_t *hash, struct ti_err *err)
{
    struct ti_scan all;
    ti_status st = ti_scan_read(r, &all, err);

    add(hash, all.events);
    add(hash, all.volume);
    add(hash, all.hash);
    add(hash, all.messages);
    add(hash, (uint64_t)all.nuntraced);
    ti_scan_free(&all);
    return st;
}

static bool take(void *arg, const struct ti_values *v)
{
    uint64_t *hash = arg, sum;

    if (ti_values_sum(v, 0, &sum))
        add(hash, sum);
    return true;
}

/* The values of a folded trace, without its events. */
static ti_status read_values(struct ti_reader *r, uint64_t *hash, struct ti_err *err)
{
    struct ti_folded *f = ti_reader_folded(r);

    errno = 0;
    for (uint32_t i = 0; f && i < ti_shape_nodes(f); i++)
        if (!ti_shape_node(f, i).loop && !ti_shape_values(f, i, 1, take, hash))
            return ti_reader_malformed(r, err);
    if (f && !ti_folded_check(f))
        return ti_reader_malformed(r, err);
    return TI_OK;
}

/* Each part of this in a reader of its own. */
static ti_status read_rank(struct ti_source *s, int64_t rank, uint64_t *hash, struct ti_err *err)
{
    static ti_status (*const parts[])(struct ti_reader * r, uint64_t * hash,
                                      struct ti_err * err) = {read_events, pass, seek, scan,
                                                              read_values};
    ti_status st = TI_OK;

    for (size_t i = 0; i < sizeof parts / sizeof *parts && !st; i++) {
        struct ti_reader *r;

        st = ti_source_reader(s, rank, &r, err);
        if (st)
            break;
        st = parts[i](r, hash, err);
        ti_reader_close(r);
    }
    return st;
}

ti_status work_read_source(const char *path, uint64_t *hash, struct ti_err *err)
{
    struct ti_source *s;
    ti_status st = ti_source_open(path, &s, err);

    if (st)
        return st;
    st = read_metadata(s, hash, err);
    if (!st)
        st = ti_source_share_lists(s, err);
    if (!st)
        st = ti_source_verify(s, err);
    for (int64_t rank = 0; rank < ti_source_nranks(s) && !st; rank++)
        if (ti_source_has(s, rank))
            st = read_rank(s, rank, hash, err);
    ti_source_close(s);
    return st;
}

/* Without shared lists of ranks. */
ti_status work_read_alone(const char *path, uint64_t *hash, struct ti_err *err)
{
    struct ti_source *s;
    ti_status st = ti_source_open(path, &s, err);
    int64_t rank = 0;

    if (st)
        return st;
    while (!ti_source_has(s, rank))
        rank++;
    st = read_rank(s, rank, hash, err);
    ti_source_close(s);
    return st;
}

/* Only the sums of each rank. */
ti_status work_scan_all(const char *path, uint64_t *hash, struct ti_err *err)
{
    struct ti_source *s;
    ti_status st = ti_source_open(path, &s, err);

    if (st)
        return st;
    for (int64_t rank = 0; rank < ti_source_nranks(s) && !st; rank++) {
        struct ti_reader *r;

        st = ti_source_reader(s, rank, &r, err);
        if (st)
            break;
        st = scan(r, hash, err);
        ti_reader_close(r);
    }
    ti_source_close(s);
    return st;
}

static ti_status read_view(struct ti_merged *m, uint32_t group, uint64_t *hash, struct ti_err *err)
{
    struct ti_view *v;
    struct ti_record record;
    ti_status st = ti_view_open(m, group, &v, err);

    if (st)
        return st;
    for (size_t k = 0; k < ti_view_parts(v) && !st; k++) {
        int64_t value[8];

        assert_true(ti_ranges_count(ti_view_ranks(v)) <= 8);
        add(hash, ti_view_formula(v, k).kind);
        st = ti_view_values(v, k, 1, value, err);
        for (int64_t i = 0; i < ti_ranges_count(ti_view_ranks(v)) && !st; i++)
            add(hash, (uint64_t)value[i]);
    }
    if (!st)
        st = ti_view_record(v, ti_view_ranks(v)->range[0].first, &record, err);
    if (!st)
        ti_record_free(&record);
    ti_view_close(v);
    return st;
}

ti_status work_read_views(const char *path, uint64_t *hash, struct ti_err *err)
{
    struct ti_source *s;
    ti_status st = ti_source_open(path, &s, err);

    if (st)
        return st;
    for (uint32_t g = 0; g < ti_merged_groups(ti_source_merged(s)) && !st; g++)
        st = read_view(ti_source_merged(s), g, hash, err);
    ti_source_close(s);
    return st;
}

static bool remember(void *arg, uint32_t depth)
{
    (void)arg, (void)depth;
    return true;
}

static void repeat(void *arg, uint32_t depth, uint64_t times)
{
    (void)arg, (void)depth, (void)times;
}

static void add_problems(uint64_t *hash, const struct ti_problems *ps)
{
    add(hash, ps->n);
    for (int i = 0; i < ps->shown; i++) {
        add_text(hash, ps->list[i].call);
        add_text(hash, ps->list[i].why);
    }
}

uint64_t work_left_out;

ti_status work_check(const char *path, uint64_t *hash, struct ti_err *err)
{
    static const struct ti_visitor visitor = {
        .remember = remember, .repeat = repeat, .extras = true};
    struct ti_problems problems = {.n = 0};
    struct ti_check result;
    struct ti_source *s;
    ti_status st = ti_source_open(path, &s, err);

    if (st)
        return st;
    st = ti_check(s, &visitor, &result, &problems, err);
    work_left_out = result.left_out.events;
    add(hash, result.events);
    add(hash, result.messages);
    add(hash, result.conserved.messages);
    add(hash, result.conserved.collectives);
    add(hash, result.unchecked.messages);
    add_problems(hash, &problems);
    add_problems(hash, &result.leaked);
    ti_check_free(&result);
    ti_source_close(s);
    return st;
}

static void message(void *arg, int64_t from, int64_t to, uint64_t bytes, uint64_t times)
{
    uint64_t *sum = arg; /* the order is not always the same */

    *sum += times * ti_hash_word(ti_hash_word(bytes, (uint64_t)from), (uint64_t)to);
}

static void collective(void *arg, uint32_t op, uint64_t bytes, uint64_t times)
{
    uint64_t *sum = arg;

    *sum += times * ti_hash_word(bytes, op);
}

static void bursts(void *arg, const struct ti_reader *r, uint32_t site, const struct ti_values *v,
                   bool has_extras)
{
    uint64_t *sum = arg, some;

    (void)has_extras;
    if (ti_values_sum(v, 0, &some))
        *sum += ti_hash_word(some, site) + ti_reader_rank(r);
}

/* The pass over all ranks for commands of ti-info. */
ti_status work_pass_over(const char *path, uint64_t *hash, struct ti_err *err)
{
    uint64_t sum = 0;
    const struct ti_pass_visitor v = {.arg = &sum,
                                      .message = message,
                                      .one_sided = message,
                                      .collective = collective,
                                      .bursts = bursts};
    struct ti_pass all;
    struct ti_source *s;
    ti_status st = ti_source_open(path, &s, err);

    if (st)
        return st;
    st = ti_pass(s, -1, &v, &all, err);
    add(hash, sum);
    add(hash, (uint64_t)all.ranks);
    add(hash, all.st);
    ti_pass_free(&all);
    ti_source_close(s);
    return st;
}

/* Ranks with equal loops, added up. */
ti_status work_read_shapes(const char *path, uint64_t *hash, struct ti_err *err)
{
    struct ti_shapes all;
    struct ti_source *s;
    ti_status st = ti_source_open(path, &s, err);

    if (st)
        return st;
    st = ti_shapes_read(s, -1, NULL, &all, err);
    for (size_t i = 0; i < all.n; i++)
        for (uint32_t k = 0; k < all.shape[i].nnodes; k++) {
            add(hash, all.shape[i].node[k].events);
            add_text(hash, all.shape[i].node[k].name);
            add_text(hash, all.shape[i].node[k].text[TI_TEXT_VECTOR]);
        }
    add(hash, (uint64_t)all.ranks.taken);
    ti_shapes_free(&all);
    ti_source_close(s);
    return st;
}

/* A rank by the functions of libtiara. */
static enum tiara_status use_rank(struct tiara_trace *t, int64_t rank, uint64_t *hash,
                                  struct tiara_error *why)
{
    const struct tiara_event *ev;
    struct tiara_shape *s;
    struct tiara_rank *r;
    enum tiara_status st = tiara_rank_open(t, rank, TIARA_EXTRAS, &r, why);
    bool fine = true;

    if (st)
        return st;
    for (int more = 1; fine && more > 0;) {
        more = tiara_next(r, &ev, why);
        st = more < 0 ? why->status : TIARA_OK;
        fine = more <= 0 || tiara_event_text(r);
        if (more > 0 && fine)
            add_text(hash, tiara_event_text(r));
    }
    tiara_rank_close(r);
    if (!st && fine)
        st = tiara_shape_open(t, rank, &s, why);
    if (st || !fine)
        goto out;
    for (uint32_t i = 0; fine && i < tiara_shape_nodes(s); i++) {
        fine = tiara_shape_name(s, i);
        add_text(hash, tiara_shape_name(s, i));
    }
    tiara_shape_close(s);
out:
    if (!fine)
        snprintf(why->text, sizeof why->text, "no memory for a text");
    return fine ? st : TIARA_IO;
}

static enum tiara_status use_sums(struct tiara_trace *t, uint64_t *hash, struct tiara_error *why)
{
    struct tiara_histogram histogram;
    struct tiara_verdict *verdict;
    struct tiara_traffic *traffic;
    struct tiara_phases *phases;
    enum tiara_status st = tiara_traffic(t, &traffic, why);

    if (!st) {
        add(hash, traffic->n);
        tiara_traffic_free(traffic);
        st = tiara_histogram(t, &histogram, why);
    }
    if (!st) {
        add(hash, histogram.messages.n);
        st = tiara_phases(t, &phases, why);
    }
    if (!st) {
        add(hash, tiara_phases_shapes(phases));
        add(hash, (uint64_t)tiara_phases_coverage(phases)->read);
        tiara_phases_free(phases);
        st = tiara_verify(t, &verdict, why);
    }
    if (!st) {
        add(hash, verdict->problems);
        add(hash, verdict->messages);
        tiara_verdict_free(verdict);
    }
    return st;
}

ti_status work_use_library(const char *path, uint64_t *hash, struct ti_err *err)
{
    struct tiara_error why = {.text = ""};
    struct tiara_trace *t;
    enum tiara_status st = tiara_open(path, &t, &why);

    if (!st) {
        st = tiara_find_sources(t, NULL, &why);
        for (int64_t rank = 0; rank < tiara_ranks(t) && !st; rank++)
            st = use_rank(t, rank, hash, &why);
        if (!st)
            st = use_sums(t, hash, &why);
        tiara_close(t);
    }
    snprintf(err->text, sizeof err->text, "%s", why.text);
    return (ti_status)st;
}
