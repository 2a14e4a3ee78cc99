#include "formats/event.h"

static const struct ti_op_info ops[] = {
#define OP(name, text, fields, optional, vec1, vec2) {text, fields, optional, {vec1, vec2}},
    TI_OPS(OP)
#undef OP
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
    static const struct ti_op_info unknown = {"?", 0, 0, {"", ""}};

    return op < TI_OP_COUNT ? &ops[op] : &unknown;
}

const char *ti_field_text(unsigned field)
{
    return field < TI_F_COUNT ? fields[field] : "?";
}

const char *ti_redop_text(int64_t redop)
{
    return redop >= 0 && redop < TI_REDOP_COUNT ? redops[redop] : "?";
}
