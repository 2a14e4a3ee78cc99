#include "wrap/assembler/verify.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

#include "common/order.h"

struct point {
    uint32_t section;
    uint64_t was, now;
};

struct compare {
    const struct ti_text *t;
    const struct ti_object *was, *now;
    struct point *points; /* of statements, sorted by `was` */
    size_t n;
    ZydisDecoder decoder;
    struct ti_err *err;
};

struct one {
    ZydisDecodedInstruction d;
    const uint8_t *bytes;
    uint64_t next;
    const struct ti_section *section;
    uint32_t number;
};

TI_ORDER_BY_2(by_was, struct point, section, was)

static bool same_place(const struct compare *c, uint32_t section, uint64_t was, uint64_t now)
{
    struct point key = {section, was, 0};
    size_t i;

    TI_FIRST(i, 0, c->n, by_was(&c->points[i], &key) < 0);
    for (; i < c->n && by_was(&c->points[i], &key) == 0; i++)
        if (c->points[i].now == now)
            return true;
    return false;
}

static bool decode(const struct compare *c, const struct ti_object *o, uint32_t section,
                   uint64_t at, struct one *out)
{
    const struct ti_section *s = section < o->nsections ? &o->sections[section] : NULL;

    if (!s || !s->bytes || at >= s->size)
        return false;
    out->bytes = s->bytes + at;
    out->section = s;
    out->number = section;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&c->decoder, NULL, out->bytes, s->size - at,
                                                    &out->d)))
        return false;
    out->next = at + out->d.length;
    return true;
}

static uint64_t field(const struct one *x, unsigned offset, unsigned bits)
{
    uint64_t v = 0;

    memcpy(&v, x->bytes + offset, bits / 8);
    return bits < 64 && v >> (bits - 1) ? v | ~(uint64_t)0 << bits : v;
}

/* Whether two fields mean the same: equal relocations, the same place, or the same number. */
static bool same_field(const struct compare *c, const struct one *a, const struct one *b,
                       unsigned at_a, unsigned bits_a, unsigned at_b, unsigned bits_b, bool relative)
{
    uint64_t pa = a->next - a->d.length + at_a, pb = b->next - b->d.length + at_b;
    const struct ti_reloc *ra = ti_object_reloc(a->section, pa, pa + bits_a / 8);
    const struct ti_reloc *rb = ti_object_reloc(b->section, pb, pb + bits_b / 8);
    uint64_t va = field(a, at_a, bits_a), vb = field(b, at_b, bits_b);
    const Elf64_Sym *sa, *sb;
    int64_t tail_a, tail_b;

    if (!ra || !rb) {
        if (ra || rb)
            return false;
        return relative ? same_place(c, a->number, a->next + va, b->next + vb)
                        : bits_a == bits_b && va == vb;
    }
    if (ra->symbol >= c->was->nsymbols || rb->symbol >= c->now->nsymbols)
        return false;
    sa = &c->was->symbols[ra->symbol];
    sb = &c->now->symbols[rb->symbol];
    if (strcmp(ti_object_name(c->was, ra->symbol), ti_object_name(c->now, rb->symbol)) != 0 ||
        sa->st_shndx != sb->st_shndx || ra->offset - pa != rb->offset - pb)
        return false;
    tail_a = relative ? (int64_t)(a->next - ra->offset) : 0;
    tail_b = relative ? (int64_t)(b->next - rb->offset) : 0;
    if (sa->st_shndx != SHN_UNDEF && sa->st_shndx < c->was->nsections &&
        c->was->sections[sa->st_shndx].bytes)
        return same_place(c, sa->st_shndx, sa->st_value + (uint64_t)(ra->addend + tail_a),
                          sb->st_value + (uint64_t)(rb->addend + tail_b));
    return ra->addend + tail_a == rb->addend + tail_b;
}

static bool rip_relative(const struct one *x)
{
    return x->d.attributes & ZYDIS_ATTRIB_HAS_MODRM && x->d.raw.modrm.mod == 0 &&
           x->d.raw.modrm.rm == 5;
}

