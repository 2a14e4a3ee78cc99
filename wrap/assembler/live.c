/* Basic blocks, and what is live in them. */
#include <string.h>

#include "wrap/assembler/flow_internal.h"

bool ti_flow_continues(const struct ti_flow *f, size_t i)
{
    return i + 1 < f->n && f->insns[i + 1].section == f->insns[i].section &&
           f->insns[i + 1].at == f->insns[i].at + f->insns[i].length;
}

bool ti_insn_calls_thunk(const struct ti_object *o, const struct ti_insn *in)
{
    return in->symbol && strncmp(ti_object_name(o, in->symbol), "__x86_", 6) == 0;
}

static bool ends_block(const struct ti_insn *in)
{
    return in->kind != TI_INSN_PLAIN;
}

ti_status ti_flow_find_leaders(struct ti_flow *f, const struct ti_text *t,
                               const struct ti_object *o, struct ti_err *err)
{
    for (size_t i = 0; i < f->n; i++) {
        struct ti_insn *in = &f->insns[i], *to;

        if (i == 0 || ends_block(in - 1) || !ti_flow_continues(f, i - 1) || in->label)
            in->leader = 1;
        if (in->symbol && strcmp(ti_object_name(o, in->symbol), "__morestack") == 0)
            return ti_text_error(t, in->first, err,
                                 "code for split stacks knows its own length and cannot be "
                                 "counted (compile without -fsplit-stack)");
        if (!in->target_section)
            continue;
        to = ti_flow_at(f, in->target_section, in->target);
        if (to)
            to->leader = to->label = 1;
        else if (in->kind != TI_INSN_CALL || in->target != in->at + in->length)
            return ti_text_error(t, in->first, err,
                                 "jumps to what is not the beginning of an "
                                 "instruction");
    }
    return TI_OK;
}

struct live {
    uint32_t returned; /* live where calls of this object's own functions return */
    uint32_t computed; /* flags live at labels that computed jumps may reach */
};

static uint32_t live_at(const struct ti_flow *f, uint32_t section, uint64_t at)
{
    const struct ti_insn *in = ti_flow_at(f, section, at);

    return in ? in->live : TI_REGS | TI_FLAGS;
}

/* Registers and flags that are live after the last instruction of a block. */
static uint32_t live_out(const struct ti_flow *f, const struct ti_object *o, size_t i,
                         const struct live *l)
{
    const struct ti_insn *in = &f->insns[i];
    uint32_t next = ti_flow_continues(f, i) ? f->insns[i + 1].live : TI_REGS | TI_FLAGS;
    /* in another object, any register may be an argument, except r11, which the linker's PLT
     * uses */
    uint32_t elsewhere = TI_REGS & ~(ti_insn_calls_thunk(o, in) ? 0u : (uint32_t)TI_R11);
    uint32_t there = !in->target_section ? elsewhere : live_at(f, in->target_section, in->target);

    switch ((enum ti_insn_kind)in->kind) {
    case TI_INSN_COND:
        return next | there;
    case TI_INSN_JUMP:
        return there;
    case TI_INSN_JUMP_IND:
        return TI_REGS | l->computed;
    case TI_INSN_CALL:
        return there | elsewhere;
    case TI_INSN_CALL_IND:
        return TI_REGS;
    case TI_INSN_RET:
        /* return values and callee-saved registers: rax, rdx, rbx, rsp, rbp, r12 to r15 */
        return 0xf03d | l->returned;
    case TI_INSN_TRAP:
        return TI_REGS | TI_FLAGS;
    case TI_INSN_SYS:
        return TI_REGS | next;
    case TI_INSN_PLAIN:
        break;
    }
    return next;
}

void ti_flow_find_live(struct ti_flow *f, const struct ti_object *o)
{
    struct live l = {0};
    bool changed;

    do {
        changed = false;
        for (size_t i = f->n; i-- > 0;) {
            struct ti_insn *in = &f->insns[i];
            bool last = ends_block(in) || !ti_flow_continues(f, i) || in[1].leader;
            uint32_t out = last ? live_out(f, o, i, &l) : in[1].live;
            uint32_t live = in->use | (out & ~in->def);

            if (live != in->live) {
                in->live = live;
                changed = true;
            }
            if (in->taken && (l.computed | (live & TI_FLAGS)) != l.computed) {
                l.computed |= live & TI_FLAGS;
                changed = true;
            }
            if (((in->kind == TI_INSN_CALL && in->target_section) ||
                 in->kind == TI_INSN_CALL_IND) &&
                ti_flow_continues(f, i) && (l.returned | in[1].live) != l.returned) {
                l.returned |= in[1].live;
                changed = true;
            }
        }
    } while (changed);
}
