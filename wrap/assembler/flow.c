#include "wrap/assembler/flow.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

/* --- one instruction ------------------------------------------------------- */

static uint32_t reg_bit(ZydisRegister r)
{
    ZydisRegister full = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);

    if (full < ZYDIS_REGISTER_RAX || full > ZYDIS_REGISTER_R15)
        return 0;
    return 1u << ZydisRegisterGetId(full);
}

static uint32_t flag_bits(ZydisAccessedFlagsMask m)
{
    return (m & ZYDIS_CPUFLAG_CF ? TI_CF : 0) | (m & ZYDIS_CPUFLAG_PF ? TI_PF : 0) |
           (m & ZYDIS_CPUFLAG_AF ? TI_AF : 0) | (m & ZYDIS_CPUFLAG_ZF ? TI_ZF : 0) |
           (m & ZYDIS_CPUFLAG_SF ? TI_SF : 0) | (m & ZYDIS_CPUFLAG_OF ? TI_OF : 0);
}

/* Whether flags may stay as they were: shifts by zero, and repeated comparisons with no round. */
static bool may_leave_flags(const ZydisDecodedInstruction *d, const ZydisDecodedOperand *op)
{
    if (d->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
        return true;
    switch (d->mnemonic) {
    case ZYDIS_MNEMONIC_SHL:
    case ZYDIS_MNEMONIC_SHR:
    case ZYDIS_MNEMONIC_SAR:
    case ZYDIS_MNEMONIC_SALC:
    case ZYDIS_MNEMONIC_ROL:
    case ZYDIS_MNEMONIC_ROR:
    case ZYDIS_MNEMONIC_RCL:
    case ZYDIS_MNEMONIC_RCR:
        return op[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
               !(op[1].imm.value.u & (d->operand_width == 64 ? 63 : 31));
    case ZYDIS_MNEMONIC_SHLD:
    case ZYDIS_MNEMONIC_SHRD:
        return op[2].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
               !(op[2].imm.value.u & (d->operand_width == 64 ? 63 : 31));
    default:
        return false;
    }
}

static void effects(struct ti_insn *in, const ZydisDecodedInstruction *d,
                    const ZydisDecodedOperand *op)
{
    bool zeroes = (d->mnemonic == ZYDIS_MNEMONIC_XOR || d->mnemonic == ZYDIS_MNEMONIC_SUB) &&
                  op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                  op[1].type == ZYDIS_OPERAND_TYPE_REGISTER && op[0].reg.value == op[1].reg.value &&
                  op[0].size >= 32;

    for (int i = 0; i < d->operand_count; i++) {
        if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY) {
            in->use |= reg_bit(op[i].mem.base) | reg_bit(op[i].mem.index);
        } else if (op[i].type == ZYDIS_OPERAND_TYPE_REGISTER) {
            uint32_t bit = reg_bit(op[i].reg.value);
            ZydisRegisterClass class = ZydisRegisterGetClass(op[i].reg.value);

            if ((class == ZYDIS_REGCLASS_XMM || class == ZYDIS_REGCLASS_YMM ||
                 class == ZYDIS_REGCLASS_ZMM) && ZydisRegisterGetId(op[i].reg.value) < 16)
                in->vectors |= (uint16_t)(1u << ZydisRegisterGetId(op[i].reg.value));
            if (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ && !(zeroes && i < 2))
                in->use |= bit;
            if (op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
                in->writes |= bit;
            /* writes of 8 and 16 bits keep the rest of the register */
            if (op[i].actions & ZYDIS_OPERAND_ACTION_WRITE && op[i].size >= 32)
                in->def |= bit;
        }
    }
    if (d->cpu_flags) {
        const ZydisAccessedFlags *fl = d->cpu_flags;

        in->use |= flag_bits(fl->tested);
        if (!may_leave_flags(d, op))
            in->def |= flag_bits(fl->modified | fl->set_0 | fl->set_1);
    }
    switch (d->mnemonic) {
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFD:
    case ZYDIS_MNEMONIC_PUSHFQ:
        in->use |= TI_FLAGS;
        break;
    case ZYDIS_MNEMONIC_LAHF:
        in->use |= TI_FLAGS & ~TI_OF;
        break;
    case ZYDIS_MNEMONIC_VZEROALL:
    case ZYDIS_MNEMONIC_FXRSTOR:
    case ZYDIS_MNEMONIC_FXRSTOR64:
    case ZYDIS_MNEMONIC_XRSTOR:
    case ZYDIS_MNEMONIC_XRSTOR64:
        in->vectors = UINT16_MAX;
        break;
    default:
        break;
    }
    in->vex = d->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
              d->encoding != ZYDIS_INSTRUCTION_ENCODING_3DNOW;
    in->def &= ~(uint32_t)TI_RSP;
}

static enum ti_insn_kind kind_of(const ZydisDecodedInstruction *d)
{
    bool direct = d->raw.imm[0].is_relative;

    switch (d->meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
        return TI_INSN_COND;
    case ZYDIS_CATEGORY_UNCOND_BR:
        return direct ? TI_INSN_JUMP : TI_INSN_JUMP_IND;
    case ZYDIS_CATEGORY_CALL:
        return direct ? TI_INSN_CALL : TI_INSN_CALL_IND;
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_SYSRET:
        return TI_INSN_RET;
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_INTERRUPT:
        return TI_INSN_SYS;
    default:
        break;
    }
    switch (d->mnemonic) {
    case ZYDIS_MNEMONIC_XBEGIN:
        return TI_INSN_COND;
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
        return TI_INSN_TRAP;
    default:
        return TI_INSN_PLAIN;
    }
}

/* The target of a relocation in an instruction that ends at `next`. */
static bool resolve(const struct ti_object *o, const struct ti_reloc *r, uint64_t next,
                    uint32_t *section, uint64_t *at)
{
    const Elf64_Sym *s;

    if (r->symbol >= o->nsymbols)
        return false;
    s = &o->symbols[r->symbol];
    if (s->st_shndx == SHN_UNDEF || s->st_shndx >= o->nsections || !o->sections[s->st_shndx].bytes)
        return false;
    *section = s->st_shndx;
    *at = s->st_value + (uint64_t)r->addend + (next - r->offset);
    return true;
}

static bool decode_one(struct ti_insn *in, const struct ti_object *o, uint32_t section, uint64_t at,
                       uint64_t end)
{
    static ZydisDecoder decoder;
    static bool ready;
    const struct ti_section *s = &o->sections[section];
    ZydisDecodedInstruction d;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT] = {0};

    if (!ready) {
        ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
        ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_CET, ZYAN_TRUE);
        ready = true;
    }
    *in = (struct ti_insn){.at = at, .section = section};
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, s->bytes + at, end - at, &d, op)))
        return false;
    in->length = d.length;
    in->kind = (uint8_t)kind_of(&d);
    in->endbr = d.mnemonic == ZYDIS_MNEMONIC_ENDBR64;
    in->nop = d.mnemonic == ZYDIS_MNEMONIC_NOP;
    effects(in, &d, op);
    if (d.raw.imm[0].is_relative) {
        uint64_t next = at + d.length;
        const struct ti_reloc *r = ti_object_reloc(s, at + d.raw.imm[0].offset, next);

        if (!r) {
            in->target_section = section;
            in->target = next + (uint64_t)d.raw.imm[0].value.s;
        } else if (!resolve(o, r, next, &in->target_section, &in->target)) {
            in->symbol = r->symbol;
        }
        in->near = d.raw.imm[0].size == 8 && in->kind == TI_INSN_COND &&
                   (d.opcode & 0xf0) == 0xe0 && !r;
    }
    return true;
}

