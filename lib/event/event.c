#include "event/event.h"

#include <stdio.h>

#include "event/symbol.h"

/* The texts are in the table, not pointed to: pointers would be relocated in each traced process,
 * which then has a copy of the table. */
static const struct ti_op_info ops[] = {
#define OP(name, text, fields, optional, same, traits, vec1, vec2)                                 \
    {text, fields, optional, same, {vec1, vec2}},
    TI_OPS(OP)
#undef OP
};

#define FITS(name, word, fields, optional, same, traits, vec1, vec2)                               \
    _Static_assert(sizeof(word) <= sizeof ops->text && sizeof(vec1) <= sizeof ops->vec[0] &&       \
                       sizeof(vec2) <= sizeof ops->vec[1],                                         \
                   "the texts of " #name " do not fit");
TI_OPS(FITS)
#undef FITS

const uint32_t ti_op_traits[] = {
#define TRAITS(name, text, fields, optional, same, traits, vec1, vec2) (uint32_t)(traits),
    TI_OPS(TRAITS)
#undef TRAITS
};

static const char *const fields[] = {
#define FIELD(name, text, meaning) text,
    TI_FIELDS(FIELD)
#undef FIELD
};

static const char *const redops[] = {
#define REDOP(name, text) text,
    TI_REDOPS(REDOP)
#undef REDOP
};

const struct ti_op_info *ti_op_info(uint32_t op)
{
    static const struct ti_op_info unknown = {"?", 0, 0, 0, {"", ""}};

    return op < TI_OP_COUNT ? &ops[op] : &unknown;
}

const char *ti_field_text(unsigned field)
{
    return field < TI_F_COUNT ? fields[field] : "?";
}

const char *ti_mode_text(int64_t mode, char *buf, size_t bytes)
{
    size_t used = (size_t)snprintf(buf, bytes, "%s", mode ? "" : "0");

#define MODE(name, bit, text)                                                                      \
    if ((mode & TI_MODE_##name) && used < bytes)                                                   \
        used += (size_t)snprintf(buf + used, bytes - used, "%s%s", used ? "+" : "", text);
    TI_MODES(MODE)
#undef MODE
    return buf;
}

const char *ti_redop_text(int64_t redop)
{
    return redop >= 0 && redop < TI_REDOP_COUNT ? redops[redop] : "?";
}

bool ti_symbol_read(const uint64_t number[4], uint64_t sites, struct ti_event_symbol *s)
{
    const struct ti_op_info *info =
        ti_op_info(number[0] < TI_OP_COUNT ? (uint32_t)number[0] : TI_OP_COUNT);
    uint32_t mask = (uint32_t)number[2], kinds = (uint32_t)number[3], with_kind = 0;

    if (number[0] >= TI_OP_COUNT || number[1] > sites || number[1] > UINT32_MAX ||
        number[2] > UINT32_MAX || number[3] > UINT32_MAX || (mask & info->fields) != info->fields ||
        mask & ~(info->fields | info->optional))
        return false;
#define SPECIAL(name)                                                                              \
    with_kind |= kinds & 3 ? TI_M_##name : 0;                                                      \
    kinds >>= 2;
    TI_SPECIALS(SPECIAL)
#undef SPECIAL
    *s = ti_symbol_make((uint32_t)number[0], (uint32_t)number[1], mask, (uint32_t)number[3]);
    return kinds == 0 && !(with_kind & ~mask);
}
