#include "extrapolate/explain.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/folded.h"
#include "common/cli.h"
#include "common/json.h"
#include "extrapolate/fit.h"

#define TEXT_BYTES 2048

struct text {
    char at[TEXT_BYTES];
    size_t n;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *fmt, ...)
{
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(t->at + t->n, sizeof t->at - t->n, fmt, args);
    va_end(args);
    t->n += n < 0 ? 0 : (size_t)n;
    if (t->n >= sizeof t->at)
        t->n = sizeof t->at - 1;
}

/* ----------------------------------------------------------------------- ranks -- */

/* The facts that a cell tells: a place in each axis, then what its flags add. */
#define TRAITS_MOST (TI_AXES + 3)

struct traits {
    int n;
    struct {
        int choices;
        char name[4]; /* of an axis; "": the choices speak for themselves */
        const char *choice[3];
    } of[TRAITS_MOST];
};

static struct traits traits_of(const struct ti_grid *g)
{
    struct traits t = {.n = 0};

    for (int i = 0; i < g->axes; i++, t.n++) {
        t.of[t.n].choices = 3;
        snprintf(t.of[t.n].name, sizeof t.of[t.n].name, "%c ", "xyzw"[i]);
        memcpy(t.of[t.n].choice, (const char *[]){"first", "last", "between"},
               sizeof t.of[t.n].choice);
    }
    if (g->cells & TI_CELL_DIAGONAL) {
        t.of[t.n].choices = 2;
        t.of[t.n].choice[0] = "off the diagonal";
        t.of[t.n++].choice[1] = "on the diagonal";
    }
    for (int i = 0; g->cells & TI_CELL_PARITY && i < g->axes && i < 2; i++, t.n++) {
        t.of[t.n].choices = 2;
        snprintf(t.of[t.n].name, sizeof t.of[t.n].name, "%c ", "xyzw"[i]);
        t.of[t.n].choice[0] = "even";
        t.of[t.n].choice[1] = "odd";
    }
    return t;
}

/* The choices of a cell (grid.h): the last trait counts fastest. */
static void choices_of(const struct traits *t, uint32_t cell, int choice[TRAITS_MOST])
{
    for (int i = t->n; i-- > 0; cell /= (uint32_t)t->of[i].choices)
        choice[i] = (int)(cell % (uint32_t)t->of[i].choices);
}

/* The choices that cells have. */
static void sets_of(const struct traits *t, const bool has[TI_CELLS], unsigned set[TRAITS_MOST])
{
    int choice[TRAITS_MOST];

    memset(set, 0, TRAITS_MOST * sizeof *set);
    for (uint32_t cell = 0; cell < TI_CELLS; cell++) {
        if (!has[cell])
            continue;
        choices_of(t, cell, choice);
        for (int i = 0; i < t->n; i++)
            set[i] |= 1u << choice[i];
    }
}

/* Whether a cell has choices of these sets. */
static bool is_in(const struct traits *t, uint32_t cell, const unsigned set[TRAITS_MOST])
{
    int choice[TRAITS_MOST];
    bool in = true;

    choices_of(t, cell, choice);
    for (int i = 0; i < t->n; i++)
        in = in && set[i] >> choice[i] & 1;
    return in;
}

/* Name the traits of which not all choices of the target are there. */
static void add_set(struct text *out, const struct traits *t, const unsigned set[TRAITS_MOST],
                    const unsigned all[TRAITS_MOST])
{
    const char *comma = "";

    for (int i = 0; i < t->n; i++) {
        const char * or = "";

        if (set[i] == all[i])
            continue;
        add(out, "%s%s", comma, t->of[i].name);
        for (int c = 0; c < t->of[i].choices; c++)
            if (set[i] >> c & 1) {
                add(out, "%s%s", or, t->of[i].choice[c]);
                or = " or ";
            }
        comma = ", ";
    }
    if (!*comma)
        add(out, "all");
}

/* Name cells of the target: by the choices of each trait if they are all cells with these, else one
 * by one. */
static void add_cells(struct text *out, const struct ti_grid *g, const bool target[TI_CELLS],
                      const bool has[TI_CELLS])
{
    struct traits t = traits_of(g);
    unsigned set[TRAITS_MOST], all[TRAITS_MOST];
    const char *semicolon = "";
    bool product = true;

    sets_of(&t, target, all);
    sets_of(&t, has, set);
    for (uint32_t cell = 0; cell < TI_CELLS; cell++)
        product = product && (has[cell] || !target[cell] || !is_in(&t, cell, set));
    if (product) {
        add_set(out, &t, set, all);
        return;
    }
    for (uint32_t cell = 0; cell < TI_CELLS; cell++) {
        bool one[TI_CELLS] = {false};

        if (!has[cell])
            continue;
        one[cell] = true;
        sets_of(&t, one, set);
        add(out, "%s", semicolon);
        add_set(out, &t, set, all);
        semicolon = "; ";
    }
}

