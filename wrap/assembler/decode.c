/* The instructions of an object: a sweep over its statements, and over data that is code. */
#include <stdlib.h>

#include "common/order.h"
#include "wrap/assembler/insn.h"

struct item {
    uint32_t section, stmt;
    uint64_t at, to;
};

struct sweep {
    struct ti_flow *f;
    const struct ti_text *t;
    const struct ti_object *o;
    struct item *items;
    size_t nitems, cap;
    struct ti_err *err;
    uint8_t *forced; /* by statement: data that is jumped to */
    uint64_t *functions;
};

TI_ORDER_BY_3(by_place, struct item, section, at, stmt)

static bool is_function(const struct ti_object *o, uint32_t section, uint64_t at)
{
    for (size_t i = 1; i < o->nsymbols; i++)
        if (o->symbols[i].st_shndx == section && o->symbols[i].st_value == at &&
            ELF64_ST_TYPE(o->symbols[i].st_info) == STT_FUNC)
            return true;
    return false;
}

static struct ti_insn *append(struct sweep *w)
{
    if (w->f->n == w->cap) {
        w->cap = w->cap ? 2 * w->cap : 1024;
        w->f->insns = ti_blocks_grow(w->f->insns, w->cap, sizeof(*w->f->insns));
    }
    return &w->f->insns[w->f->n++];
}

/* Decode instructions from item `*i` on, until an instruction ends with a statement.  Sets `*i` to
 * the last item used. */
static ti_status decode_run(struct sweep *w, size_t *i, size_t end, bool label, bool taken)
{
    const struct item *it = &w->items[*i];
    uint64_t at = it->at, to = it->to;
    uint32_t section = it->section;
    size_t k = *i;

    while (at < to) {
        struct ti_insn *in = append(w);
        uint64_t limit = w->o->sections[section].size;

        if (!ti_insn_decode(in, w->o, section, at, limit))
            return ti_text_error(w->t, it->stmt, w->err,
                                 "bytes that are no instruction this program knows");
        in->first = w->items[k].stmt;
        in->starts = at == w->items[k].at;
        in->label = label;
        in->taken = taken;
        in->fill = w->t->stmts[it->stmt].kind == TI_STMT_FILL;
        label = taken = false;
        at += in->length;
        /* it may continue in the next statements, after a separate prefix or .byte */
        while (at > to) {
            size_t n = k + 1;

            while (n < end && (w->items[n].at == w->items[n].to)) {
                const struct ti_stmt *s = &w->t->stmts[w->items[n].stmt];

                if (s->kind == TI_STMT_LABEL && s->jumped && w->items[n].at < at &&
                    w->items[n].at > in->at)
                    return ti_text_error(w->t, w->items[n].stmt, w->err,
                                         "a label between a prefix and its instruction");
                n++;
            }
            if (n == end || w->items[n].at != to || w->items[n].section != section ||
                w->t->stmts[w->items[n].stmt].kind == TI_STMT_FILL)
                return ti_text_error(w->t, it->stmt, w->err, "half an instruction");
            k = n;
            to = w->items[k].to;
        }
        in->last = w->items[k].stmt;
        in->ends = at == to;
    }
    *i = k;
    return TI_OK;
}

static bool has_reloc(const struct sweep *w, const struct item *it)
{
    return ti_object_reloc(&w->o->sections[it->section], it->at, it->to) != NULL;
}

/* Whether a data directive is code: 1 yes, 0 no, -1 cannot be told. */
static int data_is_code(const struct sweep *w, const struct item *it, bool fall, bool after_call,
                        bool taken)
{
    const struct ti_stmt *s = &w->t->stmts[it->stmt];
    struct ti_insn in;

    if (w->forced[it->stmt])
        return 1;
    if (s->data_only || has_reloc(w, it))
        return fall && !after_call ? -1 : 0;
    if (!fall)
        return is_function(w->o, it->section, it->at);
    if (!after_call)
        return 1;
    /* after a call that may not return */
    if (taken)
        return 0;
    if (ti_insn_decode(&in, w->o, it->section, it->at, w->o->sections[it->section].size) &&
        (in.kind == TI_INSN_TRAP || in.kind == TI_INSN_SYS || in.nop))
        return 1;
    return -1;
}

/* Whether bytes without a statement are fill: gas fills the ends of subsections. */
static bool only_fill(const struct sweep *w, uint32_t section, uint64_t from, uint64_t to)
{
    const uint8_t *bytes = w->o->sections[section].bytes;
    struct ti_insn in;

    for (uint64_t at = from; at < to; at += in.length) {
        if (bytes[at] == 0 || bytes[at] == 0xcc)
            in.length = 1;
        else if (!ti_insn_decode(&in, w->o, section, at, to) || !in.nop)
            return false;
    }
    return true;
}

