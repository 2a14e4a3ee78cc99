#include "replay-bridge/convert/syntax.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/limits.h"
#include "common/map.h"
#include "sound/collectives.h"

#define COUNT_MOST  9007199254740992.0 /* 2^53: doubles are exact up to here */
#define AMOUNT_MOST 1e18

/* Bytes of SimGrid's datatypes, by their numbers.  Machine-dependent sizes are those of x86-64. */
static const int8_t datatype_bytes[] = {
    8, 4,  1,  2, 8, 4, 1,  8,                  /* double .. long long */
    1, 1,  2,  4, 8, 8, 16, 4, 1,               /* signed char .. bool */
    1, 2,  4,  8, 1, 2, 4,  8, 8, 16, 32, 8, 8, /* int8_t .. offset */
    8, 16, 16, 8, 8, 8, 16,                     /* pairs */
};
#define NDATATYPES ((int64_t)sizeof datatype_bytes)

/* Names of actions other than collectives.  `tagged`: in lower case, the name occurs in
 * TI_SYNTAX_TAGS only; TI_SYNTAX_OLD spells it with a capital. */
static const struct {
    const char *name;
    enum ti_act act;
    uint32_t op;
    bool tagged;
    int64_t least, most; /* number of arguments, in either syntax */
} names[] = {
    {"init", TI_ACT_INIT, TI_OP_INIT, false, 0, 1},
    {"finalize", TI_ACT_FINALIZE, TI_OP_FINALIZE, false, 0, 0},
    {"compute", TI_ACT_COMPUTE, TI_OP_COUNT, false, 1, 1},
    {"sleep", TI_ACT_SLEEP, TI_OP_COUNT, false, 1, 1},
    {"location", TI_ACT_LOCATION, TI_OP_COUNT, true, 2, 2},
    {"comm_size", TI_ACT_COMM, TI_OP_COUNT, false, 0, 1},
    {"comm_split", TI_ACT_COMM, TI_OP_COUNT, false, 0, INT64_MAX},
    {"comm_dup", TI_ACT_COMM, TI_OP_COUNT, false, 0, INT64_MAX},
    {"send", TI_ACT_MESSAGE, TI_OP_SEND, false, 2, 4},
    {"isend", TI_ACT_MESSAGE, TI_OP_ISEND, true, 2, 4},
    {"recv", TI_ACT_MESSAGE, TI_OP_RECV, false, 1, 4},
    {"irecv", TI_ACT_MESSAGE, TI_OP_IRECV, true, 1, 4},
    {"sendrecv", TI_ACT_SENDRECV, TI_OP_SENDRECV, false, 4, 6},
    {"wait", TI_ACT_WAIT, TI_OP_WAIT, false, 0, 3},
    {"test", TI_ACT_TEST, TI_OP_TEST, false, 0, 3},
    {"waitall", TI_ACT_WAITALL, TI_OP_WAITALL, true, 0, 1},
};
#define NNAMES (sizeof names / sizeof names[0])

/* Compare names, ignoring case and underscores. */
static bool same_name(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += *a == '_';
        b += *b == '_';
        if (tolower((unsigned char)*a) != *b)
            return false;
        if (!*a)
            return true;
    }
}

/* The collective of that name, or TI_OP_COUNT.  SimGrid replays blocking collectives, except
 * alltoallw, reduce_scatter_block and neighbourhood collectives. */
static uint32_t collective(const char *name)
{
    for (uint32_t op = 0; op < TI_OP_COUNT; op++)
        if (ti_op_collective(op) && ti_op_form(op) == TI_FORM_BLOCKING &&
            !ti_op_is(op, TI_T_NEIGHBOURS) && op != TI_OP_ALLTOALLW &&
            op != TI_OP_REDUCE_SCATTER_BLOCK && same_name(name, ti_op_info(op)->text))
            return op;
    return TI_OP_COUNT;
}

/* ---- numbers ---- */

