#include "wrap/assembler/insn.h"

#include <Zydis/Zydis.h>

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
                 class == ZYDIS_REGCLASS_ZMM) &&
                ZydisRegisterGetId(op[i].reg.value) < 16)
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

bool ti_insn_decode(struct ti_insn *in, const struct ti_object *o, uint32_t section, uint64_t at,
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
        in->near =
            d.raw.imm[0].size == 8 && in->kind == TI_INSN_COND && (d.opcode & 0xf0) == 0xe0 && !r;
    }
    return true;
}
