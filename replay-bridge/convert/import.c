#include "replay-bridge/convert/import.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/cli.h"
#include "replay-bridge/convert/syntax.h"
#include "formats/rankname.h"
#include "formats/writer.h"
#include "common/scratch.h"
#include "sound/check.h"

#define RANKS_AT_ONCE 64 /* writers that are open at a time, for a file of all ranks */

/* Kinds of guesses; each is reported once. */
enum note {
    NOTE_NO_NEWLINE,
    NOTE_NO_INIT,
    NOTE_NO_FINALIZE,
    NOTE_NO_DATATYPE,
    NOTE_NO_SIZE,
    NOTE_NO_TAG,
    NOTE_ANY,
    NOTE_BARE_WAIT,
    NOTE_UNWAITED,
    NOTE_TEST,
    NOTE_FRACTION,
    NOTE_FLOPS,
    NOTE_SLEEP,
    NOTE_COMM,
    NOTE_COUNT
};

/* A line of a file. */
struct place {
    const char *path;
    int64_t line; /* 0: unset */
};

/* A request that has not completed. */
struct pending {
    int64_t peer, tag, req;
    bool recv, any;
};

struct rank {
    struct ti_writer *w; /* NULL: write nothing, find the line of event import.find */
    char path[PATH_MAX];
    struct ti_grammar grammar;
    uint64_t volume; /* of the current burst */
    double rest;     /* fraction of a flop that is carried over, below 1 */
    bool begun, ended;
    struct place sub; /* line of a comm_size other than np; collectives after it are an error */
    uint64_t events;
    struct pending *pending; /* in the order they were posted */
    size_t npending, pending_cap;
    uint8_t *used; /* by request number */
    size_t used_cap;
    uint32_t site; /* call site of the next event; 0: none */
    struct ti_map sites;
};

struct import {
    const struct ti_import *how;
    struct ti_actions files;
    int64_t np;
    enum ti_syntax syntax;
    struct place tags, old, differ; /* first line of each syntax, and of ambiguous lines */
    struct ti_map ranks;            /* ranks that have lines */
    struct place init;              /* the first "init" */
    bool doubles, p;                /* "init" chooses doubles; ranks are named p0, p1, ... */
    struct ti_map channels;         /* (source, destination, tag) -> index in `largest` */
    int64_t *largest;               /* bytes of the largest message */
    size_t largest_cap;
    struct ti_map takers; /* (destination, tag) -> index in `sender` */
    int64_t *sender;      /* the only rank that sends these messages; -1: there are several */
    size_t sender_cap;
    bool noted[NOTE_COUNT];
    uint8_t run_id[TI_RUN_ID_BYTES];
    struct ti_imported *out;
    uint64_t find;      /* index of the event whose line locate() looks for */
    struct place found; /* its line */
};

static struct place here(const struct ti_lines *l)
{
    return (struct place){l->path, l->number};
}