static bool number(const char *text, double *out)
{
    char *end;

    if (!isdigit((unsigned char)text[0]) && !strchr("+-.", text[0]))
        return false; /* strtod() would accept "inf" and "nan" */
    if (strpbrk(text, "xX"))
        return false;
    *out = strtod(text, &end);
    return end != text && !*end && isfinite(*out);
}

static bool integer(const char *text, int64_t *out)
{
    char *end;
    long long n;

    errno = 0;
    n = strtoll(text, &end, 10);
    *out = n;
    return end != text && !*end && !errno && !isspace((unsigned char)text[0]);
}

/* "p3" or "3". */
static bool rank_of(const char *text, int64_t *out, bool *p)
{
    *p = text[0] == 'p';
    return integer(text + *p, out) && (!*p || isdigit((unsigned char)text[1]));
}

struct words {
    const struct ti_lines *l;
    char **arg;
    int64_t n, at;
    struct ti_err *err;
    ti_status st;
};

static const char *word(struct words *w, const char *what)
{
    if (w->st)
        return NULL;
    if (w->at >= w->n) {
        w->st = ti_lines_wrong(w->l, w->err, "there is no %s", what);
        return NULL;
    }
    return w->arg[w->at++];
}

static double parse_amount(struct words *w, const char *what)
{
    const char *text = word(w, what);
    double value = 0;

    if (text && (!number(text, &value) || value < 0 || value > AMOUNT_MOST))
        w->st = ti_lines_wrong(w->l, w->err, "'%.40s' is no %s", text, what);
    return value;
}

/* A count of elements.  `negative`: negative counts are allowed; they mean that none is given. */
static int64_t parse_count(struct words *w, const char *what, bool negative)
{
    const char *text = word(w, what);
    double value = 0;

    if (!text)
        return 0;
    if (!number(text, &value) || fabs(value) > COUNT_MOST || (value < 0 && !negative))
        w->st = ti_lines_wrong(w->l, w->err, "'%.40s' is no %s", text, what);
    else if (value != trunc(value))
        w->st = ti_lines_wrong(w->l, w->err, "%s: '%.40s' is no whole number", what, text);
    return w->st ? 0 : (int64_t)value;
}

static int64_t parse_integer(struct words *w, const char *what)
{
    const char *text = word(w, what);
    int64_t value = 0;

    if (text && !integer(text, &value))
        w->st = ti_lines_wrong(w->l, w->err, "'%.40s' is no %s", text, what);
    return value;
}

static int64_t parse_rank(struct words *w, const char *what, bool p)
{
    const char *text = word(w, what);
    int64_t value = 0;
    bool has_p;

    if (text && (!rank_of(text, &value, &has_p) || (has_p && !p)))
        w->st = ti_lines_wrong(w->l, w->err, "'%.40s' is no %s", text, what);
    return value;
}

/* Bytes of an element, by the datatype if there is one. */
static int64_t parse_datatype(struct words *w, const struct ti_grammar *g, struct ti_action *a)
{
    int64_t number_of;

    if (w->st || w->at >= w->n) {
        a->no_datatype = true;
        return g->element;
    }
    number_of = parse_integer(w, "datatype");
    if (!w->st && (number_of < 0 || number_of >= NDATATYPES))
        w->st =
            ti_lines_wrong(w->l, w->err,
                           "how many bytes the datatype %lld has is not known; those of SimGrid "
                           "are 0 to %lld",
                           (long long)number_of, (long long)NDATATYPES - 1);
    return w->st ? 1 : datatype_bytes[number_of];
}

/* ---- rank and name ---- */