static bool same(const struct compare *c, const struct one *a, const struct one *b)
{
    unsigned fixed = a->d.length;

    if (a->d.mnemonic != b->d.mnemonic)
        return false;
    if (a->d.raw.imm[0].is_relative)
        return b->d.raw.imm[0].is_relative &&
               same_field(c, a, b, a->d.raw.imm[0].offset, a->d.raw.imm[0].size,
                          b->d.raw.imm[0].offset, b->d.raw.imm[0].size, true);
    if (a->d.length != b->d.length)
        return false;
    if (a->d.raw.disp.size && a->d.raw.disp.offset < fixed)
        fixed = a->d.raw.disp.offset;
    for (int i = 0; i < 2; i++)
        if (a->d.raw.imm[i].size && a->d.raw.imm[i].offset < fixed)
            fixed = a->d.raw.imm[i].offset;
    if (memcmp(a->bytes, b->bytes, fixed) != 0)
        return false;
    if (a->d.raw.disp.size &&
        !same_field(c, a, b, a->d.raw.disp.offset, a->d.raw.disp.size, b->d.raw.disp.offset,
                    b->d.raw.disp.size, rip_relative(a)))
        return false;
    for (int i = 0; i < 2; i++)
        if (a->d.raw.imm[i].size &&
            !same_field(c, a, b, a->d.raw.imm[i].offset, a->d.raw.imm[i].size,
                        b->d.raw.imm[i].offset, b->d.raw.imm[i].size, false))
            return false;
    return true;
}

/* A short jump became three jumps.  Replaces *b by the one that goes to the target. */
static bool unstretch(const struct compare *c, struct one *b)
{
    struct one skip, far;
    uint64_t x, y;

    if (!b->d.raw.imm[0].is_relative || !decode(c, c->now, b->number, b->next, &skip) ||
        !decode(c, c->now, b->number, skip.next, &far) ||
        skip.d.mnemonic != ZYDIS_MNEMONIC_JMP || far.d.mnemonic != ZYDIS_MNEMONIC_JMP)
        return false;
    x = b->next + (uint64_t)b->d.raw.imm[0].value.s;
    y = skip.next + (uint64_t)skip.d.raw.imm[0].value.s;
    if (x != skip.next || y != far.next)
        return false;
    far.d.mnemonic = b->d.mnemonic;
    *b = far;
    return true;
}

/* The number of nops in an executed fill, in the new object. */
static int64_t nops(const struct compare *c, uint32_t stmt)
{
    const struct ti_code_range *p = &c->now->places[stmt];
    struct one x;
    int64_t n = 0;

    for (uint64_t at = p->at; at < p->to && decode(c, c->now, p->section, at, &x); at = x.next)
        n++;
    return n;
}

static ti_status compare_all(struct compare *c, const struct ti_flow *f)
{
    uint64_t next = 0;

    for (size_t i = 0; i < f->n; i++) {
        const struct ti_insn *in = &f->insns[i];
        const struct ti_code_range *p = &c->now->places[in->first];
        struct one a, b;

        if (in->fill)
            continue;
        if (p->section != in->section)
            return ti_text_error(c->t, in->first, c->err, "is in another section with additions");
        if (!decode(c, c->was, in->section, in->at, &a) ||
            !decode(c, c->now, in->section, in->starts ? p->at : next, &b) ||
            (f->stretch[in->last] && in->near && !unstretch(c, &b)) || !same(c, &a, &b))
            return ti_text_error(c->t, in->first, c->err,
                                 "depends on the length of code, which additions change");
        next = b.next;
    }
    return TI_OK;
}

static void count_own(const struct compare *c, const struct ti_flow *f, int64_t *own)
{
    for (size_t k = 0; k < f->nadds; k++) {
        const struct ti_addition *a = &f->adds[k];

        own[k] = a->own;
        for (size_t i = a->first; i < a->first + a->count; i++) {
            const struct ti_insn *in = &f->insns[i];

            own[k] += f->stretch[in->last] && in->near;
            if (in->fill)
                own[k] -= 1;
            if (in->fill && in->starts)
                own[k] += nops(c, in->first);
        }
    }
}

ti_status ti_verify(const struct ti_text *t, const struct ti_flow *f, const struct ti_object *was,
                    const struct ti_object *now, int64_t *own, struct ti_err *err)
{
    struct compare c = {.t = t, .was = was, .now = now, .err = err};
    ti_status st;

    ZydisDecoderInit(&c.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecoderEnableMode(&c.decoder, ZYDIS_DECODER_MODE_CET, ZYAN_TRUE);
    c.points = ti_blocks_zero(t->n + 1, sizeof(*c.points));
    for (size_t i = 0; i < t->n; i++)
        if (was->places[i].section)
            c.points[c.n++] = (struct point){was->places[i].section, was->places[i].at,
                                             now->places[i].from};
    qsort(c.points, c.n, sizeof(*c.points), by_was);
    st = compare_all(&c, f);
    if (!st && own)
        count_own(&c, f, own);
    free(c.points);
    return st;
}
