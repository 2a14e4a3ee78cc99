#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "timeline/internal.h"

int ti__job_of(const struct ti_timeline_show *show, int64_t rank)
{
    int job = show->njobs - 1;

    while (job > 0 && show->job[job].first > rank)
        job--;
    return job;
}

/* ---- where ranks begin ---- */

/* How a rank begins by its durations. */
struct begin {
    double init;      /* seconds until it leaves MPI_Init */
    double left;      /* time at which it did, by the clock of its machine */
    double gap;       /* as in struct ti__start */
    char machine[64]; /* "": not known */
};

static ti_status no_durations(const struct ti_timeline_show *show, int64_t rank, struct ti_err *err)
{
    ti_err_set(err, TI_ERR_INPUT, "rank %" PRId64 " of '%s' has no durations", rank,
               show->job[0].name);
    ti_err_hint(err, "ti-acquire --times records them; ti-replay --timeline simulates times");
    return TI_ERR_INPUT;
}

/* Read the metadata at the end of the trace.  The library works about as long for each event. */
static void read_end(struct ti_reader *r, struct begin *b)
{
    const char *begin = ti_reader_info(r, "begin"), *times = ti_reader_info(r, "times_ns");
    unsigned long long own = 0;
    struct ti_totals totals;
    long long us = 0;

    if (!begin || sscanf(begin, "%lld %63s", &us, b->machine) != 2)
        b->machine[0] = '\0';
    b->left = (double)us / 1e6;
    if (times && sscanf(times, "elapsed %*u own %llu", &own) == 1 && ti_reader_totals(r, &totals) &&
        totals.events > 1)
        b->gap = (double)own / 1e9 / (double)(totals.events - 1);
}

static ti_status read_begin(const struct ti_timeline_show *show, int64_t rank, struct begin *b,
                            struct ti_err *err)
{
    struct ti_reader *r;
    struct ti_event ev;
    ti_status st = ti_source_reader(show->job[0].source, rank, &r, err);
    int burst, call, more;

    if (st)
        return st;
    burst = ti_reader_extra(r, TI_EXTRA_BURST);
    call = ti_reader_extra(r, TI_EXTRA_CALL);
    ti_reader_want_extras(r);
    more = ti_reader_next(r, &ev, err);
    if (burst < 0 || call < 0)
        st = no_durations(show, rank, err);
    else if (more < 0)
        st = ti_reader_status(r);
    else if (more > 0 && ev.extra)
        b->init = (double)(ev.extra[burst] + ev.extra[call]) / 1e9;
    if (!st)
        st = ti_reader_skip(r, err);
    if (!st)
        read_end(r, b);
    ti_reader_close(r);
    return st;
}

/* By the clock if all ranks have the same one, else as if all left MPI_Init at once.  The first
 * rank begins at 0. */
static bool align(const struct begin *b, const bool *there, int64_t np, struct ti__start *starts)
{
    const struct begin *one = NULL;
    bool same = true;
    double first = 0;

    for (int64_t i = 0; i < np; i++) {
        one = one || !there[i] ? one : &b[i];
        if (there[i] && (!b[i].machine[0] || strcmp(b[i].machine, one->machine) != 0))
            same = false;
    }
    for (int64_t i = 0; one && i < np; i++) {
        starts[i].at = (same ? b[i].left - one->left : 0) - b[i].init;
        starts[i].gap = b[i].gap;
        first = there[i] && starts[i].at < first ? starts[i].at : first;
    }
    for (int64_t i = 0; i < np; i++)
        starts[i].at -= first;
    return same;
}

ti_status ti__track_starts(const struct ti_timeline_show *show, struct ti__start **starts,
                           bool *aligned, struct ti_err *err)
{
    size_t none = 0, room = 0, bools = 0;
    struct begin *b = ti_grow(NULL, &none, (size_t)show->np + 1, sizeof *b);
    bool *there = ti_grow(NULL, &bools, (size_t)show->np + 1, sizeof *there);
    ti_status st = TI_OK;

    *starts = ti_grow(NULL, &room, (size_t)show->np + 1, sizeof **starts);
    for (int64_t rank = 0; !st && rank < show->np; rank++) {
        there[rank] = ti_source_has(show->job[0].source, rank);
        if (there[rank])
            st = read_begin(show, rank, &b[rank], err);
    }
    if (!st)
        *aligned = align(b, there, show->np, *starts);
    free(b);
    free(there);
    return st;
}

/* ---- a rank ---- */

ti_status ti__track_open(struct ti__track *s, const struct ti_timeline *t, int64_t rank,
                         struct ti_err *err)
{
    int job = ti__job_of(t->show, rank);
    const struct ti_timeline_job *of = &t->show->job[job];
    ti_status st;

    *s = (struct ti__track){0};
    st = ti_walk_open(of->source, &t->comms[job], rank - of->first, &s->walk, err);
    if (st)
        return st;
    s->now = (struct ti__timed){
        .rank = rank, .job = job, .step = &s->step, .r = ti_walk_reader(s->walk)};
    if (!t->starts) {
        s->now.waits = true;
        return TI_OK;
    }
    s->clock = t->starts[rank].at;
    s->gap = t->starts[rank].gap;
    s->burst = ti_reader_extra(s->now.r, TI_EXTRA_BURST);
    s->call = ti_reader_extra(s->now.r, TI_EXTRA_CALL);
    ti_reader_want_extras(s->now.r);
    return TI_OK;
}

static void by_durations(struct ti__track *s)
{
    const uint64_t *extra = s->step.ev.extra;
    struct ti_event_times *when = &s->now.when;

    *when = (struct ti_event_times){.index = s->step.index, .start = s->clock};
    when->call = when->start + (extra ? (double)extra[s->burst] / 1e9 : 0);
    when->end = when->call + (extra ? (double)extra[s->call] / 1e9 : 0);
    s->clock = when->end + s->gap;
}

int ti__track_next(struct ti__track *s, const struct ti_timeline *t, struct ti_err *err)
{
    const struct ti_site_line *line;
    int more;

    if (t->intervals && !ti_interval_next(t->intervals, s->now.rank, &s->place, &s->now.when))
        return 0;
    /* events that a replay left out have no times */
    do
        more = ti_walk_next(s->walk, &s->step, err);
    while (more > 0 && t->intervals && s->step.index < s->now.when.index);
    if (more <= 0) {
        s->incomplete = !more && ti_reader_end(s->now.r) != TI_END_COMPLETE;
        return more;
    }
    if (!t->intervals)
        by_durations(s);
    s->now.site = ti_reader_string(s->now.r, TI_STRING_SITE, s->step.ev.site);
    s->now.site = s->now.site ? s->now.site : "";
    line = *s->now.site ? ti_symbolizer_find(t->show->symbolizer, s->now.site) : NULL;
    s->now.line = line ? *line : (struct ti_site_line){0};
    return 1;
}

void ti__track_close(struct ti__track *s)
{
    ti_walk_close(s->walk);
    s->walk = NULL;
}