ti_status ti_action_begin(const struct ti_lines *l, struct ti_action *a, struct ti_err *err)
{
    *a = (struct ti_action){.op = TI_OP_COUNT, .nargs = l->n - 2};
    if (!rank_of(l->word[0], &a->rank, &a->p) || a->rank < 0 || a->rank >= TI_RANKS_MAX)
        return ti_lines_wrong(l, err, "'%.40s' is no rank, such as 0 or p0", l->word[0]);
    if (l->n < 2)
        return ti_lines_wrong(l, err, "there is no action");
    a->arg = l->word + 2;
    for (size_t i = 0; i < NNAMES; i++)
        if (same_name(l->word[1], names[i].name)) {
            a->act = names[i].act;
            a->op = names[i].op;
            if (a->nargs < names[i].least || a->nargs > names[i].most)
                return ti_lines_wrong(l, err, "%s has %s arguments", l->word[1],
                                      a->nargs < names[i].least ? "too few" : "too many");
            return TI_OK;
        }
    a->act = TI_ACT_COLLECTIVE;
    a->op = collective(l->word[1]);
    if (a->op == TI_OP_COUNT)
        return ti_lines_wrong(l, err, "'%.40s' is no action of SimGrid's", l->word[1]);
    return TI_OK;
}

/* ---- which syntax ---- */

static bool has_capital(const char *name)
{
    for (; *name; name++)
        if (isupper((unsigned char)*name))
            return true;
    return false;
}

/* Whether the name, in lower case, occurs in TI_SYNTAX_TAGS only. */
static bool tagged_name(const struct ti_action *a)
{
    for (size_t i = 0; i < NNAMES; i++)
        if (names[i].op == a->op && names[i].act == a->act)
            return names[i].tagged;
    return ti_op_is(a->op, TI_T_COUNTS_GIVEN) || ti_op_is(a->op, TI_T_COUNTS_TAKEN) ||
           !strncmp(ti_op_info(a->op)->text, "all", 3);
}

/* Whether the last of three arguments can be a datatype, as in TI_SYNTAX_OLD: "1 1e6 0". */
static bool ends_in_datatype(const struct ti_action *a)
{
    int64_t n;

    return integer(a->arg[2], &n) && n >= -1 && n < NDATATYPES;
}

enum ti_syntax ti_action_syntax(const struct ti_action *a, bool *differ)
{
    const char *name = a->arg[-1];

    *differ = false;
    if (a->p)
        return TI_SYNTAX_OLD;
    if (a->act == TI_ACT_SENDRECV)
        return TI_SYNTAX_TAGS;
    if (has_capital(name))
        return TI_SYNTAX_OLD;
    if (tagged_name(a))
        return TI_SYNTAX_TAGS;
    if (a->act == TI_ACT_WAIT || a->act == TI_ACT_TEST)
        return a->nargs ? TI_SYNTAX_TAGS : TI_SYNTAX_OLD;
    if (a->act != TI_ACT_MESSAGE)
        return TI_SYNTAX_AUTO;
    if (a->nargs != 3)
        return a->nargs == 4 ? TI_SYNTAX_TAGS : TI_SYNTAX_OLD;
    *differ = ends_in_datatype(a);
    return *differ ? TI_SYNTAX_AUTO : TI_SYNTAX_TAGS;
}

/* ---- arguments ---- */

static void read_message(struct words *w, struct ti_grammar *g, struct ti_action *a)
{
    struct ti_message_side *m = &a->side[0];
    int64_t count = -1;

    a->recv = ti_op_is(a->op, TI_T_RECEIVES);
    m->peer = parse_rank(w, a->recv ? "source" : "destination", a->p);
    if (g->syntax == TI_SYNTAX_TAGS)
        m->tag = parse_integer(w, "tag");
    if (g->syntax == TI_SYNTAX_TAGS || !a->recv || w->at < w->n)
        count = parse_count(w, "size", a->recv);
    m->esize = parse_datatype(w, g, a);
    m->bytes = count < 0 ? -1 : count * m->esize;
    if (!w->st && m->tag < 0 && m->tag != TI_SG_ANY_TAG)
        w->st = ti_lines_wrong(w->l, w->err, "a tag is not negative");
}

static void read_sendrecv(struct words *w, struct ti_grammar *g, struct ti_action *a)
{
    int64_t sent = parse_count(w, "size", false), received;

    a->side[0].peer = parse_rank(w, "destination", false);
    received = parse_count(w, "size", true);
    a->side[1].peer = parse_rank(w, "source", false);
    a->side[0].esize = parse_datatype(w, g, a);
    a->side[1].esize = parse_datatype(w, g, a);
    a->side[0].bytes = sent * a->side[0].esize;
    a->side[1].bytes = received < 0 ? -1 : received * a->side[1].esize;
}

