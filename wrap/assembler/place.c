/* Where the addition of a block costs least. */
#include "wrap/assembler/flow_internal.h"

/* Whether one setCC can save the flags; emit.c restores the flag from its result. */
static bool single(uint32_t flags)
{
    return flags == TI_ZF || flags == TI_CF || flags == TI_SF || flags == TI_OF || flags == TI_PF;
}

int8_t ti_flow_free_reg(uint32_t dead, int8_t but)
{
    if (but >= 0)
        dead &= ~(1u << but);
    return dead ? (int8_t)__builtin_ctz(dead) : -1;
}

/* The cheapest addition where `live` is live; its `own` is the cost. */
static struct ti_addition cheapest_addition(uint32_t live, const struct ti_blocks_options *opt)
{
    uint32_t dead = ~live & TI_REGS & ~(uint32_t)TI_RSP;
    struct ti_addition a = {.flags = live & TI_FLAGS, .scratch = -1, .address = -1};
    int words = opt->audit ? 2 : 1;

    a.own = words;
    if (a.flags && single(a.flags)) {
        a.scratch = ti_flow_free_reg(dead, -1);
        a.own += 2;
    } else if (a.flags) {
        a.lahf = true;
        a.own += 2 + (a.flags & TI_OF ? 2 : 0);
        if (!(dead & TI_RAX)) {
            a.scratch = ti_flow_free_reg(dead, -1);
            a.own += 2;
        } else {
            a.scratch = 0; /* rax itself */
        }
    }
    if (opt->pic) {
        uint32_t left = a.lahf ? dead & ~(uint32_t)TI_RAX : dead;

        a.address = ti_flow_free_reg(left, a.scratch);
        a.own += words;
    }
    if ((a.flags && a.scratch < 0) || (opt->pic && a.address < 0)) {
        /* save rax for the flags and rcx for the offset on the stack */
        a.save = true;
        a.lahf = a.flags != 0;
        a.scratch = a.flags ? 0 : -1;
        a.address = opt->pic ? 1 : -1;
        a.own = words * (opt->pic ? 2 : 1) + 2 + (a.flags ? 2 : 0) + (opt->pic ? 2 : 0) +
                (a.flags ? 2 + (a.flags & TI_OF ? 2 : 0) : 0);
    }
    return a;
}

bool ti_flow_place(struct ti_addition *best, const struct ti_flow *f, size_t from, size_t to,
                   const struct ti_blocks_options *opt)
{
    bool any = false, head = true;
    size_t last = to - 1;

    for (size_t i = from; i <= to; i++) {
        const struct ti_insn *in = &f->insns[i < to ? i : last];
        bool after = i == to;
        struct ti_addition a;

        if (!after && head && in->endbr)
            continue;
        head = false;
        if (after ? in->kind != TI_INSN_PLAIN || !in->ends
                  : !in->starts || (i > from && !f->insns[i - 1].ends))
            continue;
        a = cheapest_addition(!after                       ? in->live
                              : ti_flow_continues(f, last) ? in[1].live
                                                           : TI_REGS | TI_FLAGS,
                              opt);
        /* after endbr64 at the very end, put it after the statement, before the labels that
         * follow */
        a.after = i > from && (after || f->insns[i - 1].endbr);
        a.stmt = a.after ? f->insns[i - 1].last : in->first;
        if (!any || a.own < best->own)
            *best = a;
        any = true;
        if (best->own == (opt->audit ? 2 : 1) * (opt->pic ? 2 : 1))
            break;
    }
    return any;
}

void ti_flow_add(struct ti_flow *f, size_t *cap, const struct ti_addition *a)
{
    if (f->nadds == *cap)
        f->adds = ti_blocks_grow(f->adds, *cap = *cap ? 2 * *cap : 1024, sizeof(*f->adds));
    f->adds[f->nadds++] = *a;
}