/* --- all of them ------------------------------------------------------------ */

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

static int by_place(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    if (x->section != y->section)
        return x->section < y->section ? -1 : 1;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->stmt < y->stmt ? -1 : x->stmt > y->stmt;
}

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

        if (!decode_one(in, w->o, section, at, limit))
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
    if (decode_one(&in, w->o, it->section, it->at, w->o->sections[it->section].size) &&
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
        else if (!decode_one(&in, w->o, section, at, to) || !in.nop)
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

            fall = k != TI_INSN_JUMP && k != TI_INSN_JUMP_IND && k != TI_INSN_RET &&
                   k != TI_INSN_TRAP;
            after_call = k == TI_INSN_CALL || k == TI_INSN_CALL_IND;
        }
    }
    if (end > from && !only_fill(w, w->items[from].section, pos,
                                 w->o->sections[w->items[from].section].size))
        return ti_text_error(w->t, w->items[end - 1].stmt, w->err,
                             "bytes behind this that no statement known here made");
    return TI_OK;
}

struct ti_insn *ti_flow_at(const struct ti_flow *f, uint32_t section, uint64_t at)
{
    size_t lo = 0, hi = f->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct ti_insn *in = &f->insns[mid];

        if (in->section < section || (in->section == section && in->at < at))
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < f->n && f->insns[lo].section == section && f->insns[lo].at == at)
        return &f->insns[lo];
    return NULL;
}

