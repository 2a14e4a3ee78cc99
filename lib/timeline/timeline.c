#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/map.h"
#include "common/scratch.h"
#include "timeline/internal.h"

#define LOOK_EVERY 65536 /* events, whether the user stopped it */

static const struct ti__format *const formats[] = {&ti__paje, &ti__csv, &ti__chrome, &ti__otf2};

/* ---- names ---- */

static const struct ti__format *format_of(const char *path)
{
    const char *name = strrchr(path, '/'), *dot;
    size_t n;

    name = name ? name + 1 : path;
    dot = strrchr(name, '.');
    if (!dot || dot == name)
        return NULL;
    n = strlen(dot);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        for (const char *at = formats[i]->endings; (at = strstr(at, dot)); at++)
            if (!at[n] || at[n] == '.')
                return formats[i];
    return NULL;
}

ti_status ti_timeline_check(const char *path, struct ti_err *err)
{
    if (format_of(path))
        return TI_OK;
    return ti_err_set(
        err, TI_ERR_USAGE,
        "--timeline must be named NAME.json (Perfetto), NAME.otf2 (Vampir), NAME.paje "
        "or NAME.csv, not '%s'",
        path);
}

/* ---- files ---- */

/* Make a file beside the one that it will replace, with its mode. */
static ti_status open_part(struct ti_timeline *t, mode_t mode, struct ti_err *err)
{
    int fd = -1;

    if (asprintf(&t->part, "%s.XXXXXX", t->real) < 0)
        t->part = NULL;
    fd = t->part ? mkostemp(t->part, O_CLOEXEC) : -1;
    if (fd >= 0 && fchmod(fd, mode & 07777) == 0 && (t->file = fdopen(fd, "w")))
        return TI_OK;
    ti_err_errno(err, TI_ERR_IO, "cannot write a file beside '%s'", t->path);
    if (fd >= 0)
        close(fd);
    return TI_ERR_IO;
}