/* The cells of the target. */
static void target_cells(const struct ti_models *m, bool has[TI_CELLS])
{
    memset(has, 0, TI_CELLS * sizeof *has);
    for (int64_t rank = 0; rank < m->np; rank++) {
        struct ti_spot at = ti_grid_spot(&m->grid, m->in->n, m->np, rank);

        has[ti_grid_cell(&m->grid, &at)] = true;
    }
}

static bool cells_of_class(const struct ti_models *m, uint32_t c, const bool target[TI_CELLS],
                           bool has[TI_CELLS])
{
    bool any = false;

    for (int cell = 0; cell < TI_CELLS; cell++) {
        has[cell] = target[cell] && m->grid.class[cell] == (int32_t)c;
        any = any || has[cell];
    }
    return any;
}

/* ---------------------------------------------------------------------- models -- */

static bool is_partner(const struct ti_number *n)
{
    return n->kind == TI_NUMBER_FIELD && n->token <= 1 &&
           (n->field == TI_F_PEER || n->field == TI_F_PEER2);
}

static bool is_constant(const struct ti_model *m)
{
    return m->kind == TI_MODEL_NUMBER && m->rule[0].kind == TI_RULE_SUM && !m->rule[0].terms;
}

/* The axis along which a rule goes to a neighbour, and how far; -1: it does not. */
static int neighbour_axis(const struct ti_rule *r, int64_t *by)
{
    const struct ti_term *t = &r->term[0];

    if (r->kind != TI_RULE_SUM || r->d != 1 || r->terms > 1)
        return -1;
    *by = r->terms ? r->c[0] : r->c0;
    if (!r->terms)
        return *by > -3 && *by < 3 && *by ? 0 : -1;
    if (r->c0)
        return -1;
    if (t->kind == TI_TERM_STRIDE)
        return t->axis;
    return t->kind == TI_TERM_P && t->axis == 0 ? 1 : -1;
}

/* Where a partner is. */
static void add_partner(struct text *out, const struct ti_grid *g, const struct ti_model *m)
{
    char a[256];
    int64_t by = 0;
    int axis = m->kind == TI_MODEL_NUMBER ? neighbour_axis(&m->rule[0], &by) : -1;

    if (axis >= 0 && axis < g->axes) {
        add(out, "%+" PRId64 " in %c", by, "xyzw"[axis]);
    } else if (m->kind == TI_MODEL_PLACE) {
        for (int i = 0; i < g->axes; i++)
            add(out, "%s%c = %s", i ? ", " : "", "xyzw"[i], ti_rule_text(&m->rule[i], a, sizeof a));
    } else if (m->kind == TI_MODEL_SHIFTED) {
        add(out, "rank + %s - %c", ti_rule_text(&m->rule[0], a, sizeof a), "xyzw"[m->axis]);
    } else {
        add(out, "rank + %s", ti_rule_text(&m->rule[0], a, sizeof a));
    }
}

/* A fit: its terms, how well it gives the largest input, and its interval. */
static void add_fit(struct text *out, const struct ti_models *m, const struct ti_fit *fit)
{
    char a[256];

    add(out, "%s (fitted: ", ti_fit_text(m, fit, a, sizeof a));
    if (fit->error < TI_FIT_EXACT)
        add(out, "exact at the largest input");
    else
        add(out, "%.2g %% off at the largest input", 100 * fit->error);
    if (fit->low < 1 - TI_FIT_EXACT || fit->high > 1 + TI_FIT_EXACT)
        add(out, ", %+.3g to %+.3g %% at the new one", 100 * (fit->low - 1), 100 * (fit->high - 1));
    if (fit->decides)
        add(out, "; a trace of %" PRId64 " ranks would decide", fit->decides);
    add(out, ")");
}

static void add_model(struct text *out, const struct ti_models *models, const struct ti_number *n,
                      const struct ti_model *m)
{
    const struct ti_grid *g = &models->grid;
    char a[256];

    if (m->kind == TI_MODEL_FIT)
        add_fit(out, models, &m->fit);
    else if (is_partner(n))
        add_partner(out, g, m);
    else
        add(out, "%s", ti_rule_text(&m->rule[0], a, sizeof a));
}