/* Mark a data statement at this address as code.  False if there is none. */
static bool force_code(struct sweep *w, uint32_t section, uint64_t at)
{
    struct item key = {.section = section, .at = at, .stmt = 0};
    size_t lo = 0, hi = w->nitems;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (by_place(&w->items[mid], &key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < w->nitems && w->items[lo].section == section && w->items[lo].at == at; lo++) {
        const struct item *it = &w->items[lo];

        if (it->to > it->at && w->t->stmts[it->stmt].kind == TI_STMT_DATA &&
            !w->forced[it->stmt]) {
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
            st = ti_err_set(err, TI_ERR_INPUT, "%s: code in section '%s' that no statement known "
                            "here made", t->files[0], o->sections[i].name ? o->sections[i].name : "");
    free(seen);
    if (st)
        return st;
    w.items = ti_blocks_zero(t->n + 1, sizeof(*w.items));
    w.forced = ti_blocks_zero(t->n + 1, 1);
    for (size_t i = 0; i < t->n; i++)
        if (o->places[i].section && o->places[i].to <= o->sections[o->places[i].section].size)
            w.items[w.nitems++] = (struct item){o->places[i].section, (uint32_t)i, o->places[i].at,
                                                o->places[i].to};
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

/* --- what is live ------------------------------------------------------------ */

static bool ends_block(const struct ti_insn *in)
{
    return in->kind != TI_INSN_PLAIN;
}

static bool follows(const struct ti_flow *f, size_t i)
{
    return i + 1 < f->n && f->insns[i + 1].section == f->insns[i].section &&
           f->insns[i + 1].at == f->insns[i].at + f->insns[i].length;
}

static ti_status find_leaders(struct ti_flow *f, const struct ti_text *t, const struct ti_object *o,
                              struct ti_err *err)
{
    for (size_t i = 0; i < f->n; i++) {
        struct ti_insn *in = &f->insns[i], *to;

        if (i == 0 || ends_block(in - 1) || !follows(f, i - 1) || in->label)
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
            return ti_text_error(t, in->first, err, "jumps to what is not the beginning of an "
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

/* Whether it calls one of the compiler's thunks, which preserve more registers than the ABI
 * says. */
static bool calls_thunk(const struct ti_object *o, const struct ti_insn *in)
{
    return in->symbol && strncmp(ti_object_name(o, in->symbol), "__x86_", 6) == 0;
}

/* Registers and flags that are live after the last instruction of a block. */
static uint32_t live_out(const struct ti_flow *f, const struct ti_object *o, size_t i,
                         const struct live *l)
{
    const struct ti_insn *in = &f->insns[i];
    uint32_t next = follows(f, i) ? f->insns[i + 1].live : TI_REGS | TI_FLAGS;
    /* in another object, any register may be an argument, except r11, which the linker's PLT
     * uses */
    uint32_t elsewhere = TI_REGS & ~(calls_thunk(o, in) ? 0u : (uint32_t)TI_R11);
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

static void find_live(struct ti_flow *f, const struct ti_object *o)
{
    struct live l = {0};
    bool changed;

    do {
        changed = false;
        for (size_t i = f->n; i-- > 0;) {
            struct ti_insn *in = &f->insns[i];
            bool last = ends_block(in) || !follows(f, i) || in[1].leader;
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
                 in->kind == TI_INSN_CALL_IND) && follows(f, i) &&
                (l.returned | in[1].live) != l.returned) {
                l.returned |= in[1].live;
                changed = true;
            }
        }
    } while (changed);
}

/* --- where to add ------------------------------------------------------------- */

/* Whether one setCC can save the flags; emit.c restores the flag from its result. */
static bool single(uint32_t flags)
{
    return flags == TI_ZF || flags == TI_CF || flags == TI_SF || flags == TI_OF || flags == TI_PF;
}

static int8_t free_reg(uint32_t dead, int8_t but)
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
        a.scratch = free_reg(dead, -1);
        a.own += 2;
    } else if (a.flags) {
        a.lahf = true;
        a.own += 2 + (a.flags & TI_OF ? 2 : 0);
        if (!(dead & TI_RAX)) {
            a.scratch = free_reg(dead, -1);
            a.own += 2;
        } else {
            a.scratch = 0; /* rax itself */
        }
    }
    if (opt->pic) {
        uint32_t left = a.lahf ? dead & ~(uint32_t)TI_RAX : dead;

        a.address = free_reg(left, a.scratch);
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

/* Find the place for the addition of block [from, to): the first of the cheapest ones, after what
 * must come first (endbr64).  False if there is none. */
static bool place_addition(struct ti_addition *best, const struct ti_flow *f, size_t from,
                           size_t to, const struct ti_blocks_options *opt)
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
        a = cheapest_addition(!after             ? in->live
                              : follows(f, last) ? in[1].live
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

int ti_flow_loop_own(const struct ti_addition *a, const struct ti_blocks_options *opt)
{
    int n = 0;

    for (int i = 0; i < 2; i++)
        if (a->sum[i] >= 0)
            n += 2 + (opt->pic ? 1 : 0) + (a->keep[i] >= 0 ? 2 : 0);
    return n;
}

/* --- loops ---------------------------------------------------------------------- */

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

static void add_one(struct ti_flow *f, size_t *cap, const struct ti_addition *a)
{
    if (f->nadds == *cap)
        f->adds = ti_blocks_grow(f->adds, *cap = *cap ? 2 * *cap : 1024, sizeof(*f->adds));
    f->adds[f->nadds++] = *a;
}

/* Make the additions of a loop.  False if the loop cannot count in a register. */
static bool try_loop(struct ti_flow *f, const struct loop *l, const struct reach *from,
                     size_t *cap, uint32_t vectors, const struct ti_blocks_options *opt)
{
    const struct ti_insn *in = f->insns, *tail = &in[l->tail];
    uint32_t unused = TI_REGS & ~(uint32_t)TI_RSP, out;
    struct ti_addition a = {
        .scratch = -1, .address = -1, .sum = {-1, -1}, .keep = {-1, -1}, .vex = vectors >> 31};

    if (l->head == 0 || !follows(f, l->head - 1) || !follows(f, l->tail) || !tail->ends ||
        !in[l->head - 1].ends || in[l->head - 1].kind == TI_INSN_JUMP ||
        in[l->head - 1].kind == TI_INSN_JUMP_IND || in[l->head - 1].kind == TI_INSN_RET ||
        in[l->head - 1].kind == TI_INSN_TRAP)
        return false;
    for (uint32_t i = l->head; i <= l->tail; i++) {
        unused &= ~(in[i].use | in[i].writes);
        if (in[i].taken || from[i].low < l->head || (from[i].high > l->tail && from[i].high != 0) ||
            (in[i].leader && !in[i].starts) || in[i].endbr || (i < l->tail && !follows(f, i)))
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
        a.sum[i] = free_reg(unused & ~out, -1);
        if (a.sum[i] < 0) {
            /* not rbp: a debugger may use it to find the frame */
            a.sum[i] = free_reg(unused & ~(uint32_t)TI_RBP, -1);
            a.keep[i] = free_reg(vectors, -1);
            if (a.sum[i] < 0 || a.keep[i] < 0)
                return false;
            vectors &= ~(1u << a.keep[i]);
        }
        unused &= ~(1u << a.sum[i]);
        out |= 1u << a.sum[i];
    }
    if (opt->pic) {
        a.address = free_reg(~out & TI_REGS & ~(uint32_t)TI_RSP, -1);
        if (a.address < 0)
            return false;
    }
    a.after = true;
    a.kind = TI_ADD_INIT;
    a.stmt = in[l->head - 1].last;
    add_one(f, cap, &a);
    a.kind = TI_ADD_FLUSH;
    a.own = ti_flow_loop_own(&a, opt);
    a.stmt = tail->last;
    add_one(f, cap, &a);
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
        add_one(f, cap, &a);
        f->sum.blocks++;
        f->sum.instructions += (long)a.count;
        f->sum.added += a.own;
    }
    f->sum.loops++;
    f->sum.added += ti_flow_loop_own(&a, opt);
    return true;
}

/* Find loops that count in registers, and mark their instructions in `done`. */
static void find_loops(struct ti_flow *f, uint8_t *done, size_t *cap,
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

static int by_stmt(const void *a, const void *b)
{
    const struct ti_addition *x = a, *y = b;

    if (x->stmt != y->stmt)
        return x->stmt < y->stmt ? -1 : 1;
    if (x->after != y->after)
        return x->after - y->after;
    return x->kind - y->kind;
}

static ti_status check_returned_flags(const struct ti_flow *f, const struct ti_text *t,
                                      const struct ti_object *o, struct ti_err *err)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct ti_insn *in = &f->insns[i], *next = in + 1;

        /* AF is live only before instructions that save all flags without regard to their
         * meaning */
        if (in->kind != TI_INSN_CALL || in->target_section || !follows(f, i) || next->label ||
            next->fill || !(next->live & TI_FLAGS) || next->live & TI_AF || calls_thunk(o, in) ||
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
    ti_status st = find_leaders(f, t, o, err);
    bool resolvers = has_resolvers(o);
    uint8_t *done; /* by instruction: counted by a loop */
    size_t cap = 0;

    if (st)
        return st;
    find_live(f, o);
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
        find_loops(f, done, &cap, opt);
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
        if (!place_addition(&a, f, i, k, opt)) {
            st = ti_text_error(t, f->insns[i].first, err,
                               "no place to count in the middle of a statement");
            continue;
        }
        a.kind = TI_ADD_BLOCK;
        /* a trap is not executed */
        a.count = (uint32_t)(k - i);
        a.traps = f->insns[k - 1].kind == TI_INSN_TRAP;
        a.first = (uint32_t)i;
        add_one(f, &cap, &a);
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

void ti_flow_free(struct ti_flow *f)
{
    free(f->insns);
    free(f->adds);
    free(f->stretch);
    free(f->drop);
    *f = (struct ti_flow){0};
}