static ti_status sweep_section(struct sweep *w, size_t from, size_t end)
{
    uint64_t pos = 0;
    bool fall = false, after_call = false, label = false, taken = false;

    for (size_t i = from; i < end; i++) {
        const struct item *it = &w->items[i];
        const struct ti_stmt *s = &w->t->stmts[it->stmt];
        size_t n = w->f->n;
        ti_status st;
        int code = 1;

        if (s->kind == TI_STMT_LABEL) {
            label |= s->jumped;
            taken |= s->taken;
            continue;
        }
        if (it->to == it->at)
            continue;
        if (it->at > pos && (!only_fill(w, it->section, pos, it->at) || (fall && !after_call)))
            return ti_text_error(w->t, it->stmt, w->err,
                                 "bytes before this that no statement known here made");
        if (s->kind == TI_STMT_FILL)
            code = fall || label;
        else if (s->kind == TI_STMT_DATA)
            code = data_is_code(w, it, fall, after_call, taken);
        if (code < 0)
            return ti_text_error(w->t, it->stmt, w->err,
                                 "data where code goes on, or code as data behind a call");
        if (!code) {
            pos = it->to;
            fall = label = taken = after_call = false;
            continue;
        }
        st = decode_run(w, &i, end, label, taken);
        if (st)
            return st;
        label = taken = false;
        pos = w->items[i].to;
        if (w->f->n > n) {
            enum ti_insn_kind k = w->f->insns[w->f->n - 1].kind;

            fall =
                k != TI_INSN_JUMP && k != TI_INSN_JUMP_IND && k != TI_INSN_RET && k != TI_INSN_TRAP;
            after_call = k == TI_INSN_CALL || k == TI_INSN_CALL_IND;
        }
    }
    if (end > from &&
        !only_fill(w, w->items[from].section, pos, w->o->sections[w->items[from].section].size))
        return ti_text_error(w->t, w->items[end - 1].stmt, w->err,
                             "bytes behind this that no statement known here made");
    return TI_OK;
}

/* Mark a data statement at this address as code.  False if there is none. */
static bool force_code(struct sweep *w, uint32_t section, uint64_t at)
{
    struct item key = {.section = section, .at = at, .stmt = 0};
    size_t i;

    TI_FIRST(i, 0, w->nitems, by_place(&w->items[i], &key) < 0);
    for (; i < w->nitems && w->items[i].section == section && w->items[i].at == at; i++) {
        const struct item *it = &w->items[i];

        if (it->to > it->at && w->t->stmts[it->stmt].kind == TI_STMT_DATA && !w->forced[it->stmt]) {
            w->forced[it->stmt] = 1;
            return true;
        }
    }
    return false;
}

ti_status ti_flow_decode(struct ti_flow *out, const struct ti_text *t, const struct ti_object *o,
                         struct ti_err *err)
{
    struct sweep w = {.f = out, .t = t, .o = o, .err = err};
    ti_status st = TI_OK;
    uint8_t *seen;
    bool again;

    *out = (struct ti_flow){0};
    if (o->torn)
        return ti_err_set(err, TI_ERR_INPUT, "%s: a macro changes the section", t->files[0]);
    seen = ti_blocks_zero(o->nsections + 1, 1);
    for (size_t i = 0; i < t->n; i++)
        if (o->places[i].section)
            seen[o->places[i].section] = 1;
    for (size_t i = 1; i < o->nsections && !st; i++)
        if (o->sections[i].size && !seen[i])
            st = ti_err_set(err, TI_ERR_INPUT,
                            "%s: code in section '%s' that no statement known "
                            "here made",
                            t->files[0], o->sections[i].name ? o->sections[i].name : "");
    free(seen);
    if (st)
        return st;
    w.items = ti_blocks_zero(t->n + 1, sizeof(*w.items));
    w.forced = ti_blocks_zero(t->n + 1, 1);
    for (size_t i = 0; i < t->n; i++)
        if (o->places[i].section && o->places[i].to <= o->sections[o->places[i].section].size)
            w.items[w.nitems++] =
                (struct item){o->places[i].section, (uint32_t)i, o->places[i].at, o->places[i].to};
    qsort(w.items, w.nitems, sizeof(*w.items), by_place);
    do {
        out->n = 0;
        again = false;
        for (size_t i = 0, k; i < w.nitems && !st; i = k) {
            for (k = i; k < w.nitems && w.items[k].section == w.items[i].section;)
                k++;
            st = sweep_section(&w, i, k);
        }
        for (size_t i = 0; i < out->n && !st; i++)
            if (out->insns[i].target_section &&
                !ti_flow_at(out, out->insns[i].target_section, out->insns[i].target))
                again |= force_code(&w, out->insns[i].target_section, out->insns[i].target);
    } while (again && !st);
    free(w.items);
    free(w.forced);
    return st;
}