/* The models of a slot, one after the other: those of the cells `has`. */
struct every {
    const struct ti_models *m;
    const struct ti_slot_models *of;
    const struct ti_number *is;
    const bool *target, *has;
    int64_t next, cell, trip;
    struct text text;
};

static const struct ti_model *next_model(struct every *e)
{
    int64_t cells = e->of->by_cell ? ti_grid_cells(&e->m->grid) : 1, each = ti_models_each(e->of);

    for (; e->of->model && e->next < cells * each; e->next++) {
        const struct ti_model *model = &e->of->model[e->next];

        e->cell = e->next / each;
        e->trip = e->next % each;
        if (model->kind == TI_MODEL_NONE || (e->of->by_cell && !e->has[e->cell]))
            continue;
        e->text = (struct text){.n = 0};
        add_model(&e->text, e->m, e->is, model);
        e->next++;
        return model;
    }
    return NULL;
}

/* Where a slot has the same rule as at the place of `e`: its cells, and its trip. */
static void add_where(struct text *out, const struct every *e)
{
    struct every all = {.m = e->m, .of = e->of, .is = e->is, .has = e->has, .target = e->target};
    bool has[TI_CELLS] = {false};

    while (next_model(&all))
        if (all.trip == e->trip && strcmp(all.text.at, e->text.at) == 0)
            has[all.cell] = true;
    add(out, " [");
    if (e->of->by_cell)
        add_cells(out, &e->m->grid, e->target, has);
    if (e->of->trips)
        add(out, "%st %s %" PRId64, e->of->by_cell ? ", " : "",
            e->of->trips == TI_FIRST_TRIP && e->trip ? ">" : "=",
            e->of->trips == TI_FIRST_TRIP ? 0 : e->trip);
    add(out, "]");
}

/* Whether a model before that of `e` has its rule and its trip. */
static bool is_repeated(const struct every *e)
{
    struct every all = {.m = e->m, .of = e->of, .is = e->is, .has = e->has, .target = e->target};

    while (next_model(&all) && all.next < e->next)
        if (all.trip == e->trip && strcmp(all.text.at, e->text.at) == 0)
            return true;
    return false;
}

/* A slot: its rule, or its rules by cell and trip; equal ones once.  False: no rank of the target
 * has it, or, without `all`, it is a constant. */
static bool slot_text(const struct ti_models *m, uint32_t c, size_t s, const bool target[TI_CELLS],
                      bool all, struct text *out)
{
    bool has[TI_CELLS];
    struct every e = {.m = m,
                      .of = &m->slot[c][s],
                      .is = &m->in->class[c].slot[s].is,
                      .target = target,
                      .has = has};
    const struct ti_model *model;
    struct text first;
    bool constant = true, equal = true;
    const char *semicolon = "";

    cells_of_class(m, c, target, has);
    model = next_model(&e);
    if (!model)
        return false;
    first = e.text;
    for (; model; model = next_model(&e)) {
        constant = constant && is_constant(model);
        equal = equal && strcmp(e.text.at, first.at) == 0;
    }
    if (!all && constant && equal && !is_partner(e.is))
        return false;
    if (equal) {
        add(out, "%s", first.at);
        return true;
    }
    for (e.next = 0; next_model(&e);) {
        if (is_repeated(&e))
            continue;
        add(out, "%s%s", semicolon, e.text.at);
        add_where(out, &e);
        semicolon = "; ";
    }
    return true;
}

/* ---------------------------------------------------------------------- numbers -- */

static void add_number(struct text *out, const struct ti_number *n)
{
    switch ((enum ti_number_kind)n->kind) {
    case TI_NUMBER_TIMES:
        add(out, "repetitions of the calls");
        break;
    case TI_NUMBER_TRIPS:
        add(out, "trips");
        break;
    case TI_NUMBER_FIELD:
        add(out, "%s", is_partner(n) ? "partner" : ti_field_text(n->field));
        break;
    case TI_NUMBER_ELEMENT:
        if (n->token)
            add(out, "element %d of ", n->token);
        else
            add(out, "length of ");
        add(out, "list %d", n->field);
        break;
    case TI_NUMBER_VOLUME:
        add(out, "volume");
        break;
    case TI_NUMBER_COMM_RANK:
        add(out, "rank in communicator %" PRIu32, n->of);
        break;
    case TI_NUMBER_COMM_SIZE:
        add(out, "size of communicator %" PRIu32, n->of);
        break;
    case TI_NUMBER_MEMBER:
        add(out, "members of communicator %" PRIu32, n->of);
        break;
    case TI_NUMBER_COUNT:
        break;
    }
    if (n->token > 1 && n->kind != TI_NUMBER_ELEMENT)
        add(out, ", part %d of its pattern", n->token);
    if (n->arrival)
        add(out, ", arriving by way %d", n->arrival);
}