static void read_wait(struct words *w, const struct ti_grammar *g, struct ti_action *a)
{
    a->bare = !w->n;
    if (a->bare && g->syntax == TI_SYNTAX_TAGS)
        w->st =
            ti_lines_wrong(w->l, w->err, "it does not say which request: SOURCE DESTINATION TAG");
    if (a->bare || w->st)
        return;
    a->src = parse_integer(w, "source");
    a->dst = parse_integer(w, "destination");
    a->tag = parse_integer(w, "tag");
}

static void parse_counts(struct words *w, struct ti_grammar *g, struct ti_vec *vec, int v)
{
    int64_t *count;

    g->counts = ti_grow(g->counts, &g->counts_cap, 2 * (size_t)g->np, sizeof *g->counts);
    count = g->counts + v * g->np;
    for (int64_t i = 0; i < g->np && !w->st; i++) {
        count[i] = parse_count(w, "count", false);
        if (count[i] > INT_MAX)
            w->st = ti_lines_wrong(w->l, w->err, "SimGrid counts up to %d", INT_MAX);
    }
    *vec = (struct ti_vec){count, 8, g->np};
}

/* An allgatherv may end in displacements, which do not affect its cost.  As in SimGrid, the number
 * of remaining words tells displacements from datatypes. */
static void drop_displacements(struct words *w, const struct ti_grammar *g)
{
    int64_t left = w->n - w->at;

    if (left == g->np + 2 || (left == g->np && left > 2))
        w->n -= g->np;
}

static void set(struct ti_event *ev, enum ti_field f, int64_t value)
{
    ev->mask |= 1u << f;
    ev->arg[f] = value;
}

/* Ranks other than the root have no counts of blocks in a trace. */
static void drop_vector(struct ti_event *ev, int v)
{
    ev->vec[v] = (struct ti_vec){NULL, 8, 0};
    ev->mask &= ~(1u << ti_counts_in(ev->op, v));
}

/* MPI ignores the root's side of the arguments on other ranks.  A trace has the rank's own side in
 * its place. */
static void ignore_side(struct ti_event *ev)
{
    bool to = ti_op_is(ev->op, TI_T_TO_ROOT);

    ev->arg[to ? TI_F_BYTES2 : TI_F_BYTES] = ev->arg[to ? TI_F_BYTES : TI_F_BYTES2];
    ev->arg[to ? TI_F_ESIZE2 : TI_F_ESIZE] = ev->arg[to ? TI_F_ESIZE : TI_F_ESIZE2];
}

/* The arguments of a collective. */
struct shape {
    uint32_t fields;     /* mask of its event's fields */
    bool given, taken;   /* has counts of the blocks sent, received */
    bool sent, received; /* has one size instead */
    int last;            /* index of the vector of the blocks received */
};

static struct shape shape_of(uint32_t op)
{
    uint32_t fields = ti_op_info(op)->fields | ti_op_info(op)->optional;
    bool given = ti_op_is(op, TI_T_COUNTS_GIVEN), taken = ti_op_is(op, TI_T_COUNTS_TAKEN);

    return (struct shape){.fields = fields,
                          .given = given,
                          .taken = taken,
                          .sent = !given && (fields & TI_M_BYTES),
                          .received = !taken && (fields & TI_M_BYTES2),
                          .last = ti_op_last_vec(op)};
}

