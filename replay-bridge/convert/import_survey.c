/* The first reading of action files: their ranks, syntax and messages. */
#include "replay-bridge/convert/import_internal.h"

#include "common/scratch.h"

static ti_status contradiction(const struct ti__place *tags, const struct ti__place *old,
                               struct ti_err *err)
{
    ti_err_set(
        err, TI_ERR_INPUT,
        "%s:%lld: this line has tags (SimGrid 3.20 and later), but %s:%lld has none (before)",
        tags->path, (long long)tags->line, old->path, (long long)old->line);
    ti_err_hint(err, "give --syntax tags or --syntax old");
    return TI_ERR_INPUT;
}

static void weigh(struct ti__import *im, const struct ti_lines *l, const struct ti_action *a)
{
    bool differ;
    enum ti_syntax s = ti_action_syntax(a, &differ);

    if (s == TI_SYNTAX_TAGS && !im->tags.line)
        im->tags = ti__here(l);
    if (s == TI_SYNTAX_OLD && !im->old.line)
        im->old = ti__here(l);
    if (differ && !im->differ.line)
        im->differ = ti__here(l);
    im->p = im->p || a->p;
}

static ti_status choose_syntax(struct ti__import *im, struct ti_err *err)
{
    im->syntax = im->how->syntax;
    if (im->syntax)
        return TI_OK;
    if (im->tags.line && im->old.line)
        return contradiction(&im->tags, &im->old, err);
    if (im->differ.line && !im->tags.line && !im->old.line) {
        ti_err_set(err, TI_ERR_INPUT,
                   "%s:%lld: no line shows whether this is DESTINATION TAG SIZE (SimGrid 3.20 and "
                   "later) or DESTINATION SIZE DATATYPE (before)",
                   im->differ.path, (long long)im->differ.line);
        ti_err_hint(err, "give --syntax tags or --syntax old");
        return TI_ERR_INPUT;
    }
    im->syntax = im->old.line ? TI_SYNTAX_OLD : TI_SYNTAX_TAGS;
    return TI_OK;
}

/* Note the rank and the syntax of a line. */
static ti_status survey_line(struct ti__import *im, const struct ti_lines *l, int64_t file,
                             struct ti_err *err)
{
    struct ti_action a;
    ti_status st = ti_action_begin(l, &a, err);

    if (st)
        return st;
    if (!im->files.merged && a.rank != file)
        return ti_lines_wrong(l, err, "a line of rank %lld in the file of rank %lld",
                              (long long)a.rank, (long long)file);
    ti_map_add(&im->ranks, a.rank, 0, 0, 0);
    if (a.rank >= im->np)
        im->np = a.rank + 1;
    weigh(im, l, &a);
    if (l->cut)
        ti__import_note(
            im, TI__NOTE_NO_NEWLINE, l,
            "the last line has no newline, and SimGrid would not read it; it is converted");
    return TI_OK;
}

/* SimGrid has one default datatype for all ranks, set by each "init" in the order of execution.  So
 * the lines must agree. */
static ti_status read_init(struct ti__import *im, const struct ti_lines *l,
                           const struct ti_action *a, struct ti_err *err)
{
    if (im->init.line && im->doubles != a->doubles && !im->how->element) {
        ti_lines_wrong(
            l, err, "sizes without a datatype are %s by this \"init\", but %s by that of %s:%lld",
            a->doubles ? "doubles" : "bytes", im->doubles ? "doubles" : "bytes", im->init.path,
            (long long)im->init.line);
        ti_err_hint(err, "give --datatype bytes or --datatype doubles");
        return TI_ERR_INPUT;
    }
    if (!im->init.line)
        im->init = ti__here(l);
    im->doubles = a->doubles;
    return TI_OK;
}

static void count_send(struct ti__import *im, int64_t from, int64_t to, int64_t tag, int64_t bytes)
{
    size_t known = im->takers.n;
    int64_t c = ti_map_add(&im->channels, from, to, tag, 0);
    int64_t t = ti_map_add(&im->takers, to, tag, 0, 0);

    im->largest = ti_grow(im->largest, &im->largest_cap, im->channels.n, sizeof *im->largest);
    if (im->largest[c] < bytes)
        im->largest[c] = bytes;
    im->sender = ti_grow(im->sender, &im->sender_cap, im->takers.n, sizeof *im->sender);
    if ((size_t)t == known)
        im->sender[t] = from;
    else if (im->sender[t] != from)
        im->sender[t] = -1;
}

/* Note the sender and the size of each sent message. */
static ti_status survey_messages(struct ti__import *im, const struct ti_lines *l, int64_t file,
                                 struct ti_err *err)
{
    struct ti_grammar g = {.syntax = im->syntax, .element = ti__import_element(im)};
    struct ti_action a;
    ti_status st;

    (void)file;
    if ((st = ti_action_begin(l, &a, err)) || (st = ti_action_read(l, &g, &a, err)))
        return st;
    if ((a.act == TI_ACT_MESSAGE && !a.recv) || a.act == TI_ACT_SENDRECV)
        count_send(im, a.rank, a.side[0].peer, a.side[0].tag, a.side[0].bytes);
    return TI_OK;
}

static ti_status survey_init(struct ti__import *im, const struct ti_lines *l, int64_t file,
                             struct ti_err *err)
{
    struct ti_grammar g = {.syntax = im->syntax, .element = 1};
    struct ti_action a;
    ti_status st = survey_line(im, l, file, err);

    if (st || (st = ti_action_begin(l, &a, err)) || a.act != TI_ACT_INIT)
        return st;
    st = ti_action_read(l, &g, &a, err);
    return st ? st : read_init(im, l, &a, err);
}

static ti_status each_line(struct ti__import *im, int64_t file,
                           ti_status (*look)(struct ti__import *, const struct ti_lines *, int64_t,
                                             struct ti_err *),
                           struct ti_err *err)
{
    struct ti_lines l;
    ti_status st = ti_lines_open(im->files.path[file], &l, err);
    int got = 1;

    while (!st && (got = ti_lines_next(&l, err)) == 1) {
        st = look(im, &l, file, err);
        if (!st && l.number % 4096 == 0)
            st = ti_stop_check(err);
    }
    if (!st && got < 0)
        st = ferror(l.f) ? TI_ERR_IO : TI_ERR_INPUT;
    ti_lines_close(&l);
    return st;
}

static ti_status all_there(const struct ti__import *im, struct ti_err *err)
{
    int64_t rank = 0;

    if (!im->ranks.n)
        return ti_err_set(err, TI_ERR_INPUT, "'%s' has no actions", im->files.path[0]);
    if ((int64_t)im->ranks.n == im->np)
        return TI_OK;
    while (ti_map_find(&im->ranks, rank, 0, 0, 0) >= 0)
        rank++;
    return ti_err_set(err, TI_ERR_INPUT, "'%s': rank %lld of %lld has no actions",
                      im->files.path[im->files.merged ? 0 : rank], (long long)rank,
                      (long long)im->np);
}

ti_status ti__import_survey(struct ti__import *im, struct ti_err *err)
{
    ti_status st = TI_OK;

    im->np = im->files.merged ? 0 : im->files.n;
    for (int64_t i = 0; i < im->files.n && !st; i++)
        st = each_line(im, i, survey_init, err);
    if (!st)
        st = all_there(im, err);
    if (!st)
        st = choose_syntax(im, err);
    for (int64_t i = 0; i < im->files.n && !st; i++)
        st = each_line(im, i, survey_messages, err);
    return st;
}