static ti_status open_file(struct ti_timeline *t, struct ti_err *err)
{
    struct stat is;
    bool there = stat(t->path, &is) == 0;
    int fd = open(t->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

    if (fd < 0 && errno == EINTR && ti_stop_check(err) != TI_OK) /* a pipe without a reader */
        return TI_ERR_IO;
    if (fd < 0 || fstat(fd, &is) != 0) {
        ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", t->path);
        if (fd >= 0)
            close(fd);
        return TI_ERR_IO;
    }
    if (!S_ISREG(is.st_mode)) {
        t->file = fdopen(fd, "w");
        return t->file ? TI_OK : ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", t->path);
    }
    close(fd);
    t->real = realpath(t->path, NULL);
    t->made = !there;
    if (!t->real)
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", t->path);
    return open_part(t, is.st_mode, err);
}

ti_status ti_timeline_open(const char *path, struct ti_timeline **out, struct ti_err *err)
{
    size_t none = 0;
    struct ti_timeline *t = ti_grow(NULL, &none, 1, sizeof *t);
    ti_status st;

    t->format = format_of(path);
    t->path = strdup(path);
    if (!t->path || !t->format)
        TI_BUG("no name, or none that was checked");
    st = t->format->open ? t->format->open(t, err) : open_file(t, err);
    if (st)
        ti_timeline_close(t);
    else
        *out = t;
    return st;
}

/* Close the file and give it its name. */
static ti_status publish(struct ti_timeline *t, struct ti_err *err)
{
    bool bad = ferror(t->file) != 0;

    bad = fclose(t->file) != 0 || bad;
    t->file = NULL;
    if (bad || (t->part && rename(t->part, t->real) != 0))
        return ti_err_errno(err, TI_ERR_IO, "cannot write '%s'", t->path);
    t->done = true;
    return TI_OK;
}

void ti_timeline_close(struct ti_timeline *t)
{
    if (!t)
        return;
    if (t->format->close)
        t->format->close(t);
    if (t->file)
        fclose(t->file);
    if (!t->done && t->part && !t->format->open)
        unlink(t->part);
    if (!t->done && t->made)
        unlink(t->real);
    free(t->part);
    free(t->real);
    free(t->path);
    free(t);
}

/* ---- one rank after the other ---- */

static ti_status stop_check(struct ti_timeline_told *told, struct ti_err *err)
{
    return told->events++ % LOOK_EVERY == 0 ? ti_stop_check(err) : TI_OK;
}

static void rank_starts(struct ti_timeline *t, const struct ti__timed *e)
{
    if (t->format->rank_starts)
        t->format->rank_starts(t, e->rank, e->when.start);
}

static void rank_ends(struct ti_timeline *t, const struct ti__track *s,
                      struct ti_timeline_told *told)
{
    if (t->format->rank_ends)
        t->format->rank_ends(t, s->now.rank, s->now.when.end);
    if (s->incomplete)
        ti_ranges_add(&told->incomplete, s->now.rank);
}

static ti_status write_rank(struct ti_timeline *t, int64_t rank, struct ti_timeline_told *told,
                            struct ti_err *err)
{
    struct ti__track s;
    ti_status st = ti__track_open(&s, t, rank, err);
    bool begun = false;
    int more = 0;

    while (!st && (more = ti__track_next(&s, t, err)) > 0) {
        if (!begun)
            rank_starts(t, &s.now);
        begun = true;
        if (t->format->enters)
            t->format->enters(t, &s.now);
        t->format->leaves(t, &s.now);
        st = stop_check(told, err);
    }
    if (!st && more < 0)
        st = ti_walk_status(s.walk);
    if (!st && begun)
        rank_ends(t, &s, told);
    ti__track_close(&s);
    return st;
}

/* ---- all ranks in the order of time ---- */

/* A rank, and what it does next. */
struct turn {
    double when;
    enum { STARTS, ENTERS, LEAVES } does;
    struct ti__track track;
};

struct turns {
    struct turn *of; /* by rank */
    int64_t *heap;   /* ranks; the next one first */
    int64_t n;
};

static bool before(const struct turns *all, int64_t a, int64_t b)
{
    double x = all->of[a].when, y = all->of[b].when;

    return x < y || (!(y < x) && a < b);
}

static void sink(struct turns *all, int64_t at)
{
    for (int64_t child; (child = 2 * at + 1) < all->n; at = child) {
        int64_t rank = all->heap[at];

        if (child + 1 < all->n && before(all, all->heap[child + 1], all->heap[child]))
            child++;
        if (!before(all, all->heap[child], rank))
            return;
        all->heap[at] = all->heap[child];
        all->heap[child] = rank;
    }
}

/* Let the first rank do what it does, and find its next turn.  1; 0 at its end; -1: an error. */
static int take_turn(struct ti_timeline *t, struct turn *turn, struct ti_timeline_told *told,
                     struct ti_err *err)
{
    const struct ti__timed *e = &turn->track.now;
    int more;

    switch (turn->does) {
    case STARTS:
        rank_starts(t, e);
        turn->does = ENTERS;
        turn->when = e->when.call;
        return 1;
    case ENTERS:
        t->format->enters(t, e);
        turn->does = LEAVES;
        turn->when = e->when.end;
        return 1;
    default:
        t->format->leaves(t, e);
        if (stop_check(told, err))
            return -1;
        more = ti__track_next(&turn->track, t, err);
        if (more == 0)
            rank_ends(t, &turn->track, told);
        turn->does = ENTERS;
        turn->when = e->when.call;
        return more;
    }
}

static ti_status open_turns(struct ti_timeline *t, struct turns *all,
                            const struct ti_ranges *missing, struct ti_err *err)
{
    for (int64_t rank = 0; rank < t->show->np; rank++) {
        struct turn *turn = &all->of[rank];
        ti_status st;
        int more;

        if (ti_ranges_hold(missing, rank))
            continue;
        st = ti__track_open(&turn->track, t, rank, err);
        if (st)
            return st;
        more = ti__track_next(&turn->track, t, err);
        if (more < 0)
            return ti_walk_status(turn->track.walk);
        if (more)
            all->heap[all->n++] = rank;
        turn->when = turn->track.now.when.start;
    }
    return TI_OK;
}

static ti_status write_in_order(struct ti_timeline *t, struct ti_timeline_told *told,
                                struct ti_err *err)
{
    size_t none = 0, room = 0;
    struct turns all = {.of = ti_grow(NULL, &none, (size_t)t->show->np + 1, sizeof *all.of),
                        .heap = ti_grow(NULL, &room, (size_t)t->show->np + 1, sizeof *all.heap)};
    ti_status st = open_turns(t, &all, &told->missing, err);

    for (int64_t i = all.n / 2 - 1; i >= 0; i--)
        sink(&all, i);
    while (!st && all.n) {
        struct turn *turn = &all.of[all.heap[0]];
        int more = take_turn(t, turn, told, err);

        if (more < 0)
            st = ti_stopped() ? TI_ERR_IO : ti_walk_status(turn->track.walk);
        if (more == 0)
            all.heap[0] = all.heap[--all.n];
        sink(&all, 0);
    }
    for (int64_t rank = 0; rank < t->show->np; rank++)
        ti__track_close(&all.of[rank].track);
    free(all.of);
    free(all.heap);
    return st;
}

/* ---- the timeline ---- */

static void find_missing(const struct ti_timeline_show *show, struct ti_ranges *missing)
{
    for (int64_t rank = 0; rank < show->np; rank++) {
        const struct ti_timeline_job *job = &show->job[ti__job_of(show, rank)];

        if (!ti_source_has(job->source, rank - job->first))
            ti_ranges_add(missing, rank);
    }
}

static ti_status write_all(struct ti_timeline *t, struct ti_timeline_told *told, struct ti_err *err)
{
    ti_status st = t->format->begin(t, err);

    if (!t->format->by_rank)
        return st ? st : write_in_order(t, told, err);
    for (int64_t rank = 0; !st && rank < t->show->np; rank++)
        if (!ti_ranges_hold(&told->missing, rank))
            st = write_rank(t, rank, told, err);
    return st;
}

ti_status ti_timeline_write(struct ti_timeline *t, const struct ti_timeline_show *show,
                            struct ti_timeline_told *told, struct ti_err *err)
{
    size_t none = 0;
    ti_status st = TI_OK;

    *told = (struct ti_timeline_told){0};
    t->show = show;
    t->comms = ti_grow(NULL, &none, (size_t)show->njobs, sizeof *t->comms);
    for (int i = 0; i < show->njobs; i++)
        if (!ti_comms_init(&t->comms[i], ti_source_nranks(show->job[i].source)))
            st = ti_err_memory(err, "write the timeline");
    find_missing(show, &told->missing);
    if (!st)
        st = show->intervals ? ti_intervals_open(show->intervals, &t->intervals, err)
                             : ti__track_starts(show, &t->starts, &told->aligned, err);
    if (!st)
        st = write_all(t, told, err);
    if (!st && t->format->end)
        st = t->format->end(t, err);
    if (!st && t->file)
        st = publish(t, err);
    for (int i = 0; i < show->njobs; i++)
        ti_comms_free(&t->comms[i]);
    free(t->comms);
    free(t->starts);
    ti_intervals_close(t->intervals);
    t->comms = NULL;
    t->starts = NULL;
    t->intervals = NULL;
    return st;
}

void ti_timeline_told_free(struct ti_timeline_told *told)
{
    ti_ranges_free(&told->missing);
    ti_ranges_free(&told->incomplete);
}
