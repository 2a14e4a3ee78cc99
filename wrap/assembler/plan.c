/* Which additions an object gets. */
#include <stdlib.h>
#include <string.h>

#include "common/order.h"
#include "wrap/assembler/flow_internal.h"

/* Whether the address is in a resolver of an indirect function. */
static bool in_resolver(const struct ti_object *o, uint32_t section, uint64_t at)
{
    for (size_t i = 1; i < o->nsymbols; i++) {
        const Elf64_Sym *s = &o->symbols[i];
        uint64_t size = 0, next = UINT64_MAX;

        if (ELF64_ST_TYPE(s->st_info) != STT_GNU_IFUNC || s->st_shndx != section ||
            at < s->st_value)
            continue;
        for (size_t k = 1; k < o->nsymbols; k++) {
            const Elf64_Sym *x = &o->symbols[k];

            if (x->st_shndx != section || ELF64_ST_TYPE(x->st_info) == STT_SECTION)
                continue;
            if (x->st_value == s->st_value && x->st_size > size)
                size = x->st_size;
            if (x->st_value > s->st_value && x->st_value < next)
                next = x->st_value;
        }
        if (size ? at < s->st_value + size : at < next)
            return true;
    }
    return false;
}

static bool has_resolvers(const struct ti_object *o)
{
    for (size_t i = 1; i < o->nsymbols; i++)
        if (ELF64_ST_TYPE(o->symbols[i].st_info) == STT_GNU_IFUNC)
            return true;
    return false;
}

TI_ORDER_BY_3(by_stmt, struct ti_addition, stmt, after, kind)

static ti_status check_returned_flags(const struct ti_flow *f, const struct ti_text *t,
                                      const struct ti_object *o, struct ti_err *err)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct ti_insn *in = &f->insns[i], *next = in + 1;

        /* AF is live only before instructions that save all flags without regard to their
         * meaning */
        if (in->kind != TI_INSN_CALL || in->target_section || !ti_flow_continues(f, i) ||
            next->label || next->fill || !(next->live & TI_FLAGS) || next->live & TI_AF ||
            ti_insn_calls_thunk(o, in) ||
            strcmp(ti_object_name(o, in->symbol), "__fentry__") == 0 ||
            strcmp(ti_object_name(o, in->symbol), "mcount") == 0)
            continue;
        return ti_text_error(t, next->first, err,
                             "reads flags that '%s' returns, which is in another object",
                             ti_object_name(o, in->symbol));
    }
    return TI_OK;
}

ti_status ti_flow_plan(struct ti_flow *f, const struct ti_text *t, const struct ti_object *o,
                       const struct ti_blocks_options *opt, struct ti_err *err)
{
    ti_status st = ti_flow_find_leaders(f, t, o, err);
    bool resolvers = has_resolvers(o);
    uint8_t *done; /* by instruction: counted by a loop */
    size_t cap = 0;

    if (st)
        return st;
    ti_flow_find_live(f, o);
    st = check_returned_flags(f, t, o, err);
    if (st)
        return st;
    f->stretch = ti_blocks_zero(t->n + 1, 1);
    f->drop = ti_blocks_zero(t->n + 1, 1);
    for (size_t i = 0; i < t->n && opt->audit; i++)
        f->drop[i] = t->stmts[i].kind == TI_STMT_FILL && o->places[i].section &&
                     o->places[i].at == o->places[i].to;
    done = ti_blocks_zero(f->n + 1, 1);
    if (!resolvers)
        ti_flow_find_loops(f, done, &cap, opt);
    for (size_t i = 0, k; i < f->n && !st; i = k) {
        struct ti_addition a;

        for (k = i + 1; k < f->n && !f->insns[k].leader; k++)
            ;
        if (resolvers && in_resolver(o, f->insns[i].section, f->insns[i].at)) {
            f->sum.uncounted += (long)(k - i);
            continue;
        }
        if (done[i])
            continue;
        if (!ti_flow_place(&a, f, i, k, opt)) {
            st = ti_text_error(t, f->insns[i].first, err,
                               "no place to count in the middle of a statement");
            continue;
        }
        a.kind = TI_ADD_BLOCK;
        /* a trap is not executed */
        a.count = (uint32_t)(k - i);
        a.traps = f->insns[k - 1].kind == TI_INSN_TRAP;
        a.first = (uint32_t)i;
        ti_flow_add(f, &cap, &a);
        f->sum.blocks++;
        f->sum.instructions += (long)(a.count - a.traps);
        f->sum.added += a.own;
        f->sum.flag_safe += a.flags != 0;
        f->sum.spilled += a.save;
    }
    free(done);
    if (f->nadds)
        qsort(f->adds, f->nadds, sizeof(*f->adds), by_stmt);
    /* additions may move the target of a short jump out of reach */
    for (size_t i = 0; i < f->n; i++)
        if (f->insns[i].near)
            f->stretch[f->insns[i].last] = 1;
    return st;
}
