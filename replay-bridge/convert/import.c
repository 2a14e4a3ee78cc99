#include "replay-bridge/convert/import.h"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/random.h>

#include "common/cli.h"
#include "common/scratch.h"
#include "replay-bridge/convert/import_internal.h"
#include "sound/check.h"
#include "trace/rankname.h"

#define RANKS_AT_ONCE 64 /* writers that are open at a time, for a file of all ranks */

void ti__import_note(struct ti__import *im, enum ti__note which, const struct ti_lines *l,
                     const char *fmt, ...)
{
    char text[512];
    va_list ap;

    if (im->noted[which])
        return;
    im->noted[which] = true;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ti_warn("%s:%lld: %s", l->path, (long long)l->number, text);
}

/* ---- ranks ---- */

static ti_status open_rank(struct ti__import *im, struct ti__import_rank *r, int64_t rank,
                           bool writes, struct ti_err *err)
{
    char name[TI_RANK_NAME_BYTES], number[32];
    int32_t self = (int32_t)rank;
    const char *const info[] = {"rank",    number,    "host",     "",     "application",
                                "simgrid", "counter", "simgrid",  "unit", "flops",
                                "exact",   "yes",     "estimate", "no",   "threads",
                                "caller",  "mode",    "full"};
    ti_status st;

    *r = (struct ti__import_rank){
        .grammar = {.syntax = im->syntax, .element = ti__import_element(im), .np = im->np}};
    if (!writes)
        return TI_OK;
    ti_rank_name(rank, name);
    snprintf(r->path, sizeof r->path, "%s", ti_scratch_path(name));
    st = ti_writer_open(r->path, (uint32_t)rank, (uint32_t)im->np, im->run_id, &r->w, err);
    if (st)
        return st;
    snprintf(number, sizeof number, "%lld", (long long)rank);
    ti_writer_info(r->w, info, (int)(sizeof info / sizeof info[0] / 2));
    ti_writer_comm(r->w, 0, TI_KIND_WORLD, rank, im->np, NULL, 0, NULL);
    ti_writer_comm(r->w, 1, TI_KIND_SELF, 0, 1, &self, 0, NULL);
    return TI_OK;
}

static ti_status close_rank(struct ti__import *im, struct ti__import_rank *r, ti_status st,
                            struct ti_err *err)
{
    struct ti_err own;

    if (r->w) {
        ti_status closed = ti_writer_close(r->w, TI_END_COMPLETE, NULL, 0, &own);

        im->out->events += r->events;
        if (closed && !st) {
            *err = own;
            st = closed;
        }
    }
    free(r->grammar.counts);
    free(r->pending);
    free(r->used);
    ti_map_free(&r->sites);
    return st;
}

/* Convert the lines of ranks `first` to `first` + `n` - 1 in a file. */
static ti_status read_ranks(struct ti__import *im, const char *path, struct ti__import_rank *r,
                            int64_t first, int64_t n, struct ti_err *err)
{
    struct ti_lines l;
    ti_status st = ti_lines_open(path, &l, err);
    int got = 1;

    while (!st && (got = ti_lines_next(&l, err)) == 1) {
        struct ti_action a;

        st = ti_action_begin(&l, &a, err);
        if (!st && a.rank >= first && a.rank < first + n) {
            im->out->lines += r->w != NULL;
            st = ti__import_line(im, &r[a.rank - first], &l, &a, err);
        }
        if (!st && l.number % 4096 == 0)
            st = ti_stop_check(err);
    }
    if (!st && got < 0)
        st = TI_ERR_INPUT;
    for (int64_t i = 0; i < n && !st; i++)
        if (!r[i].ended)
            ti__import_end(im, &r[i], &l, false);
    ti_lines_close(&l);
    return st;
}

static ti_status import_ranks(struct ti__import *im, int64_t first, int64_t n, bool writes,
                              struct ti_err *err)
{
    const char *path = im->files.path[im->files.merged ? 0 : first];
    size_t cap = 0;
    struct ti__import_rank *r = ti_grow(NULL, &cap, (size_t)n, sizeof *r);
    int64_t opened = 0;
    ti_status st = TI_OK;

    while (opened < n && !st) {
        st = open_rank(im, &r[opened], first + opened, writes, err);
        opened += !st;
    }
    if (!st)
        st = read_ranks(im, path, r, first, n, err);
    for (int64_t i = 0; i < opened; i++)
        st = close_rank(im, &r[i], st, err);
    free(r);
    return st;
}

static ti_status write_ranks(struct ti__import *im, struct ti_err *err)
{
    int64_t at_once = im->files.merged ? RANKS_AT_ONCE : 1;
    ti_status st = TI_OK;

    for (int64_t rank = 0; rank < im->np && !st; rank += at_once) {
        int64_t left = im->np - rank;

        ti_progress("writing", "ranks", rank, im->np);
        st = import_ranks(im, rank, left < at_once ? left : at_once, true, err);
    }
    ti_progress_end(!st);
    return st;
}

/* ---- check ---- */

/* Replace the event of a problem by its line, found by a second conversion of that rank. */
static void locate(struct ti__import *im, struct ti_problem *p)
{
    struct ti_err none;

    im->find = p->event;
    im->found = (struct ti__place){NULL, 0};
    if (p->event == TI_NO_EVENT || p->rank < 0 || p->rank >= im->np)
        return;
    import_ranks(im, p->rank, 1, false, &none);
    if (im->found.line)
        snprintf(p->call, sizeof p->call, "%.120s:%lld", im->found.path, (long long)im->found.line);
}

static ti_status pause_check(void *arg, struct ti_err *err)
{
    (void)arg;
    return ti_stop_check(err);
}

ti_status ti_import_check(const char *input, struct ti_problems *problems, struct ti_err *err)
{
    const struct ti_visitor visitor = {.pause = pause_check};
    struct ti_check check = {0};
    struct ti_source *s = NULL;
    ti_status st = ti_source_open(ti_scratch_dir(), &s, err);

    if (!st)
        st = ti_check(s, &visitor, &check, problems, err);
    ti_check_free(&check);
    ti_source_close(s);
    if (st || !problems->n)
        return st;
    return ti_err_set(err, TI_ERR_INPUT, "'%s' is no sound trace: %llu problem%s", input,
                      (unsigned long long)problems->n, problems->n > 1 ? "s" : "");
}

static void release(struct ti__import *im)
{
    ti_actions_free(&im->files);
    ti_map_free(&im->ranks);
    ti_map_free(&im->channels);
    ti_map_free(&im->takers);
    free(im->largest);
    free(im->sender);
}

ti_status ti_import(const char *list, const struct ti_import *how, struct ti_imported *out,
                    struct ti_problems *problems, struct ti_err *err)
{
    struct ti__import im = {.how = how, .out = out};
    ti_status st;

    *out = (struct ti_imported){0};
    *problems = (struct ti_problems){0};
    if (getrandom(im.run_id, sizeof im.run_id, 0) != (ssize_t)sizeof im.run_id)
        return ti_err_errno(err, TI_ERR_IO, "cannot draw a run id");
    st = ti_actions_list(list, &im.files, err);
    if (!st)
        st = ti__import_survey(&im, err);
    if (!st) {
        out->np = im.np;
        st = write_ranks(&im, err);
    }
    if (!st)
        st = ti_import_check(im.files.path[0], problems, err);
    for (int i = 0; i < problems->shown; i++)
        locate(&im, &problems->list[i]);
    release(&im);
    return st;
}