/* The call, or loop, that a number is of. */
static const char *call_of(struct ti_folded *f, const struct ti_number *n)
{
    struct ti_shape_node node;

    if (n->kind == TI_NUMBER_TRIPS)
        return "loop";
    if (n->kind == TI_NUMBER_TIMES)
        return "repetition";
    if (n->kind >= TI_NUMBER_COMM_RANK || n->of >= ti_shape_nodes(f))
        return "communicators";
    node = ti_shape_node(f, n->of);
    return ti_op_info(node.op)->text;
}

static ti_status explain_class(const struct ti_models *m, uint32_t c, const char *ranks,
                               const bool target[TI_CELLS], bool all, struct ti_symbolizer *z,
                               json_t *list, struct ti_err *err)
{
    const struct ti_class *class = &m->in->class[c];
    struct ti_reader *r;
    ti_status st = ti_folded_open_rank(m->in->input[class->input].source, class->rank, &r, err);

    if (st)
        return st;
    st = ti_reader_skip(r, err);
    for (size_t s = 0; s < class->n && !st; s++) {
        const struct ti_number *n = &class->slot[s].is;
        struct text rule = {.n = 0}, number = {.n = 0};
        const char *call = call_of(ti_reader_folded(r), n);
        char where[512];

        if (!slot_text(m, c, s, target, all, &rule))
            continue;
        add_number(&number, n);
        json_array_append_new(
            list,
            json_pack("{s:I, s:s, s:s, s:o, s:I, s:o, s:o}", "class", (json_int_t)c, "ranks", ranks,
                      "call", call, "site",
                      ti_json_text(ti_site_text(z, ti_slot_site(class, s), where, sizeof where)),
                      "node", (json_int_t)(n->kind >= TI_NUMBER_COMM_RANK ? -1 : (int64_t)n->of),
                      "number", ti_json_text(number.at), "rule", ti_json_text(rule.at)));
    }
    ti_reader_close(r);
    return st;
}

ti_status ti_explain(const struct ti_models *m, bool all, struct ti_symbolizer *z, json_t **out,
                     struct ti_err *err)
{
    json_t *list = json_array();
    bool target[TI_CELLS];
    ti_status st = TI_OK;

    target_cells(m, target);
    for (uint32_t c = 0; c < m->in->nclasses && !st; c++) {
        struct text ranks = {.n = 0};
        bool has[TI_CELLS];

        if (!cells_of_class(m, c, target, has))
            continue;
        add_cells(&ranks, &m->grid, target, has);
        st = explain_class(m, c, ranks.at, target, all, z, list, err);
    }
    if (st)
        json_decref(list);
    else
        *out = list;
    return st;
}

/* -------------------------------------------------------------------- as a text -- */

void ti_explain_print(const json_t *rules)
{
    const json_t *before = NULL, *is;
    size_t i;

    json_array_foreach(rules, i, is)
    {
        const char *number = ti_json_string(is, "number"), *call = ti_json_string(is, "call");
        bool partner = strcmp(number, "partner") == 0, same_class, same_call;

        same_class = before && ti_json_integer(before, "class") == ti_json_integer(is, "class");
        same_call = same_class && ti_json_integer(before, "node") == ti_json_integer(is, "node") &&
                    strcmp(ti_json_string(before, "call"), call) == 0;
        if (!same_class)
            ti_print(stdout, "%sranks: %s\n", before ? "\n" : "", ti_json_string(is, "ranks"));
        if (!same_call)
            ti_print(stdout, "%s  %s%s%s: ", same_class ? "\n" : "", call,
                     *ti_json_string(is, "site") ? " " : "", ti_json_string(is, "site"));
        else
            printf(", ");
        if (partner)
            ti_print(stdout, "%s %s", strstr(call, "recv") ? "from" : "to",
                     ti_json_string(is, "rule"));
        else
            ti_print(stdout, "%s = %s", number, ti_json_string(is, "rule"));
        before = is;
    }
    if (before)
        putchar('\n');
}
