/* Loops that count in a register, which is added to memory after them. */
#include <stdlib.h>
#include <string.h>

#include "wrap/assembler/flow_internal.h"

struct loop {
    uint32_t head, tail; /* indices of instructions */
};

struct reach {
    uint32_t low, high; /* first and last instruction that jumps here */
};

static int by_size(const void *a, const void *b)
{
    const struct loop *x = a, *y = b;
    uint32_t n = x->tail - x->head, m = y->tail - y->head;

    return n != m ? (n > m ? -1 : 1) : (x->head > y->head) - (x->head < y->head);
}

/* Make the additions of a loop.  False if the loop cannot count in a register. */
static bool try_loop(struct ti_flow *f, const struct loop *l, const struct reach *from, size_t *cap,
                     uint32_t vectors, const struct ti_blocks_options *opt)
{
    const struct ti_insn *in = f->insns, *tail = &in[l->tail];
    uint32_t unused = TI_REGS & ~(uint32_t)TI_RSP, out;
    struct ti_addition a = {
        .scratch = -1, .address = -1, .sum = {-1, -1}, .keep = {-1, -1}, .vex = vectors >> 31};

    if (l->head == 0 || !ti_flow_continues(f, l->head - 1) || !ti_flow_continues(f, l->tail) ||
        !tail->ends || !in[l->head - 1].ends || in[l->head - 1].kind == TI_INSN_JUMP ||
        in[l->head - 1].kind == TI_INSN_JUMP_IND || in[l->head - 1].kind == TI_INSN_RET ||
        in[l->head - 1].kind == TI_INSN_TRAP)
        return false;
    for (uint32_t i = l->head; i <= l->tail; i++) {
        unused &= ~(in[i].use | in[i].writes);
        if (in[i].taken || from[i].low < l->head || (from[i].high > l->tail && from[i].high != 0) ||
            (in[i].leader && !in[i].starts) || in[i].endbr ||
            (i < l->tail && !ti_flow_continues(f, i)))
            return false;
        if (in[i].kind == TI_INSN_PLAIN)
            continue;
        if ((in[i].kind != TI_INSN_COND && in[i].kind != TI_INSN_JUMP) ||
            in[i].target_section != in[i].section)
            return false;
        if (in[i].target < in[l->head].at || in[i].target > tail->at)
            return false;
    }
    out = tail[1].live;
    if (out & TI_FLAGS)
        return false;
    vectors &= UINT16_MAX;
    for (int i = 0; i < (opt->audit ? 2 : 1); i++) {
        a.sum[i] = ti_flow_free_reg(unused & ~out, -1);
        if (a.sum[i] < 0) {
            /* not rbp: a debugger may use it to find the frame */
            a.sum[i] = ti_flow_free_reg(unused & ~(uint32_t)TI_RBP, -1);
            a.keep[i] = ti_flow_free_reg(vectors, -1);
            if (a.sum[i] < 0 || a.keep[i] < 0)
                return false;
            vectors &= ~(1u << a.keep[i]);
        }
        unused &= ~(1u << a.sum[i]);
        out |= 1u << a.sum[i];
    }
    if (opt->pic) {
        a.address = ti_flow_free_reg(~out & TI_REGS & ~(uint32_t)TI_RSP, -1);
        if (a.address < 0)
            return false;
    }
    a.after = true;
    a.kind = TI_ADD_INIT;
    a.stmt = in[l->head - 1].last;
    ti_flow_add(f, cap, &a);
    a.kind = TI_ADD_FLUSH;
    a.own = ti_flow_loop_own(&a, opt);
    a.stmt = tail->last;
    ti_flow_add(f, cap, &a);
    a.after = false;
    a.address = -1;
    a.kind = TI_ADD_LOOP;
    a.own = opt->audit ? 2 : 1;
    for (uint32_t i = l->head, k; i <= l->tail; i = k) {
        for (k = i + 1; k <= l->tail && !in[k].leader; k++)
            ;
        a.stmt = in[i].first;
        a.first = i;
        a.count = k - i;
        ti_flow_add(f, cap, &a);
        f->sum.blocks++;
        f->sum.instructions += (long)a.count;
        f->sum.added += a.own;
    }
    f->sum.loops++;
    f->sum.added += ti_flow_loop_own(&a, opt);
    return true;
}

void ti_flow_find_loops(struct ti_flow *f, uint8_t *done, size_t *cap,
                        const struct ti_blocks_options *opt)
{
    struct reach *from = ti_blocks_zero(f->n + 1, sizeof(*from));
    struct loop *loops = NULL;
    size_t n = 0, size = 0;
    uint32_t vectors = UINT16_MAX; /* vector registers that nothing uses; highest bit: VEX */

    for (size_t i = 0; i < f->n; i++)
        from[i].low = UINT32_MAX;
    for (size_t i = 0; i < f->n; i++) {
        const struct ti_insn *in = &f->insns[i], *to;

        vectors &= ~(uint32_t)in->vectors;
        vectors |= (uint32_t)in->vex << 31;
        to = in->target_section ? ti_flow_at(f, in->target_section, in->target) : NULL;
        if (!to)
            continue;
        struct reach *r = &from[to - f->insns];

        r->low = i < r->low ? (uint32_t)i : r->low;
        r->high = i > r->high ? (uint32_t)i : r->high;
        if (in->kind == TI_INSN_COND && to <= in && to->section == in->section) {
            if (n == size)
                loops = ti_blocks_grow(loops, size = size ? 2 * size : 64, sizeof(*loops));
            loops[n++] = (struct loop){(uint32_t)(to - f->insns), (uint32_t)i};
        }
    }
    if (n)
        qsort(loops, n, sizeof(*loops), by_size);
    for (size_t i = 0; i < n; i++) {
        if (done[loops[i].head] || done[loops[i].tail] ||
            !try_loop(f, &loops[i], from, cap, vectors, opt))
            continue;
        memset(done + loops[i].head, 1, loops[i].tail - loops[i].head + 1);
    }
    free(loops);
    free(from);
}

int ti_flow_loop_own(const struct ti_addition *a, const struct ti_blocks_options *opt)
{
    int n = 0;

    for (int i = 0; i < 2; i++)
        if (a->sum[i] >= 0)
            n += 2 + (opt->pic ? 1 : 0) + (a->keep[i] >= 0 ? 2 : 0);
    return n;
}