/* Parse the mandatory arguments: sizes in elements, vectors of counts, and flops. */
static void read_sizes(struct words *w, struct ti_grammar *g, struct ti_action *a,
                       const struct shape *s, int64_t *sent, int64_t *received)
{
    bool buffers = s->given && s->taken; /* the sizes of both buffers precede the counts; unused */

    if (buffers)
        parse_count(w, "size of the buffer to send", false);
    if (s->given)
        parse_counts(w, g, &a->ev.vec[0], 0);
    else if (s->sent)
        *sent = parse_count(w, "size", false);
    if (buffers)
        parse_count(w, "size of the buffer to receive", false);
    if (s->taken)
        parse_counts(w, g, &a->ev.vec[s->last], s->last);
    else if (s->received)
        *received = parse_count(w, "size", false);
    if (s->fields & TI_M_REDOP)
        a->amount = parse_amount(w, "number of flops");
}

static void read_root(struct words *w, const struct ti_grammar *g, struct ti_event *ev)
{
    int64_t root = w->at < w->n ? parse_integer(w, "root") : 0;

    if (!w->st && (root < 0 || root >= g->np))
        w->st =
            ti_lines_wrong(w->l, w->err, "there is no rank %lld to be the root", (long long)root);
    set(ev, TI_F_ROOT, root);
}

/* The order of arguments is that of SimGrid's parser; trace/lower.c writes the same. */
static void read_collective(struct words *w, struct ti_grammar *g, struct ti_action *a)
{
    struct ti_event *ev = &a->ev;
    struct shape s = shape_of(a->op);
    int64_t sent = 0, received = 0;

    *ev = (struct ti_event){.op = a->op, .vec = {{NULL, 8, 0}, {NULL, 8, 0}}};
    set(ev, TI_F_COMM, 0);
    read_sizes(w, g, a, &s, &sent, &received);
    if (w->st)
        return;
    if (s.fields & TI_M_ROOT)
        read_root(w, g, ev);
    else if (s.taken && !s.given)
        drop_displacements(w, g);
    if (s.given || s.sent)
        set(ev, TI_F_ESIZE, parse_datatype(w, g, a));
    if (s.taken || s.received)
        set(ev, TI_F_ESIZE2, parse_datatype(w, g, a));
    if (s.fields & TI_M_REDOP)
        set(ev, TI_F_REDOP, TI_REDOP_NULL);
    if (s.sent)
        set(ev, TI_F_BYTES, sent * ev->arg[TI_F_ESIZE]);
    if (s.received)
        set(ev, TI_F_BYTES2, received * ev->arg[TI_F_ESIZE2]);
    if (!(s.fields & TI_M_ROOT) || ev->arg[TI_F_ROOT] == a->rank)
        return;
    if (s.sent && s.received)
        ignore_side(ev);
    if (s.given != s.taken)
        drop_vector(ev, s.given ? 0 : s.last);
}

ti_status ti_action_read(const struct ti_lines *l, struct ti_grammar *g, struct ti_action *a,
                         struct ti_err *err)
{
    struct words w = {.l = l, .arg = a->arg, .n = a->nargs, .err = err};

    if (a->act == TI_ACT_COLLECTIVE && !g->np)
        return TI_OK;
    if (a->act == TI_ACT_INIT)
        a->doubles = a->nargs > 0;
    else if (a->act == TI_ACT_COMPUTE || a->act == TI_ACT_SLEEP)
        a->amount =
            parse_amount(&w, a->act == TI_ACT_SLEEP ? "number of seconds" : "number of flops");
    else if (a->act == TI_ACT_COMM && a->nargs == 1)
        a->amount = parse_amount(&w, "size of a communicator");
    else if (a->act == TI_ACT_MESSAGE)
        read_message(&w, g, a);
    else if (a->act == TI_ACT_SENDRECV)
        read_sendrecv(&w, g, a);
    else if (a->act == TI_ACT_WAIT || a->act == TI_ACT_TEST)
        read_wait(&w, g, a);
    else if (a->act == TI_ACT_COLLECTIVE)
        read_collective(&w, g, a);
    if (!w.st && w.at < w.n && (a->act == TI_ACT_MESSAGE || a->act == TI_ACT_COLLECTIVE))
        w.st = ti_lines_wrong(l, err, "too many arguments, from '%.40s' on", a->arg[w.at]);
    return w.st;
}