static void note(struct import *im, enum note which, const struct ti_lines *l, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static void note(struct import *im, enum note which, const struct ti_lines *l, const char *fmt, ...)
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

/* ---- survey ---- */

static ti_status contradiction(const struct place *tags, const struct place *old,
                               struct ti_err *err)
{
    ti_err_set(
        err, TI_ERR_INPUT,
        "%s:%lld: this line has tags, as since SimGrid 3.20, but %s:%lld has none, as before",
        tags->path, (long long)tags->line, old->path, (long long)old->line);
    ti_err_hint(err, "--syntax tags or --syntax old decides");
    return TI_ERR_INPUT;
}

static void weigh(struct import *im, const struct ti_lines *l, const struct ti_action *a)
{
    bool differ;
    enum ti_syntax s = ti_action_syntax(a, &differ);

    if (s == TI_SYNTAX_TAGS && !im->tags.line)
        im->tags = here(l);
    if (s == TI_SYNTAX_OLD && !im->old.line)
        im->old = here(l);
    if (differ && !im->differ.line)
        im->differ = here(l);
    im->p = im->p || a->p;
}

static ti_status choose_syntax(struct import *im, struct ti_err *err)
{
    im->syntax = im->how->syntax;
    if (im->syntax)
        return TI_OK;
    if (im->tags.line && im->old.line)
        return contradiction(&im->tags, &im->old, err);
    if (im->differ.line && !im->tags.line && !im->old.line) {
        ti_err_set(err, TI_ERR_INPUT,
                   "%s:%lld: DESTINATION TAG SIZE, as since SimGrid 3.20, or DESTINATION SIZE "
                   "DATATYPE, as before? No line tells",
                   im->differ.path, (long long)im->differ.line);
        ti_err_hint(err, "--syntax tags or --syntax old decides");
        return TI_ERR_INPUT;
    }
    im->syntax = im->old.line ? TI_SYNTAX_OLD : TI_SYNTAX_TAGS;
    return TI_OK;
}

/* Note the rank and the syntax of a line. */
static ti_status survey_line(struct import *im, const struct ti_lines *l, int64_t file,
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
        note(im, NOTE_NO_NEWLINE, l,
             "the last line has no newline, and SimGrid would not read it; it is taken");
    return TI_OK;
}

/* SimGrid has one default datatype for all ranks, set by each "init" in the order of execution.  So
 * the lines must agree. */
static ti_status take_init(struct import *im, const struct ti_lines *l, const struct ti_action *a,
                           struct ti_err *err)
{
    if (im->init.line && im->doubles != a->doubles && !im->how->element) {
        ti_lines_wrong(
            l, err, "sizes without a datatype are %s by this \"init\", but %s by that of %s:%lld",
            a->doubles ? "doubles" : "bytes", im->doubles ? "doubles" : "bytes", im->init.path,
            (long long)im->init.line);
        ti_err_hint(err, "--datatype bytes or --datatype doubles decides");
        return TI_ERR_INPUT;
    }
    if (!im->init.line)
        im->init = here(l);
    im->doubles = a->doubles;
    return TI_OK;
}

static void take_send(struct import *im, int64_t from, int64_t to, int64_t tag, int64_t bytes)
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

static int64_t element_of(const struct import *im)
{
    return im->how->element ? im->how->element : im->doubles ? 8 : 1;
}

/* Note the sender and the size of each sent message. */
static ti_status survey_messages(struct import *im, const struct ti_lines *l, int64_t file,
                                 struct ti_err *err)
{
    struct ti_grammar g = {.syntax = im->syntax, .element = element_of(im)};
    struct ti_action a;
    ti_status st;

    (void)file;
    if ((st = ti_action_begin(l, &a, err)) || (st = ti_action_read(l, &g, &a, err)))
        return st;
    if ((a.act == TI_ACT_MESSAGE && !a.recv) || a.act == TI_ACT_SENDRECV)
        take_send(im, a.rank, a.side[0].peer, a.side[0].tag, a.side[0].bytes);
    return TI_OK;
}

static ti_status survey_init(struct import *im, const struct ti_lines *l, int64_t file,
                             struct ti_err *err)
{
    struct ti_grammar g = {.syntax = im->syntax, .element = 1};
    struct ti_action a;
    ti_status st = survey_line(im, l, file, err);

    if (st || (st = ti_action_begin(l, &a, err)) || a.act != TI_ACT_INIT)
        return st;
    st = ti_action_read(l, &g, &a, err);
    return st ? st : take_init(im, l, &a, err);
}

static ti_status each_line(struct import *im, int64_t file,
                           ti_status (*look)(struct import *, const struct ti_lines *, int64_t,
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

static ti_status all_there(const struct import *im, struct ti_err *err)
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

static ti_status survey(struct import *im, struct ti_err *err)
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

/* ---- events ---- */

static void emit(struct import *im, struct rank *r, const struct ti_lines *l, struct ti_event *ev)
{
    ev->volume = r->volume;
    ev->site = r->site;
    r->volume = 0;
    r->site = 0;
    if (r->w)
        ti_writer_event(r->w, ev);
    else if (r->events == im->find)
        im->found = here(l);
    r->events++;
}

static struct ti_event event(uint32_t op)
{
    return (struct ti_event){.op = op, .vec = {{NULL, 8, 0}, {NULL, 8, 0}}};
}

static void put(struct ti_event *ev, enum ti_field f, int64_t value)
{
    ev->mask |= 1u << f;
    ev->arg[f] = value;
}

/* Add flops to the burst.  Volumes are whole numbers, so a fraction is carried over. */
static ti_status compute(struct import *im, struct rank *r, const struct ti_lines *l, double flops,
                         struct ti_err *err)
{
    double whole = floor(flops + r->rest);

    if (flops != floor(flops))
        note(im, NOTE_FRACTION, l,
             "flops that are no whole number are rounded; of all of a rank, less than one is lost");
    if (whole >= 1e18 || r->volume > UINT64_MAX - (uint64_t)whole)
        return ti_lines_wrong(l, err, "more flops in a burst than a trace can count");
    r->rest = flops + r->rest - whole;
    r->volume += (uint64_t)whole;
    return TI_OK;
}

static ti_status rest(struct import *im, struct rank *r, const struct ti_lines *l, double seconds,
                      struct ti_err *err)
{
    if (im->how->speed <= 0) {
        ti_lines_wrong(l, err, "a trace has volumes, and no time to sleep");
        ti_err_hint(err, "--speed SPEED takes it for what a host of that speed computes meanwhile");
        return TI_ERR_INPUT;
    }
    note(im, NOTE_SLEEP, l,
         "sleep is taken for a burst of that time at the --speed that was given");
    return compute(im, r, l, rint(seconds * im->how->speed), err);
}

static void begin(struct import *im, struct rank *r, const struct ti_lines *l, bool said)
{
    struct ti_event ev = event(TI_OP_INIT);
    uint64_t volume = r->volume;

    if (!said)
        note(im, NOTE_NO_INIT, l,
             "the rank does not begin with \"init\"; it is put there, and sizes without a datatype "
             "are %s",
             element_of(im) == 1 ? "bytes" : "doubles");
    r->begun = true;
    r->volume = 0;
    emit(im, r, l, &ev);
    r->volume = volume;
}

/* ---- requests ---- */

static int64_t lowest_free(struct rank *r)
{
    int64_t n = 0;

    while ((size_t)n < r->used_cap && r->used[n])
        n++;
    r->used = ti_grow(r->used, &r->used_cap, (size_t)n + 1, 1);
    r->used[n] = 1;
    return n;
}

static void add_pending(struct rank *r, const struct pending *p)
{
    r->pending = ti_grow(r->pending, &r->pending_cap, r->npending + 1, sizeof *r->pending);
    r->pending[r->npending++] = *p;
}

static void complete(struct import *im, struct rank *r, const struct ti_lines *l, uint32_t op,
                     size_t i)
{
    struct ti_event ev = event(op);

    put(&ev, TI_F_REQ, r->pending[i].req);
    emit(im, r, l, &ev);
    r->used[r->pending[i].req] = 0;
    memmove(&r->pending[i], &r->pending[i + 1], (--r->npending - i) * sizeof *r->pending);
}

/* Complete the request of "wait SOURCE DESTINATION TAG": as in SimGrid, the first match posted. */
static ti_status wait_for(struct import *im, struct rank *r, const struct ti_lines *l,
                          const struct ti_action *a, struct ti_err *err)
{
    /* SimGrid stores the request of a receive from any source under this number minus 1. */
    bool any = a->src == TI_SG_ANY_SOURCE || a->src == TI_SG_ANY_SOURCE - 1;

    for (size_t i = 0; i < r->npending; i++) {
        const struct pending *p = &r->pending[i];
        int64_t src = p->recv ? p->peer : a->rank, dst = p->recv ? a->rank : p->peer;

        if (p->tag == a->tag && dst == a->dst && (src == a->src || (p->any && any))) {
            complete(im, r, l, TI_OP_WAIT, i);
            return TI_OK;
        }
    }
    return ti_lines_wrong(l, err, "no request from %lld to %lld with tag %lld is outstanding",
                          (long long)a->src, (long long)a->dst, (long long)a->tag);
}

static ti_status wait_bare(struct import *im, struct rank *r, const struct ti_lines *l,
                           struct ti_err *err)
{
    enum ti_bare_wait how = im->how->wait ? im->how->wait
                            : im->p       ? TI_WAIT_LAST_RECV
                                          : TI_WAIT_LAST;
    bool recv_only = how == TI_WAIT_LAST_RECV || how == TI_WAIT_FIRST_RECV;
    bool first = how == TI_WAIT_FIRST || how == TI_WAIT_FIRST_RECV;
    size_t n = 0, which = 0;

    for (size_t i = 0; i < r->npending; i++)
        if (r->pending[i].recv || !recv_only) {
            which = n && first ? which : i;
            n++;
        }
    if (!n)
        return ti_lines_wrong(l, err, "there is no %s to wait for",
                              recv_only ? "outstanding receive" : "outstanding request");
    if (n > 1)
        note(im, NOTE_BARE_WAIT, l,
             "it does not say which of %zu requests; it is the one posted %s, %s (--wait)", n,
             first ? "first" : "last",
             im->how->wait ? "as --wait says" : "as it was for SimGrid then");
    complete(im, r, l, TI_OP_WAIT, which);
    return TI_OK;
}

static void wait_all(struct import *im, struct rank *r, const struct ti_lines *l)
{
    struct ti_event ev = event(TI_OP_WAITALL);

    if (!r->npending)
        return; /* no event, so the burst continues */
    put(&ev, TI_F_ALL, 1);
    emit(im, r, l, &ev);
    for (size_t i = 0; i < r->npending; i++)
        r->used[r->pending[i].req] = 0;
    r->npending = 0;
}

/* ---- messages ---- */

static ti_status find_peer(struct import *im, const struct ti_lines *l, const struct ti_action *a,
                           struct ti_message_side *m, struct ti_err *err)
{
    int64_t t;

    if (m->peer == TI_SG_ANY_SOURCE && a->recv) {
        t = ti_map_find(&im->takers, a->rank, m->tag, 0, 0);
        if (t < 0 || im->sender[t] < 0)
            return ti_lines_wrong(l, err,
                                  t < 0 ? "it takes any source, and nobody sends rank %lld tag %lld"
                                        : "it takes any source, and several ranks send rank %lld "
                                          "tag %lld: which one it was, the file does not say",
                                  (long long)a->rank, (long long)m->tag);
        m->peer = im->sender[t];
        note(im, NOTE_ANY, l,
             "it takes any source; rank %lld is the only one that sends this tag here",
             (long long)m->peer);
    }
    if (m->tag == TI_SG_ANY_TAG)
        return ti_lines_wrong(l, err, "it takes any tag: which one it was, the file does not say");
    if (m->peer != TI_SG_NULL && (m->peer < 0 || m->peer >= im->np))
        return ti_lines_wrong(l, err, "there is no rank %lld of %lld", (long long)m->peer,
                              (long long)im->np);
    return TI_OK;
}

static ti_status find_size(struct import *im, const struct ti_lines *l, int64_t rank,
                           struct ti_message_side *m, struct ti_err *err)
{
    int64_t c = ti_map_find(&im->channels, m->peer, rank, m->tag, 0);

    if (m->bytes >= 0)
        return TI_OK;
    if (m->peer == TI_SG_NULL) {
        m->bytes = 0;
        return TI_OK;
    }
    if (c < 0)
        return ti_lines_wrong(l, err, "it has no size, and rank %lld never sends it anything",
                              (long long)m->peer);
    m->bytes = im->largest[c];
    note(im, NOTE_NO_SIZE, l,
         "a receive without a size gets room for the largest message that it could take");
    return TI_OK;
}

static void put_side(struct ti_event *ev, const struct ti_message_side *m, int64_t rank,
                     bool second)
{
    put(ev, second ? TI_F_PEER2 : TI_F_PEER, m->peer == TI_SG_NULL ? TI_NULL : m->peer - rank);
    put(ev, second ? TI_F_TAG2 : TI_F_TAG, m->tag);
    put(ev, second ? TI_F_BYTES2 : TI_F_BYTES, m->bytes);
    put(ev, second ? TI_F_ESIZE2 : TI_F_ESIZE, m->esize);
}

static ti_status message(struct import *im, struct rank *r, const struct ti_lines *l,
                         struct ti_action *a, struct ti_err *err)
{
    struct ti_message_side *m = &a->side[0];
    struct ti_event ev = event(a->op);
    struct pending p = {.recv = a->recv, .tag = m->tag, .any = m->peer == TI_SG_ANY_SOURCE};
    ti_status st;

    if (im->syntax == TI_SYNTAX_OLD)
        note(im, NOTE_NO_TAG, l, "messages have no tags in this syntax; all have tag 0");
    if ((st = find_peer(im, l, a, m, err)) || (a->recv && (st = find_size(im, l, a->rank, m, err))))
        return st;
    put(&ev, TI_F_COMM, 0);
    put_side(&ev, m, a->rank, false);
    if (ti_op_is(a->op, TI_T_REQUEST)) {
        p.peer = m->peer;
        p.req = lowest_free(r);
        put(&ev, TI_F_REQ, p.req);
        add_pending(r, &p);
    }
    emit(im, r, l, &ev);
    /* The oldest traces never wait for sends.  Freeing each request keeps their number small. */
    if (im->p && !a->recv && ti_op_is(a->op, TI_T_REQUEST))
        complete(im, r, l, TI_OP_REQUEST_FREE, r->npending - 1);
    return TI_OK;
}

static ti_status sendrecv(struct import *im, struct rank *r, const struct ti_lines *l,
                          struct ti_action *a, struct ti_err *err)
{
    struct ti_event ev = event(a->op);
    ti_status st = find_peer(im, l, a, &a->side[0], err);

    a->recv = true;
    if (st || (st = find_peer(im, l, a, &a->side[1], err)) ||
        (st = find_size(im, l, a->rank, &a->side[1], err)))
        return st;
    put(&ev, TI_F_COMM, 0);
    put_side(&ev, &a->side[0], a->rank, false);
    put_side(&ev, &a->side[1], a->rank, true);
    emit(im, r, l, &ev);
    return TI_OK;
}

/* ---- the other actions ---- */

static ti_status collective(struct import *im, struct rank *r, const struct ti_lines *l,
                            struct ti_action *a, struct ti_err *err)
{
    if (r->sub.line)
        return ti_lines_wrong(l, err, "%s:%lld says that not all ranks take part, but not which do",
                              r->sub.path, (long long)r->sub.line);
    emit(im, r, l, &a->ev);
    if (a->amount > 0)
        note(im, NOTE_FLOPS, l,
             "the flops of a reduction are a burst after it, as SimGrid replays them");
    return compute(im, r, l, a->amount, err);
}

static void communicator(struct import *im, struct rank *r, const struct ti_lines *l,
                         const struct ti_action *a)
{
    r->sub = (struct place){NULL, 0};
    if (a->nargs == 1 && a->amount == (double)im->np)
        return;
    if (a->amount > 0)
        r->sub = here(l);
    else
        note(im, NOTE_COMM, l,
             "which ranks the communicator has, and which calls are on it, is not said; all "
             "collectives are of all ranks, as in SimGrid");
}

static void location(struct rank *r, const struct ti_action *a)
{
    char text[TI_STRING_BYTES];
    uint64_t one = TI_HASH_START, two = 0;
    int64_t s;

    if (!r->w)
        return;
    snprintf(text, sizeof text, "%s:%s", a->arg[0], a->arg[1]);
    for (const char *c = text; *c; c++) {
        one = ti_hash_word(one, (uint8_t)*c);
        two = two * 31 + (uint8_t)*c;
    }
    s = ti_map_find(&r->sites, (int64_t)one, (int64_t)two, 0, 0);
    if (s < 0) { /* the writer numbers strings from 1, in the order of its calls */
        s = ti_map_add(&r->sites, (int64_t)one, (int64_t)two, 0, 0);
        ti_writer_string(r->w, TI_STRING_SITE, text);
    }
    r->site = (uint32_t)s + 1;
}

static void end(struct import *im, struct rank *r, const struct ti_lines *l, bool said)
{
    struct ti_event ev = event(TI_OP_FINALIZE);

    if (!r->begun)
        begin(im, r, l, false);
    if (r->npending)
        note(im, NOTE_UNWAITED, l,
             "%zu request%s of this rank %s never waited for; MPI_Request_free ends %s",
             r->npending, r->npending > 1 ? "s" : "", r->npending > 1 ? "are" : "is",
             r->npending > 1 ? "them" : "it");
    while (r->npending)
        complete(im, r, l, TI_OP_REQUEST_FREE, 0);
    if (!said)
        note(im, NOTE_NO_FINALIZE, l, "a rank does not end with \"finalize\"; it is put there");
    r->ended = true;
    emit(im, r, l, &ev);
}

static ti_status act(struct import *im, struct rank *r, const struct ti_lines *l,
                     struct ti_action *a, struct ti_err *err)
{
    switch (a->act) {
    case TI_ACT_INIT:
        if (r->begun)
            return ti_lines_wrong(l, err, "\"init\" is not the first action of the rank");
        begin(im, r, l, true);
        return TI_OK;
    case TI_ACT_FINALIZE:
        end(im, r, l, true);
        return TI_OK;
    case TI_ACT_COMPUTE:
        return compute(im, r, l, a->amount, err);
    case TI_ACT_SLEEP:
        return rest(im, r, l, a->amount, err);
    case TI_ACT_LOCATION:
        location(r, a);
        return TI_OK;
    case TI_ACT_COMM:
        communicator(im, r, l, a);
        return TI_OK;
    case TI_ACT_MESSAGE:
        return message(im, r, l, a, err);
    case TI_ACT_SENDRECV:
        return sendrecv(im, r, l, a, err);
    case TI_ACT_WAIT:
        return a->bare ? wait_bare(im, r, l, err) : wait_for(im, r, l, a, err);
    case TI_ACT_TEST:
        note(im, NOTE_TEST, l,
             "whether the test says yes is not in the file; it is taken for one "
             "that says no, which is no event");
        return TI_OK;
    case TI_ACT_WAITALL:
        wait_all(im, r, l);
        return TI_OK;
    case TI_ACT_COLLECTIVE:
        return collective(im, r, l, a, err);
    }
    TI_BUG("an action without a case");
}

static ti_status take_line(struct import *im, struct rank *r, const struct ti_lines *l,
                           struct ti_action *a, struct ti_err *err)
{
    ti_status st;

    if (r->ended)
        return ti_lines_wrong(l, err, "an action after \"finalize\"");
    if ((st = ti_action_read(l, &r->grammar, a, err)))
        return st;
    if (!r->begun && a->act != TI_ACT_INIT)
        begin(im, r, l, false);
    if (a->no_datatype && !im->how->element && !im->init.line)
        note(im, NOTE_NO_DATATYPE, l, "the size has no datatype; it is in bytes (--datatype)");
    return act(im, r, l, a, err);
}

/* ---- ranks ---- */

static ti_status open_rank(struct import *im, struct rank *r, int64_t rank, bool writes,
                           struct ti_err *err)
{
    char name[TI_RANK_NAME_BYTES], number[32];
    int32_t self = (int32_t)rank;
    const char *const info[] = {"rank",    number,    "host",     "",     "application",
                                "simgrid", "counter", "simgrid",  "unit", "flops",
                                "exact",   "yes",     "estimate", "no",   "threads",
                                "caller",  "mode",    "full"};
    ti_status st;

    *r = (struct rank){.grammar = {.syntax = im->syntax, .element = element_of(im), .np = im->np}};
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

static ti_status close_rank(struct import *im, struct rank *r, ti_status st, struct ti_err *err)
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
static ti_status read_ranks(struct import *im, const char *path, struct rank *r, int64_t first,
                            int64_t n, struct ti_err *err)
{
    struct ti_lines l;
    ti_status st = ti_lines_open(path, &l, err);
    int got = 1;

    while (!st && (got = ti_lines_next(&l, err)) == 1) {
        struct ti_action a;

        st = ti_action_begin(&l, &a, err);
        if (!st && a.rank >= first && a.rank < first + n) {
            im->out->lines += r->w != NULL;
            st = take_line(im, &r[a.rank - first], &l, &a, err);
        }
        if (!st && l.number % 4096 == 0)
            st = ti_stop_check(err);
    }
    if (!st && got < 0)
        st = TI_ERR_INPUT;
    for (int64_t i = 0; i < n && !st; i++)
        if (!r[i].ended)
            end(im, &r[i], &l, false);
    ti_lines_close(&l);
    return st;
}

static ti_status take_ranks(struct import *im, int64_t first, int64_t n, bool writes,
                            struct ti_err *err)
{
    const char *path = im->files.path[im->files.merged ? 0 : first];
    size_t cap = 0;
    struct rank *r = ti_grow(NULL, &cap, (size_t)n, sizeof *r);
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

static ti_status write_ranks(struct import *im, struct ti_err *err)
{
    int64_t at_once = im->files.merged ? RANKS_AT_ONCE : 1;
    ti_status st = TI_OK;

    for (int64_t rank = 0; rank < im->np && !st; rank += at_once) {
        int64_t left = im->np - rank;

        ti_progress("writing rank %lld of %lld", (long long)rank, (long long)im->np);
        st = take_ranks(im, rank, left < at_once ? left : at_once, true, err);
    }
    ti_progress_clear();
    return st;
}

/* ---- check ---- */

/* Replace the event of a problem by its line, found by a second conversion of that rank. */
static void locate(struct import *im, struct ti_problem *p)
{
    struct ti_err none;

    im->find = p->event;
    im->found = (struct place){NULL, 0};
    if (p->event == TI_NO_EVENT || p->rank < 0 || p->rank >= im->np)
        return;
    take_ranks(im, p->rank, 1, false, &none);
    if (im->found.line)
        snprintf(p->call, sizeof p->call, "%.120s:%lld", im->found.path, (long long)im->found.line);
}

static ti_status pause_check(void *arg, struct ti_err *err)
{
    (void)arg;
    return ti_stop_check(err);
}

static ti_status verify(struct import *im, struct ti_problems *problems, struct ti_err *err)
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
    for (int i = 0; i < problems->shown; i++)
        locate(im, &problems->list[i]);
    return ti_err_set(err, TI_ERR_INPUT, "'%s' is no sound trace: %llu problem%s",
                      im->files.path[0], (unsigned long long)problems->n,
                      problems->n > 1 ? "s" : "");
}

static void release(struct import *im)
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
    struct import im = {.how = how, .out = out};
    ti_status st;

    *out = (struct ti_imported){0};
    *problems = (struct ti_problems){0};
    if (getrandom(im.run_id, sizeof im.run_id, 0) != (ssize_t)sizeof im.run_id)
        return ti_err_errno(err, TI_ERR_IO, "cannot draw a run id");
    st = ti_actions_list(list, &im.files, err);
    if (!st)
        st = survey(&im, err);
    if (!st) {
        out->np = im.np;
        st = write_ranks(&im, err);
    }
    if (!st)
        st = verify(&im, problems, err);
    release(&im);
    return st;
}
